# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of outputs in nodes: of links without parameters, and of robots without mass."""

import re

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from screw_dynamics_ros.core.outputs import OUTPUTS, of_kinematics
from screw_dynamics_ros.nodes.outputs.dynamics.dynamics_outputs import Dynamics
from screw_dynamics_ros.nodes.outputs.kinematics import kinematics_outputs
from screw_dynamics_ros.nodes.outputs.kinematics.kinematics_outputs import Kinematics
from screw_dynamics_ros.ros.topics.channel import Channel
from support.host_bench import Bench, serialized
from support.robots import urdf_path

PLANAR = urdf_path('planar_2r').read_text()


@pytest.fixture
def sent(monkeypatch, keep):
    """Return a function that sends a state to a node and returns what it publishes."""
    monkeypatch.setattr(Channel, 'count_listeners', lambda each: setattr(each, 'listeners', 1))

    def run(part, name, description):
        bench = keep(Bench(monkeypatch, part, name))
        bench.describe(description)
        assert bench.host.model is not None
        now = bench.clock.time_ns()
        data = serialized(('joint1', 'joint2'), [0.4, -1.1], now, [0.7, 0.2], [0.0, 0.0])
        bench.host.states.receive(data, {})
        assert not bench.host.states.load.overflows
        return dict(bench.sent)

    return run


def test_a_row_of_links_needs_no_parameter(sent, monkeypatch):
    """Its representation is hybrid."""
    row = of_kinematics(
        *('twice', 'm/s', 'twist', 'matrix', (('vx', 'vy', 'vz', 'wx', 'wy', 'wz'),)),
        formula=OUTPUTS['twist'].formula,
        of_links=True,
    )
    monkeypatch.setitem(OUTPUTS, 'twice', row)
    monkeypatch.setattr(kinematics_outputs, 'PUBLISHED', [*kinematics_outputs.PUBLISHED, 'twice'])
    data = sent(Kinematics, 'kinematics', PLANAR)['/life/kinematics/twice/tip']
    found = deserialize_message(data, Float64MultiArray).data
    np.testing.assert_allclose(found[2:], [0.0, 0.0, 0.0, 0.9], atol=1e-12)


def test_a_robot_without_mass_has_the_other_outputs(sent):
    """All of them stopped, with a false reason."""
    text = re.sub('<inertial>.*?</inertial>', '', PLANAR, flags=re.DOTALL)
    topics = sent(Dynamics, 'dynamics', text).keys()
    assert topics >= {'/life/dynamics/gravity', '/life/dynamics/energy'}
    assert not topics & {f'/life/dynamics/{name}' for name, row in OUTPUTS.items() if row.of_mass}
