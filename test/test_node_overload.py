"""A driver that is faster than the node: the newest joint states are answered, and it is told."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from robots import urdf_path
from ros_harness import WARN
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.simulation import middle_of_range

OUTPUT = 'dynamics/feedforward'


def test_the_newest_states_are_answered(start, connect):
    """The reference backend takes milliseconds for a state; they come at some kHz."""
    panda = Robot.from_urdf(urdf_path('panda'))
    start('bringup', {'backend': 'reference', 'nodes': "['dynamics']"},
          ['-r', '__ns:=/overload'])
    client = connect('overload')
    client.describe(urdf_path('panda').read_text())
    client.subscribe(JointState, OUTPUT)
    state = panda.joint_names, middle_of_range(panda), np.zeros(panda.nv)
    client.ask(OUTPUT, *state)
    stamps = []

    def burst(count=50):
        stamps.extend(client.send(*state, stamp=time.time_ns()) for _ in range(count))

    def answered():
        burst(1)
        client.spin(0.2)
        return client.with_stamp(OUTPUT, stamps[-1])

    client.expect('overload/bringup: joint states', WARN, 'faster than they can be answered',
                  meanwhile=burst)
    assert len(client.received[OUTPUT]) < len(stamps)
    client.wait(answered, what='an answer to a state that comes alone')
