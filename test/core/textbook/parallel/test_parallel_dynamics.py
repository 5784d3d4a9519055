# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Dynamics of a platform with heavy legs, against bodies in absolute coordinates."""

import numpy as np
import pytest

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    GROUND,
    PRISMATIC,
    SPHERICAL,
    AbsoluteBody,
    AbsoluteSystem,
    ConstraintJoint,
    frame,
)
from screw_dynamics_ros.core.mechanisms.parallel import ParallelRobot, example_mechanisms
from screw_dynamics_ros.core.textbook.parallel.dynamics import LegInertia, RodPart, inverse_dynamics
from support.parallel_robots import GOLDEN

LEG = LegInertia(RodPart(1.2, 0.15, 0.02), RodPart(0.7, 0.2, 0.01))
TWIST = np.array([0.4, -0.3, 0.5, 0.1, 0.2, -0.3])
RATE = np.array([1.0, 2.0, -1.5, 0.8, -0.6, 1.2])


def slender(part, sign):
    """Return a part of a rod along the 3-axis from its own end."""
    com = np.array([0.0, 0.0, sign * part.distance])
    return Inertia(part.mass, com, np.diag([part.moment, part.moment, 1e-3 * part.moment]))


def constrained(robot, q, T):
    """Return the platform with cylinders and pistons as an `AbsoluteSystem`."""
    bodies, joints = [AbsoluteBody('platform', robot.mechanism.inertia)], []
    poses = {'platform': T}
    for k, leg in enumerate(robot.mechanism.legs):
        top = T[:3, 3] + T[:3, :3] @ leg.platform[0]
        along = top - leg.base[0]
        R = frame(np.zeros(3), along)[:3, :3]
        cylinder, piston = f'cylinder {k}', f'piston {k}'
        bodies += [
            AbsoluteBody(cylinder, slender(LEG.lower, 1.0)),
            AbsoluteBody(piston, slender(LEG.upper, -1.0)),
        ]
        poses[cylinder], poses[piston] = se3.pose(R, leg.base[0]), se3.pose(R, top)
        joints += [
            ConstraintJoint(f'base {k}', SPHERICAL, GROUND, cylinder, frame(leg.base[0])),
            ConstraintJoint(f'slide {k}', PRISMATIC, cylinder, piston),
            ConstraintJoint(
                f'top {k}', SPHERICAL, piston, 'platform', frame(), frame(leg.platform[0])
            ),
        ]
    start = AbsoluteSystem(bodies, backend='sparse').configuration_of(poses)
    return AbsoluteSystem(bodies, joints, configuration=start, backend='sparse')


def velocities(robot, system, T, t):
    """Return body-fixed twists of all bodies for a hybrid twist of the platform."""
    v = [T[:3, :3].T @ t[:3], T[:3, :3].T @ t[3:]]
    poses = system.poses(system.configuration)
    for k, leg in enumerate(robot.mechanism.legs):
        top_velocity = t[3:] + np.cross(t[:3], T[:3, :3] @ leg.platform[0])
        d = T[:3, 3] + T[:3, :3] @ leg.platform[0] - leg.base[0]
        omega = np.cross(d, top_velocity) / (d @ d)
        R = poses[f'cylinder {k}'][:3, :3]
        v += [R.T @ omega, np.zeros(3), R.T @ omega, R.T @ top_velocity]
    return np.concatenate(v)


def test_motor_forces_against_the_constrained_system():
    """C-128: with these forces 13 constrained bodies accelerate as they should."""
    robot = ParallelRobot(example_mechanisms.stewart_gough(), 'reference')
    q = robot.inverse_position(GOLDEN)
    tau = inverse_dynamics(robot, q, GOLDEN, TWIST, RATE, leg_inertias=[LEG] * 6)
    system = constrained(robot, q, GOLDEN)
    v = velocities(robot, system, GOLDEN, TWIST)
    assert max(each.velocity for each in system.violation(system.configuration, v).values()) < 1e-12
    forces = system.joint_forces(system.configuration, {f'slide {k}': x for k, x in enumerate(tau)})
    a = system.forward_dynamics(system.configuration, v, forces)[:6]
    R = GOLDEN[:3, :3]
    rate = np.concatenate([R @ a[:3], R @ a[3:] + np.cross(TWIST[:3], TWIST[3:])])
    assert np.allclose(rate, RATE, atol=1e-9)


def test_static_forces_are_those_of_the_weight():
    """C-128: at rest and without masses of legs, G^-1 w."""
    robot = ParallelRobot(example_mechanisms.hexa(), 'reference')
    q, zero = robot.inverse_position(robot.home), np.zeros(6)
    external = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    tau = inverse_dynamics(robot, q, robot.home, zero, zero, external_wrench=external)
    weight = robot.wrench_of_weight(robot.home)
    assert np.allclose(tau, robot.inverse_force(q, weight - external), atol=1e-12)


@pytest.mark.parametrize('name', ['hexa', 'hexaglide', 'delta'])
def test_power_balance_of_heavy_legs(name):
    """C-128: at rest, forces are the gradient of the potential energy of platform and legs."""
    robot, h = ParallelRobot(getattr(example_mechanisms, name)(), 'reference'), 1e-6
    inertia = LegInertia(RodPart(0.3, 0.2, 0.01), RodPart(0.2, 0.1, 0.0), 0.1, 0.5, 0.1)
    q, zero = robot.inverse_position(robot.home), np.zeros(6)
    tau = inverse_dynamics(
        robot,
        q,
        robot.home,
        zero,
        zero,
        leg_inertias=[inertia] * robot.nv,
        gravity=(1.0, 2.0, -9.0),
    )
    g = np.array([1.0, 2.0, -9.0])

    def energy(x):
        T = robot.forward_position(x)
        body, U = robot.mechanism.inertia, 0.0
        U -= body.mass * g @ (T[:3, 3] + T[:3, :3] @ body.com)
        for leg, motor in zip(robot.mechanism.legs, x):
            elbows = leg.elbows(motor)
            tops = T[:3, 3] + leg.platform @ T[:3, :3].T
            share = inertia.arm / leg.crank if leg.turning else 1.0
            U -= inertia.weight * g @ (share * (elbows[0] - leg.base[0]))
            for c, t in zip(elbows, tops):
                e = (t - c) / np.linalg.norm(t - c)
                U -= inertia.lower.mass * g @ (c + inertia.lower.distance * e)
                U -= inertia.upper.mass * g @ (t - inertia.upper.distance * e)
        return U

    gradient = [(energy(q + h * e) - energy(q - h * e)) / (2 * h) for e in np.eye(robot.nv)]
    assert np.allclose(tau, gradient, atol=1e-6)


@pytest.mark.parametrize('name', ['stewart_gough', 'hexa', 'hexaglide', 'delta'])
def test_power_in_motion(name):
    """C-128: the power of the motors is the rate of kinetic energy of platform, rods and motors.

    By differences along a motion of the motors; without gravity, whose test is above.
    """
    robot = ParallelRobot(getattr(example_mechanisms, name)(), 'reference')
    inertia = LegInertia(RodPart(0.3, 0.2, 0.01), RodPart(0.2, 0.1, 0.005), 0.1, 0.5, 0.1)
    rng, n, h = np.random.default_rng(2), robot.nv, 1e-4
    q0, v0, a0 = robot.inverse_position(robot.home), *rng.uniform(-0.3, 0.3, (2, n))

    def pose(t):
        return robot.forward_position(q0 + v0 * t + 0.5 * a0 * t**2)

    def rate(of, t):
        return (of(t + h) - of(t - h)) / (2 * h)

    def twist(t):
        turning = rate(pose, t)[:3, :3] @ pose(t)[:3, :3].T
        return np.array([turning[2, 1], turning[0, 2], turning[1, 0], *rate(pose, t)[:3, 3]])

    def rods(t):
        """Return the ends of all rods, (rods, 2, 3)."""
        T, q = pose(t), q0 + v0 * t + 0.5 * a0 * t**2
        return np.array([
            (c, T[:3, 3] + T[:3, :3] @ top)
            for leg, motor in zip(robot.mechanism.legs, q)
            for c, top in zip(leg.elbows(motor), leg.platform)
        ])  # fmt: skip

    def unit(t):
        along = rods(t)[:, 1] - rods(t)[:, 0]
        return along / np.linalg.norm(along, axis=1)[:, None]

    def energy(t):
        body, T, V = robot.mechanism.inertia, pose(t), twist(t)
        R, ends, e_rate = T[:3, :3], rate(rods, t), rate(unit, t)
        center = V[3:] + np.cross(V[:3], R @ body.com)
        E = 0.5 * body.mass * center @ center + 0.5 * V[:3] @ R @ body.matrix @ R.T @ V[:3]
        for c, top, e in zip(ends[:, 0], ends[:, 1], e_rate):
            low, high = c + inertia.lower.distance * e, top - inertia.upper.distance * e
            E += 0.5 * inertia.lower.mass * low @ low + 0.5 * inertia.upper.mass * high @ high
            E += 0.5 * (inertia.lower.moment + inertia.upper.moment) * e @ e
        return E + 0.5 * inertia.motor * ((v0 + a0 * t) ** 2).sum()

    tau = inverse_dynamics(
        robot, q0, pose(0.0), twist(0.0), rate(twist, 0.0),
        leg_inertias=[inertia] * n, gravity=np.zeros(3),
    )  # fmt: skip
    assert tau @ v0 == pytest.approx(rate(energy, 0.0), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        *(
            (lambda x, k=k: RodPart(**{k: x}), f'{k} of a part of a rod')
            for k in ('mass', 'distance', 'moment')
        ),
        *(
            (lambda x, k=k: LegInertia(**{k: x}), f'{k} of a leg')
            for k in ('motor', 'weight', 'arm')
        ),
    ],
)
def test_masses_are_not_negative(make, message):
    make(0.0)
    with pytest.raises(ArgumentError, match=message):
        make(-1e-9)


def test_refusals():
    robot = ParallelRobot(example_mechanisms.stewart_gough(), 'reference')
    q, zero = robot.inverse_position(robot.home), np.zeros(6)
    with pytest.raises(ArgumentError, match='are inconsistent'):
        inverse_dynamics(robot, q + 0.1, robot.home, zero, zero)
    with pytest.raises(ArgumentError, match='2 leg_inertias for 6 legs'):
        inverse_dynamics(robot, q, robot.home, zero, zero, leg_inertias=[LEG] * 2)
