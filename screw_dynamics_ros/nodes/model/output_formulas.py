# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formulas of the table of outputs for the motors of a robot, with loops or without."""

from __future__ import annotations

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.outputs import JOINTS, VELOCITIES, OutputRow
from screw_dynamics_ros.core.robot.actuated_robot import Source

from .actuated import actuated
from .running_model import of_joints


def of_motors(row: OutputRow, robot: Robot, *options: str) -> Source:
    """Return the formula of an output with the dimensions of its labels, angular part first.

    `options` of outputs of links: link and representation. Raises `ArgumentError` for outputs
    without a formula.
    """
    source, motors = row.source(robot, *options), actuated(robot)
    if row.labels == (VELOCITIES, VELOCITIES):
        return motors.mass_matrix_of_motors()
    if row.labels[-1] == VELOCITIES:
        return motors.columns_of_motors(source)
    if row.labels == (JOINTS,):
        return motors.torques_of_motors(of_joints(robot, source))
    return source
