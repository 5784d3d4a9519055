# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Physically possible bodies that agree with the base parameters identified from efforts.

    minimize  1/2 |R G theta - z|^2 + 1/2 |L^-1 (theta - nominal)|^2
              - mu (sum log det Sigma_b(theta) + sum log d(theta))

over all parameters theta. R, z are the reduced equations (`EffortFit.information`), G groups the
parameters, and L has their prior deviations. Parameters that the data do not determine stay near
the nominal robot; the others are hardly affected, because R is larger by orders of magnitude.
Logarithms keep the pseudo-inertias Sigma_b positive definite and the armatures and frictions d
positive. The problem is convex, so Newton's method with decreasing mu finds the unique minimum.

Sources: Wensing, Kim and Slotine 2018, *Linear matrix inequalities for physically consistent
inertial parameter identification*, IEEE RA-L 3(1); Boyd and Vandenberghe 2004, *Convex
optimization*, 11.3 and 11.6 (barrier method, generalized inequalities).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..types import Array
from .drive_unknowns import SIGNED
from .pseudo_inertia import BASIS, parameters_of, physical, pseudo_inertia
from .unknowns import Unknowns

#: Values of mu; the last one changes unidentified parameters by a thousandth.
BARRIER_WEIGHTS = (1.0, 1e-2, 1e-4, 1e-6)
MAX_NEWTON_STEPS = 100  # Newton steps for each mu
NEWTON_DECREMENT = 1e-9  # half the squared Newton decrement at convergence
MIN_STEP = 1e-10
ZERO_SHARE = 1e-4  # armature and friction below this, relative to the prior, are set to zero
START_SHARE = 1e-3  # initial armature and friction relative to the prior


def fit_bodies(
    unknowns: Unknowns, grouping: Array, information: tuple[Array, Array], L: Array
) -> tuple[Array, bool]:
    """Return theta (P,) of physically possible bodies, and whether the iteration has converged.

    Parameters
    ----------
    unknowns : Unknowns
    grouping : (p, P) array
    information : (R, z)
        (k, p) and (k,).
    L : (P, P) array
        See `Unknowns.deviations`.
    """
    T = np.asarray(np.linalg.qr(np.column_stack(information), mode='r'))
    problem = _PhysicalProblem(unknowns, T[:, :-1] @ grouping, T[:, -1], L)
    y, converged = problem.start, True
    for mu in BARRIER_WEIGHTS:
        y, converged = problem.minimum(y, mu)
    theta = problem.theta(y)
    none = problem.positive[theta[problem.positive] < ZERO_SHARE * np.diag(L)[problem.positive]]
    theta[none] = 0.0
    return theta, converged


class _PhysicalProblem:
    """The function of y, theta = nominal + L y.

    L and the second derivatives of the barrier are block diagonal: a block for each body, and
    diagonal elements for the other parameters.
    """

    def __init__(self, unknowns: Unknowns, A: Array, z: Array, L: Array) -> None:
        self.L, self.nominal = L, unknowns.nominal
        self.A, self.z = A @ L, z - A @ unknowns.nominal
        self.normal = self.A.T @ self.A + np.eye(A.shape[1])
        self.rows: NDArray[np.int64] = np.arange(10 * len(unknowns.bodies)).reshape(-1, 10)
        self.blocks = L[self.rows[:, :, None], self.rows[:, None, :]]
        self.positive: NDArray[np.int64] = np.array(
            [
                k
                for k, name in enumerate(unknowns.names)
                if k >= self.rows.size and name.rpartition('/')[2] not in SIGNED
            ],
            dtype=np.int64,
        )
        theta = self.nominal.copy()
        for place in self.rows:
            theta[place] = parameters_of(physical(theta[place]))
        least = START_SHARE * np.diag(L)[self.positive]
        theta[self.positive] = np.maximum(theta[self.positive], least)
        self.start = np.linalg.solve(L, theta - self.nominal)

    def theta(self, y: Array) -> Array:
        """Return the parameters."""
        return np.asarray(self.nominal + self.L @ y)

    def value(self, y: Array, mu: float) -> float:
        """Return the function, infinite for physically impossible bodies."""
        theta = self.theta(y)
        d = theta[self.positive]
        if (d <= 0.0).any():
            return np.inf
        try:
            factors = np.linalg.cholesky(pseudo_inertia(theta[self.rows]))
        except np.linalg.LinAlgError:
            return np.inf
        diagonals = np.diagonal(factors, axis1=1, axis2=2)
        barrier = float(np.log(d).sum() + 2.0 * np.log(diagonals).sum())
        e = self.A @ y - self.z
        return 0.5 * float(e @ e + y @ y) - mu * barrier

    def derivatives(self, y: Array, mu: float) -> tuple[Array, Array]:
        """Return gradient and Hessian."""
        theta = self.theta(y)
        slope = np.zeros(len(theta))
        slope[self.positive] = 1.0 / theta[self.positive]
        relative = np.linalg.inv(pseudo_inertia(theta[self.rows]))[:, None] @ BASIS
        slope[self.rows] = np.trace(relative, axis1=2, axis2=3)
        curvature = np.einsum('kiab,kjba->kij', relative, relative)
        gradient = self.A.T @ (self.A @ y - self.z) + y - mu * self.L.T @ slope
        hessian = self.normal.copy()
        hessian[self.rows[:, :, None], self.rows[:, None, :]] += mu * (
            np.swapaxes(self.blocks, 1, 2) @ curvature @ self.blocks
        )
        scale = np.diag(self.L)[self.positive] / theta[self.positive]
        hessian[self.positive, self.positive] += mu * scale**2
        return gradient, hessian

    def minimum(self, y: Array, mu: float) -> tuple[Array, bool]:
        """Return the minimum, by Newton steps with backtracking from y, and the convergence."""
        value = self.value(y, mu)
        for _ in range(MAX_NEWTON_STEPS):
            try:
                gradient, hessian = self.derivatives(y, mu)
                step = -np.linalg.solve(hessian, gradient)
            except np.linalg.LinAlgError:  # bodies at the boundary of the physically possible
                return y, False
            decrement = -float(gradient @ step)
            if decrement < 2.0 * NEWTON_DECREMENT:
                return y, True
            length = 1.0
            while (
                not (new := self.value(y + length * step, mu)) <= value - 0.1 * length * decrement
            ):
                length /= 2.0
                if length < MIN_STEP:  # rounding
                    return y, decrement < 1e-3
            y, value = y + length * step, new
        return y, False
