# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Denavit-Hartenberg tables, standard (distal) and modified (proximal, Khalil and Kleinfinger).

===================== ===== ======= ===== ======== ============================================
symbols               theta d       a     alpha    transform of a row
===================== ===== ======= ===== ======== ============================================
here, `StandardRow`   theta d       a     alpha    Rz(theta) Tz(d) Tx(a) Rx(alpha)
here, `ModifiedRow`   theta d       a     alpha    Rx(alpha) Tx(a) Rz(theta) Tz(d)
Bruyninckx (5.5)      alpha h       d     theta    R(Z,alpha) Tr(Z,h) Tr(X,d) R(X,theta)
===================== ===== ======= ===== ======== ============================================

The joint variable is added to theta of a revolute and to d of a prismatic joint; theta and d of a
row are the offsets at q = 0. For nearly parallel axes d is ill-conditioned, because the position of
the common normal is not well defined.

Sources: Bruyninckx 2010 (5.5), (5.6) corrected (B-019, B-110); Müller 2018a (3) (K-12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sin

import numpy as np

from ...errors import DescriptionError
from ...kinematics.link_table import JointKind, LinkTable, Row, shift, turn, virtual_joint
from ...kinematics.product_of_exponentials import ROUNDING_TOLERANCE
from ...types import Array
from ..screw_geometry import lines

#: Axes within this angle [rad] of parallel are reported. Within `lines.PARALLEL_TOLERANCE` they are
#: treated as parallel, because the rounding error of the common normal would be larger.
NEARLY_PARALLEL = lines.CHANGE_OVER


@dataclass(frozen=True)
class _DenavitHartenberg(Row):
    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0

    @property
    def joint_part(self) -> Array:
        """Rz(theta) Tz(d), which commutes with the joint motion."""
        return turn(2, self.theta) @ shift(2, self.d)

    @property
    def link_part(self) -> Array:
        """Tx(a) Rx(alpha)."""
        return shift(0, self.a) @ turn(0, self.alpha)

    @property
    def doubt(self) -> str:
        """Warning if the axes are nearly parallel, otherwise an empty text."""
        tilt = abs(sin(self.alpha))
        if not 1e-15 < tilt < NEARLY_PARALLEL:
            return ''
        return (
            f'its axis and the next one are parallel up to {tilt:.3g} rad; the common normal, '
            f'here at d = {self.d:.6g} m, moves {abs(self.a) / tilt:.3g} m if one rotates as much'
        )


@dataclass(frozen=True)
class StandardRow(_DenavitHartenberg):
    """T = Rz(theta) Tz(d) Tx(a) Rx(alpha): frame {i} is at the distal end of link i.

    Examples
    --------
    >>> StandardRow('revolute', d=0.2, a=0.5).transform(np.pi / 2).round(6) + 0.0
    array([[ 0. , -1. ,  0. ,  0. ],
           [ 1. ,  0. ,  0. ,  0.5],
           [ 0. ,  0. ,  1. ,  0.2],
           [ 0. ,  0. ,  0. ,  1. ]])
    """

    convention = (
        'Rz(theta) Tz(d) Tx(a) Rx(alpha), variable added to theta (revolute) or d (prismatic)'
    )

    @property
    def before(self) -> Array:
        """Rz(theta) Tz(d)."""
        return self.joint_part

    @property
    def after(self) -> Array:
        """Tx(a) Rx(alpha)."""
        return self.link_part

    @property
    def error_screws(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Rotation about and translation along Z, then translation along and rotation about X."""
        Rx, _, Rz, Tx, _, Tz = np.eye(6)
        return {'theta': Rz, 'd': Tz}, {'a': Tx, 'alpha': Rx}

    @classmethod
    def fit(cls, joint: JointKind, e: Array, p: Array | None) -> StandardRow:
        """Return the row whose new Z axis is the line (e, p): X along the common normal, a >= 0."""
        p = np.zeros(3) if p is None else np.where(np.abs(p) < ROUNDING_TOLERANCE, 0.0, p)
        line = lines.to_denavit_hartenberg(lines.through(p, e))
        return cls(joint, *map(float, (line.azimuth, line.height, line.distance, line.twist)))


@dataclass(frozen=True)
class ModifiedRow(_DenavitHartenberg):
    """T = Rx(alpha) Tx(a) Rz(theta) Tz(d): frame {i} is on the axis of joint i.

    Examples
    --------
    >>> ModifiedRow('revolute', d=0.2, a=0.5).transform(np.pi / 2)[:3, 3]
    array([0.5, 0. , 0.2])
    """

    convention = (
        'Rx(alpha) Tx(a) Rz(theta) Tz(d), variable added to theta (revolute) or d (prismatic)'
    )

    @property
    def before(self) -> Array:
        """Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
        return self.link_part @ self.joint_part

    @property
    def after(self) -> Array:
        """Nothing."""
        return np.eye(4)

    @property
    def error_screws(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Rotation about and translation along X of the frame before, and Z of the frame after."""
        F = self.joint_part
        about_x, along_x = virtual_joint(0, F), virtual_joint(3, F)
        _, _, Rz, _, _, Tz = np.eye(6)
        return {'theta': Rz, 'd': Tz, 'a': along_x, 'alpha': about_x}, {}


def standard(table: LinkTable) -> LinkTable:
    """Return a table of `StandardRow` for one of `ModifiedRow`: a and alpha move up one row."""
    old = _rows(table, ModifiedRow)
    following = [*old[1:], ModifiedRow('revolute')]
    rows = [StandardRow(r.joint, r.theta, r.d, n.a, n.alpha) for r, n in zip(old, following)]
    return LinkTable(rows, table.base @ old[0].link_part, table.tool, table.names)


def modified(table: LinkTable) -> LinkTable:
    """Return a table of `ModifiedRow` for one of `StandardRow`: a and alpha move down one row."""
    old = _rows(table, StandardRow)
    preceding = [StandardRow('revolute'), *old[:-1]]
    rows = [ModifiedRow(r.joint, r.theta, r.d, p.a, p.alpha) for r, p in zip(old, preceding)]
    return LinkTable(rows, table.base, old[-1].link_part @ table.tool, table.names)


def _rows(table: LinkTable, convention: type[_DenavitHartenberg]) -> Sequence[_DenavitHartenberg]:
    rows = [row for row in table.rows if isinstance(row, convention)]
    if len(rows) != len(table.rows):
        wrong = next(row for row in table.rows if not isinstance(row, convention))
        raise DescriptionError(
            f'the table has rows of {type(wrong).__name__}; all must be {convention.__name__}'
        )
    return rows
