# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every way to command the simulator, through DDS, in lock step: one answer to each state."""

from functools import partial

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core import Robot
from support.lock_step import JOINTS, PERIOD, START, LockStep, arm

ALL_NAMES = [*JOINTS, 'other_finger']


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(arm())


@pytest.fixture(scope='module')
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp('urdf') / 'arm.urdf'
    path.write_text(arm())
    return path


@pytest.fixture(scope='module')
def driver(start, connect, path):
    return LockStep(start, connect, path, 'commands')


@pytest.fixture(autouse=True)
def beginning(driver):
    driver.begin()


def repeat(count, act):
    """Return what the last of some answers gives."""
    return [act() for _ in range(count)][-1]


def joint_command(names=ALL_NAMES, **arrays):
    return JointState(name=list(names), **{key: list(map(float, x)) for key, x in arrays.items()})


def test_it_begins_at_rest_against_gravity(driver, robot):
    q, v, tau = driver.last
    np.testing.assert_array_equal(q, START)
    np.testing.assert_array_equal(v, 0.0)
    np.testing.assert_allclose(tau, robot.gravity_torques(q), atol=1e-12)
    assert driver.messages[0].name == list(JOINTS)


def test_efforts_are_exactly_those_of_the_command(driver, robot):
    tau = robot.gravity_torques(START) + [1.0, -2.0, 3.0]
    driver.command('effort', *tau)
    _, v, effort = driver.command('effort', *tau)
    np.testing.assert_array_equal(effort, tau)
    assert (np.sign(v) == np.sign(robot.forward_dynamics(START, np.zeros(3), tau))).all()


def test_positions_are_reached_and_held(driver, robot):
    wanted = np.array([0.4, -0.6, 0.08])
    q, _, tau = repeat(90, lambda: driver.command('position', *wanted))
    np.testing.assert_allclose(q, wanted, atol=1e-4)
    np.testing.assert_allclose(tau, robot.gravity_torques(wanted), atol=0.05)


def test_position_with_velocity_is_followed_without_lag(driver):
    """A ramp: with the velocity the servo has no steady error, without it 2 zeta / w times it."""

    def ramp(**rates):
        driver.begin()
        for k in range(60):
            message = joint_command(['shoulder'], position=[0.005 * k], **rates)
            q = driver.answer(JointState, 'joint_commands', message)[0]
        return 0.005 * 60 - q[0]

    held = 0.005  # the last position stands still for one period, as commands do
    assert ramp(velocity=[0.5]) == pytest.approx(held, abs=5e-3)
    assert ramp() > held + 0.005


def trajectory(names, *points, start=0):
    sec, nanosec = divmod(start, 10**9)
    return JointTrajectory(
        header=Header(stamp=Time(sec=sec, nanosec=nanosec)),
        joint_names=list(names),
        points=[
            JointTrajectoryPoint(
                time_from_start=Duration(nanosec=round(t * 1e9)),
                positions=list(map(float, q)),
                velocities=list(map(float, v)),
            )
            for t, q, v in points
        ],
    )


def test_a_trajectory_is_interpolated_in_time(driver):
    """Cubic from the present state, and its end is held; the other joints hold, too."""
    message = trajectory(['elbow'], (0.4, [0.8], [0.0]))
    begin = driver.stamps[-1]
    driver.answer(JointTrajectory, 'simulator/joint_trajectory', message)
    idle = joint_command(['finger'], position=[0.05])
    repeat(70, lambda: driver.answer(JointState, 'joint_commands', idle))
    t = (np.array(driver.stamps) - begin) * 1e-9 / 0.4
    s = np.clip(t, 0.0, 1.0)
    q = np.array([message.position for message in driver.messages])
    np.testing.assert_allclose(q[:, 1], 0.8 * (3 * s**2 - 2 * s**3), atol=0.02)
    np.testing.assert_allclose(q[-1], [0.0, 0.8, 0.05], atol=2e-3)


def test_a_bad_command_is_refused_and_the_simulation_goes_on(driver):
    """A refused command is no answer; the next good one is."""
    topic = 'simulator/joint_trajectory'
    driver.send(JointTrajectory, topic, trajectory(['elbow']))
    driver.report(1, 'refused ~/joint_trajectory', 'the trajectory has no points')
    driver.answer(JointTrajectory, topic, trajectory(['elbow'], (0.1, [0.0], [0.0])))
    assert driver.stamps == [PERIOD, 2 * PERIOD]
    driver.report(0)


def test_an_answer_with_an_old_stamp_is_none(driver):
    """That of a state before, as a controller sends it that has not yet heard of the last one."""
    message = joint_command(['elbow'], position=[0.0])
    driver.command('position', *START)
    now = driver.stamps[-1]
    message.header.stamp = Time(sec=0, nanosec=now - PERIOD)
    driver.send(JointState, 'joint_commands', message)
    driver.client.wait(
        lambda: driver.report(0)['driven by'] == 'joint_commands, ~/position_commands',
        what='the active command',
    )
    message.header.stamp = Time(sec=0, nanosec=now)
    driver.answer(JointState, 'joint_commands', message)
    assert driver.stamps[-2:] == [now, now + PERIOD]


def test_wrenches_on_several_links_and_the_true_external_torques(driver, robot):
    topics = [f'simulator/ground_truth/{name}' for name in ('external_torque', 'joint_states')]
    driver.client.subscribe(JointState, *topics)
    truth, state = (driver.client.received[topic] for topic in topics)

    def is_listened():
        driver.command('position', *START)
        return truth and state

    driver.client.wait(is_listened, what='the truth')
    wrench = Wrench(force=Vector3(z=-3.0), torque=Vector3(y=0.5))
    for link in ('lower', 'left'):
        push = WrenchStamped(header=Header(frame_id=link), wrench=wrench)
        driver.send(WrenchStamped, 'simulator/external_wrench', push)
        driver.client.wait(
            lambda link=link: link in driver.report(0)['pushed at'], what='an active wrench'
        )
    driver.command('position', *START)  # time has stood still since the wrenches came
    stamp = driver.stamps[-1]
    tau, q = (
        driver.client.wait(partial(driver.client.with_stamp, topic, stamp), what=topic)
        for topic in topics
    )
    core = np.array([0.0, 0.5, 0.0, 0.0, 0.0, -3.0])
    both = sum(
        robot.jacobian(np.array(q.position), link, 'body').T @ core for link in ('lower', 'left')
    )
    np.testing.assert_allclose(tau.effort, both, atol=1e-9)
