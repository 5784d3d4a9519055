# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Springs with dampers between links and fixed points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import check_number
from ..compile.program.tracing import clamp
from ..types import Array
from .contacts import MIN_SQUARED_FORCE, CompliantForce, finite_vector


@dataclass(frozen=True, eq=False)
class Spring:
    """A spring with a damper between a point of a link and an anchor, of no mass.

    It pulls with k (l - l0) + c l', and pushes if that is negative; l is the distance of its ends.
    Where that is zero the force has no direction and is zero.

    Attributes
    ----------
    link : str
    position : (3,) array
        Where it is fixed in the frame of the link [m].
    anchor : (3,) array
        Its other end, in the root frame [m]; for a floating base that is the world.
    stiffness : float
        k [N/m].
    damping : float
        c [N s/m].
    rest_length : float
        l0, the length without a force [m].
    name : str
        Only for messages.

    Raises
    ------
    ArgumentError
        Values that are not finite; stiffness, damping or length below zero.
    """

    link: str
    position: Array
    anchor: Array
    stiffness: float
    damping: float = 0.0
    rest_length: float = 0.0
    name: str = 'spring'

    def __post_init__(self) -> None:
        what = f'the spring {self.name!r}'
        for name in ('position', 'anchor'):
            value = finite_vector(f'the {name} of {what}', getattr(self, name))
            object.__setattr__(self, name, value)
        for name in ('stiffness', 'damping', 'rest_length'):
            check_number(f'the {name.replace("_", " ")} of {what}', getattr(self, name))

    @property
    def parameters(self) -> Array:
        """Return (position, anchor, stiffness, damping, rest length), (9,)."""
        return np.array(
            [*self.position, *self.anchor, self.stiffness, self.damping, self.rest_length],
            dtype=float,
        )


def spring_force(point: Array, velocity: Array, spring: Array) -> CompliantForce:
    """Return the force of a spring on the link at one of its ends; free of branches.

    Parameters
    ----------
    point, velocity : (3,) arrays
        Of the end at the link, in the root frame [m, m/s].
    spring : (9,) array
        `Spring.parameters`.

    Examples
    --------
    >>> spring = Spring('hand', [0, 0, 0], [0, 0, 1], stiffness=100, damping=2, rest_length=0.5)
    >>> spring_force(np.zeros(3), np.array([0, 0, -0.5]), spring.parameters).force
    array([ 0.,  0., 51.])
    """
    anchor, (stiffness, damping, rest_length) = spring[3:6], spring[6:9]
    length, direction = length_and_direction(anchor - point)
    elastic = stiffness * (length - rest_length) * direction
    force = elastic - damping * (direction @ velocity) * direction
    return CompliantForce(force, elastic, 0.5 * stiffness * (length - rest_length) ** 2)


def length_and_direction(x: Array) -> tuple[Any, Array]:
    """Return |x| and x / |x|, which is zero if x is."""
    length = np.sqrt(clamp(x @ x, MIN_SQUARED_FORCE, np.inf))
    return length, x / length
