# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recursive Newton-Euler inverse dynamics on a tree.

The hybrid form of the recursion, with every vector resolved in the frame of its body. It needs
no linear velocity: the state of a body is its angular velocity omega, its angular acceleration
(through Omega = omega'~ + omega~ omega~) and the acceleration of its origin. From the root to the
tips, with (R, r) = C_p,i and the joint screw X_i = (xi, eta),

    omega_i = R^T omega_p + xi q_i',
    omega_i' = R^T omega_p' + R^T omega_p x xi q_i' + xi q_i'',
    r_i'' = R^T (r_p'' + Omega_p r) + (R^T omega_p + omega_i) x eta q_i' + eta q_i'';

tips to root, with theta of `spatial_inertia` and vec of a skew matrix,

    W_i = (vec(Omega theta - (Omega theta)^T) + h x r'',  m r'' + Omega h) - W_i^app
          + sum of Ad_{C_i,k}^T W_k over the successors k,    Q_i = X_i^T W_i + d_i q_i''.

Example: for the straight arm of unit lengths and masses, M = [[5, 2], [2, 1]], with g = 10, the
gravity torques are 10 + 20 and 10, and a unit acceleration of the shoulder adds 5 and 2:

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> rest, a, gravity = np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, -10.0, 0.0])
>>> inverse_dynamics(planar_arm(), rest, rest, a, gravity)
array([35., 12.])

Source: Müller 2018b (72)-(76), corrected (D-27), in the body forms of (45), (87) (D-21, D-17).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..kinematics.poe import relative_pose
from ..lie.screws import transform_wrench
from ..lie.so3 import hat
from ..linear import zeros
from ..tree.multibody_tree import GROUND, Body, Tree
from ..types import Array
from .drive_forces import driving_torques, spring_torques
from .spatial_inertia import binet


def inverse_dynamics(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return the generalized forces Q of the motion (q, v, a) under applied wrenches.

    Q = M(q) a + C(q, v) v + g(q) - sum J^T W, plus the friction f(v) if the tree has it. Springs of
    drives are part of g.

    Parameters
    ----------
    tree : Tree
    q : (nq,), v : (nv,), a : (nv,)
        Configuration, velocity and acceleration of the joints.
    gravity : (3,)
        Acceleration of free fall in the root frame [m/s^2]; enters as base acceleration (D-29).
    wrenches : {link: (6,)}
        Wrench (moment, force) of the environment on a link, at its origin, in its frame [N m, N].

    Returns
    -------
    (nv,) array
        Torques [N m] and forces [N]; those of mimic joints are added to those of their leaders.
    """
    Q = newton_euler_torques(tree, q, v, a, gravity, wrenches)
    return driving_torques(tree, q, v, Q)


def newton_euler_torques(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    gravity: Array,
    wrenches: Mapping[str, Array] | None = None,
) -> Array:
    """Return the generalized forces of `inverse_dynamics` without springs and friction."""
    motions = body_states(tree, q, v, a, gravity)
    applied = applied_wrenches(tree, wrenches)
    W = {
        i: hybrid_body_wrench(body, s.Omega, s.ddr) - applied.get(i, 0.0)
        for i, (body, s) in enumerate(zip(tree.bodies, motions))
    }
    Q = zeros(tree.nv, *W.values())
    if tree.motors:
        Q = Q + tree.coupled_inertias @ a
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        felt = body.drive.reflected_inertia * (body.multiplier * a[body.v])
        Q[body.v] = Q[body.v] + body.multiplier * (body.X.T @ W[i] + felt)
        if body.parent != GROUND:
            W[body.parent] = W[body.parent] + transform_wrench(motions[i].C, W[i])
    return Q


@dataclass(frozen=True, eq=False)
class BodyState:
    """Motion of one body in its own frame; gravity is an acceleration of the root.

    Attributes
    ----------
    C : (4, 4) array
        Configuration in the predecessor's frame [m].
    omega, domega : (3,) arrays
        Angular velocity and acceleration [rad/s, rad/s^2].
    ddr : (3,) array
        Acceleration of the origin [m/s^2].
    Omega : (3, 3) array
        domega~ + omega~ omega~: a point at r accelerates with ddr + Omega r.
    """

    C: Array
    omega: Array
    domega: Array
    ddr: Array
    Omega: Array


def body_states(tree: Tree, q: Array, v: Array, a: Array, gravity: Array) -> list[BodyState]:
    """Return the motion of every body: the forward pass of the recursion (D-27)."""
    motions: list[BodyState] = []
    for body in tree.bodies:
        C = relative_pose(body, q)
        R, r = C[:3, :3], C[:3, 3]
        if body.parent == GROUND:
            omega, domega, ddr = np.zeros(3), np.zeros(3), -R.T @ gravity
        else:
            p = motions[body.parent]
            omega, domega, ddr = R.T @ p.omega, R.T @ p.domega, R.T @ (p.ddr + p.Omega @ r)
        omega, domega, ddr = joint_motion(body, omega, domega, ddr, v, a)
        Omega = hat(domega) + hat(omega) @ hat(omega)
        motions.append(BodyState(C, omega, domega, ddr, Omega))
    return motions


def joint_motion(
    body: Body, omega_p: Array, domega_p: Array, ddr_p: Array, v: Array, a: Array
) -> tuple[Array, Array, Array]:
    """Add the joint motion to that of the predecessor at the same point, in body axes (D-27).

    Returns the body's angular velocity, angular acceleration and acceleration of its origin.
    """
    xi, eta = body.X[:3], body.X[3:]
    rate, acceleration = body.multiplier * v[body.v], body.multiplier * a[body.v]
    omega_j, v_j = xi @ rate, eta @ rate
    omega = omega_p + omega_j
    domega = domega_p + hat(omega_p) @ omega_j + xi @ acceleration
    ddr = ddr_p + hat(omega_p + omega) @ v_j + eta @ acceleration
    return omega, domega, ddr


def hybrid_body_wrench(body: Body, Omega: Array, ddr: Array) -> Array:
    """Return the wrench (6,) required for the motion of the body: D-21 in Binet's form.

    With theta = 1/2 tr(I) 1 - I (D-17) the moment is the vector of the skew matrix
    Omega theta - (Omega theta)^T, plus h x ddr; the force is m ddr + Omega h.
    """
    N = Omega @ binet(body.I)
    moment = np.array([N[2, 1] - N[1, 2], N[0, 2] - N[2, 0], N[1, 0] - N[0, 1]])
    return np.concatenate([moment + hat(body.h) @ ddr, body.m * ddr + Omega @ body.h])


def applied_wrenches(tree: Tree, wrenches: Mapping[str, Array] | None) -> dict[int, Array]:
    """Return the sum of the wrenches on each body, in the body's frame."""
    total: dict[int, Array] = {}
    for link, W in (wrenches or {}).items():
        frame = tree.frame(link)
        total[frame.body] = total.get(frame.body, 0.0) + transform_wrench(frame.S, W)
    return total


def gravity_torques(tree: Tree, q: Array, gravity: Array) -> Array:
    """Return g(q): the (nv,) torques that hold the robot still against gravity and springs."""
    rest = np.zeros(tree.nv)
    return newton_euler_torques(tree, q, rest, rest, gravity) + spring_torques(tree, q)


def coriolis_torques(tree: Tree, q: Array, v: Array) -> Array:
    """Return C(q, v) v: the (nv,) torques of the centrifugal and Coriolis forces."""
    return newton_euler_torques(tree, q, v, np.zeros(tree.nv), np.zeros(3))


def drive_torques(tree: Tree, q: Array, v: Array, a: Array, gravity: Array) -> Array:
    """Return the drive torques of a motion (nv,), with friction whether or not the tree has it."""
    Q = newton_euler_torques(tree, q, v, a, gravity)
    return driving_torques(replace(tree, with_friction=True), q, v, Q)
