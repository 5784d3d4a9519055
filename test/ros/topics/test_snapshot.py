# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of joint states that Python uses later."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.ros.data_path.loop import take_snapshot
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.topics.snapshot import SIZE, StateSnapshot


@pytest.fixture
def taken():
    """Return a snapshot of the array `source`, a function that takes a state, and used states."""
    source, used = np.zeros(2), []
    snapshot = StateSnapshot(lambda: [source], lambda *state: used.append(state))
    record = LoopRecord()
    record.mapper = mapper = JointStateMapper(())
    snapshot.connect()

    def take(stamp):
        source[:], mapper.stamp, mapper.accepted = stamp, stamp, mapper.accepted + 1
        take_snapshot(snapshot, record)

    return snapshot, take, used


def values(used):
    return [(stamp, *array.tolist()) for stamp, array in used]


def test_states_that_wait_survive_another_subscriber(taken):
    """Several topics share a snapshot; each connects it when its first subscriber comes."""
    snapshot, take, used = taken
    take(5)
    take(6)
    snapshot.connect()
    snapshot.use()
    take(7)
    snapshot.use()
    assert values(used) == [(5, 5.0, 5.0), (6, 6.0, 6.0), (7, 7.0, 7.0)]


def test_the_newest_states_remain(taken):
    snapshot, take, used = taken
    for stamp in range(1, 2 * SIZE):
        take(stamp)
    snapshot.use()
    assert values(used) == [(k, k, k) for k in range(SIZE + 1, 2 * SIZE)]


def test_states_that_arrive_meanwhile_wait_for_the_next_call(taken):
    """However long each takes: an executor has other work, too."""
    snapshot, take, used = taken
    snapshot._function = lambda stamp, _: (used.append(stamp), take(stamp + 1))
    take(1)
    for count in (1, 2):
        snapshot.use()
        assert used == [1, 2][:count]
