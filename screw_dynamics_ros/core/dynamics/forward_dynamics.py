# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forward dynamics, and hybrid dynamics: each joint is given by its torque or by its motion.

    M(q) a = tau - C(q, v) v - g(q) + sum J^T W.

Example: the arm of unit lengths and masses, elbow at a right angle, has M = [[3, 1], [1, 1]] with
det M = 2. A unit torque at the shoulder gives the accelerations (1, -1) / 2.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, v, tau = np.array([0.0, np.pi / 2]), np.zeros(2), np.array([1.0, 0.0])
>>> forward_dynamics(planar_arm(), q, v, tau, np.zeros(3)).round(3)
array([ 0.5, -0.5])

There are two equivalent formulations of hybrid dynamics. The O(n) one uses articulated bodies in
which prescribed joints are not free (`articulated_body`). The other uses composite inertias, for
free joints f and prescribed (moving) joints m,

    M_ff a_f = tau_f - h_f - M_fm a_m,    tau_m = M_mf a_f + M_mm a_m + h_m

by Cholesky factorization: O(n^3), but with fewer operations for few joints; also for mimic joints.
Without prescribed joints this is forward dynamics, with all joints prescribed inverse dynamics.

Example: the straight arm of unit lengths and masses, M = [[5, 2], [2, 1]], has a locked elbow. A
torque of 5 at the shoulder gives a_1 = 1, and the lock exerts M_21 a_1 = 2.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> zero, tau = np.zeros(2), np.array([5.0, 0.0])
>>> hybrid_dynamics(planar_arm(), zero, zero, zero, tau, np.zeros(3), '01')
(array([1., 0.]), array([5., 2.]))

Source: Müller 2018b section 5.1 (D-38); Bruyninckx 2010 sections 6.4.3, 6.6 with (6.35) corrected
(C-060, C-066, E-20).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, UnknownNameError
from ..linear import solve_positive_definite, zeros
from ..tree.multibody_tree import Tree
from ..types import Array
from . import articulated_body
from .drive_forces import driving_torques, moving_torques
from .inverse_dynamics import newton_euler_torques
from .mass_matrix import mass_matrix
from .massless_joints import check_moves_mass, resisted


def forward_dynamics(
    tree: Tree,
    q: Array,
    v: Array,
    tau: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return the joint accelerations (nv,) under the generalized forces tau and applied wrenches.

    Arguments as in `inverse_dynamics`; this is hybrid dynamics without prescribed motion. With
    mimic joints, several bodies share one coordinate, and the reduced equations
    G^T M G a = tau - G^T h are solved; otherwise the articulated-body recursion is used (D-38).
    """
    none_given = np.zeros(tree.nv)
    return hybrid_dynamics(tree, q, v, none_given, tau, gravity, '0' * tree.nv, wrenches)[0]


def hybrid_dynamics(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    gravity: Array,
    prescribed: str,
    wrenches: Mapping[str, Array] | None = None,
) -> tuple[Array, Array]:
    """Return all accelerations (nv,) and all torques (nv,).

    Arguments as in `inverse_dynamics` and `forward_dynamics`. `prescribed` has a '1' for each
    element of v with given acceleration, and a '0' for each with given torque. The other elements
    of `a` and `tau` are ignored, and computed in the results.
    """
    given = [mark == '1' for mark in prescribed]
    method = composite_inertia if tree.is_coupled else articulated_bodies
    return method(tree, q, v, a, tau, gravity, given, wrenches)


def marks(tree: Tree, prescribed: ArrayLike) -> str:
    """Return `prescribed` of `hybrid_dynamics` for names of joints, or a boolean mask (nv,).

    Raises `UnknownNameError` and `ArgumentError`.
    """
    names = [prescribed] if isinstance(prescribed, str) else prescribed
    if isinstance(names, Collection) and all(isinstance(name, str) for name in names):
        mask = np.zeros(tree.nv, dtype=bool)
        for name in names:
            if name not in tree.coordinates:
                raise UnknownNameError(
                    f'prescribed: no joint named {name!r} with independent coordinates; '
                    f'there are {", ".join(tree.joint_names)}'
                )
            mask[tree.coordinates[name][1]] = True
    else:
        mask = np.asarray(prescribed)
        if mask.dtype != bool or mask.shape != (tree.nv,):
            raise ArgumentError(
                f'prescribed must be names of joints or a boolean mask of shape ({tree.nv},), '
                f'got {prescribed!r}'
            )
    return ''.join('1' if given else '0' for given in mask)


def check_marks(tree: Tree, prescribed: str) -> None:
    """Raise `ArgumentError` unless `prescribed` has a 0 or 1 for each element of v."""
    if len(prescribed) != tree.nv or not set(prescribed) <= {'0', '1'}:
        raise ArgumentError(
            f'the choice of prescribed joints must be {tree.nv} digits 0 or 1, got {prescribed!r}'
        )


def articulated_bodies(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    gravity: Array,
    prescribed: Sequence[bool],
    wrenches: Mapping[str, Array] | None = None,
) -> tuple[Array, Array]:
    """Return the result of `hybrid_dynamics`, by the articulated-body recursion."""
    bodies = articulated_body.inward(tree, q, v, a, tau, prescribed, wrenches)
    acceleration, dV = articulated_body.outward(tree, bodies, a, gravity)
    Q = zeros(tree.nv, tau, *dV.values())
    for i, body in enumerate(tree.bodies):
        W = bodies.P[i] @ dV[i] + bodies.beta[i]
        Q[body.v] = body.X.T @ W + body.drive.reflected_inertia * acceleration[body.v]
    return acceleration, np.where(prescribed, driving_torques(tree, q, v, Q), tau)


def composite_inertia(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    gravity: Array,
    prescribed: Sequence[bool],
    wrenches: Mapping[str, Array] | None = None,
) -> tuple[Array, Array]:
    """Return the result of `hybrid_dynamics`, by the mass matrix."""
    given = np.array(prescribed, dtype=bool)
    free = np.flatnonzero(~given)
    Q = newton_euler_torques(tree, q, v, np.where(given, a, 0.0), gravity, wrenches)
    M = mass_matrix(tree, q)
    for joint, (_, place) in tree.coordinates.items():
        kept = [k for k in range(place.start, place.stop) if not given[k]]
        check_moves_mass(M[np.ix_(kept, kept)], joint)
    acceleration = zeros(tree.nv, Q, a, tau)
    acceleration[given] = a[given]
    if len(free):
        M_ff = resisted(tree, M[np.ix_(free, free)], free.tolist())
        a_f = solve_positive_definite(M_ff, (moving_torques(tree, q, v, tau) - Q)[free])
        acceleration[free] = a_f
        Q = Q + M[:, free] @ a_f
    return acceleration, np.where(given, driving_torques(tree, q, v, Q), tau)
