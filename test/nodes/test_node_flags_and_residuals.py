# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Flags and the residual map through DDS: a late subscriber, services, diagnostics."""

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.ros.topics.qos import LATCHED
from support.robots import urdf_path
from support.ros_harness import WARN

PLANAR = urdf_path('planar_2r').read_text()
NODE = 'wrench_estimator'
EXTERNAL, COLLISION = f'{NODE}/external_torque', f'{NODE}/collision'
OUTPUTS = f'flags/{NODE}: outputs'
Q, REST = np.array([0.4, -0.3]), np.zeros(2)


def test_flags_and_residuals(start, connect, tmp_path):
    path, robot = tmp_path / 'map.yaml', Robot.from_urdf(PLANAR, backend='reference')
    parameters = {
        'max_delay': 0.0,
        'state_timeout': 0.0,
        'tare_samples': 3,
        'residual_map': path.name,
        'data_folder': str(tmp_path),
        'collision_duration': 0.0,
    }
    start(NODE, parameters, ['-r', '__ns:=/flags'])
    client, late = connect('flags'), connect('flags')
    client.describe(PLANAR)
    client.subscribe(JointState, EXTERNAL)
    client.subscribe(Bool, COLLISION, profile=LATCHED)

    def torque(q, push):
        tau = robot.gravity_torques(q) - push
        return np.array(client.ask(EXTERNAL, robot.joint_names, q, REST, tau)[1].effort)

    push = 0.4 * robot.limits.effort
    np.testing.assert_allclose(torque(Q, push), push, atol=1e-9)
    tau = robot.gravity_torques(Q) - push
    state = robot.joint_names, Q, REST, tau  # again: its subscription may be discovered later
    client.drive(lambda _: client.received[COLLISION], *state, what='a flag')
    assert client.received[COLLISION][-1].data
    client.expect(OUTPUTS, WARN, 'collision at joint')
    late.subscribe(Bool, COLLISION, profile=LATCHED)
    late.wait(lambda: late.received[COLLISION], what='the flag raised before')
    assert late.received[COLLISION][-1].data
    assert client.call(Trigger, f'{NODE}/reset', Trigger.Request()).success

    def bias(q):
        return np.array([1.0 + q[0], -0.5])

    for k in range(6):
        q = np.array([0.1 * k, 0.3])
        for _ in range(3):
            torque(q, bias(q))
        answer = client.call(Trigger, f'{NODE}/record_residual', Trigger.Request())
        assert answer.success, answer.message
    answer = client.call(Trigger, f'{NODE}/fit_residual_map', Trigger.Request())
    assert answer.success, answer.message

    def is_active():
        values = client.diagnostics.get(OUTPUTS, (0, '', {}))[2]
        return values.get('residual map', '').startswith('active')

    client.wait(is_active, what='the map')
    q = np.array([0.25, 0.3])
    np.testing.assert_allclose(torque(q, bias(q)), 0.0, atol=0.05)
    assert path.exists()
