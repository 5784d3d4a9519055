# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The push and the recording of the demo, on made-up messages."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from screw_dynamics_ros.cli.demo.recording import STAMPED, DemoRecording, Series, singular_values
from screw_dynamics_ros.core import Robot
from support.demo_runs import PANDA, PUSH, TOOL, make_recording


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(PANDA)


@pytest.fixture(scope='module')
def perfect(robot: Robot) -> DemoRecording:
    return make_recording(robot)


def test_push_rises_stays_and_falls():
    assert PUSH.strength([0.0, 2.0, 2.25, 2.5, 4.0, 5.5, 5.75, 6.0, 9.0]) == pytest.approx(
        [0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0]
    )


def test_push_is_continuous_with_its_rate():
    time_ = np.linspace(1.5, 6.5, 5001)
    slope = np.gradient(PUSH.strength(time_), time_)
    assert np.abs(slope).max() < 1.6 / PUSH.ramp
    assert np.abs(np.gradient(slope, time_)).max() < 6.1 / PUSH.ramp**2


def test_phases_are_those_of_what_acts():
    """Steady and absent after a second of states in which it was so; absent from the beginning."""
    force = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0]
    acting = np.outer(force, [0.0, 0.0, 0.0, 3.0, 4.0, 0.0])
    steady, absent = PUSH.phases(acting, 0.5)
    assert np.flatnonzero(steady).tolist() == [4, 5]
    assert np.flatnonzero(absent).tolist() == [0, 1, 8, 12]


def test_phases_without_a_push():
    for count in (0, 3):
        steady, absent = PUSH.phases(np.zeros((count, 6)), 0.5)
        assert not steady.any()
        assert absent.all()


def test_series_gives_all_messages():
    series = Series(2, lambda text: (int(text), (float(text), -float(text))))
    for k in range(4):
        series.add(10 + k, str(k))
        assert len(series.values()) == k + 1
    assert len(series) == 4
    assert series.stamps().tolist() == [0, 1, 2, 3]
    assert series.arrivals().tolist() == [10, 11, 12, 13]
    assert series.values().tolist() == [[0.0, 0.0], [1.0, -1.0], [2.0, -2.0], [3.0, -3.0]]
    assert series.last_stamp == 3


def test_series_reads_only_once():
    read: list[int] = []

    def decode(message: int) -> tuple[int, tuple[float]]:
        read.append(message)
        return message, (0.0,)

    series = Series(1, decode)
    for k in range(5):
        series.add(k, k)
    assert series.last_stamp == 4
    assert read == [4]
    series.values()
    series.stamps()
    assert read == [4, 0, 1, 2, 3, 4]


def test_series_without_messages():
    series = Series(3, lambda message: message)
    assert series.values().shape == (0, 3)
    assert series.stamps().shape == series.arrivals().shape == (0,)
    assert series.last_stamp == 0


def test_latency_runs_to_the_last_stamped_output(perfect: DemoRecording):
    index, since_arrival, since_stamp = perfect.latency()
    assert len(index) == len(perfect.series['joint_states'])
    assert since_arrival == pytest.approx(np.full(len(index), 0.0010))
    assert since_stamp == pytest.approx(np.full(len(index), 0.0012))


def test_latency_is_exact_in_nanoseconds(perfect: DemoRecording):
    """Stamps since 1970 have more digits than floating point numbers."""
    recording, shift = copy.deepcopy(perfect), 1_700_000_000_000_000_001
    for series in recording.series.values():
        series._all = series.stamps() + shift, series.values()
        series._arrivals = (series.arrivals() + shift).tolist()
    for one, other in zip(recording.latency(), perfect.latency()):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize('lost', STAMPED)
def test_latency_leaves_out_incomplete_sets(robot: Robot, lost: str):
    recording = make_recording(
        robot, 1.0, lambda name, k, values: None if name == lost and k in (3, 7) else values
    )
    index, since_arrival, _ = recording.latency()
    assert sorted(set(range(50)) - set(index.tolist())) == [3, 7]
    assert len(since_arrival) == 48


def test_together_pairs_messages_by_stamp(robot: Robot):
    recording = make_recording(
        robot,
        0.2,
        lambda name, k, values: (
            None if (name == 'wrench' and k == 2) or (name == 'gravity' and k == 5) else values
        ),
    )
    seconds, wrench, gravity = recording.together('wrench', 'gravity')
    assert seconds == pytest.approx([0.0, 0.02, 0.06, 0.08, 0.12, 0.14, 0.16, 0.18])
    assert len(wrench) == len(gravity) == 8
    assert gravity[2] == pytest.approx(recording.series['gravity'].values()[3])


def test_tool_pose_is_that_of_the_model(robot: Robot, perfect: DemoRecording):
    position, rotation = perfect.tool_pose(perfect.series['tf'].values())
    q = perfect.series['joint_states'].values()[:, : robot.nq]
    expected = robot.link_pose(q, TOOL)
    assert np.abs(position - expected[:, :3, 3]).max() < 1e-14
    assert np.abs(rotation.as_matrix() - expected[:, :3, :3]).max() < 1e-14


def test_singular_values_do_not_depend_on_the_order_of_rows(perfect: DemoRecording):
    rows = perfect.series['jacobian'].values()[:5]
    swapped = np.roll(rows.reshape(5, 6, -1), 3, axis=1).reshape(5, -1)
    assert singular_values(rows).shape == (5, 6)
    assert singular_values(rows) == pytest.approx(singular_values(swapped))
