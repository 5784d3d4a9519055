# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Kinematic calibration: the constants of a link table from measured poses of the last body.

An error of a constant acts as a virtual joint, which moves all bodies beyond it along a screw. To
first order the displacement from the modeled to the measured pose is linear in the errors P,

    log(T_model^-1 T_measured) = J_P P                                            (5.30)

with these screws in the frame of the last body as the columns of J_P. The corrections are the
weighted least-squares solution for all poses, iterated by the Gauss-Newton method. The singular
values of the weighted J_P show unidentifiable combinations, which are not corrected.

Calibrated chains have no special geometry: their inverse kinematics is numerical
(`Robot.from_geometry(table)`, then `inverse_kinematics` from the nominal solution, B-133).

Source: Bruyninckx 2010 (5.30), section 5.6.1 (B-132).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, float_array
from ..errors import ArgumentError, UnknownNameError
from ..kinematics.link_table import Z_SCREWS, LinkTable
from ..lie import screws, se3
from ..lie._arrays import check_pose
from ..statistics.least_squares import RANK_TOLERANCE, Fit, described, progress
from ..types import Array
from .measurements import DISPLACEMENTS, MeasuredPoints, MeasuredPoses, Measurements, check_finite


@dataclass(frozen=True, eq=False)
class Calibration:
    """Result of the calibration of a link table.

    Attributes
    ----------
    table : LinkTable
        The corrected table; its `findings` name nearly parallel axes.
    success : bool
        Whether the corrections have converged. See `misfit` for the agreement of the poses.
    message : str
        Why the iteration stopped, and the parameters that cannot be identified.
    iterations : int
        Gauss-Newton steps.
    residuals_before, residuals_after : (N, 6) or (N, 3) array
        log(T_model^-1 T_measured) of each pose [rad, m] for the given and the corrected table; for
        measured points the displacement [m]; in the axes of the last body.
    misfit : float
        Root mean square of the weighted residuals after calibration, per degree of freedom: about 1
        if the given deviations are correct; NaN if there are as many equations as unknowns.
    parameters : tuple of k str
        'joint.constant', 'base.rx', 'tool.x' and the like.
    covariance : (k, k) array
        Covariance of the parameters [rad, m], to first order, for independent errors with the given
        deviations; without the infinite part along the unidentifiable combinations.
    deviations : (k,) array
        Standard deviations; infinite for parameters in an unidentifiable combination.
    singular_values : (k,) array
        Singular values of the weighted J_P with columns of unit length, in descending order.
    rank : int
        Number of singular values above the cut-off.
    unidentifiable : tuple of k - rank dict
        Combinations {parameter: coefficient} without first-order effect on the measured poses. The
        corrections have no component along them, in the metric of the singular values.
    """

    table: LinkTable
    success: bool
    message: str
    iterations: int
    residuals_before: Array
    residuals_after: Array
    misfit: float
    parameters: tuple[str, ...]
    covariance: Array
    deviations: Array
    singular_values: Array
    rank: int
    unidentifiable: tuple[dict[str, float], ...]


def error_jacobian(table: LinkTable, q: ArrayLike) -> tuple[tuple[str, ...], Array]:
    """Return the names of all k parameters and J_P (..., 6, k) for q (..., n) (5.30).

    Columns are twists of the last body in its own axes, (rad, m) for a unit of the parameter:
    T(P + dP) = T(P) exp(J_P dP) to first order. Base and tool have six each.
    """
    q = np.asarray(q, dtype=np.float64)
    if q.ndim == 0 or q.shape[-1] != len(table.rows):
        raise ArgumentError(f'q must have shape (..., {len(table.rows)}), got {q.shape}')
    columns: dict[str, Array] = {}

    def add(owner: str, moved: dict[str, Array], C: Array) -> None:
        for name, X in moved.items():
            columns[f'{owner}.{name}'] = screws.inverse_transform_twist(C, X)

    displacements = dict(zip(DISPLACEMENTS, np.eye(6)))
    # C is the pose of the last body in the current frame, from the tool inward.
    add('tool', displacements, np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4)))
    C = np.broadcast_to(table.tool, (*q.shape[:-1], 4, 4))
    for i, (name, row) in reversed(list(enumerate(zip(table.names, table.rows)))):
        before, after = row.error_screws
        add(name, after, C)
        C = se3.exp_unit_screw(Z_SCREWS[row.joint], q[..., i]) @ row.after @ C
        add(name, before, C)
        C = row.before @ C
    add('base', displacements, C)
    return tuple(columns), np.stack(list(columns.values()), axis=-1)


def corrected(table: LinkTable, corrections: dict[str, float]) -> LinkTable:
    """Return the table with corrections [rad, m] added to its constants.

    Base and tool are displaced in their own axes by the exponential of their six parameters. Raises
    UnknownNameError for an unknown parameter.
    """
    ends = {'base': np.zeros(6), 'tool': np.zeros(6)}
    rows = dict(zip(table.names, table.rows))
    for parameter, correction in corrections.items():
        owner, _, name = parameter.rpartition('.')
        if owner in ends and name in DISPLACEMENTS:
            ends[owner][DISPLACEMENTS.index(name)] += correction
        elif owner in rows and name in rows[owner].parameters():
            change: dict[str, Any] = {name: rows[owner].parameters()[name] + float(correction)}
            rows[owner] = replace(rows[owner], **change)
        else:
            raise UnknownNameError(f'the table has no parameter {parameter!r}')
    base, tool = table.base @ se3.exp(ends['base']), table.tool @ se3.exp(ends['tool'])
    return LinkTable(rows.values(), base, tool, table.names)


def calibrate(
    table: LinkTable,
    q: ArrayLike,
    measured: ArrayLike,
    *,
    rotation_deviation: float,
    position_deviation: float,
    estimate_base: bool = False,
    estimate_tool: bool = False,
    fixed: Sequence[str] = (),
    cutoff: float = RANK_TOLERANCE,
    tolerance: float = 1e-10,
    max_iterations: int = 20,
) -> Calibration:
    """Return the table that best fits measured poses (B-132).

    Parameters
    ----------
    table : LinkTable
        The nominal table, with `HayatiRobertsRow` for nearly parallel axes (`LinkTable.of(chain,
        automatic)`), because small changes of an axis must cause small changes of constants.
    q : (N, n) array
        Joint positions [rad, m], spread over the workspace, N much larger than needed.
    measured : (N, 4, 4) or (N, 3) array
        Poses of the last body in the root frame [m], or positions of its origin alone.
    rotation_deviation, position_deviation : float
        Standard deviations of the measurement for each axis [rad], [m]; equations are divided by
        them. There is no natural weight of rotations relative to translations, hence no default;
        the first one is ignored for measured points.
    estimate_base, estimate_tool : bool
        Whether the poses of base and tool are also unknown.
    fixed : sequence of str
        Known parameters, for example 'joint2.h'.
    cutoff : float
        Singular values below this fraction of the largest are zero (see `Calibration`).
    tolerance : float
        Largest correction [rad, m] at which the iteration has converged.
    max_iterations : int

    Raises
    ------
    ArgumentError
        Wrong shapes, NaN, measured poses that are not rigid motions, fewer equations than unknowns,
        nothing left to estimate, deviations or limits that are not positive.
    UnknownNameError
        `fixed` names a parameter the table does not have.
    """
    q, measured = _checked(table, q, measured)
    for name, value in (
        ('rotation_deviation', rotation_deviation),
        ('position_deviation', position_deviation),
        ('cutoff', cutoff),
        ('tolerance', tolerance),
        ('max_iterations', max_iterations),
    ):
        check_number(name, value, positive=True)
    _check_names(table)
    seen: Measurements = (
        MeasuredPoints(measured, position_deviation)
        if measured.ndim == 2
        else MeasuredPoses(measured, rotation_deviation, position_deviation)
    )
    weights = 1.0 / seen.deviations

    every, _ = error_jacobian(table, q[:0])
    for name in fixed:
        if name not in every:
            raise UnknownNameError(f'fixed: the table has no parameter {name!r}')
    left_out = {*fixed}
    for end, estimated in (('base', estimate_base), ('tool', estimate_tool)):
        left_out |= set() if estimated else {f'{end}.{name}' for name in DISPLACEMENTS}
    chosen = [k for k, name in enumerate(every) if name not in left_out]
    names = tuple(every[k] for k in chosen)
    equations = len(q) * len(weights)
    if not names or equations < len(names):
        raise ArgumentError(
            f'{len(q)} measurements give {equations} equations for {len(names)} parameters; '
            'measure more poses, many times as many equations as unknowns, and estimate at least '
            'one parameter'
        )

    before = seen.residuals(table.pose(q))
    iterations, converged = 0, False
    while not converged and iterations < max_iterations:
        e, A = seen.linearized(table.pose(q), error_jacobian(table, q)[1])
        fit = Fit((weights[:, None] * A[..., chosen]).reshape(equations, -1), cutoff)
        step = fit.solve((weights * e).ravel())
        table = corrected(table, dict(zip(names, step.tolist())))
        iterations += 1
        converged = bool(np.abs(step).max() < tolerance)
    after = seen.residuals(table.pose(q))

    freedoms = equations - fit.rank
    combinations = fit.combinations(names)
    involved = np.isin(names, [name for combination in combinations for name in combination])
    deviations = np.where(involved, np.inf, np.sqrt(np.diag(fit.covariance)))
    return Calibration(
        table,
        converged,
        _message(converged, iterations, combinations, tolerance),
        iterations,
        before,
        after,
        float(np.sqrt(np.sum((weights * after) ** 2) / freedoms)) if freedoms else np.nan,
        names,
        fit.covariance,
        deviations,
        fit.s,
        fit.rank,
        combinations,
    )


def _checked(table: LinkTable, q: ArrayLike, measured: ArrayLike) -> tuple[Array, Array]:
    q, measured = float_array('q', q), float_array('measured', measured)
    n = len(table.rows)
    if q.ndim != 2 or q.shape[1] != n:
        raise ArgumentError(f'q must have shape (N, {n}), one row for each pose, got {q.shape}')
    if measured.shape not in ((len(q), 4, 4), (len(q), 3)):
        raise ArgumentError(
            f'measured must have shape ({len(q)}, 4, 4) or ({len(q)}, 3), as many as rows of q, '
            f'got {measured.shape}'
        )
    check_finite('q', q)
    check_finite('measured', measured)
    if measured.ndim == 3:
        check_pose('measured', measured)
    return q, measured


def _check_names(table: LinkTable) -> None:
    names = [*table.names, 'base', 'tool']
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(
                f'the table calls a joint {name!r}, the name of another joint or of an end of the '
                'chain; give unique names'
            )


def _message(
    converged: bool,
    iterations: int,
    combinations: tuple[dict[str, float], ...],
    tolerance: float,
) -> str:
    parts = [progress(converged, iterations, tolerance)]
    if combinations:
        parts.append('these poses do not determine ' + ', '.join(map(described, combinations)))
    return '; '.join(parts)
