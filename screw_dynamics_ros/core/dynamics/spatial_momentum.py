# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Dynamics in the spatial momentum of a robot on a floating base.

The state is (q, P) with P = (Pi^s, p_m): the momentum Pi^s (6,) of all bodies about the root's
origin, in root axes, and the canonical momenta p_m of the joints. P is p = M v with the momentum
Pi^b = Ad_C^T Pi^s of the base transformed to the root frame. There

    Pi^s' = W^s,     the sum of applied wrenches and weight only,

so that Runge-Kutta methods preserve a constant Pi^s exactly.

Example: the floating planar arm has both unit masses on the x axis, at 1 and 2. The weights 10
along -y have the moment -30 about z and the force -20.

>>> from screw_dynamics_ros.core.tree.examples import floating_planar_arm
>>> q = np.array([0, 0, 0, 0, 0, 0, 1.0, 0, 0])  # x y z, quaternion, two joints
>>> total_wrench(floating_planar_arm(), q, np.zeros(8), np.array([0.0, -10.0, 0.0]))[[2, 4]]
array([-30., -20.])

Source: Müller 2018b (36), (79), section 7 (D-18, D-34, D-39, D-45).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import ArgumentError
from ..kinematics.poe import body_poses, relative_pose
from ..lie.screws import inverse_transform_wrench, transform_wrench
from ..lie.so3 import hat
from ..tree.multibody_tree import Tree
from ..types import Array
from .canonical_momentum import momentum_dynamics
from .energy import center_of_mass
from .inverse_dynamics import applied_wrenches, newton_euler_torques


def spatial_momenta(tree: Tree, q: Array, v: Array) -> Array:
    """Return P = (Pi^s, p_m), (nv,) [N m s, N s; kg m^2/s, kg m/s], in the state q, v.

    M v is computed by inverse dynamics at rest with the acceleration v.
    """
    p = newton_euler_torques(tree, q, np.zeros(tree.nv), v, np.zeros(3))
    return np.concatenate([transform_wrench(base_pose(tree, q), p[:6]), p[6:]])


def spatial_momentum_dynamics(
    tree: Tree,
    q: Array,
    P: Array,
    tau: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> tuple[Array, Array]:
    """Return the velocities v (nv,) and the rates P' (nv,) in the state (q, P).

    Parameters
    ----------
    tree : Tree
        Must have a floating base, otherwise `ArgumentError`.
    q : (nq,)
    P : (nv,)
        See `spatial_momenta`.
    tau, gravity, wrenches
        As in `forward_dynamics`; tau[:6] is a wrench on the base, in its frame.
    """
    C = base_pose(tree, q)
    p = np.concatenate([inverse_transform_wrench(C, P[:6]), P[6:]])
    v, rate = momentum_dynamics(tree, q, p, tau, gravity, wrenches)
    return v, np.concatenate([total_wrench(tree, q, tau, gravity, wrenches), rate[6:]])


def total_wrench(
    tree: Tree, q: Array, tau: Array, gravity: Array, wrenches: Mapping[str, Array] | None = None
) -> Array:
    """Return the sum W^s (6,) of all external wrenches on the robot, about the origin."""
    C, weight = body_poses(tree, q), tree.total_mass * gravity
    W = np.concatenate([hat(center_of_mass(tree, q)) @ weight, weight])
    W = W + transform_wrench(C[0], tau[:6])
    for i, applied in applied_wrenches(tree, wrenches).items():
        W = W + transform_wrench(C[i], applied)
    return W


def base_pose(tree: Tree, q: Array) -> Array:
    """Return the pose (4, 4) of the floating base; raises `ArgumentError` if there is none."""
    base = tree.bodies[0] if tree.bodies else None
    if base is None or base.dof != 6 or base.joint:
        raise ArgumentError(
            'spatial momentum is a state only of robots on a floating base; make the robot with '
            'floating_base=True'
        )
    return relative_pose(base, q)
