# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Listeners come and go while the frames change: nothing that can still be called is destroyed.

A listener that wants latched messages does not match our outputs, which makes the middleware call
into the publisher. `test/endurance/soak.py` does this and more for half an hour.
"""

import random
import signal

from geometry_msgs.msg import TwistStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Float64MultiArray

from support.robots import urdf_path

CHANGES = 40  # of frames; publishers that were destroyed ended the process after 6 to 21
BUSY = 8  # listeners at most at a time
NAMES, STATE = ['joint1', 'joint2'], ([0.3, -0.4], [0.1, 0.2], [0.0, 0.0])
FRAMES = (['tip'], ['link1', 'link2'], ['link2'], ['link1', 'tip'])
KINDS = {'jacobian': Float64MultiArray, 'twist': TwistStamped, 'singularity': Float64MultiArray}


class Listeners:
    """Subscriptions of every durability and reliability, which come and go by chance."""

    def __init__(self, client, seed):
        # Not spun: what comes for it is not of interest, its events are not ours.
        self._node = client.node
        self._random, self._alive = random.Random(seed), []

    def change(self):
        choice = self._random.choice
        if len(self._alive) >= BUSY or (self._alive and self._random.random() < 0.3):
            self._node.destroy_subscription(
                self._alive.pop(self._random.randrange(len(self._alive)))
            )
            return
        kind, link = choice(list(KINDS)), choice(['link1', 'link2', 'tip'])
        self._alive.append(
            self._node.create_subscription(
                KINDS[kind],
                f'kinematics/{kind}/{link}',
                lambda message: None,
                QoSProfile(
                    depth=1,
                    durability=choice(
                        [DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE]
                    ),
                    reliability=choice([ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT]),
                ),
            )
        )

    def close(self):
        for subscription in self._alive:
            self._node.destroy_subscription(subscription)


def test_latched_listeners_come_and_go_while_frames_change(start, connect):
    node = start(
        'bringup',
        {
            'nodes': "['kinematics']",
            'frames': "['tip']",
            'max_delay': 0.0,
            'backend': 'reference',
            'robot_description': f"'{urdf_path('planar_2r').read_text()}'",
        },
        ['-r', '__ns:=/soak'],
    )
    client = connect('soak')
    client.expect('soak/bringup: robot description', 0, 'robot planar_2r')
    client.subscribe(TwistStamped, 'kinematics/twist/tip')
    client.ask('kinematics/twist/tip', NAMES, *STATE)
    listeners = Listeners(client, seed=1)
    for index in range(CHANGES):
        frames = FRAMES[index % len(FRAMES)]
        assert client.set_parameter('kinematics', 'frames', frames).successful, node.output
        for _ in range(4):
            listeners.change()
            client.send(NAMES, *STATE)
            client.executor.spin_once(timeout_sec=0.01)
        assert node.process.poll() is None, f'after {index + 1} changes:\n{node.output}'
    # The last frames are active, and outputs come.
    topics = [f'kinematics/twist/{link}' for link in FRAMES[(CHANGES - 1) % len(FRAMES)]]
    client.subscribe(TwistStamped, *topics)
    client.ask_all(topics, NAMES, *STATE)
    values = client.expect('soak/bringup: faults', 0, meanwhile=lambda: client.send(NAMES, *STATE))
    assert values == {}
    listeners.change()  # some are still there
    assert node.stop(signal.SIGINT) == 0, node.output
    for sign in ('Traceback', 'FATAL', 'InvalidHandle', 'Segmentation'):
        assert sign not in node.output, node.output
    listeners.close()
