# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The reference of an admittance controller over DDS: zeros without joint states, and last."""

from geometry_msgs.msg import WrenchStamped

from screw_dynamics_ros.core import Robot
from support.robots import urdf_path

TOPIC = 'wrench_estimator/wrench_reference'
ARM = urdf_path('panda').read_text()
Q = [0.3, -0.4, 0.2, -1.9, 0.1, 1.8, 0.5, 0.02]


def test_zeros_are_sent_without_joint_states_and_last(start, connect):
    names = list(Robot.from_urdf(ARM, backend='reference').joint_names)[: len(Q)]
    node = start(
        'wrench_estimator',
        {'wrench_reference': 'wrench/panda_hand_tcp'},
        ['-r', '__ns:=/repeated'],
    )
    client = connect('repeated')
    client.describe(ARM)
    client.subscribe(WrenchStamped, TOPIC)

    def last():
        force = client.received[TOPIC][-1].wrench.force if client.received[TOPIC] else None
        return force is not None and (force.x, force.y, force.z)

    def has_estimate(_=None):
        return bool(last() and any(last()))

    state = names, Q, [0.0] * len(Q), [3.0] * len(Q)
    client.drive(has_estimate, *state, what='a wrench')
    client.wait(lambda: last() == (0.0, 0.0, 0.0), what='zeros without joint states')
    client.drive(has_estimate, *state, what='a wrench')
    assert node.stop() == 0
    client.wait(lambda: last() == (0.0, 0.0, 0.0), what='zeros at the end')
