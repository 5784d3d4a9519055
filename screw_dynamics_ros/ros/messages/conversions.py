"""Between the conventions of the core and those of ROS messages; nothing else converts."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray

from screw_dynamics_ros.core.lie import quaternions

#: Rows of twists and Jacobians in ROS order, as labels.
TWIST_ROWS = ('vx', 'vy', 'vz', 'wx', 'wy', 'wz')

#: Rows of momenta in the same order: linear, then angular.
MOMENTUM_ROWS = ('px', 'py', 'pz', 'lx', 'ly', 'lz')

#: First and last stamp that builtin_interfaces/Time can carry [ns].
EARLIEST, LATEST = -(2**31) * 1_000_000_000, 2**31 * 1_000_000_000 - 1

_SWAPPED = np.array([3, 4, 5, 0, 1, 2])


def swap_linear_angular(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a twist, wrench or Jacobian, (6,) or (6, n), with its two halves of rows exchanged.

    From the order of the core, angular (moment) first, to that of geometry_msgs, KDL and
    kinematics_interface, linear (force) first; and back.

    Examples
    --------
    >>> swap_linear_angular(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    array([4., 5., 6., 1., 2., 3.])
    """
    return np.take(values, _SWAPPED, axis=0)


def time_message(stamp: int) -> Time:
    """Return a stamp [ns] as message, the nearest that there is; rclpy takes no negative ones.

    Examples
    --------
    >>> time_message(-1)
    builtin_interfaces.msg.Time(sec=-1, nanosec=999999999)
    """
    sec, nanosec = divmod(min(max(stamp, EARLIEST), LATEST), 1_000_000_000)
    return Time(sec=sec, nanosec=nanosec)


def pose(transformation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a homogeneous matrix (4, 4) as (x, y, z, qx, qy, qz, qw)."""
    return np.concatenate([transformation[:3, 3], quaternions.from_matrix(transformation[:3, :3])])
