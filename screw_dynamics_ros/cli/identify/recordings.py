# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The nominal robot of `identify` with its known drives, and recorded joint states as arrays."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.ros2_control import unmet_condition
from screw_dynamics_ros.core.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.identification import DynamicIdentification, JointRecording, KnownLoad
from screw_dynamics_ros.core.identification.model_check import CHANGES
from screw_dynamics_ros.core.state_checks import POSE_PERIOD_S
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.parameters.robot_parameters import RobotParameters, robot_parameters
from screw_dynamics_ros.ros.recordings.recording import Recording

from ..command_line import UnusableError
from ..recorded_joints import check_left_out, given_description

EFFORT_PARAMETERS = ('effort_joints', 'effort_scale', 'effort_offset', 'effort_terms')

Calibration = tuple[Array | None, Array | None]


class KnownRobot(NamedTuple):
    """The nominal robot, scales and offsets of efforts, payloads, delay of efforts [s], notes.

    `half_widths` (n, 3) are those of the intervals of `CHANGES`, `terms` the `effort_terms`.
    """

    robot: Robot
    calibration: Calibration
    payloads: dict[str, RigidBody]
    delay: float
    notes: list[str]
    half_widths: Array | None
    terms: Sequence[str] = TERMS


def known_robot(text: str, options: argparse.Namespace) -> KnownRobot:
    """Return the robot of a description with the drives of --drives.

    Its gravity is zero if `effort_terms` lacks gravity.

    Raises
    ------
    ScrewDynamicsError
        The file or the description is refused; efforts lack other terms.
    """
    parameters, notes = robot_parameters(options.drives), []
    unmet = unmet_condition(text, parameters.values.get('effort_condition', ''))
    if unmet:
        notes.append(
            f'effort_condition of {parameters.path} is not met: {unmet}; its scales, offsets and '
            'effort_terms are ignored'
        )
        values = {k: x for k, x in parameters.values.items() if k not in EFFORT_PARAMETERS}
        parameters = RobotParameters(parameters.path, values)
    terms = parameters.values.get('effort_terms', TERMS)
    missing = [term for term in TERMS if term not in terms and term != 'payload']
    if missing and missing != ['gravity']:
        raise ArgumentError(
            f'{parameters.path}: effort_terms: efforts without {", ".join(missing)} do not '
            'determine the dynamics; record efforts with these terms'
        )
    if missing:
        notes.append('efforts do not contain gravity (effort_terms): identified without it')
    description = read_robot_description(text)
    gravity = (0.0, 0.0, 0.0) if missing else options.gravity
    robot = Robot(description, gravity=gravity, drives=parameters.drives(description))
    delay = float(parameters.values.get('effort_delay', 0.0))
    calibration = parameters.calibration(robot.joint_names)
    if any(each is not None for each in calibration):
        notes.append(
            f'efforts are scaled with {parameters.path}; findings on scales are relative to these'
        )
    half_widths = parameters.half_widths(robot.joint_names, CHANGES)
    return KnownRobot(robot, calibration, parameters.payloads, delay, notes, half_widths, terms)


def of_reported_efforts(
    result: DynamicIdentification, calibration: Calibration
) -> DynamicIdentification:
    """Convert a result for calibrated efforts to one for reported efforts."""
    scale, offset = (
        np.full(len(result.joint_names), neutral) if given is None else given
        for given, neutral in zip(calibration, (1.0, 0.0))
    )
    return replace(
        result,
        effort_scale=result.effort_scale * scale,
        effort_offset=result.effort_scale * offset + result.effort_offset,
        scale_deviation=result.scale_deviation * np.abs(scale),
    )


def of_robot(
    states: Recording,
    robot: Robot,
    load: KnownLoad | None,
    left_out: Collection[str] = (),
    calibration: tuple[Array | None, Array | None] = (None, None),
) -> tuple[JointRecording, list[str]]:
    """Return the recording in the order of the robot's joints, and notes on omitted data.

    Joints that are not recorded are assumed at rest at `Robot.home`, without effort. States with a
    repeated stamp, or without the position of a joint that other states contain, are omitted.
    Efforts and velocities of joints in `left_out` are ignored; their positions are used if all are
    recorded. `calibration` contains scale and offset (n,) from efforts to torques.

    Raises UnknownNameError if the recording has none of the joints.
    """
    check_left_out(left_out, robot.joint_names)
    known = [
        name
        for name in robot.joint_names
        if name in states.joint_names
        and (name not in left_out or np.isfinite(states.q[:, states.joint_names.index(name)]).all())
    ]
    if not known:
        raise UnknownNameError(
            f'{states.path} contains joint states of {", ".join(states.joint_names)}, but of no '
            f'joint of {robot.description.name!r}: {", ".join(robot.joint_names)}; use the URDF of '
            'this robot'
        )
    notes = [f'{count} messages: {why.value}' for why, count in states.left_out.items()]
    t = (states.t - states.t[0]) * 1e-9
    others = [name for name in states.joint_names if name not in robot.joint_names]
    if others:
        notes.append(f'not joints of the robot, or mimic joints: {", ".join(others)}')
    missing = [name for name in robot.joint_names if name not in known]
    if missing:
        notes.append(f'not recorded, assumed at rest, drives not identified: {", ".join(missing)}')
    places = [states.joint_names.index(name) for name in known]
    unused = [name in left_out for name in known]
    rates, efforts = states.v[:, places], states.tau[:, places]
    rates[:, unused] = efforts[:, unused] = np.nan
    complete = np.asarray(np.isfinite(states.q[:, places]).all(axis=1))
    for column in (rates, efforts):
        recorded = np.isfinite(column).any(axis=0)
        complete &= np.isfinite(column[:, recorded]).all(axis=1)
    repeated: NDArray[np.bool_] = np.r_[False, np.diff(t) == 0.0] & complete
    if repeated.all() or not np.diff(t).any():
        repeated[:] = False  # constant stamps are refused later
    for count, reason in (
        (int((~complete).sum()), 'lack numbers'),
        (int(repeated.sum()), 'repeat the previous stamp'),
    ):
        if count:
            notes.append(f'{count} of {len(t)} states {reason}')
    rows = complete & ~repeated
    q = np.tile(robot.home(), (int(rows.sum()), 1))
    v, tau = np.full((2, *q.shape), np.nan)
    columns = [robot.joint_names.index(name) for name in known]
    for array, recorded in ((q, states.q[:, places]), (v, rates), (tau, efforts)):
        array[:, columns] = recorded[rows]
    scale, offset = calibration
    tau = tau * (1.0 if scale is None else scale) + (0.0 if offset is None else offset)
    return JointRecording(t[rows], q, v, tau, load=load, absent=missing), notes


def are_poses(runs: Sequence[JointRecording]) -> bool:
    """Whether samples are so far apart that each is a pose at rest."""
    steps = [np.diff(run.t) for run in runs if len(run.t) > 1]
    return bool(min((float(np.median(each)) for each in steps), default=np.inf) >= POSE_PERIOD_S)


def recorded_description(options: argparse.Namespace, states: Sequence[Recording]) -> str:
    """Return the description of --urdf, else the first recorded one; raises `UnusableError`."""
    text = given_description(options)
    if text is None:
        text = next((each.robot_description for each in states if each.robot_description), None)
    if text is None:
        raise UnusableError('no robot_description is recorded; give --urdf')
    return text
