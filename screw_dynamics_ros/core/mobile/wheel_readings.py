# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From positions or velocities of wheels to their displacements, unless the path is lost.

>>> readings = WheelReadings([('right',), ('left',)])
>>> readings.read([0.0, 0.0], [0.0, 0.0], 0, max_gap=0.5, max_rate=100.0)
>>> readings.read([0.1, 0.2], [0.0, 0.0], 10**8, max_gap=0.5, max_rate=100.0).displacements
array([0.1, 0.2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..types import Array
from ..units import NANOSECONDS
from . import planar


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
    """Reads states of the joints of wheels one after the other.

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
