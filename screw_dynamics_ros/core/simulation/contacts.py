# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Compliant point contacts with planes: the law of Hunt and Crossley, and sticking dry friction.

A contact point is a sphere, usually of radius 0, that is fixed to a link. It touches a plane at
its lowest point; delta is how deep that is beyond the plane, v the velocity of the material there,
delta' = -n . v with the unit normal n of the plane. The plane exerts on it::

    N = k max(0, delta (1 + d delta'))         along n, never attractive
    T = -k (s + d delta v_t)  with |T| <= mu N        in the plane

k [N/m] is the stiffness, d [s/m] the damping, mu the coefficient of friction. Damping grows with
the penetration, so that forces are continuous when a contact begins or ends, and the coefficient of
restitution tends to 1 - (2/3) d v0 for small impact velocities v0. s is the elongation of a
tangential spring between the plane and the point: s' = v_t while the force is within the friction
cone, k |s| <= mu N, otherwise the spring slips. A sticking contact is a spring and a damper and
does not creep. A slipping contact exerts mu N against the motion for any velocity. A rolling sphere
does not stretch the spring.

Forces depend on the history by s alone, which is part of the state of the simulation.

Sources: K. H. Hunt and F. R. E. Crossley, Coefficient of restitution interpreted as damping in
vibroimpact, 1975, with the exponent 1; P. A. Cundall and O. D. L. Strack, A discrete numerical
model for granular assemblies, 1979, for the spring that slips.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import check_number, vector
from ..compile.program.tracing import clamp
from ..errors import ArgumentError
from ..types import Array

#: Lower bound of squares of forces, so that no force is divided by zero [N^2].
MIN_SQUARED_FORCE = 1e-200


@dataclass(frozen=True, eq=False)
class Plane:
    """The boundary of a half-space that contact points do not enter without resistance.

    Attributes
    ----------
    point : (3,) array
        Any point of the plane, in the root frame [m]; for a floating base that is the world.
    normal : (3,) array
        Direction away from the material, of any length but zero; kept as a unit vector.
    stiffness : float
        k: force per penetration of each contact point [N/m].
    damping : float
        d: relative increase of the normal force per velocity of penetration [s/m].
    friction : float
        mu: coefficient of dry friction, 0 for none.
    name : str
        Only for messages.

    Raises
    ------
    ArgumentError
        A normal of length zero, values that are not finite, a stiffness that is not positive, a
        damping or friction below zero.
    """

    point: Array
    normal: Array
    stiffness: float = 1e4
    damping: float = 1.0
    friction: float = 0.5
    name: str = 'plane'

    def __post_init__(self) -> None:
        what = f'the plane {self.name!r}'
        object.__setattr__(self, 'point', finite_vector(f'the point of {what}', self.point))
        normal = finite_vector(f'the normal of {what}', self.normal)
        longest = np.abs(normal).max()
        if not longest > 0.0:
            raise ArgumentError(
                f'{what} has a normal of length zero; give the direction away from its material'
            )
        normal = normal / longest  # squares of its elements are in the range of numbers now
        object.__setattr__(self, 'normal', normal / np.linalg.norm(normal))
        check_number(f'the stiffness of {what}', self.stiffness, positive=True)
        check_number(f'the damping of {what}', self.damping)
        check_number(f'the friction of {what}', self.friction)

    @property
    def parameters(self) -> Array:
        """Return (point, normal, stiffness, damping, friction), (9,)."""
        return np.array(
            [*self.point, *self.normal, self.stiffness, self.damping, self.friction], dtype=float
        )


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A sphere fixed to a link, which touches planes.

    Attributes
    ----------
    link : str
    position : (3,) array
        Of its center in the frame of the link [m].
    radius : float
        0 is a point [m].

    Raises
    ------
    ArgumentError
        A position that is not finite, or a radius below zero.
    """

    link: str
    position: Array = field(default_factory=lambda: np.zeros(3))
    radius: float = 0.0

    def __post_init__(self) -> None:
        what = f'a contact point of link {self.link!r}'
        object.__setattr__(
            self, 'position', finite_vector(f'the position of {what}', self.position)
        )
        check_number(f'the radius of {what}', self.radius)

    @property
    def parameters(self) -> Array:
        """Return (position, radius), (4,)."""
        return np.array([*self.position, self.radius], dtype=float)


@dataclass(frozen=True, eq=False)
class CompliantForce:
    """A force on a point of a link that depends on where it is; may hold recorded scalars.

    Attributes
    ----------
    force, elastic : (3,) arrays
        All of it, and what of it does not depend on velocities, in the root frame [N].
    energy : float
        Stored energy, of which `elastic` is the gradient [J].
    """

    force: Array
    elastic: Array
    energy: Any


def contact_force(
    depth: Any, velocity: Array, stretch: Array, plane: Array
) -> tuple[CompliantForce, Array]:
    """Return the force of a plane on a contact point, and s (3,) [m], within the friction cone.

    Free of branches: it is recorded and compiled, for one robot and for stacks.

    Parameters
    ----------
    depth : float
        How deep the point is beyond the plane, negative if it is not [m].
    velocity : (3,) array
        Of the material at the contact, in the root frame [m/s].
    stretch : (3,) array
        s if it did not slip; only its part in the plane matters [m].
    plane : (9,) array
        `Plane.parameters`.

    Examples
    --------
    A point slides over the floor, 1 mm deep: the normal force is 10 N, friction 5 N.

    >>> floor = Plane([0, 0, 0], [0, 0, 1], stiffness=1e4, friction=0.5)
    >>> velocity, stretch = np.array([0.2, 0, 0]), np.array([1.0, 0, 0])
    >>> contact, stretch = contact_force(1e-3, velocity, stretch, floor.parameters)
    >>> contact.force.round(9)
    array([-5.,  0., 10.])
    >>> stretch.round(9)
    array([0.0005, 0.    , 0.    ])
    """
    n, (stiffness, damping, friction) = plane[3:6], plane[6:9]
    depth, rate = clamp(depth, 0.0, np.inf), -(n @ velocity)
    normal = stiffness * clamp(depth * (1.0 + damping * rate), 0.0, np.inf)
    sliding = velocity + rate * n
    held = friction * normal
    spring = limited(-stiffness * (stretch - (n @ stretch) * n), held)
    tangential = limited(spring - (stiffness * damping * depth) * sliding, held)
    energy = 0.5 * (stiffness * depth * depth + (spring @ spring) / stiffness)
    elastic = stiffness * depth * n + spring
    return CompliantForce(normal * n + tangential, elastic, energy), -spring / stiffness


def limited(force: Array, limit: Any) -> Array:
    """Return a force (3,) of the same direction, not greater than a limit."""
    return force * clamp(limit / np.sqrt(clamp(force @ force, MIN_SQUARED_FORCE, np.inf)), 0.0, 1.0)


def finite_vector(name: str, value: ArrayLike) -> Array:
    """Return three finite numbers as an array; raises `ArgumentError`."""
    array = vector(name, 3, value).copy()
    if not np.isfinite(array).all():
        raise ArgumentError(f'{name} must be finite, got {array}')
    return array
