# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands of impedance drives and servos: what they are in each state of the torques."""

import re

import numpy as np
import pytest
from nodes import test_node_commands
from nodes.test_node_commands import AGE_LIMIT, GRAVITY, HEAVY, JOINTS, PERIOD, RULES, Q
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.ros.messages.templates import joint_command
from support.host_bench import COMMANDS
from support.robots import urdf_path

control = test_node_commands.control
NAMED = list(JOINTS[:2])
STIFFNESS, DAMPING, SERVO = np.array([60.0, 80.0]), np.array([3.0, 4.0]), np.array([300.0, 500.0])
TARGET, SPEED = Q.copy(), np.zeros(len(JOINTS))
TARGET[:7] += 0.02  # not of the finger
SPEED[:2] = 0.1


def reference():
    point = JointTrajectoryPoint(positions=TARGET[:7].tolist(), velocities=SPEED[:7].tolist())
    return JointTrajectory(joint_names=list(JOINTS[:7]), points=[point])


def whole(numbers):
    """Return the numbers of the named joints for all joints, 0 for others."""
    return np.concatenate([numbers, np.zeros(len(JOINTS) - len(numbers))])


class Drives:
    """The messages for drives of a node that commands torques."""

    def __init__(self, control):
        self.control = control

    def follow(self):
        self.control.bench.part.reference.receive(reference())
        self.control.drive(0.3)
        assert 'refused' not in self.control.bench.part.status().summary

    def last(self):
        """Return position, velocity, stiffness, damping and effort of the last command."""
        kind = pytest.importorskip('screw_dynamics_msgs.msg._impedance_command').ImpedanceCommand
        message = self.control.messages('impedance_command', kind)[-1]
        assert message.joint_names == list(JOINTS)
        efforts = self.control.messages('commands', Float64MultiArray)[-1].data
        np.testing.assert_array_equal(message.effort, efforts)
        fields = 'position', 'velocity', 'stiffness', 'damping', 'effort'
        return [np.array(getattr(message, field)) for field in fields]

    @property
    def positions(self):
        return np.array(self.control.messages('position_command', Float64MultiArray)[-1].data)


@pytest.fixture
def drives(control):
    control.describe(test_node_commands.PANDA)
    rules = {**RULES, 'reference_timeout': 0.0, 'enabled': False}
    control.set(**rules)
    control.bench.part.reference.forget()
    atomic(
        control,
        impedance_joints=NAMED,
        impedance_stiffness=STIFFNESS.tolist(),
        impedance_damping=DAMPING.tolist(),
        servo_joints=NAMED,
        servo_stiffness=SERVO.tolist(),
        position_offset_limits=[0.3, 0.01],
    )
    control.clock.offset += 5.0
    control.drive(0.3)
    control.clear()
    control.enable(True)
    control.drive(0.3)
    yield Drives(control)
    control.set(enabled=False)
    atomic(
        control,
        impedance_joints=[''],
        servo_joints=[''],
        impedance_stiffness=[],
        impedance_damping=[],
        servo_stiffness=[],
        position_offset_limits=[],
    )


def atomic(control, **values):
    changes = [Parameter(name, value=value) for name, value in values.items()]
    result = control.bench.node.set_parameters_atomically(changes)
    assert result.successful, result.reason


def test_enabling_never_moves(drives):
    """Without a reference there is no stiffness, and the velocity is 0."""
    position, velocity, stiffness, damping, effort = drives.last()
    np.testing.assert_array_equal(position, Q)
    assert not stiffness.any()
    assert not velocity.any()
    np.testing.assert_array_equal(damping, whole(DAMPING))
    np.testing.assert_allclose(effort, GRAVITY, atol=1e-6)


def test_torques_of_drives_begin_with_the_weight(drives):
    """Drives and servos hold the robot until then; torques of others are ramped from zero."""
    drives.control.enable(False)
    drives.control.drive(0.6)
    drives.control.clear()
    drives.control.enable(True)
    drives.control.drive(0.6)
    sent = np.array([m.data for m in drives.control.messages('commands', Float64MultiArray)])
    np.testing.assert_allclose(sent[:, :2], np.tile(GRAVITY[:2], (len(sent), 1)), atol=1e-6)
    assert GRAVITY[3]
    np.testing.assert_allclose(sent[[0, -1], 3], [0.0, GRAVITY[3]], atol=1e-6)


def test_a_reference_is_followed(drives):
    drives.follow()
    position, velocity, stiffness, damping, _ = drives.last()
    np.testing.assert_allclose(position, np.where(whole(STIFFNESS), TARGET, Q))
    np.testing.assert_array_equal(velocity, SPEED)
    np.testing.assert_array_equal(stiffness, whole(STIFFNESS))
    np.testing.assert_array_equal(damping, whole(DAMPING))


@pytest.mark.parametrize('action', ['hold', 'gravity', 'ramp_to_zero', 'stop'])
def test_states_stop(drives, action):
    drives.control.set(on_loss=action)
    drives.follow()
    position, _, stiffness, damping, _ = drives.last()
    drives.control.clear()
    drives.control.wait(AGE_LIMIT + 0.3)
    if action == 'stop':
        assert not drives.control.bench.sent
        return
    now = drives.last()
    assert not now[1].any()
    np.testing.assert_array_equal(now[3], damping)
    if action == 'hold':
        np.testing.assert_array_equal([now[0], now[2]], [position, stiffness])
    else:
        assert not now[2].any()
    drives.control.drive(0.4)
    np.testing.assert_array_equal(drives.last()[2], stiffness)


def test_the_last_command_brakes_only(drives):
    drives.follow()
    drives.control.enable(False)
    drives.control.drive(0.3)
    _, velocity, stiffness, damping, effort = drives.last()
    assert not np.any([velocity, stiffness, effort])
    np.testing.assert_array_equal(damping, whole(DAMPING))
    drives.control.clear()
    drives.control.drive(0.1)
    assert not any(topic.endswith(COMMANDS) for topic, _ in drives.control.bench.sent)


def test_states_without_velocity_are_a_loss(drives):
    drives.control.set(on_loss='hold', velocity_policy='reject')
    drives.follow()
    before = drives.last()
    for _ in range(20):
        drives.control.wait(PERIOD)
        drives.control.show()
    after = drives.last()
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[2:4], before[2:4])


@pytest.mark.parametrize('text', [HEAVY, urdf_path('planar_2r').read_text()], ids=['same', 'other'])
def test_another_description(drives, text):
    """Drives of the same names continue; of others torques are sent, and no unknown positions."""
    drives.control.set(on_new_description='continue')
    drives.follow()
    drives.control.clear()
    drives.control.describe(text)
    drives.control.wait(0.5)
    if text == HEAVY:
        assert drives.positions[2] == TARGET[2]
        drives.control.drive(0.3)
        np.testing.assert_allclose(drives.positions[2], TARGET[2])
    else:
        sent = {topic.rpartition('/')[2] for topic, _ in drives.control.bench.sent}
        assert 'commands' in sent
        assert not sent & {'position_command', 'joint_position_command', 'impedance_command'}
        status = drives.control.commands.status()
        assert 'impedance_joints: the robot has no joint' in status.summary
    for data in drives.control.messages('position_command', Float64MultiArray):
        assert np.isfinite(data.data).all()


def test_servos(drives):
    """Offsets are the torque by the stiffness, within limits; a position is known by name, too."""
    offsets = np.clip(GRAVITY[:2] / SERVO, [-0.3, -0.01], [0.3, 0.01])
    np.testing.assert_allclose(drives.positions, Q + whole(offsets), atol=1e-6)
    drives.follow()
    feedforward = drives.control.torques[-1]
    offsets = np.clip(feedforward[:2] / SERVO, [-0.3, -0.01], [0.3, 0.01])
    np.testing.assert_allclose(drives.positions, TARGET + whole(offsets))
    kind, _ = joint_command(JOINTS, 'position')
    message = drives.control.messages('joint_position_command', kind)[-1]
    values = message.position if hasattr(message, 'position') else message.values
    np.testing.assert_array_equal(values, drives.positions)
    assert getattr(message, 'interface_name', 'position') == 'position'


@pytest.mark.parametrize(
    ('values', 'reason'),
    [
        ({'impedance_stiffness': [-1.0, 5.0]}, 'impedance_stiffness'),
        ({'impedance_damping': [np.nan, 5.0]}, 'impedance_damping'),
        ({'impedance_stiffness': [1.0]}, 'impedance_stiffness has 1 elements for 2'),
        ({'servo_stiffness': [0.0, 1.0]}, 'servo_stiffness'),
        ({'servo_stiffness': [5.0]}, '1 servo_stiffness for 2 servo_joints'),
        ({'servo_joints': ['nowhere', 'panda_joint1']}, "no joint 'nowhere'"),
    ],
)
def test_gains_that_are_impossible_are_refused(drives, values, reason):
    result = drives.control.bench.node.set_parameters_atomically(
        [Parameter(name, value=value) for name, value in values.items()]
    )
    assert not result.successful
    assert reason in result.reason


def test_a_servo_that_cannot_move_is_reported(drives):
    """Some descriptions have 0 as velocity limit."""
    assert 'velocity limit' not in drives.control.commands.status().summary
    still = re.sub('velocity="[^"]*"', 'velocity="0"', test_node_commands.PANDA, count=1)
    drives.control.describe(still)
    assert 'the velocity limit of panda_joint1 is 0' in drives.control.commands.status().summary
