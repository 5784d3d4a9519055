# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Targets of the joints: the newest command of each joint until its timeout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

POSITION, VELOCITY, EFFORT = INTERFACES = ('position', 'velocity', 'effort')

Indices = NDArray[np.intp]

#: Interfaces, positions, velocities and efforts, one for each joint.
Wanted = tuple[list[str], Array, Array, Array]


@dataclass(frozen=True, eq=False)
class Command:
    """Numbers for one interface of some joints.

    Attributes
    ----------
    interface : str
        One of `INTERFACES`.
    joints : (k,) array of int
        Indices of the joints.
    values : (k,) array
        [rad, m; rad/s, m/s; N m, N].
    rates : (k,) array, optional
        Feedforward velocities of a position command [rad/s, m/s].
    """

    interface: str
    joints: Indices
    values: Array
    rates: Array | None = None


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A path of some joints.

    Attributes
    ----------
    joints : (k,) array of int
        Indices of the joints.
    start : int
        Start time of the path [ns].
    path : JointPath
    """

    joints: Indices
    start: int
    path: JointPath

    @property
    def end(self) -> int:
        """Time of the last point [ns]."""
        return self.start + round(self.path.end * NANOSECONDS)

    def at(self, now: int) -> tuple[Array, Array]:
        """Return positions and velocities at a time [ns], (k,) each."""
        return self.path.at((now - self.start) / NANOSECONDS)


class JointTargets:
    """The active commands of n joints with one coordinate.

    The newest command of each joint is active. After the timeout of an effort or velocity command,
    the joint holds its current position. A position, and the end of a trajectory, is held until the
    next command.

    Parameters
    ----------
    names : sequence of str
    lower, upper, velocity : (n,) arrays
        Limits of the joints, to which positions and velocities are clipped [rad, m; rad/s, m/s].

    Attributes
    ----------
    interfaces : list of str
        Active interface of each joint, one of `INTERFACES`.
    sources : list of str
        Source of the active command of each joint; empty for joints that hold without a command.
    changes : int
        Number of commands so far.
    """

    def __init__(self, names: Sequence[str], lower: Array, upper: Array, velocity: Array) -> None:
        self.names, count = tuple(names), len(names)
        self._bounds = {POSITION: (lower, upper), VELOCITY: (-velocity, velocity)}
        self._values = {interface: np.zeros(count) for interface in INTERFACES}
        self._arrivals = np.zeros(count, dtype=np.int64)
        self._trajectories: list[Trajectory] = []
        self.changes = 0
        self.hold(np.zeros(count))

    @property
    def is_idle(self) -> bool:
        """Whether no command is active."""
        return not any(self.sources)

    def hold(self, q: Array) -> None:
        """Discard all commands and hold positions (n,)."""
        count = len(self.names)
        self.changes += 1
        self.interfaces, self.sources = [POSITION] * count, [''] * count
        self._values[POSITION][:], self._values[VELOCITY][:] = q, 0.0
        self._trajectories = []

    def command(self, command: Command, source: str, now: int) -> str:
        """Activate a command at a time [ns]; return a text about clipped values."""
        joints, interface = command.joints, command.interface
        values, clipped = self._clipped(interface, joints, command.values)
        self._assign(joints, interface, source, now)
        self._values[interface][joints] = values
        if interface == POSITION:
            rates, note = self._clipped(
                VELOCITY, joints, np.zeros(len(joints)) if command.rates is None else command.rates
            )
            self._values[VELOCITY][joints] = rates
            clipped = clipped or note
        return clipped

    def follow(self, trajectory: Trajectory, source: str, now: int) -> None:
        """Activate a trajectory at a time [ns]."""
        self._assign(trajectory.joints, POSITION, source, now)
        self._trajectories.append(trajectory)

    def expire(self, now: int, timeout: float, q: Array) -> None:
        """End efforts and velocities older than a timeout [s]; these joints then hold q (n,)."""
        latest = now - round(timeout * NANOSECONDS)
        for joint, interface in enumerate(self.interfaces):
            if interface != POSITION and self._arrivals[joint] < latest:
                self.interfaces[joint], self.sources[joint] = POSITION, ''
                self._values[POSITION][joint] = q[joint]
                self._values[VELOCITY][joint] = 0.0

    def at(self, now: int) -> Wanted:
        """Return interfaces and targets (position, velocity, effort) at a time [ns], (n,) each."""
        positions, velocities = self._values[POSITION], self._values[VELOCITY]
        for trajectory in self._trajectories:
            q, v = trajectory.at(now)
            positions[trajectory.joints] = self._clipped(POSITION, trajectory.joints, q)[0]
            velocities[trajectory.joints] = v
        self._trajectories = [each for each in self._trajectories if now < each.end]
        return self.interfaces, positions, velocities, self._values[EFFORT]

    def clipped_path(self, joints: Indices, q: Array) -> str:
        """Return a text about the first point of a path (N, k) beyond limits; '' if none is."""
        return next(filter(None, (self._clipped(POSITION, joints, row)[1] for row in q)), '')

    def _clipped(self, interface: str, joints: Indices, values: Array) -> tuple[Array, str]:
        """Return values (k,) within the limits, and a text about the first clipped one."""
        if interface not in self._bounds:
            return values, ''
        lower, upper = (bound[joints] for bound in self._bounds[interface])
        clipped = np.clip(values, lower, upper)
        beyond = np.flatnonzero(clipped != values)
        if not len(beyond):
            return clipped, ''
        k = beyond[0]
        return clipped, (
            f'{interface} {values[k]:g} of {self.names[joints[k]]} is beyond its limit and was '
            f'clipped to {clipped[k]:g}'
        )

    def _assign(self, joints: Indices, interface: str, source: str, now: int) -> None:
        """Assign joints to a source, and remove them from active trajectories."""
        taken = set(joints.tolist())
        self.changes += 1
        self._trajectories = [
            part for each in self._trajectories if len((part := without(each, taken)).joints)
        ]
        for joint in taken:
            self.interfaces[joint], self.sources[joint] = interface, source
        self._arrivals[joints] = now


def without(trajectory: Trajectory, taken: set[int]) -> Trajectory:
    """Return a trajectory without some of its joints."""
    kept = [k for k, joint in enumerate(trajectory.joints) if joint not in taken]
    if len(kept) == len(trajectory.joints):
        return trajectory
    return Trajectory(trajectory.joints[kept], trajectory.start, trajectory.path.of(kept))
