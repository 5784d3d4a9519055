# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Loops that an MJCF on robot_description closes: results are those of the closed robot."""

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('mujoco')

import rclpy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, LoopClosures
from support.host_bench import Bench, serialized

BARS = """<mujoco model="bars"><worldbody>
  <body name="left"><joint name="left" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.01"/>
    <body name="bar" pos="0 0 0.2"><joint name="elbow" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.01"/></body></body>
  <body name="right" pos="0.3 0 -0.1"><joint name="right" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.01"/></body></worldbody>
  <equality><connect body1="right" body2="bar" anchor="0 0 0.3"/></equality>
  <actuator><motor joint="left"/></actuator></mujoco>"""


def test_gravity_torques_of_the_motor(monkeypatch, ros_domain):
    rclpy.init(domain_id=ros_domain)
    bench = Bench(monkeypatch, loop_closures='description')
    bench.host.source.receive(String(data=BARS))
    bench.finish()
    assert bench.host.model is not None, bench.host.source.descriptions.reason
    bench.host.states.receive(serialized(['left'], [0.3], bench.clock.time_ns()), {})
    (data,) = (data for topic, data in bench.sent if topic.endswith('/gravity'))
    message = deserialize_message(data, JointState)
    bench.close()
    rclpy.shutdown()
    robot = Robot.from_mjcf(BARS)
    closed = ClosedRobot(robot, LoopClosures.of(robot.description))
    assert list(message.name) == ['left', 'elbow', 'right']
    expected = [*closed.gravity_torques([0.3]), 0.0, 0.0]  # passive joints have no motors
    np.testing.assert_allclose(message.effort, expected, rtol=1e-9)
    assert abs(robot.gravity_torques(closed.configuration([0.3]))[0] - message.effort[0]) > 0.01
