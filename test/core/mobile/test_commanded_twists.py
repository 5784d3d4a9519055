# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Filter to admissible twists, and limits of speed, acceleration and jerk."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import platforms
from screw_dynamics_ros.core.mobile.command_limits import AxisLimits, TwistLimiter, admissible_twist

CAR, STEERING = platforms.bicycle(1.2, 0.3), [0.35]
WANTED = np.array([0.5, 1.0, 0.2])


@pytest.mark.parametrize('length', [0.01, 0.5, 100.0])
def test_filtered_twists_do_not_slip_and_are_the_nearest(length):
    """v_c = 0, and no other admissible twist is nearer in the stated norm (C-134)."""
    found = admissible_twist(CAR, WANTED, length, STEERING)
    np.testing.assert_allclose(CAR.slip_matrix(STEERING) @ found, 0.0, atol=1e-12)
    direction = np.array([np.tan(0.35) / 1.2, 1.0, 0.0])
    W = np.diag([length**2, 1.0, 1.0])
    assert direction @ W @ (WANTED - found) == pytest.approx(0.0, abs=1e-9 * max(1, length**2))


def test_weight_of_rotation_is_honored():
    """A large length keeps omega, a small one the speed (C-134)."""
    np.testing.assert_allclose(admissible_twist(CAR, WANTED, 1e3, STEERING)[0], 0.5, rtol=1e-4)
    np.testing.assert_allclose(admissible_twist(CAR, WANTED, 1e-3, STEERING)[1], 1.0, rtol=1e-4)


def test_filter_of_other_platforms():
    """Without constraints nothing changes; a differential drive loses v_y only."""
    mecanum, base = platforms.mecanum(0.6, 0.4, 0.1), platforms.differential_drive(0.5, 0.1)
    np.testing.assert_array_equal(admissible_twist(mecanum, WANTED, 1.0), WANTED)
    np.testing.assert_allclose(admissible_twist(base, WANTED, 1.0), [0.5, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(admissible_twist(CAR, WANTED, 1.0), [0.5, 1.0, 0.0], atol=1e-12)
    with pytest.raises(ArgumentError, match='characteristic length'):
        admissible_twist(base, WANTED, 0.0)


def test_limits_hold_for_random_commands():
    """Speed always; acceleration and jerk where the speed limit does not act."""
    axis = AxisLimits(most=1.0, least=-0.5, acceleration=2.0, deceleration=4.0, jerk=50.0)
    limiter, dt = TwistLimiter([axis] * 3), 0.01
    rng, past = np.random.default_rng(5), [np.zeros(3), np.zeros(3)]
    for wanted in np.repeat(rng.uniform(-3, 3, (10, 3)), 40, axis=0):
        now = limiter.limit(wanted, dt)
        assert (now <= 1.0).all()
        assert (now >= -0.5).all()
        change = (now - past[-1]) / dt
        faster = np.abs(now) > np.abs(past[-1]) + 1e-12
        same = faster & (now * past[-1] >= 0.0)
        assert (np.abs(change[same]) <= 2.0 + 1e-9).all()
        assert (np.abs(change) <= 4.0 + 1e-9).all()
        past.append(now)
    assert np.abs(past).max() > 0.9


def test_deceleration_ends_at_zero():
    """Within one step: half of it until the speed is zero, then the acceleration counts."""
    axis = AxisLimits(acceleration=2.0, deceleration=4.0)
    assert axis.limit(-9.0, 0.02, 0.02, 0.01) == pytest.approx(-0.01)
    assert axis.limit(9.0, -0.02, -0.02, 0.01) == pytest.approx(0.01)
    assert axis.limit(-9.0, 1.0, 1.0, 0.01) == pytest.approx(0.96)


def test_limits_let_pass_what_is_within():
    limiter = TwistLimiter([AxisLimits(most=1.0)] * 3)
    np.testing.assert_array_equal(limiter.limit([0.5, -1.0, 0.0], 0.1), [0.5, -1.0, 0.0])
    assert not limiter.acted
    np.testing.assert_array_equal(limiter.limit([2.0, 0.0, 0.0], 0.1), [1.0, 0.0, 0.0])
    assert limiter.acted


def test_limits_begin_at_a_steady_twist_and_may_change():
    """With a bound on the jerk the acceleration before counts: none at a start."""
    limiter, dt, start = TwistLimiter([AxisLimits(jerk=10.0)] * 3), 0.1, np.array([1.0, -2.0, 0.5])
    assert not limiter.acted
    np.testing.assert_allclose(limiter.limit([9.0, -9.0, 0.0], dt), [0.1, -0.1, 0.0])
    assert limiter.acted
    limiter.restart(start)
    np.testing.assert_allclose(limiter.limit(start + 9.0, dt), start + 0.1)
    other = limiter.with_axes([AxisLimits(jerk=1.0)] * 3)
    assert not other.acted
    np.testing.assert_allclose(limiter.limit(start + 9.0, dt), start + 0.1 + 0.2)
    np.testing.assert_allclose(other.limit(start + 9.0, dt), start + 0.1 + 0.11)
    limiter.restart()
    np.testing.assert_allclose(limiter.limit(np.full(3, 9.0), dt), 0.1)


@pytest.mark.parametrize(
    ('limits', 'wanted', 'last', 'expected'),
    [
        ({'most': 1.0, 'least': -0.3}, -9.0, 0.0, -0.3),
        ({'most': 1.0, 'least': 0.0}, -9.0, 0.0, 0.0),
        ({'most': 1.0}, -9.0, 0.0, -1.0),
        ({'acceleration': 2.0}, 9.0, -1.0, -0.8),
        ({'acceleration': 2.0, 'deceleration': 4.0}, -9.0, 0.4, 0.0),
        ({'acceleration': 2.0, 'deceleration': 4.0}, -9.0, 0.0, -0.2),
        ({'acceleration': 2.0, 'deceleration': 4.0}, 9.0, 0.0, 0.2),
        ({'acceleration': 2.0, 'deceleration': 4.0}, 9.0, 1.0, 1.2),
        ({'acceleration': 2.0, 'deceleration': 4.0}, 9.0, -1.0, -0.6),
    ],
)
def test_one_step_of_an_axis(limits, wanted, last, expected):
    """After 0.1 s; without a least speed the bound in reverse is the same."""
    assert AxisLimits(**limits).limit(wanted, last, last, 0.1) == pytest.approx(expected)


def test_a_constant_command_is_reached_smoothly():
    """With a bound on the jerk the acceleration rises in steps of it."""
    limiter, dt = TwistLimiter([AxisLimits(acceleration=1.0, jerk=10.0)] * 3), 0.01
    v = np.array([limiter.limit([1.0, 1.0, 1.0], dt)[0] for _ in range(60)])
    acceleration = np.diff(v, prepend=0.0) / dt
    np.testing.assert_allclose(np.diff(acceleration, prepend=0.0)[:10], 0.1, atol=1e-12)
    np.testing.assert_allclose(acceleration[10:], 1.0, atol=1e-12)


@pytest.mark.parametrize(
    'wrong',
    [
        lambda: AxisLimits(most=-1.0),
        lambda: AxisLimits(least=0.1),
        lambda: AxisLimits(acceleration=0.0),
        lambda: AxisLimits(jerk=float('nan')),
        lambda: TwistLimiter([AxisLimits()]),
        lambda: TwistLimiter([AxisLimits()] * 3).limit([np.nan, 0, 0], 0.1),
        lambda: TwistLimiter([AxisLimits()] * 3).limit([0, 0, 0], 0.0),
    ],
)
def test_impossible_limits_are_refused(wrong):
    with pytest.raises(ArgumentError):
        wrong()
