"""Joint states of the motors of a parallel robot, from messages of drivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sensor_msgs.msg import JointState

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.names import shorten, shown


class MotorState(NamedTuple):
    """What a message says of the motors.

    Attributes
    ----------
    stamp : int
        [ns].
    q : (n,) array
    v, tau : (n,) array or None
        None where the message does not have it for all motors.
    """

    stamp: int
    q: Array
    v: Array | None
    tau: Array | None


def motor_state(message: JointState, joints: Sequence[str]) -> MotorState:
    """Return the state of the motors by name; other joints do not matter.

    Raises
    ------
    UnknownNameError
        If a motor is missing.
    ArgumentError
        For names that come twice, another number of positions, and positions that are not finite.
    """
    names = list(message.name)
    missing = [joint for joint in joints if joint not in names]
    if missing:
        raise UnknownNameError(f'the message lacks {shorten(missing)}; it has {shorten(names)}')
    twice = [joint for joint in joints if names.count(joint) > 1]
    if twice:
        raise ArgumentError(f'the message names {shown(twice[0])!r} twice')
    if len(message.position) != len(names):
        raise ArgumentError(
            f'the message has {len(names)} names and {len(message.position)} positions'
        )
    places = [names.index(joint) for joint in joints]
    q = np.asarray(message.position)[places]
    if not np.isfinite(q).all():
        joint = joints[int(np.argmin(np.isfinite(q)))]
        raise ArgumentError(f'the position of {joint!r} is not a finite number')
    stamp = message.header.stamp
    nanoseconds = stamp.sec * NANOSECONDS + stamp.nanosec
    return MotorState(
        nanoseconds,
        q,
        complete(message.velocity, len(names), places),
        complete(message.effort, len(names), places),
    )


def complete(values: Sequence[float], size: int, places: Sequence[int]) -> Array | None:
    """Return the values of the motors, None if some are missing or not finite."""
    if len(values) != size:
        return None
    found: Array = np.asarray(values, dtype=float)[list(places)]
    return found if np.isfinite(found).all() else None
