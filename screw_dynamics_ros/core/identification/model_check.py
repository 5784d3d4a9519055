# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Comparison of a model with recordings, without a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from ..types import Array
from .effort_delay import shifted_efforts
from .filtering import chosen_cutoff, needed_time, pieces
from .findings import LARGE_OFFSET, MIN_R2, torque_findings
from .recording import JointRecording, checked, inspected, moving
from .result import Torques

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
) -> ModelCheck:
    """Return how well a robot with its drives explains recorded torques.

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
    torques = _torques(robot, runs, cutoff, payloads or {}, measured_velocities)
    e = torques.measured - torques.identified
    variance = np.maximum(np.var(torques.measured, axis=0), 1e-300)
    # At rest dry friction carries any part of the torque up to its level.
    stuck = np.array([robot.drives[name].stiction for name in robot.joint_names]) * ~moves
    names, size = robot.joint_names, np.sqrt(np.mean(torques.measured**2, axis=0))
    offset = e.mean(axis=0)
    return ModelCheck(
        robot.description,
        names,
        torques,
        moves,
        1.0 - np.mean(e**2, axis=0) / variance,
        size,
        np.sqrt(np.mean(e**2, axis=0)),
        offset,
        (
            *faults,
            *torque_findings(names, torques, moves, 'recorded'),
            *(
                Finding.warning(
                    f'joint {name}',
                    f'efforts are off by {each:.3g} N m or N, of {rms:.3g} (rms)',
                    f'add {-each:.4g} to effort_offset',
                )
                for name, each, rms, level in zip(names, offset, size, stuck)
                if abs(each) > LARGE_OFFSET * rms + level  # not if NaN
            ),
        ),
        cutoff,
    )


def _torques(
    robot: Robot,
    runs: Sequence[JointRecording],
    cutoff: float,
    payloads: Mapping[str, RigidBody],
    measured_velocities: bool,
) -> Torques:
    """Return filtered torques of recordings and model."""
    parts: list[tuple[Array, Array, Array]] = []
    numbers: list[int] = []
    to_motors = np.linalg.inv(motor_coupling(robot.joint_names, robot.drives))
    for number, run in enumerate(runs):
        carried = {**payloads, **run.payloads}
        for piece in pieces(run, cutoff, measured_velocities):
            motion = Motion(piece.t, piece.q, piece.v, piece.a)
            model = required_efforts(robot, motion, carried) @ to_motors
            numbers.append(number)
            parts.append(
                (piece.low_pass(piece.t), piece.low_pass(piece.tau), piece.low_pass(model))
            )
    if not parts:
        raise ArgumentError(
            f'too short: a cutoff of {cutoff:.3g} Hz needs at least {needed_time(cutoff):.3g} s '
            'without gaps; record longer, or raise the cutoff'
        )
    t, measured, model = (np.concatenate(each) for each in zip(*parts))
    part = np.concatenate([np.full(len(each[0]), k) for k, each in enumerate(parts)])
    recording = np.array(numbers)[part]
    model = np.where(np.isnan(measured), np.nan, model)
    none = np.full_like(model, np.nan)
    return Torques(
        t, part, np.zeros(len(t), dtype=bool), measured, model, none, measured, recording
    )
