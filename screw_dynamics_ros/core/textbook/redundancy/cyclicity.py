# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cyclic motion: whether a closed path of the tool is a closed path of the joints.

The extended Jacobian is that of a redundant robot, completed by constraint rows. Rows A, as many as
the degree of redundancy, with A v = 0 (or a given rate), make [J; A] square. Its inverse (B, *) has
J B = 1 and A B = 0: v = B V follows the twist and satisfies the constraint. If A is the derivative
of a function of q, the motion is cyclic, in contrast to that of the weighted pseudo-inverse (E-10).
A = Z^T M with a null-space basis Z gives the pseudo-inverse of joint metric M.

With a pseudo-inverse of any metric a path is not cyclic in general; the claim of the book for the
mass matrix is wrong (E-10). `drift` measures it. Motion is cyclic if joint rates maintain functions
h(q) = 0, as many as the degree of redundancy: then one configuration corresponds to each pose.
Baillieul's functions are the conditions for an extremum of a cost H among the configurations with
the same pose,

    h = Z^T grad H,      Z a basis of null J,

whose derivatives, with dZ/dq_k = -J^+ (dJ/dq_k) Z, are

    A[:, k] = Z^T (Hess H)[:, k] - Z^T (dJ/dq_k)^T J^+T grad H

Another basis adds S h with some matrix S, which is zero if h = 0.

Source: Bruyninckx 2010 (5.35) to (5.37) with the erratum E-04: B J is a projector, not the identity
(C-028); section 5.9.5 (C-039); Baillieul 1985.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_count, check_number
from ...arms.inverse.velocity import matrix, rate
from ...arms.inverse.weighted_inverse import WeightedInverse, finite
from ...errors import ArgumentError
from ...lie.screw_systems import TOLERANCE
from ...types import Array

#: Joint rates for a configuration and a twist, all (n,), (m,).
Resolution = Callable[[Array, Array], Array]


def extended_inverse(J: ArrayLike, A: ArrayLike, cutoff: float = TOLERANCE) -> tuple[Array, Array]:
    """Return (B, E): v = B V + E a is the joint rate with J v = V and A v = a.

    Parameters
    ----------
    J : (m, n) array
    A : (n - m, n) array
        Rows of the constraints.
    cutoff : float
        Singular values up to `cutoff` times the largest are treated as zero.

    Returns
    -------
    (n, m) array, (n, n - m) array

    Raises
    ------
    ArgumentError
        If the matrix [J; A] is not square, or singular: J has lost rank, the rows of A are
        dependent, or a null-space motion of J satisfies them (an algorithmic singularity).

    Examples
    --------
    >>> extended_inverse([[1.0, 1.0]], [[1.0, -1.0]])[0]  # both joints alike
    array([[0.5],
           [0.5]])
    """
    J, A = matrix('the Jacobian', J), matrix('the constraint rows A', A)
    m, n = J.shape
    if A.shape != (n - m, n):
        raise ArgumentError(
            f'the constraint rows A must have shape ({n - m}, {n}) to make J {J.shape} square, '
            f'got {A.shape}'
        )
    for name, X in (('the Jacobian', J), ('the constraint rows A', A)):
        s = np.linalg.svd(X, compute_uv=False)
        if len(s) and s[-1] <= cutoff * s[0]:
            raise ArgumentError(f'{name} has dependent rows: smallest singular value {s[-1]:.3g}')
    extended = np.vstack([J, A])
    s = np.linalg.svd(extended, compute_uv=False)
    if len(s) and s[-1] <= cutoff * s[0]:
        raise ArgumentError(
            'the constraint rows A are not transversal to J (an algorithmic singularity): a motion '
            'in the null space of J satisfies them; choose other constraints here'
        )
    inverse = np.linalg.inv(extended)
    return inverse[:, :m], inverse[:, m:]


@dataclass(frozen=True, eq=False)
class Drift:
    """Drift of the joints after closed paths of the tool.

    Attributes
    ----------
    cycles : (N + 1, n) array
        Initial configuration, and that after each cycle.
    after_each : (N,) array
        |q_k+1 - q_k|, drift of each cycle [rad, m].
    total : float
        |q_N - q_0|.
    cyclic : bool
        Whether the drift of the last cycle is within the tolerance.
    """

    cycles: Array
    after_each: Array
    total: float
    cyclic: bool


def drift(
    resolution: Resolution,
    q: ArrayLike,
    twist: Callable[[float], ArrayLike],
    *,
    period: float = 1.0,
    cycles: int = 1,
    steps: int = 200,
    tolerance: float = 1e-6,
) -> Drift:
    """Return the drift of the joints (with additive coordinates) over repeated closed paths.

    Integrated with the classical Runge-Kutta method; its error, which depends on `steps`, is also
    the deviation of the tool from its path.

    Parameters
    ----------
    resolution : callable
        The method under test: joint rates (n,) for (q, twist).
    q : (n,)
        Initial configuration.
    twist : callable
        Twist (m,) of the tool at time t [s], for one closed path from 0 to `period`.
    period : float
        [s]
    cycles, steps : int
        Repetitions, and integration steps in each.
    tolerance : float
        [rad, m]

    Raises
    ------
    ArgumentError
        If a number is not positive, or a shape is wrong.

    Examples
    --------
    Two joints that move the same slider close any path if both have the same rate.

    >>> alike = lambda q, V: np.array([0.5, 0.5]) * V
    >>> drift(alike, [0.1, 0.2], lambda t: [np.cos(2 * np.pi * t)]).cyclic
    True
    """
    check_number('the period', period, positive=True)
    check_number('the tolerance', tolerance)
    for name, count in (('cycles', cycles), ('steps', steps)):
        check_count(name, count)
        if not count:
            raise ArgumentError(f'{name} must be at least 1')
    q = finite('q', q)
    visited = [q]
    h = period / steps
    for _ in range(cycles):
        for k in range(steps):
            q = runge_kutta(resolution, q, twist, k * h, h)
        visited.append(q)
    moved = np.linalg.norm(np.diff(visited, axis=0), axis=1)
    total = float(np.linalg.norm(q - visited[0]))
    return Drift(np.array(visited), moved, total, bool(moved[-1] <= tolerance))


def runge_kutta(
    resolution: Resolution, q: Array, twist: Callable[[float], ArrayLike], t: float, h: float
) -> Array:
    """Return q after one step of the classical method."""

    def v(x: Array, time: float) -> Array:
        return resolution(x, finite('the twist', twist(time)))

    k1 = v(q, t)
    k2 = v(q + 0.5 * h * k1, t + 0.5 * h)
    k3 = v(q + 0.5 * h * k2, t + 0.5 * h)
    k4 = v(q + h * k3, t + h)
    return q + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def cyclic_velocity(
    J: ArrayLike,
    dJ: ArrayLike,
    twist: ArrayLike,
    gradient: ArrayLike,
    hessian: ArrayLike,
    gain: float = 10.0,
) -> Array:
    """Return the joint rates (n,) that follow a twist and keep a cost at its extremum.

    Otherwise h decays with exp(-gain t).

    Parameters
    ----------
    J : (m, n) array
        Jacobian with full row rank.
    dJ : (m, n, n) array
        Its partial derivatives, dJ / dq_k at [..., k].
    twist : (m,) array
        [rad/s, m/s]
    gradient, hessian : (n,), (n, n) array
        Derivatives of the cost, for example of `PostureSprings`.
    gain : float
        [1/s]

    Raises
    ------
    ArgumentError
        If J has lost rank, a shape is wrong, or the extremum is degenerate: then the rows A are not
        transversal to J (`extended_inverse`).
    """
    J = matrix('the Jacobian', J)
    m, n = J.shape
    V, g = rate('the twist', m, twist), rate('the gradient', n, gradient)
    partials, H = finite('dJ', dJ), matrix('the Hessian', hessian)
    if partials.shape != (m, n, n) or H.shape != (n, n):
        raise ArgumentError(
            f'dJ must have shape {(m, n, n)} and the Hessian {(n, n)}, got {partials.shape} and '
            f'{H.shape}'
        )
    check_number('the gain', gain)
    inverse = WeightedInverse(J)
    if inverse.rank < m:
        raise ArgumentError(f'the Jacobian has lost rank: {inverse.rank} of {m}')
    Z = inverse.null_space
    forces = inverse.inverse().T @ g  # J^+T grad H
    A = Z.T @ (H - np.einsum('ijk,i->jk', partials, forces))
    B, E = extended_inverse(J, A)
    rates: Array = B @ V - gain * (E @ (Z.T @ g))
    return rates
