# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random products of exponentials and the motion of their bodies, by differentiating poses alone.

The robots have revolute, prismatic and helical joints with axes off the origins of the bodies,
branches, and body frames anywhere: they hide none of the errata (doc/spec/golden_numbers.md, models
that hide errors). The reference works in extended precision and knows nothing but the matrix
exponential of a joint, written in another way than in the package, and central differences of order
14.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import comb, factorial

import numpy as np

from screw_dynamics_ros.core.description import Inertia
from screw_dynamics_ros.core.kinematics.product_of_exponentials import BodyScrews
from support.models import random_inertia, random_pose, random_unit

REPRESENTATIONS = ('body', 'spatial', 'hybrid', 'mixed')

EXTENDED = np.longdouble

POINTS = 7  # to each side: differences of order 14
STEP = EXTENDED(1) / 32

Derivatives = list[np.ndarray]


# --- robots ---------------------------------------------------------------------------------------


def random_geometry(
    seed: int, joints: int = 6, kinds: str = 'RPH', *, chain: bool = False
) -> BodyScrews:
    """Return a robot whose joints are drawn from R, P, H; the first ones are one of each kind."""
    rng = np.random.default_rng(seed)
    order = [*rng.permutation(list(kinds)), *rng.choice(list(kinds), joints)][:joints]
    parents = [i - 1 if chain else int(rng.integers(max(-1, i - 3), i)) for i in range(joints)]
    X = []
    for kind in order:
        e, p, h = random_unit(rng), rng.uniform(-0.5, 0.5, 3), rng.uniform(0.1, 0.3)
        X.append(
            np.concatenate(
                [np.zeros(3), e] if kind == 'P' else [e, np.cross(p, e) + (kind == 'H') * h * e]
            )
        )
    return BodyScrews([random_pose(rng) for _ in range(joints)], X, parents)


def random_inertias(seed: int, joints: int) -> list[Inertia]:
    """Return physical inertias with centers of mass off the body origins."""
    rng = np.random.default_rng(seed + 1000)
    return [random_inertia(rng) for _ in range(joints)]


def random_trajectory(seed: int, joints: int, order: int = 5) -> np.ndarray:
    """Return q, v, a, ... at t = 0 of polynomials of degree `order`, (order + 1, joints)."""
    return np.random.default_rng(seed + 2000).uniform(-1.0, 1.0, (order + 1, joints))


def deepest(geometry: BodyScrews) -> int:
    """Return the body with the longest path to the root."""
    return max(range(len(geometry)), key=lambda i: len(geometry.path(i)))


# --- differences ----------------------------------------------------------------------------------


@cache
def weights(order: int) -> np.ndarray:
    """Return the weights of the central difference for a derivative of this order, step 1."""
    nodes = range(-POINTS, POINTS + 1)
    rows = [
        [Fraction(x) ** power for x in nodes] + [Fraction(factorial(power) * (power == order))]
        for power in range(len(nodes))
    ]
    for k in range(len(rows)):  # Gauss and Jordan
        pivot = next(row for row in rows[k:] if row[k])
        rows[rows.index(pivot)], rows[k] = rows[k], pivot
        rows[k] = [x / pivot[k] for x in rows[k]]
        for row in rows:
            if row is not rows[k] and row[k]:
                factor = row[k]
                row[:] = [x - factor * y for x, y in zip(row, rows[k])]
    return np.array([EXTENDED(row[-1].numerator) / EXTENDED(row[-1].denominator) for row in rows])


def derivatives(function: Callable[[np.longdouble], np.ndarray], order: int) -> Derivatives:
    """Return the derivatives of order 0, 1, ..., `order` of a function of one variable, at zero."""
    return differences([function(k * STEP) for k in range(-POINTS, POINTS + 1)], order)


def differences(values: Sequence[np.ndarray], order: int) -> Derivatives:
    """Return the derivatives from the values at the nodes of the difference."""
    return [np.tensordot(weights(m), np.stack(values), 1) / STEP**m for m in range(order + 1)]


# --- motion ---------------------------------------------------------------------------------------


class Reference:
    """The motion of one body of a product of exponentials along polynomials of the joint
    coordinates.
    """

    def __init__(self, geometry: BodyScrews, body: int) -> None:
        self.path = geometry.path(body)
        self.B = geometry.B.astype(EXTENDED)
        self.joints = {i: JointMotion(geometry.X[i].astype(EXTENDED)) for i in self.path}

    def pose(self, q: np.ndarray) -> np.ndarray:
        """Return C(q), (4, 4), in extended precision."""
        C = np.eye(4, dtype=EXTENDED)
        for i in self.path:
            C = C @ self.B[i] @ self.joints[i].pose(q[i])
        return C

    def along(self, rates: Sequence[np.ndarray]) -> Callable[[np.longdouble], np.ndarray]:
        """Return t -> C(q(t)) with q, v, a, ... at t = 0 given."""
        rates = [np.asarray(rate, dtype=EXTENDED) for rate in rates]
        return lambda t: self.pose(sum(rate * t**k / factorial(k) for k, rate in enumerate(rates)))

    def twists(self, rates: Sequence[np.ndarray], order: int = 0) -> dict[str, Derivatives]:
        """Return [V, V', ...] in each representation, `order` derivatives, with q, v, a, ... given.

        V^s = C' C^-1 and V^b = C^-1 C', of which only the product is differentiated by rule.
        """
        pose = self.along(rates)
        values = [pose(k * STEP) for k in range(-POINTS, POINTS + 1)]
        C = differences(values, order + 1)
        C_inv = differences([inverse(value) for value in values], order)

        def product(a: Derivatives, b: Derivatives, k: int) -> np.ndarray:
            return sum(comb(k, m) * a[m] @ b[k - m] for m in range(k + 1))

        spatial = [vector(product(C[1:], C_inv, k)) for k in range(order + 1)]
        body = [vector(product(C_inv, C[1:], k)) for k in range(order + 1)]
        linear = [C[k + 1][:3, 3] for k in range(order + 1)]
        together = {
            'spatial': spatial,
            'body': body,
            'hybrid': [np.concatenate([V[:3], v]) for V, v in zip(spatial, linear)],
            'mixed': [np.concatenate([V[:3], v]) for V, v in zip(body, linear)],
        }
        return {name: [V.astype(float) for V in values] for name, values in together.items()}

    def jacobians(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return the Jacobians (6, n): the twists for unit rates of one joint after the other."""
        columns = [self.twists([q, e]) for e in np.eye(len(q))]
        return {name: np.stack([V[name][0] for V in columns], axis=1) for name in REPRESENTATIONS}


class JointMotion:
    """exp(X q) by rotation about an axis point p: (R, (1 - R) p + h q e) with R = exp(q e~)."""

    def __init__(self, X: np.ndarray) -> None:
        e, v = X[:3], X[3:]
        self.turns = bool(e.any())
        length = np.sqrt(e @ e) if self.turns else np.sqrt(v @ v)  # not 1 to the last digit
        self.slide = v / length if not self.turns else (e @ v) * e / length**3
        e, v = e / length, v / length
        self.dyad, self.point = e[:, None] * e[None], np.cross(e, v)
        self.across = np.eye(3, dtype=EXTENDED) - self.dyad
        self.skew = np.stack([np.cross(e, unit) for unit in np.eye(3, dtype=EXTENDED)], axis=1)

    def pose(self, q: np.longdouble) -> np.ndarray:
        """Return exp(X q), (4, 4)."""
        C = np.eye(4, dtype=EXTENDED)
        C[:3, 3] = q * self.slide
        if self.turns:
            R = self.dyad + np.cos(q) * self.across + np.sin(q) * self.skew
            C[:3, :3] = R
            C[:3, 3] += self.point - R @ self.point
        return C


def inverse(C: np.ndarray) -> np.ndarray:
    """Return the inverse of a pose."""
    result = np.eye(4, dtype=C.dtype)
    result[:3, :3], result[:3, 3] = C[:3, :3].T, -C[:3, :3].T @ C[:3, 3]
    return result


def vector(M: np.ndarray) -> np.ndarray:
    """Return (xi, eta) of [[xi~, eta], [0, 0]]."""
    return np.array([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1], *(2 * M[:3, 3])]) / 2
