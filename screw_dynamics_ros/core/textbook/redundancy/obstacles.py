# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Criterion 7 of section 5.9.1: springs that push links away from obstacles, and from each other.

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

from screw_dynamics_ros.core.arguments import check_number
from screw_dynamics_ros.core.arms.inverse.redundancy import RobotModel
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array

from .capsules import Capsule, nearest_points, normal_and_distance


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
