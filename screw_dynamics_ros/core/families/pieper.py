"""Six revolute joints with a spherical wrist or shoulder, and two more axes in one plane.

Where axes 4 to 6 meet in a point c, only joints 1 to 3 move it: exp(S_1 q_1) exp(S_2 q_2)
exp(S_3 q_3) c = p. If axes 1 and 2, or 2 and 3, lie in a plane, one of these angles is alone in an
equation a cos q + b sin q = k:

* axes 1 and 2 meet in o: the distance of c from o does not change by joints 1 and 2, that of
  exp(S_3 q_3) c from o is that of p;
* axes 1 and 2 are parallel to e: e . exp(S_3 q_3) c = e . p;
* axes 2 and 3: the same with exp(-S_1 q_1) p and c.

The other two follow by equations of the same form, then the wrist: two solutions each time, eight
together. A spherical shoulder is a spherical wrist of the chain read backward. The axes of the
wrist may have any angles between them.

Sources: Pieper, The kinematics of manipulators under computer control (1968); Paden, Kinematics and
control of robot manipulators (1986); Bruyninckx 2010, section 7.1 (B-005, C-088).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.compile.program.tracing import arctangent
from screw_dynamics_ros.core.families.alignment import are_parallel
from screw_dynamics_ros.core.families.chain import REVOLUTE, SerialChain
from screw_dynamics_ros.core.families.family import TOLERANCE
from screw_dynamics_ros.core.families.subproblems import root
from screw_dynamics_ros.core.inverse.singularities import common_point
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.linear import cross, zeros
from screw_dynamics_ros.core.reproducible import reproducible
from screw_dynamics_ros.core.types import Array

SIDES = tuple(product((1.0, -1.0), repeat=3))


@dataclass(frozen=True, eq=False)
class Pieper:
    """An arm with a spherical wrist or shoulder that has a closed form.

    Attributes
    ----------
    joint_names : tuple of str
    home : (4, 4) array
        Pose of the tool at q = 0 [m].
    S : (6, 6) array
        The joint screws; for a spherical shoulder those of the chain read backward.
    backward : bool
    center : (3,) array
        Where the axes of the wrist meet at q = 0 [m].
    inner : bool
        Whether the axes in a plane are 2 and 3, not 1 and 2.
    meeting : (3,) array or None
        Where those two axes meet, None if they are parallel.
    """

    joint_names: tuple[str, ...]
    home: Array
    S: Array
    backward: bool
    center: Array
    inner: bool
    meeting: Array | None

    @classmethod
    def recognized(cls, chain: SerialChain, tolerance: float = TOLERANCE) -> Pieper | None:
        """Return a chain as such an arm, None if it is not one.

        `tolerance` is how well axes must meet or be parallel [m, rad].
        """
        if chain.kinds != (REVOLUTE,) * 6:
            return None
        for backward in (False, True):
            S = reproducible(-chain.screws[::-1] if backward else chain.screws)
            center = common_point(S[3:].T, tolerance)
            if center is None:
                continue
            for inner in (True, False):
                pair = S[1:3] if inner else S[:2]
                if are_parallel(*pair, tolerance=tolerance):
                    return cls(chain.joint_names, chain.home, S, backward, center, inner, None)
                meeting = common_point(pair.T, tolerance)
                if meeting is not None:
                    return cls(chain.joint_names, chain.home, S, backward, center, inner, meeting)
        return None

    @property
    def labels(self) -> tuple[str, ...]:
        """The solution taken of each of the three equations, by the joint it is solved for."""
        places = [0 if self.inner else 2, 2 if self.inner else 1, 4]
        joints = [self.joint_names[5 - k if self.backward else k] for k in places]
        return tuple(
            ', '.join(f'{joint} {"+" if side > 0.0 else "-"}' for joint, side in zip(joints, sides))
            for sides in SIDES
        )

    def branches(self, C: ArrayLike) -> Array:
        """Return all solutions (8, 6) for a pose (4, 4) of the tool; may be recorded.

        Where there is none, the nearest thing to it: its pose tells.
        """
        T = np.asarray(C) @ se3.inverse(self.home)
        if self.backward:
            T = se3.inverse(T)
        p = T[:3, :3] @ self.center + T[:3, 3]
        solutions = [self._branch(T[:3, :3], p, *sides) for sides in SIDES]
        return np.array([q[::-1] if self.backward else q for q in solutions])

    def _branch(self, R: Array, p: Array, first: float, second: float, third: float) -> Array:
        S1, S2, S3 = self.S[:3]
        q = zeros(6, R)
        if self.inner:
            q[0] = self._alone(-S1, p, self.center, S2, first)
            u = moved(-S1, p, q[0])
            q[2], q[1] = self._pair(S2, S3, self.center, u, second)
        else:
            q[2] = self._alone(S3, self.center, p, S1, first)
            w = moved(S3, self.center, q[2])
            q[1], q[0] = self._pair(S1, S2, w, p, second)
        e = self.S[:, :3]
        for k in range(3):
            R = so3.exp_unit_axis(e[k], q[k]).T @ R
        direction = R @ e[5]
        q[4] = turning(e[4], e[5], e[3], e[3] @ direction, third)
        q[3] = between(e[3], so3.exp_unit_axis(e[4], q[4]) @ e[5], direction)
        R = so3.exp_unit_axis(e[4], q[4]).T @ so3.exp_unit_axis(e[3], q[3]).T @ R
        q[5] = between(e[5], e[4], R @ e[4])
        return q

    def _alone(self, S: Array, x: Array, fixed: Array, along: Array, side: float) -> Any:
        """Return the angle of a joint that brings x to the height or distance that `fixed` has."""
        if self.meeting is None:
            e = along[:3]
            center, a, b = circle(S, x)
            return solved(e @ a, e @ b, e @ fixed - e @ center, side)
        return at_distance(S, x, self.meeting, fixed - self.meeting, side)

    def _pair(self, S: Array, T: Array, x: Array, y: Array, side: float) -> tuple[Any, Any]:
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


def circle(S: Array, x: Array) -> tuple[Array, Array, Array]:
    """Return (m, a, b) with exp(S q) x = m + a cos q + b sin q, (3,) each."""
    e = S[:3]
    origin = cross(e, S[3:])
    arm = x - origin
    along = (e @ arm) * e
    return origin + along, arm - along, so3.hat(e) @ arm


def moved(S: Array, x: Array, q: Any) -> Array:
    """Return the point exp(S q) x, (3,)."""
    center, a, b = circle(S, x)
    return center + np.cos(q) * a + np.sin(q) * b


def at_distance(
    S: Array, x: Array, o: Array, y: Array, side: float, without: Array | None = None
) -> Any:
    """Return q with |exp(S q) x - o| = |y|; lengths across the unit vector `without`, if given."""
    center, a, b = circle(S, x)
    center = center - o
    if without is not None:  # parallel to the axis of S: a and b are across already
        center, y = center - (without @ center) * without, y - (without @ y) * without
    return solved(2.0 * (center @ a), 2.0 * (center @ b), y @ y - center @ center - a @ a, side)


def turning(e: Array, x: Array, along: Array, height: Any, side: float) -> Any:
    """Return q for which x, turned by q about e, has a height along a direction."""
    v = so3.hat(e) @ x
    a = -(so3.hat(e) @ v)
    return solved(along @ a, along @ v, height - along @ (x - a), side)


def solved(a: Any, b: Any, k: Any, side: float) -> Any:
    """Return one of the two q with a cos q + b sin q = k, or the q that comes nearest to it."""
    return arctangent(b, a) + side * arctangent(root(a * a + b * b - k * k), k)


def between(e: Array, x: Array, y: Array) -> Any:
    """Return the angle about the unit vector e that takes x over y, seen along e."""
    across = so3.hat(e) @ x
    return arctangent(across @ y, x @ y - (e @ x) * (e @ y))
