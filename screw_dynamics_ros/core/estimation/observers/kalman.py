# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Observer of external torques by a Kalman filter on the generalized momentum.

The state x = (p, d) has the momenta and the external torques, modeled as a random walk:

    p' = n + d + w_tau,    d' = w_d,    z = p + e,                                      (1)

with n = tau + C^T v - g - f (see `generalized_momentum`). The errors w_tau of measured torques are
independent from sample to sample with the standard deviation sigma_tau, the random walk d has the
intensity sigma_d^2, and the errors of momenta are M times those of the velocities, sigma_v:

    R = M diag(sigma_v^2) M^T.

Over a step of length h (1) is integrated exactly. The covariance of (1), P of p, D of d and C
between them, determines the gains K of p and G of d, whether or not the external torques change:

    (K^T, G^T) = (P + R)^-1 (P, C),    (P+, C+) = R (K^T, G^T),    D+ = D - G C.          (2)

The covariance that is stated is that of the errors (e_p, e_d) for a constant external torque, which
the filter with these gains has by noise and by the start. With the mean n of two samples, whose
errors are w,

    e_p- = e_p + h e_d + h (w + w+) / 2,    e_p+ = (1 - K) e_p- + K e,                  (3)
    e_d+ = e_d - G e_p- + G e,

so that w+ has the covariances (1 - K) h sigma_tau^2 / 2 and -G h sigma_tau^2 / 2 with e_p+ and
e_d+. The first errors e_p and e are the same. Of the covariances E, F and H in the order of P, C
and D,

    (W, X) = (E, F) - E (K^T, G^T),    (Y, Z) = (W, X) - (P+, C+),                        (4)
    (E+, F+) = (W, X) - K (Y, Z),      H+ = H - (G F)^T - G Z,

as R (K^T, G^T) is that of (2): the Joseph form, in fewer operations.

Source: Hu and Xiong, Contact force estimation for robot manipulator using semiparametric model and
disturbance Kalman filter (2018); Wahrburg et al., Motor-current-based estimation of Cartesian
contact forces and torques for robotic manipulators (2018); Gelb, Applied Optimal Estimation, 7.2,
for covariances of filters with other noise than that of their gains. Signs as in E-54.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...linear import solve_positive_definite, symmetric
from ...types import Array
from .observer import Observer, Sample

BLOCKS = 8  # (n, n) arrays in a state


class Noise(NamedTuple):
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
        """Return the covariance of e_d (n^2,)."""
        return state[len(state) - n * n :]

    def settling_time(self, time_constant: float) -> int:
        """Return 0: the covariance includes the uncertainty of the start."""
        return 0


def kalman_size(n: int) -> int:
    """Return the length of the state for n joints."""
    return 3 * n + BLOCKS * n * n


def kalman_step(
    state: Array, p: Array, known: Array, M: Array, noise: Noise, step: Array, first: Array
) -> Array:
    """Return the next state. May be recorded.

    Its (n,) parts are n, p and d. Its (n, n) parts are the covariances P_pp, P_pd and P_dd of (1),
    those of e_p and e_d with w, and those of (3), as of (1).

    Parameters
    ----------
    state : (3 n + 8 n^2,) array
        The previous state; ignored in the first step.
    p, known : (n,) arrays
        As in `generalized_momentum.momentum_step`.
    M : (n, n) array
        Mass matrix.
    noise : Noise
    step, first : (1,) arrays
        h [s]; 1 in the first step, 0 otherwise.
    """
    n, later = len(p), 1.0 - first
    known_before, x, d = state[: 3 * n].reshape(3, n)
    blocks = state[3 * n :].reshape(BLOCKS, n, n)
    PW, DW = blocks[3:5]
    scaled = M * noise.velocity
    R, start = symmetric(scaled @ scaled.T), np.diag(noise.start * noise.start)
    x = first * p + later * (x + step * (0.5 * (known + known_before) + d))
    d = later * d
    walk, torque = noise.change * noise.change, noise.torque * noise.torque
    square, half = step * step, 0.5 * step

    P, C, D = moved(blocks[:3], step)
    P = P + np.diag(square * torque + (square * step / 3.0) * walk)
    P, C = first * R + later * P, later * (C + np.diag(0.5 * square * walk))
    D = first * start + later * (D + np.diag(step * walk))
    gains = solve_positive_definite(P + R, np.hstack([P, C]))
    K, G = gains[:, :n].T, gains[:, n:].T
    innovation, after = p - x, R @ gains

    E, F, H = moved(blocks[5:], step)
    mixed, F = PW + step * DW, F + half * DW.T
    E = E + half * (mixed + mixed.T) + np.diag(0.5 * square * torque)
    left = np.hstack([E, F]) - E @ gains
    rest = left - after
    left = left - K @ rest
    at_start = R, np.zeros((n, n)), start
    stated = symmetric(left[:, :n]), left[:, n:], symmetric(H - (G @ F).T - G @ rest[:, n:])
    return np.concatenate(
        [
            *(known, x + K @ innovation, d + G @ innovation),
            *(symmetric(after[:, :n]).ravel(), after[:, n:].ravel()),
            symmetric(D - G @ C).ravel(),
            *(((np.eye(n) - K) * (half * torque)).ravel(), (-G * (half * torque)).ravel()),
            *((first * a + later * b).ravel() for a, b in zip(at_start, stated)),
        ]
    )


def moved(blocks: Array, step: Array) -> tuple[Array, Array, Array]:
    """Return the covariances (3, n, n) of p and d, for a constant d, after a step."""
    P, cross, D = blocks
    moved_cross = cross + step * D
    return symmetric(P + step * (cross + moved_cross.T)), moved_cross, D
