# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Reachable motions of a platform: sequences of motions, Lie brackets, controllability.

A differential drive has the operators DRIVE (straight ahead) and ROTATE (in place). Their
commutator moves it sideways,

    D(d) R(th) D(-d) R(-th) = (0, d (1 - cos th), -d sin th),

in the order (phi, x, y); for small steps it is the bracket of the two twists, -d th along y. A car
has DRIVE and STEER; STEER changes its state only, and the bracket of both is a rotation, from which
sliding follows.

Source: Bruyninckx 2010, section 9.8 (C-136).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from ...arms.inverse.weighted_inverse import WeightedInverse
from ...errors import ArgumentError
from ...mobile import planar
from ...mobile.wheeled_platform import WheeledPlatform
from ...types import Array

RANK_TOLERANCE = 1e-9  # of ranks, relative


def drive(distance: float) -> Array:
    """Return the displacement (phi, x, y) of DRIVE [m]."""
    return planar.exp([0.0, distance, 0.0])


def rotate(angle: float) -> Array:
    """Return the displacement (phi, x, y) of ROTATE [rad]."""
    return planar.exp([angle, 0.0, 0.0])


def sequence(displacements: Iterable[ArrayLike]) -> Array:
    """Return the total displacement of several, each in the final frame of the previous one."""
    return reduce(planar.compose, displacements, np.zeros(3))


def commutator(first: ArrayLike, second: ArrayLike) -> Array:
    """Return the displacement of the sequence: first, second, inverse first, inverse second.

    >>> commutator(drive(0.2), rotate(0.1)).round(9)  # SLIDE
    array([ 0.        ,  0.00099917, -0.01996668])
    """
    return sequence([first, second, planar.inverse(first), planar.inverse(second)])


@dataclass(frozen=True, eq=False)
class Controllability:
    """Motions of a platform that result from Lie brackets of its admissible motions.

    Attributes
    ----------
    directions : tuple of (3, k) arrays
        Orthonormal bases of the twists after no bracket, one bracket, two and so on, with
        increasing dimension. Units are meters and radians.
    """

    directions: tuple[Array, ...]

    @property
    def ranks(self) -> tuple[int, ...]:
        """Dimensions of the bases: the growth vector."""
        return tuple(basis.shape[1] for basis in self.directions)

    @property
    def controllable(self) -> bool:
        """Whether all three degrees of freedom are reached (small-time local controllability)."""
        return self.ranks[-1] == 3


def controllability(platform: WheeledPlatform, steering: ArrayLike = ()) -> Controllability:
    """Return the twists that Lie brackets of the motions of a platform reach (C-136).

    The system has no drift and can move in both directions, so full rank of the Lie algebra implies
    small-time local controllability (Chow). A steered wheel adds the vector field of its steering:
    the bracket with it is the derivative of the twist by the steering angle.

    Parameters
    ----------
    platform : WheeledPlatform
        With at most one steered axle: several must be steered together and are not independent.
    steering : (k,)
        Angles [rad].

    Examples
    --------
    >>> from screw_dynamics_ros.core.mobile.platforms import bicycle, differential_drive
    >>> controllability(differential_drive(0.5, 0.1)).ranks
    (2, 3)
    >>> controllability(bicycle(1.2, 0.3), [0.2]).ranks
    (1, 2, 3)
    """
    if len(platform.steered) > 1:
        raise ArgumentError(
            f'{len(platform.steered)} steered wheels that must share a center of rotation are not '
            'independent; describe the platform by one steered wheel (bicycle)'
        )
    own = WeightedInverse(_slip_or_nothing(platform, steering)).null_space
    if not own.shape[1]:
        raise ArgumentError('the wheels allow no motion: they have no common center of rotation')
    fields = [_basis(own)]
    extra = _by_steering(platform, steering, own)
    while True:
        last = fields[-1]
        brackets = [planar.ad(a) @ b for a in own.T for b in last.T]
        grown = _basis(np.column_stack([last, *extra, *brackets]))
        if grown.shape[1] == last.shape[1]:
            return Controllability(tuple(fields))
        fields.append(grown)
        extra = []


def _slip_or_nothing(platform: WheeledPlatform, steering: ArrayLike) -> Array:
    A = platform.slip_matrix(steering)
    return A if len(A) else np.zeros((1, 3))


def _by_steering(platform: WheeledPlatform, steering: ArrayLike, own: Array) -> list[Array]:
    """Return the derivatives of the admissible twists by the angle of the steered wheel.

    A N = 0 gives A dN = -dA N; the derivative of the lateral line of a wheel is minus its
    longitudinal line.
    """
    angles = platform.steering_angles(steering)
    rows = [
        w.slip_line(angles[w.name] + 0.5 * np.pi) if w.name in angles else np.zeros(3)
        for w in (next(x for x in platform.wheels if x.name == n) for n in platform.slip_names)
    ]
    if not angles:
        return []
    change = WeightedInverse(platform.slip_matrix(steering)).inverse() @ (-np.array(rows) @ own)
    return list(change.T)


def _basis(vectors: Array) -> Array:
    """Return an orthonormal basis (3, k) of the span of columns."""
    U, s, _ = np.linalg.svd(vectors)
    return U[:, : int((s > RANK_TOLERANCE * max(s.max(initial=0.0), 1.0)).sum())]
