# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques of a node in a process of its own: enabled over DDS, at its end, when it is killed."""

import signal

import numpy as np
import pytest
from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from screw_dynamics_ros.core import Robot
from support.robots import urdf_path
from support.ros_harness import stamp_of

PANDA = urdf_path('panda').read_text()
MOVED = Robot.from_urdf(PANDA)
JOINTS = MOVED.joint_names
Q = 0.5 * (MOVED.limits.lower + MOVED.limits.upper) + 0.1
STATE = (JOINTS, Q, np.zeros(MOVED.nv))
GRAVITY = MOVED.gravity_torques(Q)
PERIOD = 0.01  # s between joint states
ACTIONS = ('hold', 'gravity', 'ramp_to_zero', 'stop')


class Process:
    """A node in a process of its own that commands torques over DDS; no state is too old for it."""

    def __init__(self, start, connect, name, **rules):
        rules = {'nodes': "['dynamics']", 'age_limit': 10.0, 'effort_rate_factor': 1e6, **rules}
        self.node = start('bringup', rules, ['-r', f'__ns:=/{name}'])
        self.name, self.client, self.stamps = name, connect(name), set()
        self.client.describe(PANDA)
        self.client.subscribe(JointState, 'dynamics/feedforward', profile=2000)
        self.received = self.client.received['dynamics/feedforward']

    def drive(self, condition, what):
        """Send joint states until something holds."""

        def sent():
            self.stamps.add(self.client.send(*STATE))
            self.client.executor.spin_once(timeout_sec=PERIOD)
            return condition()

        self.client.wait(sent, what=what)

    def until_gravity(self):
        self.drive(
            lambda: self.received and np.allclose(self.received[-1].effort, GRAVITY, atol=1e-6),
            'torques of gravity',
        )


def test_a_service_enables_torques(start, connect):
    """The first one is zero: there was none before."""
    control = Process(start, connect, 'off')
    status = 'off/dynamics: commands'
    control.drive(lambda: status in control.client.diagnostics, 'a status')
    control.drive(
        lambda: control.client.diagnostics[status][2].get('mode') == 'disabled', 'disabled torques'
    )
    request = SetBool.Request(data=True)
    assert control.client.call(SetBool, 'dynamics/enable', request).message == 'enabled'
    control.until_gravity()
    assert not any(control.received[0].effort)


@pytest.mark.parametrize(
    ('action', 'number'),
    [*((action, signal.SIGINT) for action in ACTIONS), ('ramp_to_zero', signal.SIGTERM)],
)
def test_the_node_ends(start, connect, action, number):
    """What on_end says has been carried out and has arrived when the process is gone."""
    control = Process(start, connect, f'end_{action}_{number.name}', enabled=True, on_end=action)
    control.until_gravity()
    control.received.clear()
    control.node.process.send_signal(number)
    control.drive(lambda: control.node.process.poll() is not None, 'the end')
    assert control.node.wait() == 0, control.node.output
    topic = control.client.node.resolve_topic_name('dynamics/feedforward')
    control.client.wait(lambda: not control.client.node.count_publishers(topic), what='its leave')

    def made_at_the_end():
        return [m for m in control.received if stamp_of(m) not in control.stamps]

    if action == 'stop':
        assert not made_at_the_end()
        return
    expected = np.zeros(len(JOINTS)) if action == 'ramp_to_zero' else GRAVITY
    control.client.wait(
        lambda: made_at_the_end() and np.allclose(control.received[-1].effort, expected, atol=1e-6),
        what='the last command',
    )


def test_a_killed_node_is_missed_by_its_listeners(start, connect):
    from rclpy.event_handler import SubscriptionEventCallbacks

    control = Process(start, connect, 'killed', enabled=True, age_limit=1.0)
    missed, commands = [], []
    control.client.node.create_subscription(
        Float64MultiArray,
        'dynamics/commands',
        commands.append,
        QoSProfile(depth=1, deadline=Duration(seconds=1.0)),
        event_callbacks=SubscriptionEventCallbacks(deadline=missed.append),
        raw=True,
    )
    control.drive(lambda: commands, 'commands')
    # nor does a late listener get what is older than age_limit
    for topic in ('dynamics/commands', 'dynamics/feedforward'):
        topic = control.client.node.resolve_topic_name(topic)
        (publisher,) = control.client.node.get_publishers_info_by_topic(topic)
        assert publisher.qos_profile.lifespan == Duration(seconds=1.0)
    control.node.process.send_signal(signal.SIGKILL)
    assert control.node.wait() == -signal.SIGKILL
    missed.clear()
    control.client.wait(lambda: missed, what='a missed deadline')
