# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""One contact hypothesis: a force at a point of a segment of one link. Can be recorded.

Torques of a force f at p(s) = p_0 + s d, 0 <= s <= 1, all in the frame of the link, with the rows
omega_i, v_i of the transposed body Jacobian of the link:

    tau = (A_0 + s A_1) f + e,    A_0 = v + omega x p_0,    A_1 = omega x d                (1)

(zero for joints that do not move the link). The rows are whitened, so that the errors e of the
torques are independent with variance 1: L^-1 tau, L^-1 J^T for S_tau = L L^T. For a given s the
best force and its misfit are

    f = N(s)^-1 b(s),    chi^2(s) = tau^T tau - b(s)^T f(s)                             (2)

where N = A^T A and b = A^T tau are polynomials of s: `misfits` evaluates them on a grid. `refined`
continues from the best point by Gauss-Newton steps in the four unknowns (f, s), with the covariance

    S = 1 + (r / 2)^2 C C^T,    C_i = (omega_i x f)^T (1 - d d^T / d^T d),               (3)

where C C^T represents lines of action that miss the axis of a link with the radius r, by r / 2 for
friction at 30 degrees. Its rank is three, so that S^-1 is cheap (Woodbury). The prior of forces is
N(0, F^2), which regularizes directions without effect on any joint.

Source: derived here; the relation (1) is that of Haddadin, De Luca and Albu-Schaeffer, Robot
collisions: a survey on detection, isolation and identification (2017), section VI.
"""

from __future__ import annotations

import numpy as np

from ..compile.program.tracing import clamp
from ..linear import cross, solve_positive_definite, triangular_factor, zeros
from ..types import Array

GRID = np.linspace(0.0, 1.0, 13)
GAUSS_NEWTON_STEPS = 3
PRIOR_INFORMATION = 1e-6  # prior information on s, for segments without length


def misfits(J: Array, segment: Array, torques: Array, strength: Array) -> Array:
    """Return chi^2 of (2) at the points of `GRID`.

    Parameters
    ----------
    J : (6, n) array
        Body Jacobian of the link times L^-T, angular rows first.
    segment : (6,) array
        p_0 and d [m].
    torques : (n,) array
        L^-1 tau.
    strength : (1,) array
        1 / F^2 [1/N^2].

    Examples
    --------
    A rod about z with a contact at its middle: one joint torque does not determine the point.

    >>> rod = np.array([0, 0, 0, 1.0, 0, 0])
    >>> chi2 = misfits(np.eye(6)[:, 2:3], rod, np.ones(1), np.full(1, 1e-9))
    >>> chi2[1:].round(4).tolist() == [0.0] * 12
    True
    """
    A0, A1 = levers(J, segment)
    mixed = A0.T @ A1
    N0, N1, N2 = A0.T @ A0 + np.eye(3) * strength, mixed + mixed.T, A1.T @ A1
    b0, b1 = A0.T @ torques, A1.T @ torques
    chi2 = []
    for s in GRID:
        N, b = N0 + s * N1 + (s * s) * N2, b0 + s * b1
        chi2.append(torques @ torques - b @ solve_positive_definite(N, b))
    return np.array(chi2)


def refined(
    J: Array, segment: Array, start: Array, torques: Array, strength: Array
) -> tuple[Array, Array, Array, Array]:
    """Return force and point, their information matrix, and the misfit.

    Parameters
    ----------
    J, segment, torques, strength
        As for `misfits`.
    start : (3,) array
        Initial s, |d|^2 [m^2] (arbitrary for a point) and (r / 2)^2 [m^2].

    Returns
    -------
    (4,) array
        f [N] and s.
    (4, 4) array
        H = B^T S^-1 B + 1 / F^2: inverse covariance to first order.
    (1,) array
        chi^2.
    (3,) array
        Factors of det S.
    """
    A0, A1 = levers(J, segment)
    s, square, offset = start
    d = segment[3:]
    A = A0 + s * A1
    f = solve_positive_definite(A.T @ A + np.eye(3) * strength, A.T @ torques)
    C = cross(J[:3].T, f)
    C = C - (C @ d / square)[:, None] * d
    G = np.eye(3) + offset * (C.T @ C)

    def weighted(X: Array, Y: Array) -> Array:  # X^T S^-1 Y
        product: Array = X.T @ Y - offset * ((C.T @ X).T @ solve_positive_definite(G, C.T @ Y))
        return product

    prior = zeros((4, 4), f)
    prior[:3, :3] = np.eye(3) * strength
    prior[3, 3] = PRIOR_INFORMATION
    for step in range(GAUSS_NEWTON_STEPS + 1):
        A = A0 + s * A1
        B = np.hstack([A, (A1 @ f)[:, None]])
        r = torques - A @ f
        H = weighted(B, B) + prior
        if step == GAUSS_NEWTON_STEPS:
            chi2 = weighted(r[:, None], r[:, None])[0]
            return np.array([*f, s]), H, chi2, triangular_factor(G).diagonal()
        change = solve_positive_definite(H, weighted(B, r) - prior @ np.array([*f, 0.0]))
        s = clamp(s + change[3], 0.0, 1.0)
        A = A0 + s * A1
        f = solve_positive_definite(weighted(A, A) + np.eye(3) * strength, weighted(A, torques))
    raise AssertionError  # not reached


def levers(J: Array, segment: Array) -> tuple[Array, Array]:
    """Return A_0 and A_1 of (1), (n, 3) each.

    >>> A0, A1 = levers(np.eye(6)[:, 2:3], np.array([0, 0, 0, 1.0, 0, 0]))
    >>> A0.tolist(), A1.tolist()
    ([[0.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    """
    W, V = J[:3].T, J[3:].T
    return V + cross(W, segment[:3]), cross(W, segment[3:])
