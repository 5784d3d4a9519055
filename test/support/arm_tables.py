# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms by published numbers: axes at the zero position, or Denavit-Hartenberg tables.

The tables are in `support.arms_of_six` and `support.arms_of_seven`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.kinematics.link_table import LinkTable
from screw_dynamics_ros.core.kinematics.product_of_exponentials import Geometry, SpatialScrews
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import ModifiedRow, StandardRow

#: Lower and upper limit [deg]; None for a continuous joint.
Bounds = tuple[float, float] | None

Point = tuple[float, float, float]


@dataclass(frozen=True)
class ArmTable:
    """What the tables have in common.

    Attributes
    ----------
    name, source : str
    limits : sequence of (float, float) or None
        Of the joints [deg]; None for a continuous one.
    redundant : int
        The joint of a 7R arm, from 1, whose angle is given; 0 for a 6R arm.
    swivel : bool
        Whether axes 1, 2, 3 meet in a point, and axes 5, 6, 7.
    """

    name: str
    source: str
    limits: Sequence[Bounds]
    redundant: int
    swivel: bool

    def geometry(self, names: Sequence[str]) -> Geometry:
        """Return the chain with joints of these names; its last body is the tool."""
        raise NotImplementedError


@dataclass(frozen=True)
class ZeroPosition(ArmTable):
    """Directions of the axes at q = 0 as in '+z -y', a point on each, the origin of the tool [m].

    The axes of the tool are those of the base then.
    """

    axes: str
    points: Sequence[Point]
    tool: Point

    def geometry(self, names: Sequence[str]) -> Geometry:
        """Return the chain as spatial screws (p x e below e)."""
        e = np.array([direction(axis) for axis in self.axes.split()])
        screws = np.hstack([e, np.cross(self.points, e)])
        origins = np.array([*self.points[1:], self.tool])
        return SpatialScrews([se3.pose(np.eye(3), p) for p in origins], screws, names=names)


@dataclass(frozen=True)
class DenavitHartenberg(ArmTable):
    """Rows (theta at q = 0 [deg], d [m], a [m], alpha [deg]) of a standard or modified table."""

    rows: Sequence[tuple[float, float, float, float]]
    modified: bool

    def geometry(self, names: Sequence[str]) -> Geometry:
        """Return the chain of the table."""
        Row = ModifiedRow if self.modified else StandardRow
        rows = [
            Row('revolute', np.radians(theta), d, a, np.radians(alpha))
            for theta, d, a, alpha in self.rows
        ]
        return LinkTable(rows, names=names).joint_frames()


def direction(axis: str) -> np.ndarray:
    """Return the unit vector (3,) of '+x', '-y', ..."""
    return float(f'{axis[0]}1') * np.eye(3)['xyz'.index(axis[1])]


def zero_position(
    name: str,
    source: str,
    axes: str,
    points: Sequence[Point],
    tool: Point,
    limits: Sequence[Bounds],
    redundant: int = 0,
    swivel: bool = False,
) -> ZeroPosition:
    """Return a table of axes at the zero position."""
    return ZeroPosition(name, source, limits, redundant, swivel, axes, points, tool)


def denavit_hartenberg(
    name: str,
    source: str,
    rows: Sequence[tuple[float, float, float, float]],
    limits: Sequence[Bounds],
    redundant: int = 0,
    swivel: bool = False,
    modified: bool = False,
) -> DenavitHartenberg:
    """Return a Denavit-Hartenberg table."""
    return DenavitHartenberg(name, source, limits, redundant, swivel, rows, modified)


def within(*angles: float) -> list[Bounds]:
    """Return limits that are symmetric to zero [deg]."""
    return [(-angle, angle) for angle in angles]
