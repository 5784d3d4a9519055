# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The heavy top: a body on a spherical joint to the ground, in absolute coordinates.

Müller and Terze, section 5.1, equations (38) to (42), written out by hand in both groups; data and
reference solution are those of example E1.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import bernoulli, factorial

from screw_dynamics_ros.core.integration import Integrator

MASS, INERTIA = 21.6, np.diag([0.36, 0.306, 0.09])  # kg, kg m^2
CENTER = np.array([0.5, 0.0, 0.0])  # of mass, seen from the pivot [m]
Q0 = np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
OMEGA0 = np.array([0.0, 20 * np.pi, 10 * np.pi])

#: Center of mass [m] and angular velocity [rad/s] at 0.1 s and at 1 s, of a solver with 1e-13.
COM_AT_100_MS = np.array([0.37778081142, 0.13253519293, -0.29952642814])
COM_AT_1_S = np.array([0.32029740668, 0.16977118423, -0.34436509155])
OMEGA_AT_100_MS = np.array([-23.02237092604, 68.86254494459, 11.25826479955])

GROUPS = ('SE(3)', 'SO(3) x R^3')

#: Coefficients of the series of dexp and its inverse: 1 / (k + 1)!, and Bernoulli numbers over k!.
DEXP = 1.0 / factorial(np.arange(1, 17))
DEXP_INV = bernoulli(16) / factorial(np.arange(17))


def hat(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def rotation(q: np.ndarray) -> np.ndarray:
    E = hat(q[3:6])
    return np.eye(3) + 2 * q[6] * E + 2 * E @ E


def series(a: np.ndarray, x: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return the sum of coefficients[k] a^k x; to rounding for angles up to half a radian."""
    total = coefficients[-1] * x
    for coefficient in coefficients[-2::-1]:
        total = a @ total + coefficient * x
    return total


def turned(e: np.ndarray, xi: np.ndarray) -> np.ndarray:
    """Return the quaternion e times that of the rotation vector."""
    angle = np.sqrt(xi @ xi)
    d, w = 0.5 * np.sinc(angle / (2 * np.pi)) * xi, np.cos(angle / 2)
    return np.append(e[3] * d + w * e[:3] + hat(e[:3]) @ d, e[3] * w - e[:3] @ d)


class HeavyTop:
    """A `ConstrainedSystem`; on SE(3) v is the twist, on SO(3) x R^3 (omega, r')."""

    nq, nv = 7, 6
    free_bodies: Mapping[str, slice] = {'top': slice(0, 6)}

    def __init__(self, group: str, gravity: float = 0.0) -> None:
        self.group, self.gravity = group, gravity
        self._M = np.diag([*np.diag(INERTIA), MASS, MASS, MASS])

    def initial_velocity(self) -> np.ndarray:
        return np.append(OMEGA0, np.cross(OMEGA0, CENTER))  # R(0) = I: in either group

    def integrate(self, q, displacement, increments='body'):
        assert increments == 'body'
        xi, eta = displacement[:3], displacement[3:]
        if self.group == 'SE(3)':
            eta = rotation(q) @ series(hat(xi), eta, DEXP)
        return np.concatenate([q[:3] + eta, turned(q[3:], xi)])

    def increment_rate(self, q, displacement, v, increments='body'):
        assert increments == 'body'
        xi, eta = hat(displacement[:3]), hat(displacement[3:])
        if self.group == 'SE(3)':
            ad = np.zeros((6, 6))
            ad[:3, :3] = ad[3:, 3:] = xi
            ad[3:, :3] = eta
            return series(-ad, v, DEXP_INV)
        return np.append(series(-xi, v[:3], DEXP_INV), v[3:])

    def mass_matrix(self, q):
        return self._M

    def generalized_forces(self, q, v, tau, external_wrenches=None):
        omega, weight = v[:3], np.array([0, 0, -MASS * self.gravity])
        moment = -hat(omega) @ INERTIA @ omega
        if self.group == 'SE(3)':
            return tau + np.append(moment, rotation(q).T @ weight - MASS * hat(omega) @ v[3:])
        return tau + np.append(moment, weight)

    def constraint_residuals(self, q):
        R = rotation(q)
        return R.T @ q[:3] - CENTER if self.group == 'SE(3)' else q[:3] - R @ CENTER

    def constraint_jacobian(self, q):
        lever = hat(CENTER) if self.group == 'SE(3)' else rotation(q) @ hat(CENTER)
        return np.concatenate([lever, np.eye(3)], axis=1)

    def acceleration_bias(self, q, v):
        omega = v[:3]
        eta = -hat(omega) @ hat(omega) @ CENTER
        return eta + hat(omega) @ v[3:] if self.group == 'SE(3)' else -rotation(q) @ eta

    def solve_saddle_point(self, q, r, s):
        J = self.constraint_jacobian(q)
        K = np.zeros((9, 9))
        K[:6, :6], K[6:, :6], K[:6, 6:] = self._M, J, J.T
        solution = np.linalg.solve(K, np.append(r, s))
        return solution[:6], solution[6:]

    def forward_dynamics(self, q, v, tau, external_wrenches=None):
        Q = self.generalized_forces(q, v, tau)
        return self.solve_saddle_point(q, Q, self.acceleration_bias(q, v))[0]

    def energy(self, q, v):
        return 0.5 * v @ self._M @ v + MASS * self.gravity * q[2]


def run(
    integrator: Integrator, steps: int, seconds: float = 0.1
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return q and v after some time without gravity, and the largest violation |g| until then."""
    top, violation = integrator.robot, 0.0
    q, v = Q0, top.initial_velocity()
    for _ in range(steps):
        q, v = integrator.step(q, v, np.zeros(6), seconds / steps)
        violation = max(violation, float(np.linalg.norm(top.constraint_residuals(q))))
    return q, v, violation
