# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The joint states that a tare averages, and the reasons to refuse it."""

from __future__ import annotations

import math
import time
from collections import deque

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.parameters import Parameters, Specification

MIN_SAMPLES = 10  # or tare_samples, if that is less

TABLE = (
    Specification(
        'tare_samples',
        100,
        'Number of latest joint states that ~/tare averages for the offset of external torques; '
        'at least 10, or this number if smaller, must be available.',
        minimum=1,
        maximum=10_000,
    ),
    Specification(
        'tare_velocity_limit',
        0.05,
        'Largest joint velocity, measured or derived from positions, at which ~/tare is accepted '
        '[rad/s, m/s]. 0: no limit.',
        minimum=0.0,
    ),
)


class TareStates:
    """The latest states with velocities and efforts, without a pause between them.

    Parameters
    ----------
    parameters : Parameters
        With the rows of `TABLE`.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._states: deque[Array] = deque()  # (3, n) each
        self._stamps: deque[int] = deque()
        self._arrival = -math.inf  # of the last state, monotonic clock [s]
        self.resize()

    def resize(self) -> None:
        """Apply `tare_samples` as the number of stored states."""
        most = self._parameters['tare_samples']
        self._states, self._stamps = deque(self._states, most), deque(self._stamps, most)

    def forget(self) -> None:
        """Discard all states."""
        self._states.clear()
        self._stamps.clear()

    def observe(self, observed: ObservedState) -> None:
        """Store a state with velocities and efforts; after a pause discard the others."""
        if observed.restarted:
            self.forget()
        if not (observed.has_velocity and observed.has_effort):
            return
        stamp = observed.stamp
        before = self._stamps[-1] if self._stamps else stamp - 1
        if not 0 < stamp - before <= observed.mapper.policies.timeout:
            self.forget()
        self._states.append(observed.state.copy())
        self._stamps.append(stamp)
        self._arrival = observed.arrival

    @property
    def states(self) -> Array:
        """Positions, velocities and efforts of all states, (N, 3, n)."""
        return np.array(self._states)

    def fault(self, mapper: JointStateMapper, robot: Robot, service: str = '~/tare') -> str:
        """Return why a tare is not possible now, empty if it is; `service` appears in the text."""
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
                f'pause or ~/reset, at least {least} are needed: call {service} again later'
            )
        return self._motion(mapper, robot, service)

    def _motion(self, mapper: JointStateMapper, robot: Robot, service: str) -> str:
        """Return a text about the first joint that moved, empty if all were at rest."""
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
                f'allows: wait until the robot is at rest and call {service} again'
            )
        return ''
