# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The configurations of a joint as a Lie group: coordinates x, velocities v, displacements X.

=============  ============================  =============================
group          coordinates x                 velocity v
=============  ============================  =============================
`VectorGroup`  n numbers                     their rates
`SO3`          (qx, qy, qz, qw)              omega, body-fixed
`SE3`          (x, y, z, qx, qy, qz, qw)     (omega, v), body-fixed twist
=============  ============================  =============================

A displacement X leads to x exp X (`body`, `mixed`) or exp X x (`spatial`, `hybrid`), on SE(3) or,
with `mixed` and `hybrid`, on SO(3) x R^3; see `kinematics.reconstruction`. Coordinates are
(..., nq), velocities and displacements (..., nv). Quaternions keep their length.

>>> quarter = SO3.displaced(SO3.neutral, np.array([0.0, 0.0, np.pi / 2]), 'body')
>>> quarter.round(4), SO3.difference(SO3.neutral, quarter, 'body').round(4)
(array([0.    , 0.    , 0.7071, 0.7071]), array([0.    , 0.    , 1.5708]))

Source: Müller 2018b (88), (89) (D-44); Müller 2018a remark 17 (K-36); Müller and Terze (4),
(8)-(11) (I-01, I-05 to I-09); Bruyninckx 2010 (3.54) to (3.56) (B-054).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linear import cross
from ..types import Array
from . import quaternions, se3, so3, so3xr3
from .screws import convert_twist

#: The group of a rigid motion, and whether increments act on the right, by the kind of increments.
INCREMENTS = {
    'body': (se3, True),
    'spatial': (se3, False),
    'mixed': (so3xr3, True),
    'hybrid': (so3xr3, False),
}


class VectorGroup:
    """The vector space R^n: coordinates add.

    Parameters
    ----------
    nv : int
        Number of velocities.
    """

    def __init__(self, nv: int = 1) -> None:
        self.nq = self.nv = nv

    @property
    def neutral(self) -> Array:
        """The unit element (nq,)."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator, x: Array) -> Array:
        """Return coordinates (..., nq); those that add are x, drawn within limits."""
        return x

    def displaced(self, x: Array, X: Array, increments: str) -> Array:
        """Return the coordinates at x, displaced by X."""
        return x + X

    def difference(self, x0: Array, x1: Array, increments: str) -> Array:
        """Return the displacement from x0 to x1; rotations are by at most pi."""
        return x1 - x0

    def increment_rate(self, x: Array, X: Array, v: Array, increments: str) -> Array:
        """Return the rate (nv,) of the displacement X that has led to x, at the velocity v."""
        return v

    def velocity(self, x: Array, rate: Array) -> Array:
        """Return B(x) x', the velocity (nv,) at which single coordinates change at `rate`."""
        return rate

    def cotangent(self, x: Array, y: Array) -> Array:
        """Return B(x)^T y, (nq,), the transpose of `velocity`."""
        return y


class RotationGroup(VectorGroup):
    """SO(3), in quaternions."""

    def __init__(self) -> None:
        self.nq, self.nv = 4, 3

    @property
    def neutral(self) -> Array:
        """The unit element (nq,)."""
        return np.append(np.zeros(self.nq - 1), 1.0)

    def position(self, x: Array) -> Array:
        """Return the displacement (..., 3) of the origin."""
        return np.zeros((*x.shape[:-1], 3))

    def pose(self, x: Array) -> Array:
        """Return the pose (..., 4, 4); quaternions may have any length."""
        return se3.pose(quaternions.to_matrix(x[..., -4:]), self.position(x))

    def random(self, rng: np.random.Generator, x: Array) -> Array:
        """Return coordinates with uniformly distributed orientations, positions from x."""
        quaternion = rng.normal(size=(*x.shape[:-1], 4))
        quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
        return np.concatenate([x[..., :-4], quaternion], axis=-1)

    def displaced(self, x: Array, X: Array, increments: str) -> Array:
        """Return the coordinates at x, displaced by X."""
        return _turned(x, quaternions.exp(X), INCREMENTS[increments][1])

    def difference(self, x0: Array, x1: Array, increments: str) -> Array:
        """Return the displacement from x0 to x1; rotations are by at most pi."""
        back, on_the_right = quaternions.conjugate(x0), INCREMENTS[increments][1]
        return quaternions.log(_turned(back if on_the_right else x1, x1 if on_the_right else back))

    def increment_rate(self, x: Array, X: Array, v: Array, increments: str) -> Array:
        """Return the rate (nv,) of the displacement X that has led to x, at the velocity v."""
        if INCREMENTS[increments][1]:
            return so3.dexp_inv(-X) @ v
        return so3.dexp_inv(X) @ (quaternions.to_matrix(x) @ v)

    def bracket(self, v: Array) -> Array:
        """Return the matrix (nv, nv) of the Lie bracket with v."""
        return so3.hat(v)

    def velocity(self, x: Array, rate: Array) -> Array:
        """Return B(x) x', the velocity (nv,) at which single coordinates change at `rate`.

        With p = (e, w) of any length, omega = 2 (w e' - w' e - e x e') / |p|^2: zero along p.
        """
        p, dp = x[-4:], rate[-4:]
        turn = p[3] * dp[:3] - dp[3] * p[:3] - cross(p[:3], dp[:3])
        return 2.0 * turn / (p @ p)

    def cotangent(self, x: Array, y: Array) -> Array:
        """Return B(x)^T y, (nq,), the transpose of `velocity`."""
        p, turn = x[-4:], y[:3]
        vector = 2.0 * (p[3] * turn - cross(turn, p[:3])) / (p @ p)
        return np.append(vector, -2.0 * (turn @ p[:3]) / (p @ p))

    def stepped(self, x: Array, X: Array) -> Array:
        """Return `displaced` of 'body' to first order, with a quaternion of length 1."""
        turned = quaternions.product(x[-4:], np.append(0.5 * X[:3], 1.0))
        return turned / np.sqrt(turned @ turned)


class RigidMotionGroup(RotationGroup):
    """SE(3) or SO(3) x R^3, in positions and quaternions."""

    def __init__(self) -> None:
        self.nq, self.nv = 7, 6

    def position(self, x: Array) -> Array:
        """Return the displacement (..., 3) of the origin."""
        return x[..., :3]

    def displaced(self, x: Array, X: Array, increments: str) -> Array:
        """Return the coordinates at x, displaced by X."""
        group, on_the_right = INCREMENTS[increments]
        C, D = self.pose(x), group.exp(X)
        turn = quaternions.exp(X[..., :3])
        moved = group.compose(C, D) if on_the_right else group.compose(D, C)
        turned = _turned(x[..., 3:], turn, on_the_right)
        return np.concatenate([moved[..., :3, 3], turned], axis=-1)

    def difference(self, x0: Array, x1: Array, increments: str) -> Array:
        """Return the displacement from x0 to x1; rotations are by at most pi."""
        group, on_the_right = INCREMENTS[increments]
        back, end = group.inverse(self.pose(x0)), self.pose(x1)
        D = group.compose(back, end) if on_the_right else group.compose(end, back)
        # The quaternion gives the rotation vector also where the matrix loses its sign, near pi.
        xi = super().difference(x0[..., 3:], x1[..., 3:], increments)
        still = np.concatenate([xi, np.zeros_like(xi)], axis=-1)
        eta = (group.dexp_inv(still)[..., 3:, 3:] @ D[..., :3, 3:])[..., 0]
        return np.concatenate([xi, eta], axis=-1)

    def increment_rate(self, x: Array, X: Array, v: Array, increments: str) -> Array:
        """Return the rate (nv,) of the displacement X that has led to x, at the velocity v."""
        group, on_the_right = INCREMENTS[increments]
        V = convert_twist(v, self.pose(x), 'body', increments)
        return group.dexp_inv(-X if on_the_right else X) @ V

    def bracket(self, v: Array) -> Array:
        """Return the matrix (nv, nv) of the Lie bracket with v."""
        return se3.ad(v)

    def velocity(self, x: Array, rate: Array) -> Array:
        """Return B(x) x', (nv,): that of the rotation, and R^T times the rate of the position."""
        shift = quaternions.to_matrix(x[3:]).T @ rate[:3]
        return np.concatenate([super().velocity(x, rate), shift])

    def cotangent(self, x: Array, y: Array) -> Array:
        """Return B(x)^T y, (nq,), the transpose of `velocity`."""
        shift = quaternions.to_matrix(x[3:]) @ y[3:]
        return np.concatenate([shift, super().cotangent(x, y)])

    def stepped(self, x: Array, X: Array) -> Array:
        """Return `displaced` of 'body' to first order, with a quaternion of length 1."""
        shift = quaternions.to_matrix(x[3:]) @ X[3:]
        return np.concatenate([x[:3] + shift, super().stepped(x, X)])


def _turned(p: Array, turn: Array, on_the_right: bool = True) -> Array:
    """Return the product of two quaternions in one order or the other."""
    return quaternions.product(p, turn) if on_the_right else quaternions.product(turn, p)


LINE, SO3, SE3 = VectorGroup(), RotationGroup(), RigidMotionGroup()

#: The group of a single body by its number of velocities.
BODY_GROUPS: dict[int, Any] = {group.nv: group for group in (LINE, SO3, SE3)}
