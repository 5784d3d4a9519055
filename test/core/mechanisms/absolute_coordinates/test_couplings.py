# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coupled joints: a wheel on the ground, a pinion and a rack that follow it, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    CYLINDRICAL,
    GROUND,
    PRISMATIC,
    REVOLUTE,
    SE3,
    SPHERICAL,
    AbsoluteBody,
    AbsoluteSystem,
    ConstraintJoint,
    Coupling,
    SO3xR3,
    Stabilization,
    frame,
)
from support.jointed_bodies import random_system

RATIO, RADIUS = -2.5, 0.3  # of the pinion; of the rack [m/rad]
TURNED, SHIFTED = 0.7, 0.1  # where the followers are when the wheel is at 0 [rad, m]
INERTIAS = {
    'wheel': Inertia(2.0, np.zeros(3), np.diag([0.3, 0.4, 0.5])),
    'pinion': Inertia(1.5, np.zeros(3), np.diag([0.1, 0.1, 0.15])),
    'rack': Inertia(4.0, np.zeros(3), np.diag([0.2, 0.3, 0.4])),
}
WEIGHT = 9.81
REFLECTED = 0.5 + RATIO**2 * 0.15 + RADIUS**2 * 4.0  # inertia at the wheel [kg m^2]
GROUPS = [(SE3, SE3, SE3), (SO3xR3, SO3xR3, SO3xR3), (SO3xR3, SE3, SO3xR3)]


def poses(wheel: float, pinion: float | None = None, rack: float | None = None) -> dict:
    """Return the poses of the bodies; followers as the couplings demand by default."""
    pinion = RATIO * wheel + TURNED if pinion is None else pinion
    rack = RADIUS * wheel + SHIFTED if rack is None else rack
    return {
        'wheel': se3.pose(so3.exp([0, 0, wheel]), np.zeros(3)),
        'pinion': se3.pose(so3.exp([0, 0, pinion]), np.array([1.0, 0, 0])),
        'rack': se3.pose(np.eye(3), np.array([-0.5, rack, 0])),
    }


def gears(groups=GROUPS[0], **options) -> AbsoluteSystem:
    """Return wheel and pinion that turn about z, and a rack that slides up, along y."""
    bodies = [
        AbsoluteBody(name, inertia, group)
        for (name, inertia), group in zip(INERTIAS.items(), groups)
    ]
    up = frame(axis=[0, 1, 0])
    joints = [
        ConstraintJoint('axle', REVOLUTE, GROUND, 'wheel'),
        ConstraintJoint('shaft', REVOLUTE, GROUND, 'pinion', frame([1, 0, 0])),
        ConstraintJoint('guide', PRISMATIC, GROUND, 'rack', frame([-0.5, 0, 0], [0, 1, 0]), up),
    ]
    couplings = [Coupling(1, 0, 2, 2, RATIO, TURNED), Coupling(2, 0, 5, 2, RADIUS, SHIFTED)]
    free = AbsoluteSystem(bodies, backend='sparse')
    return AbsoluteSystem(
        bodies,
        joints,
        couplings=couplings,
        configuration=free.configuration_of(poses(0.4)),
        gravity=(0, -WEIGHT, 0),
        **{'backend': 'sparse'} | options,
    )


def rates(wheel: float) -> np.ndarray:
    """Return the velocity (18,) of bodies whose frames are in the axes of the ground, or turn."""
    v = np.zeros(18)
    v[[2, 8, 16]] = wheel, RATIO * wheel, RADIUS * wheel
    return v


@pytest.mark.parametrize('groups', GROUPS)
@pytest.mark.parametrize('backend', ['sparse', 'reference', 'python'])
def test_one_freedom_with_reflected_inertia(groups, backend):
    """(I_1 + n^2 I_2 + r^2 m) a = tau_1 + n tau_2 + r (f - m g)."""
    system = gears(groups, backend=backend)
    assert (system.constraint_count, system.redundant) == (17, ())
    q, v = system.configuration_of(poses(0.9)), rates(1.3)
    torques = {'axle': 3.0, 'shaft': [-0.8], 'guide': 7.0}
    a = system.forward_dynamics(q, v, system.joint_forces(q, torques))
    expected = (3.0 - 0.8 * RATIO + RADIUS * (7.0 - 4.0 * WEIGHT)) / REFLECTED
    np.testing.assert_allclose(a, rates(expected), atol=1e-12)


@pytest.mark.parametrize('groups', GROUPS)
def test_positions_rates_and_gaps(groups):
    system = gears(groups)
    q = system.configuration_of(poses(0.9))
    positions = system.joint_positions(q)
    expected = {'axle': 0.9, 'shaft': RATIO * 0.9 + TURNED, 'guide': RADIUS * 0.9 + SHIFTED}
    assert positions == pytest.approx(expected, abs=1e-14)
    found = system.joint_rates(q, rates(1.3))
    assert {name: rate.item() for name, rate in found.items()} == pytest.approx(
        {'axle': 1.3, 'shaft': RATIO * 1.3, 'guide': RADIUS * 1.3}, abs=1e-14
    )
    assert np.abs(system.constraint_residuals(q)).max() < 1e-15
    assert np.abs(system.constraint_jacobian(q) @ rates(1.3)).max() < 1e-15

    off = system.configuration_of(poses(0.9, RATIO * 0.9 + TURNED + 0.01, 0.0))
    g = system.constraint_residuals(off)
    np.testing.assert_allclose(g[:15], 0.0, atol=1e-15)
    np.testing.assert_allclose(g[15:], [0.01, -RADIUS * 0.9 - SHIFTED], atol=1e-14)
    violations = system.violation(off, rates(1.3) + 0.2 * (np.arange(18) == 8))
    assert violations['axle'] == pytest.approx((0.0, 0.0), abs=1e-14)
    assert violations['shaft'] == pytest.approx((0.01, 0.2), abs=1e-14)
    assert violations['guide'].gap == pytest.approx(RADIUS * 0.9 + SHIFTED, abs=1e-14)


@pytest.mark.parametrize('leader', [2, 5])
@pytest.mark.parametrize('follower', [2, 5])
@pytest.mark.parametrize('groups', GROUPS)
def test_bias_between_moving_bodies(groups, leader, follower):
    """J a = eta makes J v constant, on the constraints or not: of cylindrical joints, geared."""
    rng = np.random.default_rng(8)
    chain, q, _ = random_system(rng, CYLINDRICAL, groups)
    coupling = Coupling(2, 1, follower, leader, RATIO, 0.0)
    system = AbsoluteSystem(
        chain.bodies, chain.joints, couplings=[coupling], configuration=q, backend='sparse'
    )
    assert system.constraint_count == 13
    q, v = system.integrate(q, 0.3 * rng.normal(size=18)), rng.normal(size=18)
    h, bias = 1e-5, system.constraint_bias(q, v)
    ahead, behind = (system.constraint_jacobian(system.integrate(q, t * v)) @ v for t in (h, -h))
    np.testing.assert_allclose(bias, (behind - ahead) / (2 * h), atol=1e-8)
    assert abs(bias[-1]) > 1e-3


@pytest.mark.parametrize('wheel', [-2.0, -1.2, 1.4, 2.9])
def test_followers_may_have_turned_beyond_half_a_turn(wheel):
    """Angles are known modulo 2 pi, and the pinion turns faster than the wheel."""
    system = gears()
    q = system.configuration_of(poses(wheel, RATIO * wheel + TURNED - 0.02))
    np.testing.assert_allclose(system.constraint_residuals(q)[15:], [-0.02, 0.0], atol=1e-13)


@pytest.mark.parametrize('backend', ['sparse', 'reference', 'native'])
def test_stabilization(backend):
    """I-44: errors of followers obey e'' = -2 alpha e' - beta^2 e, also where angles wrap."""
    system = gears(stabilization=Stabilization(7.0, 11.0), backend=backend)
    pinion, rack = RATIO * 1.3 + TURNED + 0.01, RADIUS * 1.3 + SHIFTED - 0.02
    q = system.configuration_of(poses(1.3, pinion, rack))
    v = rates(0.6)
    v[[8, 16]] += 0.05, -0.04
    a = system.forward_dynamics(q, v)
    errors = a[8] - RATIO * a[2], a[16] - RADIUS * a[2]
    expected = -2 * 7.0 * 0.05 - 11.0**2 * 0.01, 2 * 7.0 * 0.04 + 11.0**2 * 0.02
    np.testing.assert_allclose(errors, expected, atol=1e-10)


@pytest.mark.parametrize('groups', GROUPS)
def test_reactions_are_those_of_the_bearings(groups):
    """I-21: they carry the weight; the forces between the gears are not among them."""
    system = gears(groups)
    q = system.configuration_of(poses(0.9))
    reactions = system.reactions(q, np.zeros(18))
    for joint, mass, angle in (('axle', 2.0, 0.9), ('shaft', 1.5, RATIO * 0.9 + TURNED)):
        up = mass * WEIGHT * np.array([np.sin(angle), np.cos(angle), 0.0])  # in the body's axes
        np.testing.assert_allclose(reactions[joint], [0, 0, 0, *up], atol=1e-10)
    np.testing.assert_allclose(reactions['guide'], 0.0, atol=1e-10)  # nothing across the slide


def test_coupling_that_the_loop_prescribes_too():
    """I-29: of a parallelogram with geared cranks the gearing is redundant, and named."""
    names = ('left', 'rod', 'right')
    bodies = [AbsoluteBody(name, Inertia(1.0, np.zeros(3), np.eye(3))) for name in names]
    joints = [
        ConstraintJoint('A', REVOLUTE, GROUND, 'left'),
        ConstraintJoint('B', REVOLUTE, 'left', 'rod', frame([1, 0, 0])),
        ConstraintJoint('D', REVOLUTE, GROUND, 'right', frame([2, 0, 0])),
        ConstraintJoint('C', REVOLUTE, 'rod', 'right', frame([2, 0, 0]), frame([1, 0, 0])),
    ]
    turned = so3.exp([0, 0, 1.1])
    closed = {
        'left': se3.pose(turned, np.zeros(3)),
        'rod': se3.pose(np.eye(3), turned[:, 0]),
        'right': se3.pose(turned, np.array([2.0, 0, 0])),
    }
    q = AbsoluteSystem(bodies, backend='sparse').configuration_of(closed)
    same = Coupling(2, 0, 2, 2, 1.0, 0.0)
    system = AbsoluteSystem(bodies, joints, couplings=[same], configuration=q, backend='sparse')
    planar = ('C: rotation about x', 'C: rotation about y', 'C: shift along z')
    assert system.redundant == (*planar, 'D: coupling')
    assert system.constraint_count == 17


def test_torques_of_joints_are_checked():
    system = gears()
    q = system.configuration
    with pytest.raises(UnknownNameError, match=r"no joint named 'motor'; there are .*axle"):
        system.joint_forces(q, {'motor': 1.0})
    with pytest.raises(ArgumentError, match=r"torque of joint 'shaft' must have shape \(1,\)"):
        system.joint_forces(q, {'shaft': [1.0, 2.0]})
    ball = AbsoluteSystem(
        system.bodies[:1], [ConstraintJoint('ball', SPHERICAL, GROUND, 'wheel')], backend='sparse'
    )
    assert ball.joint_positions(ball.neutral()) == {}
    with pytest.raises(ArgumentError, match=r"torque of joint 'ball' must have shape \(3,\)"):
        ball.joint_forces(ball.neutral(), {'ball': 1.0})
