# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SCARA: three revolute joints and a prismatic one, all parallel; two branches.

Source: Bruyninckx 2010, section 7.1; closed form as in section 3.17 of the inventory (C-092).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.compile.program.tracing import arctangent
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.linear import cross
from screw_dynamics_ros.core.reproducible import norm, reproducible
from screw_dynamics_ros.core.types import Array

from .alignment import align, are_parallel, distance, frame_on_axis
from .chain import SerialChain
from .family import GEOMETRY_TOLERANCE, Family, placed
from .subproblems import two_links


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
