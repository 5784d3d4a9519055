# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All conversions between the conventions of the core and of ROS messages.

Orientations are converted by `tf_transformations`, except those published with each joint state:
the compiled kernel computes their quaternions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray

from screw_dynamics_ros.core.errors import ArgumentError, NotFiniteError
from screw_dynamics_ros.core.units import NANOSECONDS

from .cdr import MAX_STAMP, MIN_STAMP
from .transformations import quaternion_from_matrix, quaternion_matrix

#: Largest deviation of the norm of a quaternion in a message that is attributed to rounding.
NORM_TOLERANCE = 1e-2

_SWAPPED = np.array([3, 4, 5, 0, 1, 2])


def swap_linear_angular(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a twist, wrench or Jacobian, (6,) or (6, n), with angular and linear rows exchanged.

    Converts between the order of the core, angular (moment) first, and that of geometry_msgs, KDL
    and kinematics_interface, linear (force) first, in both directions.

    Examples
    --------
    >>> swap_linear_angular(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    array([4., 5., 6., 1., 2., 3.])
    """
    return np.take(values, _SWAPPED, axis=0)


def time_message(stamp: int) -> Time:
    """Return a stamp [ns] as message, clipped to its range; rclpy does not accept negative ones.

    Examples
    --------
    >>> time_message(-1)
    builtin_interfaces.msg.Time(sec=-1, nanosec=999999999)
    """
    sec, nanosec = divmod(min(max(stamp, MIN_STAMP), MAX_STAMP), NANOSECONDS)
    return Time(sec=sec, nanosec=nanosec)


def pose(transformation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a homogeneous matrix (4, 4), finite, as (x, y, z, qx, qy, qz, qw).

    Examples
    --------
    >>> pose(np.diag([-1.0, -1.0, 1.0, 1.0])).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    """
    return np.array([*transformation[:3, 3], *quaternion_from_matrix(transformation)]) + 0.0


def quaternion(rotation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a rotation matrix (3, 3), finite, as (x, y, z, w)."""
    transformation = np.eye(4)
    transformation[:3, :3] = rotation
    return np.array(quaternion_from_matrix(transformation))


def matrix(message: Any, name: str) -> NDArray[np.float64]:
    """Return a geometry_msgs/Pose as homogeneous matrix (4, 4).

    Raises `ArgumentError` or `NotFiniteError`, with `name` in the reason, if it is not a pose.
    """
    position, orientation = message.position, message.orientation
    r = np.array([position.x, position.y, position.z])
    q = np.array([orientation.x, orientation.y, orientation.z, orientation.w])
    norm = float(np.linalg.norm(q))
    if not np.isfinite(r).all():
        raise NotFiniteError(f'{name}: the position {r.tolist()} must be finite [m]')
    if not abs(norm - 1.0) <= NORM_TOLERANCE:
        error = ArgumentError if np.isfinite(norm) else NotFiniteError
        raise error(
            f'{name}: the orientation {q.tolist()} has norm {norm:.6g}; '
            'give a unit quaternion (x, y, z, w)'
        )
    transformation = np.array(quaternion_matrix(q / norm))
    transformation[:3, 3] = r
    return transformation
