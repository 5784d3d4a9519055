# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Legs of parallel robots: what their motors do to the rods that carry the platform.

A rod leads from a pivot of the leg, c(q), to a pivot of the platform, t = p + R a, both of them
joints that turn freely. With the motor standing still each leg is nothing but its rods, so that
position and force of every parallel robot are those of points at given distances::

    |t - c(q)| = rho(q)

    UPS   the motor lengthens the rod       c = b                                 rho = q + offset
    PUS   it slides the rod's lower end     c = b + q u                           rho constant
    RUS   it turns a crank                  c = b + r (cos q z + sin q x × z)     rho constant

Unit vectors: u the slide, x the axis of the motor, z the direction of the crank at q = 0. The rate
of a motor shows at the platform through the lever of the rod, (d rho + e . dc) / dq with the unit
vector e along the rod::

    e . t' = lever q',    lever = 1,   e . u,   e . (x × (c - b))

Points are in the base frame, in m. All can be recorded.

Source: Bruyninckx 2010, sections 8.1, 8.2 and 8.6, with the errata E-38 and E-40 (C-111 to C-114).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...arguments import float_array, is_number
from ...description.file_entries import quoted
from ...errors import ArgumentError
from ...linear import cross
from ...reproducible import unit
from ...types import Array

UNIT_TOLERANCE = 1e-6  # of directions, whose numbers come from files


@dataclass(frozen=True, eq=False, kw_only=True)
class Leg:
    """One motor and the rods that it moves.

    Attributes
    ----------
    name : str
        Of the motor's joint.
    base : (3,) or (k, 3) array
        Pivot b of each rod where the motor does not move it, in the base frame [m]. Two rods make
        the parallelogram of a Delta robot.
    platform : (3,) or (k, 3) array
        Pivot a of each rod on the platform, in its frame [m].
    lower, upper : float
        Limits of the motor [m or rad].
    branch : {1, -1}
        Which of two motor positions for one pose is meant: that with the root of this sign.
    """

    kind: ClassVar[str]
    turning: ClassVar[bool] = False  # whether q is an angle
    branched: ClassVar[bool] = True  # whether a pose has two motor positions

    name: str
    base: Array
    platform: Array
    lower: float = -np.inf
    upper: float = np.inf
    branch: int = 1

    def __post_init__(self) -> None:
        for name in ('base', 'platform'):
            object.__setattr__(self, name, np.atleast_2d(self._points(name)))
        if self.base.shape != self.platform.shape:
            raise ArgumentError(
                f'leg {self.name!r}: {len(self.base)} pivots of the base and '
                f'{len(self.platform)} of the platform; each rod has one of each'
            )
        if self.branch not in (1, -1):
            raise ArgumentError(f'leg {self.name!r}: branch must be 1 or -1, got {self.branch!r}')
        if not (is_number(self.lower) and is_number(self.upper) and self.lower < self.upper):
            raise ArgumentError(
                f'leg {self.name!r}: limits must be two rising numbers, got {self.lower!r} and '
                f'{self.upper!r}'
            )

    def elbows(self, q: Any) -> Array:
        """Return the points c(q) (k, 3) from which the rods start [m]."""
        raise NotImplementedError

    def lengths(self, q: Any) -> Array:
        """Return the lengths rho(q) (k,) of the rods [m]."""
        raise NotImplementedError

    def elbow_rates(self, q: Any) -> tuple[Array, Array]:
        """Return dc/dq and d^2c/dq^2, (3,) each and the same for all rods [m]."""
        raise NotImplementedError

    def lever(self, q: Any, e: Array) -> Any:
        """Return e . t' for unit rate of the motor; e (3,) is the unit vector along the rod."""
        return e @ self.elbow_rates(q)[0]

    def coordinates(self, rod: int, t: Array) -> tuple[Array, Any]:
        """Return motor positions for a platform pivot t (3,), and the discriminant [m^2].

        The first are two rows (x, y), of branch 1 and -1, with q = atan2(x, y) if q is an angle,
        and q = x otherwise. A negative discriminant: the rod is too short or too long.
        """
        raise NotImplementedError

    def positions(self, rod: int, t: Array) -> Array:
        """Return the motor positions (2,) of branch 1 and -1 that move a rod to t (3,).

        NaN where none does.
        """
        with np.errstate(invalid='ignore', divide='ignore'):
            x = self.coordinates(rod, np.asarray(t, dtype=float))[0]
            angles: Array = np.arctan2(x[:, 0], x[:, 1]) if self.turning else x[:, 0]
        return angles

    # --- checks ---------------------------------------------------------------------------------

    def _points(self, name: str) -> Array:
        value = float_array(f'leg {self.name!r}: {name}', getattr(self, name))
        if value.shape[-1:] != (3,) or value.ndim > 2 or not np.isfinite(value).all():
            raise ArgumentError(
                f'leg {self.name!r}: {name} must be a point (3,), or one for each rod (k, 3), of '
                f'finite numbers, got {quoted(value.tolist())}'
            )
        return value

    def _direction(self, name: str) -> None:
        """Make an attribute a unit vector; refuse vectors far from unit length."""
        e = float_array(f'leg {self.name!r}: {name}', getattr(self, name))
        if e.shape != (3,) or not abs(np.linalg.norm(e) - 1.0) < UNIT_TOLERANCE:
            raise ArgumentError(f'leg {self.name!r}: {name} must be a unit vector, got {e}')
        object.__setattr__(self, name, unit(e))

    def _positive(self, name: str) -> None:
        value = getattr(self, name)
        if not is_number(value) or not 0.0 < value < np.inf:
            raise ArgumentError(
                f'leg {self.name!r}: {name} must be a positive length [m], got {value!r}'
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class UPS(Leg):
    """A leg whose motor lengthens it, between a universal and a spherical joint.

    Attributes
    ----------
    offset : float
        Length at q = 0 [m].

    Examples
    --------
    >>> leg = UPS(name='1', base=[0, 0, 0], platform=[0, 0, 0])
    >>> leg.positions(0, [0, 3, 4])
    array([5., 5.])
    """

    kind: ClassVar[str] = 'UPS'
    branched: ClassVar[bool] = False

    offset: float = 0.0
    lower: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.base) != 1:
            raise ArgumentError(f'leg {self.name!r}: a motor cannot lengthen {len(self.base)} rods')
        if not is_number(self.offset) or not self.lower + self.offset >= 0.0:
            raise ArgumentError(
                f'leg {self.name!r}: its shortest length, lower + offset = '
                f'{self.lower} + {self.offset} m, must not be negative'
            )

    def elbows(self, q: Any) -> Array:
        """Return the pivot of the base."""
        return self.base

    def lengths(self, q: Any) -> Array:
        """Return q + offset."""
        return np.array([q + self.offset])

    def elbow_rates(self, q: Any) -> tuple[Array, Array]:
        """Return zeros: the pivot of the base does not move."""
        return np.zeros(3), np.zeros(3)

    def lever(self, q: Any, e: Array) -> Any:
        """Return 1."""
        return 1.0

    def coordinates(self, rod: int, t: Array) -> tuple[Array, Any]:
        """Return the length less `offset`, the same for both branches."""
        d = t - self.base[rod]
        q = np.sqrt(d @ d) - self.offset
        return np.array([[q, 1.0], [q, 1.0]]), d @ d


@dataclass(frozen=True, eq=False, kw_only=True)
class PUS(Leg):
    """A leg whose motor slides the lower end of a rod of constant length.

    Attributes
    ----------
    direction : (3,) array
        Unit vector u of the slide.
    length : float
        Of the rods [m].

    Examples
    --------
    >>> leg = PUS(name='1', base=[0, 0, 0], platform=[0, 0, 0], direction=[1, 0, 0], length=5)
    >>> leg.positions(0, [10, 0, 4])
    array([13.,  7.])
    """

    kind: ClassVar[str] = 'PUS'

    direction: Array = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._direction('direction')
        self._positive('length')

    def elbows(self, q: Any) -> Array:
        """Return b + q u."""
        return self.base + self.direction * q

    def lengths(self, q: Any) -> Array:
        """Return the constant length of each rod."""
        return np.full(len(self.base), self.length)

    def elbow_rates(self, q: Any) -> tuple[Array, Array]:
        """Return u, and zeros."""
        return self.direction, np.zeros(3)

    def coordinates(self, rod: int, t: Array) -> tuple[Array, Any]:
        """Return u . d ± sqrt(l^2 - |d|^2 + (u . d)^2) with d = t - b."""
        d = t - self.base[rod]
        along = d @ self.direction
        discriminant = self.length**2 - (d @ d - along * along)
        root = np.sqrt(discriminant)
        return np.array([[along + root, 1.0], [along - root, 1.0]]), discriminant


@dataclass(frozen=True, eq=False, kw_only=True)
class RUS(Leg):
    """A leg whose motor turns a crank that carries a rod of constant length.

    Attributes
    ----------
    axis : (3,) array
        Unit vector x of the motor; the pivots of several rods lie on one line along it.
    zero : (3,) array
        Unit vector z along the crank at q = 0, orthogonal to the axis.
    crank, length : float
        Lengths of crank and rods [m].

    Examples
    --------
    >>> leg = RUS(name='1', base=[0, 0, 0], platform=[0, 0, 0], axis=[1, 0, 0], zero=[0, 0, 1],
    ...           crank=3.0, length=4.0)
    >>> leg.positions(0, [0, 0, 5]).round(6)
    array([-0.927295,  0.927295])
    """

    kind: ClassVar[str] = 'RUS'
    turning: ClassVar[bool] = True

    axis: Array = field(default_factory=lambda: np.zeros(3))
    zero: Array = field(default_factory=lambda: np.zeros(3))
    crank: float = 0.0
    length: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ('axis', 'zero'):
            self._direction(name)
        for name in ('crank', 'length'):
            self._positive(name)
        if abs(self.axis @ self.zero) > UNIT_TOLERANCE:
            raise ArgumentError(
                f'leg {self.name!r}: zero, the direction of the crank, must be orthogonal to the '
                f'axis of the motor; their product is {self.axis @ self.zero:.3g}'
            )
        zero = self.zero - (self.axis * self.zero).sum() * self.axis
        object.__setattr__(self, 'zero', unit(zero))
        aside = cross(self.base - self.base[0], self.axis)
        if np.abs(aside).max() > UNIT_TOLERANCE:
            raise ArgumentError(
                f'leg {self.name!r}: the pivots of its {len(self.base)} rods must lie on one line '
                'along the axis of the motor'
            )

    def elbows(self, q: Any) -> Array:
        """Return b + r (cos q z - sin q y), y = z × x: the crank rotates about +x."""
        y = cross(self.zero, self.axis)
        return self.base + self.crank * (np.cos(q) * self.zero - np.sin(q) * y)

    def lengths(self, q: Any) -> Array:
        """Return the constant length of each rod."""
        return np.full(len(self.base), self.length)

    def elbow_rates(self, q: Any) -> tuple[Array, Array]:
        """Return x × (c - b), which makes the lever the arm of the rod (E-40), and -(c - b)."""
        y = cross(self.zero, self.axis)
        sine, cosine = np.sin(q), np.cos(q)
        return (
            -self.crank * (sine * self.zero + cosine * y),
            -self.crank * (cosine * self.zero - sine * y),
        )

    def coordinates(self, rod: int, t: Array) -> tuple[Array, Any]:
        """Return sine and cosine of the roots of A sin q + B cos q = k (E-38).

        A = d_y, B = -d_z, k = (l^2 - r^2 - |d|^2) / (2 r) with d = t - b in the axes x, y, z.
        """
        d = t - self.base[rod]
        A, B = d @ cross(self.zero, self.axis), -(d @ self.zero)
        k = (self.length**2 - self.crank**2 - d @ d) / (2.0 * self.crank)
        square = A * A + B * B
        discriminant = square - k * k
        root = np.sqrt(discriminant)
        roots = [
            [(A * k + B * root) / square, (B * k - A * root) / square],
            [(A * k - B * root) / square, (B * k + A * root) / square],
        ]
        return np.array(roots), discriminant


def rods(legs: tuple[Leg, ...]) -> Iterator[tuple[int, int]]:
    """Yield (index of the leg, index of the rod in it) for all rods, in their order."""
    for i, leg in enumerate(legs):
        for rod in range(len(leg.base)):
            yield i, rod
