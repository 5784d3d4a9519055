# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Simulated motion: energy, contact forces, free bases, and a posture that holds.

C-062; the steps themselves are tested in test_integration.py.
"""

import re

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError, InertiaError, UnknownNameError
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import Posture, SimulatedRobot
from support.models import random_description
from support.robots import urdf_path


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'))


def without_stops(name):
    """Return a robot whose joints turn and slide as far as they like."""
    text = urdf_path(name).read_text(encoding='utf-8')
    return Robot.from_urdf(re.sub(r'(<limit[^>]*) lower="[^"]*" upper="[^"]*"', r'\1', text))


def energy(simulated):
    robot = simulated.robot
    return robot.kinetic_energy(simulated.q, simulated.v) + robot.potential_energy(simulated.q)


def run(simulated, seconds, dt, torques=None, wrenches=None):
    zero = np.zeros(simulated.robot.nv)
    for step in range(round(seconds / dt)):
        tau = zero if torques is None else torques(step * dt, simulated.q, simulated.v)
        simulated.step(tau, dt, wrenches)


@pytest.mark.parametrize(('name', 'tolerance'), [('planar_2r', 1e-9), ('panda', 1e-5)])
def test_energy_is_kept_in_free_fall(name, tolerance):
    simulated = SimulatedRobot(without_stops(name))
    simulated.q, simulated.v = simulated.q + 0.3, simulated.v + 0.5
    before = energy(simulated)
    run(simulated, 0.5, 0.0005)
    assert np.abs(simulated.v - 0.5).max() > 0.1  # it does move
    assert energy(simulated) - before == pytest.approx(0.0, abs=tolerance)


def test_work_of_torques_and_wrenches_is_the_change_of_energy():
    """Power balance: dE = tau . v + W . V, integrated along the motion."""
    panda = without_stops('panda')
    simulated, dt, tool = SimulatedRobot(panda, middle_of_range(panda)), 0.0005, 'panda_hand_tcp'
    wrench = np.array([0.1, -0.2, 0.3, 4.0, 5.0, -6.0])
    before, work = energy(simulated), 0.0
    for _ in range(600):
        tau = panda.gravity_torques(simulated.q) + 0.1
        load = tau + panda.jacobian(simulated.q, tool, 'body').T @ wrench
        q = simulated.q
        simulated.step(tau, dt, {tool: wrench})
        work += load @ (simulated.q - q)
    assert abs(work) > 0.01
    assert energy(simulated) - before == pytest.approx(work, rel=1e-6)


def test_external_wrench_accelerates_as_forward_dynamics_says(panda):
    simulated, tool = SimulatedRobot(panda, middle_of_range(panda)), 'panda_hand_tcp'
    wrench, tau, dt = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0]), np.arange(8.0), 1e-7
    expected = panda.forward_dynamics(simulated.q, simulated.v, tau, {tool: wrench})
    simulated.step(tau, dt, {tool: wrench})
    np.testing.assert_allclose(simulated.v / dt, expected, rtol=1e-4, atol=1e-4)


def test_posture_holds_against_gravity(panda):
    simulated = SimulatedRobot(panda, middle_of_range(panda))
    start = simulated.q.copy()
    run(simulated, 0.5, 0.001, Posture(panda, start).torques)
    np.testing.assert_allclose(simulated.q, start, atol=1e-9)


def test_posture_springs_back(panda):
    simulated = SimulatedRobot(panda, middle_of_range(panda))
    posture, start = Posture(panda, simulated.q), simulated.q.copy()
    simulated.q = start + 0.05
    run(simulated, 2.0, 0.001, posture.torques)
    np.testing.assert_allclose(simulated.q, start, atol=2e-3)


def test_posture_follows_a_motion_within_the_limits(panda):
    simulated = SimulatedRobot(panda, middle_of_range(panda))
    posture = Posture(panda, simulated.q, amplitude=0.4, period=4.0)
    np.testing.assert_array_equal(posture.reference(0.0)[0], simulated.q)
    np.testing.assert_array_equal(posture.reference(0.0)[1], 0.0)
    worst, seen = 0.0, []
    for step in range(3000):
        simulated.step(posture.torques(step * 0.001, simulated.q, simulated.v), 0.001)
        worst = max(worst, np.abs(simulated.q - posture.reference((step + 1) * 0.001)[0]).max())
        seen.append(simulated.q)
    assert worst < 0.02
    arm = np.ptp(seen, axis=0)[:7]
    assert (arm > 0.3).all()
    assert (np.array(seen) > panda.limits.lower).all()
    assert (np.array(seen) < panda.limits.upper).all()


def test_velocity_of_the_reference_is_its_derivative(panda):
    posture, h = Posture(panda, middle_of_range(panda), amplitude=0.3, period=3.0), 1e-6
    for t in (0.1, 1.0, 7.3):
        difference = (posture.reference(t + h)[0] - posture.reference(t - h)[0]) / (2 * h)
        np.testing.assert_allclose(difference, posture.reference(t)[1], atol=1e-8)


def brick(
    joint,
    inertial='<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>',
):
    return (
        f'<robot name="brick"><link name="a"/><link name="b">{inertial}</link>'
        f'<joint name="j" type="{joint}"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )


@pytest.mark.parametrize('joint', ['floating', 'planar'])
def test_free_fall_of_bodies_with_several_freedoms(joint):
    robot = Robot.from_urdf(brick(joint), gravity=(0, -9.81, 0), backend='reference')
    simulated = SimulatedRobot(robot)
    simulated.v[2] = 3.0  # turning about the normal of the plane
    run(simulated, 0.3, 0.01)
    np.testing.assert_allclose(robot.link_pose(simulated.q, 'b')[1, 3], -9.81 / 2 * 0.3**2)
    assert energy(simulated) == pytest.approx(4.5, abs=1e-7)


def test_free_fall_of_a_floating_base():
    """A tumbling tree with moving joints: energy and the path of its center of mass."""
    robot = Robot(random_description(1, 3), floating_base=True, backend='python')
    simulated = SimulatedRobot(robot)
    np.testing.assert_array_equal(simulated.q[:7], (0, 0, 0, 0, 0, 0, 1))
    simulated.v = np.linspace(-1.0, 1.0, robot.nv)
    before, center = energy(simulated), robot.center_of_mass(simulated.q)
    velocity = robot.center_of_mass_velocity(simulated.q, simulated.v)
    run(simulated, 0.5, 0.005)
    assert energy(simulated) == pytest.approx(before, abs=1e-7)
    fallen = center + 0.5 * velocity + 0.125 * robot.gravity
    np.testing.assert_allclose(robot.center_of_mass(simulated.q), fallen, atol=1e-9)


def test_robots_that_cannot_be_simulated():
    with pytest.raises(ArgumentError, match="'brick' cannot be simulated: it has no movable joint"):
        SimulatedRobot(Robot.from_urdf(brick('fixed')))
    with pytest.raises(ArgumentError, match='has no floating base'):
        SimulatedRobot(Robot.from_urdf(brick('continuous')), integrator='momentum_preserving')
    with pytest.raises(UnknownNameError, match="'euler'; choose one of runge_kutta, semi_implicit"):
        SimulatedRobot(Robot.from_urdf(brick('continuous')), integrator='euler')


@pytest.mark.parametrize('joint', ['planar', 'floating'])
def test_no_posture_without_motors(joint):
    robot = Robot.from_urdf(brick(joint), backend='reference')
    with pytest.raises(ArgumentError, match="'brick' cannot be held in a posture"):
        Posture(robot, middle_of_range(robot))


ROD = (
    '<inertial><origin xyz="1 2 3"/><mass value="1"/>'
    '<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'
)


@pytest.mark.parametrize(
    ('joint', 'inertial', 'base', 'name'),
    [
        ('continuous', '', False, "joint 'j'"),
        ('floating', ROD, False, "joint 'j'"),
        ('continuous', ROD, True, "the floating base 'a'"),
    ],
)
def test_robots_without_mass_are_refused(joint, inertial, base, name):
    """ROD is a point mass: it resists rotation about every axis but the one through it."""
    with pytest.raises(InertiaError, match=f'{name} moves no mass'):
        SimulatedRobot(Robot.from_urdf(brick(joint, inertial), floating_base=base))
