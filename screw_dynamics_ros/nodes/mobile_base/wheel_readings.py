"""From joint states to displacements of wheels, with a reason wherever one cannot be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import planar
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.nodes.mobile_base.assembly import MobileBase


@dataclass(frozen=True)
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


@dataclass(frozen=True, eq=False)
class _Reading:
    stamp: int
    wheels: Array  # positions, or velocities if these are measured
    steering: Array

    def has_numbers_of(self, other: _Reading) -> bool:
        return np.array_equal(self.wheels, other.wheels) and np.array_equal(
            self.steering, other.steering
        )


class WheelReadings:
    """Takes joint states one after the other.

    Parameters
    ----------
    base : MobileBase
    by_position : bool
        Whether wheels are measured by their positions, or by their velocities.
    """

    def __init__(self, base: MobileBase, by_position: bool) -> None:
        self._base, self._by_position = base, by_position
        self._last: _Reading | None = None

    def forget(self) -> None:
        """Begin with the next message."""
        self._last = None

    def read(
        self,
        names: Sequence[str],
        positions: ArrayLike,
        velocities: ArrayLike,
        stamp: int,
        max_gap: float,
        max_rate: float,
    ) -> Step | None:
        """Return the step since the message before; None for the first one.

        Parameters
        ----------
        names, positions, velocities
            Of the message; other joints may be among them. Messages without any of the joints of
            the platform are somebody else's, and a message may come twice: None.
        stamp : int
            [ns].
        max_gap : float
            Longest step [s].
        max_rate : float
            Of a wheel [rad/s].

        Raises
        ------
        PathLostError
            A gap, a clock that was set back, a jump of an encoder: the message begins a new path.
        ArgumentError
            A message that cannot be used; it counts as if it had not come.
        """
        if not set(self._base.joints) & set(names):
            return None
        reading = self._reading(list(names), positions, velocities, stamp)
        last = self._last
        if last is None:
            self._last = reading
            return None
        dt = (stamp - last.stamp) / NANOSECONDS
        if dt <= 0.0:
            if dt < -max_gap:
                self._last = reading
                raise PathLostError(f'the clock of joint_states went back by {-dt:.3f} s')
            if dt < 0.0:
                raise ArgumentError(f'it is {-dt:.3f} s older than the one before')
            if not reading.has_numbers_of(last):
                raise ArgumentError('it has the stamp of the one before, but other numbers')
            return None
        self._last = reading
        if dt > max_gap:
            raise PathLostError(f'no joint state for {dt:.3f} s, more than max_gap = {max_gap:g} s')
        moved = self._displacements(last, reading, dt)
        rates = np.abs(moved) / dt
        if rates.max() > max_rate:
            wheel = self._base.wheels[int(np.argmax(rates))][0]
            raise PathLostError(
                f'wheel {wheel!r} jumped by {moved[np.argmax(rates)]:.4g} rad in {dt:.4f} s, more '
                f'than max_wheel_velocity = {max_rate:g} rad/s allows'
            )
        middle = last.steering + 0.5 * planar.wrapped(reading.steering - last.steering)
        return Step(stamp, dt, moved, middle)

    def _displacements(self, last: _Reading, reading: _Reading, dt: float) -> Array:
        if self._by_position:
            return reading.wheels - last.wheels
        return np.asarray(0.5 * dt * (last.wheels + reading.wheels))

    def _reading(
        self, names: list[str], positions: ArrayLike, velocities: ArrayLike, stamp: int
    ) -> _Reading:
        missing = [name for name in self._base.joints if name not in names]
        if missing:
            raise ArgumentError(f'it has no joint {", ".join(map(repr, missing))}')
        twice = [name for name in self._base.joints if names.count(name) > 1]
        if twice:
            raise ArgumentError(f'it names joint {twice[0]!r} twice')
        if stamp == 0:
            raise ArgumentError('it has no stamp')
        by_name = {
            'position': self._values('position', names, positions),
            'velocity': self._values('velocity', names, velocities),
        }
        what = 'position' if self._by_position else 'velocity'
        wheels = [np.mean([by_name[what].get(n, np.nan) for n in g]) for g in self._base.wheels]
        steering = [by_name['position'].get(name, np.nan) for name in self._base.steering]
        used = np.array([*wheels, *steering])
        if not np.isfinite(used).all():
            raise ArgumentError(
                f'a {what} of a wheel, or a position of a steering joint, is missing or not finite'
            )
        return _Reading(stamp, np.array(wheels), np.array(steering))

    def _values(self, what: str, names: list[str], values: ArrayLike) -> dict[str, float]:
        numbers = np.asarray(values, dtype=float)
        if numbers.size not in (0, len(names)):
            raise ArgumentError(f'it has {numbers.size} values of {what} for {len(names)} names')
        return dict(zip(names, numbers.tolist()))
