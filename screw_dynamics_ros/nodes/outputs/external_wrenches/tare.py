# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The joint states over which a tare averages, and the reasons to refuse it."""

from __future__ import annotations

import math
import time
from collections import deque

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper
from screw_dynamics_ros.ros.parameters import Parameters, Specification

MIN_SAMPLES = 10  # or tare_samples, if that is less

TABLE = (
    Specification(
        'tare_samples',
        100,
        'Number of latest joint states whose mean external torque ~/tare takes as zero; at '
        'least 10, or all if fewer, must be available.',
        minimum=1,
        maximum=10_000,
    ),
    Specification(
        'tare_velocity_limit',
        0.05,
        'Largest velocity of a joint, measured or derived from its positions, at which ~/tare '
        'is accepted [rad/s, m/s]. 0: any.',
        minimum=0.0,
    ),
)


class TareStates:
    """The latest states with velocities and efforts, without a pause among them.

    Parameters
    ----------
    parameters : Parameters
        With the values of `TABLE`.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._states: deque[Array] = deque()  # (3, n) each
        self._stamps: deque[int] = deque()
        self._arrival = -math.inf  # of the last one, monotonic clock [s]
        self.resize()

    def resize(self) -> None:
        """Keep as many as `tare_samples` says from now on."""
        most = self._parameters['tare_samples']
        self._states, self._stamps = deque(self._states, most), deque(self._stamps, most)

    def forget(self) -> None:
        """Restart."""
        self._states.clear()
        self._stamps.clear()

    def observe(self, mapper: JointStateMapper) -> None:
        """Keep the present state, if it has velocities and efforts; only it after a pause."""
        if mapper.restarted:
            self.forget()
        if not (mapper.has_velocity and mapper.has_effort):
            return
        before = self._stamps[-1] if self._stamps else mapper.stamp - 1
        if not 0 < mapper.stamp - before <= mapper.policies.timeout:
            self.forget()
        self._states.append(mapper.state.copy())
        self._stamps.append(mapper.stamp)
        self._arrival = mapper.last_accepted

    @property
    def states(self) -> Array:
        """Positions, velocities and efforts of all of them, (N, 3, n)."""
        return np.array(self._states)

    def fault(self, mapper: JointStateMapper, robot: Robot, service: str = '~/tare') -> str:
        """Return why there can be no tare now, empty if there can; by the name of the service."""
        if not self._states:
            return 'no joint states with velocity and effort so far; see /diagnostics'
        age, timeout = time.monotonic() - self._arrival, mapper.policies.state_timeout
        if age > (timeout or math.inf):
            return (
                f'no joint states with velocity and effort for {age:.1f} s, longer than '
                f'state_timeout ({timeout:g} s): check that the driver is running'
            )
        least = min(MIN_SAMPLES, self._parameters['tare_samples'])
        if len(self._states) < least:
            return (
                f'{len(self._states)} joint states with velocity and effort since the start, a '
                f'pause or ~/reset, and at least {least} are needed: call {service} again later'
            )
        return self._motion(mapper, robot, service)

    def _motion(self, mapper: JointStateMapper, robot: Robot, service: str) -> str:
        """Return which joint has moved and how fast, empty if all were at rest."""
        limit = self._parameters['tare_velocity_limit']
        if not limit:
            return ''
        q, v, _ = np.moveaxis(self.states, 1, 0)
        moved = q - q[0]
        turns = mapper.continuous
        moved[:, turns] = (moved[:, turns] + np.pi) % (2.0 * np.pi) - np.pi
        seconds = (self._stamps[-1] - self._stamps[0]) * 1e-9
        spread = moved.max(axis=0) - moved.min(axis=0)
        units = {joint.name: joint.kind.position_unit for joint in robot.description.joints}
        speeds = np.abs(v).max(axis=0)
        for joint, speed, distance in zip(mapper.joints, speeds.tolist(), spread.tolist()):
            unit = units[joint]
            if not speed <= limit:
                how = f'at {speed:.3g} {unit}/s'
            elif not distance <= limit * seconds:
                how = f'by {distance:.3g} {unit} within {seconds:.3g} s'
            else:
                continue
            return (
                f'{joint} moved {how}, more than tare_velocity_limit ({limit:g} {unit}/s) '
                f'allows: let the robot come to rest and call {service} again'
            )
        return ''
