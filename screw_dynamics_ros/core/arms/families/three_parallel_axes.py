# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms whose joints 2, 3 and 4 are parallel: closed form, eight branches.

The Cincinnati Milacron T3 was of this family, and the arms of Universal Robots and their like are.
Upright at q = 0, like the 321 arm: joint 1 rotates about Z, joints 2, 3 and 4 about -X, joint 5
about Z and joint 6 about X, along which the tool is.

Derived here in the way of Bruyninckx 2010, section 7.10; family named in its section 7.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...compile.program.recorded_arrays import minimum
from ...lie import screws, se3
from ...reproducible import reproducible
from ...types import Array
from ..inverse.singularities import common_point
from .alignment import (
    are_parallel,
    are_perpendicular,
    distance,
    either_sign,
    frame_on_axis,
    point,
    unless_zero,
)
from .chain import SerialChain
from .family import GEOMETRY_TOLERANCE, Family, index_of_signs, member, with_hand
from .subproblems import arctangent, root, rotation_z, shoulder, two_links, wrist_xzx
from .three_two_one import branch_label

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class ThreeParallelAxes(Family):
    """An arm of six revolute joints with three parallel axes after the first.

    Attributes
    ----------
    l1 : float
        Height of the shoulder, the axis of joint 2, above the base [m].
    l2, l3 : float
        Axis 2 to axis 3, axis 3 to axis 4 [m].
    l5 : float
        From axis 4 to axis 6, along axis 5 [m].
    l6 : float
        From axis 5 to the tool, along axis 6 [m].
    base_offset : float
        From axis 1 to axis 2, forward, along Y [m].
    shoulder_offset : float
        From axis 1 to axis 5, sideways, along X [m].

    Other attributes, and errors, as in `Family`.

    Examples
    --------
    >>> arm = ThreeParallelAxes(l1=0.16, l2=0.43, l3=0.39, l5=0.1, l6=0.1, shoulder_offset=0.13)
    >>> q = [0.3, 0.4, 0.7, -0.5, 0.6, 1.1]
    >>> arm.branches(arm.chain().pose(q))[0].round(9)
    array([ 0.3,  0.4,  0.7, -0.5,  0.6,  1.1])
    """

    labels: ClassVar[tuple[str, ...]] = tuple(branch_label(*each) for each in Family.sides)
    positive: ClassVar[tuple[str, ...]] = ('l2', 'l3')

    l1: float
    l2: float
    l3: float
    l5: float
    l6: float
    base_offset: float = 0.0
    shoulder_offset: float = 0.0

    def model_screws(self) -> Array:
        """Return the joint screws (6, 6) of the upright arm."""
        heights = np.cumsum([self.l1, self.l2, self.l3, self.l5])
        a, dx = self.base_offset, self.shoulder_offset
        return screws.unit_screw(
            [Z, -X, -X, -X, Z, X], [(0, 0, 0), *((dx, a, h) for h in heights[[0, 1, 2, 3, 3]])]
        )

    def model_home(self) -> Array:
        """Return the pose (4, 4) of the tool of the upright arm."""
        height = self.l1 + self.l2 + self.l3 + self.l5
        return se3.pose(np.eye(3), [self.shoulder_offset + self.l6, self.base_offset, height])

    @classmethod
    def recognized(
        cls, chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE
    ) -> ThreeParallelAxes | None:
        """Return a chain as a member of the family, None if it is not one (C-087).

        Axes 2, 3 and 4 parallel, 1 and 2, 4 and 5, 5 and 6 at right angles, 4 and 5, 5 and 6
        through a point each.
        """
        S = reproducible(chain.screws)
        if chain.turns != (True,) * 6 or not are_parallel(*S[1:4], tolerance=tolerance):
            return None
        right_angles = are_perpendicular(S[0], S[1], tolerance=tolerance) and are_perpendicular(
            *S[3:], tolerance=tolerance
        )
        hand = common_point(S[4:].T, tolerance)
        if not right_angles or hand is None or distance(S[3], S[4]) > tolerance:
            return None
        frame = frame_on_axis(S[0], point(S[1]))
        lengths = {
            'l1': float(frame[:3, 2] @ (point(S[1]) - frame[:3, 3])),
            'l2': distance(S[1], S[2]),
            'l3': distance(S[2], S[3]),
            'l5': abs(float((hand - point(S[3])) @ S[4, :3])),
            'l6': 0.0,
            'base_offset': unless_zero(distance(S[0], S[1]), tolerance),
        }
        if min(lengths['l2'], lengths['l3']) < tolerance:
            return None
        sideways = either_sign(float((hand - point(S[0])) @ S[1, :3]), tolerance)
        ways = [{**lengths, 'shoulder_offset': each} for each in sideways]
        arm = member(cls, chain, ways, frame, tolerance)
        return None if arm is None else with_hand(arm, 'l6', X)

    def branch(self, C: ArrayLike, sides: Sequence[Any], near: float | None = None) -> Array:
        """Return one branch (6,), as in `ThreeTwoOne.branch`.

        Where axis 6 is parallel to the axes 2 to 4, in a wrist singularity, each q6 has solutions
        q2 to q4: then q6 of the model is `near`, or 0 up to rounding.
        """
        return self.to_robot(np.array(self._model_branch(self.pose_in_model(C), sides, near)))

    def branches_near(self, C: ArrayLike, seed: ArrayLike) -> Array:
        """Return `branches` (8, 6), q6 of a wrist singularity as in the seed (6,)."""
        return self.branches(C, near=self.to_model(seed)[5])

    def _model_branch(self, C: Array, sides: Sequence[Any], near: float | None) -> list[Any]:
        side, elbow, wrist = sides
        px, py, pz = C[:3, 3] - C[:3, 0] * self.l6
        q1, rho = shoulder(px, py, self.shoulder_offset, side)
        q234, q5, q6 = wrist_xzx(rotation_z(q1).T @ C[:3, :3], wrist, near)
        sin, cos = np.sin(q234), np.cos(q234)
        dh, dv = rho - self.base_offset - self.l5 * sin, pz - self.l1 - self.l5 * cos
        q2, cos3, sin3 = two_links(dh, dv, self.l2, self.l3, elbow)
        q3 = arctangent(sin3, cos3)
        sin, cos = np.sin(q234 - q2), np.cos(q234 - q2)
        return [q1, q2, q3, arctangent(sin * cos3 - cos * sin3, cos * cos3 + sin * sin3), q5, q6]

    def determinacy(self, C: ArrayLike, sides: Sequence[Any], *further: Any) -> Any:
        """Return the sine of q5, at 0 of which q6 is arbitrary; see `Family.determinacy`.

        Or the distance of the wrist from axis 1 [m], if that is less: without a shoulder offset,
        q1 is arbitrary on the axis.
        """
        C = self.pose_in_model(C)
        px, py, _ = C[:3, 3] - C[:3, 0] * self.l6
        q1, _ = shoulder(px, py, self.shoulder_offset, sides[0])
        R = rotation_z(q1).T @ C[:3, :3]
        sine, distance = root(R[0, 1] * R[0, 1] + R[0, 2] * R[0, 2]), root(px * px + py * py)
        return minimum(sine, distance)

    def branch_of(self, q: ArrayLike) -> int:
        """Return the index in `labels` of the branch that q (6,) is on.

        Between two branches, in a singular configuration, it is the first of them.
        """
        q_model = self.to_model(q)
        angles = np.cumsum(q_model[1:4])
        rho = self.base_offset + np.sin(angles) @ [self.l2, self.l3, self.l5]
        sides = rho, np.sin(q_model[2]), np.sin(q_model[4])
        return index_of_signs(self.sides, sides)
