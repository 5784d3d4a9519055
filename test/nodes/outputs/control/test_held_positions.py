# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Enabling never moves the robot; the end of a command holds where it ended."""

import os
import time as real_time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import PoseStamped, WrenchStamped
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core.law import LAWS
from screw_dynamics_ros.nodes.outputs.control import task_reference
from screw_dynamics_ros.nodes.outputs.dynamics.reference_trajectory import MAX_POINTS
from screw_dynamics_ros.ros.messages.trajectories import set_duration
from screw_dynamics_ros.ros.status import Level
from support.controlled import MS, PRESSING, TOOL
from support.host_bench import DEADLINE
from support.loop_bench import LoopBench

STIFF = """
from screw_dynamics_ros.core.law import control_law

@control_law({}, {'integral': 6})
def mine(robot, state, reference, parameters, memory):
    integral = memory.integral + 5.0 * state.dt
    return TORQUES, {'integral': integral}
"""
FLOATING = """
from screw_dynamics_ros.core.law import control_law

@control_law({}, {'integral': 12})
def mine(robot, state, reference, parameters, memory):
    integral = memory.integral + 5.0 * state.dt
    return integral + 0.0 * state.v, {'integral': integral}
"""
SPRINGS = '50.0 * (reference.q - state.q)'


def write(path, text, count):
    path.write_text(text)
    os.utime(path, ns=(0, 10**9 * count))


def trajectory(made, q, seconds=0.0, velocities=()):
    """Return a message with one point, or the way to it within some seconds."""
    message = JointTrajectory(joint_names=list(made.joints))
    points = [(made.q, 0.01), (q, seconds)] if seconds else [(q, 0.0)]
    for positions, time in points:
        point = JointTrajectoryPoint(positions=list(positions), velocities=list(velocities))
        set_duration(point.time_from_start, time)
        message.points.append(point)
    return message


def springs(made, q):
    """Return the torques of `joint_impedance` that holds the robot at q."""
    on = LAWS['joint_impedance'].on(made.robot)
    return on.step(made.q, made.v, reference={'q': q})[0]


def reference(made):
    return made.part.status().values['reference']


@pytest.mark.parametrize(('law', 'seconds'), [('joint_impedance', 0.0), ('computed_torque', 0.2)])
def test_the_end_of_a_reference_holds_where_it_ended(control, law, seconds):
    made = control(law)
    made.torque()
    assert reference(made) == 'holds where it was enabled'
    goal = made.q + [0.1, 0.05, -0.05, 0.0, 0.1, -0.1]
    made.part.reference.receive(trajectory(made, goal, seconds))
    for _ in range(30):
        followed = made.torque()
    assert reference(made) == 'follows ~/reference'
    for _ in range(80):
        held = made.torque()
    assert reference(made) == 'holds where the reference ended'
    np.testing.assert_allclose(held, followed, atol=1e-9)


def test_a_reference_that_moved_when_it_ended_is_held_at_rest(control):
    made = control('joint_impedance')
    made.torque()
    goal = made.q + 0.05
    made.part.reference.receive(trajectory(made, goal, velocities=[0.3] * 6))
    for _ in range(100):
        held = made.torque()
    np.testing.assert_allclose(held, springs(made, goal), atol=1e-9)


def test_a_part_of_the_joints_is_held_where_the_reference_ended(control):
    made = control('joint_impedance')
    made.torque()
    goal = made.q.copy()
    goal[1] += 0.05
    message = JointTrajectory(joint_names=[made.joints[1]])
    message.points.append(JointTrajectoryPoint(positions=[goal[1]]))
    made.part.reference.receive(message)
    for _ in range(100):
        held = made.torque()
    np.testing.assert_allclose(held, springs(made, goal), atol=1e-9)


@pytest.mark.parametrize('enabled_again', [False, True])
def test_a_law_that_begins_to_follow_a_reference_holds_where_the_robot_is(
    control, tmp_path, enabled_again
):
    """Enabled at A with a law without reference, led by hand to B."""
    path = tmp_path / 'laws.py'
    write(path, STIFF.replace('TORQUES', '-2.0 * state.v'), 1)
    made = control(f'{path}:mine')
    made.torque()
    made.q, made.v = made.q + 0.3, np.zeros(6)
    made.torque()
    if enabled_again:
        made.set(enabled=False)
        made.set(enabled=True)
    made.torque()
    write(path, STIFF.replace('TORQUES', SPRINGS), 2)
    made.load()
    for _ in range(3):
        np.testing.assert_allclose(made.torque(), 0.0, atol=1e-12)
    assert 'holds where' in reference(made)
    start = made.q.copy()
    made.q = made.q + 0.1
    np.testing.assert_allclose(made.torque(), 50.0 * (start - made.q), atol=1e-12)


def test_targets_of_another_law_have_no_effect(control, tmp_path):
    path = tmp_path / 'laws.py'
    write(path, STIFF.replace('TORQUES', '-2.0 * state.v'), 1)
    made = control(f'{path}:mine')
    made.torque()
    made.part.reference.receive(trajectory(made, made.q + 0.5))
    made.part._targets.receive_wrench(WrenchStamped())
    assert 'the law mine does not read reference.wrench' in made.summary()[1]
    made.torque()
    write(path, STIFF.replace('TORQUES', SPRINGS), 2)
    made.load()
    for _ in range(3):
        np.testing.assert_allclose(made.torque(), 0.0, atol=1e-12)


def wrench(made, frame='', z=20.0):
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.z = frame, z
    return message


@pytest.mark.parametrize('states_between', [0, 3])
def test_a_wrench_acts_while_torques_are_enabled_and_not_afterwards(
    control, tmp_path, states_between
):
    path = tmp_path / 'laws.py'
    write(path, PRESSING, 1)
    made = control(f'{path}:mine', law_options=[f'link={TOOL}'], enabled=False)
    made.part._targets.receive_wrench(wrench(made))
    assert 'torques are not enabled; call ~/enable first' in made.summary()[1]
    made.set(enabled=True)
    for _ in range(3):
        assert not made.torque().any()
    assert made.summary()[0] == Level.OK
    made.part._targets.receive_wrench(wrench(made))
    J = made.robot.jacobian(made.q, TOOL, 'hybrid')
    np.testing.assert_allclose(made.torque(), J.T @ [0, 0, 0, 0, 0, 20.0], atol=1e-9)
    assert reference(made) == 'follows ~/target_wrench'
    made.set(enabled=False)
    for _ in range(states_between):
        made.torque()
    made.set(enabled=True)
    for _ in range(3):
        assert not made.torque().any()


@pytest.mark.parametrize('states_between', [0, 3])
def test_poses_and_references_have_no_effect_before_and_after(control, states_between):
    made = control('cartesian_impedance', law_options=[f'link={TOOL}'], enabled=False)
    made.v = np.zeros(6)
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.orientation.w = 0.4, 1.0
    goal = trajectory(made, made.q + 0.5)

    def send():
        made.part._targets.receive_pose(pose)
        made.part.reference.receive(goal)

    weight = made.robot.gravity_torques(made.q)
    send()
    assert 'reference refused: torques are not enabled' in made.summary()[1]
    made.torque()
    made.set(enabled=True)
    for _ in range(2):  # the first one is zero
        held = made.torque()
    np.testing.assert_allclose(held, weight, atol=1e-9)
    send()
    assert not np.allclose(made.torque(), weight)
    assert reference(made) == 'follows ~/reference, ~/target_pose'
    made.q = made.q - 0.1
    weight = made.robot.gravity_torques(made.q)
    made.set(enabled=False)
    for _ in range(states_between):
        made.torque()
    made.set(enabled=True)
    for _ in range(2):
        held = made.torque()
    np.testing.assert_allclose(held, weight, atol=1e-9)


def test_a_command_between_enabling_and_the_next_state_is_followed(control):
    made = control('joint_impedance', enabled=False)
    made.torque()
    made.set(enabled=True)
    goal = made.q + 0.05
    made.part.reference.receive(trajectory(made, goal))
    for _ in range(3):
        found = made.torque()
    np.testing.assert_allclose(found, springs(made, goal), atol=1e-9)


@pytest.mark.parametrize('on_loss', ['stop', 'gravity', 'hold'])
@pytest.mark.parametrize(('pause', 'stays'), [(0.2, True), (3.0, False)])
def test_after_a_long_loss_the_robot_is_held_where_it_is(control, on_loss, pause, stays):
    """After a short one where it was, unless the torques were off."""
    made = control('joint_impedance', on_loss=on_loss, ramp_time=0.0)
    made.v = np.zeros(6)
    made.torque()
    start = made.q.copy()
    made.torque()
    for _ in range(round(100 * pause)):
        made.bench.clock.offset += 0.01
        made.stamp += 10 * MS
        made.part.commands.watch()
    made.q = made.q + 0.1
    for _ in range(3):
        found = made.torque()
    is_kept = stays and on_loss != 'stop'
    np.testing.assert_allclose(found, springs(made, start if is_kept else made.q), atol=1e-9)


def step_of_stamps(made, seconds):
    made.stamp += round(seconds * 1e9)
    made.bench.clock.set_wall(seconds)


@pytest.mark.parametrize('kind', ['python', 'compiled'])
@pytest.mark.parametrize('step', [0.6, -100.0])
def test_a_step_of_the_clock_is_a_loss_for_a_law_with_a_memory(control, tmp_path, step, kind):
    path = tmp_path / 'laws.py'
    write(path, STIFF.replace('TORQUES', f'{SPRINGS} + memory.integral'), 1)
    bench = {'bench': LoopBench, 'backend': 'native'} if kind == 'compiled' else {}
    made = control(
        f'{path}:mine', data_path=kind, blend_time=0.2, on_loss='hold', max_delay=0.0, **bench
    )
    made.v = np.zeros(6)
    made.host.states.look_for_drivers = lambda: None
    for _ in range(60):
        before = made.torque()
    assert before.min() > 2.0
    made.q = made.q + 0.02
    losses = made.part.commands.torque.report().losses
    step_of_stamps(made, step)
    commands = [made.torque() for _ in range(25)]
    assert None not in [type(each) for each in commands]
    assert made.part.commands.torque.report().losses == losses + 1
    level, summary = made.summary()
    assert level == Level.WARN
    assert f'stepped by {step + 0.01:.3f} s: the law begins again, its memory from' in summary
    changes = np.abs(np.diff([before, *commands], axis=0))
    assert changes.max() < 0.5  # over blend_time
    rest = commands[-1]
    np.testing.assert_allclose(rest, rest[0])  # holds where it is: only the new memory acts
    assert 0.0 < rest[0] < 1.5
    if kind == 'compiled':
        assert made.bench.outcomes.count('done') > 20


def test_a_law_without_memory_goes_on_when_the_clock_steps(control):
    made = control('joint_impedance', max_delay=0.0)
    for _ in range(3):
        before = made.torque()
    step_of_stamps(made, 0.6)
    np.testing.assert_allclose(made.torque(), before, atol=1e-12)
    assert made.summary()[0] == Level.OK


@pytest.mark.parametrize('is_ended', [False, True])
@pytest.mark.parametrize('step', [-100.0, 0.6])
def test_a_trajectory_does_not_jump_when_the_clock_steps(control, step, is_ended):
    """It ends; the arm holds where it is."""
    made = control('joint_impedance', max_delay=0.0, blend_time=0.1)
    made.v = np.zeros(6)
    made.torque()
    goal = made.q + 0.3
    made.part.reference.receive(trajectory(made, goal, 1.0))
    for _ in range(200 if is_ended else 50):
        made.torque()
    made.q = made.part._targets.held_q.copy()
    for _ in range(2):
        made.torque()
    step_of_stamps(made, step)
    for _ in range(30):
        found = made.torque()
    np.testing.assert_allclose(found, springs(made, made.q), atol=1e-9)
    assert 'follows' not in reference(made)
    made.part.reference.receive(trajectory(made, goal, 0.2))  # a new one is followed
    for _ in range(40):
        found = made.torque()
    np.testing.assert_allclose(found, springs(made, goal), atol=1e-9)


def test_the_memory_rests_while_torques_do_not_follow_the_law(control, tmp_path):
    """It does not wind up."""
    path = tmp_path / 'laws.py'
    write(path, STIFF.replace('TORQUES', f'{SPRINGS} + memory.integral + 0.0 * state.tau'), 1)
    made = control(f'{path}:mine', on_loss='hold')
    for _ in range(5):
        made.torque()
    memory = made.part._adopted.plan.inputs['law_memory']
    kept = memory.copy()
    for _ in range(20):
        made.torque(effort=[])
    np.testing.assert_array_equal(memory, kept)
    made.torque()
    made.torque()
    np.testing.assert_allclose(memory, kept + 0.05, atol=1e-9)
    for _ in range(60):  # longer than state_timeout
        made.torque(effort=[])
    assert memory[0] < 0.06


def test_a_long_reference_is_refused_before_it_is_read(control):
    made = control('joint_impedance')
    made.torque()
    message = trajectory(made, made.q)
    message.points = message.points * (MAX_POINTS + 1)
    made.part.reference.receive(message)
    assert f'{MAX_POINTS + 1} points, at most {MAX_POINTS} are read' in made.summary()[1]
    assert reference(made) == 'holds where it was enabled'


def test_of_many_target_poses_one_is_converted_for_each_state(control, monkeypatch):
    """As they come over DDS, from a node that sends them as fast as it can."""
    made = control('cartesian_impedance', law_options=[f'link={TOOL}'], enabled=True)
    made.torque()
    converted = []
    convert = task_reference.measurement
    monkeypatch.setattr(
        task_reference, 'measurement', lambda *parts: converted.append(1) or convert(*parts)
    )
    sender = rclpy.create_node('sender', enable_rosout=False)
    publisher = sender.create_publisher(PoseStamped, '/life/controller/target_pose', 10)
    end = real_time.monotonic() + DEADLINE
    while not publisher.get_subscription_count():
        assert real_time.monotonic() < end
        real_time.sleep(0.001)
    message = PoseStamped()
    message.pose.orientation.w = 1.0
    for k in range(50):
        message.pose.position.x = k * 1e-3
        publisher.publish(message)
    states = 0
    while made.part._targets.pose[3] < 0.049:
        assert real_time.monotonic() < end
        made.part._targets._topics[0].look()
        assert made.torque() is not None
        states += 1
    sender.destroy_node()
    assert 1 <= len(converted) <= states


def test_a_base_that_is_lost_and_returns_is_a_loss_for_a_law_with_a_memory(control, tmp_path):
    """Odometry that is late, and held (on_base_loss)."""
    odometry = pytest.importorskip('nav_msgs.msg').Odometry
    path = tmp_path / 'laws.py'
    write(path, FLOATING, 1)
    made = control(
        f'{path}:mine',
        base_source='odometry',
        on_base_loss='hold',
        on_loss='hold',
        blend_time=0.2,
        max_delay=0.0,
    )
    made.v = np.zeros(6)

    def torque(is_late):
        if not is_late:
            message = odometry(child_frame_id=made.root)
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(
                made.stamp + 10 * MS, 10**9
            )
            message.pose.pose.orientation.w = 1.0
            made.host.base_source.receive_odometry(message)
        return made.torque()

    for _ in range(60):
        before = torque(False)
    assert before.min() > 2.0
    losses = made.part.commands.torque.report().losses
    commands = [torque(k < 25) for k in range(60)]
    assert made.part.commands.torque.report().losses == losses + 2  # lost, and returned
    level, summary = made.summary()
    assert level == Level.WARN
    assert 'an input of the joint states was lost or has returned: the law begins' in summary
    assert np.abs(np.diff([before, *commands], axis=0)).max() < 0.5
