# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forward dynamics in momenta instead of velocities, O(n): canonical ones, p = M(q) v, and spatial.

Hamilton's equations contain no accelerations or Coriolis forces. The velocities follow from p by
the articulated-body recursion for a robot at rest without gravity, M v = p, and

    p_i = X_i^T h_i + d_i v_i,    p_i' = tau_i + X_i^T W_i + (ad_{V_i} X_i)^T h_i,

with the momentum h_i and the applied wrenches W_i (including gravity) of body i and all bodies that
it carries: h_p += Ad^T h_i, in body-fixed form.

Example: the arm of unit lengths and masses, elbow at a right angle, has M = [[3, 1], [1, 1]].
p = (3, 1) corresponds to v = (1, 0), and p_2' = dT/dq_2 = -sin(q_2) (v_1^2 + v_1 v_2) = -1.

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, p, zero = np.array([0.0, np.pi / 2]), np.array([3.0, 1.0]), np.zeros(3)
>>> v, rate = momentum_dynamics(planar_arm(), q, p, np.zeros(2), zero)
>>> v.round(3) + 0.0, rate.round(3) + 0.0
(array([1., 0.]), array([ 0., -1.]))

The state of a robot on a floating base is (q, P) with P = (Pi^s, p_m): the momentum Pi^s (6,) of
all bodies about the root's origin, in root axes, and the canonical momenta p_m of the joints. P is
p = M v with the momentum Pi^b = Ad_C^T Pi^s of the base transformed to the root frame. There

    Pi^s' = W^s,     the sum of applied wrenches and weight only,

so that Runge-Kutta methods preserve a constant Pi^s exactly.

Example: the floating planar arm has both unit masses on the x axis, at 1 and 2. The weights 10
along -y have the moment -30 about z and the force -20.

>>> from screw_dynamics_ros.core.tree.examples import floating_planar_arm
>>> q = np.array([0, 0, 0, 0, 0, 0, 1.0, 0, 0])  # x y z, quaternion, two joints
>>> total_wrench(floating_planar_arm(), q, np.zeros(8), np.array([0.0, -10.0, 0.0]))[[2, 4]]
array([-30., -20.])

Source: Müller 2018b (79) reduced (D-34, D-39, after Naudet); Bruyninckx 2010 sections 6.2.8, 6.4.2
(C-055, C-059); (36), (79), section 7 (D-18, D-34, D-39, D-45).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import ArgumentError
from ..kinematics.poe import body_poses, relative_pose
from ..kinematics.twist_recursions import body_motions
from ..lie.screws import inverse_transform_wrench, transform_wrench
from ..lie.se3 import ad
from ..lie.so3 import hat
from ..linear import zeros
from ..tree.multibody_tree import GROUND, Tree, per_body
from ..types import Array
from .drive_forces import spring_torques, transmitted_torques
from .energy_and_momentum import center_of_mass
from .forward_dynamics import forward_dynamics
from .inverse_dynamics import applied_wrenches, newton_euler_torques
from .mass_matrix import reflected_inertias
from .spatial_inertia import momentum


def momentum_dynamics(
    tree: Tree,
    q: Array,
    p: Array,
    tau: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> tuple[Array, Array]:
    """Return the velocities v (nv,) and the rates p' (nv,) in the state (q, p).

    Parameters
    ----------
    tree : Tree
    q : (nq,)
    p : (nv,)
        Generalized momenta M(q) v [kg m^2/s, kg m/s].
    tau, gravity, wrenches
        As in `forward_dynamics`.
    """
    v = forward_dynamics(tree, q, np.zeros(tree.nv), p + spring_torques(tree, q), np.zeros(3))
    rate = momenta_and_rates(tree, q, v, gravity, wrenches)[1]
    return v, rate + (transmitted_torques(tree, v, tau) if tree.with_friction else tau)


def momenta_and_rates(
    tree: Tree, q: Array, v: Array, gravity: Array, wrenches: Mapping[str, Array] | None = None
) -> tuple[Array, Array]:
    """Return p = M v (nv,) and p' (nv,) without torques and friction of joints: C^T v - g.

    g is that of `gravity_torques`, with the springs of drives.

    Parameters
    ----------
    tree : Tree
    q : (nq,), v : (nv,)
    gravity, wrenches
        As in `forward_dynamics`; wrenches contribute J^T w to p'.
    """
    motions = body_motions(tree, q, [v], 'body')
    h, W, g = per_body(3)
    g[GROUND] = gravity
    applied = applied_wrenches(tree, wrenches)
    for i, (body, motion) in enumerate(zip(tree.bodies, motions)):
        g[i] = motion.B[:3, :3].T @ g[body.parent]
        h[i] = momentum((body.m, body.h, body.I), motion.V[0])
        W[i] = np.concatenate([hat(body.h) @ g[i], body.m * g[i]]) + applied.get(i, 0.0)

    rate = zeros(tree.nv, *h.values(), *W.values())
    p = reflected_inertias(tree) @ v + zeros(tree.nv, *h.values())
    for i in reversed(range(len(tree.bodies))):
        body, motion = tree.bodies[i], motions[i]
        own = body.X.T @ W[i] + (ad(motion.V[0]) @ body.X).T @ h[i]
        p[body.v] = p[body.v] + body.multiplier * (body.X.T @ h[i])
        rate[body.v] = rate[body.v] + body.multiplier * own
        if body.parent != GROUND:
            h[body.parent] = h[body.parent] + motion.handed_down(h[i])
            W[body.parent] = W[body.parent] + motion.handed_down(W[i])
    return p, rate - spring_torques(tree, q)


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
