# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms of six revolute joints whose last three axes meet, or the first three.

Where axes 4 to 6 meet in a point c, only joints 1 to 3 move it; the wrist then has two solutions
for an orientation. Its axes may have any angles between them. A spherical shoulder is a spherical
wrist of the chain read backward.

Sources: Pieper, The kinematics of manipulators under computer control (1968); Bruyninckx 2010,
section 7.1 (B-005, C-088).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...compile.program.tracing import arctangent
from ...lie import se3, so3
from ...linear import cross
from ...reproducible import reproducible
from ...types import Array
from ..inverse.singularities import common_point
from .chain import SerialChain
from .family import GEOMETRY_TOLERANCE
from .subproblems import root


@dataclass(frozen=True, eq=False)
class SphericalWrist:
    """An arm with a spherical wrist or shoulder.

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
    """

    joint_names: tuple[str, ...]
    home: Array
    S: Array
    backward: bool
    center: Array

    @classmethod
    def recognized(
        cls, chain: SerialChain, tolerance: float = GEOMETRY_TOLERANCE
    ) -> SphericalWrist | None:
        """Return a chain as such an arm, None if it is not one.

        `tolerance` is how well axes must meet [m].
        """
        return next(SphericalWrist.readings(chain, tolerance), None)

    @staticmethod
    def readings(chain: SerialChain, tolerance: float) -> Iterator[SphericalWrist]:
        """Yield the arm by its wrist, and by its shoulder, of those that are spherical."""
        if chain.turns != (True,) * 6:
            return
        for backward in (False, True):
            S = reproducible(-chain.screws[::-1] if backward else chain.screws)
            center = common_point(S[3:].T, tolerance)
            if center is not None:
                yield SphericalWrist(chain.joint_names, chain.home, S, backward, center)

    @property
    def reading(self) -> tuple[bool, ...]:
        """Direction in which the chain is read; independent of the locked positions."""
        return (self.backward,)

    def target(self, C: ArrayLike) -> tuple[Array, Array]:
        """Return the orientation (3, 3) and the place (3,) of c that a pose (4, 4) needs.

        The orientation is that of exp(S_1 q_1) ... exp(S_6 q_6). May be recorded.
        """
        T = np.asarray(C) @ se3.inverse(self.home)
        if self.backward:
            T = se3.inverse(T)
        return T[:3, :3], T[:3, :3] @ self.center + T[:3, 3]

    def joints(self, R: Array, first: ArrayLike, side: Any) -> Array:
        """Return all joints (6,) of the arm, given three (3,), and the side of the wrist.

        In the order of the arm. For an orientation of `target`; may be recorded.
        """
        e, q = self.S[:, :3], np.asarray(first)
        for k in range(3):
            R = so3.exp_unit_axis(e[k], q[k]).T @ R
        direction = R @ e[5]
        q5 = turning(e[4], e[5], e[3], e[3] @ direction, side)
        q4 = between(e[3], so3.exp_unit_axis(e[4], q5) @ e[5], direction)
        R = so3.exp_unit_axis(e[4], q5).T @ so3.exp_unit_axis(e[3], q4).T @ R
        q6 = between(e[5], e[4], R @ e[4])
        q = np.array([*q, q4, q5, q6])
        return q[::-1] if self.backward else q


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


def turning(e: Array, x: Array, along: Array, height: Any, side: Any) -> Any:
    """Return q for which x, turned by q about e, has a height along a direction."""
    v = so3.hat(e) @ x
    a = -(so3.hat(e) @ v)
    return solved(along @ a, along @ v, height - along @ (x - a), side)


def solved(a: Any, b: Any, k: Any, side: Any) -> Any:
    """Return one of the two q with a cos q + b sin q = k, or the q that comes nearest to it."""
    return arctangent(b, a) + side * arctangent(root(a * a + b * b - k * k), k)


def between(e: Array, x: Array, y: Array) -> Any:
    """Return the angle about the unit vector e that takes x over y, seen along e."""
    across = so3.hat(e) @ x
    return arctangent(across @ y, x @ y - (e @ x) * (e @ y))
