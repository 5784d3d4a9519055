# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The measured motion of a body with several freedoms, in the state of the robot.

The body is the root link on a floating base, or the child link of a planar or floating joint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.kinematics.joint_poses import FreeCoordinates, PlanarCoordinates
from screw_dynamics_ros.core.kinematics.pose_history import MeasuredMotion, PoseHistory
from screw_dynamics_ros.core.lie import quaternions, se3
from screw_dynamics_ros.core.lie.screws import swap
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.topics.frame_chain import fault_of, listed

JUMP = NANOSECONDS  # stamps that run back by more restart the history [ns]


class MeasuredBody:
    """Measurements of one body.

    Parameters
    ----------
    q, v : slices
        Places of its coordinates and velocities in those of the robot.
    coordinates : FreeCoordinates or PlanarCoordinates

    Attributes
    ----------
    history : PoseHistory
    motion : MeasuredMotion or None
        At the time of the last `write`.
    """

    def __init__(
        self, q: slice, v: slice, coordinates: FreeCoordinates | PlanarCoordinates
    ) -> None:
        self._q, self._v, self.coordinates = q, v, coordinates
        self.history = PoseHistory()
        self.motion: MeasuredMotion | None = None

    def take(self, stamp: int, pose: Array, twist: Array | None) -> bool:
        """Add a measurement, see `PoseHistory.add`; stamps that run back far restart."""
        newest = self.history.newest
        if newest is not None and newest - stamp > JUMP:
            self.history.clear()
        return self.history.add(stamp, pose, twist)

    def write(self, q: Array, v: Array, stamp: int, longest: float) -> bool:
        """Write the motion at a time [ns] into a state of the robot, q (nq,) and v (nv,).

        Returns whether a measurement is near, at most `longest` [s]. Otherwise the body rests in
        its last pose, and where it is without any measurement.
        """
        motion = self.motion = self.history.at(stamp)
        if motion is None:
            v[self._v] = 0.0
            return False
        is_near = motion.age <= longest
        pose = motion.pose if is_near else self.history.last_pose
        twist = motion.twist if is_near else np.zeros(6)
        q[self._q], v[self._v] = self.coordinates.state(pose, twist)
        return is_near


def measurement(
    position: Any, orientation: Any, twist: Any | None = None
) -> tuple[Array, Array | None]:
    """Return pose (4, 4) and twist (6,), angular part first, from parts of messages.

    Parameters
    ----------
    position : message with x, y, z
    orientation : geometry_msgs/Quaternion
    twist : geometry_msgs/Twist, optional

    Raises
    ------
    ArgumentError
        If a number is not finite, or the orientation is not a unit quaternion.
    """
    p, o = vector(position), np.array([getattr(orientation, axis) for axis in 'xyzw'])
    V = None if twist is None else swap(vector(twist.linear, twist.angular))
    fault = fault_of(o, p)
    if fault:
        raise ArgumentError(fault)
    if V is not None and not np.isfinite(V).all():
        raise ArgumentError(f'a number is not finite: twist ({listed(V)})')
    return se3.pose(quaternions.to_matrix(o), p), V


def stamped(stamp: int) -> int:
    """Return a stamp [ns]; raises `ArgumentError` if it is not positive."""
    if stamp <= 0:
        raise ArgumentError('a message has no stamp')
    return stamp


def vector(*parts: Any) -> Array:
    """Return the components x, y, z of messages."""
    return np.array([getattr(part, axis) for part in parts for axis in 'xyz'])
