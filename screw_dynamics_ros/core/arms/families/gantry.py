# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gantry with a spherical wrist: three slides, then three revolute joints; two branches.

Source: Bruyninckx 2010, section 7.1 (C-093).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.linear import cross
from screw_dynamics_ros.core.reproducible import reproducible
from screw_dynamics_ros.core.tree.multibody_tree import rotation_of_z_to
from screw_dynamics_ros.core.types import Array

from ..inverse.singularities import common_point
from .alignment import are_perpendicular
from .chain import SerialChain
from .family import GEOMETRY_TOLERANCE, Family, member, with_hand
from .subproblems import wrist_zxz

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
