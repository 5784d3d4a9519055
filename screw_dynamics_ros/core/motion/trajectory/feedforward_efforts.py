# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Efforts that a controller has to add along a motion: those that the robot does not add itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.types import Array

from .motion import Motion
from .required_efforts import required_efforts

if TYPE_CHECKING:
    from screw_dynamics_ros.core.robot.robot import Robot

REST_VELOCITY_TOLERANCE = 1e-6  # rad/s, m/s; what velocities at rest are by rounding


def held_at_end(motion: Motion) -> Motion:
    """Return a motion whose last sample is one at rest, if it has no velocity there.

    Controllers go on with the last efforts: they have to be those that hold the robot.
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
