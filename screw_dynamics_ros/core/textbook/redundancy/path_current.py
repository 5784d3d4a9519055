# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Criterion 10 of section 5.9.1: the least RMS motor current over a path, a global criterion.

For a path of the tool, sampled at equal times, a redundant arm has free functions of time. With an
initial joint path q_k and null-space bases Z_k of J(q_k), each choice of s_k defines a path with
the same tool poses,

    pose(q_k + d_k) = pose(q_k),    Z_k^T d_k = s_k,        dq/ds = [J; Z_k^T]^-1 [0; 1]

solved by Newton's method. s is a cubic spline through a few knots, so that the joint motion is
smooth. Rates and accelerations are those of the quintic spline through the samples, and linear in
them. The mean square of the currents i = tau / k_t,

    mean_k sum_j (tau_j(q_k, q'_k, q''_k) / k_t,j)^2,

is minimized over the knots by sequential quadratic programming (SLSQP of scipy) with its exact
gradient, subject to the limits of position and velocity at all samples. The coordinates s are valid
near q_k only: the knots are bounded by a radius, and the search continues from the resulting path.

The result is a local minimum; other initial paths may lead to better ones.

Source: Bruyninckx 2010, section 5.9.1 item 10, which has no formula (C-038).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_count, check_number
from ...arms.inverse.redundancy import RobotModel
from ...arms.inverse.velocity import matrix
from ...arms.inverse.weighted_inverse import WeightedInverse, finite
from ...errors import ArgumentError
from ...lie import se3
from ...types import Array

#: Largest number of Newton steps from one path to another, and tolerance of the last [rad, m].
MAX_NEWTON_STEPS, STEP_TOLERANCE = 20, 1e-10
#: Bound of the knots in one search [rad, m], and largest number of searches.
MAX_KNOT, SEARCHES = 0.4, 20


class PathDynamics(RobotModel, Protocol):
    """Interface of a robot for the optimization, implemented by `Robot`."""

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return torques (N, nv)."""


@dataclass(frozen=True, eq=False)
class Found:
    """Result of one search: a path (N, n), its RMS current, and the status of scipy."""

    path: Array
    rms: float
    success: bool
    message: str


class PathProblem:
    """The currents of paths near one path, as functions of the knots x.

    Arguments as in `least_current_path`; `start` (N, nv) is the path itself.
    """

    def __init__(
        self,
        robot: PathDynamics,
        q: ArrayLike,
        dt: float,
        link: str,
        selection: ArrayLike | None,
        torque_constants: ArrayLike | None,
        knots: int,
        keep_ends: bool,
    ) -> None:
        from scipy.interpolate import make_interp_spline

        self._robot, self._link, self.start = robot, link, matrix('the path', q)
        N, n = self.start.shape
        if n != robot.nv or robot.nq != robot.nv or N < 6:
            raise ArgumentError(
                f'the path needs shape (N, {robot.nv}) with N >= 6 for joints whose coordinates '
                f'add, got {self.start.shape}'
            )
        check_count('knots', knots)
        if knots < 4:
            raise ArgumentError(f'knots must be at least 4, for a cubic spline, got {knots}')
        constants = finite(
            'the torque constants', np.ones(n) if torque_constants is None else torque_constants
        )
        if constants.shape != (n,) or not (constants > 0.0).all():
            raise ArgumentError(f'the torque constants must be {n} positive numbers')
        self._per_torque = 1.0 / constants
        self._S = np.eye(6) if selection is None else matrix('the selection', selection)
        self._poses = robot.link_pose(self.start, link)
        self._Z = self._null_spaces()

        times = dt * np.arange(N)
        samples = make_interp_spline(times, np.eye(N), k=5)
        self._D1, self._D2 = samples.derivative(1)(times), samples.derivative(2)(times)
        spline = make_interp_spline(np.linspace(0.0, times[-1], knots), np.eye(knots), k=3)(times)
        self._spline = spline[:, 1:-1] if keep_ends else spline
        self._size = self._spline.shape[1] * self._Z.shape[2]
        self._known: tuple[Array, tuple[Array, Array]] | None = None

    @property
    def rms(self) -> float:
        """RMS current of the initial path."""
        return float(np.sqrt(self.mean_square(np.zeros(self._size))[0]))

    def search(self, radius: float, max_iterations: int) -> Found | None:
        """Return the best path with knots within a radius, None if it violates a limit."""
        from scipy.optimize import minimize

        unit = self.rms**2 or 1.0
        result = minimize(
            lambda x: self.mean_square(x)[0] / unit,
            np.zeros(self._size),
            jac=lambda x: self.mean_square(x)[1] / unit,
            method='SLSQP',
            bounds=[(-radius, radius)] * self._size,
            constraints=self.limits(),
            options={'maxiter': max_iterations, 'ftol': 1e-9},
        )
        q, _ = self.path(result.x)
        if not np.isfinite(q).all() or any(c['fun'](result.x).min() < -1e-9 for c in self.limits()):
            return None
        rms = float(np.sqrt(self.mean_square(result.x)[0]))
        return Found(q, rms, bool(result.success), str(result.message))

    def broken_limit(self) -> float:
        """Return the largest violation of a limit by the initial path [rad, m, rad/s, m/s]."""
        rest = np.zeros(self._size)
        return max((float(-limit['fun'](rest).min()) for limit in self.limits()), default=0.0)

    def path(self, x: Array) -> tuple[Array, Array]:
        """Return q (N, n) and its derivatives dq/ds (N, n, r) for the knots x."""
        if self._known is not None and np.array_equal(self._known[0], x):
            return self._known[1]
        s = self._spline @ x.reshape(-1, self._Z.shape[2])  # (N, r)
        q = self.start + np.einsum('knr,kr->kn', self._Z, s)
        for _ in range(MAX_NEWTON_STEPS):
            error, J = self._pose_errors(q)
            wrong = np.einsum('knr,kn->kr', self._Z, q - self.start) - s
            extended = np.concatenate([J, self._Z.transpose(0, 2, 1)], axis=1)
            # square, except for joints that do not move the link
            step = np.linalg.pinv(extended) @ np.concatenate([error, -wrong], axis=1)[..., None]
            q = q + step[..., 0]
            if np.abs(step).max() < STEP_TOLERANCE:
                break
        else:
            q = np.full_like(q, np.nan)
        columns = np.linalg.pinv(extended)[:, :, J.shape[1] :]
        self._known = x.copy(), (q, columns)
        return q, columns

    def mean_square(self, x: Array) -> tuple[float, Array]:
        """Return mean_k sum_j i_j^2 and its gradient; infinite where the path does not exist."""
        q, columns = self.path(x)
        if not np.isfinite(q).all():
            return np.inf, np.zeros_like(x)
        v, a, currents = self.motion(q)
        slopes = self._robot.inverse_dynamics_derivatives(q, v, a)
        # derivative of each current by q: directly, through the rate and the acceleration
        weighed = 2.0 / len(q) * currents * self._per_torque
        to_q, to_v, to_a = (np.einsum('kj,kjn->kn', weighed, slope) for slope in slopes)
        along_q = to_q + self._D1.T @ to_v + self._D2.T @ to_a
        along_s = np.einsum('kn,knr->kr', along_q, columns)
        return float((currents**2).sum() / len(q)), (self._spline.T @ along_s).ravel()

    def motion(self, q: Array) -> tuple[Array, Array, Array]:
        """Return v, a and currents of a path."""
        v, a = self._D1 @ q, self._D2 @ q
        return v, a, self._robot.inverse_dynamics(q, v, a) * self._per_torque

    def _pose_errors(self, q: Array) -> tuple[Array, Array]:
        """Return the errors (N, m) from the poses of the start, and S J (N, m, n), body-fixed."""
        gap = se3.log(se3.inverse(self._robot.link_pose(q, self._link)) @ self._poses)
        return gap @ self._S.T, self._S @ self._robot.jacobian(q, self._link, 'body')

    def _null_spaces(self) -> Array:
        """Return bases (N, n, r) of the null spaces, aligned so that they vary slowly."""
        inverses = [WeightedInverse(J) for J in self._pose_errors(self.start)[1]]
        ranks = {inverse.rank for inverse in inverses}
        if len(ranks) > 1:
            raise ArgumentError(
                f'the rank of the task changes along the path, {min(ranks)} to {max(ranks)}: start '
                'from a path without singularities'
            )
        if not inverses[0].null_space.shape[1]:
            raise ArgumentError('the arm is not redundant for this task')
        bases = [inverses[0].null_space]
        for inverse in inverses[1:]:
            U, _, V_T = np.linalg.svd(inverse.null_space.T @ bases[-1])
            bases.append(inverse.null_space @ (U @ V_T))
        return np.array(bases)

    def limits(self) -> list[dict[str, Any]]:
        """Return the limits of position and velocity as constraints for scipy, f(x) >= 0."""
        limits, eye = self._robot.limits, np.eye(len(self.start))
        sides = [
            (eye, limits.upper, -1.0),
            (eye, limits.lower, 1.0),
            (self._D1, limits.velocity, -1.0),
            (self._D1, -limits.velocity, 1.0),
        ]
        return [self._limit(*side) for side in sides if np.isfinite(side[1]).any()]

    def _limit(self, D: Array, bound: Array, sign: float) -> dict[str, Any]:
        """Return sign * (D q - bound) >= 0 for all samples and the joints with a bound."""
        chosen = np.isfinite(bound)

        def gap(x: Array) -> Array:
            return sign * ((D @ self.path(x)[0])[:, chosen] - bound[chosen]).ravel()

        def slope(x: Array) -> Array:
            columns = self.path(x)[1][:, chosen]
            jacobian = np.einsum('kl,ljr,lp->kjpr', D, columns, self._spline)
            return sign * jacobian.reshape(-1, len(x))

        return {'type': 'ineq', 'fun': gap, 'jac': slope}


@dataclass(frozen=True, eq=False)
class CurrentPath:
    """A path of the joints and its currents.

    Attributes
    ----------
    q, v, a, currents : (N, nv) array
        At the samples; currents in A, or in N m and N without torque constants.
    rms : float
        sqrt(mean_k sum_j i_j^2).
    initial_rms : float
        The same for the initial path.
    success : bool
        Whether the optimization converged to a minimum within the limits.
    message : str
    """

    q: Array
    v: Array
    a: Array
    currents: Array
    rms: float
    initial_rms: float
    success: bool
    message: str


def least_current_path(
    robot: PathDynamics,
    q: ArrayLike,
    dt: float,
    link: str,
    *,
    selection: ArrayLike | None = None,
    torque_constants: ArrayLike | None = None,
    knots: int = 6,
    keep_ends: bool = False,
    max_iterations: int = 60,
) -> CurrentPath:
    """Return the path of the joints with the same tool poses and the least RMS current near q.

    Parameters
    ----------
    robot : Robot
        With additive coordinates (no free bodies); rotors and friction are included.
    q : (N, nv)
        Initial path at equal time steps, N >= 6, for example from `resolve_redundancy`.
    dt : float
        Time between samples [s].
    link : str
    selection : (m, 6), optional
        Selected components of the body-fixed displacement of the link; all by default.
    torque_constants : (nv,), optional
        Torque per current at the joint, including the gear [N m/A, N/A]; 1 by default.
    knots : int
        Number of knots of the spline of each null-space coordinate, at least 4; it bounds how fast
        the coordinate can vary.
    keep_ends : bool
        Whether the path starts and ends in the given configurations.
    max_iterations : int
        Largest number of iterations of each search.

    Raises
    ------
    ArgumentError
        If a shape is wrong, a number not finite, the arm is not redundant, or the rank of the task
        changes along the path.
    """
    check_number('dt', dt, positive=True)
    check_count('max_iterations', max_iterations)
    options = dt, link, selection, torque_constants, knots, keep_ends
    best = problem = PathProblem(robot, q, *options)
    initial, radius, success, message = problem.rms, MAX_KNOT, False, 'too many searches'
    for _ in range(SEARCHES):
        found = problem.search(radius, max_iterations)
        if found is None or not found.rms < best.rms:
            radius *= 0.25  # outside the validity of these coordinates, or already at the minimum
            if radius < 1e-4 * MAX_KNOT:
                success, message = found is not None, 'there is no better path nearby'
                break
            continue
        small = best.rms - found.rms < 1e-5 * best.rms
        best = problem = PathProblem(robot, found.path, *options)
        if small and found.success:
            success, message = True, found.message
            break
    return result_of(best, initial, success, message)


def result_of(problem: PathProblem, initial_rms: float, success: bool, message: str) -> CurrentPath:
    """Return the current path of the problem as the result of all searches."""
    v, a, currents = problem.motion(problem.start)
    broken = problem.broken_limit()
    if broken > 1e-6:
        success, message = False, f'a limit is violated by {broken:.3g}; {message}'
    return CurrentPath(problem.start, v, a, currents, problem.rms, initial_rms, success, message)
