# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Kinematic calibration of robot descriptions from measured poses, points or distances.

The errors of the description (`ChainErrors`) are the unknowns of weighted nonlinear least squares,

    minimize  sum_i | W e_i(P) |^2,    W = 1 / standard deviations of the instrument,

solved by the Gauss-Newton method with the singular value decomposition of the stacked W J_P. A
prior adds |P_k / deviation|^2 for each error of the robot, a normal distribution about its nominal
value, so that few measurements cause small corrections. Unidentifiable combinations are determined
first: for every dimension of the null space, one parameter is held at its nominal value, and the
combination is reported.

Source: Bruyninckx 2010 (5.30), section 5.6.1 (C-016 to C-019).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, float_array
from ..description.robot_description import RobotDescription
from ..errors import ArgumentError, UnknownNameError
from ..statistics.least_squares import RANK_TOLERANCE, described, progress
from ..types import Array
from .measurements import Measurements, check_finite
from .target_errors import TARGET, TargetErrors
from .weighted_problem import WeightedProblem, registered_frames

DEFAULT_ESTIMATE = ('axes', 'base', 'target')

MAX_DEVIATION = 0.02  # rad or m


@dataclass(frozen=True, eq=False)
class RobotCalibration:
    """Result of the calibration of a robot description.

    Attributes
    ----------
    description : RobotDescription
        The corrected description.
    origins : {joint: (4, 4) array}
        The <origin> of each corrected joint [m].
    base : (4, 4) array
        Pose of the root in the frame of the instrument [m], estimated or as given.
    links : {target: link}
    targets : {target: (4, 4) array}
        Poses of the targets in the frames of their links [m], estimated or as given.
    scales : {joint: float}
        Estimated scales: the joint moves by (1 + scale) q. A URDF cannot represent them; they must
        be corrected in the driver.
    success : bool
        Whether the corrections have converged. See `misfit` for the agreement of measurements.
    message : str
        Why the iteration stopped, and the parameters that cannot be identified.
    iterations : int
        Gauss-Newton steps, without those of the detection of outliers.
    parameters : tuple of k str
        Estimated parameters: 'elbow_joint.rx', 'base.z' and the like (see `ChainErrors`).
    values : (k,) array
        Corrections of the nominal description [rad, m].
    covariance : (k, k) array
        Covariance to first order, for independent errors with the given deviations [rad, m].
    singular_values : (k,) array
        Singular values of the weighted J_P with normalized columns, in descending order.
    held : tuple of dict
        One combination {parameter: coefficient} for each held parameter, which comes first: it has
        no first-order effect on these measurements.
    residuals_before, residuals_after : (N, d) arrays
        Residuals [rad, m] with the given description (and the best-fit base and target), and with
        the corrected one.
    used, held_out, outliers : tuple of int
        Indices of measurements that were fitted, kept for validation, and excluded as outliers.
    misfit : float
        Root mean square of the weighted residuals of used measurements per degree of freedom: about
        1 if the given deviations are correct; NaN with as many equations as unknowns.
    degrees_of_freedom : float
        Equations minus effective number of parameters, which the prior reduces.
    prior : (k,) array
        Prior standard deviations of `values` [rad, m], infinite without a prior.
    """

    description: RobotDescription
    origins: dict[str, Array]
    base: Array
    links: dict[str, str]
    targets: dict[str, Array]
    scales: dict[str, float]
    success: bool
    message: str
    iterations: int
    parameters: tuple[str, ...]
    values: Array
    covariance: Array
    singular_values: Array
    held: tuple[dict[str, float], ...]
    residuals_before: Array
    residuals_after: Array
    used: tuple[int, ...]
    held_out: tuple[int, ...]
    outliers: tuple[int, ...]
    misfit: float
    degrees_of_freedom: float
    prior: Array

    @property
    def target(self) -> Array:
        """Pose (4, 4) of the only target in the frame of its link [m]."""
        if len(self.targets) > 1:
            raise ArgumentError(f'there are several targets: {", ".join(self.targets)}')
        return next(iter(self.targets.values()))

    @property
    def deviations(self) -> Array:
        """Standard deviations (k,) of `values` [rad, m]."""
        return np.sqrt(np.diag(self.covariance))

    def intervals(self, probability: float = 0.95, *, from_residuals: bool = False) -> Array:
        """Return individual confidence intervals (k, 2) of `values` [rad, m].

        They use the deviations of the instrument (normal distribution), or with `from_residuals`
        the residuals (Student's t), if the deviations are unknown.
        """
        if not 0.0 < probability < 1.0:
            raise ArgumentError(f'probability = {probability} must be between 0 and 1')
        from scipy.stats import norm, t

        level = 0.5 + probability / 2
        half = self.deviations * norm.ppf(level)
        if from_residuals:
            if self.degrees_of_freedom < 1:
                raise ArgumentError('there are as many equations as parameters: no residuals left')
            # ((C^-1 - D) / m^2 + D)^-1: the residuals do not change the precision D of the prior.
            C, m = self.covariance, self.misfit
            added = np.eye(len(C)) + (m**2 - 1.0) * C / self.prior**2
            deviations = m * np.sqrt(np.diag(np.linalg.solve(added, C)))
            half = deviations * t.ppf(level, self.degrees_of_freedom)
        return np.stack([self.values - half, self.values + half], axis=1)


def calibrate_robot(
    description: RobotDescription,
    link: str | Mapping[str, str],
    q: ArrayLike,
    measured: Measurements,
    *,
    targets: Sequence[str] | None = None,
    estimate: Collection[str] = DEFAULT_ESTIMATE,
    base: ArrayLike | None = None,
    target: ArrayLike | None = None,
    fixed: Collection[str] = (),
    held_out: Sequence[int] = (),
    robust: bool = False,
    prior: tuple[float, float] | None = None,
    cutoff: float = RANK_TOLERANCE,
    largest_deviation: float = MAX_DEVIATION,
    tolerance: float = 1e-10,
    max_iterations: int = 30,
) -> RobotCalibration:
    """Return the description that best fits measurements of a target on a link (C-017).

    Parameters
    ----------
    description : RobotDescription
        The nominal description.
    link : str or {target: link}
        The link with the target, or the link of each of several targets.
    q : (N, nq) array
        Configurations of `Robot` [rad, m], many times more than parameters, in a wide range.
    measured : Measurements
        `MeasuredPoses`, `MeasuredPoints` or `MeasuredDistances`, with the deviations of the
        instrument, which are the weights.
    targets : sequence of N str, optional
        The target of each measurement, if there are several.
    estimate : collection of str
        Groups of parameters to estimate: 'axes', 'offsets', 'scales', 'tool' (see `ChainErrors`) of
        the robot, 'base' and 'target' of the set-up.
    base, target : (4, 4) arrays, optional
        Pose of the root in the frame of the instrument, and of the target in the frame of the link
        [m]; the identity by default. If they are estimated and not given, initial values are
        computed from measured poses or points. For several targets no nominal pose can be given.
    fixed : collection of str
        Known parameters, such as 'elbow_joint.rx', or 'elbow_joint' for all parameters of a joint.
    held_out : sequence of int
        Measurements kept for validation: they have residuals, but are not fitted.
    robust : bool
        Whether to detect and exclude outliers (`doubtful`).
    prior : (float, float), optional
        Prior standard deviations of the errors of the robot, angles [rad] and lengths [m]; scales
        have that of the joint position [1]. The prior applies to axes, offsets, scales and tool,
        none of which is held then; base and target have no prior.
    cutoff : float
        Singular values below this fraction of the largest are zero.
    largest_deviation : float
        Parameters with a larger standard deviation [rad, m] are held, because errors of nominal
        values are smaller.
    tolerance : float
        Largest correction [rad, m] at which the iteration has converged.
    max_iterations : int

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN, fewer equations than parameters, nothing to estimate, frames that cannot
        be found, and what `ChainErrors` refuses.
    UnknownNameError
        No such link, group or parameter.

    Examples
    --------
    >>> from screw_dynamics_ros.core.description import read_urdf
    >>> from screw_dynamics_ros.core.calibration import MeasuredPoints
    >>> arm = read_urdf('''<robot name="arm"><link name="base"/><link name="arm"/><link name="tip"/>
    ...   <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/>
    ...     <axis xyz="0 0 1"/></joint>
    ...   <joint name="tip" type="fixed"><parent link="arm"/><child link="tip"/>
    ...     <origin xyz="0.5 0 0"/></joint></robot>''')
    >>> q = np.linspace(-2, 2, 20)[:, None]
    >>> seen = np.stack([0.501 * np.cos(q[:, 0] + 0.01), 0.501 * np.sin(q[:, 0] + 0.01)], axis=1)
    >>> points = MeasuredPoints(np.pad(seen, ((0, 0), (0, 1))), deviation=1e-4)
    >>> result = calibrate_robot(arm, 'tip', q, points, estimate=('offsets', 'tool'))
    >>> dict(zip(result.parameters, (result.values + 0.0).round(5).tolist()))
    {'tool.x': 0.00097, 'tool.y': 0.00501, 'tool.z': 0.0}
    >>> [{name: round(x, 9) for name, x in each.items()} for each in result.held]
    [{'turn.offset': 1.0, 'tool.y': -0.5}]
    >>> known = ('tool.y', 'tool.z')
    >>> result = calibrate_robot(arm, 'tip', q, points, estimate=('offsets', 'tool'), fixed=known)
    >>> dict(zip(result.parameters, result.values.round(9).tolist()))
    {'turn.offset': 0.01, 'tool.x': 0.001}
    """
    for name, value in (
        ('cutoff', cutoff),
        ('largest_deviation', largest_deviation),
        ('tolerance', tolerance),
    ):
        check_number(name, value, positive=True)
    check_number('max_iterations', max_iterations, positive=True)
    for value in prior or ():
        check_number('prior', value, positive=True)
    q = _configurations(q, measured)
    kept = _kept(len(q), held_out)

    links = {TARGET: link} if isinstance(link, str) else dict(link)
    which = _which(links, targets, kept, len(q))
    if target is not None and len(links) > 1:
        raise ArgumentError('target: with several targets there is no nominal pose of one')

    def errors(base: ArrayLike | None, poses: Mapping[str, ArrayLike] | None) -> TargetErrors:
        return TargetErrors(
            description, links, estimate, base, poses, measured.of_base, measured.of_target
        )

    def problem_of(model: TargetErrors) -> WeightedProblem:
        limits = cutoff, largest_deviation, tolerance, max_iterations
        assumed = model.spread_of_errors(*prior or (np.inf, np.inf))
        return WeightedProblem(model, q, which, measured, model.held(fixed), assumed, *limits)

    model = errors(base, None if target is None else dict.fromkeys(links, target))
    seen = measured.part(kept)
    start = registered_frames(
        model, q[kept], which[kept], seen, estimate, base is None, target is None
    )
    # Identifiability depends on the poses of base and target: estimate these first if unknown.
    unknown = ['base'] if base is None else []
    unknown += model.owners if target is None else ()
    model = errors(*start)
    P = problem_of(model).with_frames(kept, unknown)
    model = errors(model.base(P), model.targets(P))
    problem = problem_of(model)
    combinations = problem.hold_unidentifiable(kept, problem.start)
    used, P = kept, problem.start
    if robust:
        used, P = problem.without_outliers(kept)
    P, iterations, converged, fit = problem.solve(used, P)
    # With the corrected robot or fewer measurements, fewer parameters may be identifiable.
    while converged and (more := problem.hold_unidentifiable(used, P)):
        combinations += more
        P[[k for k in range(len(P)) if k not in problem.free]] = 0.0
        P, steps, converged, fit = problem.solve(used, P)
        iterations += steps
    after = problem.residuals(P)
    free = problem.free
    weighted = after[used] / measured.deviations
    assumed = problem.prior[free]
    # The trace of the hat matrix, which is the rank without a prior.
    fitted = fit.rank - float(np.sum(np.diag(fit.covariance) / assumed**2))
    freedoms = weighted.size - fitted
    return RobotCalibration(
        model.corrected(P),
        model.origins(P),
        model.base(P),
        links,
        model.targets(P),
        model.scales(P),
        converged,
        _message(converged, iterations, tolerance, combinations, measured.kind),
        iterations,
        tuple(model.names[k] for k in free),
        P[free],
        fit.covariance,
        fit.s,
        combinations,
        problem.residuals(problem.with_frames(used, ('base', *model.owners))),
        after,
        tuple(used),
        tuple(sorted(set(held_out))),
        tuple(sorted(set(kept) - set(used))),
        float(np.sqrt(np.sum(weighted**2) / freedoms)) if freedoms > 0 else np.nan,
        freedoms,
        assumed,
    )


def _configurations(q: ArrayLike, measured: Measurements) -> Array:
    q = float_array('q', q)
    if q.ndim != 2 or len(q) != len(measured):
        raise ArgumentError(
            f'{len(measured)} measured {measured.kind}, but q has shape {q.shape}; give one row '
            'for each'
        )
    check_finite('q', q)
    return q


def _which(
    links: Mapping[str, str], targets: Sequence[str] | None, kept: Sequence[int], count: int
) -> Array:
    """Return the index of the target of each measurement."""
    names = list(links)
    if targets is None and len(names) == 1:
        return np.zeros(count, dtype=int)
    if targets is None or len(targets) != count:
        raise ArgumentError(
            f'targets: name that of each of the {count} measurements, of {", ".join(names)}'
        )
    for name in targets:
        if name not in links:
            raise UnknownNameError(f'there is no target {name!r}; there are {", ".join(names)}')
    missing = set(names) - {targets[row] for row in kept}
    if missing:
        raise ArgumentError(
            f'no measurement of target {min(missing)} is fitted; measure each target in several '
            'poses of the robot, or leave it out'
        )
    return np.array([names.index(name) for name in targets])


def _kept(count: int, held_out: Sequence[int]) -> list[int]:
    """Return the measurements to fit."""
    wrong = [row for row in held_out if not 0 <= row < count]
    if wrong:
        raise ArgumentError(f'held_out: there are {count} measurements, none is number {wrong[0]}')
    return [row for row in range(count) if row not in set(held_out)]


def _message(
    converged: bool,
    iterations: int,
    tolerance: float,
    combinations: tuple[dict[str, float], ...],
    kind: str,
) -> str:
    parts = [progress(converged, iterations, tolerance)]
    if combinations:
        held = ', '.join(next(iter(combination)) for combination in combinations)
        parts.append(
            f'held at their nominal values: {held}, because these {kind} do not determine '
            + ', nor '.join(map(described, combinations))
        )
    return '; '.join(parts)
