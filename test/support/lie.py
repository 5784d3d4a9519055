# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the tests of the Lie layer share: references, strategies and a tracing scalar."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from math import pi
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import settings
from hypothesis import strategies as st

# The same examples in every run: a failure here is a failure everywhere.
PROPERTY = settings(derandomize=True, deadline=None, max_examples=20, database=None)

ANGLES = [
    0.0,
    1e-300,
    1e-12,
    1e-8,
    1e-4,
    0.02,
    0.1,
    0.5 - 1e-12,
    0.5,
    0.5 + 1e-12,
    1.0,
    2.0,
    3.0,
    pi - 1e-4,
    pi - 1e-9,
    pi,
    pi + 1e-9,
    4.0,
    6.0,
]


def close(actual: npt.ArrayLike, desired: npt.ArrayLike, tolerance: float = 1e-12) -> None:
    """Compare with an absolute tolerance."""
    np.testing.assert_allclose(actual, desired, rtol=0, atol=tolerance)


def apply(M: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Multiply stacks of matrices and vectors."""
    return (M @ x[..., None])[..., 0]


# --- strategies ----------------------------------------------------------------------------


def vectors(bound: float = 3.0) -> st.SearchStrategy[np.ndarray]:
    """Vectors (3,) with components within the bound, zero components among them."""
    return st.tuples(*[st.floats(-bound, bound)] * 3).map(np.array)


def directions() -> st.SearchStrategy[np.ndarray]:
    """Unit vectors (3,)."""
    nonzero = vectors(1.0).filter(lambda x: np.linalg.norm(x) > 0.1)
    return nonzero.map(lambda x: x / np.linalg.norm(x))


def angles(largest: float) -> st.SearchStrategy[float]:
    """Angles from 0 to the largest, the delicate ones of `ANGLES` often."""
    special = [angle for angle in ANGLES if angle <= largest]
    return st.one_of(st.sampled_from(special), st.floats(0.0, largest))


def rotation_vectors(largest: float = 6.0) -> st.SearchStrategy[np.ndarray]:
    """Rotation vectors (3,) of length up to the largest angle."""
    return st.builds(lambda angle, e: angle * e, angles(largest), directions())


def twists(largest: float = 6.0) -> st.SearchStrategy[np.ndarray]:
    """Screw coordinates (6,): a rotation vector and a vector."""
    pairs = st.tuples(rotation_vectors(largest), vectors())
    return pairs.map(np.concatenate)


def quaternions() -> st.SearchStrategy[np.ndarray]:
    """Unit quaternions (4,), half turns and the identity among them."""
    raw = st.tuples(*[st.one_of(st.just(0.0), st.floats(-1.0, 1.0))] * 4).map(np.array)
    return raw.filter(lambda q: np.linalg.norm(q) > 0.1).map(lambda q: q / np.linalg.norm(q))


def rotations() -> st.SearchStrategy[np.ndarray]:
    """Rotation matrices (3, 3), not made by the code under test."""
    return quaternions().map(rotation_of)


def poses() -> st.SearchStrategy[np.ndarray]:
    """Poses (4, 4)."""
    return st.builds(pose_of, rotations(), vectors())


# --- independent references ------------------------------------------------------------------


def rotation_of(q: np.ndarray) -> np.ndarray:
    """Rotation of a unit quaternion, through SU(2): R_ab = tr(s_a U s_b U*) / 2, Pauli's s."""
    s = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
    U = q[3] * np.eye(2) - 1j * np.tensordot(q[:3], s, axes=1)
    return np.array([[0.5 * np.trace(a @ U @ b @ U.conj().T).real for b in s] for a in s])


def pose_of(R: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Pose [[R, r], [0, 1]]."""
    return np.block([[R, np.reshape(r, (3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])


def power_series(A: np.ndarray, coefficient: Callable[[int], Decimal]) -> np.ndarray:
    """Sum coefficient(k) A^k with 60 digits: the reference for every exponential-like map."""
    with localcontext() as context:
        context.prec = 60
        A = np.vectorize(Decimal, otypes=[object])(A)
        power = np.vectorize(Decimal, otypes=[object])(np.eye(len(A), dtype=int).astype(float))
        total = power * Decimal(0)
        for k in range(90):
            total = total + coefficient(k) * power
            power = power @ A
        return total.astype(float)


def factorial_reciprocal(shift: int) -> Callable[[int], Decimal]:
    """Coefficients 1/(k + shift)!: shift 0 is exp, shift 1 is dexp."""

    def coefficient(k: int) -> Decimal:
        value = Decimal(1)
        for n in range(2, k + shift + 1):
            value /= n
        return value

    return coefficient


def exp_reference(A: np.ndarray) -> np.ndarray:
    """Matrix exponential, to the last digit."""
    return power_series(A, factorial_reciprocal(0))


def dexp_reference(A: np.ndarray) -> np.ndarray:
    """Sum of A^k / (k + 1)!, to the last digit."""
    return power_series(A, factorial_reciprocal(1))


def derivative(function: Callable[[float], np.ndarray], t: float, h: float = 0.02) -> np.ndarray:
    """Central difference of order 8."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return sum(w * (function(t + k * h) - function(t - k * h)) for k, w in weights.items()) / h


def cross_matrix(x: np.ndarray) -> np.ndarray:
    """Matrix of y -> x × y, column by column."""
    return np.stack([np.cross(x, e) for e in np.eye(3)], axis=1)


def screw_matrix(X: np.ndarray) -> np.ndarray:
    """Matrix [[xi~, eta], [0, 0]]."""
    M = np.zeros((4, 4))
    M[:3, :3], M[:3, 3] = cross_matrix(X[:3]), X[3:]
    return M


def screw_vector(M: np.ndarray) -> np.ndarray:
    """Coordinates (xi, eta) of [[xi~, eta], [0, 0]]."""
    return np.array([M[2, 1], M[0, 2], M[1, 0], M[0, 3], M[1, 3], M[2, 3]])


# --- tracing ---------------------------------------------------------------------------------


class Traced:
    """A number one may calculate with but neither look at nor convert, as in a traced program."""

    operations = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def _of(self, other: Any, function: Callable[[float, float], float]) -> Traced:
        if isinstance(other, np.ndarray):
            return NotImplemented
        Traced.operations += 1
        return Traced(function(self.value, other.value if isinstance(other, Traced) else other))

    def __add__(self, other: Any) -> Traced:
        return self._of(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Traced:
        return self._of(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Traced:
        return self._of(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Traced:
        return self._of(other, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> Traced:
        return self._of(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Traced:
        return self._of(other, lambda a, b: b / a)

    def __pow__(self, exponent: int) -> Traced:
        return self._of(exponent, lambda a, b: a**b)

    def __neg__(self) -> Traced:
        return self._of(0.0, lambda a, _: -a)

    def sin(self) -> Traced:
        return self._of(0.0, lambda a, _: np.sin(a))

    def cos(self) -> Traced:
        return self._of(0.0, lambda a, _: np.cos(a))

    def sqrt(self) -> Traced:
        return self._of(0.0, lambda a, _: np.sqrt(a))

    def clamped(self, lower: float, upper: float) -> Traced:
        return self._of(0.0, lambda a, _: np.clip(a, lower, upper))

    __radd__, __rmul__ = __add__, __mul__
    __hash__ = None  # type: ignore[assignment]

    def _looked_at(self, *_: Any) -> Any:
        raise AssertionError('a branch or a conversion looked at a traced value')

    __bool__ = __float__ = __int__ = __eq__ = __ne__ = _looked_at  # type: ignore[assignment]
    __lt__ = __le__ = __gt__ = __ge__ = __abs__ = _looked_at


def trace(array: np.ndarray) -> np.ndarray:
    """Array of traced scalars with these values."""
    traced = np.empty(np.shape(array), dtype=object)
    for index, value in np.ndenumerate(np.asarray(array, dtype=float)):
        traced[index] = Traced(value)
    return traced


def untrace(array: np.ndarray) -> np.ndarray:
    """Values of an array of traced scalars and constants."""
    return np.vectorize(lambda x: x.value if isinstance(x, Traced) else x, otypes=[float])(array)
