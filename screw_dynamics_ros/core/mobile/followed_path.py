# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The path of a platform from joint states, until it is lost.

Positions or velocities of wheels give their displacements:

>>> readings = WheelReadings([('right',), ('left',)])
>>> readings.read([0.0, 0.0], [0.0, 0.0], 0, max_gap=0.5, max_rate=100.0)
>>> readings.read([0.1, 0.2], [0.0, 0.0], 10**8, max_gap=0.5, max_rate=100.0).displacements
array([0.1, 0.2])

`WheelCheck` determines whether redundant wheels agree, and which error they suggest. Slips that
remain after least squares are summed with their signs over about `FORGETTING_LENGTH` of the path,
so that noise and the resolution of encoders cancel out, and wheels with wrong signs or names do
not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ScrewDynamicsError
from ..types import Array
from ..units import NANOSECONDS
from . import planar
from .odometry import Odometry
from .wheeled_platform import WheeledPlatform

FORGETTING_LENGTH = 0.5  # of the path over which slips are forgotten [m]
SLIP_TOLERANCE = 0.1  # slip per length of the path
MAX_CAUSES = 2  # that are named
EXPLAINED = 0.2  # of the slip that remains with another assignment of the wheels


@dataclass(frozen=True, eq=False)
class Step:
    """What the wheels did between two readings.

    Attributes
    ----------
    stamp : int
        Of the second reading [ns].
    dt : float
        Time between them [s].
    displacements : (n,) array
        Of the driven wheels [rad].
    steering : (k,) array
        Angles in the middle of the step [rad].
    """

    stamp: int
    dt: float
    displacements: Array
    steering: Array


class PathLostError(ArgumentError):
    """Between two readings the platform may have gone anywhere."""


class WheelReadings:
    """Reads successive states of the joints of wheels.

    Parameters
    ----------
    wheels : sequence of sequences of str
        Joints of each driven wheel; those of one wheel turn alike and are averaged.
    by_position : bool
        Whether wheels are measured by their positions, or by their velocities.
    """

    def __init__(self, wheels: Sequence[Sequence[str]], by_position: bool = True) -> None:
        self._names = [group[0] for group in wheels]
        ends = np.cumsum([len(group) for group in wheels]).tolist()
        self._groups = [slice(a, b) for a, b in zip([0, *ends], ends)]
        self._by_position = by_position
        self._last: tuple[int, Array, Array] | None = None  # stamp, wheels, steering

    def forget(self) -> None:
        """Begin with the next state."""
        self._last = None

    def read(
        self, q: ArrayLike, v: ArrayLike, stamp: int, max_gap: float, max_rate: float
    ) -> Step | None:
        """Return the step since the state before; None for the first one.

        Parameters
        ----------
        q, v : (m,) arrays
            Positions [rad] and velocities [rad/s] of the joints of all wheels, then of those that
            steer.
        stamp : int
            [ns].
        max_gap : float
            Longest step [s].
        max_rate : float
            Of a wheel [rad/s].

        Raises
        ------
        PathLostError
            A gap, a clock that was set back, a jump of an encoder: the state begins a new path.
        """
        positions, measured = np.asarray(q, dtype=float), np.asarray(q if self._by_position else v)
        with np.errstate(over='ignore'):
            wheels = np.array([np.mean(measured[group]) for group in self._groups])
        steering = positions[self._groups[-1].stop :].copy()
        last, self._last = self._last, (stamp, wheels, steering)
        if last is None:
            return None
        dt = (stamp - last[0]) / NANOSECONDS
        if dt <= 0.0:
            raise PathLostError(f'the clock of joint_states went back by {-dt:.3f} s')
        if dt > max_gap:
            raise PathLostError(f'no joint state for {dt:.3f} s, more than max_gap = {max_gap:g} s')
        with np.errstate(over='ignore', invalid='ignore'):  # an encoder may report anything
            moved = wheels - last[1] if self._by_position else 0.5 * dt * (last[1] + wheels)
            rates = np.abs(moved) / dt
        if not rates.max() <= max_rate:
            fastest = int(np.argmax(rates))
            raise PathLostError(
                f'wheel {self._names[fastest]!r} jumped by {moved[fastest]:.4g} rad in {dt:.4f} s, '
                f'more than max_wheel_velocity = {max_rate:g} rad/s allows'
            )
        middle = last[2] + 0.5 * planar.wrapped(steering - last[2])
        return Step(stamp, dt, moved, middle)


class WheelCheck:
    """Compares the wheels of a platform with each other.

    Parameters
    ----------
    platform : WheeledPlatform

    Attributes
    ----------
    slip : float
        Largest one of the last step [m].
    misfit : float
        Slip per length of the recent path, 0 before `FORGETTING_LENGTH` has been driven.

    Examples
    --------
    The steering of a car reports angles with the opposite sign:

    >>> from screw_dynamics_ros.core.mobile.platforms import ackermann
    >>> car = ackermann(1.2, 0.8, 0.3)
    >>> radii = np.array([2.6, 3.4])  # of the paths of the left and right wheels, to the left
    >>> check = WheelCheck(car)
    >>> for sign in (1, -1):
    ...     for _ in range(200):
    ...         check.add(radii / 0.3 * 0.01, sign * np.arctan2(1.2, radii))
    ...     print(round(check.misfit, 2), check.likely or '-')
    0.0 -
    0.2 the steering angles had the opposite sign
    """

    def __init__(self, platform: WheeledPlatform) -> None:
        self._platform = platform
        self.restart()

    def restart(self) -> None:
        """Forget the path."""
        self._slip, self._rolled = np.zeros(1), 0.0
        self.slip = self.misfit = 0.0
        self._causes: list[str] | None = None  # None: no step has been judged

    def add(self, displacements: Array, steering: Array) -> None:
        """Add a step: rotations (n,) of the driven wheels, and steering angles (k,) [rad].

        Raises `ArgumentError` if the wheels do not determine the motion.
        """
        slip = self._slips(displacements, steering)
        self.slip = float(np.abs(slip).max())
        rolled = float(np.abs(self._platform.radii * displacements).max())
        kept = np.exp(-rolled / FORGETTING_LENGTH)
        self._slip, self._rolled = kept * self._slip + slip, kept * self._rolled + rolled
        if self._rolled < (1.0 - np.exp(-1.0)) * FORGETTING_LENGTH:
            return
        self.misfit = float(np.abs(self._slip).max() / self._rolled)
        if self.misfit <= SLIP_TOLERANCE:
            self._causes = None
        elif self.slip > SLIP_TOLERANCE * rolled:
            self._causes = self._explaining(displacements, steering)

    @property
    def likely(self) -> str:
        """The mistakes without which all recent steps agree; empty for none, or too many."""
        return ' or '.join(self._causes or ()) if len(self._causes or ()) <= MAX_CAUSES else ''

    def _slips(self, displacements: Array, steering: Array) -> Array:
        """Return the slips that remain along and across the wheels, (n + m,) [m]."""
        slips = self._platform.residual(displacements, steering)
        return np.concatenate([slips.along, slips.across])

    def _explaining(self, displacements: Array, steering: Array) -> list[str]:
        """Return the mistakes that explain this step, of those that explain the ones before."""
        causes = []
        for cause, other, angles in self._assignments(displacements, steering):
            if self._causes is not None and cause not in self._causes:
                continue
            with suppress(ScrewDynamicsError):  # these wheels may not determine the motion
                if np.abs(self._slips(other, angles)).max() <= EXPLAINED * self.slip:
                    causes.append(cause)
        return causes

    def _assignments(self, q: Array, steering: Array) -> Iterator[tuple[str, Array, Array]]:
        """Generate what wheels and steering are if one mistake was made, with its name."""
        if len(steering):
            yield 'the steering angles had the opposite sign', q, -steering
        for wheels, numbers in (self._platform.driven, q), (self._platform.steered, steering):
            for pair in combinations(range(len(wheels)), 2):
                swapped = numbers.copy()
                swapped[list(pair)] = numbers[list(reversed(pair))]
                names = ' and '.join(wheels[k].name for k in pair)
                other = (swapped, steering) if numbers is q else (q, swapped)
                yield f'{names} were swapped', *other
        for k in range(len(q)):
            reverse = q.copy()
            reverse[k] = -q[k]
            yield f'{self._platform.driven[k].name} turned the other way', reverse, steering


class FollowedPath:
    """Moves an odometry by what wheels do between two states.

    Parameters
    ----------
    odometry : Odometry
    readings : WheelReadings

    Attributes
    ----------
    odometry : Odometry
    check : WheelCheck
        Whether the wheels agree.
    lost : str
        Why the pose is lost; '' while it is known.
    twist : (3,) array
        Mean twist (omega, v_x, v_y) of the last step.
    distance : float
        Since the last restart [m].
    slip : float
        Largest slip that remains in the last step because wheels disagree [m/s].
    """

    def __init__(self, odometry: Odometry, readings: WheelReadings) -> None:
        self.odometry, self._readings = odometry, readings
        self.check = WheelCheck(odometry.platform)
        self.restart()

    def restart(self) -> None:
        """Continue from the pose that the odometry was set to, with the next state."""
        self.lost, self.twist, self.distance, self.slip = '', np.zeros(3), 0.0, 0.0
        self._readings.forget()
        self.check.restart()

    def follow(
        self, q: ArrayLike, v: ArrayLike, stamp: int, max_gap: float, max_rate: float
    ) -> Step | None:
        """Move by a state; return the step, None if there is none or the path is lost.

        Parameters as of `WheelReadings.read`.
        """
        try:
            step = self._readings.read(q, v, stamp, max_gap, max_rate)
        except PathLostError as error:
            self.lost = self.lost or str(error)
            return None
        if step is None or self.lost:
            return None
        try:
            self.odometry.update(step.displacements, step.steering)
        except ScrewDynamicsError as error:  # the wheels do not determine the motion
            self.lost = str(error)
            return None
        platform, rates = self.odometry.platform, step.displacements / step.dt
        self.moved(platform.twist(rates, step.steering), step.dt)
        self.check.add(step.displacements, step.steering)
        self.slip = self.check.slip / step.dt
        return step

    def drive(self, twist: Array, dt: float) -> None:
        """Move by a twist for dt [s], where nothing is measured."""
        self.odometry.move(twist * dt)
        self.moved(twist, dt)

    def moved(self, twist: Array, dt: float) -> None:
        """Take note of a motion."""
        self.twist = twist
        self.distance += math.hypot(twist[1], twist[2]) * dt
