# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hayati-Roberts and parametrically continuous tables, for nearly parallel axes.

Both place frame {i} at the intersection of the next axis with the X-Y plane of frame {i-1}. For
nearly parallel axes this point is well conditioned, in contrast to the common normal of
Denavit-Hartenberg. Both fail for an axis in that plane. A prismatic joint needs a translation h
along Z, which (5.7) lacks.

Source: Bruyninckx 2010 (5.7), (5.8), section 2.5.4 (B-020, B-111 to B-113).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import asin, atan2, cos, hypot, sin

import numpy as np

from ...errors import DescriptionError
from ...kinematics.link_table import JointKind, Row, shift, turn, virtual_joint
from ...kinematics.product_of_exponentials import ROUNDING_TOLERANCE
from ...lie import se3, so3
from ...reproducible import product
from ...types import Array
from ..screw_geometry import lines
from .denavit_hartenberg import NEARLY_PARALLEL, StandardRow


@dataclass(frozen=True)
class HayatiRobertsRow(Row):
    """T = Rz(alpha) Tz(h) Tx(d) Ry(gamma) Rx(beta) (5.7), in the symbols of the book.

    Examples
    --------
    >>> HayatiRobertsRow('revolute', d=0.5, gamma=np.pi / 2).transform(0.0).round(6) + 0.0
    array([[ 0. ,  0. ,  1. ,  0.5],
           [ 0. ,  1. ,  0. ,  0. ],
           [-1. ,  0. ,  0. ,  0. ],
           [ 0. ,  0. ,  0. ,  1. ]])
    """

    alpha: float = 0.0
    d: float = 0.0
    gamma: float = 0.0
    beta: float = 0.0
    h: float = 0.0

    convention = (
        'Rz(alpha) Tz(h) Tx(d) Ry(gamma) Rx(beta), '
        'variable added to alpha (revolute) or h (prismatic)'
    )

    @property
    def before(self) -> Array:
        """Rz(alpha) Tz(h)."""
        return turn(2, self.alpha) @ shift(2, self.h)

    @property
    def after(self) -> Array:
        """Tx(d) Ry(gamma) Rx(beta)."""
        return product(shift(0, self.d), turn(1, self.gamma), turn(0, self.beta))

    @property
    def error_screws(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Rotation about and translation along Z, then along X, about Y and about X."""
        Rx, _, Rz, _, _, Tz = np.eye(6)
        about_x = turn(0, self.beta)
        along_x = virtual_joint(3, turn(1, self.gamma) @ about_x)
        return (
            {'alpha': Rz, 'h': Tz},
            {'d': along_x, 'gamma': virtual_joint(1, about_x), 'beta': Rx},
        )

    @property
    def doubt(self) -> str:
        """Warning if the axes are nearly perpendicular, otherwise an empty text."""
        cosine = abs(cos(self.gamma) * cos(self.beta))
        return _perpendicular(cosine)

    @classmethod
    def fit(cls, joint: JointKind, e: Array, p: Array | None) -> HayatiRobertsRow:
        """Return the row after which Z is the line (e, p)."""
        x, y = _pierced(e, p)
        d = hypot(x, y)
        d, alpha = (d, atan2(y, x)) if d > ROUNDING_TOLERANCE else (0.0, 0.0)
        c, s = cos(alpha), sin(alpha)
        sideways = c * e[1] - s * e[0]
        return cls(
            joint, alpha, d, atan2(c * e[0] + s * e[1], e[2]), asin(-np.clip(sideways, -1, 1))
        )


@dataclass(frozen=True)
class ContinuousRow(Row):
    """T = Tz(h) T(lx, ly, 0) R_b: parametrically continuous (5.8), of the CPC model of Zhuang.

    R_b is the smallest rotation from Z to b = (bx, by, +-sqrt(1 - bx^2 - by^2)), with a minus sign
    if `down`; (lx, ly) is the intersection of the next axis with the X-Y plane (as in the matrix of
    (5.8); its text places (lx, ly) in the plane normal to b).

    Examples
    --------
    >>> ContinuousRow('revolute', bx=0.6, lx=0.5).transform(0.0).round(6) + 0.0
    array([[ 0.8,  0. ,  0.6,  0.5],
           [ 0. ,  1. ,  0. ,  0. ],
           [-0.6,  0. ,  0.8,  0. ],
           [ 0. ,  0. ,  0. ,  1. ]])
    """

    bx: float = 0.0
    by: float = 0.0
    lx: float = 0.0
    ly: float = 0.0
    h: float = 0.0
    down: bool = False

    convention = 'Rz(q) T(lx, ly, h) R_b, variable q (revolute) or added to h (prismatic)'

    def __post_init__(self) -> None:
        super().__post_init__()
        if hypot(self.bx, self.by) > 1.0:
            raise DescriptionError(
                f'ContinuousRow: (bx, by) = ({self.bx:g}, {self.by:g}) is longer than 1; '
                'they are two components of a unit vector'
            )

    @property
    def direction(self) -> Array:
        """The unit vector b (3,)."""
        z = np.sqrt(max(1.0 - self.bx**2 - self.by**2, 0.0))
        return np.array([self.bx, self.by, -z if self.down else z])

    @property
    def before(self) -> Array:
        """Tz(h)."""
        return shift(2, self.h)

    @property
    def after(self) -> Array:
        """T(lx, ly, 0) R_b."""
        b = self.direction
        if b[2] == -1.0:  # the smallest rotation is not unique
            return se3.pose(np.diag([1.0, -1.0, -1.0]), [self.lx, self.ly, 0.0])
        v = so3.hat([-b[1], b[0], 0.0])
        return se3.pose(np.eye(3) + v + v @ v / (1.0 + b[2]), [self.lx, self.ly, 0.0])

    @property
    def error_screws(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Translation along Z, then along X and Y, and the screws of b, not of unit length.

        Raises DescriptionError if R_b is not differentiable: b in the X-Y plane, or -Z.
        """
        b, R = self.direction, self.after[:3, :3]
        if b[2] in (0.0, -1.0):
            raise DescriptionError(
                f'ContinuousRow: b = {b} has no derivative by bx and by; use StandardRow or '
                'HayatiRobertsRow'
            )
        v = so3.hat([-b[1], b[0], 0.0])
        moved = {'lx': np.r_[0.0, 0.0, 0.0, R[0]], 'ly': np.r_[0.0, 0.0, 0.0, R[1]]}
        for name, v_dot, z_dot in (
            ('bx', so3.hat([0.0, 1.0, 0.0]), -b[0] / b[2]),
            ('by', so3.hat([-1.0, 0.0, 0.0]), -b[1] / b[2]),
        ):
            quadratic = v_dot @ v + v @ v_dot - v @ v * (z_dot / (1.0 + b[2]))
            R_dot = v_dot + quadratic / (1.0 + b[2])
            moved[name] = np.r_[so3.vee(R.T @ R_dot), 0.0, 0.0, 0.0]
        return {'h': np.eye(6)[5]}, moved

    @property
    def doubt(self) -> str:
        """Warning if the axes are nearly perpendicular, otherwise an empty text."""
        return _perpendicular(abs(self.direction[2]))

    @classmethod
    def fit(cls, joint: JointKind, e: Array, p: Array | None) -> ContinuousRow:
        """Return the row after which Z is the line (e, p)."""
        x, y = _pierced(e, p)
        return cls(joint, float(e[0]), float(e[1]), x, y, 0.0, bool(e[2] < 0.0))


def automatic(joint: JointKind, e: Array, p: Array | None) -> Row:
    """Fit a `HayatiRobertsRow` to nearly parallel axes and a `StandardRow` to all others."""
    if hypot(e[0], e[1]) < NEARLY_PARALLEL:
        return HayatiRobertsRow.fit(joint, e, p)
    return StandardRow.fit(joint, e, p)


def _pierced(e: Array, p: Array | None) -> tuple[float, float]:
    """Return the intersection (x, y) of the line (e, p) with the X-Y plane."""
    line = lines.to_hayati_roberts(lines.through(np.zeros(3) if p is None else p, e))
    if line.singular:
        raise DescriptionError(
            'the next axis is perpendicular to this one and never meets its X-Y plane; '
            'use StandardRow or automatic()'
        )
    return float(line.l_x), float(line.l_y)


def _perpendicular(cosine: float) -> str:
    if cosine > NEARLY_PARALLEL:
        return ''
    return (
        f'the next axis is perpendicular to it up to {cosine:.3g} rad and intersects its X-Y plane '
        'far away or not at all'
    )
