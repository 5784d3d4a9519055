# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The how-to page of gravity compensation, with the simulator as the arm."""

from __future__ import annotations

import re
import shlex

import numpy as np
import yaml
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from screw_dynamics_ros.core import Robot
from support.paths import DOC
from support.robots import urdf_path
from support.ros_harness import OK

RECIPE = (DOC / 'how_to' / 'gravity_compensation.md').read_text(encoding='utf-8')


def command():
    """Return the ROS arguments of the node, as a shell splits them."""
    text = re.search(r'ros2 run screw_dynamics_ros dynamics (.*?)\n *```', RECIPE, re.DOTALL)[1]
    words = shlex.split(text.replace('\\\n', ' '))
    assert words[0] == '--ros-args'
    return words[1:]


def test_the_controller_and_the_node_have_the_same_joints():
    (block,) = re.findall(r'```yaml\n(.*?)```', RECIPE, re.DOTALL)
    controller = yaml.safe_load(block)['gravity_compensation']['ros__parameters']
    joints = next(word for word in command() if word.startswith('joints:='))
    assert yaml.safe_load(joints.removeprefix('joints:=')) == controller['joints']
    robot = Robot.from_urdf(urdf_path('panda'))
    assert set(controller['joints']) < set(robot.joint_names)


def test_the_proof(start, connect):
    """What the controller gets are the torques of gravity, in the order of its joints."""
    start('simulator', {'rate': 200.0, 'motion_amplitude': 0.0})
    start('dynamics', {'max_delay': 0.0}, command())
    client = connect('recipe')
    client.subscribe(Float64MultiArray, '/gravity_compensation/commands')
    client.expect('dynamics: outputs', OK)
    client.call(SetBool, '/dynamics/enable', SetBool.Request(data=True))
    robot = Robot.from_urdf(urdf_path('panda'))
    expected = robot.gravity_torques(robot.home())[:7]
    received = client.received['/gravity_compensation/commands']
    client.wait(
        lambda: received and np.allclose(received[-1].data, expected, atol=0.05), what='gravity'
    )
    assert len(received[-1].data) == 7
