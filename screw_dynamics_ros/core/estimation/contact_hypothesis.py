r"""One hypothesis of a contact: a force at some place of a segment of one link. May be recorded.

Torques of a force f at p(s) = p_0 + s d, 0 <= s <= 1, all in the frame of the link, with the rows
omega_i, v_i of the transposed body Jacobian of the link:

    tau = (A_0 + s A_1) f + e,    A_0 = v + omega x p_0,    A_1 = omega x d                (1)

(zero for joints that do not move the link). For a given s the best force and its misfit are

    f = N(s)^-1 b(s),    chi^2(s) = tau^T S_tau^-1 tau - b(s)^T f(s)                       (2)

where N and b, A^T S_tau^-1 A and A^T S_tau^-1 tau, are polynomials of s: `misfits` on a grid.
`refined` goes on from the best one by Gauss-Newton steps in the four unknowns (f, s), with errors

    S = S_tau + (r / 2)^2 C C^T,    C_i = (omega_i x f)^T (1 - d d^T / d^T d),             (3)

where C C^T stands for a line of action that misses the axis of a link with the radius r: half of
r for friction at 30 degrees. Forces are N(0, F^2) beforehand, so that directions that no joint
feels do no harm.

Source: derived here; the relation (1) is that of Haddadin, De Luca and Albu-Schaeffer, Robot
collisions: a survey on detection, isolation and identification (2017), section VI.
"""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.compile.program.tracing import clamp
from screw_dynamics_ros.core.linear import cross, inverse_factors, solve_positive_definite, zeros
from screw_dynamics_ros.core.types import Array

GRID = np.linspace(0.0, 1.0, 13)
STEPS = 3  # of Gauss-Newton
WEAK = 1e-6  # information on s without data: places without length need some


def misfits(J: Array, segment: Array, torques: Array, weight: Array, strength: Array) -> Array:
    """Return chi^2 of (2) at the places of `GRID`.

    Parameters
    ----------
    J : (6, n) array
        Body Jacobian of the link, angular rows first.
    segment : (6,) array
        p_0 and d [m].
    torques : (n,) array
        tau [N m, N].
    weight : (n, n) array
        S_tau^-1.
    strength : (1,) array
        1 / F^2 [1/N^2].

    Examples
    --------
    A rod about z, touched at its middle: a torque of one joint tells a product, not a place.

    >>> rod = np.array([0, 0, 0, 1.0, 0, 0])
    >>> chi2 = misfits(np.eye(6)[:, 2:3], rod, np.ones(1), np.eye(1), np.full(1, 1e-9))
    >>> chi2[1:].round(4).tolist() == [0.0] * 12
    True
    """
    A0, A1 = levers(J, segment)
    WA0, WA1 = weight @ A0, weight @ A1
    N0, N1, N2 = A0.T @ WA0, A0.T @ WA1 + A1.T @ WA0, A1.T @ WA1
    N0 = N0 + np.eye(3) * strength
    b0, b1 = WA0.T @ torques, WA1.T @ torques
    square = torques @ (weight @ torques)
    chi2 = []
    for s in GRID:
        N, b = N0 + s * N1 + (s * s) * N2, b0 + s * b1
        chi2.append(square - b @ solve_positive_definite(N, b))
    return np.array(chi2)


def refined(
    J: Array, segment: Array, start: Array, torques: Array, covariance: Array, strength: Array
) -> tuple[Array, Array, Array, Array]:
    """Return place and force, and what is known of them.

    Parameters
    ----------
    J, segment, torques, strength
        As for `misfits`.
    start : (3,) array
        s to start from, |d|^2 [m^2] (anything for a point) and (r / 2)^2 [m^2].
    covariance : (n, n) array
        S_tau.

    Returns
    -------
    (4,) array
        f [N] and s.
    (4, 4) array
        H = B^T S^-1 B + 1 / F^2: the inverse of their covariance, to first order.
    (1,) array
        chi^2.
    (n,) array
        Numbers whose product is 1 / det S.
    """
    A0, A1 = levers(J, segment)
    s, square, offset = start
    d = segment[3:]
    L, D = inverse_factors(covariance)
    A = A0 + s * A1
    f = fitted(L.T @ A, D.diagonal(), L.T @ torques, strength)
    C = cross(J[:3].T, f)
    C = C - (C @ d / square)[:, None] * d
    L, D = inverse_factors(covariance + offset * (C @ C.T))
    weight, prior = D.diagonal(), zeros((4, 4), f)
    for k in range(3):
        prior[k, k] = strength[0]
    prior[3, 3] = prior[3, 3] + WEAK
    for step in range(STEPS + 1):
        A = A0 + s * A1
        B = L.T @ np.hstack([A, (A1 @ f)[:, None]])
        r = L.T @ (torques - A @ f)
        WB = weight[:, None] * B
        H = B.T @ WB + prior
        if step == STEPS:
            return np.array([*f, s]), H, np.array([r @ (weight * r)]), weight
        change = solve_positive_definite(H, WB.T @ r - prior @ np.array([*f, 0.0]))
        s = clamp(s + change[3], 0.0, 1.0)
        f = fitted(L.T @ (A0 + s * A1), weight, L.T @ torques, strength)
    raise AssertionError  # not reached


def fitted(A: Array, weight: Array, torques: Array, strength: Array) -> Array:
    """Return the force (3,) that explains torques best at one place."""
    WA = weight[:, None] * A
    return solve_positive_definite(A.T @ WA + np.eye(3) * strength, WA.T @ torques)


def levers(J: Array, segment: Array) -> tuple[Array, Array]:
    """Return A_0 and A_1 of (1), (n, 3) each.

    >>> A0, A1 = levers(np.eye(6)[:, 2:3], np.array([0, 0, 0, 1.0, 0, 0]))
    >>> A0.tolist(), A1.tolist()
    ([[0.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    """
    W, V = J[:3].T, J[3:].T
    return V + cross(W, segment[:3]), cross(W, segment[3:])
