# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Targets of the joints: the newest commands of each joint until their timeouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

POSITION, VELOCITY, EFFORT = INTERFACES = ('position', 'velocity', 'effort')
#: Numbers of a joint: rows of arrays.
FIELDS = (*INTERFACES, 'stiffness', 'damping')

MAX_TARGET = 1e12  # rad, m, rad/s, m/s; of joints without limits, far below overflow
TRAJECTORY = 2**62  # ns; instead of the arrival of a message: this and the number of a trajectory

Indices = NDArray[np.intp]
Places = Indices | slice  # of joints in arrays; a slice for all of them, in order
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Command:
    """Numbers for some joints.

    Attributes
    ----------
    joints : (k,) array of int
        Indices of the joints.
    numbers : (5, k) array
        A row for each of `FIELDS` [rad, m; rad/s, m/s; N m, N; N m/rad, N/m; N m s/rad, N s/m];
        NaN where a joint has none.
    """

    joints: Indices
    numbers: Array


def command_of(joints: ArrayLike, **fields: ArrayLike) -> Command:
    """Return a command to joints (k,) from numbers (k,) by field.

    Examples
    --------
    >>> command_of([1], position=[0.5], effort=[2.0]).numbers.T
    array([[0.5, nan, 2. , nan, nan]])
    """
    indices = np.asarray(joints, dtype=np.intp)
    numbers = np.full((len(FIELDS), len(indices)), np.nan)
    for field, values in fields.items():
        numbers[FIELDS.index(field)] = values
    return Command(indices, numbers)


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
    efforts : JointPath, optional
        Feedforward efforts [N m, N].
    """

    joints: Indices
    start: int
    path: JointPath
    efforts: JointPath | None = None

    @property
    def end(self) -> int:
        """Time of the last point [ns]."""
        return self.start + round(self.path.end * NANOSECONDS)

    def at(self, now: int) -> Array:
        """Return positions, velocities and efforts, if any, at a time [ns], (2 or 3, k)."""
        t = (now - self.start) / NANOSECONDS
        q, v = self.path.at(t)
        return np.stack([q, v] if self.efforts is None else [q, v, self.efforts.at(t)[0]])


class Targets(NamedTuple):
    """What the motors of n joints follow.

    Attributes
    ----------
    modes : list of str
        POSITION or VELOCITY of joints that a servo moves; EFFORT of joints with `drive_torques`.
    position, velocity, effort, stiffness, damping : (n,) arrays
        Units as in `Command`; those that a mode does not use are meaningless.
    """

    modes: list[str]
    position: Array
    velocity: Array
    effort: Array
    stiffness: Array
    damping: Array

    def drive_torques(self, q: Array, v: Array) -> Array:
        """Return kp (q_d - q) + kd (v_d - v) + tau of joints in a state, (n,) each [N m, N].

        Examples
        --------
        >>> one = Targets(['effort'], *np.array([[1.0], [0.0], [3.0], [20.0], [2.0]]))
        >>> one.drive_torques(np.array([0.9]), np.array([0.5])).round(9)
        array([4.])
        """
        torques: Array = (
            self.stiffness * (self.position - q) + self.damping * (self.velocity - v) + self.effort
        )
        return torques


class JointTargets:
    """The active commands of n joints with one coordinate.

    A joint has a position, velocity, effort, stiffness and damping, each given by the newest
    command that contains it, or not given.

    * Joints with an impedance drive use all of them. Gains that are not given are those of the
      drive, but the stiffness is 0 without a position, and both are 0 with an effort alone.
    * Joints with an ideal servo use the position, with the velocity as its rate; otherwise the
      velocity; otherwise the effort. A new command replaces the previous one.

    All but the position end after a timeout; a position that came with gains ends with them. A
    joint for which nothing is left, or ever came, holds its position. A trajectory, and its end, is
    followed until the next command.

    Parameters
    ----------
    names : sequence of str
    lower, upper, velocity : (n,) arrays
        Limits of the joints, to which positions and velocities are clipped [rad, m; rad/s, m/s].
    gains : (2, n) array, optional
        Stiffness and damping of impedance drives; NaN for joints with an ideal servo.

    Attributes
    ----------
    is_drive : (n,) array of bool
        Joints with an impedance drive.
    is_idle : bool
        Whether no command is active and no drive has been commanded.
    changes : int
        Number of changes of the commands so far.
    """

    def __init__(
        self,
        names: Sequence[str],
        lower: Array,
        upper: Array,
        velocity: Array,
        gains: Array | None = None,
    ) -> None:
        self.names, count = tuple(names), len(names)
        bounds = np.array([[lower, -velocity], [upper, velocity]])
        self._lower, self._upper = np.clip(bounds, -MAX_TARGET, MAX_TARGET)
        gains = np.full((2, count), np.nan) if gains is None else gains
        self.is_drive: Mask = ~np.isnan(gains[0])
        self.gains = np.nan_to_num(gains)
        self._named, self._all = np.array(self.names), list(range(count))
        self._has_drives = bool(self.is_drive.any())
        self._drives = self.is_drive.tolist()
        self.changes = self._followed = 0
        self.hold(np.zeros(count))

    @property
    def sources(self) -> list[str]:
        """Sources of the active command of each joint; empty for joints without a command."""
        rows = range(len(INTERFACES))
        return [
            ' with '.join(dict.fromkeys(sources[k] for k in rows if number[k] == number[k]))
            for sources, number in zip(self._sources.T.tolist(), self._given.T.tolist())
        ]

    def hold(self, q: Array) -> None:
        """Discard all commands and hold positions (n,)."""
        shape = len(FIELDS), len(self.names)
        self._given = np.full(shape, np.nan)
        self._numbers = np.zeros(shape)
        self._numbers[0] = q
        self._arrivals = np.zeros(shape, dtype=np.int64)
        self._sources = np.full(shape, '', dtype=object)
        self._trajectories: dict[int, Trajectory] = {}  # by their numbers in `_arrivals`
        self._is_engaged, self._oldest = False, TRAJECTORY
        self._settle()

    def command(self, command: Command, source: str, now: int, *, keep: bool = False) -> str:
        """Activate a command at a time [ns]; return a text about clipped and ignored numbers.

        With `keep`, drives keep the numbers that the command does not give, but those of a
        trajectory beside an effort only.
        """
        places = self._places(command.joints)
        numbers, clipped = self._clipped(places, command.numbers)
        self._assign(places, numbers, source, now, keep)
        return '; '.join(filter(None, (clipped, self._ignored(command.joints))))

    def follow(self, trajectory: Trajectory, source: str, now: int) -> str:
        """Activate a trajectory at a time [ns]; return a text about ignored efforts."""
        self._followed += 1
        joints, number = trajectory.joints, TRAJECTORY + self._followed
        numbers = command_of(joints, **dict(zip(INTERFACES, trajectory.at(now)))).numbers
        self._assign(joints, numbers, source, number)
        self._trajectories[number] = trajectory
        return self._ignored(joints)

    def expire(self, now: int, timeout: float, q: Array) -> None:
        """End commands older than a timeout [s]; joints without any then hold q (n,)."""
        latest = now - round(timeout * NANOSECONDS)
        if self._oldest >= latest:
            return
        given = ~np.isnan(self._given)
        old = given & (self._arrivals < latest)
        old[0] &= old[len(INTERFACES) :].any(axis=0)
        self._given[old] = np.nan
        left = given & ~old
        ended = given[: len(INTERFACES)].any(axis=0) & ~left[: len(INTERFACES)].any(axis=0)
        self._numbers[0, ended] = q[ended]
        self._oldest = int(self._arrivals[1:][left[1:]].min(initial=TRAJECTORY))
        if old.any():
            self._settle()

    def at(self, now: int) -> Targets:
        """Return the targets at a time [ns]; the arrays change later."""
        for number, trajectory in list(self._trajectories.items()):
            joints, rows = trajectory.joints, trajectory.at(now)
            rows[0] = np.clip(rows[0], self._lower[0, joints], self._upper[0, joints])
            is_mine = self._arrivals[: len(rows), joints] == number
            row, k = np.nonzero(is_mine & ~np.isnan(self._given[: len(rows), joints]))
            self._numbers[row, joints[k]] = self._given[row, joints[k]] = rows[row, k]
            if now >= trajectory.end or not row.size:
                del self._trajectories[number]
        return self._targets

    def clipped_path(self, joints: Indices, q: Array) -> str:
        """Return a text about the first point of a path (N, k) beyond limits; '' if none is."""
        beyond = ((q < self._lower[0, joints]) | (q > self._upper[0, joints])).any(axis=1)
        points = (command_of(joints, position=row).numbers for row in q[beyond][:1])
        return next((self._clipped(joints, numbers)[1] for numbers in points), '')

    def _places(self, joints: Indices) -> Places:
        return slice(None) if joints.tolist() == self._all else joints

    def _clipped(self, places: Places, numbers: Array) -> tuple[Array, str]:
        """Return numbers (5, k) within the limits, and a text about the first clipped one."""
        lower, upper, limited = self._lower[:, places], self._upper[:, places], numbers[:2]
        beyond = (limited < lower) | (limited > upper)
        if not beyond.any():
            return numbers, ''
        row, k = np.argwhere(beyond)[0]
        clipped = np.concatenate([np.clip(limited, lower, upper), numbers[2:]])
        name = self._named[places][k]
        return clipped, (
            f'{FIELDS[row]} {numbers[row, k]:g} of {name} is beyond its limit and was clipped to '
            f'{clipped[row, k]:g}'
        )

    def _ignored(self, joints: Indices) -> str:
        """Return a text about the first of some joints whose effort its servo ignores."""
        names = (self.names[joint] for joint in joints.tolist() if self._has_ignored_effort[joint])
        name = next(names, '')
        return name and (
            f'the effort of {name} beside its position or velocity is ignored, because the joint '
            'has an ideal servo; list it in impedance_joints'
        )

    def _assign(
        self, places: Places, numbers: Array, source: str, arrival: int, keep: bool = False
    ) -> None:
        """Replace the numbers of joints; `arrival` of a message, or the number of a trajectory."""
        new: Sequence[Any] = numbers, np.int64(arrival), source
        if keep and self._has_drives:
            old = [x[:, places] for x in (self._given, self._arrivals, self._sources)]
            absent = np.isnan(numbers)
            leaves_path = ~absent[:2].all(axis=0) & (old[1] >= TRAJECTORY)
            kept = absent & self.is_drive[places] & ~leaves_path
            new = [np.where(kept, before, x) for before, x in zip(old, new)]
        self._given[:, places], self._arrivals[:, places], self._sources[:, places] = new
        self._is_engaged |= self._has_drives and bool(self.is_drive[places].any())
        self._oldest = min(self._oldest, arrival)
        self._settle()

    def _settle(self) -> None:
        """Set numbers that are not given, and the modes."""
        given = ~np.isnan(self._given)
        rows = given[: len(INTERFACES)].tolist()
        self._numbers[1:] = 0.0
        if self._has_drives:
            position, velocity, effort = given[: len(INTERFACES)]
            has_spring = position | ~(velocity | effort)
            self._numbers[3:] = self.gains * [has_spring, has_spring | velocity]
        np.copyto(self._numbers, self._given, where=given)
        self._has_ignored_effort = [
            e and (q or v) and not is_drive for is_drive, q, v, e in zip(self._drives, *rows)
        ]
        modes = [
            EFFORT if is_drive or (e and not q and not v) else VELOCITY if v and not q else POSITION
            for is_drive, q, v, e in zip(self._drives, *rows)
        ]
        self._targets = Targets(modes, *self._numbers)
        self.is_idle = not (self._is_engaged or any(map(any, rows)))
        self.changes += 1
