# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Violations of joint limits by a motion: joint, time and amount."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...tree.joint_limits import coordinate_names, of_velocities, position_limits, velocity_names
from ...types import Array
from .motion import Motion

if TYPE_CHECKING:
    from ...robot.robot import Robot

ROWS_AT_ONCE = 64  # taken as one, see `extreme`


@dataclass(frozen=True)
class LimitExcess:
    """One interval of consecutive samples in which a joint is beyond a limit.

    Attributes
    ----------
    joint : str
    quantity : {'position', 'velocity', 'effort', 'acceleration', 'jerk'}
    start, end : float
        Times of its first and its last sample [s].
    time, value : float
        The sample furthest beyond [s], and what it has there [rad, m; 1/s, 1/s^2, 1/s^3; N m, N].
    limit : float
        The bound on that side, with its sign.
    """

    joint: str
    quantity: str
    start: float
    end: float
    time: float
    value: float
    limit: float

    @property
    def amount(self) -> float:
        """Excess over the limit, positive."""
        return abs(self.value - self.limit)

    def __str__(self) -> str:
        return (
            f'{self.quantity} of joint {self.joint!r} beyond its limit {self.limit:g} from '
            f'{self.start:g} s to {self.end:g} s: {self.value:g} at {self.time:g} s'
        )


def exceeded_limits(
    robot: Robot,
    motion: Motion,
    efforts: Array,
    effort_limits: Array | None = None,
    acceleration_limits: Array | None = None,
    jerk_limits: Array | None = None,
) -> list[LimitExcess]:
    """Return where a motion leaves the limits of the joints, in the order of time.

    Parameters
    ----------
    robot : Robot
        With `limits`. Of joints with several coordinates, which the description limits by one
        number, each is held against it; a floating base has none.
    motion : Motion
    efforts : (N, nv) array
        [N m, N].
    effort_limits : (nv,) array, optional
        Instead of those of the robot [N m, N].
    acceleration_limits, jerk_limits : (nv,) arrays, optional
        [1/s^2, 1/s^3]; not checked by default. The jerk of a sample is that up to the next one.
    """
    limits, names = robot.limits, velocity_names(robot)
    lower, upper = position_limits(robot)
    speed = of_velocities(robot, limits.velocity)
    effort = of_velocities(robot, limits.effort) if effort_limits is None else effort_limits
    found = stretches('position', coordinate_names(robot), motion.time, motion.q, lower, upper)
    for quantity, values, bound in (
        ('velocity', motion.v, speed),
        ('effort', efforts, effort),
        ('acceleration', motion.a, acceleration_limits),
        ('jerk', jerks(motion) if jerk_limits is not None else motion.a, jerk_limits),
    ):
        if bound is not None:
            found += stretches(quantity, names, motion.time, values, -bound, bound)
    return sorted(found, key=lambda excess: excess.start)


def jerks(motion: Motion) -> Array:
    """Return the mean jerk from each sample to the next one (N, nv), 0 for the last one."""
    changes = np.diff(motion.a, axis=0) / np.diff(motion.time)[:, None]
    return np.append(changes, np.zeros((1, motion.a.shape[1])), axis=0)


def stretches(
    quantity: str, names: list[str], time: Array, values: Array, lower: Array, upper: Array
) -> list[LimitExcess]:
    """Return the stretches in which values (N, n) are outside of their bounds (n,)."""
    found = []
    beyond = (extreme(np.maximum, values) > upper) | (extreme(np.minimum, values) < lower)
    for k in np.flatnonzero(beyond):
        x = np.ascontiguousarray(values[:, k])
        edges = np.flatnonzero(
            np.diff((x > upper[k]) | (x < lower[k]), prepend=False, append=False)
        )
        for start, end in edges.reshape(-1, 2):
            part = x[start:end]
            worst = start + int(np.argmax(np.maximum(part - upper[k], lower[k] - part)))
            bound = upper[k] if x[worst] > upper[k] else lower[k]
            found.append(
                LimitExcess(
                    names[k],
                    quantity,
                    float(time[start]),
                    float(time[end - 1]),
                    float(time[worst]),
                    float(x[worst]),
                    float(bound),
                )
            )
    return found


def extreme(choose: np.ufunc, values: Array) -> Array:
    """Return the largest or smallest of each column of an array (N, n), (n,).

    Many rows are taken as one: NumPy reduces long rows ten times as fast as short ones.
    """
    count, size = values.shape
    whole = count - count % ROWS_AT_ONCE
    if not whole:
        return choose.reduce(values)
    found = choose.reduce(
        choose.reduce(values[:whole].reshape(-1, ROWS_AT_ONCE * size)).reshape(ROWS_AT_ONCE, size)
    )
    return found if whole == count else choose(found, choose.reduce(values[whole:]))
