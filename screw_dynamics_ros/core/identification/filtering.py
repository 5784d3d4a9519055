# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Parallel zero-phase low-pass filtering of efforts and regressor columns, with decimation.

Positions are filtered and differentiated to compute the regressor. Then efforts u and columns of W
pass through the same filter F and are decimated ("parallel filtering")::

    F u = F W(q, v, a) theta + F noise

so that the filter has the same effect on both sides. The filter of positions has a multiple of this
cutoff, because friction changes within milliseconds at velocity reversals; F removes the noise of
accelerations, in which W is linear. F is a symmetric FIR filter (a sinc with a Kaiser window of
beta 10: ripple 1e-5, transition from 1/2 to 3/2 of the cutoff) with compensated delay. It has
output only where all its inputs exist, so that nothing is extrapolated at the ends of a recording.

Source: Gautier 1997, *Dynamic identification of robots with power model*, IEEE ICRA; Swevers,
Verdonck and De Schutter 2007, *Dynamic model identification for industrial robots*, IEEE Control
Systems Magazine 27(5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..types import Array
from .recording import MIN_RANGE, JointRecording

KAISER_BETA = 10.0  # parameter of the Kaiser window
TRANSITION_PRODUCT = 6.4  # window length times transition width, for that beta
RATE_PER_CUTOFF = 3.0  # decimated rate per cutoff: F has no output beyond 3/2 of the cutoff
POSITION_CUTOFF_FACTOR = 6.0  # cutoff of the position filter relative to the cutoff, ...
MAX_POSITION_CUTOFF = 0.3  # ... and its largest value relative to the sampling rate
MIN_GAP_STEPS = 10.0  # time steps without a sample that divide a recording
MAX_PIECE_S = 20.0  # s; longest piece that is filtered at once

BANDWIDTH_SHARE = 0.99  # fraction of the power of velocities within the bandwidth of a motion
CUTOFF_PER_BANDWIDTH = 5.0  # cutoff relative to that bandwidth
MIN_CUTOFF_HZ, MAX_CUTOFF_HZ = 2.0, 10.0  # Hz; range of automatic cutoffs


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a recording without gaps, at a constant rate.

    Attributes
    ----------
    t : (N,) array
        [s]
    q, v, a : (N, n) arrays
        Filtered [rad, m] and its derivatives.
    tau : (N, n) array
        Efforts as reported.
    low_pass : callable
        Filters and decimates (N, ...) to (M, ...).
    """

    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    low_pass: Callable[[Array], Array]


def pieces(recording: JointRecording, cutoff: float, measured_velocities: bool) -> Iterator[Piece]:
    """Yield the parts of a recording, filtered and differentiated; none if it is too short.

    Velocities are derivatives of positions unless `measured_velocities`.
    """
    step = float(np.median(np.diff(recording.t)))
    window, wide = (
        kernel(cutoff, step),
        kernel(min(POSITION_CUTOFF_FACTOR * cutoff, MAX_POSITION_CUTOFF / step), step),
    )
    half, margin = len(window) // 2, len(wide) // 2
    for t, q, v, tau in _uniform(recording, half + margin):
        dt = float(t[1] - t[0])
        if len(t) < 2 * (half + margin) + 2:
            continue
        smooth = _filtered(q, wide)
        derived = _derivative(smooth, dt)
        if v is None or not measured_velocities:
            rate = derived
        else:
            given = _filtered(v, wide)
            rate = np.where(np.isnan(given), derived, given)
        every = max(1, int(1.0 / (RATE_PER_CUTOFF * cutoff * dt)))

        def low_pass(x: Array, window: Array = window, every: int = every) -> Array:
            return _decimated(x, window, every)

        inner = slice(margin, len(t) - margin)
        yield Piece(t[inner], smooth, rate, _derivative(rate, dt), tau[inner], low_pass)


def kernel(cutoff: float, dt: float) -> Array:
    """Return the symmetric filter, an odd number of coefficients of sum 1.

    Raises ArgumentError if samples are too far apart for the cutoff.
    """
    if 3.0 * cutoff * dt > 1.0:
        raise ArgumentError(
            f'cutoff {cutoff:g} Hz needs at least {3 * cutoff:g} samples per second, there are '
            f'{1 / dt:.4g}; lower the cutoff or record faster'
        )
    from scipy.signal import firwin  # slow to import

    half = int(np.ceil(TRANSITION_PRODUCT / (2.0 * cutoff * dt)))
    return np.asarray(firwin(2 * half + 1, cutoff, window=('kaiser', KAISER_BETA), fs=1.0 / dt))


def needed_time(cutoff: float) -> float:
    """Return the shortest duration [s] without gaps for which the filter has output."""
    return (1.0 + 1.0 / POSITION_CUTOFF_FACTOR) * TRANSITION_PRODUCT / cutoff


def chosen_cutoff(recordings: Sequence[JointRecording]) -> float:
    """Return a cutoff [Hz] well above the bandwidth of the motion, averaged over moving joints."""
    highest = 0.0
    for recording in recordings:
        for t, q, _, _ in _uniform(recording, 0):
            if len(t) < 8:
                continue
            v = np.gradient(q - q.mean(axis=0), t, axis=0) * np.hanning(len(t))[:, None]
            moves = np.ptp(q, axis=0) > MIN_RANGE
            if not moves.any():
                continue
            power = np.abs(np.fft.rfft(v[:, moves], axis=0)) ** 2
            share = np.cumsum(power / np.maximum(power.sum(axis=0), 1e-300), axis=0).mean(axis=1)
            f = np.fft.rfftfreq(len(t), float(t[1] - t[0]))
            highest = max(highest, float(f[np.searchsorted(share, BANDWIDTH_SHARE)]))
    steps = [float(np.median(np.diff(recording.t))) for recording in recordings]
    return min(max(CUTOFF_PER_BANDWIDTH * highest, MIN_CUTOFF_HZ), MAX_CUTOFF_HZ, 0.2 / max(steps))


def _uniform(
    recording: JointRecording, overlap: int
) -> Iterator[tuple[Array, Array, Array | None, Array]]:
    """Yield t, q, v, tau at a constant rate, divided at gaps and after `MAX_PIECE_S`.

    Pieces divided for length overlap by `overlap` samples on either side, for the filter.
    """
    t = recording.t
    dt = float(np.median(np.diff(t)))
    ends = np.flatnonzero(np.diff(t) > MIN_GAP_STEPS * dt) + 1
    for rows in np.split(np.arange(len(t)), ends):
        if len(rows) < 4:
            continue
        time = t[rows]
        count = int((time[-1] - time[0]) / dt) + 1
        uniform = time[0] + dt * np.arange(count)
        columns = [
            None if x is None else _interpolated(time, x[rows], uniform)
            for x in (recording.q, recording.v, recording.tau)
        ]
        q, v, tau = columns
        assert q is not None
        assert tau is not None
        most = max(int(MAX_PIECE_S / dt), 4)
        for part in np.array_split(np.arange(count), -(-count // most)):
            shared = slice(max(part[0] - overlap, 0), min(part[-1] + 1 + overlap, count))
            rate = None if v is None else v[shared]
            yield uniform[shared], q[shared], rate, tau[shared]


def _interpolated(t: Array, x: Array, at: Array) -> Array:
    """Return the cubic spline through x (N, n) at other times; columns of NaN stay NaN."""
    from scipy.interpolate import CubicSpline

    result = np.full((len(at), x.shape[1]), np.nan)
    there = np.isfinite(x).all(axis=0)
    result[:, there] = CubicSpline(t, x[:, there])(at)
    return result


def _derivative(x: Array, dt: float) -> Array:
    """Return the derivative of the cubic spline through x (N, n)."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(dt * np.arange(len(x)), x)(dt * np.arange(len(x)), 1))


def _filtered(x: Array, window: Array) -> Array:
    """Return F x (N - 2 half, n), without delay."""
    from scipy.signal import oaconvolve

    there = np.isfinite(x).all(axis=0)
    result = np.full((len(x) - len(window) + 1, x.shape[1]), np.nan)
    result[:, there] = oaconvolve(x[:, there], window[:, None], mode='valid', axes=0)
    return result


def _decimated(x: Array, window: Array, step: int) -> Array:
    """Return each `step`-th row of F x, (M, ...), for x (N, ...)."""
    starts = np.arange(0, len(x) - len(window) + 1, step)
    flat = x.reshape(len(x), -1)
    result = np.empty((len(starts), flat.shape[1]))
    for row, k in enumerate(starts):
        result[row] = window @ flat[k : k + len(window)]
    return result.reshape(len(starts), *x.shape[1:])
