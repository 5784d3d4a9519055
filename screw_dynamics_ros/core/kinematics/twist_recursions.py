# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Twists of all bodies to any order, by a recursion from root to tips in each representation.

Time derivatives are lists [x, x', x'', ...]. Leibniz' rule for products of them is

    (a b)^(k) = sum over m of binomial(k, m) a^(m) b^(k-m).

The square of t at t = 3, with the derivatives [3, 1, 0] of t, has the derivatives 2 t = 6 and 2:

>>> import numpy as np
>>> t = [np.array(3.0), np.array(1.0), np.array(0.0)]
>>> [float(product_derivative(np.multiply, t, t, k)) for k in range(3)]
[9.0, 6.0, 2.0]

In all four the twist of body i follows from that of its predecessor p by V_i = T_i V_p + X_i q_i',
with the transport T_i of p's twist to body i and the instantaneous joint screw X_i:

==============  ===================================  ========================  ============
representation  T_i                                  X_i                       Müller 2018a
==============  ===================================  ========================  ============
body            Ad_{C_i,p}                           X_i^b, constant           (15), (20)
spatial         1                                    Ad_{C_i} X_i^b            (31)
hybrid          Ad_{r_p - r_i}                       Ad_{R_i} X_i^b            (57), (58)
mixed           [[R_i,p, 0], [(r_p - r_i)~ R_p, 1]]  diag(1, R_i) X_i^b        (67), (68)
==============  ===================================  ========================  ============

Wrenches go the other way, from body i to its predecessor by T_i^T (`handed_down`).

Derivatives of any order follow by Leibniz' rule, those of T and X being brackets with the motion
found so far. `higher_order` takes the body-fixed form and converts the result; this is the other
way, and shows what each representation costs (doc/theory/kinematics.md).

The arm of unit lengths, elbow at a right angle, rotates about the shoulder, with the lower link.
Its origin, at x = 1, moves at 1 in the direction y of the root (hybrid), which is the direction x
of the link (body); its point at the origin of the root is at rest (spatial).

>>> from screw_dynamics_ros.core.tree.examples import planar_arm
>>> q, v = np.array([0.0, np.pi / 2]), np.array([1.0, 0.0])
>>> for name in ('body', 'spatial', 'hybrid'):
...     print(body_twists(planar_arm(), q, v, name)[1].round(3) + 0.0)
[0. 0. 1. 1. 0. 0.]
[0. 0. 1. 0. 0. 0.]
[0. 0. 1. 0. 1. 0.]

Source: Müller 2018b section 6.3 (D-42), where the sums are written out; Müller 2018a (15), (20),
(31), (57), (58), (67), (68) (K-22, K-26, K-29, K-32); Müller 2018b (2), (6), (15)-(22), (24)-(33),
(117), corrected (D-02, D-05, D-10, D-12, D-14 to D-16).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import comb

import numpy as np

from ..lie.screws import transform_wrench
from ..lie.so3 import hat
from ..tree.multibody_tree import GROUND, Body, Tree
from ..types import Array
from .jacobians import check_representation
from .poe import relative_pose

Derivatives = list[Array]


def product_derivative(
    product: Callable[[Array, Array], Array], a: Sequence[Array], b: Sequence[Array], k: int
) -> Array:
    """Return the k-th derivative of a bilinear product of a and b."""
    terms = [comb(k, m) * product(a[m], b[k - m]) for m in range(k + 1)]
    return sum(terms[1:], terms[0])


def derivative_of_product(
    factor: Callable[[int, Array], Array], y: Sequence[Array], k: int
) -> Array:
    """Return the k-th derivative of A y, given the derivatives of y and factor(m, x) = A^(m) x."""
    terms = [comb(k, m) * factor(m, y[k - m]) for m in range(k + 1)]
    return sum(terms[1:], terms[0])


def joint_rates(body: Body, rates: Sequence[Array]) -> Derivatives:
    """Return the derivatives of the joint's own coordinates, v, a, ..."""
    return [body.multiplier * rate[body.v] for rate in rates]


class Ground:
    """The root frame as the predecessor of the first bodies: it may accelerate, but not turn.

    A robot in gravity g moves as if there were none and the ground accelerated by -g (D-29).
    """

    C, R = np.eye(4), np.eye(3)

    def __init__(self, acceleration: Array, orders: int) -> None:
        self.V = [np.zeros(6) for _ in range(orders)]
        if orders > 1:
            self.V[1] = np.concatenate([np.zeros(3), acceleration])

    def rotated(self, m: int, y: Array) -> Array:
        """Return y for m = 0, zeros otherwise; see `BodyMotion.rotated`."""
        return y if m == 0 else np.zeros(y.shape)


class BodyMotion(ABC):
    """How one body moves, in one representation; a derivative is a list [x, x', x'', ...].

    Attributes
    ----------
    C : (4, 4) array
        Configuration in the root frame [m].
    X : list of (6, k) arrays
        Joint screws.
    V : list of (6,) arrays
        Twist (omega, v).
    """

    def __init__(
        self, body: Body, B: Array, own: Derivatives, p: BodyMotion | Ground | None
    ) -> None:
        self.body, self.B, self.own, self.p = body, B, own, p
        self.C: Array = B if p is None else p.C @ B
        self.X: Derivatives = [self.joint_screws()]
        self.V: Derivatives = []
        for k in range(len(own)):
            if k > 0:
                self.X.append(self.joint_screws_derivative(k))
            V = product_derivative(np.matmul, self.X, own, k)
            if p is not None:
                V = V + derivative_of_product(self.transported, p.V, k)
            self.V.append(V)

    @abstractmethod
    def joint_screws(self) -> Array:
        """Return X_i, (6, k)."""

    @abstractmethod
    def joint_screws_derivative(self, k: int) -> Array:
        """Return the k-th derivative of X_i, k > 0, from the derivatives of V_i below k."""

    @abstractmethod
    def transported(self, m: int, y: Array) -> Array:
        """Return the m-th derivative of T_i, times y: a twist (6,) or columns (6, n)."""

    @abstractmethod
    def handed_down(self, W: Array) -> Array:
        """Return T_i^T W: a wrench (6,) on body i as one on its predecessor."""

    @property
    def R(self) -> Array:
        """Orientation of the body, (3, 3)."""
        return self.C[:3, :3]

    def lever(self, m: int) -> Array:
        """Return the m-th derivative of r_p - r_i, for twists whose linear part is r'."""
        assert self.p is not None
        if m == 0:
            return self.p.C[:3, 3] - self.C[:3, 3]
        return self.p.V[m - 1][3:] - self.V[m - 1][3:]

    def rotated(self, m: int, y: Array) -> Array:
        """Return the m-th derivative of R_i, times y: R' = R omega~ with omega in the body."""
        if m == 0:
            return self.R @ y
        omega = [hat(V[:3]) @ y for V in self.V[:m]]
        return derivative_of_product(self.rotated, omega, m - 1)


class BodyFixedMotion(BodyMotion):
    """V_i = Ad_{C_i,p} V_p + X_i q_i', T' = -ad_{X q'} T (K-22, D-05)."""

    def joint_screws(self) -> Array:
        """Return the constant X_i."""
        return self.body.X

    def joint_screws_derivative(self, k: int) -> Array:
        """Return zeros."""
        return np.zeros(self.body.X.shape)

    def transported(self, m: int, y: Array) -> Array:
        """Return (Ad_{C_i,p} y) for m = 0, and brackets of it with X q', X q'', ..."""
        if m == 0:
            return to_body(self.B, y)

        def relative(k: int, x: Array) -> Array:
            return -bracket(self.body.X @ self.own[k], x)

        lower = [self.transported(k, y) for k in range(m)]
        return derivative_of_product(relative, lower, m - 1)

    def handed_down(self, W: Array) -> Array:
        """Return Ad_{C_i,p}^T W."""
        return transform_wrench(self.B, W)


class SpatialMotion(BodyMotion):
    """V_i = V_p + X_i q_i', X' = [V, X] (K-26, D-10, D-12)."""

    def joint_screws(self) -> Array:
        """Return Ad_{C_i} X_i^b."""
        return to_root(self.C, self.body.X)

    def joint_screws_derivative(self, k: int) -> Array:
        """Return the derivative of [V, X]."""
        return product_derivative(bracket, self.V, self.X, k - 1)

    def transported(self, m: int, y: Array) -> Array:
        """Return y: nothing is transported."""
        return y if m == 0 else np.zeros(y.shape)

    def handed_down(self, W: Array) -> Array:
        """Return W."""
        return W


class HybridMotion(BodyMotion):
    """V_i = Ad_{r_p - r_i} V_p + X_i q_i', X' = ad_omega X (K-29, D-14, D-15)."""

    def joint_screws(self) -> Array:
        """Return Ad_{R_i} X_i^b."""
        return rotated_screws(self.R, self.body.X)

    def joint_screws_derivative(self, k: int) -> Array:
        """Return the derivative of ad_omega X."""
        return product_derivative(turned, [V[:3] for V in self.V], self.X, k - 1)

    def transported(self, m: int, y: Array) -> Array:
        """Return Ad_r y for m = 0, ad of the m-th derivative of r otherwise, r = r_p - r_i."""
        shift = hat(self.lever(m)) @ y[:3]
        if m == 0:
            return np.concatenate([y[:3], y[3:] + shift])
        return np.concatenate([np.zeros(shift.shape), shift])

    def handed_down(self, W: Array) -> Array:
        """Return Ad_r^T W = (t - r x f, f), r = r_p - r_i."""
        return np.concatenate([W[:3] - hat(self.lever(0)) @ W[3:], W[3:]])


class MixedMotion(BodyMotion):
    """V_i = T_i V_p + X_i q_i' with omega in the body and v = r' in the root frame (K-32, D-16)."""

    def joint_screws(self) -> Array:
        """Return (xi_i, R_i eta_i)."""
        return np.concatenate([self.body.X[:3], self.R @ self.body.X[3:]])

    def joint_screws_derivative(self, k: int) -> Array:
        """Return (0, derivative of R_i eta_i)."""
        eta = self.rotated(k, self.body.X[3:])
        return np.concatenate([np.zeros(eta.shape), eta])

    def transported(self, m: int, y: Array) -> Array:
        """Return (R_i,p omega, v + (r_p - r_i) x R_p omega) for m = 0 and its derivatives."""
        assert self.p is not None
        p = self.p
        arms = [p.rotated(k, y[:3]) for k in range(m + 1)]
        shift = derivative_of_product(lambda k, x: hat(self.lever(k)) @ x, arms, m)
        linear = y[3:] + shift if m == 0 else shift
        return np.concatenate([self.relatively_rotated(m, y[:3]), linear])

    def handed_down(self, W: Array) -> Array:
        """Return (R_p,i t - R_p^T (r x f), f), r = r_p - r_i."""
        assert self.p is not None
        shift = self.p.R.T @ (hat(self.lever(0)) @ W[3:])
        return np.concatenate([self.B[:3, :3] @ W[:3] - shift, W[3:]])

    def relatively_rotated(self, m: int, y: Array) -> Array:
        """Return the m-th derivative of R_i,p, times y: R_i,p' = -(xi q')~ R_i,p."""
        if m == 0:
            return self.B[:3, :3].T @ y

        def relative(k: int, x: Array) -> Array:
            return -hat(self.body.X[:3] @ self.own[k]) @ x

        lower = [self.relatively_rotated(k, y) for k in range(m)]
        return derivative_of_product(relative, lower, m - 1)


MOTIONS: dict[str, type[BodyMotion]] = {
    'body': BodyFixedMotion,
    'spatial': SpatialMotion,
    'hybrid': HybridMotion,
    'mixed': MixedMotion,
}


def body_motions(
    tree: Tree,
    q: Array,
    rates: Sequence[Array],
    representation: str,
    ground: Array | None = None,
) -> list[BodyMotion]:
    """Return the motion of every body, in the order of `tree.bodies`.

    Parameters
    ----------
    tree : Tree
    q : (nq,) array
    rates : sequence of (nv,) arrays
        v, a, and further time derivatives of the joint coordinates; V and X get as many, starting
        with V and X themselves (X always has these).
    representation : {'body', 'spatial', 'hybrid', 'mixed'}
    ground : (3,) array, optional
        Acceleration of the ground [m/s^2], none if not given: minus gravity makes all accelerations
        relative to free fall (D-29).

    Raises
    ------
    UnknownNameError
        There is no such representation.
    """
    check_representation(representation)
    root = None if ground is None else Ground(ground, len(rates))
    motions: list[BodyMotion] = []
    for body in tree.bodies:
        p = root if body.parent == GROUND else motions[body.parent]
        own = joint_rates(body, rates)
        motions.append(MOTIONS[representation](body, relative_pose(body, q), own, p))
    return motions


def body_twists(tree: Tree, q: Array, v: Array, representation: str = 'body') -> Array:
    """Return the twists of all bodies, (n, 6) [rad/s, m/s] (K-22, K-26, K-29, K-32)."""
    return np.stack([motion.V[0] for motion in body_motions(tree, q, [v], representation)])


def body_accelerations(
    tree: Tree, q: Array, v: Array, a: Array, representation: str = 'body'
) -> Array:
    """Return the time derivatives of the twists of all bodies, (n, 6) [rad/s^2, m/s^2].

    Source: Müller 2018b (2), (6), (15) to (19), (24) to (29), (33) (D-05, D-10, D-14, D-16).
    """
    return np.stack([motion.V[1] for motion in body_motions(tree, q, [v, a], representation)])


# --- the operations that the papers count (Müller 2018b section 4) -------------------------------


def to_body(B: Array, y: Array) -> Array:
    """Return Ad_B^-1 y: screws of the predecessor in the body, (6,) or (6, n)."""
    R, r = B[:3, :3], B[:3, 3]
    return np.concatenate([R.T @ y[:3], R.T @ (y[3:] - hat(r) @ y[:3])])


def to_root(C: Array, X: Array) -> Array:
    """Return Ad_C X: screws of the body in the root frame, (6, n)."""
    R, r = C[:3, :3], C[:3, 3]
    xi = R @ X[:3]
    return np.concatenate([xi, R @ X[3:] + hat(r) @ xi])


def rotated_screws(R: Array, X: Array) -> Array:
    """Return Ad_R X, (6, n)."""
    return np.concatenate([R @ X[:3], R @ X[3:]])


def bracket(V: Array, X: Array) -> Array:
    """Return [V, X] = (omega x xi, v x xi + omega x eta) for screws X, (6,) or (6, n)."""
    omega, v = hat(V[:3]), hat(V[3:])
    return np.concatenate([omega @ X[:3], v @ X[:3] + omega @ X[3:]])


def turned(omega: Array, X: Array) -> Array:
    """Return ad_omega X = (omega x xi, omega x eta), (6, n)."""
    return np.concatenate([hat(omega) @ X[:3], hat(omega) @ X[3:]])
