# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A driver that is faster than the node: the newest joint states are answered, and it is
reported.
"""

import time

import numpy as np
import pytest
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.nodes.hosting import state_pipeline
from support.host_bench import Bench, serialized
from support.robots import urdf_path
from support.ros_harness import WARN

OUTPUT = 'dynamics/coriolis'


def test_the_newest_states_are_answered(start, connect):
    """The reference backend takes milliseconds for a state; they come at some kHz."""
    panda = Robot.from_urdf(urdf_path('panda'))
    start(
        'bringup',
        {'backend': 'reference', 'nodes': "['dynamics']", 'max_delay': 1e3},
        ['-r', '__ns:=/overload'],
    )
    client = connect('overload')
    client.describe(urdf_path('panda').read_text())
    client.subscribe(JointState, OUTPUT)
    state = panda.joint_names, middle_of_range(panda), np.zeros(panda.nv)
    client.ask(OUTPUT, *state)
    stamps = []

    def burst(count=50):
        stamps.extend(client.send(*state, stamp=time.time_ns()) for _ in range(count))

    # What else there is to do is done all the same, however many joint states have come.
    for _ in range(5):
        client.expect(
            'overload/bringup: joint states',
            WARN,
            'merged into newer ones',
            'install llvmlite',
            meanwhile=burst,
        )
    assert client.set_parameter('bringup', 'payload_mass', 0.5, meanwhile=burst).successful
    assert len(client.received[OUTPUT]) < len(stamps)
    client.stamp = time.time_ns()
    client.ask(OUTPUT, *state)  # one that comes alone is answered


@pytest.fixture
def bench(monkeypatch, keep):
    """Return a node whose time stands still, with an executor that runs when we say so."""
    made = keep(Bench(monkeypatch, max_delay=10.0))
    made.describe(urdf_path('planar_2r').read_text())
    made.executor = SingleThreadedExecutor()
    made.executor.add_node(made.node)
    return made


def show(bench, number):
    """Let joint states come, a microsecond after one another; return how many were answered."""
    bench.sent.clear()
    for _ in range(number):
        bench.clock.offset += 1e-6
        stamp = bench.clock.time_ns()
        bench.host.states.receive(serialized(('joint1', 'joint2'), (0.3, -0.5), stamp), {})
    return sum(topic.endswith(OUTPUT) for topic, _ in bench.sent)


def test_what_came_in_a_short_pause_is_answered_state_by_state(bench):
    bench.clock.offset += 1.0
    assert show(bench, 5) == 4  # the last one lets other callbacks go first
    bench.sent.clear()
    bench.executor.spin_once(timeout_sec=0.0)
    assert any(topic.endswith(OUTPUT) for topic, _ in bench.sent)
    assert bench.host.states.load.lost == 0


def test_after_a_while_the_newest_state_waits_for_other_callbacks(bench):
    bench.clock.offset += 1.0
    assert show(bench, 2) == 1
    bench.clock.offset += state_pipeline.CATCH_UP
    assert show(bench, 3) == 0
    assert bench.host.states.load.lost == 3
    bench.executor.spin_once(timeout_sec=0.0)
    assert show(bench, 1) == 0  # right after the turn of the newest
    assert show(bench, 1) == 1
