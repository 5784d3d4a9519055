# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The 321 arm: shoulder, parallel elbow, spherical wrist; its closed form, eight branches.

Upright at q = 0 with all frames parallel. Joint 1 rotates about Z, joints 2, 3, 5 about -X, joints
4 and 6 about Z: positive angles bend the arm forward, towards Y. Most industrial arms with six
joints are of this family, with offsets.

Source: Bruyninckx 2010, sections 7.2, 7.5 and 7.10, with the errata E-29 to E-34.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

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
from .subproblems import (
    UNDETERMINED_SINE,
    arctangent,
    length,
    rotation_x,
    rotation_z,
    shoulder,
    two_links,
    wrist_zxz,
)

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def branch_label(arm: float, elbow: float, wrist: float) -> str:
    """Return the name of a branch; the elbow is up where it bends to the side of the arm."""
    return ', '.join(
        (
            'forward' if arm > 0.0 else 'backward',
            'up' if arm * elbow > 0.0 else 'down',
            'no flip' if wrist > 0.0 else 'flip',
        )
    )


@dataclass(frozen=True, eq=False)
class ThreeTwoOne(Family):
    """An arm of six revolute joints, wrist partitioned, with parallel axes 2 and 3.

    Attributes
    ----------
    l1 : float
        Height of the shoulder, the axis of joint 2, above the base [m].
    l2, l3 : float
        Shoulder to elbow and elbow to wrist center, along the upright arm [m].
    l6 : float
        Wrist center to tool, along axis 6 [m].
    base_offset : float
        From axis 1 to axis 2, forward, along Y [m].
    shoulder_offset : float
        From axis 1 to the plane of the arm, along X [m].
    elbow_offset : float
        From axis 3 to axis 4 of the upright arm, along Y [m].

    Other attributes, and errors, as in `Family`.

    Examples
    --------
    All eight solutions for a pose; the first is the one that the pose was made from.

    >>> arm = ThreeTwoOne(l1=0.4, l2=0.5, l3=0.45, l6=0.1)
    >>> C = arm.pose([0.3, 0.4, 0.7, -0.5, 0.6, 1.1])
    >>> for q, label in list(zip(arm.branches(C).round(4), arm.labels))[:3]:
    ...     print(q, label)
    [ 0.3  0.4  0.7 -0.5  0.6  1.1] forward, up, no flip
    [ 0.3     0.4     0.7     2.6416 -0.6    -2.0416] forward, up, flip
    [ 0.3     1.0616 -0.7    -0.2856  1.2903  0.7575] forward, down, no flip
    """

    labels: ClassVar[tuple[str, ...]] = tuple(branch_label(*each) for each in Family.sides)
    positive: ClassVar[tuple[str, ...]] = ('l2', 'l3')

    l1: float
    l2: float
    l3: float
    l6: float
    base_offset: float = 0.0
    shoulder_offset: float = 0.0
    elbow_offset: float = 0.0

    @property
    def forearm(self) -> float:
        """From axis 3 to the wrist center, in the plane of the arm [m]."""
        return float(length(self.l3, self.elbow_offset))

    def model_screws(self) -> Array:
        """Return the joint screws (6, 6) of the upright arm."""
        elbow = self.l1 + self.l2
        a, dx = self.base_offset, self.shoulder_offset
        wrist = (dx, a + self.elbow_offset, elbow + self.l3)
        return screws.unit_screw(
            [Z, -X, -X, Z, -X, Z],
            [(0, 0, 0), (dx, a, self.l1), (dx, a, elbow), wrist, wrist, wrist],
        )

    def model_home(self) -> Array:
        """Return the pose (4, 4) of the tool of the upright arm."""
        height = self.l1 + self.l2 + self.l3 + self.l6
        return se3.pose(
            np.eye(3), [self.shoulder_offset, self.base_offset + self.elbow_offset, height]
        )

    @classmethod
    def recognized(
        cls, chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE
    ) -> ThreeTwoOne | None:
        """Return a chain as a 321 arm, None if it is not one (C-087, C-091).

        Axes 1 and 2, 3 and 4, 4 and 5, 5 and 6 at right angles, 2 and 3 parallel, the last three
        through one point, 4 as far from the arm's plane as that. Of the ways to say so, that with
        a base offset forward and small offsets of the joints.
        """
        S = reproducible(chain.screws)
        if chain.turns != (True,) * 6 or not are_parallel(S[1], S[2], tolerance=tolerance):
            return None
        right_angles = are_perpendicular(S[0], S[1], tolerance=tolerance) and are_perpendicular(
            *S[2:], tolerance=tolerance
        )
        wrist = common_point(S[3:].T, tolerance)
        if not right_angles or wrist is None:
            return None
        frame = frame_on_axis(S[0], point(S[1]))
        dx = abs(float((wrist - point(S[0])) @ S[1, :3]))
        lengths = {
            'l1': float(frame[:3, 2] @ (point(S[1]) - frame[:3, 3])),
            'l2': distance(S[1], S[2]),
            'l3': abs(float((wrist - point(S[2])) @ S[3, :3])),
            'base_offset': unless_zero(distance(S[0], S[1]), tolerance),
        }
        if min(lengths['l2'], lengths['l3']) < tolerance:
            return None
        elbow_offsets = either_sign(distance(S[2], S[3]), tolerance)
        offsets = product(elbow_offsets, either_sign(dx, tolerance))
        ways = [
            {**lengths, 'elbow_offset': elbow, 'shoulder_offset': sideways, 'l6': 0.0}
            for elbow, sideways in offsets
        ]
        arm = member(cls, chain, ways, frame, tolerance)
        return None if arm is None else with_hand(arm, 'l6', Z)

    def branch(self, C: ArrayLike, sides: Sequence[Any], near: Array | None = None) -> Array:
        """Return one branch (6,) for the sides of arm, elbow and wrist; see `Family.branch`.

        Angles are within [-pi, pi] before signs and offsets of the robot. `near` (6,) are those of
        the model that replace q4 of a stretched wrist, and q1 with the wrist center on axis 1.
        """
        return self.to_robot(np.array(self._model_branch(self.pose_in_model(C), sides, near)))

    def branches_near(self, C: ArrayLike, seed: ArrayLike) -> Array:
        """Return `branches` (8, 6), q4 of a stretched wrist as in the seed (6,).

        And q1, if the wrist center is on axis 1.
        """
        return self.branches(C, near=self.to_model(seed))

    def _model_branch(self, C: Array, sides: Sequence[Any], near: Array | None) -> list[Any]:
        side, elbow, wrist = sides
        R = C[:3, :3]
        px, py, pz = C[:3, 3] - R[:, 2] * self.l6
        q1, rho = shoulder(px, py, self.shoulder_offset, side)
        if near is not None and np.hypot(px, py) < UNDETERMINED_SINE:
            q1 = near[0]
        dh, dv = rho - self.base_offset, pz - self.l1
        q2, q3 = self._arm(dh, dv, elbow)
        R4 = rotation_z(q1) @ rotation_x(-(q2 + q3))
        return [q1, q2, q3, *wrist_zxz(R4.T @ R, wrist, None if near is None else near[3])]

    def _arm(self, dh: Any, dv: Any, elbow: float) -> tuple[Any, Any]:
        """Return q2 and q3 for the wrist center dh ahead of and dv above the shoulder."""
        q2, cos, sin = two_links(dh, dv, self.l2, self.forearm, elbow)
        l3, b = self.l3, self.elbow_offset
        return q2, arctangent(sin * l3 - cos * b, cos * l3 + sin * b)

    def pose(self, q: ArrayLike) -> Array:
        """Return the pose (4, 4) of the tool for q (6,) by the closed form (C-097).

        R4 = R(Z, q1) R(X, -q23), R = R4 R(Z, q4) R(X, -q5) R(Z, q6), p = p_wr + R (0, 0, l6).

        Source: Bruyninckx 2010, (7.4) to (7.9) with E-29, E-30.
        """
        q = self.to_model(q)
        middle = self.midframe(q)
        R = middle[:3, :3] @ rotation_z(q[3]) @ rotation_x(-q[4]) @ rotation_z(q[5])
        C = se3.pose(R, middle[:3, 3] + R @ np.array([0.0, 0.0, self.l6]))
        return self.base @ C @ self.tool

    def midframe(self, q_model: Array) -> Array:
        """Return the pose (4, 4) in the model of the wrist before joint 4 turns it."""
        radial, height = self.wrist_in_plane(q_model)
        R1 = rotation_z(q_model[0])
        R = R1 @ rotation_x(-(q_model[1] + q_model[2]))
        return se3.pose(R, R1 @ np.array([self.shoulder_offset, radial, height]))

    def wrist_in_plane(self, q_model: Array) -> tuple[float, float]:
        """Return the distance of the wrist center ahead of axis 1, and its height [m]."""
        q23 = q_model[1] + q_model[2]
        sin, cos = np.sin(q23), np.cos(q23)
        radial = self.l2 * np.sin(q_model[1]) + self.l3 * sin + self.elbow_offset * cos
        height = self.l2 * np.cos(q_model[1]) + self.l3 * cos - self.elbow_offset * sin
        return self.base_offset + radial, self.l1 + height

    def branch_of(self, q: ArrayLike) -> int:
        """Return the index in `labels` of the branch that q (6,) is on.

        Between two branches, in a singular configuration, it is the first of them.
        """
        q_model = self.to_model(q)
        stretched = -np.arctan2(self.elbow_offset, self.l3)  # angle q3 of the arm extended
        sides = (
            self.wrist_in_plane(q_model)[0],
            np.sin(q_model[2] - stretched),
            np.sin(q_model[4]),
        )
        return index_of_signs(self.sides, sides)
