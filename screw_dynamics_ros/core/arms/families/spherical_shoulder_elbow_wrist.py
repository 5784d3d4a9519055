# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Seven joints, S-R-S: spherical shoulder, elbow, spherical wrist; closed form over the swivel.

Also called 313. Upright at q = 0: axes Z, Y, Z in the shoulder, -Y in the elbow, Z, Y, Z in the
wrist. For a pose of the tool the elbow moves on a circle about the line from shoulder to wrist; its
angle there is the swivel angle, by which the redundancy is resolved.

Source: Bruyninckx 2010, section 7.3; closed form derived (C-094).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...compile.program.tracing import clamp
from ...lie import screws, se3
from ...linear import cross
from ...reproducible import arctangent as angle_of
from ...reproducible import reproducible, sine_cosine
from ...types import Array
from ..inverse.singularities import common_point
from .alignment import are_perpendicular, distance, either_sign, frame_on_axis, point, unless_zero
from .chain import SerialChain
from .family import GEOMETRY_TOLERANCE, Family, index_of_signs, member, with_hand
from .subproblems import arctangent, length, rotation_y, rotation_z, wrist_zyz

Y, Z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])

#: The swivel angle has another zero where the wrist is nearer to axis 1 than this, seen from the
#: shoulder [rad].
NEAR_AXIS = 1e-6


def branch_label(*sides: float) -> str:
    """Return the name of a branch."""
    names = ('elbow', 'shoulder', 'wrist')
    return ', '.join(f'{name} {"+" if x > 0.0 else "-"}' for name, x in zip(names, sides))


@dataclass(frozen=True, eq=False)
class SphericalShoulderElbowWrist(Family):
    """An arm of seven revolute joints, S-R-S: KUKA LBR iiwa, Barrett WAM.

    Attributes
    ----------
    l1 : float
        Height of the shoulder center above the base [m].
    upper, lower : float
        From the shoulder center to the elbow axis along axis 3, and from there to the wrist center
        along axis 5 [m].
    l7 : float
        From the wrist center to the tool, along axis 7 [m].
    upper_offset, lower_offset : float
        From axis 3 to axis 4 and from axis 4 to axis 5, along X of the upright arm [m].

    Other attributes, and errors, as in `Family`.

    Notes
    -----
    The swivel angle is that of the elbow about the line from the shoulder center to the wrist
    center, from the half plane on the side of axis 1: with 0 the elbow is in the plane of axis 1
    and that line, as high as it can be. With the wrist above or below the shoulder there is no such
    plane; within `NEAR_AXIS` of that, the x-axis of the base replaces axis 1. Any swivel
    angle has a zero direction that fails somewhere, as there is no direction field on a sphere.

    Examples
    --------
    >>> arm = SphericalShoulderElbowWrist(l1=0.36, upper=0.42, lower=0.4, l7=0.126)
    >>> q = np.array([0.3, 0.4, 0.7, 0.5, 0.6, 1.1, -0.2])
    >>> arm.branches(arm.chain().pose(q), arm.swivel_of(q))[0].round(9)
    array([ 0.3,  0.4,  0.7,  0.5,  0.6,  1.1, -0.2])
    """

    labels: ClassVar[tuple[str, ...]] = tuple(branch_label(*each) for each in Family.sides)
    positive: ClassVar[tuple[str, ...]] = ('upper', 'lower')

    l1: float
    upper: float
    lower: float
    l7: float
    upper_offset: float = 0.0
    lower_offset: float = 0.0

    def model_screws(self) -> Array:
        """Return the joint screws (7, 6) of the upright arm."""
        shoulder = 0.0, 0.0, self.l1
        elbow = self.upper_offset, 0.0, self.l1 + self.upper
        wrist = self.upper_offset + self.lower_offset, 0.0, self.l1 + self.upper + self.lower
        return screws.unit_screw([Z, Y, Z, -Y, Z, Y, Z], [*3 * [shoulder], elbow, *3 * [wrist]])

    def model_home(self) -> Array:
        """Return the pose (4, 4) of the tool of the upright arm."""
        height = self.l1 + self.upper + self.lower + self.l7
        return se3.pose(np.eye(3), [self.upper_offset + self.lower_offset, 0.0, height])

    @classmethod
    def recognized(
        cls, chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE
    ) -> SphericalShoulderElbowWrist | None:
        """Return a chain as a member of the family, None if it is not one (C-087).

        Each axis at right angles to the next one, three through the shoulder center, three through
        the wrist center, both centers in one plane at right angles to axis 4.
        """
        S = reproducible(chain.screws)
        if chain.turns != (True,) * 7 or not are_perpendicular(*S, tolerance=tolerance):
            return None
        center, wrist = common_point(S[:3].T, tolerance), common_point(S[4:].T, tolerance)
        if center is None or wrist is None:
            return None
        frame = frame_on_axis(S[0], center)
        lengths = {
            'l1': float(frame[:3, 2] @ (center - frame[:3, 3])),
            'upper': abs(float((point(S[3]) - center) @ S[2, :3])),
            'lower': abs(float((wrist - point(S[3])) @ S[4, :3])),
            'l7': 0.0,
            'upper_offset': unless_zero(distance(S[2], S[3]), tolerance),
        }
        if min(lengths['upper'], lengths['lower']) < tolerance:
            return None
        offsets = either_sign(distance(S[3], S[4]), tolerance)
        ways = [{**lengths, 'lower_offset': each} for each in offsets]
        arm = member(cls, chain, ways, frame, tolerance)
        return None if arm is None else with_hand(arm, 'l7', Z)

    def branch(
        self, C: ArrayLike, sides: Sequence[Any], swivel: Any, near: Array | None = None
    ) -> Array:
        """Return one branch (7,); see `Family.branch`.

        Parameters
        ----------
        C : (4, 4) array
        sides : (3,) array
            Of elbow, shoulder and wrist: the signs of the sines of elbow angle, q2 and q6.
        swivel : float
            Angle of the elbow about the line from shoulder to wrist [rad] (see the class).
        near : (7,) array, optional
            Joints of the model that replace q1 and q5 where they are not determined.
        """
        C = self.pose_in_model(C)
        x, y, z = C[:3, 3] - C[:3, 2] * self.l7 - np.array([0.0, 0.0, self.l1])
        reach = length(x, y, z)
        circle = swivel_frame(np.array([x / reach, y / reach, z / reach]), swivel)
        return self.to_robot(np.array(self._model_branch(C[:3, :3], reach, circle, sides, near)))

    def branches_near(self, C: ArrayLike, seed: ArrayLike) -> Array:
        """Return `branches` (8, 7) at the swivel angle of the seed (7,).

        q1 is that of the seed where axes 1 and 3 are in line, q5 where axes 5 and 7 are.
        """
        return self.branches(C, self.swivel_of(seed), near=self.to_model(seed))

    def _model_branch(
        self, R: Array, reach: Any, circle: Array, sides: Sequence[Any], near: Array | None
    ) -> list[Any]:
        elbow, side, wrist = sides
        q1, q5 = (None, None) if near is None else near[[0, 4]]
        a, b = self._links()
        c = clamp((reach * reach - (a * a + b * b)) / (2.0 * a * b), -1.0, 1.0)
        s = elbow * np.sqrt(1.0 - c * c)
        sin_bend, cos_bend = sine_cosine(self._bend())
        sin4, cos4 = s * cos_bend + c * sin_bend, c * cos_bend - s * sin_bend
        q4 = arctangent(sin4, cos4)
        R3 = circle @ self._own_frame(sin4, cos4, elbow).T
        R4 = R3 @ rotation_y(-q4)
        return [*wrist_zyz(R3, side, q1), q4, *wrist_zyz(R4.T @ R, wrist, q5)]

    def _links(self) -> tuple[float, float]:
        """Return the distances from shoulder center to elbow axis to wrist center [m]."""
        return (
            float(length(self.upper, self.upper_offset)),
            float(length(self.lower, self.lower_offset)),
        )

    def _bend(self) -> float:
        """Return the angle q4 of the arm stretched."""
        upper = angle_of(self.upper_offset, self.upper)
        return angle_of(self.lower_offset, self.lower) - upper

    def _own_frame(self, sin4: Any, cos4: Any, elbow: Any) -> Array:
        """Return (n, m, n x m) in the shoulder: to the wrist, and from there to the elbow."""
        x = self.upper_offset + cos4 * self.lower_offset - sin4 * self.lower
        z = self.upper + sin4 * self.lower_offset + cos4 * self.lower
        size = length(x, z)
        x, z = x / size, z / size
        return np.array([[x, elbow * z, 0.0], [0.0, 0.0, elbow], [z, -elbow * x, 0.0]])

    def swivel_of(self, q: ArrayLike) -> float:
        """Return the swivel angle [rad] of a configuration q (7,)."""
        q = self.to_model(q)
        R3 = rotation_z(q[0]) @ rotation_y(q[1]) @ rotation_z(q[2])
        elbow = 1.0 if np.sin(q[3] - self._bend()) >= 0.0 else -1.0
        n, m, _ = (R3 @ self._own_frame(np.sin(q[3]), np.cos(q[3]), elbow)).T
        _, zero, quarter = swivel_frame(n, 0.0).T
        return float(np.arctan2(m @ quarter, m @ zero))

    def singularities(self, q: ArrayLike, tolerance: float = 1e-6) -> tuple[str, ...]:
        """Return the names of the singularities that q (7,) is in, none where it is regular.

        'arm extended' (or folded): the wrist center cannot leave the shoulder. 'shoulder', 'wrist':
        two axes of it in line, the arm across the third, which then moves the wrist center, or the
        shoulder center, as they do. 'shoulder and wrist': two axes of each in line.

        Parameters
        ----------
        q : (7,) array
        tolerance : float
            Sines and cosines up to this are treated as zero.

        Source: Bruyninckx 2010, section 7.19.2; list derived (C-094).
        """
        q = self.to_model(q)
        elbow, s2, s6 = np.abs(np.sin([q[3] - self._bend(), q[1], q[5]])) <= tolerance
        c3, c5 = np.abs(np.cos(q[[2, 4]])) <= tolerance
        found = {
            'arm extended': elbow,
            'shoulder': s2 and c3,
            'wrist': s6 and c5,
            'shoulder and wrist': s2 and s6,
        }
        return tuple(name for name, singular in found.items() if singular)

    def branch_of(self, q: ArrayLike) -> int:
        """Return the index in `labels` of the branch that q (7,) is on.

        Between two branches, in a singular configuration, it is the first of them.
        """
        q = self.to_model(q)
        sines = np.sin([q[3] - self._bend(), q[1], q[5]])
        return index_of_signs(self.sides, sines)


def swivel_frame(n: Array, swivel: Any) -> Array:
    """Return the rotation (n, m, n x m), m at right angles to n (3,) at a swivel angle [rad]."""
    x, y, z = n
    off_axis = x * x + y * y
    near = clamp(1.0 - off_axis / NEAR_AXIS**2, 0.0, 1.0)
    e = np.array([near * (y * y + z * z) - z * x, -near * x * y - z * y, off_axis - near * x * z])
    e = e / length(*e)
    c, s = np.cos(swivel), np.sin(swivel)
    across = cross(n, e)
    return np.stack([n, c * e + s * across, c * across - s * e], axis=1)
