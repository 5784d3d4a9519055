# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A node `controller` with a UR5, in the process of a test."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.nodes.outputs.control.controller import Controller
from support.host_bench import Bench, serialized
from support.robots import urdf_path

MS = 10**6
URDF = urdf_path('ur5_robot').read_text()
TOOL = 'tool0'
#: The torques show the wrench: J^T of it at the link.
PRESSING = """
from screw_dynamics_ros.core.law import control_law

@control_law()
def mine(robot, state, reference, parameters, memory, *, link):
    return robot.jacobian(state.q, link, 'hybrid').T @ reference.wrench
"""


class Controlled:
    """A node with a UR5 in a configuration."""

    def __init__(self, monkeypatch, law, bench=Bench, **parameters):
        values = {
            'law': law,
            'backend': 'native',
            'blend_time': 0.0,
            'ramp_time': 0.0,
            'effort_rate_factor': 1e6,
            'effort_limit_factor': 1.0,
            'enabled': True,
            **parameters,
        }
        self.bench = bench(monkeypatch, Controller, 'controller', **values)
        self.host, self.node, self.part = self.bench.host, self.bench.node, self.bench.part
        self.describe(URDF)
        self.robot = Robot.from_urdf(URDF)
        self.joints = self.host.mapper.joints
        self.q = np.array([0.3, -1.2, 1.1, -0.4, 0.8, 0.2])
        self.v = np.array([0.1, -0.2, 0.15, 0.05, -0.1, 0.2])
        self.stamp = self.bench.clock.time_ns()
        self.root = self.robot.description.root

    def describe(self, text):
        self.bench.describe(text)
        assert self.host.model is not None, self.host.source.descriptions.reason

    def torque(self, q=None, v=None, effort=None):
        """Send a joint state 10 ms after the last one; return the commands, None without any."""
        self.stamp += 10 * MS
        self.bench.clock.offset += 0.01
        self.bench.sent.clear()
        q, v = self.q if q is None else q, self.v if v is None else v
        receive = getattr(self.bench, 'receive', self.host.states.receive)
        receive(serialized(self.joints, q, self.stamp, v, effort), {})
        found = [data for topic, data in self.bench.sent if topic.endswith('/commands')]
        return np.array(deserialize_message(found[0], Float64MultiArray).data) if found else None

    def set(self, **values):
        return self.bench.set(**values)

    def load(self):
        """Load the files of the law that have changed, and use the law."""
        self.part._look_at_files()
        self.bench.wait(lambda: not self.part._laws.is_loading)
        self.part._look_at_files()
        self.bench.finish()

    def summary(self):
        status = self.part.status()
        return status.level, status.summary
