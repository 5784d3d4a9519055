# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""The delay of efforts relative to positions of the same stamp, with a confidence interval.

Efforts u(t) = k m(t - d) of all joints, with gains k, follow the torques m = W x + known. With the
projection P onto the columns W, joints weighted by the deviations s of their residuals, the likely
delay minimizes the residual

    r(d) = (1 - P) (u(t + d) / k - known) / s,                                         (1)

by a grid search, then by Gauss-Newton steps with the rate m' of the fitted torques, which has
little noise. Efforts are shifted before they are filtered, by the spline through the samples, so
that delays are not limited to multiples of the sampling time.

Friction with hysteresis also causes a delay of some milliseconds. Therefore W has three additional
columns for each joint: the rate of dry friction, dry friction proportional to the torque of gravity
and inertia, and increased friction near standstill (Stribeck). The variance has two terms. The
first is that of the scores of time blocks, which are independent in contrast to the residuals of
single instants. The second is the change of d by these columns, a measure of model errors:

    H = sum |(1 - P) m' / s|^2,  g_b = sum_{t in b} r (1 - P) m' / s,
    var d = sum_b g_b^2 / H^2 + (d - d without the columns of friction)^2               (2)

Source: Carter 1987, *Coherence and time delay estimation*, Proc. IEEE 75(2) (delay by least
squares); Liang and Zeger 1986, Biometrika 73(1) (scores of blocks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..description.robot_description import Finding
from ..statistics.intervals import between
from ..types import Array
from .effort_equations import EffortEquations
from .filtering import pieces
from .recording import JointRecording

MAX_DELAY_S = 0.2  # s; largest absolute delay
SEARCH_STEP_S = 5e-3  # s
BLOCK_S = 2.0  # s; duration of blocks over which scores are summed
MIN_BLOCKS = 5
MIN_INSTANTS = 100
MAX_NUMBERS = 4_000_000  # numbers in the columns; further instants are skipped
WEIGHT_ROUNDS = 2
MAX_ROUNDS = 4  # Gauss-Newton steps
TOLERANCE_S = 1e-4  # s

#: A delay is corrected if it is at least this [s], and this number of standard deviations.
MIN_DELAY_S, DELAY_SIGMAS = 5e-3, 3.0

STRIBECK_SPEED = 0.1  # rad/s, m/s; friction may be larger below

COLUMN_TOLERANCE = 1e-12  # smaller squared singular values of scaled columns are zero


@dataclass(frozen=True)
class EffortDelay:
    """A delay of efforts.

    Attributes
    ----------
    value : float
        [s]; negative if efforts are earlier than positions.
    deviation : float
        Its standard deviation [s]; infinite if the motion does not determine it.
    degrees_of_freedom : int
        Of the deviation.
    helps : bool
        Whether efforts of held-out data are explained better with the delay.
    """

    value: float = 0.0
    deviation: float = np.inf
    degrees_of_freedom: int = 1
    helps: bool = True

    @property
    def is_certain(self) -> bool:
        """Whether the delay is significant, large enough to have an effect, and helps."""
        return self.helps and abs(self.value) > max(MIN_DELAY_S, DELAY_SIGMAS * self.deviation)

    def half_width(self, probability: float = 0.95) -> float:
        """Return the half width of the confidence interval [s] (Student's t)."""
        from scipy.special import stdtrit  # slow to import

        return float(stdtrit(self.degrees_of_freedom, 0.5 + probability / 2.0) * self.deviation)


def delay_findings(delay: EffortDelay) -> Iterator[Finding]:
    """Yield a finding if efforts are later or earlier than positions."""
    if delay.is_certain:
        later = delay.value > 0.0
        yield Finding.warning(
            'efforts',
            f'they are {between(1e3 * abs(delay.value), 1e3 * delay.half_width())} ms '
            f'{"later" if later else "earlier"} than positions of the same stamp, and are shifted '
            'by it',
            f'effort_delay {delay.value:.4g}'
            if later
            else 'let the driver sample both together: nodes do not shift earlier efforts',
        )


def estimated_delay(
    given: EffortEquations,
    gains: Array,
    recordings: Sequence[JointRecording],
    cutoff: float,
    measured_velocities: bool,
) -> EffortDelay:
    """Return the common delay of the efforts of all joints.

    Parameters
    ----------
    given : EffortEquations
        Equations of the recordings, with unshifted efforts.
    gains : (n,) array
        k, reported units per N m or N, estimated without a delay.
    recordings, cutoff, measured_velocities
        As in `effort_equations.equations`.
    """
    inside = _inside(given, MAX_DELAY_S)
    if inside.sum() < MIN_INSTANTS:
        return EffortDelay()

    def shifted(delay: float) -> Array:
        efforts = delayed_efforts(delay, recordings, cutoff, measured_velocities)
        return np.asarray(efforts / gains - given.known)

    with_friction, plain = (_Residuals(given, inside, gains, each) for each in (True, False))
    if not with_friction.is_determined:
        return EffortDelay()
    delay, deviation = with_friction.minimum(shifted)
    change = delay - plain.minimum(shifted)[0]
    return EffortDelay(delay, float(np.hypot(deviation, change)), int(with_friction.blocks[-1]))


class _Residuals:
    """The residual (1), with the columns of friction or without them.

    Attributes
    ----------
    blocks : (M,) array of int
        Blocks of the instants that are used.
    """

    def __init__(
        self, given: EffortEquations, inside: NDArray[np.bool_], gains: Array, has_friction: bool
    ) -> None:
        self._given, self._gains = given, gains
        self._joints = np.flatnonzero(~np.isnan(given.effort).any(axis=0))
        columns = given.W[:, self._joints]
        if has_friction:
            columns = np.concatenate([columns, self._friction_columns()], axis=2)
        size = int(inside.sum()) * columns.shape[1] * columns.shape[2]
        self._chosen = np.flatnonzero(inside)[:: 1 + size // MAX_NUMBERS]
        self.blocks = _blocks(given.t[self._chosen], given.part[self._chosen])
        self._columns = columns[self._chosen]
        self._weights = np.ones(len(self._joints))
        self._Q = self._basis()

    @property
    def is_determined(self) -> bool:
        """Whether there are more equations than columns."""
        return 0 < 2 * self._Q.shape[1] < len(self._Q)

    def _friction_columns(self) -> Array:
        """Return the columns (M, n, 3 n) of unmodeled friction."""
        given, joints = self._given, self._joints
        direction, v = given.direction[:, joints], given.v[:, joints]
        kinds = (
            _rates(given.t, given.part, direction),
            np.abs(given.rigid[:, joints]) * direction,
            direction * np.exp(-((v / STRIBECK_SPEED) ** 2)),
        )
        return np.concatenate([x[:, :, None] * np.eye(len(joints)) for x in kinds], axis=2)

    def _basis(self) -> Array:
        return _basis((self._columns * self._weights[:, None]).reshape(-1, self._columns.shape[2]))

    def rest(self, x: Array) -> Array:
        """Return the weighted component of x (M, n) orthogonal to the columns, (M, n)."""
        flat = (x * self._weights).ravel()
        return np.asarray(flat - self._Q @ (self._Q.T @ flat)).reshape(x.shape)

    def minimum(self, shifted: Callable[[float], Array]) -> tuple[float, float]:
        """Return the delay and its standard deviation by the scores of blocks [s].

        `shifted` returns the torques (M, n) of a delay.
        """
        chosen, joints, given = self._chosen, self._joints, self._given
        search = np.arange(-MAX_DELAY_S, MAX_DELAY_S + SEARCH_STEP_S / 2, SEARCH_STEP_S)
        torques = [
            (_interpolated(given, each) / self._gains - given.known)[chosen][:, joints]
            for each in search.tolist()
        ]
        delay = 0.0
        for _ in range(WEIGHT_ROUNDS):
            rests = [self.rest(each) for each in torques]
            best = int(np.argmin([np.sum(each**2) for each in rests]))
            delay = float(search[best])
            self._weights /= np.maximum(np.sqrt(np.mean(rests[best] ** 2, axis=0)), 1e-9)
            self._Q = self._basis()
        deviation = np.inf
        for _ in range(MAX_ROUNDS):
            step, deviation = self._step(shifted(delay))
            delay = float(np.clip(delay - step, -MAX_DELAY_S, MAX_DELAY_S))
            if abs(step) < TOLERANCE_S:
                break
        return delay, deviation

    def _step(self, torques: Array) -> tuple[float, float]:
        """Return the step of Gauss-Newton and the standard deviation."""
        chosen, joints = self._chosen, self._joints
        r = self.rest(torques[chosen][:, joints])
        smooth = torques[chosen][:, joints] - r / self._weights
        d = self.rest(_rates(self._given.t[chosen], self._given.part[chosen], smooth))
        information = float(np.sum(d * d))
        if not information > 0.0:
            return 0.0, np.inf
        scores = np.bincount(self.blocks, np.sum(r * d, axis=1))
        count = len(scores)
        variance = float(np.sum(scores**2)) * count / max(count - 1, 1) / information**2
        return float(scores.sum()) / information, float(np.sqrt(variance))


def without_delay(
    given: EffortEquations,
    delay: float,
    recordings: Sequence[JointRecording],
    cutoff: float,
    measured_velocities: bool,
) -> EffortEquations:
    """Return equations with efforts shifted by `delay` [s], without ends that lack efforts."""
    effort = delayed_efforts(delay, recordings, cutoff, measured_velocities)
    return replace(given, effort=effort).rows(_inside(given, abs(delay)))


def delayed_efforts(
    delay: float, recordings: Sequence[JointRecording], cutoff: float, measured_velocities: bool
) -> Array:
    """Return the filtered efforts (M, n) at the times t + delay, constant beyond the ends."""
    return np.concatenate(
        [
            piece.low_pass(piece.tau)
            for recording in recordings
            for piece in pieces(shifted_efforts(recording, delay), cutoff, measured_velocities)
        ]
    )


def shifted_efforts(recording: JointRecording, delay: float) -> JointRecording:
    """Return a recording with the efforts of the times t + delay."""
    from scipy.interpolate import CubicSpline

    t, tau = recording.t, np.full_like(recording.tau, np.nan)
    there = np.isfinite(recording.tau).all(axis=0)
    at = np.clip(t + delay, t[0], t[-1])
    tau[:, there] = CubicSpline(t, recording.tau[:, there])(at)
    return replace(recording, tau=tau)


def _inside(given: EffortEquations, margin: float) -> NDArray[np.bool_]:
    """Return the instants (M,) at least a margin [s] and a filter length from the ends of parts."""
    result = np.zeros(len(given.t), dtype=bool)
    for part in np.unique(given.part):
        rows = np.flatnonzero(given.part == part)
        t = given.t[rows]
        result[rows] = (t - t[0] >= margin) & (t[-1] - t >= margin)
    return result


def _blocks(t: Array, part: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of time blocks (M,), which contain no gaps."""
    longest = max(float(np.ptp(t[part == each])) for each in np.unique(part))
    length = max(min(BLOCK_S, longest / MIN_BLOCKS), 1e-9)
    keys = np.stack([part, np.floor(t / length).astype(np.int64)])
    return np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)


def _basis(columns: Array) -> Array:
    """Return an orthonormal basis of columns (M, k)."""
    sizes = np.linalg.norm(columns, axis=0)
    chosen = sizes > COLUMN_TOLERANCE * sizes.max(initial=0.0)
    scaled = columns[:, chosen] / sizes[chosen]
    squares, V = np.linalg.eigh(scaled.T @ scaled)
    known = squares > COLUMN_TOLERANCE * squares.max(initial=0.0)
    return np.asarray(scaled @ (V[:, known] / np.sqrt(squares[known])))


def _interpolated(given: EffortEquations, delay: float) -> Array:
    """Return the filtered efforts at the times t + delay, interpolated in each part."""
    from scipy.interpolate import CubicSpline

    result = np.full_like(given.effort, np.nan)
    for part in np.unique(given.part):
        rows = np.flatnonzero(given.part == part)
        t = given.t[rows]
        if len(rows) > 3:
            at = np.clip(t + delay, t[0], t[-1])
            result[rows] = CubicSpline(t, np.nan_to_num(given.effort[rows]))(at)
    return result


def _rates(t: Array, part: NDArray[np.int64], x: Array) -> Array:
    """Return the time derivatives of columns (M, k)."""
    from scipy.interpolate import CubicSpline

    result = np.zeros_like(x)
    for each in np.unique(part):
        rows = np.flatnonzero(part == each)
        if len(rows) > 3:
            result[rows] = CubicSpline(t[rows], x[rows])(t[rows], 1)
    return result
