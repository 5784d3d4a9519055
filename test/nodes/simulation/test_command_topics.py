# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages that command the simulated robot: executed, clipped, ignored or refused by name."""

import numpy as np
import pytest
from geometry_msgs.msg import Vector3, WrenchStamped
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.nodes.simulation.command_messages import components_of, read_state
from screw_dynamics_ros.nodes.simulation.joint_targets import EFFORT, POSITION, VELOCITY
from screw_dynamics_ros.ros.status import Level
from support.commanded_arm import Commanded, path

S = 10**9
JOINTS = ('joint1', 'joint2')
TAG = (
    '<robot name="x"><ros2_control name="arm" type="system">{}</ros2_control>'
    '<link name="a"/></robot>'
)


@pytest.fixture
def made():
    return Commanded()


def test_numbers_by_interface(made):
    for interface, place in ((POSITION, 1), (VELOCITY, 2), (EFFORT, 3)):
        made.numbers(interface, 0.25, -0.5)
        targets = made.targets
        assert targets[0] == [interface] * 2
        np.testing.assert_array_equal(targets[place], [0.25, -0.5])
        assert made.arm.targets.sources == [f'~/{interface}_commands'] * 2
    assert made.answers == [0, 0, 0]
    assert made.status.summary == 'ok'
    assert made.status.values['commands'] == '3 executed, 0 ignored'


def test_a_refusal_lasts_until_the_next_valid_message_of_its_topic(made):
    made.numbers(EFFORT, 1.0, 2.0)
    made.numbers(EFFORT, 1.0)
    made.numbers(VELOCITY, 1.0, float('nan'))
    status = made.status
    assert status.level == Level.WARN
    assert [text.partition(': expected')[0] for text in status.texts] == [
        'refused ~/effort_commands',
        'refused ~/velocity_commands',
    ]
    assert made.answers == [0]
    np.testing.assert_array_equal(made.targets[3], [1.0, 2.0])
    made.numbers(EFFORT, 3.0, 4.0)
    assert len(made.status.texts) == 1
    made.topics.forget()
    assert made.status.summary == 'ok'


def test_clipped_numbers_are_noted_until_the_next_message_of_the_topic(made):
    made.numbers(VELOCITY, 0.0, 11.0)
    status = made.status
    assert status.level == Level.WARN
    assert status.summary.startswith('~/velocity_commands: velocity 11 of joint2 is beyond')
    made.numbers(EFFORT, 0.0, 0.0)
    assert made.status.texts == status.texts
    made.numbers(VELOCITY, 0.0, 9.0)
    assert made.status.summary == 'ok'
    made.numbers(VELOCITY, 0.0, 11.0)
    made.topics.forget()
    assert made.status.summary == 'ok'


def test_frozen_commands_are_checked_answered_and_ignored(made):
    made.numbers(POSITION, 0.1, 0.2)
    made.topics.frozen = True
    made.numbers(POSITION, 1.0, 1.0)
    made.send('joint_commands', JointState(name=JOINTS, effort=[1.0, 2.0]))
    made.send('~/joint_trajectory', path(JOINTS, (1.0, [0.5, 0.5])))
    made.numbers(POSITION, 1.0)
    np.testing.assert_array_equal(made.targets[1], [0.1, 0.2])
    assert made.targets[0] == [POSITION] * 2
    assert made.answers == [0, 0, 0, 0]
    status = made.status
    assert status.values['commands'] == '1 executed, 3 ignored'
    assert any(text.startswith('commands are ignored as requested') for text in status.texts)
    assert status.level == Level.WARN


def test_joint_commands_answer_the_stamp_they_carry(made):
    message = JointState(name=JOINTS[::-1], effort=[1.0, float('nan')])
    message.header.stamp.sec, message.header.stamp.nanosec = 3, 5
    made.send('joint_commands', message)
    assert made.answers == [3 * S + 5]
    assert made.targets[0] == [POSITION, EFFORT]
    assert made.targets[3][1] == 1.0
    assert made.arm.targets.sources == ['', 'joint_commands']
    assert made.status.summary == 'joint_commands: no command for joint1: all numbers are NaN'
    made.send('joint_commands', JointState(name=[*JOINTS, 'tip_joint'], velocity=[1.0, 2.0, 3.0]))
    assert made.status.summary == 'ok'  # tip_joint is fixed
    made.send('joint_commands', JointState(name=[*JOINTS, 'nose'], velocity=[1.0, 2.0, 3.0]))
    assert 'refused joint_commands: ' in made.status.summary
    assert "'nose'" in made.status.summary


def test_joint_commands_of_no_controller_answer_without_a_command(made):
    """As joint_state_topic_hardware_interface sends them before a controller has written."""
    made.numbers(EFFORT, 1.0, 2.0)
    made.send('joint_commands', JointState(name=JOINTS, effort=[float('nan')] * 2))
    assert made.answers == [0, 0]
    assert made.arm.targets.sources == ['~/effort_commands'] * 2
    assert made.status.summary == (
        'joint_commands: no command for joint1, joint2: all numbers are NaN'
    )
    made.send('joint_commands', JointState(name=JOINTS))
    assert made.answers == [0, 0]
    assert 'the message has no number for joint1, joint2' in made.status.summary


def test_a_trajectory_begins_at_the_present_state(made):
    """Linear between points without velocities."""
    start = made.plant.positions.copy()
    made.send('~/joint_trajectory', path(JOINTS[1:], (2.0, [0.5])))
    made.time.tick = 1
    np.testing.assert_allclose(made.targets[1][1], 0.5 * (start[1] + 0.5))
    np.testing.assert_allclose(made.targets[1][0], start[0])
    assert made.arm.targets.sources == ['', '~/joint_trajectory']
    assert made.answers == [0]
    made.time.tick = 5
    made.send('~/joint_trajectory', path(JOINTS, (2.0, [0.5, 0.5]), stamp=1))
    assert 'refused ~/joint_trajectory: the trajectory ended 3.000 s ago' in made.status.summary
    assert made.answers == [0]


def test_a_wrench_acts_on_its_link(made):
    """Force and moment at the tip, in its axes; its power is that of the joint torques."""
    made.plant.set_state({'joint1': 0.4, 'joint2': -0.9}, {})
    message = WrenchStamped()
    message.header.frame_id = 'tip'
    message.wrench.force, message.wrench.torque = Vector3(x=3.0, y=5.0), Vector3(z=7.0)
    made.send('~/external_wrench', message)
    now = made.time.stamp
    ((link, wrench),) = made.plant.pushes.acting(now, 0.0).items()
    assert link == 'tip'
    np.testing.assert_array_equal(wrench, [0.0, 0.0, 7.0, 3.0, 5.0, 0.0])
    tau = made.plant.pushes.joint_torques(made.plant.simulated.q, {link: wrench})
    # lever arms in the frame of the tip: (0.5, 0) of joint 2, and of joint 1 that plus link 1
    first = np.array([np.cos(-0.9), -np.sin(-0.9)])  # link 1, 1 m, in axes of the tip
    expected = [7.0 + (0.5 + first[0]) * 5.0 - first[1] * 3.0, 7.0 + 0.5 * 5.0]
    np.testing.assert_allclose(tau, expected)
    assert made.answers == []
    message.header.frame_id = 'nose'
    made.send('~/external_wrench', message)
    assert "refused ~/external_wrench: header.frame_id 'nose'" in made.status.summary
    assert made.profiles['~/external_wrench'] != made.profiles['~/set_state']


def test_a_state_is_set_by_name(made):
    made.numbers(EFFORT, 1.0, 2.0)
    before = made.plant.positions.copy()
    made.send('~/set_state', JointState(name=['joint2'], position=[0.7], velocity=[-0.3]))
    np.testing.assert_array_equal(made.plant.positions, [before[0], 0.7])
    np.testing.assert_array_equal(made.plant.velocities, [0.0, -0.3])
    assert made.arm.targets.is_idle
    assert made.replaced == [True]
    made.send('~/set_state', JointState(name=['nose'], position=[0.7]))
    assert made.replaced == [True]
    assert 'refused ~/set_state: ' in made.status.summary


@pytest.mark.parametrize(
    ('names', 'position', 'velocity', 'reason'),
    [
        ([], [], [], 'the state names no joint'),
        (['joint1'], [1.0, 2.0], [], '2 numbers of position for 1 names'),
        (JOINTS, [], [1.0], '1 numbers of velocity for 2 names'),
        (JOINTS, [1.0, float('inf')], [], 'position of joint joint2 is inf'),
        (JOINTS, [], [float('nan'), 0.0], 'velocity of joint joint1 is nan'),
        (JOINTS, [], [1e200, 0.0], 'velocity of joint joint1 is 1e+200; its size must be at most'),
        (['joint1', 'joint1'], [1.0, 2.0], [], 'joint1'),
    ],
)
def test_states_that_are_refused(names, position, velocity, reason):
    with pytest.raises(ScrewDynamicsError) as raised:
        read_state(JointState(name=names, position=position, velocity=velocity), JOINTS)
    assert reason in str(raised.value)


def test_a_state_may_have_positions_or_velocities():
    message = JointState(name=JOINTS, velocity=[1.0, 2.0])
    assert read_state(message, JOINTS) == ({}, {'joint1': 1.0, 'joint2': 2.0})
    message = JointState(name=JOINTS[::-1], position=[1.0, 2.0])
    assert read_state(message, JOINTS) == ({'joint2': 1.0, 'joint1': 2.0}, {})


def test_tags_of_the_description():
    ((component,), fault) = components_of(
        TAG.format('<joint name="j"><command_interface name="effort"/></joint>')
    )
    assert (component.name, fault) == ('arm', '')
    components, fault = components_of(TAG.format('<joint/>'))
    assert components == ()
    assert fault
    status = Commanded(TAG.format('<joint/>')).status
    assert status.level == Level.WARN
    assert status.summary == f'ros2_control tags: {fault}'
