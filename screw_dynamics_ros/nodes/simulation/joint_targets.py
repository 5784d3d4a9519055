# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Targets of the joints: the newest commands of each joint until their timeouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

POSITION, VELOCITY, EFFORT = INTERFACES = ('position', 'velocity', 'effort')
#: Numbers of a joint: rows of arrays.
FIELDS = (*INTERFACES, 'stiffness', 'damping')

NO_ARRIVAL = 2**62  # ns

Indices = NDArray[np.intp]
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
        Units as in `Command`. Joints of modes POSITION and VELOCITY have neither gains nor effort.
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
        unlimited = np.full((3, count), np.inf)
        self._lower = np.stack([lower, -velocity, *-unlimited])
        self._upper = np.stack([upper, velocity, *unlimited])
        gains = np.full((2, count), np.nan) if gains is None else gains
        self.is_drive: Mask = ~np.isnan(gains[0])
        self.gains = np.nan_to_num(gains)
        self.changes = self._followed = 0
        self.hold(np.zeros(count))

    @property
    def sources(self) -> list[str]:
        """Sources of the active command of each joint; empty for joints without a command."""
        columns = self._sources[: len(INTERFACES)].T
        return [' with '.join(dict.fromkeys(filter(None, column))) for column in columns]

    def hold(self, q: Array) -> None:
        """Discard all commands and hold positions (n,)."""
        shape = len(FIELDS), len(self.names)
        self._given = np.zeros(shape, dtype=bool)
        self._numbers = np.zeros(shape)
        self._numbers[0] = q
        self._arrivals, self._owners = np.zeros((2, *shape), dtype=np.int64)
        self._sources = np.full(shape, '', dtype=object)
        self._trajectories: dict[int, Trajectory] = {}  # by their numbers in `_owners`
        self._is_engaged = False
        self._settle()

    def command(self, command: Command, source: str, now: int, *, keep: bool = False) -> str:
        """Activate a command at a time [ns]; return a text about clipped and ignored numbers.

        With `keep`, drives keep the numbers that the command does not give.
        """
        numbers, clipped = self._clipped(command)
        given, ignored = self._usable(command.joints, ~np.isnan(numbers))
        self._assign(command.joints, given, numbers, source, now, keep=keep)
        return '; '.join(filter(None, (clipped, ignored)))

    def follow(self, trajectory: Trajectory, source: str, now: int) -> str:
        """Activate a trajectory at a time [ns]; return a text about ignored efforts."""
        rows, joints = trajectory.at(now), trajectory.joints
        given = np.zeros((len(FIELDS), len(joints)), dtype=bool)
        given[: len(rows)] = True
        given, ignored = self._usable(joints, given)
        self._followed += 1
        numbers = np.zeros(given.shape)  # written by `at`
        self._assign(joints, given, numbers, source, now, owner=self._followed)
        self._trajectories[self._followed] = trajectory
        return ignored

    def expire(self, now: int, timeout: float, q: Array) -> None:
        """End commands older than a timeout [s]; joints without any then hold q (n,)."""
        latest = now - round(timeout * NANOSECONDS)
        if self._oldest >= latest:
            return
        old = self._given & (self._owners == 0) & (self._arrivals < latest)
        old[0] &= old[len(INTERFACES) :].any(axis=0)
        was_commanded = self._is_commanded
        self._given &= ~old
        self._sources[~self._given] = ''
        ended = was_commanded & ~self._is_commanded
        self._numbers[0, ended] = q[ended]
        self._settle()

    def at(self, now: int) -> Targets:
        """Return the targets at a time [ns]; the arrays change later."""
        for number, trajectory in list(self._trajectories.items()):
            joints, rows = trajectory.joints, trajectory.at(now)
            rows[0] = np.clip(rows[0], self._lower[0, joints], self._upper[0, joints])
            row, k = np.nonzero(self._owners[: len(rows), joints] == number)
            self._numbers[row, joints[k]] = rows[row, k]
            if now >= trajectory.end:
                del self._trajectories[number]
        return self._targets

    def clipped_path(self, joints: Indices, q: Array) -> str:
        """Return a text about the first point of a path (N, k) beyond limits; '' if none is."""
        beyond = ((q < self._lower[0, joints]) | (q > self._upper[0, joints])).any(axis=1)
        points = q[beyond][:1]
        return next((self._clipped(command_of(joints, position=row))[1] for row in points), '')

    @property
    def _is_commanded(self) -> Mask:
        """Joints with an active command, (n,)."""
        commanded: Mask = np.logical_or.reduce(self._given[: len(INTERFACES)])
        return commanded

    def _clipped(self, command: Command) -> tuple[Array, str]:
        """Return numbers (5, k) within the limits, and a text about the first clipped one."""
        joints, numbers = command.joints, command.numbers
        clipped = np.clip(numbers, self._lower[:, joints], self._upper[:, joints])
        beyond = np.argwhere(np.abs(clipped - numbers) > 0.0)
        if not len(beyond):
            return clipped, ''
        row, k = beyond[0]
        return clipped, (
            f'{FIELDS[row]} {numbers[row, k]:g} of {self.names[joints[k]]} is beyond its limit and '
            f'was clipped to {clipped[row, k]:g}'
        )

    def _usable(self, joints: Indices, given: Mask) -> tuple[Mask, str]:
        """Return the numbers (5, k) that joints use, and a text about the first ignored effort."""
        position, velocity, effort = given[: len(INTERFACES)]
        ignored = effort & (position | velocity) & ~self.is_drive[joints]
        if not ignored.any():
            return given, ''
        used = given.copy()
        used[INTERFACES.index(EFFORT)] &= ~ignored
        return used, (
            f'the effort of {self.names[joints[ignored.argmax()]]} beside its position or velocity '
            'is ignored, because the joint has an ideal servo; list it in impedance_joints'
        )

    def _assign(
        self,
        joints: Indices,
        given: Mask,
        numbers: Array,
        source: str,
        now: int,
        *,
        keep: bool = False,
        owner: int = 0,
    ) -> None:
        """Replace the numbers of joints, from a message or the trajectory `owner`."""
        replaced = given | ~(keep & self.is_drive[joints])
        for array, values, changed in (
            (self._given, given, replaced),
            (self._numbers, numbers, given),
            (self._arrivals, now, replaced),
            (self._owners, np.where(given, owner, 0), replaced),
            (self._sources, np.where(given, source, ''), replaced),
        ):
            array[:, joints] = np.where(changed, values, array[:, joints])
        self._is_engaged |= bool(self.is_drive[joints].any())
        owners = {*self._owners.ravel().tolist()} if self._trajectories else set()
        self._trajectories = {k: each for k, each in self._trajectories.items() if k in owners}
        self._settle()

    def _settle(self) -> None:
        """Set numbers that are not given, the modes, and the arrival of the oldest command."""
        position, velocity, _ = self._given[: len(INTERFACES)]
        is_commanded = self._is_commanded
        has_spring, zero = position | ~is_commanded, np.zeros(len(self.names))
        gains = self.gains * [has_spring, has_spring | velocity]
        np.copyto(self._numbers, [self._numbers[0], zero, zero, *gains], where=~self._given)
        servo = np.where(has_spring, POSITION, np.where(velocity, VELOCITY, EFFORT))
        modes = np.where(self.is_drive, EFFORT, servo).tolist()
        self._targets = Targets(modes, *self._numbers)
        ends = self._given & (self._owners == 0)
        ends[0] = False
        self._oldest = int(self._arrivals[ends].min(initial=NO_ARRIVAL))
        self.is_idle = not (self._is_engaged or is_commanded.any())
        self.changes += 1
