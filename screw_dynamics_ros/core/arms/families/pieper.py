# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Six revolute joints with a spherical wrist or shoulder, and two more axes in one plane.

Where axes 4 to 6 meet in a point c, only joints 1 to 3 move it: exp(S_1 q_1) exp(S_2 q_2)
exp(S_3 q_3) c = p. If axes 1 and 2, or 2 and 3, lie in a plane, one of these angles is alone in an
equation a cos q + b sin q = k:

* axes 1 and 2 meet in o: the distance of c from o does not change by joints 1 and 2, that of
  exp(S_3 q_3) c from o is that of p;
* axes 1 and 2 are parallel to e: e . exp(S_3 q_3) c = e . p;
* axes 2 and 3: the same with exp(-S_1 q_1) p and c.

The other two follow by equations of the same form, then the wrist: two solutions each time, eight
together.

Sources: Pieper, The kinematics of manipulators under computer control (1968); Paden, Kinematics and
control of robot manipulators (1986); Bruyninckx 2010, section 7.1 (B-005, C-088).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...linear import cross
from ...types import Array
from ..inverse.singularities import common_point
from .alignment import are_parallel
from .chain import SerialChain
from .family import GEOMETRY_TOLERANCE
from .spherical_wrist import SphericalWrist, between, circle, moved, solved


@dataclass(frozen=True, eq=False)
class Pieper(SphericalWrist):
    """An arm with a spherical wrist or shoulder that has a closed form.

    Attributes
    ----------
    inner : bool
        Whether the axes in a plane are 2 and 3, not 1 and 2.
    meeting : (3,) array or None
        Where those two axes meet, None if they are parallel.

    Others as in `SphericalWrist`.
    """

    #: The solution taken of each of the three equations, of each branch.
    sides: ClassVar[tuple[tuple[float, ...], ...]] = tuple(product((1.0, -1.0), repeat=3))

    inner: bool
    meeting: Array | None

    @classmethod
    def recognized(cls, chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE) -> Pieper | None:
        """Return a chain as such an arm, None if it is not one.

        `tolerance` is how well axes must meet or be parallel [m, rad].
        """
        for arm in cls.readings(chain, tolerance):
            values = arm.joint_names, arm.home, arm.S, arm.backward, arm.center
            for inner in (True, False):
                pair = arm.S[1:3] if inner else arm.S[:2]
                if are_parallel(*pair, tolerance=tolerance):
                    return cls(*values, inner, None)
                meeting = common_point(pair.T, tolerance)
                if meeting is not None:
                    return cls(*values, inner, meeting)
        return None

    @property
    def reading(self) -> tuple[bool, ...]:
        """How the chain is read."""
        return self.backward, self.inner, self.meeting is None

    @property
    def labels(self) -> tuple[str, ...]:
        """The solution taken of each of the three equations, by the joint it is solved for."""
        places = [0 if self.inner else 2, 2 if self.inner else 1, 4]
        joints = [self.joint_names[5 - k if self.backward else k] for k in places]
        return tuple(
            ', '.join(f'{joint} {"+" if side > 0.0 else "-"}' for joint, side in zip(joints, sides))
            for sides in self.sides
        )

    def branches(self, C: ArrayLike) -> Array:
        """Return all solutions (8, 6) for a pose (4, 4) of the tool, in the order of `labels`."""
        return np.array([self.branch(C, sides) for sides in self.sides])

    def branch(self, C: ArrayLike, sides: Sequence[Any]) -> Array:
        """Return one solution (6,) for a pose (4, 4) of the tool; pose and signs may be recorded.

        For a pose out of reach, the configuration of another pose: compare them.
        """
        R, p = self.target(C)
        first, second, third = sides
        S1, S2, S3 = self.S[:3]
        if self.inner:
            q1 = self._alone(-S1, p, self.center, S2, first)
            q3, q2 = self._pair(S2, S3, self.center, moved(-S1, p, q1), second)
        else:
            q3 = self._alone(S3, self.center, p, S1, first)
            q2, q1 = self._pair(S1, S2, moved(S3, self.center, q3), p, second)
        return self.joints(R, [q1, q2, q3], third)

    def determinacy(self, C: ArrayLike, sides: Sequence[Any]) -> float:
        """Return 1: see `Family.determinacy`."""
        return 1.0

    def _alone(self, S: Array, x: Array, fixed: Array, along: Array, side: Any) -> Any:
        """Return the angle of a joint that moves x to the height or distance of `fixed`."""
        if self.meeting is None:
            e = along[:3]
            center, a, b = circle(S, x)
            return solved(e @ a, e @ b, e @ fixed - e @ center, side)
        return at_distance(S, x, self.meeting, fixed - self.meeting, side)

    def _pair(self, S: Array, T: Array, x: Array, y: Array, side: Any) -> tuple[Any, Any]:
        """Return (b, a) with exp(S a) exp(T b) x = y for two axes that meet or are parallel."""
        e = S[:3]
        if self.meeting is None:
            origin = cross(e, S[3:])
            across = y - origin
            b = at_distance(T, x, origin, across, side, without=e)
        else:
            origin = self.meeting
            center, cosine, sine = circle(T, x)
            b = solved(e @ cosine, e @ sine, e @ (y - center), side)
        return b, between(e, moved(T, x, b) - origin, y - origin)


def at_distance(
    S: Array, x: Array, o: Array, y: Array, side: Any, without: Array | None = None
) -> Any:
    """Return q with |exp(S q) x - o| = |y|; lengths across the unit vector `without`, if given."""
    center, a, b = circle(S, x)
    center = center - o
    if without is not None:  # parallel to the axis of S: a and b are across already
        center, y = center - (without @ center) * without, y - (without @ y) * without
    return solved(2.0 * (center @ a), 2.0 * (center @ b), y @ y - center @ center - a @ a, side)
