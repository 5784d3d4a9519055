# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Observable wrenches as typed functions: decomposition of a Jacobian, estimate, covariance.

Equations, symbols and units are those of `wrench_observability`. Joints that do not move the link
have columns of zeros in the Jacobian; only the others, the moving ones, take part: 7 of 32 for a
hand of TALOS.

Rotations of pairs of rows (one-sided Jacobi method) make the rows of A = D J orthogonal, Q A = W.
Then s_k is the length of row k of W, v_k its direction, and u_k is row k of Q. The first row of
each pair is the longest one left, which orders the singular values. Those below 2^-55 of the norm
of A cannot be distinguished from rounding errors and are set to zero.

Source: Golub and Van Loan, Matrix Computations, 4th edition, 8.6.3; Demmel and Veselić 1992,
algorithm 4.1, for the criterion of convergence; de Rijk 1989 for the order.
"""

from __future__ import annotations

import math

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.records import Record
from .triangular import EPSILON, product

MOMENTS_FIRST, FORCES_FIRST = 0, 3  # the first component of a written wrench

MAX_SWEEPS = 30  # rarely more than 8
NEGLIGIBLE = 2.0**-110  # squared length of a row of zeros, relative to all rows
MIN_ELEMENT, MAX_ELEMENT, RESCALING = (
    2.0**-100,
    2.0**100,
    2.0**100,
)  # of elements whose squares are exact


class Decomposition(Record):
    """The decomposition of a Jacobian (6, n), and the estimator.

    Attributes
    ----------
    joints : int
        n.
    rank : int
        Number of singular values above the threshold.
    moving_count : int
        m, number of moving joints.
    moving : (n,) array of int
        Their indices, the first m.
    characteristic_length, threshold, damping : float
        [m].
    singular_values : (6,) array
        s [m].
    u, v, G : (36,), (6 n,) and (6 n,) arrays
        u_k, v_k and the estimator, row by row.
    row : (n,) array
        Intermediate results.
    """

    joints: int
    rank: int
    moving_count: int
    moving: Ints
    characteristic_length: float
    threshold: float
    damping: float
    singular_values: Floats
    u: Floats
    v: Floats
    G: Floats
    row: Floats


@typed
def decompose(d: Decomposition, jacobian: Floats) -> None:
    """Decompose a Jacobian (6, n): set s, rank, u_k, v_k and G.

    If an element is not finite, s is NaN and the rank 0.
    """
    select_moving_joints(d, jacobian)
    m = d.moving_count
    s = d.singular_values
    rows = d.G  # (6, m); later G
    factor = scaled_rows(d, rows, jacobian)
    directions = d.u
    for k in range(36):
        directions[k] = 1.0 if k % 7 == 0 else 0.0
    if math.isnan(factor):
        for k in range(6):
            s[k] = math.nan
        for k in range(6 * m):
            rows[k] = 0.0
    else:
        orthogonalize(rows, directions, s, m)
        normalize(rows, s, m)
    rank = 0
    for k in range(6):
        s[k] = s[k] / factor
        if s[k] > d.threshold:
            rank += 1
    d.rank = rank
    set_torques(d, rows)
    set_estimator(d)


@typed
def select_moving_joints(d: Decomposition, jacobian: Floats) -> None:
    """Set the indices of the joints whose columns of the Jacobian are not zero."""
    m = 0
    for k in range(d.joints):
        if is_moving(jacobian, d.joints, k):
            d.moving[m] = k
            m += 1
    d.moving_count = m


@typed
def is_moving(jacobian: Floats, n: int, joint: int) -> bool:
    """Whether a joint moves the link: its column of the Jacobian (6, n) is not zero."""
    for i in range(6):  # noqa: SIM110 - `any` is not compiled
        if jacobian[n * i + joint] != 0.0:
            return True
    return False


@typed
def scaled_rows(d: Decomposition, rows: Floats, jacobian: Floats) -> float:
    """Set the rows of A = D J (6, m) times a power of two, and return it.

    It is 1 unless squares would overflow or lose digits; NaN if an element is not finite.
    """
    m = d.moving_count
    largest = 0.0
    for i in range(6):
        for k in range(m):
            x = jacobian[d.joints * i + d.moving[k]]
            if i < 3:
                x = x * d.characteristic_length
            if not math.isfinite(x):
                return math.nan
            largest = max(largest, abs(x))
            rows[m * i + k] = x
    factor = 1.0
    while 0.0 < largest < MIN_ELEMENT:
        largest = largest * RESCALING
        factor = factor * RESCALING
    while largest > MAX_ELEMENT:
        largest = largest / RESCALING
        factor = factor / RESCALING
    for k in range(6 * m):
        rows[k] = rows[k] * factor
    return factor


@typed
def orthogonalize(rows: Floats, directions: Floats, squares: Floats, n: int) -> None:
    """Rotate pairs of rows, and of directions, until all rows are orthogonal.

    `squares` (6,) are the squared lengths of the rows, measured again in each sweep.
    """
    sweeps = 0
    is_done = False
    while not is_done and sweeps < MAX_SWEEPS:
        sweeps += 1
        is_done = True
        total = measure(rows, squares, n)
        for i in range(5):
            lift_longest(rows, directions, squares, n, i)
            for j in range(i + 1, 6):
                if squares[j] > NEGLIGIBLE * total and rotate(rows, directions, squares, n, i, j):
                    is_done = False


@typed
def measure(rows: Floats, squares: Floats, n: int) -> float:
    """Set the squared lengths of all rows, and return their sum."""
    total = 0.0
    for i in range(6):
        squares[i] = product(rows[i * n :], rows[i * n :], n)
        total += squares[i]
    return total


@typed
def lift_longest(rows: Floats, directions: Floats, squares: Floats, n: int, first: int) -> None:
    """Exchange row `first` with the longest of the rows from there on."""
    longest = first
    for k in range(first + 1, 6):
        if squares[k] > squares[longest]:
            longest = k
    if longest != first:
        exchange(squares[first:], squares[longest:], 1)
        exchange(rows[first * n :], rows[longest * n :], n)
        exchange(directions[6 * first :], directions[6 * longest :], 6)


@typed
def exchange(a: Floats, b: Floats, n: int) -> None:
    """Exchange the elements of two rows."""
    for k in range(n):
        x = a[k]
        a[k] = b[k]
        b[k] = x


@typed
def rotate(rows: Floats, directions: Floats, squares: Floats, n: int, i: int, j: int) -> bool:
    """Make two rows orthogonal; return False if they are already, up to rounding errors."""
    p = product(rows[i * n :], rows[j * n :], n)
    if p * p <= EPSILON * EPSILON * float(n + 6) * squares[i] * squares[j]:
        return False
    zeta = (squares[j] - squares[i]) / (2.0 * p)
    t = math.copysign(1.0 / (abs(zeta) + math.sqrt(1.0 + zeta * zeta)), zeta)
    c = 1.0 / math.sqrt(1.0 + t * t)
    turn(rows[i * n :], rows[j * n :], c, c * t, n)
    turn(directions[6 * i :], directions[6 * j :], c, c * t, 6)
    squares[i] -= t * p
    squares[j] += t * p
    return True


@typed
def turn(a: Floats, b: Floats, c: float, s: float, n: int) -> None:
    """Rotate two rows by the angle with cosine c and sine s."""
    for k in range(n):
        x = a[k]
        a[k] = c * x - s * b[k]
        b[k] = s * x + c * b[k]


@typed
def normalize(rows: Floats, s: Floats, n: int) -> None:
    """Set s, and divide the rows by it; negligible rows become zero."""
    total = measure(rows, s, n)
    for k in range(6):
        s[k] = math.sqrt(s[k]) if s[k] > NEGLIGIBLE * total else 0.0
        for i in range(k * n, k * n + n):
            rows[i] = rows[i] / s[k] if s[k] > 0.0 else 0.0


@typed
def set_torques(d: Decomposition, rows: Floats) -> None:
    """Set v_k (6, n) from their elements for the moving joints (6, m)."""
    n = d.joints
    m = d.moving_count
    for k in range(6 * n):
        d.v[k] = 0.0
    for i in range(6):
        for k in range(m):
            d.v[n * i + d.moving[k]] = rows[m * i + k]


@typed
def set_estimator(d: Decomposition) -> None:
    """Set G of (2)."""
    n = d.joints
    G = d.G
    for k in range(6 * n):
        G[k] = 0.0
    for k in range(d.rank):
        s = d.singular_values[k]
        gain = 1.0 / (s + d.damping * (d.damping / s))
        for i in range(6):
            scale = d.characteristic_length if i < 3 else 1.0
            u = d.u[6 * k + i] * scale * gain
            for at in range(d.moving_count):
                j = d.moving[at]
                G[n * i + j] += u * d.v[n * k + j]


@typed
def estimate_wrench(d: Decomposition, first: int, torques: Floats, w: Floats) -> None:
    """Set w = G tau (6,) for torques (n,).

    `first` is `MOMENTS_FIRST` or `FORCES_FIRST`, here and in the following functions.
    """
    for i in range(6):
        w[(i + first) % 6] = moving_product(d, d.G[d.joints * i :], torques)


@typed
def moving_product(d: Decomposition, a: Floats, b: Floats) -> float:
    """Return the scalar product of two rows (n,) over the moving joints."""
    total = 0.0
    for k in range(d.moving_count):
        total += a[d.moving[k]] * b[d.moving[k]]
    return total


@typed
def propagate_covariance(d: Decomposition, first: int, P: Floats, C: Floats) -> None:
    """Set C = G P G^T (6, 6) for the covariance P (n, n) of the torques."""
    n = d.joints
    G = d.G
    row = d.row  # of G P
    for i in range(6):
        for at in range(d.moving_count):
            k = d.moving[at]
            row[k] = moving_product(d, P[n * k :], G[n * i :])
        a = (i + first) % 6
        for j in range(i + 1):
            b = (j + first) % 6
            C[6 * a + b] = moving_product(d, row, G[n * j :])
            C[6 * b + a] = C[6 * a + b]


@typed
def set_axis_shares(d: Decomposition, first: int, shares: Floats) -> None:
    """Set the observable share of each axis (6,)."""
    for i in range(6):
        total = 0.0
        for k in range(d.rank):
            u = d.u[6 * k + i]
            total += u * u
        shares[(i + first) % 6] = total


@typed
def set_deviations(d: Decomposition, first: int, variances: Floats, deviations: Floats) -> None:
    """Set the standard deviations of the wrench (6,) due to independent torques.

    Joints that do not move the link have no effect, also if their variance (n,) is NaN.
    """
    for i in range(6):
        total = 0.0
        for at in range(d.moving_count):
            k = d.moving[at]
            g = d.G[d.joints * i + k]
            total += g * g * variances[k]
        deviations[(i + first) % 6] = math.sqrt(total)


@typed
def condition_number(d: Decomposition) -> float:
    """Return the largest singular value over the smallest of the six, infinite if that is zero."""
    last = d.singular_values[5]
    return d.singular_values[0] / last if last > 0.0 else math.inf
