# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Comparison of a model with recordings, and its changes since it was identified.

The torques of each joint are those of the model, whose friction f is separate, with three changes::

    tau - tau_model = scale (tau_model - f) + friction f - offset

by least squares, with the intervals of the `jackknife`. Their intervals in the recordings of the
identification, in which they are nearly zero, are those that it states. A joint has drifted if a
change in other recordings exceeds `DRIFT` times both intervals, and is large enough to matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..description.motor_coupling import motor_coupling
from ..description.rigid_body import RigidBody
from ..description.robot_description import Finding, RobotDescription
from ..errors import ArgumentError
from ..motion.trajectory.motion import Motion
from ..motion.trajectory.required_efforts import required_efforts
from ..robot.robot import Robot
from ..statistics.intervals import between
from ..statistics.jackknife import jackknife, state_classes, time_blocks
from ..statistics.least_squares import Fit
from ..types import Array
from .effort_delay import shifted_efforts
from .filtering import chosen_cutoff, needed_time, pieces
from .findings import LARGE_OFFSET, MIN_R2, torque_findings
from .recording import JointRecording, checked, inspected, moving
from .result import Torques, quantiles

#: What changes: shares of the efforts and of friction, and the offset of efforts [N m, N].
CHANGES = ('scale', 'friction', 'offset')
DRIFT = 1.5  # of the half width of the 95 % interval of a change
#: Smallest drift: of friction, and of the root mean square torque by a scale or an offset.
MIN_FRICTION_CHANGE, MIN_TORQUE_CHANGE = 0.15, 0.05
MAX_SCALE_CHANGE = 0.5  # larger ones are other signs and units
RANK_TOLERANCE = 1e-3  # of the columns of changes

AT_REST = Finding(
    'info',
    'recordings',
    'no joint moves: gravity and offsets of efforts are compared, up to dry friction; inertias, '
    'armatures and friction are not tested',
)


@dataclass(frozen=True, eq=False)
class ModelCheck:
    """Comparison of a model with recordings, for each joint.

    Attributes
    ----------
    description : RobotDescription
    joint_names : tuple of n str
    torques : Torques
        `measured` and `identified`, the model; `nominal` is NaN.
    moves : (n,) array of bool
    R2 : (n,) array
        1 - mean square of residuals / variance of the measured torques; NaN without efforts.
    torque, residual, offset : (n,) arrays
        Root mean squares of measured torques and of residuals, and the mean residual [N m, N].
    findings : tuple of Finding
    cutoff : float
        Cutoff of the filter [Hz].
    changes, half_widths : (n, 3) arrays
        `CHANGES` of moving joints, and half widths of their 95 % intervals; NaN if unknown.
    """

    description: RobotDescription
    joint_names: tuple[str, ...]
    torques: Torques
    moves: NDArray[np.bool_]
    R2: Array
    torque: Array
    residual: Array
    offset: Array
    findings: tuple[Finding, ...]
    cutoff: float
    changes: Array
    half_widths: Array

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Joints that move and whose efforts the model does not explain: R2 below 0.8."""
        poor = self.moves & (self.R2 < MIN_R2)  # not if NaN
        return tuple(name for name, each in zip(self.joint_names, poor) if each)


def check_model(
    robot: Robot,
    recordings: Sequence[JointRecording],
    cutoff: float | None = None,
    payloads: Mapping[str, RigidBody] | None = None,
    delay: float = 0.0,
    measured_velocities: bool = False,
    stated: Array | None = None,
) -> ModelCheck:
    """Return how well a robot with its drives explains recorded torques, and its drift.

    Parameters
    ----------
    robot : Robot
    recordings : sequence of JointRecording
        With torques [N m, N] instead of efforts.
    cutoff : float, optional
        Cutoff of the filter [Hz]; by default from the bandwidth of the motion.
    payloads : {link: RigidBody}, optional
        Payloads of all recordings, in addition to those of each recording.
    delay : float
        Delay of efforts relative to positions of the same stamp [s].
    measured_velocities : bool
        Whether to use the recorded velocities.
    stated : (n, 3) array, optional
        `ModelCheck.half_widths` of the recordings of the identification; NaN if unknown.

    Raises
    ------
    ArgumentError
        As `identify_dynamics`.
    """
    runs, faults = inspected(
        [checked(each, robot) for each in recordings], robot, measured_velocities
    )
    moves = moving(runs)
    if not moves.any():
        faults.append(AT_REST)
    cutoff = cutoff or chosen_cutoff(runs)
    runs = [shifted_efforts(run, delay) if delay else run for run in runs]
    torques, states = _torques(robot, runs, cutoff, payloads or {}, measured_velocities)
    e = torques.measured - torques.identified
    variance = np.maximum(np.var(torques.measured, axis=0), 1e-300)
    # At rest dry friction carries any part of the torque up to its level.
    stuck = np.array([robot.drives[name].stiction for name in robot.joint_names]) * ~moves
    names, size = robot.joint_names, np.sqrt(np.mean(torques.measured**2, axis=0))
    R2, offset = 1.0 - np.mean(e**2, axis=0) / variance, e.mean(axis=0)
    changes, half_widths, sizes, left = _changes(torques, states, moves)
    least = LARGE_OFFSET * size
    drifted: list[Finding] = []
    if stated is not None:
        half, change = np.hypot(half_widths, stated), np.abs(changes)
        least_change = MIN_TORQUE_CHANGE * size[:, None] / sizes
        least_change[:, CHANGES.index('friction')] = MIN_FRICTION_CHANGE
        # efforts that changes do not explain have other faults
        explained = (left <= (1.0 - MIN_R2) * variance) & ~(change[:, 0] > MAX_SCALE_CHANGE)
        certain = explained[:, None] & (change > np.maximum(DRIFT * half, least_change))
        drifted = [*_drift(names, changes, half, certain)]
        at_rest = np.where(moves, np.inf, DRIFT * stated[:, CHANGES.index('offset')])
        least = np.fmin(least, at_rest)
    return ModelCheck(
        robot.description,
        names,
        torques,
        moves,
        R2,
        size,
        np.sqrt(np.mean(e**2, axis=0)),
        offset,
        (
            *faults,
            *torque_findings(names, torques, moves, 'recorded'),
            *drifted,
            *(
                Finding.warning(
                    f'joint {name}',
                    f'efforts are off by {each:.3g} N m or N, of {rms:.3g} (rms)',
                    f'add {-each:.4g} to effort_offset',
                )
                for name, each, rms, level in zip(names, offset, size, least + stuck)
                if abs(each) > level  # not if NaN
            ),
        ),
        cutoff,
        changes,
        half_widths,
    )


def _changes(
    torques: Torques, states: tuple[Array, ...], moves: NDArray[np.bool_]
) -> tuple[Array, Array, Array, Array]:
    """Return `CHANGES`, half widths, torques of a change of 1 (n, 3), mean squares left (n,).

    `states` are the friction of the model, positions, velocities and accelerations, (M, n) each.
    """
    friction, q, v, a = states
    load = torques.identified - friction
    e = torques.measured - torques.identified
    classes = state_classes(v, a, load)
    blocks = time_blocks(torques.t, torques.part, np.hstack([q, v]))
    changes, half_widths, sizes = np.full((3, len(moves), len(CHANGES)), np.nan)
    left = np.full(len(moves), np.nan)
    for i in np.flatnonzero(moves & ~np.isnan(e).any(axis=0)).tolist():
        A = np.stack([load[:, i], friction[:, i], -np.ones(len(e))], axis=1)
        there = np.flatnonzero(A.any(axis=0))
        fit = Fit(A[:, there], RANK_TOLERANCE)
        if fit.rank < len(there):
            continue
        x = changes[i, there] = fit.solve(e[:, i])
        r = e[:, i] - A[:, there] @ x
        covariance, freedom = jackknife(fit.U, r, [classes[:, i], blocks], fit.factor)
        half_widths[i, there] = quantiles(0.95, freedom) * np.sqrt(covariance.diagonal())
        sizes[i, there], left[i] = np.sqrt(np.mean(A[:, there] ** 2, axis=0)), np.mean(r**2)
    return changes, half_widths, sizes, left


def _drift(
    joints: Sequence[str], changes: Array, half_widths: Array, certain: NDArray[np.bool_]
) -> Iterator[Finding]:
    """Yield a finding for each joint with certain changes, (n, 3) each."""
    for i in np.flatnonzero(certain.any(axis=1)).tolist():
        drifted = [
            f'{name} by {between(x, half)} N m or N'
            if name == 'offset'
            else f'{name} by {between(100.0 * x, 100.0 * half)} %'
            for name, x, half, is_certain in zip(CHANGES, changes[i], half_widths[i], certain[i])
            if is_certain
        ]
        yield Finding.warning(
            f'joint {joints[i]}',
            f'has drifted since it was identified: {", ".join(drifted)}',
            'check the payload; identify again, and fit residuals (residual_map) again',
        )


def _torques(
    robot: Robot,
    runs: Sequence[JointRecording],
    cutoff: float,
    payloads: Mapping[str, RigidBody],
    measured_velocities: bool,
) -> tuple[Torques, tuple[Array, ...]]:
    """Return filtered torques of recordings and model, and the states of `_changes`."""
    parts: list[list[Array]] = []
    numbers: list[int] = []
    to_motors = np.linalg.inv(motor_coupling(robot.joint_names, robot.drives))
    for number, run in enumerate(runs):
        carried = {**payloads, **run.payloads}
        for piece in pieces(run, cutoff, measured_velocities):
            motion = Motion(piece.t, piece.q, piece.v, piece.a)
            load, model = (
                required_efforts(robot, motion, carried, friction=each) @ to_motors
                for each in (False, True)
            )
            numbers.append(number)
            rows = piece.t, piece.tau, model, model - load, piece.q, piece.v, piece.a
            parts.append([piece.low_pass(each) for each in rows])
    if not parts:
        raise ArgumentError(
            f'too short: a cutoff of {cutoff:.3g} Hz needs at least {needed_time(cutoff):.3g} s '
            'without gaps; record longer, or raise the cutoff'
        )
    t, measured, model, *states = (np.concatenate(each) for each in zip(*parts))
    part = np.concatenate([np.full(len(each[0]), k) for k, each in enumerate(parts)])
    recording = np.array(numbers)[part]
    model = np.where(np.isnan(measured), np.nan, model)
    none = np.full_like(model, np.nan)
    torques = Torques(
        t, part, np.zeros(len(t), dtype=bool), measured, model, none, measured, recording
    )
    return torques, tuple(states)
