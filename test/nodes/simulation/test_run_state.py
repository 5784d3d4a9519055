# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the simulation runs, its stamps and its pace: without ROS, and in any order."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from screw_dynamics_ros.nodes.simulation.simulation_time import (
    RefusedError,
    RunState,
    SimulationTime,
    TickSchedule,
)


class Requests(RuleBasedStateMachine):
    """Pause, step, divergence, another state, answers and time, against flags."""

    def __init__(self):
        super().__init__()
        self.state, self.now = RunState(), 0.0
        self.paused, self.stopped, self.awaited, self.asked = False, False, None, 0.0

    @rule(seconds=st.floats(0.0, 2.0))
    def time_passes(self, seconds):
        self.now += seconds

    @rule()
    def pause(self):
        self.state.pause()
        self.paused = True

    @rule()
    def resume(self):
        if self.stopped:
            with pytest.raises(RefusedError, match=r'too fast.*~/reset'):
                self.state.resume(self.now)
            return
        self.state.resume(self.now)
        if self.paused:
            self.paused, self.asked = False, self.now

    @rule()
    def step(self):
        if self.stopped or not self.paused:
            with pytest.raises(RefusedError, match='too fast' if self.stopped else 'running'):
                self.state.check_step()
        else:
            self.state.check_step()

    @rule()
    def diverge(self):
        self.state.stop('too fast')
        self.stopped, self.awaited = True, None

    @rule()
    def replace(self):
        self.state.replaced()
        self.stopped, self.awaited = False, None

    @precondition(lambda self: not self.stopped)
    @rule(stamp=st.integers(1, 100))
    def publish(self, stamp):
        self.state.wait_for_answer(stamp, self.now)
        self.awaited, self.asked = stamp, self.now

    @rule(stamp=st.integers(0, 100))
    def answer(self, stamp):
        fits = self.awaited is not None and (stamp == 0 or stamp >= self.awaited)
        assert self.state.answered(stamp) == fits
        self.awaited = None if fits else self.awaited

    @rule(timeout=st.sampled_from([0.0, 0.5, 3.0]))
    def give_up(self, timeout):
        late = self.awaited is not None and bool(timeout) and self.now - self.asked >= timeout
        assert self.state.given_up(self.now, timeout) == late
        self.awaited = None if late else self.awaited

    @invariant()
    def agrees(self):
        state = self.state
        assert state.is_running == (not self.paused and not self.stopped)
        assert (state.paused, bool(state.stopped)) == (self.paused, self.stopped)
        assert state.awaited == self.awaited


TestRequests = Requests.TestCase
TestRequests.settings = settings(max_examples=60, stateful_step_count=40, derandomize=True)


def test_an_answer_of_several_commands():
    state = RunState()
    state.wait_for_answer(5, 0.0, commands=3)
    assert [state.answered(stamp) for stamp in (0, 4, 5, 6, 7)] == [
        False,
        False,
        False,
        True,
        False,
    ]
    state.wait_for_answer(8, 0.0)
    assert state.answered(8)


def test_a_pause_does_not_use_up_the_time_for_an_answer():
    state = RunState()
    state.wait_for_answer(5, now=1.0)
    state.pause()
    state.resume(now=100.0)
    assert not state.given_up(100.5, 1.0)
    assert state.given_up(101.0, 1.0)


def test_simulated_time_begins_after_zero_and_can_begin_again():
    time = SimulationTime(300.0)
    assert time.stamp == 3_333_333
    time.tick = 299
    assert time.stamp == 10**9
    time.skip(5.0)
    time.skip_to(10**12)
    assert time.stamp == 10**9
    time.restart()
    assert time.stamp == 3_333_333


def test_time_of_the_system_goes_on():
    time = SimulationTime(100.0, origin=10**18)
    time.tick = 5
    assert time.stamp == 10**18 + 50_000_000
    time.restart()
    assert time.stamp == 10**18 + 50_000_000
    time.skip(0.5)
    assert time.stamp == 10**18 + 550_000_000
    time.skip_to(10**18)  # is over
    assert time.stamp == 10**18 + 550_000_000
    time.skip_to(10**18 + 10**9)
    assert time.stamp == 10**18 + 10**9


def test_pace():
    pace = TickSchedule(0.01, most_lag=0.25)
    assert pace.is_due(-1e9)
    pace.start(10.0)
    done = 0
    for k in range(1001):
        now = 10.0 + k * 0.001
        while pace.is_due(now):
            pace.count(now)
            done += 1
    assert done == pytest.approx(101, abs=1)


def test_ticks_do_not_drift_where_the_clock_is_large():
    pace = TickSchedule(0.001, most_lag=0.25)
    pace.start(1e9)
    for _ in range(100_000):
        pace.count(1e9)
    assert not pace.is_due(1e9 + 99.999)
    assert pace.is_due(1e9 + 100.0001)
    pace.period = 1.0  # from the next tick on
    assert pace.is_due(1e9 + 100.0001)
    pace.count(1e9 + 100.0001)
    assert not pace.is_due(1e9 + 100.999)
    assert pace.is_due(1e9 + 101.0001)


def test_what_is_too_late_is_given_up():
    pace = TickSchedule(0.01, most_lag=0.25)
    pace.start(0.0)
    assert pace.lost(0.25) == 0.0
    assert pace.lost(1.0) == 1.0
    assert pace.is_due(1.0)
    pace.count(1.0)
    assert not pace.is_due(1.005)


def test_as_fast_as_possible():
    pace = TickSchedule(0.0, most_lag=0.25)
    for now in (0.0, 5.0, 5.0, 5.1):
        assert pace.is_due(now)
        pace.count(now)
    assert pace.lost(5.2) == 0.0
