# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whole joint trajectories, by name: from and to trajectory_msgs/JointTrajectory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectoryPoint

from screw_dynamics_ros.core.errors import ArgumentError, NotFiniteError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

from ..names import check_joint_names

MAX_NUMBER = 1e12  # rad, m, and per s and s^2, of points: larger ones overflow on the way
MAX_DURATION_S = 2**31 - 1  # s, of builtin_interfaces/Duration


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """Samples of some joints.

    Attributes
    ----------
    joints : tuple of str
    stamps : (N,) array of int
        Time from start of each sample [ns].
    q : (N, n) array
        Positions [rad, m].
    v, a : (N, n) arrays or None
        Velocities and accelerations; None if the message has none.
    efforts : (N, n) array or None
        Efforts [N m, N]; None if the message has none, or they are not read.
    """

    joints: tuple[str, ...]
    stamps: NDArray[np.int64]
    q: Array
    v: Array | None
    a: Array | None
    efforts: Array | None = None


def read_trajectory(
    message: Any,
    joints: Sequence[str],
    known: Collection[str] = (),
    *,
    with_efforts: bool = False,
) -> JointTrajectory:
    """Return the samples of a trajectory_msgs/JointTrajectory.

    Parameters
    ----------
    message : trajectory_msgs/JointTrajectory
    joints : sequence of str
    known : collection of str
        Further names, which are ignored: mimic and fixed joints.
    with_efforts : bool
        Whether efforts are read; otherwise they are ignored.

    Raises
    ------
    ArgumentError, NotFiniteError, UnknownNameError
        If it has no points, a name is unknown or occurs twice, numbers are missing, not finite or
        above `MAX_NUMBER`, or only some points have velocities, accelerations or efforts.
    """
    names = list(message.joint_names)
    check_joint_names('the trajectory', names, joints, known)
    if not message.points:
        raise ArgumentError('the trajectory has no points; give at least one')
    columns = [k for k, name in enumerate(names) if name in joints]
    if not columns:
        raise ArgumentError('the trajectory names no independent joint')

    def samples(field: str) -> Array:
        """Return the numbers of all points, (N, n)."""
        rows = [getattr(point, field) for point in message.points]
        for k, row in enumerate(rows):
            if len(row) != len(names):
                raise ArgumentError(
                    f'point {k} of the trajectory has {len(row)} {field} for {len(names)} joints'
                )
        array = np.array(rows, dtype=float)[:, columns]
        is_valid = np.abs(array) <= MAX_NUMBER
        if not is_valid.all():
            k, i = np.argwhere(~is_valid)[0]
            raise NotFiniteError(
                f'{field} of joint {names[columns[i]]!r} in point {k} of the trajectory: '
                f'{array[k, i]}; numbers must be finite, and at most {MAX_NUMBER:g}'
            )
        return array

    def optional(field: str) -> Array | None:
        """Return the numbers of all points, None if the field is empty in all of them."""
        return samples(field) if any(len(getattr(p, field)) for p in message.points) else None

    stamps = [duration_stamp(point.time_from_start) for point in message.points]
    for k in range(1, len(stamps)):
        if stamps[k] <= stamps[k - 1]:
            raise ArgumentError(
                f'time_from_start must increase: point {k} of the trajectory is at '
                f'{stamps[k] / NANOSECONDS} s, the previous one at {stamps[k - 1] / NANOSECONDS} '
                's'
            )
    return JointTrajectory(
        tuple(names[k] for k in columns),
        np.array(stamps, dtype=np.int64),
        samples('positions'),
        optional('velocities'),
        optional('accelerations'),
        optional('effort') if with_efforts else None,
    )


def trajectory_points(time: Array, q: Array, v: Array, a: Array, efforts: Array) -> list[Any]:
    """Return trajectory_msgs/JointTrajectoryPoint at times (N,) [s], from arrays (N, n)."""
    points = []
    for t, *rows in zip(time.tolist(), q.tolist(), v.tolist(), a.tolist(), efforts.tolist()):
        positions, velocities, accelerations, effort = rows
        point = JointTrajectoryPoint(
            positions=positions, velocities=velocities, accelerations=accelerations, effort=effort
        )
        set_duration(point.time_from_start, t)
        points.append(point)
    return points


def stamp_of(message: Any) -> int:
    """Return the stamp of the header of a message [ns]."""
    stamp = message.header.stamp
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def duration_stamp(duration: Any) -> int:
    """Return a builtin_interfaces/Duration in ns."""
    return int(duration.sec) * NANOSECONDS + int(duration.nanosec)


def set_duration(duration: Any, seconds: float) -> None:
    """Write a time [s] into a builtin_interfaces/Duration.

    Raises `ArgumentError` for one that is too long; rclpy would write another one.
    """
    if not abs(seconds) <= MAX_DURATION_S:
        raise ArgumentError(
            f'a time of {seconds:g} s is longer than a message can hold: {MAX_DURATION_S} s'
        )
    duration.sec, duration.nanosec = divmod(round(seconds * NANOSECONDS), NANOSECONDS)
