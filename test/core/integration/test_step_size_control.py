# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The lengths of adaptive steps beside a plain program of the same rules.

Spec IDs: I-23.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError, DivergenceError
from screw_dynamics_ros.core.integration import (
    BOGACKI_SHAMPINE,
    DORMAND_PRINCE,
    HEUN_EULER,
    AdaptiveRungeKutta,
    ConfigurationSpace,
    RungeKutta,
    Tableau,
)
from screw_dynamics_ros.core.integration.runge_kutta import munthe_kaas_step


class Points:
    """Unit masses on a line: x'' = force, without free bodies."""

    def __init__(self, count: int = 1) -> None:
        self.free_bodies: dict[str, slice] = {}
        self.nq = self.nv = count

    def forward_dynamics(self, q, v, tau, external_wrenches=None):
        """Return the forces; a wrench is one more."""
        return np.asarray(tau) + (external_wrenches or {}).get('point', 0.0)


def rates(force, t, x):
    """Return the rate of x = (q, v)."""
    return np.array([x[1], force(t, *x)])


def plain_run(tableau: Tableau, force, x, t1, rtol, atol, first_step):
    """Return the times after each step, the steps rejected, and the length of the next step."""
    k = min(tableau.order, tableau.order_hat) + 1
    t, h, before, rejected, times = 0.0, first_step, 1.0, 0, []
    just_rejected = False
    while True:
        is_last = t1 - t < 1.01 * h
        dt = t1 - t if is_last else h
        stages = np.zeros((len(tableau.b), 2))
        for j, c in enumerate(tableau.c):
            stages[j] = rates(force, t + c * dt, x + dt * tableau.A[j] @ stages)
        end = x + dt * tableau.b @ stages
        largest = max(abs(x[1]), abs(end[1]))
        errors = np.abs(dt * (tableau.b - tableau.b_hat) @ stages) / (
            atol + rtol * np.array([1.0, largest])
        )
        e = errors.max()
        if not e <= 1.0:
            h = dt * max(0.2, 0.9 * e ** (-1 / k))
            rejected, just_rejected = rejected + 1, True
            continue
        small, last = max(e, 1e-4), max(before, 1e-4)
        factor = min(5.0, max(0.2, 0.9 * small ** (-0.7 / k) * last ** (0.4 / k)))
        following = dt * min(factor, 1.0 if just_rejected else 5.0)
        h = max(h, following) if dt < h else following  # a shorter last step says little
        t, x, before, just_rejected = t + dt, end, e, False
        times.append(t)
        if is_last:
            return times, rejected, h, x


def smooth(t, q, v):
    return np.cos(7 * t) - 4.0 * q - 0.3 * v


def pulse(t, q, v):
    return 50.0 * np.exp(-((t - 0.5) ** 2) * 400) - 9.0 * q


def jump(t, q, v):
    return 30.0 * (t > 0.37) - 0.5 * v


@pytest.mark.parametrize('force', [smooth, pulse, jump])
@pytest.mark.parametrize(
    ('tableau', 'rtol', 'atol'),
    [(HEUN_EULER, 1e-3, 1e-4), (BOGACKI_SHAMPINE, 1e-5, 1e-5), (DORMAND_PRINCE, 1e-3, 1e-9)],
    ids=str,
)
@pytest.mark.parametrize('first_step', [1e-3, 0.3])
def test_lengths_of_steps(tableau, force, rtol, atol, first_step):
    """Growth, limits of growth, rejected steps and those after them, and the last step."""
    times = []

    def recorded(t, q, v):
        times.append(t)
        return np.array([force(t, q[0], v[0])])

    start = np.array([0.2, 3.0])
    integrator = AdaptiveRungeKutta(Points(), tableau, rtol, atol)
    run = integrator.until(start[:1], start[1:], recorded, 0.0, 1.0, first_step=first_step)
    ends, rejected, following, x = plain_run(tableau, force, start, 1.0, rtol, atol, first_step)
    assert (run.steps, run.rejections) == (len(ends), rejected)
    starts = np.array(times)[:: len(tableau.b)]  # first stages, rejected steps twice
    np.testing.assert_allclose(np.unique(starts), [0.0, *ends[:-1]], rtol=1e-10)
    assert run.next_step == pytest.approx(following, rel=1e-9)
    np.testing.assert_allclose([run.q[0], run.v[0]], x, rtol=1e-11)


def first_length(v, force, **options) -> float:
    """Return the length that is tried first: where the last stage is, of Bogacki and Shampine."""
    times = []

    def recorded(t, q, v):
        times.append(t)
        return np.asarray(force, dtype=float)

    integrator = AdaptiveRungeKutta(Points(len(v)), BOGACKI_SHAMPINE, **options)
    v = np.array(v, dtype=float)
    integrator.until(0 * v, v, recorded, 0.0, 100.0)
    return times[4] - times[1]  # after the call that estimates it


@pytest.mark.parametrize(
    ('v', 'force', 'rate'),
    [
        ([0.0, 0.1], [0.0, 0.3], 1.0),  # slow: as if something moved at 1
        ([3.0, -8.0], [0.0, 1.0], 8.0),  # the fastest velocity
        ([0.0, -2.0], [-9.0, 1.0], 4.5),  # the largest acceleration, relative to velocities
    ],
)
def test_first_step(v, force, rate):
    """tolerance^(1/3) / rate: increments of a pair of orders 3 and 2 stay far below 1."""
    expected = (3e-5 + 2e-6) ** (1 / 3) / rate
    assert first_length(v, force, rtol=3e-5, atol=2e-6) == pytest.approx(expected, rel=1e-12)
    loose = first_length(v, force, rtol=5.0, atol=5.0)
    assert loose == pytest.approx(1.0 / rate, rel=1e-12)


def test_given_steps_may_have_either_sign():
    for t1, first_step in ((1.0, -0.01), (-1.0, 0.01), (-1.0, -0.01)):
        times = []

        def recorded(t, q, v, times=times):
            times.append(t)
            return np.zeros(1)

        run = AdaptiveRungeKutta(Points()).until(
            [0.0], [1.0], recorded, 0.0, t1, first_step=first_step
        )
        assert max(abs(t) for t in times[:7]) == pytest.approx(0.01, rel=1e-12)
        np.testing.assert_allclose(run.q, t1, rtol=1e-12)


def test_number_of_steps():
    """As many as are allowed, rejected ones included, are made, and no more."""
    run = AdaptiveRungeKutta(Points()).until([0.0], [1.0], smoothly, 0.0, 1.0, first_step=1.0)
    needed = run.steps + run.rejections
    assert run.rejections
    for most in (needed, needed + 1):
        integrator = AdaptiveRungeKutta(Points(), most_steps=most)
        assert integrator.until([0.0], [1.0], smoothly, 0.0, 1.0, first_step=1.0).q == run.q
    integrator = AdaptiveRungeKutta(Points(), most_steps=needed - 1)
    with pytest.raises(DivergenceError, match=rf'{needed - 1} steps only lead to t = 0\.\d+ s'):
        integrator.until([0.0], [1.0], smoothly, 0.0, 1.0, first_step=1.0)


def smoothly(t, q, v):
    return np.array([smooth(t, q[0], v[0])])


@pytest.mark.parametrize('t0', [0.0, 1e3])
def test_shortest_step(t0):
    """Steps end at 16 roundings of the time and the interval, or at the one that is given."""

    def wall(t, q, v):
        return np.array([0.0, np.where(t > t0 + 0.5, np.inf, 0.0)])

    for given, expected in ((0.0, 16 * 2.0**-52 * max(1.0, t0)), (1e-3, 1e-3)):
        integrator = AdaptiveRungeKutta(Points(2), shortest_step=given)
        with pytest.raises(DivergenceError) as failure:
            integrator.until(np.zeros(2), np.ones(2), wall, t0, t0 + 1.0)
        text = str(failure.value)
        last = float(re.search(r'shorter than ([\d.e-]+) s', text)[1])
        assert expected / 5 <= last < expected
        assert f't = {t0 + 0.5:.6g}' in text or given
        assert 'inf times the tolerance because of numbers that are not finite' in text
        assert 'raise rtol and atol' in text


@pytest.mark.parametrize(('first', 'last'), [(15.5, 15.5), (16.5, 16.5 / 5)])
def test_steps_of_sixteen_roundings_are_tried(first, last):
    """A step that fails without a number is repeated with a fifth of it."""
    integrator = AdaptiveRungeKutta(Points(), atol=1.0)
    rounding = 2.0**-52
    with pytest.raises(DivergenceError) as failure:
        integrator.until([0.0], [1.0], lambda t, q, v: np.full(1, np.inf), 0.0, 1.0,
                         first_step=5.0 * first * rounding)  # fmt: skip
    found = float(re.search(r'shorter than ([\d.e-]+) s', str(failure.value))[1])
    assert found == pytest.approx(last * rounding, rel=0.02, abs=0.0)


@pytest.mark.parametrize(('rtol', 'name'), [(1e-6, 'q'), (0.0, 'v')])
def test_the_worst_component_is_named(rtol, name):
    """Velocities may be as wrong as they are large, coordinates may not."""

    def jumps(t, q, v):
        return np.array([0.0, 0.0, 1e9 * (t > 0.5)])

    integrator = AdaptiveRungeKutta(Points(3), rtol=rtol, shortest_step=1e-4)
    with pytest.raises(DivergenceError, match=f'tolerance because of {name}, component 2;'):
        integrator.until(np.zeros(3), np.zeros(3), jumps, 0.0, 1.0)


def test_wrenches_act():
    run = AdaptiveRungeKutta(Points()).until([0.0], [0.0], [1.0], 0.0, 2.0, {'point': 3.0})
    np.testing.assert_allclose(run.q, 8.0, rtol=1e-12)
    q, v = AdaptiveRungeKutta(Points()).step([7.0], [0.5], [1.0], 2.0, {'point': 3.0}, t=5.0)
    np.testing.assert_allclose([q[0], v[0]], [16.0, 8.5], rtol=1e-12)


def test_steps_begin_at_zero_unless_it_is_said_otherwise():
    """x'' = t is exact with a method of order 4: t^3 / 6 from the time 0 on."""
    space = ConfigurationSpace(Points())

    def motion(t, q, v):
        return v, np.array([t])

    q, v = munthe_kaas_step(space, motion, [0.0], [0.0], 2.0)
    np.testing.assert_allclose([q[0], v[0]], [8 / 6, 2.0], rtol=1e-13)
    q, v = munthe_kaas_step(space, motion, [0.0], [0.0], 2.0, t=3.0)
    np.testing.assert_allclose([q[0], v[0]], [8 / 6 + 6.0, 8.0], rtol=1e-13)
    for integrator in (AdaptiveRungeKutta(Points()), RungeKutta(Points())):
        q, v = integrator.step([0.0], [0.0], lambda t, q, v: np.array([t]), 2.0)
        np.testing.assert_allclose([q[0], v[0]], [8 / 6, 2.0], rtol=1e-12)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'t0': np.nan}, 't0 and t1 must be finite numbers, got nan and 1.0'),
        ({'t1': -np.inf}, 't0 and t1 must be finite numbers, got 0.0 and -inf'),
    ],
)
def test_times_that_are_none(options, message):
    with pytest.raises(ArgumentError, match=message):
        AdaptiveRungeKutta(Points()).until([0.0], [1.0], [0.0], **{'t0': 0.0, 't1': 1.0} | options)


def test_states_that_are_none():
    for q, v in (([np.nan], [0.0]), ([0.0], [np.inf])):
        with pytest.raises(DivergenceError, match=r'the state at t = 0 s is not finite'):
            AdaptiveRungeKutta(Points()).until(q, v, [0.0], 0.0, 1.0)
