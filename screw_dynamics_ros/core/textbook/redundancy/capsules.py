# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Capsules (points within a radius of a segment), and their distances.

A sphere is a capsule whose segment is a point. The nearest points of two segments a + s u and
b + t w, 0 <= s, t <= 1, minimize the squared distance, a convex quadratic function, on the unit
square (Ericson, Real-Time Collision Detection, 2005, 5.1.9).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import check_number, vector
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import finite
from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
class Capsule:
    """The points within a radius of a segment.

    Attributes
    ----------
    start, end : (3,) array
        Ends of the segment [m], in the frame of `link`; equal for a sphere.
    radius : float
        [m]
    link : str or None
        Link to which it is fixed; None for the root frame, as for fixed obstacles.
    """

    start: ArrayLike
    end: ArrayLike
    radius: float
    link: str | None = None

    def __post_init__(self) -> None:
        check_number('the radius of a capsule', self.radius)
        for name in ('start', 'end'):
            finite(f'{name} of a capsule', vector(f'{name} of a capsule', 3, getattr(self, name)))

    @classmethod
    def sphere(cls, center: ArrayLike, radius: float, link: str | None = None) -> Capsule:
        """Return a sphere."""
        return cls(center, center, radius, link)

    def segment(self, pose: Array) -> tuple[Array, Array]:
        """Return the ends of the segment in the root frame for the pose (4, 4) of the link."""
        R, p = pose[:3, :3], pose[:3, 3]
        return R @ np.asarray(self.start) + p, R @ np.asarray(self.end) + p


def nearest_points(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the nearest points (3,) of two segments, given by their ends.

    For parallel segments, one of several pairs is returned.

    >>> across = np.array([0.0, -1.0, 1.0]), np.array([0.0, 1.0, 1.0])
    >>> nearest_points((np.zeros(3), np.array([2.0, 0, 0])), across)
    (array([0., 0., 0.]), array([0., 0., 1.]))
    """
    u, w, d = a[1] - a[0], b[1] - b[0], a[0] - b[0]
    uu, ww, uw, ud, wd = u @ u, w @ w, u @ w, u @ d, w @ d
    determinant = uu * ww - uw * uw
    s = 0.0
    if determinant > 1e-12 * uu * ww:
        s = float(np.clip((uw * wd - ww * ud) / determinant, 0.0, 1.0))
    t = float(np.clip((uw * s + wd) / ww, 0.0, 1.0)) if ww > 0.0 else 0.0
    if uu > 0.0:  # the optimal s for this t, which changes only if t was clipped
        s = float(np.clip((uw * t - ud) / uu, 0.0, 1.0))
    return a[0] + s * u, b[0] + t * w


def normal_and_distance(p: Array, r: Array) -> tuple[Array, float]:
    """Return the unit vector (3,) from r to p and their distance; zeros if they coincide."""
    away = p - r
    distance = float(np.sqrt(away @ away))
    return (away / distance if distance > 0.0 else np.zeros(3)), distance
