# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques that motors have at a rate: by hand, beside another formula, recorded, simulated."""

from dataclasses import replace

import numpy as np
import pytest

from oracles.program_interpreter import run
from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.compile.kernels import KernelSpecification
from screw_dynamics_ros.core.description import Limits
from screw_dynamics_ros.core.dynamics.drive_forces import AvailableTorques
from screw_dynamics_ros.core.simulation import SimulatedRobot
from screw_dynamics_ros.core.simulation.joint_servo import JointServo
from support.drives import two_masses
from support.models import random_description

MOTOR = Drive(stall_torque=10.0, no_load_speed=5.0, peak_torque=6.0)
RATE = np.linspace(-4.9, 4.9, 99)


def limited(drives, effort=(np.inf, np.inf)):
    """Return two masses whose joints have effort limits and drives."""
    arm = two_masses()
    joints = tuple(
        replace(joint, limits=Limits(effort=limit)) for joint, limit in zip(arm.joints, effort)
    )
    return Robot(replace(arm, joints=joints), drives=drives, gravity=(0, 0, 0))


def test_below_the_no_load_speed_it_is_the_clamp_of_reinforcement_learning():
    """Of "DC motors" of Isaac Lab: saturation (+-1 - v / v_max) within the effort limit."""
    lowest, highest = MOTOR.available_torques(RATE)
    np.testing.assert_allclose(highest, np.clip(10.0 * (1.0 - RATE / 5.0), None, 6.0))
    np.testing.assert_allclose(lowest, np.clip(10.0 * (-1.0 - RATE / 5.0), -6.0, None))


@pytest.mark.parametrize(
    ('rate', 'expected'),
    [(0.0, (-6, 6)), (2.0, (-6, 6)), (4.0, (-6, 2)), (-4.0, (-2, 6)), (5.0, (-6, 0)),
     (50.0, (-6, 0)), (-50.0, (0, 6))],
)  # fmt: skip
def test_by_hand(rate, expected):
    assert MOTOR.available_torques(rate) == pytest.approx(expected)
    without_peak = replace(MOTOR, peak_torque=0.0)
    assert max(map(abs, without_peak.available_torques(rate))) <= 10.0
    assert Drive(peak_torque=6.0).available_torques(rate) == (-6.0, 6.0)
    assert Drive().available_torques(rate) == (-np.inf, np.inf)
    assert np.isnan(MOTOR.available_torques(np.nan)).all()


def test_limits_of_joints_and_of_motors():
    """The smaller ones, of stacks, too, and recorded."""
    robot = limited({'q1': MOTOR}, effort=(4.0, 7.0))
    v = np.stack([RATE, RATE], axis=1)
    lower, upper = AvailableTorques(robot.tree)(v)
    np.testing.assert_array_equal(upper[:, 1], np.full(99, 7.0))
    np.testing.assert_allclose(upper[:, 0], np.minimum(MOTOR.available_torques(RATE)[1], 4.0))
    np.testing.assert_allclose(lower[:, 0], np.maximum(MOTOR.available_torques(RATE)[0], -4.0))
    program = KernelSpecification(
        'torques', (('v', 2),), lambda v: AvailableTorques(robot.tree)(v)
    ).record()
    for k in (0, 10, 50, 98):
        np.testing.assert_allclose(run(program, v=v[k]), [lower[k], upper[k]], rtol=1e-15)


def test_a_motor_at_full_torque_approaches_its_no_load_speed():
    """By hand: I v' = T (1 - v / v_0) gives v = v_0 (1 - exp(-T t / (I v_0))); I = 5 kg m^2."""
    motor, arm = replace(MOTOR, peak_torque=0.0), two_masses()
    stretched = arm.joints[0], replace(arm.joints[1], type='fixed')
    robot = Robot(replace(arm, joints=stretched), drives={'q1': motor}, gravity=(0, 0, 0))
    simulated = SimulatedRobot(robot)
    available = AvailableTorques(robot.tree)
    for k in range(3000):
        _, highest = available(simulated.v)
        simulated.step(highest, 1e-3)
        expected = 5.0 * (1.0 - np.exp(-10.0 * 1e-3 * (k + 1) / (5.0 * 5.0)))
        assert simulated.v[0] == pytest.approx(expected, rel=2e-3)


def test_servos_have_the_torque_of_their_motors():
    robot = limited({'q1': MOTOR}, effort=(np.inf, 3.0))
    servo, far = JointServo(robot), np.array([100.0, 100.0])
    for rate, expected in ((0.0, 6.0), (4.0, 2.0), (5.0, 0.0)):
        v = np.array([rate, 0.0])
        tau = servo.torques(np.zeros(2), v, ['position'] * 2, far, v, np.zeros(2))
        np.testing.assert_allclose(tau, [expected, 3.0])


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'stall_torque': 1.0}, r'stall_torque is 1\.0 and no_load_speed 0\.0; give both'),
        ({'no_load_speed': 1.0}, r'no_load_speed 1\.0; give both'),
        *(({name: -1.0}, f'{name} is -1.0; it must not be negative')
          for name in ('stall_torque', 'no_load_speed', 'peak_torque')),
        *(({name: np.nan}, f'{name} is nan; give a finite number')
          for name in ('stall_torque', 'no_load_speed', 'peak_torque')),
        *(({'coupled_joints': ('q2',), 'coupling_ratios': (1.0,), name: 1.0, **more},
           f'a motor with coupled_joints has no {name}')
          for name, more in (('stall_torque', {'no_load_speed': 1.0}), ('peak_torque', {}))),
    ],
)  # fmt: skip
def test_motors_that_are_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        Drive(**fields)


def test_joints_that_follow_others_have_no_motor():
    """One that is followed may have one: its torque is that of all."""
    description = random_description(4, 4, ('revolute',), mimic=1)
    follower = next(joint for joint in description.joints if joint.mimic is not None)
    with pytest.raises(ArgumentError, match='has a peak_torque: how mimic joints share'):
        Robot(description, drives={follower.name: Drive(peak_torque=1.0)})
    Robot(description, drives={follower.mimic.joint: Drive(peak_torque=1.0)})
