# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Families with prismatic joints, two branches each: SCARA, and gantry with a spherical wrist.

SCARA: three revolute joints and a prismatic one, all parallel. Gantry: three slides, then three
revolute joints.

Source: Bruyninckx 2010, section 7.1 (C-092, C-093); closed form of the SCARA as in section 3.17 of
the inventory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...compile.program.tracing import arctangent
from ...errors import ArgumentError
from ...lie import screws, se3
from ...linear import cross
from ...reproducible import norm, reproducible
from ...tree.multibody_tree import rotation_of_z_to
from ...types import Array
from ..inverse.singularities import common_point
from .alignment import align, are_parallel, are_perpendicular, distance, frame_on_axis
from .chain import SerialChain
from .family import GEOMETRY_TOLERANCE, Family, member, placed, with_hand
from .subproblems import two_links, wrist_zxz


@dataclass(frozen=True, eq=False)
class Scara(Family):
    """An arm with parallel joints, three revolute and one prismatic, anywhere among them.

    It moves its tool in four freedoms, 3 translations and the rotation about its axes, and resists
    moments across the axes without torque.

    Attributes
    ----------
    l1, l2 : float
        Between the revolute axes, along X of the stretched arm at q = 0 [m].
    slide : int
        Index of the prismatic joint, 0 to 3; the third joint by default.

    Other attributes, and errors, as in `Family`; all joints are along Z.

    Examples
    --------
    >>> arm = Scara(l1=0.4, l2=0.3)
    >>> arm.branches(arm.chain().pose([0.3, 0.8, 0.05, -0.4])).round(4)
    array([[ 0.3   ,  0.8   ,  0.05  , -0.4   ],
           [ 0.9793, -0.8   ,  0.05  ,  0.5207]])
    """

    labels: ClassVar[tuple[str, ...]] = ('left', 'right')
    sides: ClassVar[tuple[tuple[float, ...], ...]] = ((1.0,), (-1.0,))
    positive: ClassVar[tuple[str, ...]] = ('l1', 'l2')

    l1: float
    l2: float
    slide: int = 2

    def __post_init__(self) -> None:
        if self.slide not in range(4):
            raise ArgumentError(f'Scara: slide must be 0, 1, 2 or 3, got {self.slide!r}')
        super().__post_init__()

    def _in_order(self, revolute: Array, prismatic: Array) -> Array:
        """Return rows of three revolute joints and one of the prismatic joint as the robot's."""
        return np.insert(revolute, self.slide, prismatic, axis=0)

    def model_screws(self) -> Array:
        """Return the joint screws (4, 6) of the stretched arm."""
        along = np.cumsum([0.0, self.l1, self.l2])
        turns = screws.unit_screw([0, 0, 1], [(x, 0.0, 0.0) for x in along])
        return self._in_order(turns, screws.unit_screw([0, 0, 1], pitch=np.inf))

    def model_home(self) -> Array:
        """Return the pose (4, 4) of the tool of the stretched arm."""
        return se3.pose(np.eye(3), [self.l1 + self.l2, 0.0, 0.0])

    @classmethod
    def recognized(cls, chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE) -> Scara | None:
        """Return a chain as a SCARA, None if it is not one (C-087)."""
        if sorted(chain.turns) != [False, True, True, True]:
            return None
        slide = chain.turns.index(False)
        turns = reproducible(np.delete(chain.screws, slide, axis=0))
        across = norm(cross(turns[0, :3], chain.screws[slide, 3:]))
        if across > tolerance or not are_parallel(*turns, tolerance=tolerance):
            return None
        l1, l2 = distance(turns[0], turns[1]), distance(turns[1], turns[2])
        if min(l1, l2) < tolerance:
            return None
        arm = cls(l1, l2, slide)
        frame = frame_on_axis(turns[0], turns[0, :3])
        # Parallel joints can be taken in any order: the prismatic one last, out of the way.
        order = [i for i in range(4) if i != slide] + [slide]
        reordered = SerialChain(
            tuple(chain.joint_names[i] for i in order), chain.screws[order], chain.home
        )
        model = arm.model_screws()[order]
        found = align(reordered, model, arm.model_home(), frame, 10.0 * tolerance)
        if found is None:
            return None
        own = np.argsort(order)
        return placed(arm, replace(found, sign=found.sign[own], offset=found.offset[own]))

    def branch(self, C: ArrayLike, sides: Sequence[Any]) -> Array:
        """Return one branch (4,), the elbow to the left (1) or to the right; see `Family.branch`.

        Turns of the tool about other axes than Z are ignored.
        """
        C = self.pose_in_model(C)
        x, y, z = C[:3, 3]
        # the angle of two_links is measured from x towards y
        q1, cos, sin = two_links(y, x, self.l1, self.l2, sides[0])
        q2 = arctangent(sin, cos)
        c, s = np.cos(q1 + q2), np.sin(q1 + q2)
        q3 = arctangent(c * C[1, 0] - s * C[0, 0], c * C[0, 0] + s * C[1, 0])
        return self.to_robot(self._in_order(np.array([q1, q2, q3]), z))

    def branches_near(self, C: ArrayLike, seed: ArrayLike) -> Array:
        """Return `branches` (2, 4): a pose determines all joints as long as l1 is not l2."""
        return self.branches(C)

    def branch_of(self, q: ArrayLike) -> int:
        """Return 0 if the elbow of q (4,) turns to the left, 1 if it turns to the right."""
        turns = np.delete(self.to_model(q), self.slide)
        return 0 if np.sin(turns[1]) >= 0.0 else 1


X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])

#: Sines of the angle of a slide to the plane of the others below this are a singular gantry.
SINGULAR_SINE = 1e-3


@dataclass(frozen=True, eq=False)
class GantryWithWrist(Family):
    """Three prismatic joints in any three directions of space, then a wrist Z, -X, Z.

    Attributes
    ----------
    l6 : float
        Wrist center to tool, along axis 6 [m].
    directions : (3, 3) array
        Unit vectors of the slides, one a row; x, y and z by default. The wrist center is at the
        origin at q = 0, axis 4 along Z.

    Other attributes, and errors, as in `Family`.

    Examples
    --------
    >>> arm = GantryWithWrist(l6=0.1)
    >>> arm.branches(arm.chain().pose([1.0, 2.0, 0.5, -0.5, 0.6, 1.1])).round(4)
    array([[ 1.    ,  2.    ,  0.5   , -0.5   ,  0.6   ,  1.1   ],
           [ 1.    ,  2.    ,  0.5   ,  2.6416, -0.6   , -2.0416]])
    """

    labels: ClassVar[tuple[str, ...]] = ('no flip', 'flip')
    sides: ClassVar[tuple[tuple[float, ...], ...]] = ((1.0,), (-1.0,))

    l6: float
    directions: Array = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        self._freeze('directions', self.directions, (3, 3))
        if not np.allclose(np.linalg.norm(self.directions, axis=1), 1.0, rtol=0.0, atol=1e-9):
            raise ArgumentError('GantryWithWrist: directions must be unit vectors, one a row')
        if abs(np.linalg.det(self.directions)) < SINGULAR_SINE:
            raise ArgumentError(
                'GantryWithWrist: the directions are in one plane, so that the gantry cannot reach '
                f'every point: {self.directions.tolist()}'
            )
        super().__post_init__()

    def model_screws(self) -> Array:
        """Return the joint screws (6, 6) at q = 0."""
        slides = screws.unit_screw(self.directions, pitch=np.inf)
        return np.concatenate([slides, screws.unit_screw([Z, -X, Z])])

    def model_home(self) -> Array:
        """Return the pose (4, 4) of the tool at q = 0."""
        return se3.pose(np.eye(3), [0.0, 0.0, self.l6])

    @classmethod
    def recognized(
        cls, chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE
    ) -> GantryWithWrist | None:
        """Return a chain as a gantry with wrist, None if it is not one (C-087)."""
        S = reproducible(chain.screws)
        if chain.turns != 3 * (False,) + 3 * (True,):
            return None
        wrist = common_point(S[3:].T, tolerance)
        flat = abs(np.linalg.det(chain.screws[:3, 3:])) < SINGULAR_SINE
        if wrist is None or flat or not are_perpendicular(*S[3:], tolerance=tolerance):
            return None
        frame = se3.pose(rotation_of_z_to(S[3, :3]), wrist)
        lengths = {'l6': 0.0, 'directions': S[:3, 3:] @ frame[:3, :3]}
        arm = member(cls, chain, [lengths], frame, tolerance)
        return None if arm is None else with_hand(arm, 'l6', Z)

    def branches_near(self, C: ArrayLike, seed: ArrayLike) -> Array:
        """Return `branches` (2, 6), q4 of a stretched wrist as in the seed (6,)."""
        return self.branches(C, near=float(self.to_model(seed)[3]))

    def branch(self, C: ArrayLike, sides: Sequence[Any], near: float | None = None) -> Array:
        """Return one branch (6,), the wrist flipped or not; see `Family.branch`.

        q4 of a stretched wrist is arbitrary, or `near`.
        """
        C = self.pose_in_model(C)
        R = C[:3, :3]
        a, b, c = self.directions
        across = np.array([cross(b, c), cross(c, a), cross(a, b)])
        slides = (across @ (C[:3, 3] - R[:, 2] * self.l6)) / (a @ across[0])
        return self.to_robot(np.array([*slides, *wrist_zxz(R, sides[0], near)]))

    def branch_of(self, q: ArrayLike) -> int:
        """Return 0 if the wrist of q (6,) is not flipped, 1 if it is."""
        return 0 if np.sin(self.to_model(q)[4]) >= 0.0 else 1
