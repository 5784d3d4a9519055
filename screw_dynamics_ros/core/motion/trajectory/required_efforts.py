# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The efforts that a motion requires, and the limits it exceeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.types import Array

from .limits import LimitExcess, exceeded_limits
from .motion import Motion

if TYPE_CHECKING:
    from screw_dynamics_ros.core.robot.robot import Robot


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
