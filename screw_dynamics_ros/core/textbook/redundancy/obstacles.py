# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Criterion 7 of section 5.9.1: springs that push links away from obstacles, and from each other.

A capsule are the points within a radius of a segment; a sphere is one whose segment is a point. The
nearest points of two segments a + s u and b + t w, 0 <= s, t <= 1, minimize the squared distance, a
convex quadratic function, on the unit square (Ericson, Real-Time Collision Detection, 2005, 5.1.9).

The distance d of two capsules changes with the points p and r of their segments that are nearest,

    dd/dq_k = n . (dp/dq_k - dr/dq_k),      n = (p - r) / |p - r|

as if these were fixed to their links: the change of the nearest points has no first-order effect,
because the distance is minimal there.

Source: Bruyninckx 2010, section 5.9.1 item 7, which has no formula (C-035).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, vector
from ...arms.inverse.redundancy import RobotModel
from ...arms.inverse.weighted_inverse import finite
from ...errors import ArgumentError
from ...types import Array


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


@dataclass(frozen=True, eq=False)
class Clearance:
    """Distance between a capsule of the robot and an obstacle.

    Attributes
    ----------
    body, obstacle : int
        Indices in the lists.
    distance : float
        Distance of their surfaces [m]; negative if they overlap.
    gradient : (nv,) array
        Gradient along each velocity [m/rad]; zero if the segments intersect.
    """

    body: int
    obstacle: int
    distance: float
    gradient: Array


@dataclass(frozen=True)
class ObstacleRepulsion:
    """H = sum k (margin - d)^2 / 2 over all pairs whose distance d is below the margin.

    Attributes
    ----------
    bodies : sequence of Capsule
        Capsules of the robot, each with its link.
    obstacles : sequence of Capsule
        In the root frame, or fixed to links of the robot, except links adjacent to a body.
    margin : float
        Distance below which the springs are active [m].
    stiffness : float
        k [N/m].
    weight : float
        [rad^2/(s J)]
    """

    bodies: Sequence[Capsule]
    obstacles: Sequence[Capsule]
    margin: float
    stiffness: float = 1.0
    weight: float = 1.0
    name: str = 'obstacle repulsion'
    unit: str = 'J'

    def __post_init__(self) -> None:
        check_number('the weight of the obstacle repulsion', self.weight)
        check_number('the margin of the obstacle repulsion', self.margin, positive=True)
        check_number('the stiffness of the obstacle repulsion', self.stiffness, positive=True)
        for part in (self.bodies, self.obstacles):
            if not all(isinstance(capsule, Capsule) for capsule in part):
                raise ArgumentError(f'bodies and obstacles must be Capsule objects, got {part!r}')
        loose = [capsule for capsule in self.bodies if capsule.link is None]
        if loose:
            raise ArgumentError(f'each body of the robot needs its link: {loose[0]} has none')

    def value(self, robot: RobotModel, q: ArrayLike) -> float:
        """Return H(q)."""
        gaps = [self.margin - near.distance for near in self.clearances(robot, q)]
        return 0.5 * self.stiffness * sum(max(gap, 0.0) ** 2 for gap in gaps)

    def gradient(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return dH along each velocity, (nv,)."""
        gradient = np.zeros(robot.nv)
        for near in self.clearances(robot, q):
            gradient -= self.stiffness * max(self.margin - near.distance, 0.0) * near.gradient
        return gradient

    def clearances(self, robot: RobotModel, q: ArrayLike) -> list[Clearance]:
        """Return the clearance of each pair of a body and an obstacle."""
        links = {capsule.link for capsule in (*self.bodies, *self.obstacles)}
        poses = {link: np.eye(4) if link is None else robot.link_pose(q, link) for link in links}
        jacobians = {
            link: np.zeros((6, robot.nv)) if link is None else robot.jacobian(q, link, 'spatial')
            for link in links
        }
        found = []
        for i, body in enumerate(self.bodies):
            for j, obstacle in enumerate(self.obstacles):
                p, r = nearest_points(
                    body.segment(poses[body.link]), obstacle.segment(poses[obstacle.link])
                )
                n, distance = normal_and_distance(p, r)
                # n . (v + omega x p) is the power of the unit force n through p.
                gradient = pushed(p, n) @ jacobians[body.link]
                gradient = gradient - pushed(r, n) @ jacobians[obstacle.link]
                gap = distance - body.radius - obstacle.radius
                found.append(Clearance(i, j, gap, gradient))
        return found


def pushed(point: Array, force: Array) -> Array:
    """Return the wrench (6,), moment first, of a force through a point, about the origin."""
    return np.concatenate([np.cross(point, force), force])
