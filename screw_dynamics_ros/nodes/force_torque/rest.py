# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Check whether the robot was at rest during sensor messages."""

from __future__ import annotations

import math
import time
from collections import deque

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError, NotAtRestError
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState

from .sensor_messages import WrenchSample

MAX_STATES = 20_000  # stored joint states
MIN_SAMPLES = 10  # or pose_samples, if that is less


class RestStates:
    """The latest joint states, without a pause between them."""

    def __init__(self) -> None:
        self._states: deque[tuple[int, Array, Array]] = deque(maxlen=MAX_STATES)

    def forget(self) -> None:
        """Discard all states."""
        self._states.clear()

    def observe(self, observed: ObservedState) -> None:
        """Store a state; after a pause discard earlier ones."""
        stamp, (q, v, _) = observed.stamp, observed.state
        before = self._states[-1][0] if self._states else stamp - 1
        if observed.restarted or not 0 < stamp - before <= observed.mapper.policies.timeout:
            self.forget()
        self._states.append((stamp, q.copy(), v.copy()))

    def positions(
        self,
        mapper: JointStateMapper,
        samples: list[WrenchSample],
        limit: float,
        gap: float,
        timeout: float,
        most: int,
    ) -> Array:
        """Return the mean positions (n,) of the robot, which must be at rest during the samples.

        Parameters
        ----------
        mapper : JointStateMapper
        samples : list of WrenchSample
            The latest samples, without a pause between them.
        limit : float
            Largest velocity [rad/s, m/s].
        gap : float
            Largest difference between first or last stamps of states and samples [s].
        timeout : float
            Largest age of the last sample [s].
        most : int
            Requested number of samples; at least `MIN_SAMPLES`, or `most` if smaller, are required.

        Raises
        ------
        NotAtRestError
            The robot moves.
        ArgumentError
            Too few or too old samples, or no joint states at their times.
        """
        now = time.monotonic()
        if len(samples) < min(MIN_SAMPLES, most):
            raise ArgumentError(
                f'{len(samples)} sensor messages without a pause, at least '
                f'{min(MIN_SAMPLES, most)} are needed: call again later; see /diagnostics'
            )
        if now - samples[-1].arrival > timeout:
            raise ArgumentError(
                f'no sensor message for {now - samples[-1].arrival:.1f} s: check that the driver '
                'of the sensor is running'
            )
        states = [each for each in self._states if each[0] >= samples[0].stamp - gap * 1e9]
        age = now - mapper.last_accepted
        if not states or age > (mapper.policies.state_timeout or math.inf):
            raise ArgumentError(
                f'no joint state for {age:.1f} s: check that the driver of the robot is running'
            )
        if states[-1][0] < samples[-1].stamp - gap * 1e9 or states[0][0] > (
            samples[0].stamp + gap * 1e9
        ):
            raise ArgumentError(
                'no joint states match the stamps of the sensor messages, which differ by '
                f'{abs(states[-1][0] - samples[-1].stamp) * 1e-9:.3g} s; check the clocks, or '
                'call again later'
            )
        return self._at_rest(mapper, states, limit)

    def _at_rest(
        self, mapper: JointStateMapper, states: list[tuple[int, Array, Array]], limit: float
    ) -> Array:
        q, v = (np.array([state[k] for state in states]) for k in (1, 2))
        moved = q - q[0]
        turns = mapper.continuous
        moved[:, turns] = (moved[:, turns] + np.pi) % (2.0 * np.pi) - np.pi
        seconds = (states[-1][0] - states[0][0]) * 1e-9
        speeds = np.abs(v).max(axis=0)
        spread = moved.max(axis=0) - moved.min(axis=0)
        moving = (speeds > limit) | (spread > max(limit * seconds, 1e-9))
        if moving.any():
            k = int(np.argmax(moving))
            raise NotAtRestError(
                f'{mapper.joints[k]} moves: {speeds[k]:.3g} rad/s or m/s, by {spread[k]:.3g} rad '
                f'or m within {seconds:.3g} s, more than rest_velocity_limit ({limit:g}) allows; '
                'wait until the robot is at rest and call again'
            )
        mean: Array = q[0] + moved.mean(axis=0)
        return mean
