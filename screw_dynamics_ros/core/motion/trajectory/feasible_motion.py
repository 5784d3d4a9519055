# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A motion brought within the limits of a robot: slowed down, refused, or left as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...description.rigid_body import RigidBody
from ...errors import ArgumentError
from ...tree.joint_limits import of_velocities
from ...types import Array
from .limits import LimitExcess, exceeded_limits
from .motion import Motion
from .required_efforts import required_efforts
from .retiming import retimed

if TYPE_CHECKING:
    from ...robot.robot import Robot

SLOW, REFUSE, PASS = REACTIONS = ('slow', 'refuse', 'pass')

POSITION_TOLERANCE = 1e-6  # rad, m; what motions exceed limits of position by without meaning it
LIMIT_TOLERANCE = 1e-3  # of other limits that motions may exceed them by
MAX_START_VELOCITY_LOSS = 1e-3  # part of its velocity that a motion may lose at its start


@dataclass(frozen=True, eq=False)
class FeasibleMotion:
    """A motion within the limits.

    Attributes
    ----------
    motion : Motion
    exceeded : list of LimitExcess
        Where the motion as given exceeds limits; empty if nowhere.
    slowness : float
        Factor of its duration.
    reason : str
        Why it is slowed down, in words; empty if it is not.
    """

    motion: Motion
    exceeded: list[LimitExcess]
    slowness: float = 1.0
    reason: str = ''


class ExceededLimitError(ArgumentError):
    """A motion exceeds limits of joints."""


def feasible_motion(
    robot: Robot,
    motion: Motion,
    payloads: Mapping[str, RigidBody] | None = None,
    *,
    on_excess: str = SLOW,
    effort_limit_factor: float = 1.0,
    acceleration_limits: Array | None = None,
    is_measured: bool = False,
) -> FeasibleMotion:
    """Return a motion within the limits of position, velocity, effort and acceleration.

    Parameters
    ----------
    robot : Robot
        With `limits`.
    motion : Motion
        Dense enough for what happens between its samples.
    payloads : {link: RigidBody}, optional
        What the robot carries.
    on_excess : str
        Where limits of velocity or effort are exceeded: 'slow' it down along the same path, or
        'refuse' it; beyond those of position a motion is always refused. With 'pass' it is
        returned as it is.
    effort_limit_factor : float
        Part of the effort limits that the motion may use, (0, 1].
    acceleration_limits : (nv,) array, optional
        [rad/s^2, m/s^2]; not checked by default.
    is_measured : bool
        Whether the first sample is where the robot is: it need not be within the limits.

    Raises
    ------
    ExceededLimitError
        With the joint, the time, the value and the limit.
    """
    limits = of_velocities(robot, robot.limits.effort) * effort_limit_factor
    bounds = limits, acceleration_limits
    exceeded = significant(robot, motion, payloads, is_measured, *bounds)
    if on_excess == PASS or not exceeded:
        return FeasibleMotion(motion, exceeded)
    out_of_reach = [excess for excess in exceeded if excess.quantity == 'position']
    if out_of_reach or on_excess == REFUSE or len(motion.time) == 1:
        raise ExceededLimitError(str((out_of_reach or exceeded)[0]))
    slow = retimed(
        robot, motion, payloads, effort_limits=limits, acceleration_limits=acceleration_limits
    )
    if not slow.feasible:
        raise ExceededLimitError(f'{exceeded[0]}; no speed is slow enough')
    if motion.v[0].any() and slow.speed[0] < 1.0 - MAX_START_VELOCITY_LOSS:
        raise ExceededLimitError(
            f'{exceeded[0]}; it cannot be slowed down from its start, where the robot moves already'
        )
    left = significant(robot, slow.motion, payloads, is_measured, *bounds)
    if left:
        raise ExceededLimitError(f'{left[0]}, also after it has been slowed down')
    slowness = float(np.ptp(slow.motion.time) / np.ptp(motion.time))
    return FeasibleMotion(slow.motion, exceeded, slowness, str(exceeded[0]))


def significant(
    robot: Robot,
    motion: Motion,
    payloads: Mapping[str, RigidBody] | None,
    is_measured: bool,
    *limits: Array | None,
) -> list[LimitExcess]:
    """Return where a motion exceeds limits by more than rounding; those of `exceeded_limits`."""
    efforts = required_efforts(robot, motion, payloads)
    start = float(motion.time[0])

    def counts(excess: LimitExcess) -> bool:
        if excess.quantity == 'position':
            is_start = is_measured and excess.end == start
            return excess.amount > POSITION_TOLERANCE and not is_start
        return excess.amount > LIMIT_TOLERANCE * abs(excess.limit)

    found = exceeded_limits(robot, motion, efforts, *limits)
    return [excess for excess in found if counts(excess)]
