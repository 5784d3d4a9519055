"""Limits and names of joints, spread over the coordinates and velocities of a robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from screw_dynamics_ros.core.arguments import Array

if TYPE_CHECKING:
    from screw_dynamics_ros.core.robot import Robot


def coordinate_names(robot: Robot) -> list[str]:
    """Return for each of the nq coordinates its joint, for a floating base the root link."""
    names = [robot.link_names[0]] * robot.nq
    for joint in robot.joint_names:
        q = robot.joint_coordinates(joint)[0]
        names[q] = [joint] * (q.stop - q.start)
    return names


def velocity_names(robot: Robot) -> list[str]:
    """Return for each of the nv velocities its joint, for a floating base the root link."""
    names = [robot.link_names[0]] * robot.nv
    for joint in robot.joint_names:
        v = robot.joint_coordinates(joint)[1]
        names[v] = [joint] * (v.stop - v.start)
    return names


def of_coordinates(robot: Robot, limit: Array, unlimited: float) -> Array:
    """Return a limit over `joint_names` for each of the nq coordinates; a free base has none."""
    values = np.full(robot.nq, unlimited)
    for joint, value in zip(robot.joint_names, limit):
        values[robot.joint_coordinates(joint)[0]] = value
    return values


def of_velocities(robot: Robot, limit: Array) -> Array:
    """Return a limit over `joint_names` for each of the nv velocities; a free base has none."""
    values = np.full(robot.nv, np.inf)
    for joint, value in zip(robot.joint_names, limit):
        values[robot.joint_coordinates(joint)[1]] = value
    return values
