# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gains of joint controllers: poles, and the arm under them in simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import eigh

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.motion.control.joint_gains import joint_gains, middle_of_range
from screw_dynamics_ros.core.simulation import SimulatedRobot
from support.models import random_description
from support.robots import one_joint, urdf_path

FREQUENCY = 30.0  # rad/s


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'))


def test_formulas(panda):
    """The inertia felt at a joint is that of its acceleration alone: torque 1 gives 1 / m."""
    q, v = middle_of_range(panda), np.zeros(panda.nv)
    gains = joint_gains(panda, q, FREQUENCY)
    assert list(gains) == list(panda.joint_names)
    at_rest = panda.gravity_torques(q)
    for k, each in enumerate(gains.values()):
        felt = 1.0 / panda.forward_dynamics(q, v, at_rest + np.eye(panda.nv)[k])[k]
        assert each['p'] == pytest.approx(felt * FREQUENCY**2, rel=1e-9)
        assert each['d'] == pytest.approx(2.0 * felt * FREQUENCY, rel=1e-9)


def test_integral_gains(panda):
    """m w^3 / (4 l), with the largest eigenvalue l of M x = l m x, by SciPy."""
    q = middle_of_range(panda)
    M = panda.mass_matrix(q)
    felt = 1.0 / np.diag(np.linalg.inv(M))
    largest = eigh(M, np.diag(felt), eigvals_only=True)[-1]
    found = [each['i'] for each in joint_gains(panda, q, FREQUENCY).values()]
    np.testing.assert_allclose(found, felt * FREQUENCY**3 / (4.0 * largest), rtol=1e-9)


def test_joints_of_several_freedoms_have_none():
    robot = Robot(
        random_description(5, 7, ('planar', 'revolute', 'prismatic')), backend='reference'
    )
    sizes = {
        name: np.arange(robot.nv)[robot.joint_coordinates(name)[1]].size
        for name in robot.joint_names
    }
    single = [name for name, size in sizes.items() if size == 1]
    assert 0 < len(single) < len(robot.joint_names)
    gains = joint_gains(robot, None, FREQUENCY)
    assert list(gains) == single
    assert all(set(each) == {'p', 'i', 'd'} for each in gains.values())


@pytest.mark.parametrize('name', ['panda', 'ur5_robot'])
def test_poles_of_the_whole_arm(name):
    """M s^3 + d s^2 + p s + i: all to the left, none faster than 2 n w."""
    arm = Robot.from_urdf(urdf_path(name))
    q, n = middle_of_range(arm), arm.nv
    p, i, d = (
        np.diag([each[k] for each in joint_gains(arm, q, FREQUENCY).values()]) for k in 'pid'
    )
    inverse, one, zero = np.linalg.inv(arm.mass_matrix(q)), np.eye(n), np.zeros((n, n))
    system = np.block(
        [[zero, one, zero], [zero, zero, one], [-inverse @ i, -inverse @ p, -inverse @ d]]
    )
    poles = np.linalg.eigvals(system)
    assert poles.real.max() < 0.0
    assert np.abs(poles).max() < 2.0 * n * FREQUENCY


def test_without_a_configuration_it_is_the_middle_of_the_limits(panda):
    middle = middle_of_range(panda)
    assert middle[3] == pytest.approx((panda.limits.lower[3] + panda.limits.upper[3]) / 2)
    assert joint_gains(panda, None, FREQUENCY) == joint_gains(panda, middle, FREQUENCY)


def test_an_arm_that_is_held(panda):
    """At 500 Hz, with efforts one cycle late, it sags a little, comes back, and nothing rings."""
    q = middle_of_range(panda)
    gains = joint_gains(panda, q, FREQUENCY)
    p, i, d = (np.array([each[k] for each in gains.values()]) for k in 'pid')
    simulated = SimulatedRobot(panda, q=q)
    total, tau, errors = np.zeros(panda.nv), np.zeros(panda.nv), []
    for _ in range(3000):
        error = q - simulated.q
        total += error * 0.002
        applied, tau = tau, p * error + i * total - d * simulated.v
        simulated.step(applied, 0.002)
        errors.append(np.abs(error).max())
    assert max(errors) < 0.2
    assert errors[-1] < 0.5 * max(errors)
    assert np.abs(simulated.v).max() < 0.02


def test_joints_that_move_no_mass():
    with pytest.raises(ArgumentError, match=r'the mass matrix at .* is singular'):
        joint_gains(Robot.from_urdf(one_joint(), backend='reference'), [0.0], FREQUENCY)


@pytest.mark.parametrize('frequency', [0.0, -1.0, math.nan, math.inf, 'fast', None])
def test_bad_frequencies(panda, frequency):
    with pytest.raises(ArgumentError, match='frequency must be positive'):
        joint_gains(panda, middle_of_range(panda), frequency)
