"""A driver that is faster than the node: the newest joint states are answered, and it is told."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.simulation import middle_of_range
from support.robots import urdf_path
from support.ros_harness import WARN

OUTPUT = 'dynamics/coriolis'


@pytest.mark.parametrize('executor', ['events', 'single'])
def test_the_newest_states_are_answered(start, connect, executor):
    """The reference backend takes milliseconds for a state; they come at some kHz."""
    panda = Robot.from_urdf(urdf_path('panda'))
    start(
        'bringup',
        {'backend': 'reference', 'nodes': "['dynamics']", 'max_delay': 0.02, 'executor': executor},
        ['-r', f'__ns:=/overload/{executor}'],
    )
    client = connect(f'overload/{executor}')
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

    # What else there is to do is done all the same, however many joint states have come.
    client.wait(lambda: burst() or len(stamps) > 10_000, what='joint states')
    for _ in range(3):
        client.expect(
            f'overload/{executor}/bringup: joint states',
            WARN,
            'merged into newer ones',
            'install llvmlite',
            meanwhile=burst,
        )
    assert client.set_parameter('bringup', 'payload_mass', 0.5, meanwhile=burst).successful
    assert len(client.received[OUTPUT]) < len(stamps)
    client.wait(answered, what='an answer to a state that comes alone')
