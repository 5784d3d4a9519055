# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint states that contradict themselves: wrong units of positions, wrong velocities.

Velocities are compared with differences of positions over windows of time in which a joint clearly
moves. Noise and quantization change the displacements of both little, since the windows are as long
as the motion permits; delays are compensated. A velocity is wrong if its displacements differ from
those of the positions by more than `MISMATCH`, with a significance by the jackknife over blocks of
time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .description.robot_description import Finding
from .types import Array

LIMIT_TOLERANCE = 0.2  # accepted excess of position limits, relative to their range

MAX_TURN = 2.01 * np.pi  # rad, with some noise

POSE_PERIOD_S = 0.2  # s, shortest period of samples that are treated as poses at rest
WINDOWS_S = (0.1, 0.2, 0.4, 0.8, 1.6)  # s
MIN_STEPS = 4  # samples of a window
MIN_SPEED = 0.05  # rad/s, m/s; slower windows are not compared
MIN_DISPLACEMENT = 0.01  # rad, m; of a window, more than backlash
DELAYS_S = np.arange(-0.04, 0.11, 0.02)  # of velocities, by filters
MIN_SIGNAL = 10.0  # displacement in a window, in standard deviations of the positions
MIN_WINDOWS = 10
WINDOW_SHARE = 0.8  # of the largest compared displacement, for longer windows
MAX_DISPLACEMENT = 1e9  # rad, m; larger ones are no motion
MISMATCH = 0.45  # of the displacements
QUANTILE = 4.3  # of Student's t with 9 degrees of freedom, one-sided, 99.9 %
FACTOR_TOLERANCE = 0.1
UNRELATED = 2.0  # half widths of the interval of a ratio that is not significant

#: Factors between velocities in wrong units and those in rad/s.
FACTORS = {
    1.0: '',
    0.5 / np.pi: 'in turns/s',
    30.0 / np.pi: 'in rpm',
    180.0 / np.pi: 'in deg/s',
    60.0: 'per minute',
    1.0 / 60.0: 'divided by 60',
    2.0 * np.pi: 'multiplied by 2 pi',
    np.pi / 180.0: 'multiplied by pi / 180',
}


class JointMotion(NamedTuple):
    """Samples of one joint.

    Attributes
    ----------
    t : (N,) array
        Times [s]; samples that are not later than all before are ignored.
    q, v : (N,) arrays
        Positions [rad, m] and velocities [rad/s, m/s]; samples that are not finite are ignored.
    """

    t: Array
    q: Array
    v: Array


class VelocityFault(NamedTuple):
    """Velocities that are not the derivatives of positions.

    Attributes
    ----------
    ratio : float
        Ratio to the derivatives of positions.
    half_width : float
        Of its confidence interval.
    is_zero : bool
        Whether the velocities are zero while the joint moves.
    """

    ratio: float
    half_width: float
    is_zero: bool

    def __str__(self) -> str:
        if self.is_zero:
            return 'zero while the positions change'
        size, half = abs(self.ratio), self.half_width
        if size <= UNRELATED * half:
            return 'not related to the derivatives'
        nearest = min(FACTORS, key=lambda factor: abs(np.log(max(size, 1e-9) / factor)))
        which = [
            text
            for factor, text in FACTORS.items()
            if abs(size - factor) <= half or factor == nearest
        ]
        if abs(size - nearest) > max(FACTOR_TOLERANCE * nearest, half) or half > 0.5 * size:
            return f'{self.ratio:.2g} times the derivatives'
        reversed_sign = 'of the opposite sign' if self.ratio < 0.0 else ''
        units = ' or '.join(filter(None, which))
        return ' and '.join(filter(None, (units, reversed_sign)))


# --- positions ------------------------------------------------------------------------------------


def range_findings(
    names: Sequence[str],
    turns: NDArray[np.bool_],
    limits: tuple[Array, Array],
    ranges: tuple[Array, Array],
) -> Iterator[Finding]:
    """Yield findings about positions beyond the joint limits, with the likely unit.

    Parameters
    ----------
    names : sequence of str
        Joints.
    turns : (n,) array of bool
        Whether positions are angles.
    limits, ranges : pairs of (n,) arrays
        Lower and upper limits, lowest and highest positions [rad, m]; NaN without positions.
    """
    (lower, upper), (low, high) = limits, ranges
    margin = LIMIT_TOLERANCE * (upper - lower)  # infinite without limits
    beyond = (low < lower - margin) | (high > upper + margin)
    turned = beyond & turns & (np.maximum(-low, high) <= MAX_TURN) & (high - low <= MAX_TURN)
    for chosen, units, expected in (
        (turned, {'another turn, 2 pi away': 1.0}, 'rad'),
        (beyond & turns & ~turned, {'degrees': np.degrees(1.0)}, 'rad'),
        (beyond & ~turns, {'mm': 1000.0, 'cm': 100.0}, 'm'),
    ):
        if not chosen.any():
            continue
        i = int(np.argmax(np.where(chosen, high - low, -1.0)))
        likely = ' or '.join(
            unit
            for unit, x in units.items()
            if (chosen is turned)
            or ((low / x >= lower - margin) & (high / x <= upper + margin))[chosen].all()
        )
        yield Finding(
            'error',
            joints_subject(np.array(names)[chosen]),
            f'positions are beyond the limits ({names[i]}: {low[i]:.4g} to {high[i]:.4g}, limits '
            f'{lower[i]:.4g} to {upper[i]:.4g} {expected}); '
            + (f'they seem to be in {likely}' if likely else 'no result can be right'),
            f'convert them, {expected} are expected'
            if likely
            else f'{expected} are expected; compare units and names of joints with the description',
        )


def joints_subject(names: Iterable[str]) -> str:
    """Return the subject of a finding about joints.

    >>> joints_subject(['a']), joints_subject(['a', 'b'])
    ('joint a', 'joints a, b')
    """
    found = list(names)
    return f'joint{"s" * (len(found) > 1)} {", ".join(found)}'


# --- velocities -----------------------------------------------------------------------------------


def velocity_fault(parts: Sequence[JointMotion]) -> VelocityFault | None:
    """Return the fault of the velocities of a joint in recordings, None if there is none.

    None also if the joint hardly moves, or if samples are so far apart that they can be poses.

    Examples
    --------
    >>> t = np.arange(0.0, 10.0, 0.01)
    >>> q, v = np.sin(t), np.cos(t)
    >>> velocity_fault([JointMotion(t, q, v)]) is None
    True
    >>> print(velocity_fault([JointMotion(t, q, -v)]))
    of the opposite sign
    >>> print(velocity_fault([JointMotion(t, q, v * 30.0 / np.pi)]))
    in rpm
    """
    comparison = VelocityComparison()
    for part in parts:
        comparison.add(part)
    return comparison.verdict()[1]


class VelocityComparison:
    """Collects the displacements of a joint in windows of time, by positions and by velocities.

    Parameters
    ----------
    lengths : sequence of float
        Of the windows [s].
    most : int, optional
        Number of parts with motion that are kept, the last ones.
    """

    def __init__(self, lengths: Sequence[float] = WINDOWS_S, most: int | None = None) -> None:
        self._lengths = lengths
        self._compared: list[deque[Array]] = [deque(maxlen=most) for _ in lengths]

    def add(self, motion: JointMotion) -> None:
        """Add a part: consecutive samples."""
        valid = None if len(motion.q) and np.ptp(motion.q) < MIN_DISPLACEMENT else _valid(motion)
        if valid is None:
            return
        with np.errstate(over='ignore', invalid='ignore'):  # of positions near the largest number
            for kept, found in zip(self._compared, _displacements(valid, self._lengths)):
                kept.append(found)

    def clear(self) -> None:
        """Discard all parts."""
        for kept in self._compared:
            kept.clear()

    def verdict(self) -> tuple[bool, VelocityFault | None]:
        """Return whether the velocities are significantly right or wrong, and their fault."""
        windows = self._windows()
        return (False, None) if windows is None else _verdict(windows)

    def _windows(self) -> Array | None:
        """Return the rows of the longest windows with most of the motion, None if too few.

        Their columns are those of `_displacements`.
        """
        if not self._compared[0]:
            return None
        compared = [np.concatenate(kept) for kept in self._compared]
        sizes = [np.abs(each[:, 0]).sum() for each in compared]
        for each, size in zip(reversed(compared), reversed(sizes)):
            if len(each) >= MIN_WINDOWS and size >= WINDOW_SHARE * max(sizes):
                return each
        return None


def _valid(motion: JointMotion) -> JointMotion | None:
    """Return the finite samples in order of time; None if they are too few or far apart."""
    rows = np.isfinite(motion.q) & np.isfinite(motion.v) & np.isfinite(motion.t)
    t, q, v = (each[rows] for each in motion)
    if len(t):
        latest = np.maximum.accumulate(t)
        later = np.r_[True, t[1:] > latest[:-1]]
        t, q, v = t[later], q[later], v[later]
    if len(t) <= MIN_STEPS or _quantile(np.diff(t), 0.5) >= POSE_PERIOD_S:
        return None
    return JointMotion(t, q, v)


def _displacements(motion: JointMotion, lengths: Sequence[float]) -> Iterator[Array]:
    """Yield rows (M, 2 + D) for each length of windows in which the joint moves evenly.

    The columns are the displacement of the positions, the noise of that of the velocities, and the
    latter if they are late by each of `DELAYS_S`.
    """
    t, q, v = motion
    steps, moves = np.diff(t), np.abs(np.diff(q))
    step = _quantile(steps, 0.5)
    moved = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * steps)])
    signal, noise = MIN_SIGNAL * _noise(q), _noise(v)
    for length in lengths:
        n = max(round(length / step), MIN_STEPS)
        edges = np.arange(0, len(t), n)
        if len(edges) < 2:
            yield np.zeros((0, 2 + len(DELAYS_S)))
            continue
        ends = t[edges]
        delayed = ends[:, None] + DELAYS_S
        time, x = np.diff(ends), np.diff(q[edges])
        largest = np.maximum.reduceat(moves[: edges[-1]], edges[:-1])
        rows = (
            (np.abs(x) >= np.maximum(MIN_SPEED * time, signal))
            & (np.abs(x) >= MIN_DISPLACEMENT)
            & (largest <= 0.5 * np.abs(x))  # not a jump
            & (time <= 1.5 * n * step)  # no gap
            & (delayed[:-1, 0] >= t[0])
            & (delayed[1:, -1] <= t[-1])
        )
        y = np.diff(np.interp(delayed, t, moved), axis=0)
        found = np.column_stack([x, noise * time / np.sqrt(n), y])[rows]
        yield found[(np.abs(found) < MAX_DISPLACEMENT).all(axis=1)]


def _noise(x: Array) -> float:
    """Return the standard deviation of white noise of samples, from their third differences."""
    return _quantile(np.abs(np.diff(x, 3)), 0.9) / (1.645 * np.sqrt(20.0)) if len(x) > 3 else 0.0


def _quantile(x: Array, level: float) -> float:
    """Return a quantile of samples, in less time than that of NumPy."""
    k = round(level * (len(x) - 1))
    return float(np.partition(x, k)[k])


def _verdict(compared: Array) -> tuple[bool, VelocityFault | None]:
    """Return whether windows of a `VelocityComparison` are significant, and the fault."""
    x, noise, late = compared[:, :1], compared[:, 1:2], compared[:, 2:]
    along = late * np.sign(x)
    errors = np.maximum(np.abs(late - x) - 2.0 * noise, 0.0)
    likely, best = np.argmax(np.abs(along.sum(axis=0))), np.argmin(errors.sum(axis=0))
    sizes = np.stack([np.abs(x[:, 0]), along[:, likely], errors[:, best]], axis=1)
    blocks = np.array([each.sum(axis=0) for each in np.array_split(sizes, MIN_WINDOWS)])
    whole = blocks.sum(axis=0)
    ratio, mismatch = whole[1:] / whole[0]
    without = whole - blocks
    omitted = without[:, 1:] / without[:, :1]
    spread = np.sum((omitted - omitted.mean(axis=0)) ** 2, axis=0)
    half = QUANTILE * np.sqrt((MIN_WINDOWS - 1) / MIN_WINDOWS * spread)
    if not mismatch - half[1] > MISMATCH:
        return bool(mismatch + half[1] < MISMATCH), None
    is_zero = bool(np.abs(late[:, likely]).sum() <= 1e-3 * whole[0])
    return True, VelocityFault(float(ratio), float(half[0]), is_zero)


def velocity_fault_findings(
    faults: Mapping[str, VelocityFault | str | None],
) -> Iterator[Finding]:
    """Yield a finding for each kind of fault of velocities, by joint; None is no fault."""
    kinds: dict[str, list[str]] = {}
    for name, fault in faults.items():
        if fault is not None:
            kinds.setdefault(str(fault), []).append(name)
    for kind, names in kinds.items():
        yield Finding.warning(
            joints_subject(names),
            f'the velocities are {kind} (compared with differences of positions)',
            'correct the driver, or remove the velocities from the joint states: they are then '
            'differentiated from positions (velocity_policy)',
        )
