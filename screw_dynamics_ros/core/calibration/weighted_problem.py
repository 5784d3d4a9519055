# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Weighted least squares of `calibrate_robot` for subsets of measurements and parameters.

Poses of the instrument and the target in closed form are initial values of the fit. The measured
pose of a target is base T_i target, with the known pose T_i of a link and arbitrary base and target
("robot-world and hand-eye calibration"). Errors of the robot cause small residuals, which the
subsequent fit explains.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ..errors import ArgumentError
from ..lie import se3
from ..lie.orientations import nearest_rotation
from ..statistics.least_squares import Fit, doubtful, huber_weights
from ..types import Array
from .measurements import MeasuredPoints, MeasuredPoses, Measurements
from .target_errors import TargetErrors

#: Ratio of singular values below which rotations or points do not determine the frames.
DEGENERACY_TOLERANCE = 1e-6
MAX_OUTLIER_ROUNDS = 10  # rounds of excluding measurements


def register_frames(T: Array, measured: Array) -> tuple[Array, Array]:
    """Return base and target (4, 4) with measured_i = base T_i target, T and measured (N, 4, 4).

    The rotations maximize sum tr(R_measured^T R_base R_i R_target): they are the singular vectors
    of the largest singular value of the sum of Kronecker products R_measured,i (x) R_i. The
    positions follow by linear least squares.

    Raises ArgumentError if the rotations of T have fewer than two axes.

    Source: Shah 2013, *Solving the robot-world/hand-eye calibration problem using the Kronecker
    product*, Journal of Mechanisms and Robotics 5(3).
    """
    R, S = T[:, :3, :3], measured[:, :3, :3]
    K = np.einsum('nij,nkl->ikjl', S, R).reshape(9, 9)
    U, s, V_T = np.linalg.svd(K)
    # vec(R_base) and vec(R_target^T), up to a common sign, which the determinants fix.
    if s[0] - s[1] < DEGENERACY_TOLERANCE * s[0]:
        raise ArgumentError(
            'the measured poses do not separate base and target: rotate the link about at least '
            'two different axes, or give the pose of one of them'
        )
    base, target = U[:, 0].reshape(3, 3), V_T[0].reshape(3, 3).T
    sign = np.sign(np.linalg.det(base))
    base, target = nearest_rotation(sign * base), nearest_rotation(sign * target.T).T
    # r_measured = R_base (R_i r_target + r_i) + r_base
    A = np.concatenate([base @ R, np.broadcast_to(np.eye(3), R.shape)], axis=2).reshape(-1, 6)
    b = measured[:, :3, 3] - T[:, :3, 3] @ base.T
    x, _, rank, _ = np.linalg.lstsq(A, b.ravel(), rcond=DEGENERACY_TOLERANCE)
    if rank < 6:
        raise ArgumentError(
            'the measured poses do not determine the positions of base and target; rotate the link '
            'about at least two different axes'
        )
    return se3.pose(base, x[3:]), se3.pose(target, x[:3])


def register_points(points: Array, measured: Array) -> Array:
    """Return the pose (4, 4) of a frame from points (N, 3) in it and their measurements (N, 3).

    Least squares in closed form: the rotation nearest to the correlation of both (Kabsch).

    Raises ArgumentError if the points are on one line.

    >>> x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> register_points(x, x @ se3.exp([0, 0, np.pi / 2, 0, 0, 0])[:3, :3].T + 1).round(6) + 0.0
    array([[ 0., -1.,  0.,  1.],
           [ 1.,  0.,  0.,  1.],
           [ 0.,  0.,  1.,  1.],
           [ 0.,  0.,  0.,  1.]])
    """
    center, seen = points.mean(axis=0), measured.mean(axis=0)
    K = (measured - seen).T @ (points - center)
    U, s, V_T = np.linalg.svd(K)
    if s[1] <= DEGENERACY_TOLERANCE * s[0]:
        raise ArgumentError(
            'the measured points are on one line, which does not determine the pose of the base; '
            'distribute them, or give that pose'
        )
    R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ V_T)]) @ V_T
    return se3.pose(R, seen - R @ center)


class WeightedProblem:
    """Residuals of measurements, divided by their deviations, as a function of parameters.

    Attributes
    ----------
    free : list of int
        The estimated parameters of the model; the others are zero.
    start : (k,) array
        All parameters zero: the nominal robot.
    prior : (k,) array
        Prior standard deviations of the parameters [rad, m], infinite without prior knowledge.
    """

    def __init__(
        self,
        model: TargetErrors,
        q: Array,
        which: Array,
        measured: Measurements,
        fixed: set[str],
        prior: Array,
        cutoff: float,
        largest_deviation: float,
        tolerance: float,
        max_iterations: int,
    ) -> None:
        self.model, self.q, self.which, self.measured = model, q, which, measured
        self.cutoff, self.largest_deviation = cutoff, largest_deviation
        self.tolerance, self.most = tolerance, max_iterations
        self.free = [k for k, name in enumerate(model.names) if name not in fixed]
        self.start = np.zeros(len(model.names))
        self.prior = prior

    def residuals(self, P: Array) -> Array:
        """Return e (N, d) of all measurements."""
        return self.measured.residuals(self.model.pose(self.q, P, self.which))

    def linearized(self, P: Array, rows: Sequence[int], free: Sequence[int]) -> tuple[Array, Array]:
        """Return weighted e (n, d) and A (n, d, k)."""
        rows = list(rows)
        T, J = self.model.predicted(self.q[rows], P, self.which[rows])
        e, A = self.measured.part(rows).linearized(T, J)
        weights = 1.0 / self.measured.deviations
        with np.errstate(over='ignore'):  # reported below
            e, A = weights * e, weights[:, None] * A[..., free]
        if not (np.isfinite(e).all() and np.isfinite(A).all()):
            raise ArgumentError(
                'the corrections diverge: check names and units of joints and measurements, or '
                'start nearer with base and target'
            )
        return e, A

    def fit(
        self, e: Array, A: Array, P: Array, free: Sequence[int], largest_deviation: float = np.inf
    ) -> tuple[Fit, Array]:
        """Return the fit of weighted e (n, d), A (n, d, k) with the prior, and its step (k,)."""
        known = [i for i, k in enumerate(free) if np.isfinite(self.prior[k])]
        precision = (1.0 / self.prior[free])[:, None] * np.eye(len(free))
        rows = np.concatenate([A.reshape(e.size, -1), precision[known]])
        fit = Fit(rows, self.cutoff, largest_deviation)
        return fit, fit.solve(np.concatenate([e.ravel(), -(P[free] / self.prior[free])[known]]))

    def hold_unidentifiable(self, rows: Sequence[int], P: Array) -> tuple[dict[str, float], ...]:
        """Remove parameters from `free` until the others are identifiable near P.

        Returns a combination for each removed parameter, which comes first.
        """
        free = self.free
        equations = len(rows) * self.measured.deviations.size
        equations += int(np.isfinite(self.prior[free]).sum())
        if not free or equations < len(free):
            raise ArgumentError(
                f'{len(rows)} {self.measured.kind} give {equations} equations for {len(free)} '
                'parameters; measure more, many times as many equations as unknowns, estimate at '
                'least one parameter, or give a prior'
            )
        e, A = self.linearized(P, rows, free)
        fit, _ = self.fit(e, A, P, free, self.largest_deviation)
        preference = self.model.preference[free]
        names = [self.model.names[k] for k in free]
        pivots, _ = fit.null_basis(preference)
        found = fit.combinations(names, preference)
        self.free = [k for i, k in enumerate(free) if i not in pivots]
        if not self.free:
            raise ArgumentError(
                f'these {self.measured.kind} do not depend on {", ".join(names)}; move the joints'
            )
        return tuple(
            {names[p]: combination[names[p]]} | combination for p, combination in zip(pivots, found)
        )

    def solve(
        self, rows: Sequence[int], P: Array, free: Sequence[int] | None = None
    ) -> tuple[Array, int, bool, Fit]:
        """Return P (k,), the Gauss-Newton steps from P, whether they converged, and the fit."""
        chosen = self.free if free is None else list(free)
        iterations, converged = 0, False
        while not converged and iterations < self.most:
            e, A = self.linearized(P, rows, chosen)
            fit, step = self.fit(e, A, P, chosen)
            P = P.copy()
            P[chosen] += step
            iterations += 1
            converged = bool(np.abs(step).max() < self.tolerance)
        return P, iterations, converged, fit

    def with_frames(self, rows: Sequence[int], owners: Collection[str]) -> Array:
        """Return P (k,) with the frames in `owners` (base, targets) fitted to the nominal robot."""
        frames = [k for k in self.free if self.model.names[k].rpartition('.')[0] in owners]
        return self.solve(rows, self.start, frames)[0] if frames else self.start

    def without_outliers(self, rows: Sequence[int]) -> tuple[list[int], Array]:
        """Return the measurements without outliers, and P fitted to them (see `doubtful`)."""
        P = self.start
        for _ in range(self.most):
            e, A = self.linearized(P, rows, self.free)
            weights = np.sqrt(huber_weights(e))[:, None]
            _, step = self.fit(weights * e, weights[..., None] * A, P, self.free)
            P = P.copy()
            P[self.free] += step
            if np.abs(step).max() < self.tolerance:
                break
        used = list(rows)
        for _ in range(MAX_OUTLIER_ROUNDS):
            e = self.residuals(P)[list(rows)] / self.measured.deviations
            agreeing = [row for row, wrong in zip(rows, doubtful(e)) if not wrong]
            if agreeing == used:
                break
            used = agreeing
            if len(used) * e.shape[1] < len(self.free):
                raise ArgumentError(
                    f'only {len(used)} of {len(rows)} {self.measured.kind} agree, too few for '
                    f'{len(self.free)} parameters; check names and units of the joints, or raise '
                    'the deviations'
                )
            P = self.solve(used, P)[0]
        return used, P


def registered_frames(
    model: TargetErrors,
    q: Array,
    which: Array,
    measured: Measurements,
    estimate: Collection[str],
    free_base: bool,
    free_target: bool,
) -> tuple[Array, dict[str, Array]]:
    """Return initial poses of base and targets, computed by registration if unknown."""
    P = np.zeros(len(model.names))
    base, targets = model.base(P), model.targets(P)
    if not ('base' in estimate and free_base):
        return base, targets
    T = model.pose(q, P, which)
    if isinstance(measured, MeasuredPoses) and 'target' in estimate and free_target:
        most = np.bincount(which) == np.bincount(which).max()
        own = which == np.flatnonzero(most)[0]
        base, _ = register_frames(T[own], measured.values[own])
        on_link = se3.inverse(T) @ se3.inverse(base) @ measured.values
        return base, {
            name: _mean_pose(on_link[which == number]) for number, name in enumerate(targets)
        }
    if isinstance(measured, MeasuredPoses):
        return register_points(*_tripods(T, measured.values)), targets
    if isinstance(measured, MeasuredPoints):
        return register_points(T[:, :3, 3], measured.values), targets
    return base, targets


def _mean_pose(C: Array) -> Array:
    """Return the mean (4, 4) of similar poses (N, 4, 4)."""
    return se3.pose(nearest_rotation(C[:, :3, :3].mean(axis=0)), C[:, :3, 3].mean(axis=0))


def _tripods(T: Array, measured: Array) -> tuple[Array, Array]:
    """Return the points (4 N, 3) of frames: their origins and the ends of their axes of 1 m."""
    first, second = (
        np.concatenate([C[:, None, :3, 3], C[:, None, :3, 3] + np.swapaxes(C[:, :3, :3], 1, 2)], 1)
        for C in (T, measured)
    )
    return first.reshape(-1, 3), second.reshape(-1, 3)
