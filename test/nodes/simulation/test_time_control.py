# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time after pauses and stops."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from screw_dynamics_ros.nodes.simulation import simulation_time
from screw_dynamics_ros.nodes.simulation.simulation_time import (
    RefusedError,
    RunState,
    SimulationTime,
    TickSchedule,
    TimeControl,
)

SECOND = 1_000_000_000
NOW = 100.0  # s, on the monotonic clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock stand still."""
    monkeypatch.setattr(simulation_time, 'time', SimpleNamespace(monotonic=lambda: NOW))


def control(origin: int | None) -> tuple[TimeControl, RunState, SimulationTime, TickSchedule]:
    """Return one at the system time of 5 s, and what it controls, which has been late for long."""
    state, simulated, pace = RunState(), SimulationTime(10.0, origin), TickSchedule(0.1, 0.25)
    pace.start(0.0)
    return TimeControl(state, simulated, pace, lambda: 5 * SECOND), state, simulated, pace


@pytest.mark.parametrize(
    ('origin', 'before', 'after'), [(2 * SECOND, '2', '5'), (None, '0.1', '0.1')]
)
def test_a_pause(origin, before, after):
    """Time of the system has gone on, simulated time has not; nothing is made up for."""
    times, state, _, pace = control(origin)
    assert times.pause(True) == f'paused at {before} s'
    assert not state.is_running
    assert times.pause(False) == f'running at {after} s'
    assert state.is_running
    assert pace.lost(NOW + 0.2) == 0.0
    assert pace.lost(NOW + 0.3) == pytest.approx(0.3)


def test_the_end_of_no_pause():
    """A request to go on changes nothing where time goes on."""
    times, _, simulated, pace = control(2 * SECOND)
    assert times.pause(False) == 'running at 2 s'
    assert simulated.stamp == 2 * SECOND
    assert pace.lost(NOW) == NOW


def test_after_a_stop():
    """Only another state ends it; time goes on from the present then."""
    times, state, simulated, _ = control(2 * SECOND)
    times.replaced()
    assert simulated.stamp == 2 * SECOND
    times.pause(True)
    state.stop('it diverged')
    with pytest.raises(RefusedError, match='it diverged'):
        times.pause(False)
    times.replaced()
    assert not state.stopped
    assert times.seconds == '5'
