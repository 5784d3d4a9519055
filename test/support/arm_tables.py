"""Arms by published numbers: axes at the zero position, or Denavit-Hartenberg tables.

The numbers are in metres and degrees and are those of the manufacturer, without the rounding of
angles to 1.5708 in some descriptions (which arms of example-robot-data have).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.geometry.denavit_hartenberg import ModifiedRow, StandardRow
from screw_dynamics_ros.core.geometry.link_table import LinkTable
from screw_dynamics_ros.core.geometry.product_of_exponentials import Geometry, SpatialScrews
from screw_dynamics_ros.core.lie import se3

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


TURN = within(360)[0]

#: Six revolute joints.
SIX: tuple[ArmTable, ...] = (
    denavit_hartenberg(
        'PUMA 560',
        'Corke, Armstrong-Helouvry 1994, IEEE ICRA; tool at the wrist',
        [(0, 0.6718, 0, 90), (0, 0, 0.4318, 0), (0, 0.15005, 0.0203, -90),
         (0, 0.4318, 0, 90), (0, 0, 0, -90), (0, 0, 0, 0)],
        within(160, 110, 135, 266, 100, 266),
    ),
    denavit_hartenberg(
        'arm with 16 real solutions',
        'Manseur, Doty 1989, IJRR 8 (5)',
        [(0, 0, 0.3, 90), (0, 0, 1, 1), (0, 0.2, 0, 90),
         (0, 0, 1.5, 1), (0, 0, 0, 90), (0, 0, 1, 1)],
        [None] * 6,
    ),
    zero_position(
        'UR5e', 'Universal Robots, DH parameters; package ur_description',
        '+z +y +y +y -z +y',
        [(0, 0, 0.1625), (0, 0, 0.1625), (0.425, 0, 0.1625), (0.8172, 0.1333, 0.1625),
         (0.8172, 0.1333, 0.0628), (0.8172, 0.2329, 0.0628)],
        (0.8172, 0.2329, 0.0628),
        within(360, 360, 180, 360, 360, 360),
    ),
    zero_position(
        'ABB IRB 120', 'package abb_irb120_support',
        '+z +y +y +x +y +x',
        [(0, 0, 0), (0, 0, 0.29), (0, 0, 0.56), (0, 0, 0.63), (0.302, 0, 0.63), (0.374, 0, 0.63)],
        (0.374, 0, 0.63),
        [(-165, 165), (-110, 110), (-110, 70), (-160, 160), (-120, 120), (-400, 400)],
    ),
    zero_position(
        'KUKA KR 6 R900', 'package kuka_kr6_support',
        '-z +y +y -x +y -x',
        [(0, 0, 0.4), (0.025, 0, 0.4), (0.48, 0, 0.4), (0.48, 0, 0.435), (0.9, 0, 0.435),
         (0.98, 0, 0.435)],
        (0.98, 0, 0.435),
        [(-170, 170), (-190, 45), (-120, 156), (-185, 185), (-120, 120), (-350, 350)],
    ),
    zero_position(
        'Fanuc CRX-10iA', 'package fanuc_crx_description',
        '+z +y -y -x -y -x',
        [(0, 0, 0.245), (0, 0, 0.245), (0, 0, 0.785), (0, 0, 0.785), (0.54, 0, 0.785),
         (0.54, -0.15, 0.785)],
        (0.7, -0.15, 0.785),
        [(-190, 190), (-179.9, 179.9), (-71, 251), (-190, 190), (-179.9, 179.9), (-225, 225)],
    ),
)  # fmt: skip

#: Seven revolute joints.
SEVEN: tuple[ArmTable, ...] = (
    denavit_hartenberg(
        'KUKA LBR iiwa 14 R820', 'KUKA, data sheet',
        [(0, 0.36, 0, -90), (0, 0, 0, 90), (0, 0.42, 0, 90), (0, 0, 0, -90), (0, 0.4, 0, -90),
         (0, 0, 0, 90), (0, 0.126, 0, 0)],
        within(170, 120, 170, 120, 170, 120, 175),
        redundant=3, swivel=True,
    ),
    denavit_hartenberg(
        'Barrett WAM', 'Barrett Technology, WAM kinematics and joint ranges',
        [(0, 0, 0, -90), (0, 0, 0, 90), (0, 0.55, 0.045, -90), (0, 0, -0.045, 90),
         (0, 0.3, 0, -90), (0, 0, 0, 90), (0, 0.06, 0, 0)],
        [(-150, 150), (-113, 113), (-157, 157), (-50, 180), (-273, 71), (-90, 90), (-172, 172)],
        redundant=3,
    ),
)  # fmt: skip

TABLES: tuple[ArmTable, ...] = (*SIX, *SEVEN)
