# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Flags with hysteresis and durations: random sequences against their definition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.estimation.threshold_flag import ThresholdFlag
from screw_dynamics_ros.core.state_clock import StateClock

UPPER, LOWER = np.array([2.0, 5.0, math.inf]), np.array([1.0, 4.0, math.inf])
LONGEST = 0.02  # s


def stretch(samples, holds, duration):
    """Whether something holds in all of the last samples of an uninterrupted stretch so long."""
    first = None
    for k in reversed(range(len(samples))):
        stamp, x, restarted = samples[k]
        if not holds(x):
            break
        first = stamp
        step = stamp - samples[k - 1][0] if k else 0
        if restarted or not 0 < step * 1e-9 <= LONGEST:
            break
    return first is not None and samples[-1][0] - first >= round(duration * 1e9)


VECTORS = [(2.5, 0.0, 0.0)] * 6 + [(0.0, 0.5, 9.0)] * 4
VECTORS += [(-1.5, 0.0, 0.0), (0.0, -4.5, 0.0), (-3.0, 6.0, 0.0), (math.nan, 0.0, 0.0)]
steps = st.tuples(
    st.sampled_from([1_000_000] * 6 + [3_000_000, 20_000_000, 20_000_001, 0, -5_000_000]),
    st.sampled_from(VECTORS),
    st.sampled_from([False] * 9 + [True]),
)


@given(
    st.lists(steps, min_size=20, max_size=40),
    st.sampled_from([0.0, 0.002, 0.005]),
    st.sampled_from([0.0, 0.001, 0.006]),
)
@settings(max_examples=50, deadline=None, derandomize=True, database=None)
def test_random_sequences(sequence, rise, fall):
    flag, expected, stamp, samples = ThresholdFlag(UPPER, LOWER, rise, fall), False, 10**9, []
    clock = StateClock()
    clock.timeout = round(1e9 * LONGEST)
    for step, x, restarted in sequence:
        stamp += step
        samples.append((stamp, np.array(x), restarted))
        if any(stretch(samples, lambda x, i=i: abs(x[i]) > UPPER[i], rise) for i in range(3)):
            expected = True
        elif stretch(samples, lambda x: bool((np.abs(x) < LOWER).all()), fall):
            expected = False
        assert flag.take(samples[-1][1], clock.advance(stamp, restarted)) == expected


def test_the_cause_is_the_signal_that_was_above_long_enough():
    flag = ThresholdFlag(UPPER, LOWER, 0.002, 0.0)
    for x in [(0.0, 6.0), (3.0, 6.0), (3.0, 6.0)]:
        raised = flag.take(np.array([*x, 0.0]), 1_000_000)
    assert raised
    flag.take(np.array([0.0, 9.0, 0.0]), 1_000_000)
    flag.set_thresholds(UPPER + 2.0, LOWER)
    assert (flag.cause, flag.cause_signal, flag.cause_limit) == (1, 6.0, 5.0)
    flag.reset()
    assert not flag.is_raised
    assert flag.cause is None


def test_no_signals_never_raise_a_flag():
    flag = ThresholdFlag(np.zeros(0), np.zeros(0), 0.0, 0.0)
    assert not any(flag.take(np.zeros(0), elapsed) for elapsed in (0, 1, 1))


@pytest.mark.parametrize(('upper', 'lower'), [(2.0, 2.0), (2.0, 3.0), (2.0, -1.0), (2.0, math.nan)])
def test_thresholds_that_never_lower_or_raise_are_refused(upper, lower):
    text = rf'signal 1: the lower threshold {lower:g} must be in \[0, upper threshold {upper:g}\)'
    with pytest.raises(ArgumentError, match=text):
        ThresholdFlag(np.array([1.0, upper]), np.array([0.0, lower]), 0.0, 0.0)
    ThresholdFlag(np.array([upper]), np.array([np.nextafter(2.0, 0.0)]), 0.0, 0.0)


@pytest.mark.parametrize(('gap', 'restarted'), [(20_000_001, False), (-1, False), (1_000, True)])
def test_gaps_interrupt_what_is_measured_and_keep_the_flag(gap, restarted):
    flag = ThresholdFlag(UPPER, LOWER, 0.002, 0.002)
    clock = StateClock()
    clock.timeout = round(1e9 * LONGEST)
    stamp = 10**9
    for x, before, after in (([3.0, 0, 0], False, True), ([0.0, 0, 0], True, False)):
        steps = [1_000_000, 1_000_000, gap, 1_000_000, 1_000_000]
        found = []
        for k, step in enumerate(steps):
            stamp += step
            elapsed = clock.advance(stamp, k == 0 or (k == 2 and restarted))
            found.append(flag.take(np.array(x), elapsed))
        assert found == [before] * 4 + [after]
