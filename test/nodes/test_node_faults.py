# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An exception of a callback ends nothing: its traceback is in the log, its count on /diagnostics.

The same for each node that is not hosted with others; those are in test_node_host.py.
"""

from operator import attrgetter

import pytest
from geometry_msgs.msg import TwistStamped, WrenchStamped
from sensor_msgs.msg import JointState

from screw_dynamics_ros.nodes.mechanism.simulator import MechanismSimulator
from screw_dynamics_ros.nodes.mobile_base.odometry_node import OdometryNode
from screw_dynamics_ros.nodes.parallel.platform_node import PlatformNode
from screw_dynamics_ros.nodes.simulation.simulator import Simulator
from screw_dynamics_ros.ros.diagnostics import Level

WHEELS = {
    'wheel_radius': 0.1,
    'wheel_separation': 0.5,
    'left_wheel_names': ['left'],
    'right_wheel_names': ['right'],
}


@pytest.mark.parametrize(
    ('kind', 'parameters', 'topic', 'message', 'broken'),
    [
        (Simulator, {}, 'joint_commands', JointState(), '_topics._plant'),
        (MechanismSimulator, {}, 'joint_commands', JointState(), '_loads'),
        (OdometryNode, WHEELS, 'cmd_vel', TwistStamped(), '_commands'),
        (PlatformNode, {}, 'external_wrench', WrenchStamped(), 'parameters'),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else '',
)
def test_a_callback_that_raises(
    node_bench, monkeypatch, capfd, kind, parameters, topic, message, broken
):
    bench = node_bench(kind, **parameters)
    owner, _, name = f'tested.{broken}'.rpartition('.')
    with monkeypatch.context() as patch:
        patch.setattr(attrgetter(owner)(bench), name, None)
        for _ in range(2):
            bench.hear(topic, message)
    log = capfd.readouterr().err
    assert log.count('Traceback') == 1
    assert f'{topic}: abandoned after an error' in log
    fault = bench.diagnostics()['faults']
    assert fault.level == bytes([Level.ERROR])
    assert [each.value.startswith('2 times, last: ') for each in fault.values] == [True]
    assert topic in fault.values[0].key


def test_a_request_that_raises(node_bench, monkeypatch, capfd):
    """It is answered, too."""
    bench = node_bench(PlatformNode)
    monkeypatch.setattr(bench.tested, '_tracker', None)
    response = bench.trigger('reset')
    assert not response.success
    assert response.message.startswith('AttributeError: ')
    assert 'Traceback' in capfd.readouterr().err
    assert bench.diagnostics()['faults'].values[0].key == 'service /tested/reset'
