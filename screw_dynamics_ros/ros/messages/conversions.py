# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All conversions between the conventions of the core and of ROS messages.

Orientations are converted by `tf_transformations`, except those published with each joint state:
the compiled kernel computes their quaternions.

tf_transformations is a layer over `transforms3d` and not available as a wheel; without it, the two
functions used here are built on transforms3d.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ArgumentError, NotFiniteError
from screw_dynamics_ros.core.units import NANOSECONDS

from .cdr import MAX_STAMP, MIN_STAMP

#: Largest deviation of the norm of a quaternion in a message that is attributed to rounding.
NORM_TOLERANCE = 1e-2

_SWAPPED = np.array([3, 4, 5, 0, 1, 2])
TF_TRANSFORMATIONS = 'tf_transformations'
REMEDY = (
    'install tf_transformations: "rosdep install --from-paths src", or the package '
    'ros-$ROS_DISTRO-tf-transformations; without a ROS 2: "pip install transforms3d"'
)
#: The largest numbers of a body that a message may describe: mass [kg], coordinates of the center
#: of mass [m], moments of inertia [kg m^2]. Beyond them torques lose all their digits.
MAX_INERTIA_VALUES = 1e6, 1e3, 1e9


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


def _without_tf_transformations() -> tuple[Any, Any]:
    """Return `quaternion_from_matrix` and `quaternion_matrix`, built on transforms3d."""
    from transforms3d.quaternions import mat2quat, quat2mat

    def from_matrix(matrix: NDArray[np.float64]) -> tuple[float, ...]:
        """Return (x, y, z, w), w >= 0, of a homogeneous matrix (4, 4)."""
        w, x, y, z = mat2quat(np.asarray(matrix)[:3, :3])
        return x, y, z, w

    def to_matrix(quaternion: ArrayLike) -> NDArray[np.float64]:
        """Return the homogeneous matrix (4, 4) of (x, y, z, w)."""
        x, y, z, w = np.asarray(quaternion)
        matrix = np.eye(4)
        matrix[:3, :3] = quat2mat((w, x, y, z))
        return matrix

    return from_matrix, to_matrix


def _find() -> tuple[Any, Any]:
    """Return the two functions; raises `ImportError` with the remedy if neither is installed."""
    try:
        from tf_transformations import quaternion_from_matrix, quaternion_matrix
    except ModuleNotFoundError:
        try:
            return _without_tf_transformations()
        except ImportError as error:
            raise ImportError(f'{error}; {REMEDY}', name=TF_TRANSFORMATIONS) from None
    except Exception as error:  # transforms3d before 0.4.2 fails beside NumPy 2, 0.3 beside 1.24
        raise ImportError(
            f'tf_transformations cannot be imported: {type(error).__name__}: {error}; its '
            'transforms3d may be too old for this NumPy: "pip install --upgrade transforms3d", '
            'or remove the NumPy that pip has installed',
            name=TF_TRANSFORMATIONS,
        ) from None
    return quaternion_from_matrix, quaternion_matrix


quaternion_from_matrix, quaternion_matrix = _find()


def read_inertia(message: Any, name: str) -> RigidBody:
    """Return the body of a geometry_msgs/Inertia.

    Raises
    ------
    NotFiniteError, ArgumentError
        If a number is NaN or infinite, or larger than `MAX_INERTIA_VALUES`; `name` is in the
        reason.
    InertiaError
        If mass and inertia are physically impossible.
    """
    com = [message.com.x, message.com.y, message.com.z]
    moments = [message.ixx, message.ixy, message.ixz, message.iyy, message.iyz, message.izz]
    check_size(name, message.m, com, moments)
    return RigidBody.from_moments(message.m, com, moments)


def check_size(name: str, mass: float, com: list[float], moments: list[float]) -> None:
    """Raise `NotFiniteError` or `ArgumentError` for numbers beyond `MAX_INERTIA_VALUES`."""
    fields = ('m', [mass]), ('com', com), ('inertia', moments)
    for (field, values), largest in zip(fields, MAX_INERTIA_VALUES):
        if not np.isfinite(values).all():
            raise NotFiniteError(f'{name}: {field} is {shown(values)}; it must be finite')
        if np.abs(values).max() > largest:
            raise ArgumentError(
                f'{name}: {field} is {shown(values)}; the largest allowed value is {largest:g}'
            )


def write_inertia(message: Any, body: RigidBody) -> None:
    """Write a body into a geometry_msgs/Inertia."""
    message.m = float(body.mass)
    message.com.x, message.com.y, message.com.z = body.com.tolist()
    (message.ixx, message.ixy, message.ixz), (_, message.iyy, message.iyz), (_, _, message.izz) = (
        body.matrix.tolist()
    )


def shown(values: list[float]) -> str:
    """Return numbers as text."""
    return ', '.join(f'{value:g}' for value in values)
