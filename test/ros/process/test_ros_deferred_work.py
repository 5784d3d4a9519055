# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Work that can wait is done after joint states, one piece at a time, or when there are none."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.ros.process import timers
from screw_dynamics_ros.ros.process.timers import IDLE_TIME_S, MIN_SPACING_S, DeferredWork


@pytest.fixture
def done():
    return []


@pytest.fixture
def clock(monkeypatch):
    """Return the times the module sees, the last of them being now."""
    now = [100.0]
    monkeypatch.setattr(timers, 'time', SimpleNamespace(monotonic=lambda: now[-1]))
    return now


@pytest.fixture
def ticks(done, clock, monkeypatch):
    """Return the timers of three pieces of work."""
    found = []
    monkeypatch.setattr(timers, 'every', lambda node, period, callback: found.append(callback))
    return found


@pytest.fixture
def spare(done, ticks):
    made = DeferredWork(None)
    for name in ('status', 'look', 'other'):
        made.every(0.1, lambda name=name: done.append(name))
    return made


def test_without_states_timers_are_timers(spare, done, ticks):
    for tick in ticks:
        tick()
    assert done == ['status', 'look', 'other']


def test_timers_wait_for_the_next_state_and_come_once(spare, done, ticks, clock):
    spare.use()
    for _ in range(3):
        ticks[0]()
    assert done == []
    spare.use()
    clock.append(clock[-1] + 2 * MIN_SPACING_S)
    spare.use()
    assert done == ['status']


def test_one_after_a_state_and_not_after_the_next(spare, done, ticks, clock):
    """However fast states come, they are not held up by one piece after the other."""
    spare.use()
    for tick in ticks:
        tick()
    for k in range(1, 13):
        spare.use()
        assert done == ['status', 'look', 'other'][: 1 + (k - 1) // 6]
        clock.append(clock[-1] + 0.19 * MIN_SPACING_S)


def test_what_waits_is_done_when_states_stop(spare, done, ticks, clock):
    spare.use()
    ticks[0]()
    ticks[1]()
    clock.append(clock[-1] + 2 * IDLE_TIME_S)
    ticks[2]()
    assert done == ['status', 'look', 'other']
