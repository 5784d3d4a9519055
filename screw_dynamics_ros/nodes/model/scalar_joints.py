# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints with one coordinate, the only ones that joint states can contain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.kinematics.joint_poses import FreeCoordinates, PlanarCoordinates
from screw_dynamics_ros.core.types import Array


class ScalarJoints:
    """The joints of a robot with one coordinate, and their indices in its vectors.

    Attributes
    ----------
    robot : Robot
    joints : tuple of str
        Joints with one coordinate.
    held : tuple of str
        Planar, ball and floating joints, which joint states cannot contain.
    is_free : bool
        Whether the state contains more than `joints`: a floating base or held joints.
    q_places, v_places : (n,) arrays of int
        Indices of the positions and velocities of `joints` in q and v.
    q, v : (nq,), (nv,) arrays
        A state of the whole robot; that of a floating base and of held joints is zero unless set.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.joints = scalar_joints(robot)
        self.held = tuple(name for name in robot.joint_names if name not in self.joints)
        self.is_free = robot.nv > len(self.joints)
        self.q_places, self.v_places = coordinates(robot, self.joints)
        self.q, self.v = robot.neutral(), np.zeros(robot.nv)

    @property
    def free(self) -> tuple[str, ...]:
        """A floating base, by its link, and held joints."""
        return (self.robot.description.root,) * self.robot.floating_base + self.held

    @property
    def held_coordinates(self) -> dict[str, FreeCoordinates | PlanarCoordinates]:
        """How coordinates of the held joints depend on the poses of their child links."""
        return {
            joint.name: FreeCoordinates(joint.kind.group)
            if joint.kind.has_quaternion
            else PlanarCoordinates(joint.axis)
            for joint in self.robot.description.joints
            if joint.name in self.held
        }

    def whole_q(self, values: Array) -> Array:
        """Return `q` with the positions of `joints` replaced."""
        q = self.q.copy()
        q[self.q_places] = values
        return q

    def moving_v(self, values: Array) -> Array:
        """Return `v` with the velocities of `joints` replaced."""
        v = self.v.copy()
        v[self.v_places] = values
        return v

    def whole_v(self, values: Array) -> Array:
        """Return a velocity, acceleration or torque (nv,) of `joints`, zero for others."""
        v = np.zeros(self.robot.nv)
        v[self.v_places] = values
        return v

    def positions_of_joints(self, q: Array) -> Array:
        """Return the elements of a configuration (nq,) that belong to `joints`."""
        return q[self.q_places]

    def of_joints(self, values: Array) -> Array:
        """Return the elements of a vector (nv,) that belong to `joints`."""
        return values[self.v_places]


def coordinates(robot: Robot, joints: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of positions in q and of velocities in v of joints with one coordinate."""
    places = [robot.joint_coordinates(name) for name in joints]
    return (
        np.array([q.start for q, _ in places], dtype=np.intp),
        np.array([v.start for _, v in places], dtype=np.intp),
    )


def scalar_joints(robot: Robot) -> tuple[str, ...]:
    """Return the joints that have one coordinate."""
    return tuple(
        name
        for name in robot.joint_names
        if robot.joint_coordinates(name)[1].stop - robot.joint_coordinates(name)[1].start == 1
    )
