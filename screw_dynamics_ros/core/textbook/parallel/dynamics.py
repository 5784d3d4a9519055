# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Dynamics of a parallel robot: motor forces for a motion of its platform.

The platform is one body. A leg has the inertia of its motor and rods of up to two slender parts,
one attached to the elbow c (the cylinder of a leg of variable length) and one to the pivot t of the
platform (its piston). By the principle of virtual power, with rho e = t - c,

    omega = e × (t' - c') / rho,   omega' = e × (t'' - c'') / rho - 2 (rho' / rho) omega

and forces F = m (x'' - g) at the centers of mass, moments I omega',

    tau . v = w . t + sum Q_i v_i   for all twists t = J v

w is the wrench that platform and rods need at the platform, Q_i the force that motor i needs for
itself and for the elbows that it moves. The spin of rods about their axes is neglected, because
universal joints prevent it.

Source: Bruyninckx 2010, section 6.1.2, for one body (C-128); otherwise d'Alembert's principle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, vector
from ...description.rigid_body import RigidBody
from ...errors import ArgumentError
from ...lie import screws, so3
from ...mechanisms.parallel import force_distribution, recursions
from ...mechanisms.parallel.parallel_robot import ParallelRobot
from ...types import Array


@dataclass(frozen=True)
class RodPart:
    """A slender part of a rod.

    Attributes
    ----------
    mass : float
        [kg].
    distance : float
        Distance of its center of mass from its attached end [m].
    moment : float
        Moment of inertia about axes normal to the rod, at the center of mass [kg m^2].
    """

    mass: float = 0.0
    distance: float = 0.0
    moment: float = 0.0

    def __post_init__(self) -> None:
        for name in ('mass', 'distance', 'moment'):
            check_number(f'{name} of a part of a rod', getattr(self, name))


@dataclass(frozen=True)
class LegInertia:
    """The masses of one leg.

    Attributes
    ----------
    lower, upper : RodPart
        Parts of each rod attached to the elbow and to the pivot of the platform. A rod of constant
        length is one of them.
    motor : float
        Inertia of rotor and slider or crank, reflected to the joint of the motor [kg or kg m^2].
    weight : float
        Mass of slider or crank [kg].
    arm : float
        Distance of the center of mass of a crank from the axis of its motor [m].
    """

    lower: RodPart = RodPart()
    upper: RodPart = RodPart()
    motor: float = 0.0
    weight: float = 0.0
    arm: float = 0.0

    def __post_init__(self) -> None:
        for name in ('motor', 'weight', 'arm'):
            check_number(f'{name} of a leg', getattr(self, name))


@dataclass(frozen=True, eq=False)
class RodMotion:
    """Motion of one rod.

    Attributes
    ----------
    e : (3,) array
        Unit vector from the elbow to the platform.
    length : float
        [m].
    c_rate, elbow, top : (3,) arrays
        dc/dq [m], accelerations of the elbow and of the pivot of the platform [m/s^2].
    omega, omega_dot : (3,) arrays
        [rad/s, rad/s^2].
    """

    e: Array
    length: float
    c_rate: Array
    elbow: Array
    top: Array
    omega: Array
    omega_dot: Array


def inverse_dynamics(
    robot: ParallelRobot,
    q: ArrayLike,
    pose: ArrayLike,
    twist: ArrayLike,
    twist_rate: ArrayLike,
    *,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    external_wrench: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    leg_inertias: Sequence[LegInertia] | None = None,
    stiffness: ArrayLike | None = None,
) -> Array:
    """Return motor forces (n,) for a motion of the platform (C-128).

    Parameters
    ----------
    robot : ParallelRobot
    q : (n,), pose : (4, 4)
        Motor positions, and the corresponding pose.
    twist, twist_rate : (6,)
        Hybrid, and its time derivative: (omega', acceleration of the origin of the platform) along
        the axes of the base.
    gravity : (3,)
        Acceleration of free fall in the base frame [m/s^2].
    external_wrench : (6,)
        Wrench of the environment on the platform, hybrid, moment first [N m, N].
    leg_inertias : sequence of LegInertia, optional
        One for each leg; without mass by default.
    stiffness : (rods,), optional
        As of `ParallelRobot.inverse_force`.

    Raises
    ------
    ArgumentError
        Wrong shapes, q that does not match the pose, and singular poses.

    Examples
    --------
    At rest the motors support the weight, distributed equally over equal legs:

    >>> from screw_dynamics_ros.core.mechanisms.parallel.example_mechanisms import stewart_gough
    >>> robot = ParallelRobot(stewart_gough(), backend='reference')
    >>> q = robot.inverse_position(robot.home)
    >>> inverse_dynamics(robot, q, robot.home, np.zeros(6), np.zeros(6)).round(4)
    array([7.6388, 7.6388, 7.6388, 7.6388, 7.6388, 7.6388])
    """
    T, q = robot.checked_pose('pose', pose), vector('q', robot.nv, q)
    t, rate = vector('twist', 6, twist), vector('twist_rate', 6, twist_rate)
    g, outer = vector('gravity', 3, gravity), vector('external_wrench', 6, external_wrench)
    robot.check_closed(q, T)
    w = platform_wrench(robot, T, t, rate, g) - outer
    Q = np.zeros(robot.nv)
    G = robot.rod_wrenches(q, T)
    if leg_inertias is not None:
        if len(leg_inertias) != robot.nv:
            raise ArgumentError(f'{len(leg_inertias)} leg_inertias for {robot.nv} legs')
        v = robot.mechanism.motor_of_rod.T @ (G.T @ t) / robot.mechanism.motor_of_rod.sum(axis=0)
        of_legs, Q = leg_forces(robot, q, v, T, t, rate, g, leg_inertias)
        w = w + of_legs
    forces = force_distribution.rod_forces(G, w, size=robot.mechanism.size, stiffness=stiffness)
    tau: Array = robot.mechanism.motor_of_rod.T @ forces + Q
    return tau


def platform_wrench(robot: ParallelRobot, T: Array, t: Array, rate: Array, g: Array) -> Array:
    """Return the hybrid wrench (6,) that moves and supports the platform.

    Newton's and Euler's equations with the acceleration relative to free fall.
    """
    body = robot.mechanism.inertia
    R = T[:3, :3]
    V = screws.convert_twist(t, T, 'hybrid', 'body')
    A = np.concatenate([R.T @ rate[:3], R.T @ (rate[3:] - g)])
    W = RigidBody(body.mass, body.com, body.matrix).wrench(V, A, 'material')
    return screws.convert_wrench(W, T, 'body', 'hybrid')


def leg_forces(
    robot: ParallelRobot,
    q: Array,
    v: Array,
    T: Array,
    t: Array,
    rate: Array,
    g: Array,
    inertias: Sequence[LegInertia],
) -> tuple[Array, Array]:
    """Return the loads of the legs: a hybrid wrench (6,) at the platform, motor forces (n,)."""
    mechanism = robot.mechanism
    d = recursions.rod_vectors(mechanism, q, T)
    arms = mechanism.platform_pivots @ T[:3, :3].T
    omega = so3.hat(t[:3])
    tops = t[3:] + arms @ omega.T
    accelerations = rate[3:] + arms @ (so3.hat(rate[:3]) + omega @ omega).T
    w, Q = np.zeros(6), np.zeros(robot.nv)
    for (k, rod), r, l_vector, v_top, a_top in zip(
        mechanism.rod_legs, arms, d, tops, accelerations
    ):
        leg, inertia = mechanism.legs[k], inertias[k]
        c_rate, c_curvature = leg.elbow_rates(q[k])
        motion, a = rod_motion(l_vector, v_top, a_top, c_rate, c_curvature, v[k])
        at_top, at_elbow = rod_force(motion, inertia, g)
        w += np.concatenate([np.cross(r, at_top), at_top])
        Q[k] += c_rate @ at_elbow
        if rod == 0:
            falling = g @ c_rate
            if leg.turning:
                falling *= inertia.arm / leg.crank  # type: ignore[attr-defined]
            Q[k] += inertia.motor * a - inertia.weight * falling
    return w, Q


def rod_motion(
    d: Array, v_top: Array, a_top: Array, c_rate: Array, c_curvature: Array, v: float
) -> tuple[RodMotion, float]:
    """Return the motion of a rod, and the acceleration of its motor.

    From d = t - c, rho rho' = d . d' and its derivative. The length of a rod varies if its elbow is
    fixed, and is constant otherwise.
    """
    length = float(np.linalg.norm(d))
    e = d / length
    relative = v_top - c_rate * v
    stretching = not c_rate.any()
    rho_rate = float(e @ relative) if stretching else 0.0
    bias = a_top - c_curvature * v**2
    along = (relative @ relative - rho_rate**2) / length + e @ bias
    a = float(along if stretching else along / (e @ c_rate))
    elbow = c_rate * a + c_curvature * v**2
    omega = np.cross(e, relative) / length
    omega_dot = np.cross(e, a_top - elbow) / length - 2.0 * rho_rate / length * omega
    return RodMotion(e, length, c_rate, elbow, a_top, omega, omega_dot), a


def rod_force(motion: RodMotion, inertia: LegInertia, g: Array) -> tuple[Array, Array]:
    """Return the forces (3,) that a rod needs at the pivot of the platform and at the elbow.

    By virtual power: on t' and c' they have the power of F at the centers of mass and of I omega'.
    """
    e, length, omega, omega_dot = motion.e, motion.length, motion.omega, motion.omega_dot
    swing = np.cross(omega_dot, e) + np.cross(omega, np.cross(omega, e))  # e''
    lower, upper = inertia.lower, inertia.upper
    F_lower = lower.mass * (motion.elbow + lower.distance * swing - g)
    F_upper = upper.mass * (motion.top - upper.distance * swing - g)
    across = lower.distance * F_lower - upper.distance * F_upper
    moment = (lower.moment + upper.moment) * omega_dot
    relative = (across - e * (e @ across) + np.cross(moment, e)) / length
    return relative + F_upper, F_lower - relative
