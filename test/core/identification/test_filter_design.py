# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The filter of identification by its frequency response, pieces and cutoffs at their limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import freqz

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.identification import JointRecording
from screw_dynamics_ros.core.identification.filtering import (
    chosen_cutoff,
    kernel,
    needed_time,
    pieces,
)


def recording(t, *columns, v=None):
    q = np.stack(columns, axis=1)
    return JointRecording(t, q, v, q)


@pytest.mark.parametrize(('cutoff', 'dt'), [(4.0, 0.004), (10.0, 0.002), (2.0, 0.05)])
def test_the_response_of_the_kernel(cutoff, dt):
    """Ripple of 1e-5 up to half of the cutoff and from three halves; a half at the cutoff."""
    window = kernel(cutoff, dt)
    assert len(window) % 2 == 1
    assert window.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(window, window[::-1], atol=1e-15)
    f = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0]) * cutoff
    f = f[f < 0.5 / dt]
    gain = np.abs(freqz(window, worN=2.0 * np.pi * f * dt)[1])
    np.testing.assert_allclose(gain, [1.0, 1.0, 1.0, 0.5, 0.0, 0.0][: len(f)], atol=2e-4)
    # no longer than that takes: a transition of one cutoff
    assert (len(window) - 1) * dt == pytest.approx(6.4 / cutoff, abs=2 * dt)


@pytest.mark.parametrize(('dt', 'is_refused'), [(0.0332, False), (0.0335, True)])
def test_three_samples_per_period_of_the_cutoff(dt, is_refused):
    if not is_refused:
        kernel(10.0, dt)
        return
    with pytest.raises(
        ArgumentError, match=r'cutoff 10 Hz needs at least 30 .*, there are 29\.85;'
    ):
        kernel(10.0, dt)


def test_recordings_too_slow_for_the_cutoff():
    t = np.arange(0.0, 20.0, 0.25)
    text = r'cutoff 2 Hz needs at least 6 samples per second, there are 4;'
    with pytest.raises(ArgumentError, match=text):
        next(pieces(recording(t, np.sin(t)), 2.0, False))


@pytest.mark.parametrize('cutoff', [2.0, 5.0])
@pytest.mark.parametrize(('share', 'count'), [(0.98, 0), (1.03, 1)])
def test_the_needed_time(cutoff, share, count):
    t = np.arange(0.0, share * needed_time(cutoff), 0.002)
    assert len(list(pieces(recording(t, np.sin(t)), cutoff, False))) == count


@pytest.mark.parametrize(('rate', 'step'), [(200.0, 16), (50.0, 4), (12.5, 1)])
def test_efforts_are_decimated_to_three_instants_per_period(rate, step):
    """Of the cutoff, 4 Hz: each `step`-th sample, the last before 1 / 12 s."""
    t = np.arange(0.0, 12.0, 1.0 / rate)
    (piece,) = pieces(recording(t, np.sin(t)), 4.0, False)
    at = piece.low_pass(piece.t)
    np.testing.assert_allclose(np.diff(at), step / rate, atol=1e-9)
    W = np.multiply.outer(np.sin(piece.t), np.ones((3, 2)))
    np.testing.assert_allclose(piece.low_pass(W), np.multiply.outer(np.sin(at), np.ones((3, 2))),
                               atol=1e-4)  # fmt: skip


def test_positions_have_a_wider_filter():
    """Six times the cutoff, at most 0.3 of the rate: 9 Hz pass, 40 Hz do not."""
    t = np.arange(0.0, 8.0, 0.005)
    slow, fast = (np.sin(2.0 * np.pi * f * t) for f in (9.0, 40.0))
    (piece,) = pieces(recording(t, slow, fast), 4.0, False)
    expected = np.sin(2.0 * np.pi * 9.0 * piece.t)
    np.testing.assert_allclose(piece.q[:, 0], expected, atol=2e-3)
    assert np.abs(piece.q[:, 1]).max() < 1e-3
    np.testing.assert_allclose(piece.tau[:, 1], np.sin(2.0 * np.pi * 40.0 * piece.t), atol=1e-6)
    t = np.arange(0.0, 20.0, 0.05)  # 20 Hz: 6 Hz instead of 18 Hz
    slow, fast = (np.sin(2.0 * np.pi * f * t) for f in (2.5, 9.2))
    (piece,) = pieces(recording(t, slow, fast), 3.0, False)
    np.testing.assert_allclose(piece.q[:, 0], np.sin(5.0 * np.pi * piece.t), atol=2e-3)
    assert np.abs(piece.q[:, 1]).max() < 1e-3


def test_measured_velocities_are_used_if_asked_for():
    """Derivatives of positions for joints without them."""
    t = np.arange(0.0, 8.0, 0.005)
    v = np.stack([3.0 * np.cos(2.0 * t), np.full_like(t, np.nan)], axis=1)
    given = recording(t, np.sin(t), np.sin(t), v=v)
    (piece,) = pieces(given, 4.0, True)
    np.testing.assert_allclose(piece.v[:, 0], 3.0 * np.cos(2.0 * piece.t), atol=1e-4)
    np.testing.assert_allclose(piece.a[:, 0], -6.0 * np.sin(2.0 * piece.t), atol=1e-3)
    np.testing.assert_allclose(piece.v[:, 1], np.cos(piece.t), atol=1e-4)
    (piece,) = pieces(given, 4.0, False)
    np.testing.assert_allclose(piece.v, np.cos(piece.t)[:, None] * [1.0, 1.0], atol=1e-4)


@pytest.mark.parametrize(('gap', 'count'), [(0.095, 1), (0.105, 2)])
def test_gaps_of_ten_steps_divide_a_recording(gap, count):
    t = np.concatenate([np.arange(0.0, 8.0, 0.01), 7.99 + gap + np.arange(0.0, 8.0, 0.01)])
    assert len(list(pieces(recording(t, np.sin(t)), 2.0, False))) == count


def test_single_samples_between_gaps_are_omitted():
    t = np.concatenate([[0.0, 0.01, 0.02], 5.0 + np.arange(0.0, 8.0, 0.01)])
    (piece,) = pieces(recording(t, np.sin(t)), 2.0, False)
    assert piece.t[0] > 5.0


@pytest.mark.parametrize(('time', 'count'), [(19.9, 1), (20.2, 2), (65.0, 4)])
def test_long_pieces_are_divided_and_overlap_by_the_filter(time, count):
    """Instants of all parts are as those of one piece: no gap, no instant twice."""
    t = np.arange(0.0, time, 0.01)
    found = list(pieces(recording(t, np.sin(t)), 2.0, False))
    assert len(found) == count
    at = np.concatenate([piece.low_pass(piece.t) for piece in found])
    assert np.diff(at).min() > 0.0
    assert np.diff(at).max() < 0.33
    half = 0.5 * needed_time(2.0)
    assert at[0] == pytest.approx(half, abs=0.05)
    assert at[-1] > t[-1] - half - 0.2


# --- the cutoff -----------------------------------------------------------------------------------


def tone(f, time=20.0, dt=0.01):
    t = np.arange(0.0, time, dt)
    return recording(t, np.sin(2.0 * np.pi * f * t))


@pytest.mark.parametrize(
    ('f', 'expected'), [(0.1, 2.0), (0.8, 4.0), (1.5, 7.5), (3.0, 10.0)]
)  # fmt: skip
def test_the_cutoff_is_five_times_the_bandwidth(f, expected):
    """2 to 10 Hz; the window of a spectrum of 20 s widens a line by 0.1 Hz at most."""
    assert expected <= chosen_cutoff([tone(f)]) <= min(expected + 0.6, 10.0)


def test_the_fastest_recording_decides_and_the_slowest_rate_bounds():
    assert chosen_cutoff([tone(0.1), tone(0.8)]) == chosen_cutoff([tone(0.8), tone(0.1)])
    assert chosen_cutoff([tone(0.8), tone(0.1)]) >= 4.0
    assert chosen_cutoff([tone(3.0), tone(0.1, dt=0.04)]) == pytest.approx(5.0)  # 25 Hz / 5


def test_joints_that_do_not_move_have_no_bandwidth():
    """Noise of a tenth of a milliradian at 20 Hz is no motion."""
    t = np.arange(0.0, 20.0, 0.01)
    still = 1e-4 * np.sin(2.0 * np.pi * 20.0 * t)
    moving = np.sin(2.0 * np.pi * 0.8 * t)
    assert chosen_cutoff([recording(t, still, moving)]) == chosen_cutoff([tone(0.8)])
    assert chosen_cutoff([recording(t, still)]) == 2.0


def test_the_bandwidth_holds_99_percent_of_the_power_of_velocities():
    """Averaged over the joints: a fast part of 3 % of one of two joints is beyond it."""
    t = np.arange(0.0, 20.0, 0.01)

    def mixed(share):
        """Return a motion with a share of the power of its velocity at 1.6 Hz, else at 0.5 Hz."""
        slow, fast = (np.sin(2.0 * np.pi * f * t) / f for f in (0.5, 1.6))
        return np.sqrt(1.0 - share) * slow + np.sqrt(share) * fast

    still = np.zeros_like(t)
    assert chosen_cutoff([recording(t, mixed(0.007), still)]) < 4.0
    assert chosen_cutoff([recording(t, mixed(0.014), still)]) > 7.0
    other = np.sin(np.pi * t)
    assert chosen_cutoff([recording(t, mixed(0.016), other)]) < 4.0
    assert chosen_cutoff([recording(t, mixed(0.024), other)]) > 7.0
