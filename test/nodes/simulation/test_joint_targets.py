# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Active commands, joint by joint, and messages that are commands; without ROS running."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration, Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core.description.ros2_control import ControlledJoint, HardwareComponent
from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.nodes.simulation.command_messages import (
    read_joint_commands,
    read_numbers,
    read_path,
)
from screw_dynamics_ros.nodes.simulation.joint_targets import (
    EFFORT,
    FIELDS,
    POSITION,
    VELOCITY,
    JointTargets,
    Trajectory,
    command_of,
)

NAMES = ('a', 'b', 'c')
S = 10**9
ALL = np.arange(3)


@pytest.fixture
def targets():
    made = JointTargets(NAMES, np.full(3, -1.0), np.array([1.0, 1.0, np.inf]), np.full(3, 2.0))
    made.hold(np.array([0.1, 0.2, 0.3]))
    return made


def command(interface, *values, joints=ALL, **others):
    return command_of(joints, **{interface: values}, **others)


def test_at_first_everything_holds(targets):
    interfaces, q, v, *_ = targets.at(0)
    assert targets.is_idle
    assert interfaces == [POSITION] * 3
    np.testing.assert_array_equal(q, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(v, 0.0)


def test_the_newest_command_decides(targets):
    targets.command(command(EFFORT, 1.0, 2.0, 3.0), 'efforts', 0)
    targets.command(command(VELOCITY, 0.5, joints=[1]), 'velocities', S)
    interfaces, _, v, tau, *_ = targets.at(S)
    assert interfaces == [EFFORT, VELOCITY, EFFORT]
    assert targets.sources == ['efforts', 'velocities', 'efforts']
    assert (tau[0], v[1], tau[2]) == (1.0, 0.5, 3.0)


def test_efforts_and_velocities_end_positions_stay(targets):
    start = 10**18 + 1  # of a system clock
    targets.command(command(EFFORT, 1.0, joints=[0]), 'efforts', start)
    targets.command(command(VELOCITY, 1.0, joints=[1]), 'velocities', start + S // 2)
    targets.command(command(POSITION, 0.7, joints=[2]), 'positions', start)
    present = np.array([0.4, 0.5, 0.6])
    targets.expire(start + S, 1.0, present)  # as old as that is not too old
    assert targets.at(start + S)[0] == [EFFORT, VELOCITY, POSITION]
    targets.expire(start + S + 1, 1.0, present)
    assert targets.sources == ['', 'velocities', 'positions']
    targets.expire(start + 5 * S, 1.0, present)
    interfaces, q, v, *_ = targets.at(start + 5 * S)
    assert interfaces == [POSITION] * 3
    np.testing.assert_array_equal(q, [0.4, 0.5, 0.7])
    np.testing.assert_array_equal(v, 0.0)
    assert not targets.is_idle


def test_the_velocity_of_a_position_ends_too(targets):
    """A servo would hold another position with it."""
    targets.command(command(POSITION, 0.5, joints=[1], velocity=[0.25]), 'positions', 0)
    assert targets.at(S)[2][1] == 0.25
    targets.expire(2 * S, 1.0, np.zeros(3))
    assert (targets.at(2 * S)[1][1], targets.at(2 * S)[2][1]) == (0.5, 0.0)
    assert targets.sources == ['', 'positions', '']


def test_clipping_names_the_first_joint_and_efforts_are_left_alone(targets):
    said = targets.command(command(POSITION, 0.0, -3.0, 99.0), 'x', 0)
    assert said == 'position -3 of b is beyond its limit and was clipped to -1'
    np.testing.assert_array_equal(targets.at(0)[1], [0.0, -1.0, 99.0])
    said = targets.command(command(POSITION, *[0.0] * 3, velocity=[0.0, 0.0, 7.0]), 'x', 0)
    assert said == 'velocity 7 of c is beyond its limit and was clipped to 2'
    assert targets.command(command(EFFORT, 1e9, 1e9, 1e9), 'x', 0) == ''


def path_of(*joints, start=0):
    goals = np.array([[0.0] * len(joints), [0.8] * len(joints)])
    return Trajectory(np.array(joints), start, JointPath([0.0, 2.0], goals))


def test_trajectories_are_followed_replaced_and_their_ends_held(targets):
    targets.follow(path_of(0, 1, 2, start=S), 'path', S)
    _, q, v, *_ = targets.at(2 * S)
    np.testing.assert_allclose(q, 0.4)
    np.testing.assert_allclose(v, 0.4)
    targets.command(command(POSITION, -0.5, joints=[1]), 'positions', 2 * S)
    np.testing.assert_allclose(targets.at(2 * S + S // 2)[1], [0.6, -0.5, 0.6])
    targets.follow(path_of(2, start=3 * S), 'other', 3 * S)
    targets.expire(90 * S, 0.1, np.zeros(3))
    _, q, v, *_ = targets.at(90 * S)
    np.testing.assert_allclose(q, [0.8, -0.5, 0.8])
    np.testing.assert_array_equal(v, 0.0)
    assert targets.sources == ['path', 'positions', 'other']


# --- messages -----------------------------------------------------------------------------------


def component(**interfaces):
    return HardwareComponent(
        'x',
        'system',
        '',
        {},
        tuple(ControlledJoint(name, each) for name, each in interfaces.items()),
    )


TAGS = (component(a=(POSITION,), b=(POSITION, VELOCITY)), component(c=(EFFORT,), d=()))


def read(names, components=TAGS, **arrays):
    return read_joint_commands(JointState(name=names, **arrays), NAMES, {'d'}, components)


def as_dict(command):
    """Return the numbers that are given: {field: {joint: number}}."""
    return {
        field: given
        for field, row in zip(FIELDS, command.numbers)
        if (given := {NAMES[k]: x for k, x in zip(command.joints, row) if x == x})
    }


def test_arrays_as_long_as_the_names_need_no_tags():
    commands, left_out = read(['c', 'a'], (), position=[3.0, 1.0])
    assert as_dict(commands) == {POSITION: {'c': 3.0, 'a': 1.0}}
    assert left_out == ''
    commands, _ = read(['c', 'd'], (), effort=[3.0, 9.0])
    assert as_dict(commands) == {EFFORT: {'c': 3.0}}  # d mimics another


def test_ragged_arrays_follow_the_tags_in_the_order_of_the_names():
    names = ['d', 'c', 'b', 'a']
    commands, _ = read(names, position=[2.0, 1.0], velocity=[0.5], effort=[3.0])
    assert as_dict(commands) == {
        POSITION: {'b': 2.0, 'a': 1.0},
        VELOCITY: {'b': 0.5},
        EFFORT: {'c': 3.0},
    }


def test_nan_is_no_command():
    nan = float('nan')
    commands, left_out = read(
        ['a', 'b', 'c', 'd'], position=[nan, nan], velocity=[0.5], effort=[nan]
    )
    assert as_dict(commands) == {VELOCITY: {'b': 0.5}}
    assert left_out == 'no command for a, c: all numbers are NaN'


@pytest.mark.parametrize(
    ('names', 'arrays', 'components', 'reason'),
    [
        (['a', 'b', 'd'], {'position': [1.0]}, TAGS, '1 numbers of position for 3 names, and the'),
        (['a', 'b'], {'position': [1.0]}, (), 'has no <ros2_control> tag'),
        (['a', 'x'], {'position': [1.0, 1.0]}, TAGS, "joint 'x'"),
        (['a', 'a'], {'position': [1.0, 1.0]}, TAGS, 'twice'),
        (['a'], {'velocity': [float('-inf')]}, TAGS, 'velocity of joint a is -inf'),
        (['a'], {}, TAGS, 'no number for a'),
        ([], {}, TAGS, 'no number for any joint'),
        (['d'], {'position': [1.0]}, TAGS, 'no number for d'),
        ([], {'effort': [1.0]}, TAGS, '1 numbers of effort for 0 names'),
    ],
)
def test_joint_commands_that_are_refused(names, arrays, components, reason):
    with pytest.raises(ScrewDynamicsError) as raised:
        read(names, components, **arrays)
    assert reason in str(raised.value)


@pytest.mark.parametrize('data', [[], [1.0] * 2, [1.0] * 4, [1.0, float('nan'), 1.0]])
def test_numbers_that_are_refused(data):
    with pytest.raises(ScrewDynamicsError, match='expected 3 finite numbers, for a, b, c; got'):
        read_numbers(Float64MultiArray(data=data), NAMES, EFFORT)


def trajectory(names, times, start=0, velocities=True):
    points = [
        JointTrajectoryPoint(
            time_from_start=Duration(sec=int(t), nanosec=round(t % 1 * S)),
            positions=[float(k + 1)] * len(names),
            velocities=[0.0] * len(names) if velocities else [],
        )
        for k, t in enumerate(times)
    ]
    stamp = Time(sec=start // S, nanosec=start % S)
    return JointTrajectory(header=Header(stamp=stamp), joint_names=names, points=points)


STATE = np.array([0.1, 0.2, 0.3]), np.zeros(3), np.array([1.0, 2.0, 3.0])


def test_a_trajectory_begins_with_the_present_state():
    path, points = read_path(trajectory(['c', 'a'], [2.0]), NAMES, (), 5 * S, STATE)
    assert (path.start, path.end) == (5 * S, 7 * S)
    np.testing.assert_allclose(path.at(5 * S)[0], [0.3, 0.1])
    np.testing.assert_allclose(path.at(6 * S)[0], [0.65, 0.55])  # half way, from rest to rest
    np.testing.assert_array_equal(points, [[1.0, 1.0]])


def test_a_trajectory_begins_at_its_stamp():
    """Part of it may be over; what is ahead begins with the present state, too."""
    message = trajectory(['a'], [0.0, 2.0], start=4 * S, velocities=False)
    path, _ = read_path(message, NAMES, (), 5 * S, STATE)
    np.testing.assert_allclose(path.at(5 * S)[0], [1.5])
    path, _ = read_path(trajectory(['a'], [2.0], start=4 * S), NAMES, (), 5 * S, STATE)
    np.testing.assert_allclose(path.at(5 * S)[0], [0.1])
    assert path.end == 6 * S


def test_a_trajectory_that_is_over_is_refused():
    with pytest.raises(ScrewDynamicsError, match='the trajectory ended'):
        read_path(trajectory(['a'], [1.0], start=S), NAMES, (), 5 * S, STATE)
