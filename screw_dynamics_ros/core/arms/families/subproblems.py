# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The triangles and rotations that closed forms of serial arms are put together from.

All functions take numbers or recorded scalars: they do not branch, and where there is no solution
they return the nearest angles, which the forward kinematics then rejects. Angles come
from `arctangent` alone, so that they are exact near 0 and pi, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compile.program.tracing import arctangent as arctangent
from ...compile.program.tracing import clamp
from ...lie import so3
from ...reproducible import total
from ...types import Array

#: A wrist angle is not determined by its rotation from here on: sines of the bend [1].
UNDETERMINED_SINE = 1e-8

#: Smallest square of a length that is divided by [m^2].
MIN_SQUARED_LENGTH = 1e-24


def root(x: Any) -> Any:
    """Return the square root of x, 0 where x is negative."""
    return np.sqrt(clamp(x, 0.0, np.inf))


def length(*x: Any) -> Any:
    """Return the length of a vector, given by its components, or a tiny number if it is zero."""
    return np.sqrt(clamp(total(each * each for each in x), MIN_SQUARED_LENGTH, np.inf))


def shoulder(px: Any, py: Any, lateral: float, side: Any) -> tuple[Any, Any]:
    """Return q and rho with (px, py) = R(Z, q) (lateral, rho), where rho has the sign of `side`.

    Joint 1 turns an arm in a plane at a distance `lateral` [m] from its axis until it goes through
    a point. A point nearer to the axis than that is out of reach: rho is 0 then.

    Source: Bruyninckx 2010, (7.25) with E-34 (C-101), and its extension by an offset (C-091).
    """
    rho = side * root(px * px + py * py - lateral * lateral)
    return arctangent(lateral * py - rho * px, lateral * px + rho * py), rho


def two_links(h: Any, v: Any, a: float, b: float, side: Any) -> tuple[Any, Any, Any]:
    """Return q and cos x, sin x with (h, v) = a (sin q, cos q) + b (sin(q + x), cos(q + x)).

    Two links of lengths a, b > 0 [m] in a plane; q is measured from the axis of v towards that of
    h, and x, the angle between the links, has the sign of `side`. Where (h, v) is out of reach the
    links are stretched towards it, or folded.

    Source: Bruyninckx 2010, (7.27) to (7.29) (C-101).
    """
    c = clamp((h * h + v * v - (a * a + b * b)) / (2.0 * a * b), -1.0, 1.0)
    s = side * np.sqrt(1.0 - c * c)
    along, across = a + b * c, b * s
    return arctangent(h * along - v * across, v * along + h * across), c, s


def rotation_x(angle: Any) -> Array:
    """Return R(X, angle), (3, 3)."""
    return so3.exp_unit_axis([1.0, 0.0, 0.0], angle)


def rotation_y(angle: Any) -> Array:
    """Return R(Y, angle), (3, 3)."""
    return so3.exp_unit_axis([0.0, 1.0, 0.0], angle)


def rotation_z(angle: Any) -> Array:
    """Return R(Z, angle), (3, 3)."""
    return so3.exp_unit_axis([0.0, 0.0, 1.0], angle)


def determined(angle: Any, bend: Any, near: float | None) -> Any:
    """Return an angle, or the one `near` (numbers only) if the wrist has next to no bend."""
    return angle if near is None or bend > UNDETERMINED_SINE else near


def wrist_zxz(R: Array, side: Any, near: float | None = None) -> tuple[Any, Any, Any]:
    """Return (q4, q5, q6) with R = R(Z, q4) R(X, -q5) R(Z, q6), sin q5 with the sign of `side`.

    q6 is made for this q4: where the wrist is stretched, q4 is arbitrary, that of `near` if it is
    given, and their sum is right.

    Source: Bruyninckx 2010, (7.30) to (7.33) (C-101, C-102).
    """
    bend = root(R[0, 2] * R[0, 2] + R[1, 2] * R[1, 2])
    q4 = determined(arctangent(-side * R[0, 2], side * R[1, 2]), bend, near)
    c, s = np.cos(q4), np.sin(q4)
    q6 = arctangent(-(c * R[0, 1] + s * R[1, 1]), c * R[0, 0] + s * R[1, 0])
    return q4, arctangent(side * bend, R[2, 2]), q6


def wrist_zyz(R: Array, side: Any, near: float | None = None) -> tuple[Any, Any, Any]:
    """Return (a, b, c) with R = R(Z, a) R(Y, b) R(Z, c), sin b with the sign of `side`.

    Where b is 0 or pi, a is arbitrary, or that of `near`, and c is made for it.
    """
    bend = root(R[0, 2] * R[0, 2] + R[1, 2] * R[1, 2])
    a = determined(arctangent(side * R[1, 2], side * R[0, 2]), bend, near)
    b = arctangent(side * bend, R[2, 2])
    c, s = np.cos(a), np.sin(a)
    return a, b, arctangent(c * R[1, 0] - s * R[0, 0], c * R[1, 1] - s * R[0, 1])


def wrist_xzx(R: Array, side: Any, near: float | None = None) -> tuple[Any, Any, Any]:
    """Return (a, b, c) with R = R(X, -a) R(Z, b) R(X, c), sin b with the sign of `side`.

    Where b is 0 or pi, c is arbitrary, or that of `near`, and a is made for it.
    """
    bend = root(R[0, 1] * R[0, 1] + R[0, 2] * R[0, 2])
    b = arctangent(side * bend, R[0, 0])
    c = determined(arctangent(side * R[0, 2], -side * R[0, 1]), bend, near)
    cos, sin = np.cos(c), np.sin(c)
    return arctangent(R[1, 1] * sin + R[1, 2] * cos, R[2, 1] * sin + R[2, 2] * cos), b, c
