# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The time that is shown of a recording."""

from __future__ import annotations

import math

from screw_dynamics_ros.cli.view.recording_source import Playback


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_time_runs_and_stops_at_the_end():
    clock = Clock()
    playback = Playback(10.0, clock)
    clock.now = 5.0
    assert playback.now() == 0.0
    playback.play()
    clock.now = 7.0
    assert playback.now() == 2.0
    playback.set_speed(2.0)
    clock.now = 8.0
    assert playback.now() == 4.0
    playback.pause()
    clock.now = 9.0
    assert playback.now() == 4.0
    playback.play()
    clock.now = 99.0
    assert playback.now() == 10.0
    assert not playback.is_playing
    playback.play()
    assert playback.now() == 0.0


def test_the_time_before_a_change_counts():
    """Playing goes on from a new position, at a new speed, and not during a pause."""
    clock = Clock()
    playback = Playback(100.0, clock)
    playback.play()
    clock.now = 4.0
    playback.seek(20.0)
    clock.now = 7.0
    assert playback.now() == 23.0
    clock.now = 8.0
    playback.set_speed(10.0)
    clock.now = 9.0
    assert playback.now() == 34.0
    clock.now = 10.0
    playback.pause()
    clock.now = 90.0
    playback.play()
    assert playback.now() == 44.0
    clock.now = 80.0  # a clock that is set back
    assert playback.now() == 44.0
    clock.now = 81.0
    assert playback.now() == 54.0
    playback.seek(math.nan)
    assert playback.now() == 54.0


def test_a_position_is_on_the_axis():
    playback = Playback(10.0, Clock())
    for given, expected in ((3.0, 3.0), (-1.0, 0.0), (11.0, 10.0), (math.nan, 10.0)):
        playback.seek(given)
        assert playback.now() == expected
