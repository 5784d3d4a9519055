# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Any arm of six revolute joints: all solutions by elimination of joint angles.

Three neighboring joints i, j, k carry the line of the next axis; written with the coordinates x of
that line (`line_coordinates`), whose own joint does not move it, the closure of the chain is

    D(exp i) D(exp j) D(exp k) x = D(...) D(C) D(...) x                                   (1)

with the other two joints and the pose C on the right: 14 equations, linear in the products of
1, cos, sin of the two angles on the right, and in those of the angles of j and k, with coefficients
that are linear in 1, cos, sin of the angle theta of joint i.

1. Six combinations of (1) are free of the joints on the right: the left null space of their
   coefficients, (14, 8).
2. With C, S = cos, sin of half an angle, 1, cos, sin are the squares and products of C and S: forms
   of degree 2 in each of the half angles of j and k. Multiplied by C_j and by S_j, six equations
   become twelve in the twelve products of degree 3 and 2: a square matrix M(theta).
3. det M(theta) = 0 is a trigonometric polynomial of degree 8: up to 16 real angles. It is sampled.
4. The null vector of M holds the half angles of j and k; (1) then gives the two joints on the
   right, the orientation the last one.

The chain can be read from both ends and at four places: six such eliminations. For special
geometry some of them vanish; the best one is chosen for random poses when the solver is made.

Sources: Raghavan and Roth 1993; Manocha and Canny, Efficient inverse kinematics for general 6R
manipulators (1994); Bruyninckx 2010, section 7.8 (C-100, C-103).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.program.tracing import arctangent
from ...lie import se3
from ...linear import is_zero, zeros
from ...types import Array
from . import trigonometric_polynomial
from .line_coordinates import SIZE, displacement_matrix, line_coordinates, rotation_terms

DEGREE = 8  # of det M: 16 zeros
#: 1, cos, sin of an angle from C^2, C S, S^2 of its half.
HALF_ANGLE = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [0.0, 2.0, 0.0]])
HALF_ANGLES = np.kron(HALF_ANGLE, HALF_ANGLE)  # of two angles
IDENTITY = np.eye(4)
TILT_COS_SIN = (0.7648421872844885, 0.644217687237691)  # cos, sin of 0.7 rad; see `half_angles`
#: Added where a divisor may be zero: to pivots and squares of lengths of order 1, to squares in
#: rotations, and to squares of pivots whose unknown is small then.
PIVOT_OFFSET, ROTATION_OFFSET, SQUARED_PIVOT_OFFSET = 1e-25, 1e-140, 1e-24


class Place(NamedTuple):
    """Where the chain is read: three joints from `first`, and the axis behind or before them."""

    first: int
    behind: bool

    @property
    def triple(self) -> tuple[int, int, int]:
        """The joints on the left of (1), the one of the determinant first."""
        i = self.first
        return (i, i + 1, i + 2) if self.behind else (i + 2, i + 1, i)

    @property
    def axis(self) -> int:
        """The joint whose axis is the line."""
        return self.first + 3 if self.behind else self.first - 1

    @property
    def pair(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The joints on the right of (1), before and after the pose."""
        if self.behind:
            return tuple(range(self.first - 1, -1, -1)), tuple(range(5, self.axis, -1))
        return tuple(range(self.first + 3, 6)), tuple(range(self.axis))


PLACES = tuple(
    Place(first, behind)
    for first in range(4)
    for behind in (True, False)
    if 0 <= (first + 3 if behind else first - 1) < 6
)


class EliminationEquations(NamedTuple):
    """The equations (1) for one pose, without the eliminated angles.

    Attributes
    ----------
    forms : (6 * 9 * 3,) array
        Coefficients of six equations: products of the half angles of j and k, and (1, cos, sin) of
        theta.
    solution : (8 * 14,) array
        Takes the left side of (1) minus `rest` to the products of the angles on the right.
    rest : (14,) array
    orientation : (9,) array
        Of exp 1 ... exp 6.
    """

    forms: Array
    solution: Array
    rest: Array
    orientation: Array


class ArmConstants(NamedTuple):
    """What an elimination must know of an arm.

    Attributes
    ----------
    home_inverse, scale, before, after : (16,), (1,) and flat arrays
        Arguments of `right_side`.
    forms, left, axes : (378,), (378,), (18,) arrays
        Of `eliminate`, `five_joints` and `joint_angles`.
    """

    home_inverse: Array
    scale: Array
    before: Array
    after: Array
    forms: Array
    left: Array
    axes: Array


class Elimination:
    """One way to eliminate: the constants of the arm in (1).

    Parameters
    ----------
    S : (6, 6) array
        Screws of the joints at q = 0, one in each row, lengths in units of `length`.
    place : Place
    home_inverse : (4, 4) array, optional
        Inverse of the pose at q = 0; the identity otherwise.
    length : float
        Unit of length [m], of about the size of the arm.
    point : (3,) array, optional
        The point of the line whose coordinates are taken, in that unit; the one next to the origin
        otherwise.

    Attributes
    ----------
    left : (14, 9, 3) array
        Coefficients of the left side: products of 1, cos, sin of j and k, and those of theta.
    forms : (14, 9, 3) array
        The same in products of half angles.
    before, after : arrays (3^b * 15, 15), (15, 3^a)
        What stands before and after D(C) on the right, for b and a joints.
    """

    def __init__(
        self,
        S: Array,
        place: Place,
        home_inverse: Array = IDENTITY,
        length: float = 1.0,
        point: Array | None = None,
    ) -> None:
        self.place = place
        sign = 1.0 if place.behind else -1.0
        e, v = np.split(S[place.axis], 2)
        x = line_coordinates(np.cross(e, v) if point is None else point, e)
        terms = x
        for joint in reversed(place.triple):
            terms = np.tensordot(rotation_terms(S[joint], sign), terms, axes=(2, 0))
            terms = np.moveaxis(terms, 0, -1)  # (15, ..., 3): the last joint of the triple first
        left = np.moveaxis(terms, (1, 2, 3), (2, 1, 3))[1:].reshape(14, 9, 3)
        self.left = left
        self.forms = np.einsum('nmi,mh->nhi', left, HALF_ANGLES)
        before, after = place.pair
        self.after = x[:, None]
        for joint in reversed(after):
            D = rotation_terms(S[joint], -sign)
            self.after = (D @ self.after).transpose(1, 0, 2).reshape(SIZE, -1)
        product: Array = np.eye(SIZE)[None]
        for joint in before:
            D = rotation_terms(S[joint], -sign)
            product = (product[:, None] @ D).reshape(-1, SIZE, SIZE)
        self.before = product.reshape(-1, SIZE)
        constants = home_inverse, 1.0 / length, self.before, self.after, self.forms, left, S[:, :3]
        self.constants = ArmConstants(
            *(np.ascontiguousarray(each, dtype=float).reshape(-1) for each in constants)
        )

    def equations(self, C: Array) -> EliminationEquations:
        """Return the remaining equations of (1) for one pose (4, 4) of the tool."""
        products, rest, orientation = right_side(self.place, C.reshape(16), *self.constants[:4])
        return EliminationEquations(
            *eliminate(products, rest, self.constants.forms), rest, orientation
        )


def right_side(
    place: Place, pose: Array, home_inverse: Array, scale: Array, before: Array, after: Array
) -> tuple[Array, Array, Array]:
    """Return the coefficients of the right side of (1), and the orientation.

    Those of the products of the angles, (14 * 8,), and the constant, (14,). Compiled once for all
    arms.
    """
    C = pose.reshape(4, 4) @ home_inverse.reshape(4, 4)
    R = C[:3, :3]
    C = se3.pose(R, C[:3, 3] * scale)
    x = displacement_matrix(C if place.behind else se3.inverse(C)) @ after.reshape(SIZE, -1)
    blocks = before.reshape(-1, SIZE, SIZE)
    right = np.concatenate([block[1:] @ x for block in blocks], axis=1)
    return right[:, 1:].reshape(-1), right[:, 0] + zeros(14, right), R.reshape(9)


def eliminate(products: Array, rest: Array, forms: Array) -> tuple[Array, Array]:
    """Return `forms` and `solution` of `EliminationEquations`, flat.

    Compiled once for all arms and places.

    By Householder reflections of the right side: the rows of Q^T below the eighth are free of the
    joints there.
    """
    R, Qt = reflected(products.reshape(14, 8))
    N = Qt[8:]
    combined = N @ forms.reshape(14, 27)
    combined = combined.reshape(6, 9, 3) + zeros((6, 9, 3), combined)
    constant = N @ rest
    for k in np.flatnonzero(HALF_ANGLES[0]).tolist():
        combined[:, k, 0] = combined[:, k, 0] - constant * HALF_ANGLES[0, k]
    solution = zeros((8, 14), Qt)
    for k in reversed(range(8)):
        # where the products of the angles are dependent, the smallest of them
        pivot = R[k, k] / (R[k, k] * R[k, k] + SQUARED_PIVOT_OFFSET)
        solution[k] = (Qt[k] - R[k, k + 1 :] @ solution[k + 1 :]) * pivot
    return combined.reshape(-1), solution.reshape(-1)


def reflected(A: Array) -> tuple[Array, Array]:
    """Return R (n, n) and Q^T (m, m) of A = Q [R; 0], (m, n), by reflections; may be recorded."""
    m, n = A.shape
    A, Qt = A + zeros((m, n), A), np.eye(m) + zeros((m, m), A)
    for k in range(n):
        x = A[k:, k]
        length = np.sqrt(x @ x + ROTATION_OFFSET)
        sign = x[0] / np.sqrt(x[0] * x[0] + ROTATION_OFFSET)
        v = x + zeros(m - k, x)
        v[0] = v[0] + (sign + (1.0 - sign * sign)) * length  # away from zero, also for x[0] = 0
        factor = 2.0 / (v @ v)
        A[k:, k:] = A[k:, k:] - np.outer(v, factor * (v @ A[k:, k:]))
        Qt[k:] = Qt[k:] - np.outer(v, factor * (v @ Qt[k:]))
    return A[:n], Qt


def matrix(forms: Array, waves: Array) -> Array:
    """Return M(theta), (..., 12, 12), for waves (..., 3) = 1, cos, sin; may be recorded."""
    E = (waves @ forms.reshape(54, 3).T).reshape(*waves.shape[:-1], 6, 3, 3)
    M = zeros((*waves.shape[:-1], 12, 4, 3), E)
    M[..., :6, :3, :], M[..., 6:, 1:, :] = E, E
    return M.reshape(*waves.shape[:-1], 12, 12)


def refined_zeros(approximate: Array, flat_forms: Array) -> tuple[Array, Array]:
    """Return the zeros of det M in z = exp(i theta) by M itself, whose digits do not cancel.

    And the length of the last step of each. Those at the origin and far away stay.

    Parameters
    ----------
    approximate : (2 n, 2) array
        Real and imaginary parts.
    flat_forms : (162,) array
    """

    def logarithmic_derivative(z: Array) -> Array:
        try:
            change = np.linalg.solve(*in_the_plane(z, flat_forms))
        except np.linalg.LinAlgError:  # exactly on a zero
            return np.full(len(z), np.inf)
        return np.trace(change, axis1=1, axis2=2)

    z, step = approximate.copy(), np.zeros(len(approximate))
    size = np.hypot(*z.T)
    finite = (size > 0.0) & (size < trigonometric_polynomial.INFINITY)
    inner, step[finite] = trigonometric_polynomial.refined(
        z[finite].view(complex)[:, 0], logarithmic_derivative
    )
    z[finite] = inner.view(float).reshape(-1, 2)
    return z, step


def in_the_plane(z: Array, flat_forms: Array) -> tuple[Array, Array]:
    """Return M and dM / dz, (k, 12, 12) each, at complex numbers z (k,) = exp(i theta)."""
    forms = flat_forms.reshape(6, 9, 3)
    waves = np.stack([np.ones_like(z), 0.5 * (z + 1.0 / z), -0.5j * (z - 1.0 / z)], axis=1)
    slopes = 0.5 * np.stack([0.0 * z, 1.0 - z**-2, -1j * (1.0 + z**-2)], axis=1)
    return matrix(forms, waves), matrix(forms, slopes)


def triangular(M: Array) -> Array:
    """Return R (n, n) of M = Q R with Q of determinant 1, by Givens rotations; may be recorded."""
    R = M.copy()
    for k in range(len(R)):
        for i in range(k + 1, len(R)):
            if is_zero(R[i, k]):
                continue
            pivot = R[k, k] + ROTATION_OFFSET  # no rotation where both are zero
            r = np.sqrt(pivot * pivot + R[i, k] * R[i, k])
            c, s = pivot / r, R[i, k] / r
            R[k, k:], R[i, k:] = c * R[k, k:] + s * R[i, k:], c * R[i, k:] - s * R[k, k:]
    return R


def determinant(waves: Array, flat_forms: Array) -> tuple[Array]:
    """Return det M(theta), (1,); the compiled function."""
    R = triangular(matrix(flat_forms.reshape(6, 9, 3), waves))
    product = R[0, 0]
    for k in range(1, len(R)):
        product = product * R[k, k]
    return (np.array([product]),)


def null_vectors(R: Array) -> Array:
    """Return a basis of the two directions that R shrinks most, (n, 2); may be recorded.

    Inverse iteration with R^T R, from two fixed vectors.
    """
    n = len(R)
    k = np.arange(n)
    X = np.stack([np.cos(1.0 + 2.0 * k), np.cos(3.0 + 5.0 * k * k)], axis=1)
    for _ in range(2):
        Y = zeros(X.shape, R)
        for i in range(n):  # R^T Y = X
            Y[i] = (X[i] - R[:i, i] @ Y[:i]) / (R[i, i] + PIVOT_OFFSET)
        X = zeros(Y.shape, R)
        for i in reversed(range(n)):  # R X = Y
            X[i] = (Y[i] - R[i, i + 1 :] @ X[i + 1 :]) / (R[i, i] + PIVOT_OFFSET)
        first = X[:, 0] / np.sqrt(X[:, 0] @ X[:, 0])
        second = X[:, 1] - (first @ X[:, 1]) * first
        X = np.stack([first, second / np.sqrt(second @ second + PIVOT_OFFSET)], axis=1)
    return X


def half_angles(X: Array) -> list[tuple[Array, Array]]:
    """Return (C, S) of joint j and the forms of joint k, two pairs, from null vectors (12, 2).

    A null vector is u_j u_k with u_j = (C^3, C^2 S, C S^2, S^3): its last three quarters are tan of
    the half angle times its first three. That is an eigenvalue problem in the space of the null
    vectors, of two dimensions because two solutions may share the angle theta. Half angles are
    measured from `TILT_COS_SIN`, where the tangent is finite for an angle of half a turn.
    May be recorded.
    """
    c, s = TILT_COS_SIN
    X = X.reshape(4, 3, 2)
    first, last = X[:3].reshape(9, 2), X[1:].reshape(9, 2)
    A, B = c * first + s * last, c * last - s * first
    (a, b), (_, d) = A.T @ A
    area = a * d - b * b + PIVOT_OFFSET
    G = np.array([[d, -b], [-b, a]]) @ (A.T @ B) / area
    middle = 0.5 * (G[0, 0] + G[1, 1])
    square = middle * middle - (G[0, 0] * G[1, 1] - G[0, 1] * G[1, 0])
    root = np.sqrt(0.5 * (square + np.sqrt(square * square)))  # no real tangent: the nearest one
    found = []
    for tangent, other in ((middle + root, middle - root), (middle - root, middle + root)):
        x = (G - other * np.eye(2)) @ np.array([1.0, 0.37])  # theorem of Cayley and Hamilton
        cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
        C, S = (c - s * tangent) * cosine, (s + c * tangent) * cosine
        u = np.array([C * C * C, C * C * S, C * S * S, S * S * S])
        found.append((np.array([C, S]), u @ (X @ x)))
    return found


def waves_of(cosine: Array, sine: Array) -> Array:
    """Return 1, cos, sin, (3,), of the angle of a point; may be recorded."""
    r = np.sqrt(cosine * cosine + sine * sine + PIVOT_OFFSET)
    return np.array([1.0 + 0.0 * r, cosine / r, sine / r])


def five_joints(
    zero: Array, flat_forms: Array, flat_solution: Array, rest: Array, flat_left: Array
) -> tuple[Array, Array]:
    """Return cos, sin of joints i, j, k, m, n, two candidates (2, 5, 2), and | |z|^2 - 1 |, ().

    For a zero z of det M, (2,), real and imaginary: the angle theta of joint i is that of z, the
    real angle next to a complex one. Joints j and k are the others on the left side of (1), (378,),
    m and n those on the right. Compiled once for all arms and places.
    """
    solution = flat_solution.reshape(8, 14)
    waves, away = waves_of(*zero), zero @ zero - 1.0
    X = null_vectors(triangular(matrix(flat_forms.reshape(6, 9, 3), waves)))
    left = (flat_left.reshape(-1, 3) @ waves).reshape(14, 9)
    candidates = []
    for (cos_half, sin_half), forms in half_angles(X):
        wave_j = np.array(
            [1.0, cos_half * cos_half - sin_half * sin_half, 2.0 * cos_half * sin_half]
        )
        scale = forms[0] + forms[2]  # its sign is that of the null vector
        wave_k = waves_of((forms[0] - forms[2]) * scale, 2.0 * forms[1] * scale)
        products = np.array([x * y for x in wave_j for y in wave_k])
        y = solution @ (left @ products - rest)
        found = waves, wave_j, wave_k, waves_of(y[2], y[5]), waves_of(y[0], y[1])
        candidates.append([wave[1:] for wave in found])
    return np.array(candidates), np.sqrt(away * away)


def joint_angles(
    place: Place, flat_waves: Array, orientation: Array, flat_axes: Array
) -> tuple[Array]:
    """Return all joint angles (6,) for cos, sin of `five_joints`, (10,).

    By the orientation (9,) of C = exp 1 ... exp 6 and the directions of the axes, (18,). Compiled
    once for all arms.
    """
    axes, five = flat_axes.reshape(6, 3), flat_waves.reshape(5, 2)
    before, after = place.pair
    joints = (*place.triple, *before, *after)
    wave = {joint: np.array([1.0 + 0.0 * c, c, s]) for joint, (c, s) in zip(joints, five)}
    wave[place.axis] = last_wave(axes, wave, place.axis, orientation.reshape(3, 3))
    return (np.array([arctangent(wave[joint][2], wave[joint][1]) for joint in range(6)]),)


def last_wave(axes: Array, waves: dict[int, Array], joint: int, R: Array) -> Array:
    """Return 1, cos, sin of one joint's angle when all the others are right; may be recorded."""
    for k in range(joint):
        R = rotation(axes[k], waves[k]).T @ R
    for k in range(len(axes) - 1, joint, -1):
        R = R @ rotation(axes[k], waves[k]).T
    # R = exp(theta e): its vector is sin(theta) e, its trace 1 + 2 cos(theta)
    sine = axes[joint] @ np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return np.array([1.0 + 0.0 * sine, R[0, 0] + R[1, 1] + R[2, 2] - 1.0, sine])


def rotation(e: Array, wave: Array) -> Array:
    """Return the rotation (3, 3) about a unit axis for 1, cos, sin of an angle."""
    _, c, s = wave
    (x, y, z), v = e, (1.0 - c)
    return np.array(
        [
            [x * x * v + c, x * y * v - z * s, x * z * v + y * s],
            [x * y * v + z * s, y * y * v + c, y * z * v - x * s],
            [x * z * v - y * s, y * z * v + x * s, z * z * v + c],
        ]
    )
