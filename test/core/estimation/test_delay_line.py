# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Late efforts: the model of the past, against interpolation by NumPy and a robot that knows."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import AnnotationSettings, Drive, Robot, annotate_arrays
from screw_dynamics_ros.core.estimation.delay_line import DelayLine, delayed
from screw_dynamics_ros.core.state_clock import StateClock
from support.paths import URDF
from support.simulated_recording import computed, some_motion

MS = 1_000_000  # ns


def sequence(seed=0, count=400):
    """Return stamps with irregular steps and a pause, and what is a random walk."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(1 * MS, 9 * MS, count)
    begins = np.zeros(count, dtype=bool)
    begins[[0, 150]] = True
    return 10**18 + np.cumsum(steps), begins, np.cumsum(rng.normal(size=(count, 3)), axis=0)


@pytest.mark.parametrize('delay', [0, 700_000, 5 * MS, 60 * MS])
def test_a_line_interpolates_linearly(delay):
    """Nothing before the past is long enough."""
    t, begins, x = sequence()
    line, found, clock = DelayLine(3), [], StateClock()
    line.delay = delay
    line.restart()
    for stamp, begin, now in zip(t.tolist(), begins, x):
        clock.advance(stamp, bool(begin))
        line.advance(clock)
        found.append(delayed(line.numbers, now) if line.is_ready else np.full(3, np.nan))
        line.keep(now)
    expected = np.full_like(x, np.nan)
    for run in (slice(0, 150), slice(150, None)):
        ready = t[run] - delay >= t[run][0]
        at = (t[run] - delay)[ready] - t[0]
        expected[run][ready] = np.stack(
            [np.interp(at, t[run] - t[0], x[run, k]) for k in range(3)], axis=1
        )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_numbers_that_are_not_finite_interrupt_the_past():
    line, clock = DelayLine(1), StateClock()
    line.delay = 10 * MS
    ready = []
    for k in range(9):
        clock.advance(5 * MS * k)
        line.advance(clock)
        ready.append(line.is_ready)
        line.keep(np.array([np.nan if k == 4 else 1.0]))
    assert ready == [False, False, True, True, True, False, False, True, True]


@pytest.mark.parametrize('wrong', [np.nan, np.inf])
def test_one_number_that_is_not_finite_interrupts_all_quantities(wrong):
    """No component is interpolated across it."""
    t, _, x = (each[:80] for each in sequence(seed=3))
    lost = np.isin(np.arange(80), [12, 40, 41, 55])
    x[lost, 1] = wrong
    delay, expected = 7 * MS, np.full_like(x, np.nan)
    for k in range(80):
        at, first = t[k] - delay, 0 if not lost[:k].any() else int(np.flatnonzero(lost[:k])[-1]) + 1
        if not lost[k] and t[first] <= at:
            near = slice(first, k + 1)
            expected[k] = [np.interp(at - t[0], t[near] - t[0], x[near, i]) for i in range(3)]
    line, found, clock = DelayLine(3), [], StateClock()
    line.delay = delay
    for stamp, now in zip(t.tolist(), x):
        clock.advance(stamp)
        line.advance(clock)
        is_given = line.is_ready and np.isfinite(now).all()
        found.append(delayed(line.numbers, now) if is_given else np.full(3, np.nan))
        line.keep(now)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_line_without_delay_passes_the_present():
    line, clock = DelayLine(2), StateClock()
    assert line.is_ready
    for stamp in (5, 3, 9):
        clock.advance(stamp)
        line.advance(clock)
        line.keep(np.full(2, np.nan))
        assert line.is_ready
        assert line.numbers.tolist() == [0.0, 0.0, 1.0]


def test_a_line_restarts_after_the_longest_step_and_on_request():
    line, clock = DelayLine(1), StateClock()
    line.delay, clock.timeout = 10 * MS, 100 * MS

    def ready(*stamps, restarted=False):
        found = []
        for stamp in stamps:
            clock.advance(stamp * MS, restarted)
            line.advance(clock)
            found.append(line.is_ready)
            line.keep(np.ones(1))
        return found

    assert ready(0, 10, 110, 211) == [False, True, True, False]
    assert ready(221, 220, 230) == [True, False, True]
    assert ready(240, restarted=True) == [False]
    assert ready(250) == [True]
    line.restart()
    assert not line.is_ready
    assert line.numbers.tolist() == [0.0, 1.0]
    assert ready(255, 264, 265) == [False, False, True]
    line.restart()
    clock.advance(300 * MS)
    line.advance(clock)
    assert line.numbers.tolist() == [0.0, 1.0]  # the present, until there is a past


@pytest.mark.parametrize('observer', ['static', 'filtered', 'momentum', 'kalman'])
def test_external_torques_of_late_efforts(observer):
    """They are those of a robot whose efforts are in time, later."""
    text = (URDF / 'planar_2r.urdf').read_text()
    drives = {name: Drive(damping=0.5, coulomb=1.0, smoothing=0.2) for name in ('joint1', 'joint2')}
    robot = Robot.from_urdf(text, gravity=(0, -9.81, 0), drives=drives)
    given, late = computed(robot, some_motion(2), time=4.0, rate=500.0), 12  # samples
    t = np.round(given.t * 1e9).astype(np.int64)
    push = np.sin(3.0 * given.t)[:, None] * [1.0, -0.5]
    in_time = given.tau - push
    tau = np.vstack([np.repeat(in_time[:1], late, axis=0), in_time[:-late]])

    def torques(efforts, **values):
        settings = AnnotationSettings(observer=observer, **values)
        found = annotate_arrays(
            robot, t, given.q, given.v, efforts, outputs=['external_torque'], settings=settings
        )
        return found['external_torque']

    expected, found = torques(in_time), torques(tau, effort_delay=late * 0.002)
    kept = slice(500, None)
    np.testing.assert_allclose(found[kept], expected[500 - late : -late], atol=0.02)
    assert np.abs(torques(tau)[kept] - expected[500 - late : -late]).max() > 0.2
