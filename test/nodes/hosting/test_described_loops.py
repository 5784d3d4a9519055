# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Loops that an MJCF on robot_description closes: results are those of the closed robot."""

import numpy as np
import pytest

pytest.importorskip('mujoco')

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, LoopClosures
from support.host_bench import Bench, serialized
from support.linkages import BARS


def test_gravity_torques_of_the_motor(monkeypatch, keep):
    bench = keep(Bench(monkeypatch, loop_closures='description'))
    bench.describe(BARS)
    assert bench.host.model is not None, bench.host.source.descriptions.reason
    assert 'leaves open' not in bench.host.description_status().summary
    bench.host.states.receive(serialized(['left'], [0.3], bench.clock.time_ns()), {})
    (data,) = (data for topic, data in bench.sent if topic.endswith('/gravity'))
    message = deserialize_message(data, JointState)
    robot = Robot.from_mjcf(BARS)
    closed = ClosedRobot(robot, LoopClosures.of(robot.description))
    assert list(message.name) == ['left', 'elbow', 'right']
    expected = [*closed.gravity_torques([0.3]), 0.0, 0.0]  # passive joints have no motors
    np.testing.assert_allclose(message.effort, expected, rtol=1e-9)
    assert abs(robot.gravity_torques(closed.configuration([0.3]))[0] - message.effort[0]) > 0.01
