# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint rates and accelerations from the motion of all bodies, for example by motion capture.

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

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.linear import solve_positive_definite
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from screw_dynamics_ros.core.types import Array

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
