# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Exciting motions: optimal motions for the identification of a robot within its limits.

The optimal `FourierSeries` has equations that determine the parameters best. The columns W of base
parameters, friction and offsets are scaled by the noise of efforts and the prior deviations of the
parameters. The volume of the confidence ellipsoid is minimal for the maximum of

    log det (W^T W)

(D-optimal design). All coefficients are feasible, because each joint is scaled to its limits of
position, velocity and acceleration; a penalty bounds torques. The search draws random series and
improves the best ones by L-BFGS, with the same steps on every processor (`rounded_descent`).

Source: Swevers et al. 1997 (see `fourier_motion`); Armstrong 1989, *On finding exciting
trajectories for identification experiments involving systems with nonlinear dynamics*, Int. Journal
of Robotics Research 8(6) (condition number).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arguments import check_count, check_number
from ..errors import ArgumentError, UnknownNameError
from ..statistics.least_squares import RANK_TOLERANCE, Fit
from ..types import Array
from .drive_unknowns import MotionSamples
from .fourier_motion import FourierMotion, FourierSeries
from .recording import DynamicModel
from .rounded_descent import descend
from .unknowns import GROUPS, EffortModel, Unknowns

#: For joints without limits: half range [rad, m], speed [rad/s, m/s].
FREE_RANGE, FREE_SPEED = np.pi, 1.0

#: Default limit of accelerations: full speed within this time [s].
FULL_SPEED_TIME_S = 0.5

#: Used fraction of the limits: extremes between samples are up to 5 % larger.
LIMIT_SHARE = 0.95
MIN_SAMPLES, SAMPLES_PER_HARMONIC = 80, 10  # samples of a period during the search
TORQUE_PENALTY = 1e3  # per squared excess of torque, relative to the limit, at each sample
CHECKED_SAMPLES = 500  # samples of a period for the final check of torques
DIFFERENCE_STEP = 1e-3  # of finite differences [rad, rad/s, rad/s^2, m ...]
COMPLEX_STEP = 1e-30  # for derivatives

#: Assumed noise of efforts, relative to their limits.
EFFORT_NOISE = 1e-2


@dataclass(frozen=True)
class MotionLimits:
    """Limits of a motion.

    Attributes
    ----------
    range : float
        Used fraction of the joint ranges, about their centers, 0 to 1.
    speed : float
        Used fraction of the velocity limits, 0 to 1.
    acceleration : float, optional
        Largest acceleration of each joint [rad/s^2, m/s^2]; by default full speed within half a
        second.
    effort : bool
        Whether efforts of the nominal robot must stay within their limits.
    joints : collection of str, optional
        Moving joints; all by default. The others are at rest at the centers of their ranges.
    """

    range: float = 1.0
    speed: float = 1.0
    acceleration: float | None = None
    effort: bool = True
    joints: Collection[str] | None = None


def moving_joints(robot: DynamicModel, limits: MotionLimits) -> NDArray[np.bool_]:
    """Return which joints (n,) move.

    Raises
    ------
    ArgumentError
        For a floating base, joints with several degrees of freedom, and loops.
    UnknownNameError
        No such joint.
    """
    names, description = robot.joint_names, robot.description
    several = [
        f'joint {joint.name!r} is {joint.type}'
        for joint in description.joints
        if not (joint.kind.is_fixed or joint.kind.is_scalar)
    ]
    if robot.nq != robot.nv or robot.nv != len(names) or not names:
        raise ArgumentError(
            f'{description.name!r}: a fixed base and joints of one freedom are needed'
            + (f'; {several[0]}' if several else '')
        )
    if description.closures:
        raise ArgumentError(
            f'{description.name!r} has loops: its joints cannot move independently, and the motion '
            'would open them; describe a part without loops'
        )
    if limits.joints is None:
        return np.ones(len(names), dtype=bool)
    unknown = [name for name in limits.joints if name not in names]
    if unknown or not limits.joints:
        raise UnknownNameError(
            f'joints: no joint {unknown[0]!r}; there are {", ".join(names)}'
            if unknown
            else f'joints: none chosen of {", ".join(names)}'
        )
    return np.array([name in limits.joints for name in names])


def bounds(robot: DynamicModel, limits: MotionLimits) -> tuple[Array, Array, Array, Array]:
    """Return centers, half ranges, speeds and accelerations (n,)."""
    for name in ('range', 'speed'):
        value = getattr(limits, name)
        check_number(name, value, positive=True)
        if value > 1.0:
            raise ArgumentError(f'{name} = {value} is a share of the limits, at most 1')
    if limits.acceleration is not None:
        check_number('acceleration', limits.acceleration, positive=True)
    lower, upper = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid='ignore'):
        middle = np.where(bounded, (lower + upper) / 2, np.clip(0.0, lower, upper))
        half = np.where(bounded, (upper - lower) / 2, FREE_RANGE)
    half = LIMIT_SHARE * limits.range * np.minimum(half, FREE_RANGE)
    # A joint with one limit only stays on the allowed side.
    one_sided = ~bounded & (np.isfinite(lower) | np.isfinite(upper))
    middle = middle + np.where(one_sided, np.where(np.isfinite(lower), half, -half), 0.0)
    velocity = robot.limits.velocity
    speed = LIMIT_SHARE * limits.speed * np.where(np.isfinite(velocity), velocity, FREE_SPEED)
    still = [name for name, s, h in zip(robot.joint_names, speed, half) if s <= 0.0 or h <= 0.0]
    still = [name for name in still if limits.joints is None or name in limits.joints]
    if still:
        raise ArgumentError(
            f'limits of position or velocity of {", ".join(still)} leave no motion; choose other '
            'joints'
        )
    acceleration = speed / FULL_SPEED_TIME_S
    if limits.acceleration is not None:
        acceleration = np.full(speed.shape, LIMIT_SHARE * limits.acceleration)
    return middle, half, speed, acceleration


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion to record for identification.

    Attributes
    ----------
    motion : FourierMotion
        One period.
    joint_names : tuple of n str
    condition, random_condition : float
        Condition numbers of the equations, with columns of unit length: of this motion, and the
        median of random motions within the same limits.
    parameters : tuple of str
        Base parameters.
    held : tuple of dict
        Combinations that even this motion does not determine, relative to prior deviations.
    effort : (n,) array
        Largest torques of the nominal robot [N m, N].
    overloaded : tuple of str
        Joints whose effort limits are exceeded.
    """

    motion: FourierMotion
    joint_names: tuple[str, ...]
    condition: float
    random_condition: float
    parameters: tuple[str, ...]
    held: tuple[dict[str, float], ...]
    effort: Array
    overloaded: tuple[str, ...]


def excite(
    robot: DynamicModel,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    limits: MotionLimits | None = None,
    model: EffortModel | None = None,
    restarts: int = 24,
    improved: int = 6,
    iterations: int = 40,
    seed: int = 0,
    progress: Callable[[float], object] = lambda share: None,
) -> Excitation:
    """Return an exciting motion of a robot.

    Self-collisions and obstacles are not checked: run it slowly or in simulation first, and reduce
    `MotionLimits.range` if the robot could collide.

    Parameters
    ----------
    robot : Robot
        The nominal robot with the actual gravity.
    period : float
        Length of the motion [s].
    harmonics : int
        H; the highest frequency is H / period.
    limits : MotionLimits
    model : EffortModel
        Parameters to identify.
    restarts : int
        Number of random motions.
    improved : int
        Number of the best ones to improve. Of the results within the limits of efforts that with
        the least condition number is returned.
    iterations : int
        Largest number of iterations of each improvement.
    seed : int
    progress : callable
        Called with the completed fraction of the search, 0 to 1.

    Raises
    ------
    ArgumentError
        Limits that allow no motion, invalid numbers, joints with several degrees of freedom, loops.
    UnknownNameError
        No such joint.
    """
    for name, count in (('restarts', restarts), ('improved', improved), ('seed', seed)):
        check_count(name, count)
    problem = _Search(
        robot, FourierSeries(period, harmonics), limits or MotionLimits(), model or EffortModel()
    )
    rng = np.random.default_rng(seed)
    drawn = [rng.normal(size=problem.size) for _ in range(max(restarts, 1))]
    work = len(drawn) + improved * iterations * problem.size  # evaluations of the cost at most

    def cost_of(k: int) -> float:
        progress(k / work)
        return problem.cost(drawn[k])

    costs = [cost_of(k) for k in range(len(drawn))]
    order = np.argsort(costs)
    found = [] if improved else [drawn[order[0]]]
    for number, k in enumerate(order[:improved]):
        done = len(drawn) + number * iterations * problem.size

        def report(iteration: int, done: int = done) -> None:
            progress(min((done + iteration * problem.size) / work, 1.0))

        found.append(problem.improve(drawn[k], iterations, report)[0])
    random_condition = float(np.median([problem.condition(y) for y in drawn]))
    results = [problem.result(y, random_condition) for y in found]
    return min(results, key=lambda each: (len(each.overloaded), each.condition))


class _Search:
    """The cost of motions: how well they determine the base parameters."""

    def __init__(
        self, robot: DynamicModel, series: FourierSeries, limits: MotionLimits, model: EffortModel
    ) -> None:
        self.robot, self.series, self.limits = robot, series, limits
        self.moves = moving_joints(robot, limits)
        self.unknowns = Unknowns(robot, model)
        self.joints = np.flatnonzero(self.moves)
        self.size = len(self.joints) * (series.size + 1)
        self.middle, self.half, self.speed, self.acceleration = bounds(robot, limits)
        everywhere: NDArray[np.bool_] = np.ones(len(self.moves), dtype=bool)
        self.columns, self.grouping = self.unknowns.base(self.moves, everywhere)
        if not len(self.columns):
            raise ArgumentError('no motion of these joints identifies any parameter')
        count = max(MIN_SAMPLES, SAMPLES_PER_HARMONIC * series.harmonics)
        self.t = np.linspace(0.0, series.period, count, endpoint=False)
        a, b = series.coefficients(np.eye(series.size))
        one_by_one = FourierMotion(series.period, np.zeros(series.size), a, b)
        self.unit = np.stack(one_by_one.at(self.t))  # (3, N, series.size), linear in coordinates
        self.holds = set(model.estimate) < set(GROUPS) or bool(model.payload_link)
        q, v, a = self.motion(np.random.default_rng(0).normal(size=self.size)).at(self.t)
        torque = self.unknowns.rigid_torques(self.unknowns.motion(q, v, a), {})
        rms = np.maximum(np.sqrt(np.mean(torque**2, axis=0)), 1e-3)
        effort = robot.limits.effort
        self.effort = np.where(np.isfinite(effort) & (effort > 0.0), effort, np.inf)
        self.noise = EFFORT_NOISE * rms
        self.L = self.unknowns.deviations(
            rms, np.where(self.moves, self.speed, 1.0), np.where(self.moves, self.acceleration, 1.0)
        )
        self.likely = np.linalg.norm(self.grouping @ self.L, axis=1)

    def motion(self, y: Array) -> FourierMotion:
        """Return the motion of coordinates y (size,); it is always within the limits."""
        rows = y.reshape(len(self.joints), -1)
        a, b = self.series.coefficients(rows[:, 1:])
        unit = FourierMotion(self.series.period, np.zeros(len(rows)), a, b)
        offset, scale = self._fitted(rows[:, 0], unit.at(self.t))
        chosen = self.joints
        center = self.middle.copy()
        center[chosen] += offset
        full = np.zeros((2, len(self.moves), a.shape[1]))
        full[:, chosen] = scale[:, None] * np.stack([a, b])
        return FourierMotion(self.series.period, center, full[0], full[1])

    def _fitted(self, place: Array, unit: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """Return offsets and factors (..., k) that fit motions (N, ..., k) into the limits."""
        q, v, a = unit
        half, tiny = self.half[self.joints], 1e-12
        low, high = _at(q, q.real.argmin(axis=0)), _at(q, q.real.argmax(axis=0))
        ratios = [(high - low) / (2.0 * half)]
        for rate, most in ((v, self.speed), (a, self.acceleration)):
            extreme = _at(rate, np.abs(rate.real).argmax(axis=0))
            ratios.append(extreme * np.sign(extreme.real) / most[self.joints])
        stacked = np.stack(ratios)
        used = _at(stacked, stacked.real.argmax(axis=0))
        scale = 1.0 / np.where(used.real > tiny, used, tiny)
        free = half - scale * (high - low) / 2.0
        return free * np.tanh(place) - scale * (high + low) / 2.0, scale

    def evaluated(self, y: Array) -> tuple[Array, Array]:
        """Return the scaled columns (N n, p) and the torques (N, n) of the nominal robot."""
        motion = self.unknowns.motion(*self.motion(y).at(self.t))
        W = self.unknowns.columns(motion)
        torques = self.torques(W, motion)
        A = W[:, :, self.columns] * (self.likely / self.noise[:, None])
        return A.reshape(-1, len(self.columns)), torques

    def torques(self, W: Array, motion: MotionSamples) -> Array:
        """Return the torques (N, n) of the nominal robot in a motion with the columns W."""
        torques = W @ self.unknowns.nominal
        if self.holds:
            torques = torques + self.unknowns.known_torques(motion, {})
        return np.asarray(torques)

    def fit(self, y: Array) -> Fit:
        """Return the singular values and directions of the equations."""
        return Fit(self.evaluated(y)[0], 0.0, largest_deviation=1.0)

    def condition(self, y: Array) -> float:
        """Return the condition number, with columns of unit length."""
        s = Fit(self.evaluated(y)[0], RANK_TOLERANCE).s
        return float(s[0] / s[-1]) if s[-1] > 0.0 else np.inf

    def cost(self, y: Array) -> float:
        """Return minus log det of the information, including the prior."""
        A, torques = self.evaluated(y)
        _, logarithm = np.linalg.slogdet(A.T @ A + np.eye(A.shape[1]))
        return float(-logarithm) + TORQUE_PENALTY * float(np.sum(self._excess(torques) ** 2))

    def _excess(self, torques: Array) -> Array:
        """Return torques (N, n) above their limits, relative to the limits."""
        if not self.limits.effort:
            return np.zeros_like(torques)
        return np.asarray(np.maximum(np.abs(torques) / (LIMIT_SHARE * self.effort) - 1.0, 0.0))

    def gradient(self, y: Array) -> Array:
        """Return the gradient (size,) of the cost.

        Columns and torques at a sample depend on q, v, a there: differences of these, and
        derivatives of q, v, a by complex steps, which have no error of rounding.
        """
        A, torques = self.evaluated(y)
        # d log det M = tr(M^-1 dM); the weights of columns W (N, n, P) and of torques (N, n)
        by_A = -2.0 * np.linalg.solve(A.T @ A + np.eye(A.shape[1]), A.T).T
        by_W = np.zeros((*torques.shape, len(self.unknowns.names)))
        by_W[:, :, self.columns] = by_A.reshape(*torques.shape, -1) * (
            self.likely / self.noise[:, None]
        )
        by_torque = 2.0 * TORQUE_PENALTY * self._excess(torques) * np.sign(torques)
        by_torque /= LIMIT_SHARE * self.effort
        by_W += by_torque[:, :, None] * self.unknowns.nominal
        state = np.stack(self.motion(y).at(self.t))  # (3, N, n)
        N, n = torques.shape
        by_state = np.zeros((3, N, len(self.joints)))
        for kind, (column, joint) in itertools.product(range(3), enumerate(self.joints)):
            moved = np.stack([state, state])
            moved[:, kind, :, joint] += DIFFERENCE_STEP * np.array([[1.0], [-1.0]])
            motion = self.unknowns.motion(*moved.transpose(1, 0, 2, 3).reshape(3, 2 * N, n))
            W = self.unknowns.columns(motion)
            each = np.einsum('stip,tip->st', W.reshape(2, *by_W.shape), by_W)
            if self.holds:
                known = self.unknowns.known_torques(motion, {})
                each += np.einsum('sti,ti->st', known.reshape(2, N, n), by_torque)
            by_state[kind, :, column] = (each[0] - each[1]) / (2.0 * DIFFERENCE_STEP)
        return self._by_coordinates(y, by_state)

    def _by_coordinates(self, y: Array, by_state: Array) -> Array:
        """Return the derivative (size,) by coordinates for that by q, v, a (3, N, k)."""
        rows = y.reshape(len(self.joints), -1)
        steps = COMPLEX_STEP * np.eye(rows.shape[1])[:, None, :]
        moved = rows + 1j * steps  # (1 + series.size, k, 1 + series.size)
        unit = np.einsum('xts,mks->xtmk', self.unit, moved[:, :, 1:])
        offset, scale = self._fitted(moved[:, :, 0], (unit[0], unit[1], unit[2]))
        motions = scale * unit
        motions[0] += offset
        return np.asarray(np.einsum('xtmk,xtk->km', motions.imag / COMPLEX_STEP, by_state).ravel())

    def improve(
        self, y: Array, iterations: int, report: Callable[[int], object]
    ) -> tuple[Array, float]:
        """Return better coordinates and their cost; `report` is called with each iteration."""
        return descend(self.cost, self.gradient, y, iterations, report)

    def result(self, y: Array, random_condition: float) -> Excitation:
        """Return the motion of coordinates y with its evaluation."""
        fit = self.fit(y)
        names = [self.unknowns.names[k] for k in self.columns]
        q, v, a = self.motion(y).at(np.linspace(0.0, self.series.period, CHECKED_SAMPLES))
        motion = self.unknowns.motion(q, v, a)
        effort = np.abs(self.torques(self.unknowns.columns(motion), motion)).max(axis=0)
        over = np.flatnonzero(effort > self.effort) if self.limits.effort else np.array([], int)
        return Excitation(
            self.motion(y),
            self.robot.joint_names,
            self.condition(y),
            random_condition,
            tuple(names),
            tuple(
                {name: x for name, x in each.items() if abs(x) > 0.1}
                for each in fit.combinations(names)
            ),
            effort,
            tuple(self.robot.joint_names[k] for k in over),
        )


def _at(values: Array, index: NDArray[np.int64]) -> Array:
    """Return the values (N, ...) at an index (...) along the first axis."""
    return np.asarray(np.take_along_axis(values, index[None], axis=0)[0])
