# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The description of a parallel robot: its legs, its platform, and the name of its design."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...arguments import float_array
from ...description.body_inertia import Inertia, inertia_fault
from ...errors import ArgumentError, InertiaError
from ...lie._arrays import check_pose
from ...types import Array
from .legs import Leg, rods

#: Pivots nearer than this share of the mechanism's size are one point.
COINCIDENCE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Legs between a base and a platform.

    Attributes
    ----------
    name : str
    legs : tuple of Leg
        With six rods together or more: fewer cannot hold a platform.
    home : (4, 4) array
        Reachable pose of the platform in the base frame: selects one of the poses with the same
        motor positions, and is the default start of iterations.
    inertia : Inertia
        Of the platform with all that it carries, in the platform frame.

    Raises
    ------
    ArgumentError
        Names that are taken twice, too few rods, a home that is no pose.
    InertiaError
        An inertia that no body has.
    """

    name: str
    legs: tuple[Leg, ...]
    home: Array
    inertia: Inertia = field(default_factory=lambda: Inertia(0.0, np.zeros(3), np.zeros((3, 3))))

    def __post_init__(self) -> None:
        object.__setattr__(self, 'legs', tuple(self.legs))
        twice = [name for name, count in Counter(self.joint_names).items() if count > 1]
        if twice:
            raise ArgumentError(f'{self.name}: several legs are named {twice[0]!r}')
        if len(self.rod_legs) < 6:
            raise ArgumentError(
                f'{self.name}: {len(self.legs)} legs with {len(self.rod_legs)} rods do not hold a '
                'platform; at least six rods are needed'
            )
        home = float_array(f'{self.name}: home', self.home)
        if home.shape != (4, 4) or not np.isfinite(home).all():
            raise ArgumentError(f'{self.name}: home must be a pose (4, 4), got {home.tolist()}')
        check_pose(f'{self.name}: home', home)
        object.__setattr__(self, 'home', home)
        fault = inertia_fault(self.inertia)
        if fault is not None:
            raise InertiaError(f'{self.name}: the platform has {fault[0]}; {fault[1]}')

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the motors' joints."""
        return tuple(leg.name for leg in self.legs)

    @cached_property
    def rod_legs(self) -> tuple[tuple[int, int], ...]:
        """(Leg, rod in that leg) of each rod."""
        return tuple(rods(self.legs))

    @cached_property
    def motor_of_rod(self) -> Array:
        """Matrix (rods, legs) with 1 where a motor moves a rod: rod rates are this times rates."""
        return np.array([np.eye(len(self.legs))[leg] for leg, _ in self.rod_legs])

    @cached_property
    def base_pivots(self) -> Array:
        """Pivots of the rods where q is 0, or b of a leg that turns (rods, 3) [m]."""
        return np.concatenate([leg.base for leg in self.legs])

    @cached_property
    def platform_pivots(self) -> Array:
        """Pivots of the rods on the platform, in its frame (rods, 3) [m]."""
        return np.concatenate([leg.platform for leg in self.legs])

    @cached_property
    def size(self) -> float:
        """Largest distance of a pivot from the mean of all on base or platform [m]."""
        spread = [
            ((pivots - pivots.mean(axis=0)) ** 2).sum(axis=1).max()
            for pivots in (self.base_pivots, self.platform_pivots)
        ]
        return math.sqrt(max(spread))

    @property
    def lower(self) -> Array:
        """Lower limits of the motors (n,) [m or rad]."""
        return np.array([leg.lower for leg in self.legs])

    @property
    def upper(self) -> Array:
        """Upper limits of the motors (n,) [m or rad]."""
        return np.array([leg.upper for leg in self.legs])


def groups_of_points(points: Array, distance: float) -> tuple[int, ...]:
    """Return the number of the group each point is in: points within a distance are one.

    >>> groups_of_points(np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0]]), 1e-6)
    (0, 1, 0)
    """
    chosen: list[Array] = []
    groups = []
    for point in points:
        near = [k for k, other in enumerate(chosen) if np.linalg.norm(point - other) <= distance]
        if not near:
            chosen.append(point)
        groups.append(near[0] if near else len(chosen) - 1)
    return tuple(groups)


def classify(mechanism: Mechanism) -> str:
    """Return the name of a design, from the pivots that coincide (C-111).

    '6-6', '3-3' (octahedral), '3-1-1-1' and '321' by the number of rods in each pivot of the
    platform; otherwise the numbers of different pivots on base and platform, such as '6-3'. Legs
    with motors that slide or turn put their letters in front: 'PUS 6-6' (Hexaglide), 'RUS 6-6'
    (HEXA). Three pairs of parallel rods that translate only are a 'delta'.
    """
    distance = COINCIDENCE_TOLERANCE * mechanism.size
    base = groups_of_points(mechanism.base_pivots, distance)
    platform = groups_of_points(mechanism.platform_pivots, distance)
    kinds = '/'.join(sorted({leg.kind for leg in mechanism.legs} - {'UPS'}))
    if is_delta(mechanism):
        return f'{kinds} delta'
    rods_of_pivot = sorted(Counter(platform).values(), reverse=True)
    if rods_of_pivot == [3, 2, 1]:
        design = '321'
    elif rods_of_pivot == [3, 1, 1, 1]:
        design = '3-1-1-1'
    else:
        design = f'{len(set(base))}-{len(set(platform))}'
    return f'{kinds} {design}'.strip()


def is_delta(mechanism: Mechanism) -> bool:
    """Return whether three motors move a parallelogram each: the platform does not turn.

    The two rods of each leg are parallel and equal where the pivots are as far apart, and in the
    same direction, on both of their ends.
    """
    R = mechanism.home[:3, :3]
    return len(mechanism.legs) == 3 and all(
        len(leg.base) == 2
        and np.allclose(
            leg.base[1] - leg.base[0],
            R @ (leg.platform[1] - leg.platform[0]),
            atol=COINCIDENCE_TOLERANCE * mechanism.size,
        )
        for leg in mechanism.legs
    )
