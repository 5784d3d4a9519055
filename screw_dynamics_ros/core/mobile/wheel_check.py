# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether redundant wheels of a platform agree on its motion, and which mistake they look like.

Slips that remain after least squares are summed with their signs over about `LENGTH` of the path,
so that noise and the resolution of encoders cancel out, and wheels with wrong signs or names do
not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations

import numpy as np

from ..errors import ScrewDynamicsError
from ..types import Array
from .wheeled_platform import WheeledPlatform

LENGTH = 0.5  # of the path over which slips are forgotten [m]
TOLERANCE = 0.1  # slip per length of the path
MAX_CAUSES = 2  # that are named
EXPLAINED = 0.2  # of the slip that remains with another assignment of the wheels


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
        Slip per length of the recent path, 0 before `LENGTH` has been driven.

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
        kept = np.exp(-rolled / LENGTH)
        self._slip, self._rolled = kept * self._slip + slip, kept * self._rolled + rolled
        if self._rolled < (1.0 - np.exp(-1.0)) * LENGTH:
            return
        self.misfit = float(np.abs(self._slip).max() / self._rolled)
        if self.misfit <= TOLERANCE:
            self._causes = None
        elif self.slip > TOLERANCE * rolled:
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
