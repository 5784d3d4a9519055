"""The reference motion of a robot: the first point of a joint trajectory, by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.names import check_joint_names

Limits = tuple[float, float, float]

ROUNDING = 1e-6  # rad, m, rad/s, m/s; what trajectories exceed limits by without meaning it
IMPOSSIBLE = 1e6  # rad/s^2, m/s^2


@dataclass(frozen=True)
class Reference:
    """Positions, velocities and accelerations of some joints.

    Attributes
    ----------
    given : (n,) array of bool
        Which joints the reference is for.
    q, v, a : (n,) arrays
        Zero for the others [rad, rad/s, rad/s^2; m, m/s, m/s^2].
    """

    given: NDArray[np.bool_]
    q: Array
    v: Array
    a: Array


def read_reference(message: Any, joints: Sequence[str], known: Collection[str] = ()) -> Reference:
    """Return the first point of a trajectory_msgs/JointTrajectory for `joints`.

    Velocities and accelerations may be empty and are zero then; names among `known` (mimic joints)
    are skipped.

    Raises
    ------
    ArgumentError, UnknownNameError
        If there is no point, a name is unknown or occurs twice, or numbers are missing or not
        finite.
    """
    names = list(message.joint_names)
    if not message.points:
        raise ArgumentError('the reference has no points; give at least one')
    if not names:
        raise ArgumentError('the reference names no joint')
    check_joint_names('the reference', names, joints, known)
    given = np.zeros(len(joints), dtype=bool)
    vectors = []
    for field, optional in (('positions', False), ('velocities', True), ('accelerations', True)):
        values = getattr(message.points[0], field)
        if len(values) != len(names) and not (optional and not len(values)):
            raise ArgumentError(f'the reference has {len(values)} {field} for {len(names)} joints')
        vector = np.zeros(len(joints))
        for name, value in zip(names, values):
            if not np.isfinite(value):
                raise ArgumentError(f'{field} of joint {name!r} in the reference: {value}')
            if name in joints:
                vector[list(joints).index(name)] = value
                given[list(joints).index(name)] = True
        vectors.append(vector)
    return Reference(given, *vectors)


def check_limits(reference: Reference, joints: Sequence[str], limits: Mapping[str, Limits]) -> None:
    """Refuse what the robot cannot do; raises `ArgumentError`, which names the joint.

    Parameters
    ----------
    reference : Reference
    joints : sequence of str
        Those of the arrays of the reference.
    limits : mapping
        By joint: lower and upper position [rad, m], and largest speed [rad/s, m/s].
    """
    for k, name in enumerate(joints):
        if not reference.given[k]:
            continue
        lower, upper, speed = limits[name]
        if not lower - ROUNDING <= reference.q[k] <= upper + ROUNDING:
            raise ArgumentError(
                f'positions of joint {name!r} in the reference: {reference.q[k]:g} '
                f'is not within its limits [{lower:g}, {upper:g}]'
            )
        if not abs(reference.v[k]) <= speed + ROUNDING:
            raise ArgumentError(
                f'velocities of joint {name!r} in the reference: '
                f'{reference.v[k]:g} is beyond its limit {speed:g}'
            )
        if not abs(reference.a[k]) <= IMPOSSIBLE:
            raise ArgumentError(
                f'accelerations of joint {name!r} in the reference: {reference.a[k]:g} is more '
                'than any joint can reach'
            )
