# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint limits that a motion violates, and the efforts that it requires."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...description.rigid_body import RigidBody
from ...tree.joint_limits import coordinate_names, of_velocities, position_limits, velocity_names
from ...types import Array
from .motion import Motion

if TYPE_CHECKING:
    from ...robot.robot import Robot

ROWS_AT_ONCE = 64  # taken as one, see `extreme`


REST_VELOCITY_TOLERANCE = 1e-6  # rad/s, m/s; what velocities at rest are by rounding


@dataclass(frozen=True, eq=False)
class MotionWithEfforts:
    """A motion with its efforts.

    Attributes
    ----------
    motion : Motion
    efforts : (N, nv) array
        What the drives have to give [N m, N].
    exceeded : list of LimitExcess
        Where limits of the joints are exceeded, in the order of time; empty if nowhere.
    """

    motion: Motion
    efforts: Array
    exceeded: list[LimitExcess]

    @property
    def feasible(self) -> bool:
        """Whether the motion stays within all limits."""
        return not self.exceeded


def with_efforts(
    robot: Robot,
    motion: Motion,
    payloads: Mapping[str, RigidBody] | None = None,
    *,
    friction: bool = True,
) -> MotionWithEfforts:
    """Return a motion with the efforts it takes: M a + C v + g (Müller 2018b (76), D-27), and more.

    Parameters
    ----------
    robot : Robot
    motion : Motion
    payloads : {link: RigidBody}, optional
        What the robot carries.
    friction : bool
        Whether the friction of the drives is included (also if it comes from the robot
        description).
    """
    efforts = required_efforts(robot, motion, payloads, friction=friction)
    return MotionWithEfforts(motion, efforts, exceeded_limits(robot, motion, efforts))


def required_efforts(
    robot: Robot,
    motion: Motion,
    payloads: Mapping[str, RigidBody] | None = None,
    *,
    friction: bool = True,
) -> Array:
    """Return the efforts (N, nv) of a motion; parameters as in `with_efforts`."""
    q, v, a = motion.q, motion.v, motion.a
    efforts = robot.inverse_dynamics(q, v, a)
    if robot.with_friction:
        efforts = robot.transmitted_torques(v, efforts)
    if payloads:
        efforts = efforts + robot.payload_torques(q, v, a, payloads)
    return efforts + robot.friction_under_load(v, efforts) if friction else efforts


def held_at_end(motion: Motion) -> Motion:
    """Return a motion whose last sample is one at rest, if it has no velocity there.

    Controllers continue with the last efforts: they have to be those that hold the robot.
    """
    if (np.abs(motion.v[-1]) > REST_VELOCITY_TOLERANCE).any():
        return motion
    v, a = motion.v.copy(), motion.a.copy()
    v[-1] = a[-1] = 0.0
    return replace(motion, v=v, a=a)


def feedforward_efforts(
    robot: Robot,
    motion: Motion,
    payloads: Mapping[str, RigidBody] | None = None,
    compensated: Collection[str] = (),
) -> Array:
    """Return the efforts (N, nv) of a motion less the terms that the robot compensates [N m, N].

    Parameters
    ----------
    robot : Robot
    motion : Motion
    payloads : {link: RigidBody}, optional
    compensated : collection of str
        Any of 'gravity', 'coriolis', 'friction', 'inertia' and 'payload'.
    """
    q, v, a = motion.q, motion.v, motion.a
    loads = {} if 'payload' in compensated else payloads
    efforts = required_efforts(robot, motion, loads, friction='friction' not in compensated)
    if 'gravity' in compensated:
        efforts = efforts - robot.gravity_torques(q)
    if 'coriolis' in compensated:
        efforts = efforts - robot.coriolis_torques(q, v)
    if 'inertia' in compensated:
        rest = np.zeros_like(v)
        moved, still = (robot.inverse_dynamics(q, rest, each) for each in (a, rest))
        efforts = efforts - (moved - still)
    return efforts


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
