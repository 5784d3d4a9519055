# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Known drives and effort calibration from a parameter file, for identification."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.ros2_control import unmet_condition
from screw_dynamics_ros.core.measurement.estimation.effort_terms import TERMS
from screw_dynamics_ros.core.measurement.identification.dynamics import DynamicIdentification
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.parameters.robot_parameters import RobotParameters, robot_parameters

EFFORT_PARAMETERS = ('effort_joints', 'effort_scale', 'effort_offset', 'effort_terms')

Calibration = tuple[Array | None, Array | None]


class KnownRobot(NamedTuple):
    """The nominal robot, scales and offsets of efforts, payloads, delay of efforts [s], notes."""

    robot: Robot
    calibration: Calibration
    payloads: dict[str, RigidBody]
    delay: float
    notes: list[str]


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
    return KnownRobot(robot, calibration, parameters.payloads, delay, notes)


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
