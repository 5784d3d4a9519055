# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of motions for identification."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.arguments import check_number
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.types import Array

from .recording import DynamicModel

#: For joints without limits: half range [rad, m], speed [rad/s, m/s].
FREE_RANGE, FREE_SPEED = np.pi, 1.0

#: Default limit of accelerations: full speed within this time [s].
FULL_SPEED_TIME_S = 0.5

#: Used fraction of the limits: extremes between samples are up to 5 % larger.
LIMIT_SHARE = 0.95


@dataclass(frozen=True)
class MotionLimits:
    """Limits of a motion.

    Attributes
    ----------
    range : float
        Used fraction of the joint ranges, about their centers, 0 to 1.
    speed : float
        Used fraction of the velocity limits, 0 to 1.
    acceleration : float, optional
        Largest acceleration of each joint [rad/s^2, m/s^2]; by default full speed within half a
        second.
    effort : bool
        Whether efforts of the nominal robot must stay within their limits.
    joints : collection of str, optional
        Moving joints; all by default. The others are at rest at the centers of their ranges.
    """

    range: float = 1.0
    speed: float = 1.0
    acceleration: float | None = None
    effort: bool = True
    joints: Collection[str] | None = None


def moving_joints(robot: DynamicModel, limits: MotionLimits) -> NDArray[np.bool_]:
    """Return which joints (n,) move.

    Raises
    ------
    ArgumentError
        For a floating base, joints with several degrees of freedom, and loops.
    UnknownNameError
        No such joint.
    """
    names, description = robot.joint_names, robot.description
    several = [
        f'joint {joint.name!r} is {joint.type}'
        for joint in description.joints
        if not (joint.kind.is_fixed or joint.kind.is_scalar)
    ]
    if robot.nq != robot.nv or robot.nv != len(names) or not names:
        raise ArgumentError(
            f'{description.name!r}: a fixed base and joints of one freedom are needed'
            + (f'; {several[0]}' if several else '')
        )
    if description.closures:
        raise ArgumentError(
            f'{description.name!r} has loops: its joints cannot move independently, and the motion '
            'would open them; describe a part without loops'
        )
    if limits.joints is None:
        return np.ones(len(names), dtype=bool)
    unknown = [name for name in limits.joints if name not in names]
    if unknown or not limits.joints:
        raise UnknownNameError(
            f'joints: no joint {unknown[0]!r}; there are {", ".join(names)}'
            if unknown
            else f'joints: none chosen of {", ".join(names)}'
        )
    return np.array([name in limits.joints for name in names])


def bounds(robot: DynamicModel, limits: MotionLimits) -> tuple[Array, Array, Array, Array]:
    """Return centers, half ranges, speeds and accelerations (n,)."""
    for name in ('range', 'speed'):
        value = getattr(limits, name)
        check_number(name, value, positive=True)
        if value > 1.0:
            raise ArgumentError(f'{name} = {value} is a share of the limits, at most 1')
    if limits.acceleration is not None:
        check_number('acceleration', limits.acceleration, positive=True)
    lower, upper = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid='ignore'):
        middle = np.where(bounded, (lower + upper) / 2, np.clip(0.0, lower, upper))
        half = np.where(bounded, (upper - lower) / 2, FREE_RANGE)
    half = LIMIT_SHARE * limits.range * np.minimum(half, FREE_RANGE)
    # A joint with one limit only stays on the allowed side.
    one_sided = ~bounded & (np.isfinite(lower) | np.isfinite(upper))
    middle = middle + np.where(one_sided, np.where(np.isfinite(lower), half, -half), 0.0)
    velocity = robot.limits.velocity
    speed = LIMIT_SHARE * limits.speed * np.where(np.isfinite(velocity), velocity, FREE_SPEED)
    still = [name for name, s, h in zip(robot.joint_names, speed, half) if s <= 0.0 or h <= 0.0]
    still = [name for name in still if limits.joints is None or name in limits.joints]
    if still:
        raise ArgumentError(
            f'limits of position or velocity of {", ".join(still)} leave no motion; choose other '
            'joints'
        )
    acceleration = speed / FULL_SPEED_TIME_S
    if limits.acceleration is not None:
        acceleration = np.full(speed.shape, LIMIT_SHARE * limits.acceleration)
    return middle, half, speed, acceleration
