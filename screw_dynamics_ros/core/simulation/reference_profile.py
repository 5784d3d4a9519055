# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""References that joints can follow: steps of commands made into bounded velocities."""

from __future__ import annotations

import numpy as np

from ..types import Array

#: Part of the largest deceleration with which a goal is approached; the rest makes up for steps.
DECELERATION_SHARE = 0.8

MAX_LIMIT = 1e9  # rad/s, m/s; 1/s^2: instead of infinite limits


class ReferenceProfile:
    """Positions and velocities of n joints on their way to goals.

    A joint approaches its goal with a velocity from which it can stop there, sqrt(2 a d) at the
    distance d, and accelerates by no more than a: steps do not reach the motors. A goal that moves
    with a velocity that is given is followed without delay; without that, as it may stop any time,
    the joint is behind it by the distance in which it could stop itself.

    Parameters
    ----------
    velocity : (n,) array
        Largest velocities [rad/s, m/s].

    Attributes
    ----------
    q, v : (n,) arrays
        The references [rad, rad/s; m, m/s].

    Examples
    --------
    One unit at 2 units per second squared and at most one per second, after half a second:

    >>> profile = ReferenceProfile(np.array([1.0]))
    >>> profile.start(np.zeros(1), np.zeros(1))
    >>> for _ in range(500):
    ...     profile.approach(np.ones(1), np.zeros(1), np.array([2.0]), 0.001)
    >>> profile.q.round(2), profile.v.round(2)
    (array([0.25]), array([1.]))
    """

    def __init__(self, velocity: Array) -> None:
        self._velocity = np.minimum(velocity, MAX_LIMIT)
        self.q, self.v = np.zeros(len(velocity)), np.zeros(len(velocity))

    def start(self, q: Array, v: Array) -> None:
        """Begin at positions and velocities (n,)."""
        self.q, self.v = np.array(q), np.array(v)

    def stay_near(self, q: Array, v: Array, position_error: Array, velocity_error: Array) -> None:
        """Let the references be no further than these errors (n,) from a state q, v (n,)."""
        self.q = np.clip(self.q, q - position_error, q + position_error)
        self.v = np.clip(self.v, v - velocity_error, v + velocity_error)

    def approach(self, goal: Array, goal_velocity: Array, acceleration: Array, dt: float) -> None:
        """Move on by dt [s] towards goals (n,) that move, with bounded accelerations (n,)."""
        distance = goal - self.q
        bound = np.minimum(acceleration, MAX_LIMIT)
        fastest = np.minimum(
            self._velocity, np.sqrt(2.0 * DECELERATION_SHARE * bound * np.abs(distance))
        )
        wanted = np.sign(distance) * np.minimum(fastest, np.abs(distance) / dt)
        self.v = self.v + np.clip(goal_velocity + wanted - self.v, -bound * dt, bound * dt)
        self.q = self.q + self.v * dt
