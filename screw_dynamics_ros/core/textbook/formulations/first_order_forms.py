# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion as first-order systems in twists or momenta of the bodies.

Instead of (q, q'), the state of a tree can be given redundantly by the twists or momenta of all
bodies, or by the generalized momenta p = M(q) q'. Each function returns the joint rates v of the
state (`q' = v`, or the body-fixed velocity of a free body) and the rate of the twists or momenta.

==========================  =========================  =============================  ============
function                    state                      rate                           Müller 2018b
==========================  =========================  =============================  ============
`twist_form`                V (n, 6), body-fixed       V' = J v' + J' v               (78)
`body_momentum_form`        Pi (n, 6), spatial         Pi' = M V' - ad_V^T M V        (79)
`momentum_form`             p (nv,)                    p' = Q + J^T W^app + J'^T Pi   (79)
==========================  =========================  =============================  ============

Example: the arm of unit lengths and masses, elbow at a right angle, has M = [[3, 1], [1, 1]].
p = (3, 1) corresponds to v = (1, 0), and p_2' = dT/dq_2 = -sin(q_2) (v_1^2 + v_1 v_2) = -1.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, p = np.array([0.0, np.pi / 2]), np.array([3.0, 1.0])
>>> v, rate = momentum_form(planar_arm(), q, p, np.zeros(2), np.zeros(3))
>>> v.round(3) + 0.0, rate.round(3) + 0.0
(array([1., 0.]), array([ 0., -1.]))

Source: Müller 2018b (78), (79) (D-33, D-34).

Joint rates and accelerations from the motion of all bodies, for example by motion capture.

The factorization V = D V + X q' (`factorization`) can be solved for q' joint by joint:

    q' = (X^T X)^-1 X^T (1 - D) V,    q_i' = X_i^T (V_i - T_i V_p) / |X_i|^2.

For consistent twists this is exact. For noisy twists it is *not* the least-squares solution of
J q' = V (contrary to remark 9 of Müller 2018a): it minimizes the sum of
|X_i q_i' - (V_i - T_i V_p)|^2, the errors of the relative twists of the joints, each in its own
representation. `least_squares_rates` minimizes |J q' - V|. Both depend on frames and units, because
no invariant norm of twists exists.

Example: the planar arm moves with v = (1, 2). An error of 0.3 in the angular velocity of the lower
link affects only the elbow:

>>> from screw_dynamics_ros.core.kinematics.twist_recursions import body_twists
>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> V = body_twists(planar_arm(), np.zeros(2), np.array([1.0, 2.0]))
>>> V[1, 2] += 0.3
>>> joint_rates_of(planar_arm(), np.zeros(2), V).round(6)
array([1. , 2.3])

Source: Müller 2018a (27) (K-24); Müller 2018b (11) (D-07, D-11), with the erratum E-32.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...dynamics.drive_forces import moving_torques
from ...dynamics.mass_matrix import mass_matrix, reflected_inertias
from ...errors import ArgumentError
from ...kinematics.twist_recursions import body_motions
from ...linear import solve_positive_definite
from ...tree.multibody_tree import Tree
from ...types import Array
from .closed_forms import SystemMatrices, body_loads, system_matrices
from .factorization import factor_derivatives, factors


def joint_rates_of(tree: Tree, q: Array, V: ArrayLike, representation: str = 'body') -> Array:
    """Return the joint rates (nv,) that best fit the relative twists of adjacent bodies.

    Parameters
    ----------
    tree : Tree
    q : (nq,) array
    V : (n, 6) array
        Twists of all bodies, in the order and the frames of `tree.bodies` [rad/s, m/s].
    representation : {'body', 'spatial', 'hybrid', 'mixed'}
        Representation of V. It affects the result for inconsistent twists.
    """
    own = factors(tree, q, representation)
    return _solved(own.X, own.A_inv @ _stacked(tree, 'V', V))


def joint_accelerations_of(
    tree: Tree, q: Array, v: Array, dV: ArrayLike, representation: str = 'body'
) -> Array:
    """Return the joint accelerations (nv,) from the derivatives of all twists.

    q'' = (X^T X)^-1 X^T ((1 - D) V' - D' V - X' q') with V = J q' (D-07, D-11).

    Parameters
    ----------
    dV : (n, 6) array
        Time derivatives of the twists of all bodies (`twist_recursions.body_accelerations`).
    """
    own = factors(tree, q, representation)
    dD, dX = factor_derivatives(tree, q, v, representation)
    V = own.jacobian @ v
    return _solved(own.X, own.A_inv @ _stacked(tree, 'dV', dV) - dD @ V - dX @ v)


def least_squares_rates(tree: Tree, q: Array, V: ArrayLike, representation: str = 'body') -> Array:
    """Return the joint rates (nv,) that minimize |J q' - V| over all bodies; arguments as above."""
    J = factors(tree, q, representation).jacobian
    return np.linalg.lstsq(J, _stacked(tree, 'V', V), rcond=None)[0]


def _solved(X: Array, b: Array) -> Array:
    """Return the x that minimizes |X x - b|; X^T X is diagonal except for free bodies."""
    return solve_positive_definite(X.T @ X, X.T @ b)


def _stacked(tree: Tree, name: str, V: ArrayLike) -> Array:
    V = np.asarray(V)
    if V.shape != (len(tree.bodies), 6):
        raise ArgumentError(
            f'{name} must have shape ({len(tree.bodies)}, 6), one row for each moving body '
            f'({", ".join(body.name for body in tree.bodies)}), got {V.shape}'
        )
    return V.ravel()


Wrenches = Mapping[str, Array]


def twist_form(
    tree: Tree, q: Array, V: Array, tau: Array, gravity: Array, wrenches: Wrenches | None = None
) -> tuple[Array, Array]:
    """Return joint rates v (nv,) and V' (n, 6) from the body-fixed twists V (n, 6) (D-33).

    The state must be consistent, V = J v; the solution then remains so up to integration errors.
    Parameters as in `forward_dynamics`.
    """
    v = joint_rates_of(tree, q, V, 'body')
    system, a = solved(tree, q, v, tau, gravity, wrenches, 'body')
    return v, np.reshape(system.J @ a + system.dJ @ v, (-1, 6))


def body_momentum_form(
    tree: Tree, q: Array, Pi: Array, tau: Array, gravity: Array, wrenches: Wrenches | None = None
) -> tuple[Array, Array]:
    """Return v (nv,) and Pi' (n, 6) from the spatial momenta Pi (n, 6) of the bodies (D-34).

    Pi' are the total wrenches on the bodies; without gravity and wrenches they add up to zero for a
    robot on a free base.
    """
    rest = system_matrices(tree, q, np.zeros(tree.nv), 'spatial')
    M = rest.J.T @ rest.M @ rest.J
    v = solve_positive_definite(M, rest.J.T @ np.reshape(Pi, -1))
    system, a = solved(tree, q, v, tau, gravity, wrenches, 'spatial')
    rate = system.M @ (system.J @ a + system.dJ @ v) + system.B @ (system.J @ v)
    return v, np.reshape(rate, (-1, 6))


def momentum_form(
    tree: Tree, q: Array, p: Array, tau: Array, gravity: Array, wrenches: Wrenches | None = None
) -> tuple[Array, Array]:
    """Return v and p', (nv,) each, from the generalized momenta p = M(q) v (D-34, reduced).

    p_j = J_j^T sum Pi_i over the bodies beyond joint j, and J'_j = [V_j, J_j]: accelerations and
    Coriolis terms are not needed. These are Hamilton's equations with J'^T Pi = dT/dq.
    """
    v = solve_positive_definite(mass_matrix(tree, q), p)
    system = system_matrices(tree, q, v, 'spatial')
    Pi = system.M @ (system.J @ v)
    motions = body_motions(tree, q, [v], 'spatial')
    W = body_loads(tree, motions, gravity, wrenches, 'spatial')
    return v, moving_torques(tree, q, v, tau) + system.J.T @ W + system.dJ.T @ Pi


def solved(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    wrenches: Wrenches | None,
    representation: str,
) -> tuple[SystemMatrices, Array]:
    """Return the system matrices and the accelerations of the projected equations (D-32)."""
    system = system_matrices(tree, q, v, representation)
    motions = body_motions(tree, q, [v], representation)
    loads = body_loads(tree, motions, gravity, wrenches, representation)
    bias = system.M @ (system.dJ @ v) + system.B @ (system.J @ v) - loads
    M = system.J.T @ system.M @ system.J + reflected_inertias(tree)
    return system, solve_positive_definite(M, moving_torques(tree, q, v, tau) - system.J.T @ bias)
