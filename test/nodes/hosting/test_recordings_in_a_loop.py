# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings that are played in a loop with /clock: each loop is processed, however short it is."""

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from rclpy.time import Time
from sensor_msgs.msg import JointState

from screw_dynamics_ros.ros.joint_states.policies import Reason
from support.host_bench import Bench, serialized
from support.robots import urdf_path

JOINTS = 'joint1', 'joint2'
MS, START = 10**6, 100 * 10**9


class Played:
    """A node with simulated time, to which a recording is played."""

    def __init__(self, monkeypatch):
        self.bench = Bench(monkeypatch, backend='native', gravity=[0.0, -9.81, 0.0])
        self.clock = self.bench.node.get_clock()
        self.clock._set_ros_time_is_active(True)
        self.bench.describe(urdf_path('planar_2r').read_text())

    def set_clock(self, stamp):
        self.clock.set_ros_time_override(Time(nanoseconds=stamp, clock_type=self.clock.clock_type))

    def send(self, stamp, q):
        """Return the stamps and largest torques of the answers to a joint state."""
        self.bench.clock.offset += 0.01
        self.bench.sent.clear()
        state = serialized(list(JOINTS), q, stamp)
        self.bench.host.states.receive(state, {})
        return [
            np.abs(deserialize_message(data, JointState).effort).max()
            for topic, data in self.bench.sent
            if topic == '/life/dynamics/coriolis'
        ]

    def count(self, reason):
        record = self.bench.host.mapper.records.get(reason)
        return record.count if record else 0


@pytest.fixture
def played(monkeypatch, keep):
    return keep(Played(monkeypatch))


@pytest.mark.parametrize('milliseconds', [100, 2000])
@pytest.mark.parametrize('is_late', [False, True])
@pytest.mark.parametrize('clock_first', [True, False])
def test_each_loop_is_processed(played, milliseconds, is_late, clock_first):
    """Also if a message of the loop before arrives after the jump, or the clock comes late."""
    step = 10 if milliseconds < 500 else 50
    for loop in range(3):
        answers = 0
        for k in range(0, milliseconds, step):
            stamp = START + k * MS
            if clock_first or k:
                played.set_clock(stamp)
            torques = played.send(stamp, [0.5 + k * 1e-4, -0.3])
            if not (clock_first or k):
                played.set_clock(stamp)
            assert max(torques, default=0.0) < 1e-9  # at rest: no velocity from two loops
            answers += len(torques)
            if is_late and loop and k == 0:
                late = START + milliseconds * MS
                assert played.send(late, [9.0, 9.0]) == []
        assert answers >= milliseconds // step - (not clock_first)
    assert played.count(Reason.TIME_RESET) >= 2
    if is_late or (milliseconds < 500 and not clock_first):
        assert played.count(Reason.OUT_OF_ORDER) >= 2


def test_messages_ahead_of_the_clock_are_used_when_it_has_passed_the_end(played):
    """The limit on stamps ahead of the clock ends with the loop."""
    for stamp in (START, START + 300 * MS, START):
        played.set_clock(stamp)
        assert played.send(stamp, [0.5, -0.3])
    assert not played.send(START + 200 * MS, [0.5, -0.3])
    played.set_clock(START + 300 * MS)
    assert played.send(START + 300 * MS, [0.5, -0.3])
    assert played.send(START + 550 * MS, [0.5, -0.3])
