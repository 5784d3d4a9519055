# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Observer of external torques by a Kalman filter on the generalized momentum.

The state x = (p, d) has the momenta and the external torques, modeled as a random walk:

    p' = n + d + w_tau,    d' = w_d,    z = p + e,                                      (1)

with n = tau + C^T v - g - f (see `generalized_momentum`). The errors w_tau of measured torques are
independent from sample to sample with the standard deviation sigma_tau, the random walk d has the
intensity sigma_d^2, and the errors of momenta are M times those of the velocities, sigma_v:

    R = M diag(sigma_v^2) M^T.

Over a step of length h (1) is integrated exactly. The update has Joseph form, which keeps
covariances symmetric and positive semidefinite in spite of rounding errors of the gain.

Source: Hu and Xiong, Contact force estimation for robot manipulator using semiparametric model and
disturbance Kalman filter (2018); Wahrburg et al., Motor-current-based estimation of Cartesian
contact forces and torques for robotic manipulators (2018). Signs as in E-54.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...linear import solve_positive_definite, symmetric
from ...types import Array
from .observer import Observer, Sample


@dataclass(frozen=True, eq=False)
class Noise:
    """Standard deviations, (n,) each; may contain recorded numbers.

    Attributes
    ----------
    velocity : (n,) array
        sigma_v [rad/s, m/s], greater than 0.
    torque : (n,) array
        sigma_tau [N m, N].
    change : (n,) array
        sigma_d [N m/sqrt(s), N/sqrt(s)].
    start : (n,) array
        Standard deviation of d in the first step [N m, N].
    """

    velocity: Array
    torque: Array
    change: Array
    start: Array


class MomentumKalmanFilter(Observer):
    """The state is that of `kalman_step`."""

    text = 'by a Kalman filter on the generalized momentum'
    reads = ('momentum', 'known_torque', 'moved_mass')
    parameters = (
        'observer_velocity_deviation',
        'observer_effort_deviation',
        'observer_torque_change',
        'observer_torque_change',  # also used as deviation at the start
    )
    estimates_covariance = True
    requires_finite_state = True

    def state_size(self, n: int) -> int:
        """Return `kalman_size`."""
        return kalman_size(n)

    def advance(self, state: Array, sample: Sample) -> Array:
        """Return the state after a sample."""
        p, known, M = (sample[name] for name in self.reads)
        noise = Noise(*sample.parameters)
        return kalman_step(state, p, known, M, noise, sample.step, sample.first)

    def torques(self, n: int, state: Array, given: Mapping[str, Array]) -> Array:
        """Return d (n,)."""
        return state[2 * n : 3 * n]

    def covariance(self, n: int, state: Array) -> Array:
        """Return P_dd (n^2,)."""
        return state[len(state) - n * n :]

    def settling_time(self, time_constant: float) -> int:
        """Return 0: the covariance includes the uncertainty of the start."""
        return 0


def kalman_size(n: int) -> int:
    """Return the length of the state for n joints."""
    return 3 * n + 3 * n * n


def kalman_step(
    state: Array, p: Array, known: Array, M: Array, noise: Noise, step: Array, first: Array
) -> Array:
    """Return the next state: n (n,), p, d, and the covariances P_pp, P_pd, P_dd. May be recorded.

    Parameters
    ----------
    state : (3 n + 3 n^2,) array
        The previous state; ignored in the first step.
    p, known : (n,) arrays
        As in `generalized_momentum.momentum_step`.
    M : (n, n) array
        Mass matrix.
    noise : Noise
    step, first : (1,) arrays
        h [s]; 1 in the first step, 0 otherwise.
    """
    n = len(p)
    known_before, x, d = state[: 3 * n].reshape(3, n)
    blocks = state[3 * n :].reshape(3, n, n)
    scaled = M * noise.velocity
    R = symmetric(scaled @ scaled.T)
    x, d, P, cross, D = predicted(x, d, 0.5 * (known + known_before), blocks, noise, step)
    later = 1.0 - first
    x, d = first * p + later * x, later * d
    P, cross = first * R + later * P, later * cross
    D = np.diag(first * noise.start * noise.start) + later * D
    x, d, P, cross, D = updated(x, d, P, cross, D, p, R)
    return np.concatenate([known, x, d, P.ravel(), cross.ravel(), D.ravel()])


def predicted(
    x: Array, d: Array, known: Array, blocks: Array, noise: Noise, step: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the state and its covariances after a step of (1)."""
    P, cross, D = blocks
    walk, torque = noise.change * noise.change, noise.torque * noise.torque
    square = step * step
    P = P + step * (cross + cross.T) + square * D
    P = P + np.diag(square * torque + (square * step / 3.0) * walk)
    cross = cross + step * D + np.diag(0.5 * square * walk)
    return x + step * (known + d), d, symmetric(P), cross, symmetric(D + np.diag(step * walk))


def updated(
    x: Array, d: Array, P: Array, cross: Array, D: Array, z: Array, R: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the state and its covariances after the measurement z = p + e with covariance R."""
    n = len(z)
    S = P + R
    gain = solve_positive_definite(S, np.hstack([P, cross])).T
    K, G = gain[:n], gain[n:]
    A, innovation = np.eye(n) - K, z - x
    KR = K @ R
    shared = G @ cross
    return (
        x + K @ innovation,
        d + G @ innovation,
        symmetric(A @ P @ A.T + KR @ K.T),
        A @ (cross - P @ G.T) + KR @ G.T,
        symmetric(D - shared - shared.T + G @ S @ G.T),
    )
