# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mean rates of selected states, with jitter, gaps and clocks that start anywhere."""

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.typed.library import compiled
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.process import rate_limit
from screw_dynamics_ros.ros.process.rate_limit import RateLimit

MS = 1_000_000
ASKED = (10, 33, 50, 90, 99, 100, 101, 200, 250, 300, 333, 400, 450, 490, 499, 500, 501, 510)
ASKED += (600, 700, 750, 800, 900, 950, 980, 990, 995, 999, 1000)
STARTS = (0, 2, 3000, 10**6, 10**9)  # s
JITTERS = {
    'none': lambda rng, n: np.zeros(n),
    'late by up to 200 us': lambda rng, n: rng.uniform(0.0, 200e-6, n),
    'up to 200 us to both sides': lambda rng, n: rng.uniform(-200e-6, 200e-6, n),
    'standard deviation 50 us': lambda rng, n: rng.normal(0.0, 50e-6, n),
    'standard deviation 100 us': lambda rng, n: rng.normal(0.0, 100e-6, n),
}


def arrivals(rate, jitter, count, start=0):
    """Return times of states [ns] from a start [s]."""
    times = np.arange(count) / rate + JITTERS[jitter](np.random.default_rng(7), count)
    return [start * NANOSECONDS + each for each in np.sort(np.rint(1e9 * times)).astype(int)]


def selected(limit, times):
    """Return the indices of the selected states."""
    return [k for k, now in enumerate(times) if limit.use(int(now))]


@pytest.mark.parametrize('jitter', JITTERS)
@pytest.mark.parametrize('arriving', [100, 1000])
def test_rates_are_met(arriving, jitter):
    """Within 2 %; each state if no more than asked arrive."""
    for asked in ASKED:
        count = arriving * max(2, 100 // asked)
        found = len(selected(RateLimit(asked), arrivals(arriving, jitter, count)))
        if asked >= arriving:
            assert found == count, asked
        else:
            assert found == pytest.approx(count * asked / arriving, rel=0.02), asked


@pytest.mark.parametrize('asked', [10, 250, 900, 1000])
def test_the_start_of_the_clock_does_not_matter(asked):
    jitter = 'late by up to 200 us'
    expected, *others = [
        selected(RateLimit(asked), arrivals(1000, jitter, 2000, start)) for start in STARTS
    ]
    assert all(other == expected for other in others)


@pytest.mark.parametrize(('arriving', 'asked'), [(1000.1, 1000), (999.9, 1000), (500.05, 500)])
def test_two_clocks_at_nearly_the_same_rate(arriving, asked):
    """Only the states in excess are missing, at whatever phase."""
    times = arrivals(arriving, 'up to 200 us to both sides', 50_000)
    excess = max(0.0, 50.0 * (arriving - asked))
    missing = len(times) - len(selected(RateLimit(asked), times))
    assert missing == pytest.approx(excess, abs=0.001 * len(times))


def test_one_state_after_a_gap():
    """Missed states are not caught up: one at once, the next after a period."""
    limit = RateLimit(10.0)
    before = [k * MS for k in range(1000)]
    after = [k * MS for k in range(5730, 7000)]
    assert [before[k] for k in selected(limit, before)] == [k * 100 * MS for k in range(10)]
    used = [after[k] // MS for k in selected(limit, after)]
    assert used == [*range(5730, 7000, 100)]


def test_a_delay_is_caught_up():
    """Of less than a period: the schedule stays."""
    limit = RateLimit(10.0)
    times = [*range(201), *range(330, 600)]
    used = [times[k] for k in selected(limit, [each * MS for each in times])]
    assert used == [0, 100, 200, 330, 400, 500]
    times = [0, 100, 290, 291, 292, 399, 400, 401]
    limit = RateLimit(10.0)
    used = [times[k] for k in selected(limit, [each * MS for each in times])]
    assert used == [0, 100, 290, 291, 399]


def test_a_clock_that_is_set_back():
    limit = RateLimit(10.0)
    times = [5000, 5050, 5100, -3000, -2950, -2900]
    assert selected(limit, [each * MS for each in times]) == [0, 2, 3, 5]


def test_the_same_time_again():
    limit = RateLimit(1000.0)
    assert selected(limit, [7, 7, 7, MS + 7, MS + 7]) == [0, 3]


@pytest.mark.parametrize('start', [-(2**31), -1, 0, 2**31 - 1])
def test_stamps_of_ros(start):
    """From 1901 to 2038, and the first one is used."""
    times = [start * NANOSECONDS + k * MS for k in range(1000)]
    assert len(selected(RateLimit(250.0), times)) == 250


def test_compiled():
    """Both paths share the memory; looking changes nothing."""
    pytest.importorskip('llvmlite')
    library = compiled([rate_limit.use, rate_limit.is_due])
    use, is_due = (library.callable(each) for each in (rate_limit.use, rate_limit.is_due))
    rng = np.random.default_rng(3)
    plain, machine = RateLimit(333.0), RateLimit(333.0)
    now = 0
    for _ in range(5000):
        now += int(rng.choice([0, MS, 3 * MS, 50 * MS, -MS], p=[0.1, 0.6, 0.25, 0.03, 0.02]))
        now += int(rng.integers(0, MS // 3))
        assert is_due(machine, now) == rate_limit.is_due(plain, now)
        assert bool(use(machine, now)) == plain.use(now)
        names = rate_limit.RateLimit.fields
        assert [getattr(machine, n) for n in names] == [getattr(plain, n) for n in names]
