# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The motors of the simulator on real arms: steps, pushes, stiffness; without ROS running."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive
from screw_dynamics_ros.nodes.simulation.joint_targets import EFFORT, POSITION, VELOCITY, command_of
from support.simulated_motors import DrivenArm


@pytest.mark.parametrize('name', ['panda', 'ur5_robot'])
def test_steps_of_position_stay_within_velocity_limits_and_settle(name):
    """Within a second, where a saturated servo would swing at 100 rad/s for ever (Panda)."""
    arm = DrivenArm(name)
    limits = arm.robot.limits
    goal = np.clip(arm.simulated.q + 0.3, limits.lower, limits.upper)
    arm.command(POSITION, goal)
    arm.run(1.0)
    np.testing.assert_allclose(arm.simulated.q, goal, atol=1e-3)
    assert (arm.fastest < 1.25 * limits.velocity).all()


@pytest.mark.parametrize('name', ['panda', 'ur5_robot'])
def test_it_comes_back_after_it_has_been_thrown_out_of_its_position(name):
    arm = DrivenArm(name)
    limits, goal = arm.robot.limits, arm.simulated.q
    arm.command(POSITION, goal)
    arm.run(0.01)
    away = np.clip(goal + 0.3, limits.lower, limits.upper)
    arm.simulated.set_state(away, np.where(np.arange(len(goal)) % 2, -1.0, 1.0))
    arm.run(2.0)
    np.testing.assert_allclose(arm.simulated.q, goal, atol=1e-3)


def test_the_stiffness_is_that_of_the_frequency():
    """Under a steady wrench: M w^2 times the deflection is the torque of the wrench."""
    arm = DrivenArm('panda')
    link, wrench = 'panda_hand_tcp', np.array([0.0, 0.0, 0.0, 5.0, -4.0, 3.0])
    goal = arm.simulated.q
    arm.command(POSITION, goal)
    q = arm.run(1.5, {link: wrench})
    torque = arm.robot.jacobian(q, link, 'body').T @ wrench
    stiffness = 60.0**2 * arm.robot.mass_matrix(q)
    assert np.abs(q - goal).max() > 1e-3
    np.testing.assert_allclose(stiffness @ (q - goal), torque, atol=0.01 * np.abs(torque).max())


def test_velocities_and_efforts_beside_each_other():
    """Efforts are applied exactly, whatever the servos of the other joints do."""
    arm = DrivenArm('panda')
    arm.command(VELOCITY, [0.2, -0.1])
    tau = arm.robot.gravity_torques(arm.simulated.q)
    joints = np.array([3, 4])
    arm.targets.command(command_of(joints, effort=tau[joints]), 'test', 0)
    arm.run(0.4)
    given = arm.motors.torques(arm.now, 1e3, arm.simulated.q, arm.simulated.v)
    np.testing.assert_array_equal(given[joints], tau[joints])
    np.testing.assert_allclose(arm.simulated.v[:2], [0.2, -0.1], atol=2e-3)


def test_motors_have_the_torque_of_their_speed():
    """By hand: commanded 50 N m, of 20 N m at rest there are 20 (1 - v / 0.4), none backwards."""
    motor = Drive(stall_torque=20.0, no_load_speed=0.4, peak_torque=15.0)
    arm = DrivenArm('panda', drives={'panda_joint1': motor})
    q, v = arm.simulated.q, np.zeros(arm.robot.nv)
    arm.command(EFFORT, arm.robot.gravity_torques(q))
    for rate, effort, expected in (
        (0.0, 50.0, 15.0), (0.3, 50.0, 5.0), (0.5, 50.0, 0.0), (0.5, -50.0, -15.0),
        (-0.3, -50.0, -5.0), (0.3, 2.0, 2.0),
    ):  # fmt: skip
        arm.targets.command(command_of([0], effort=[effort]), 'test', arm.now)
        given = arm.motors.torques(arm.now, 1e3, q, v + rate * np.eye(len(v))[0])
        assert given[0] == pytest.approx(expected)


def test_commanded_efforts_are_limited_as_by_ros2_control():
    """By hand, at the upper limit of a joint: nothing towards it; elsewhere the effort limit.

    Servos and the posture without commands have no limiter.
    """
    arm = DrivenArm('panda')
    q, v, limits = arm.simulated.q.copy(), np.zeros(arm.robot.nv), arm.robot.limits
    q[0] = limits.upper[0]
    posture = arm.motors.torques(arm.now, 1e3, q, v)
    arm.motors.is_limited = True
    np.testing.assert_array_equal(arm.motors.torques(arm.now, 1e3, q, v), posture)
    efforts = np.zeros(arm.robot.nv)
    efforts[:2] = 5.0, -1e3
    arm.command(EFFORT, efforts)
    given = arm.motors.torques(arm.now, 1e3, q, v)
    np.testing.assert_array_equal(given[:2], [0.0, -limits.effort[1]])
    arm.motors.is_limited = False
    given = arm.motors.torques(arm.now, 1e3, q, v)
    np.testing.assert_array_equal(given[:2], [5.0, -limits.effort[1]])
    arm.motors.is_limited = True
    arm.command(EFFORT, -efforts)
    given = arm.motors.torques(arm.now, 1e3, q, v)
    np.testing.assert_array_equal(given[:2], [-5.0, limits.effort[1]])


def test_time_that_is_skipped_moves_nothing():
    """Of the system's, when a process was stopped, and between its start and the first state."""
    arm = DrivenArm('panda', amplitude=0.3)
    arm.run(0.5)
    state = arm.simulated.q, arm.simulated.v
    before = arm.motors.torques(arm.now, 1e3, *state)
    arm.now += 10**18
    np.testing.assert_allclose(arm.motors.torques(arm.now, 1e3, *state), before, atol=1e-9)


def test_without_commands_the_posture_is_held():
    arm = DrivenArm('panda')
    start = arm.simulated.q.copy()
    np.testing.assert_allclose(arm.run(0.5), start, atol=1e-9)
    given = arm.motors.torques(arm.now, 1e3, arm.simulated.q, arm.simulated.v)
    np.testing.assert_allclose(given, arm.robot.gravity_torques(start), atol=1e-6)


def test_a_command_acts_at_the_time_at_which_it_comes():
    """Also where the torques of that time have been asked for already."""
    arm = DrivenArm('panda')
    q, v = arm.simulated.q, arm.simulated.v
    arm.motors.torques(0, 1e3, q, v)
    for efforts in (np.full(arm.robot.nv, 1.0), np.full(arm.robot.nv, -2.0)):
        arm.command(EFFORT, efforts)
        np.testing.assert_array_equal(arm.motors.torques(0, 1e3, q, v), efforts)
    arm.motors.hold(q)
    held = arm.motors.torques(0, 1e3, q, v)
    np.testing.assert_allclose(held, arm.robot.gravity_torques(q), atol=1e-6)
