# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wheels of a platform as lines in the plane: lines of drive forces and of constraint forces.

A wheel at p that rolls along the unit vector u transmits forces along lines through p, unit
wrenches (p x e, e) in the order of `planar`. These are the legs of the equivalent instantaneous
parallel robot, whose base moves with the platform (9.2.1): a driven leg for the rolling direction,
a leg of constant length for the direction across.

* An ordinary wheel drives along u and holds across u.
* A wheel with rollers whose axis, at the ground, is the unit vector a drives the line
  (p x a, a) / (a . u) and holds nothing: omnidirectional wheels have a = u, mecanum wheels a at 45
  degrees (C-138).

Source: Bruyninckx 2010, sections 9.2.1 and 9.9 (C-138, C-139, C-141).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, is_number, vector
from ..errors import ArgumentError
from ..types import Array

#: The largest angle between rolling direction and roller axis; at a right angle nothing is driven.
MAX_ROLLER_ANGLE = math.radians(85.0)


@dataclass(frozen=True, eq=False)
class Wheel:
    """One wheel, in the frame of the platform (x forward, y to the left).

    Attributes
    ----------
    name : str
        Of its joint.
    position : (2,) array
        Where it touches the ground [m].
    radius : float
        [m].
    direction : float
        Angle of the rolling direction when it is not steered [rad].
    roller_angle : float, optional
        From the rolling direction to the axis of the roller at the ground [rad]: 0 for
        omnidirectional wheels, 45 degrees up or down for mecanum wheels. None: no rollers.
    steered, driven : bool
        Whether it turns about the vertical axis through its point of contact, and whether it has a
        motor or an encoder; without, it only holds.

    Raises
    ------
    ArgumentError
        A radius that is no positive number, numbers that are not finite, a wheel that neither
        drives nor holds.
    """

    name: str
    position: ArrayLike
    radius: float
    direction: float = 0.0
    roller_angle: float | None = None
    steered: bool = False
    driven: bool = True

    def __post_init__(self) -> None:
        who = f'wheel {self.name!r}'
        position = vector(f'{who}: position', 2, self.position)
        if not np.isfinite(position).all():
            raise ArgumentError(f'{who}: position must be finite, got {position.tolist()}')
        position.setflags(write=False)
        object.__setattr__(self, 'position', position)
        check_number(f'{who}: radius [m]', self.radius, positive=True)
        for what, angle in (('direction', self.direction), ('roller_angle', self.roller_angle)):
            if angle is not None and not (is_number(angle) and math.isfinite(angle)):
                raise ArgumentError(f'{who}: {what} must be a finite number, got {angle!r}')
        if self.roller_angle is None:
            return
        if abs(self.roller_angle) > MAX_ROLLER_ANGLE:
            raise ArgumentError(
                f'{who}: roller_angle is {self.roller_angle:.4g} rad; rollers at a right angle to '
                'the rolling direction pass nothing on'
            )
        if not self.driven:
            raise ArgumentError(
                f'{who} has rollers and is not driven: leave it out, it does nothing'
            )

    def drive_line(self, steering: float = 0.0) -> Array:
        """Return the wrench (3,) of a unit of traction; its power is that of the rim speed."""
        u = self.direction + steering
        if self.roller_angle is None:
            return line(self.position, _unit(u))
        return line(self.position, _unit(u + self.roller_angle)) / math.cos(self.roller_angle)

    def slip_line(self, steering: float = 0.0) -> Array:
        """Return the wrench (3,) of a unit force across the wheel, to its left."""
        c, s = _unit(self.direction + steering)
        return line(self.position, (-s, c))


def line(point: ArrayLike, direction: ArrayLike) -> Array:
    """Return the wrench (m, f_x, f_y) of a force `direction` (2,) at a point (2,).

    >>> line([0.0, -0.25], [1.0, 0.0])  # the right wheel, pushing ahead
    array([0.25, 1.  , 0.  ])
    """
    (x, y), (c, s) = np.asarray(point), np.asarray(direction)
    return np.array([x * s - y * c, c, s])


def _unit(angle: float) -> tuple[float, float]:
    return math.cos(angle), math.sin(angle)
