# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The efforts that a motion requires, the limits it exceeds, and what a controller has to add."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...description.rigid_body import RigidBody
from ...types import Array
from .limits import LimitExcess, exceeded_limits
from .motion import Motion

if TYPE_CHECKING:
    from ...robot.robot import Robot

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
