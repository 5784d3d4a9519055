# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One interface for robots with and without kinematic loops: see `ActuatedRobot`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.robot.actuated_robot import ActuatedRobot, Source
from screw_dynamics_ros.core.robot.fused_kernel import Formula

from .closed_loops import RobotWithLoops
from .scalar_joints import coordinates, scalar_joints

#: The velocities of a floating base: the body twist of the root link.
BASE_VELOCITIES = 'wx', 'wy', 'wz', 'vx', 'vy', 'vz'


class OpenRobot:
    """A tree as an `ActuatedRobot`: its joints with one coordinate have motors and sensors."""

    has_loops = False

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.joint_names = self.sensed = scalar_joints(robot)

    @property
    def velocity_labels(self) -> list[str]:
        """Names of the nv velocities: the joint, with an index if it has several velocities.

        Those of a floating base have the name of the root link and an axis, angular ones first.
        """
        labels: list[str] = []
        if self.robot.floating_base:
            root = self.robot.description.root
            labels += [f'{root}.{axis}' for axis in BASE_VELOCITIES]
        for name in self.robot.joint_names:
            where = self.robot.joint_coordinates(name)[1]
            size = where.stop - where.start
            labels += [name] if size == 1 else [f'{name}.{i}' for i in range(size)]
        return labels

    def freedoms_of(self, link: str) -> int:
        """Return the number of joints with one coordinate between the root and a link."""
        return len(joints_that_move(self.robot, link))

    def elements_of_motors(self, values: Source) -> Source:
        """Return the values."""
        return values

    def torques_of_motors(self, torques: Source) -> Source:
        """Return the torques."""
        return torques

    def columns_of_motors(self, jacobian: Source) -> Source:
        """Return the Jacobian."""
        return jacobian

    def mass_matrix_of_motors(self) -> Source:
        """Return the mass matrix, (nv, nv)."""
        return 'mass_matrix'

    def inertia_of_joints(self) -> Formula:
        """Return the mass matrix of the joints with one coordinate, (n, n)."""
        _, where = coordinates(self.robot, self.joint_names)
        return Formula(
            'mass matrix of scalar joints', ('mass_matrix',), block, (tuple(where.tolist()),)
        )

    def rates_along(self, rates: Source) -> Source:
        """Return the rates."""
        return rates

    def accelerations_along(self, accelerations: Source) -> Source:
        """Return the accelerations."""
        return accelerations

    def coriolis_torques_of_all(self) -> Source:
        """Return the Coriolis torques."""
        return 'coriolis_torques'


def actuated(robot: Robot) -> ActuatedRobot:
    """Return the `ActuatedRobot` of a robot: its mechanism if it has loops, else the tree."""
    return robot.closed if isinstance(robot, RobotWithLoops) else OpenRobot(robot)


def block(M: NDArray[np.float64], indices: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the rows and columns of a matrix with these indices."""
    return M[np.ix_(indices, indices)]


def joints_that_move(robot: Robot, link: str) -> set[str]:
    """Return the joints with one coordinate that determine the pose of a link."""
    by_child = {joint.child: joint for joint in robot.description.joints}
    by_name = {joint.name: joint for joint in robot.description.joints}
    found = set()
    while link in by_child:
        joint = by_child[link]
        link = joint.parent
        while joint.mimic is not None:
            joint = by_name[joint.mimic.joint]
        found.add(joint.name)
    return found & set(scalar_joints(robot))
