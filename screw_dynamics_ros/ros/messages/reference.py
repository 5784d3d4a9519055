# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The reference motion of a robot at one time, by joint name, and checks of limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

from ..names import check_joint_names, shorten

Limits = tuple[float, float, float]

LIMIT_TOLERANCE = 1e-6  # rad, m, rad/s, m/s; excess attributed to rounding
MAX_ACCELERATION = 1e6  # rad/s^2, m/s^2

#: Numbers of sensor_msgs/JointState, as words.
JOINT_STATE_FIELDS = {'position': 'positions', 'velocity': 'velocities', 'effort': 'efforts'}

REFERENCE, CONTROLLER_STATE = 'the reference', 'the controller state'


def read_reference(message: Any, joints: Sequence[str], known: Collection[str] = ()) -> Array:
    """Return the first point of a trajectory_msgs/JointTrajectory for `joints`, (4, n).

    Rows: 1 for joints with a reference, 0 for others; positions, velocities and accelerations
    [rad, rad/s, rad/s^2; m, m/s, m/s^2].

    Velocities and accelerations may be empty, which means zero; names in `known` (mimic joints) are
    ignored.

    Raises
    ------
    ArgumentError, UnknownNameError
        If it has no points, a name is unknown or occurs twice, or numbers are missing or not
        finite.
    """
    if not message.points:
        raise ArgumentError('the reference has no points; give at least one')
    return read_rows(REFERENCE, message.joint_names, fields_of(message.points[0]), joints, known)


def read_controller_state(
    message: Any, joints: Sequence[str], known: Collection[str] = ()
) -> Array:
    """Return the reference of a control_msgs/JointTrajectoryControllerState, (4, n).

    This is its field `reference`, or `desired` in versions without the former or that do not fill
    it. Controllers write NaN for missing velocities and accelerations.

    Raises
    ------
    ArgumentError, UnknownNameError
        As `read_reference`.
    """
    points = [getattr(message, field, None) for field in ('reference', 'desired')]
    point = next((each for each in points if each is not None and len(each.positions)), None)
    if point is None:
        raise ArgumentError('the controller state has no positions in its field reference')
    finite = {
        field: values if np.isfinite(values).all() else []
        for field in ('velocities', 'accelerations')
        for values in [getattr(point, field)]
    }
    values = {**fields_of(point), **finite}
    return read_rows(CONTROLLER_STATE, message.joint_names, values, joints, known)


def read_leader(
    what: str,
    message: Any,
    fields: Sequence[str],
    others: Mapping[str, str],
    joints: Sequence[str],
) -> Array:
    """Return fields of a sensor_msgs/JointState of another robot for `joints`, (4, n).

    Rows: 1 for joints that it has, then the `fields`; the last of several fields may be empty.
    `others` has the joints of the other robot by own joints; further joints are ignored.

    Raises
    ------
    ArgumentError
        If it has none of these joints, one of them twice, or numbers are missing or not finite.
    """
    columns = {name: k for k, name in enumerate(message.name)}
    named = [name for name, other in others.items() if other in columns]
    if not named:
        raise ArgumentError(
            f'{what} has joints {shorten(message.name)}, not {shorten([*others.values()])}; '
            'set leader_joints'
        )
    if len(columns) < len(message.name):
        raise ArgumentError(f'{what} names a joint twice')
    values = {}
    for field in fields:
        given, plural = getattr(message, field), JOINT_STATE_FIELDS[field]
        if len(given) not in (0, len(columns)):
            raise ArgumentError(f'{what} has {len(given)} {plural} for {len(columns)} joints')
        values[plural] = [given[columns[others[name]]] for name in named] if len(given) else []
    return read_rows(what, named, values, joints, ())


def fields_of(point: Any) -> dict[str, Any]:
    """Return positions, velocities and accelerations of a trajectory_msgs/JointTrajectoryPoint."""
    return {name: getattr(point, name) for name in ('positions', 'velocities', 'accelerations')}


def read_rows(
    what: str,
    joint_names: Sequence[str],
    values: Mapping[str, Any],
    joints: Sequence[str],
    known: Collection[str],
) -> Array:
    """Return values by field for `joints`, (4, n); those after the first field may be empty.

    `what` describes the message in errors.
    """
    names = list(joint_names)
    if not names:
        raise ArgumentError(f'{what} names no joint')
    check_joint_names(what, names, joints, known)
    places = {name: k for k, name in enumerate(joints)}
    reference = np.zeros((4, len(joints)))
    for row, (field, numbers) in enumerate(values.items(), start=1):
        if len(numbers) != len(names) and (row == 1 or len(numbers)):
            raise ArgumentError(f'{what} has {len(numbers)} {field} for {len(names)} joints')
        for name, value in zip(names, numbers):
            if not np.isfinite(value):
                raise ArgumentError(f'{field} of joint {name!r} in {what}: {value}')
            if name in places:
                reference[[0, row], places[name]] = 1.0, value
    return reference


def check_limits(
    what: str,
    names: Sequence[str],
    rows: tuple[Array, Array | None, Array | None],
    limits: Mapping[str, Limits],
) -> None:
    """Refuse motions beyond the limits; raises `ArgumentError`, which names the joint.

    Parameters
    ----------
    what : str
        Description of the message in errors.
    names : sequence of str
        Names of k joints.
    rows : tuple of (N, k) arrays
        Positions, velocities and accelerations of N points [rad, m], None if not given.
    limits : mapping
        By joint: lower and upper position [rad, m], and largest speed [rad/s, m/s].
    """
    q, v, a = rows
    lower, upper, speed = np.array([limits[name] for name in names]).reshape(-1, 3).T
    beyond = (q < lower - LIMIT_TOLERANCE) | (q > upper + LIMIT_TOLERANCE)
    for k, where, value in found(beyond, q):
        raise ArgumentError(
            f'positions of joint {names[k]!r} in {what}{where}: {value:g} '
            f'is not within its limits [{lower[k]:g}, {upper[k]:g}]'
        )
    if v is not None:
        for k, where, value in found(np.abs(v) > speed + LIMIT_TOLERANCE, v):
            raise ArgumentError(
                f'velocities of joint {names[k]!r} in {what}{where}: '
                f'{value:g} is beyond its limit {speed[k]:g}'
            )
    if a is not None:
        for k, where, value in found(np.abs(a) > MAX_ACCELERATION, a):
            raise ArgumentError(
                f'accelerations of joint {names[k]!r} in {what}{where}: {value:g} is more '
                'than any joint can reach'
            )


def found(beyond: NDArray[np.bool_], values: Array) -> list[tuple[int, str, float]]:
    """Return the first value beyond a limit: joint, point as text if there are several, value.

    Examples
    --------
    >>> found(np.array([[False, False], [False, True]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    [(1, ' at point 1', 4.0)]
    """
    if not beyond.any():
        return []
    row, k = np.argwhere(beyond)[0].tolist()
    return [(k, f' at point {row}' if len(beyond) > 1 else '', float(values[row, k]))]
