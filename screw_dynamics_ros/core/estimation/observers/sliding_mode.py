# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Observer of external torques by second-order sliding modes on the generalized momentum.

With p' = n + tau_ext (see `generalized_momentum`), the estimates p_hat and sigma of p and tau_ext
follow the super-twisting algorithm, separately for each joint:

    p_hat' = n + sigma - T1 |e|^(1/2) sign(e),   sigma' = -S1 sign(e),   e = p_hat - p     (1)

If tau_ext changes by at most L [N m/s], e and e' converge to zero in finite time with
T1 = 1.5 L^(1/2) and S1 = 1.1 L; then sigma equals tau_ext, even while tau_ext changes.

The implicit Euler step of length h, with the mean of n, has a unique solution. With

    b = e + h n - (p+ - p) + h sigma,   b_i = b within +-h^2 S1,   b_o = b - b_i           (2)
    e+ = sign(b_o) y^2,   y^2 + h T1 y = |b_o|,   sigma+ = sigma - b_i / h                 (3)

there is no chattering: for |b| <= h^2 S1, e+ = 0 and sigma+ = (p+ - p) / h - n, the mean torque of
the step, delayed by half a step. It starts with that mean at the second sample.

Example: for a torque of 2 + 5 t (h = 0.1, L = 10) the result is the mean of each step, without
further delay:

>>> state, noise = np.zeros(13), (np.ones((1, 1)), np.array([1e-3]), np.array([0.1]))
>>> for k in range(4):
...     p = np.array([2.0 * 0.1 * k + 2.5 * (0.1 * k) ** 2])
...     step = (np.array([0.0 if k == 0 else each]) for each in (10.0, 0.1))
...     first = np.array([float(k == 0)])
...     state = sliding_step(state, p, np.zeros(1), *noise, np.array([10.0]), *step, first)
...     print(state[3].round(12))
0.0
2.25
2.75
3.25

**Noise.** Errors of p (u, of covariance sigma_v^2 M M^T) and of n (w, sigma_tau) propagate through
(2) and (3), which are nonlinear: there is no closed form. The covariance of (u, w, e, sigma) is
propagated by statistical linearization: e+ and b_i are approximated by linear functions of b plus
remainders that are independent between joints. Their moments for normal b follow by quadrature.

Source: Garofalo, Mansfeld, Jankowski and Ott, Sliding mode momentum observers for estimation of
external torques and joint acceleration (2019); Levant, Robust exact differentiation via sliding
mode technique (1998), for the gains; Gelb, Applied Optimal Estimation, 6.4 (statistical
linearization). (2), (3) and the covariance are derived here. Signs as in E-54.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...compile.program.tracing import clamp
from ...linear import symmetric
from ...types import Array
from .observer import Observer, Sample

VECTORS, MATRICES = 7, 6  # numbers of (n,) and (n, n) arrays in a state
UNBOUNDED_HALF_WIDTH = 1e12  # half width of the sliding zone in the second sample [N m s]
MIN_VARIANCE = 1e-300  # prevents division by zero

#: Positive nodes and weights of the Gauss-Hermite quadrature with 8 points, for the mean of an even
#: function of a normal variable; as literals, so that they are equal on all processors.
NODES = (0.5390798113513751, 1.636519042435108, 2.8024858612875416, 4.1445471861258945)
WEIGHTS = (0.7460245153581547, 0.2344798153235181, 0.019270440241576516, 0.0002252290767507353)


class SlidingMode(Observer):
    """The state is that of `sliding_step`."""

    text = 'by second-order sliding modes on the generalized momentum'
    reads = ('momentum', 'known_torque', 'moved_mass')
    parameters = (
        'observer_velocity_deviation',
        'observer_effort_deviation',
        'observer_torque_rate',
    )
    estimates_covariance = True
    requires_finite_state = True

    def state_size(self, n: int) -> int:
        """Return the length of the state of `sliding_step`."""
        return VECTORS * n + MATRICES * n * n

    def advance(self, state: Array, sample: Sample) -> Array:
        """Return the state after a sample."""
        p, known, M = (sample[name] for name in self.reads)
        velocity, effort, torque_rate = sample.parameters
        step = sample.rate, sample.step, sample.first
        return sliding_step(state, p, known, M, velocity, effort, torque_rate, *step)

    def torques(self, n: int, state: Array, given: Mapping[str, Array]) -> Array:
        """Return sigma (n,)."""
        return state[3 * n : 4 * n]

    def covariance(self, n: int, state: Array) -> Array:
        """Return the covariance of sigma (n^2,)."""
        return state[len(state) - n * n :]

    def settling_time(self, time_constant: float) -> int:
        """Return the shortest time: the torque is valid from the second sample on."""
        return 1


def sliding_step(
    state: Array,
    p: Array,
    known: Array,
    M: Array,
    velocity: Array,
    effort: Array,
    torque_rate: Array,
    rate: Array,
    step: Array,
    first: Array,
) -> Array:
    """Return the next state. May be recorded.

    Its (n,) parts are p, n, e, sigma, 1 after the first sample, and the covariances of w with e and
    with sigma. Its (n, n) parts are the covariances of u, of u with e and with sigma, of e, of e
    with sigma, and of sigma.

    Parameters
    ----------
    state : (7 n + 6 n^2,) array
        The previous state, zero at the start.
    p, known : (n,) arrays
        As in `generalized_momentum.momentum_step`.
    M : (n, n) array
        Mass matrix.
    velocity, effort : (n,) arrays
        Standard deviations of velocities and efforts [rad/s, m/s; N m, N].
    torque_rate : (n,) array
        L [N m/s, N/s], greater than 0.
    rate, step, first : (1,) arrays
        1 / h [1/s] and h [s], both 0 in the first sample; 1 in the first sample, 0 otherwise.
    """
    n, later, h = len(p), 1.0 - first, step
    before, known_before, e, sigma, begun, we, ws = state[: VECTORS * n].reshape(VECTORS, n)
    R, UE, US, EE, ES, SS = state[VECTORS * n :].reshape(MATRICES, n, n)
    gain = 1.5 * h * np.sqrt(torque_rate)  # h T1
    zone = 1.1 * h * h * torque_rate + begun * UNBOUNDED_HALF_WIDTH + first  # h^2 S1
    b = later * (e + 0.5 * h * (known + known_before) - (p - before) + h * sigma)
    e_next, inside = solution(b, zone, gain, first)

    scaled, q = M * velocity, effort * effort
    R_next = scaled @ scaled.T
    mixed = UE + h * (ES + US)
    B = EE + R + R_next + h * h * SS + mixed + mixed.T
    B = later * (B + np.diag(h * h * (0.5 * q + ws) + h * we))
    BS = ES + US + h * SS + np.diag(0.5 * h * ws)  # of b and sigma
    variance = np.diag(B)
    eb, ib, ee, ei, ii = moments(variance, zone, gain, first)
    to_e, to_sigma = later * eb, rate * ib  # e+ ~ to_e b, sigma+ ~ sigma - to_sigma b
    across, turned = to_sigma[:, None] * BS, to_e[:, None] * B
    return np.concatenate(
        [
            *(p, known, e_next, later * sigma - rate * inside, first + 0.0 * p),
            *(0.5 * h * to_e * q, -0.5 * h * to_sigma * q),
            R_next.ravel(),
            (-R_next * to_e).ravel(),
            (R_next * to_sigma).ravel(),
            (turned * to_e + np.diag(later * (ee - eb * eb * variance))).ravel(),
            (
                to_e[:, None] * BS - turned * to_sigma - np.diag(rate * (ei - eb * ib * variance))
            ).ravel(),
            symmetric(
                later * SS
                - across
                - across.T
                + to_sigma[:, None] * B * to_sigma
                + np.diag(rate * rate * (ii - ib * ib * variance))
            ).ravel(),
        ]
    )


def solution(b: Array, zone: Array, gain: Array, first: Array) -> tuple[Array, Array]:
    """Return e+ of (3) and b_i of (2), (n,) each; `zone` and `gain` are h^2 S1 and h T1."""
    inside = zone * np.array([clamp(each, -1.0, 1.0) for each in b / zone])
    outside = b - inside
    size = nonnegative(outside) + nonnegative(-outside)
    half = gain + np.sqrt(gain * gain + 4.0 * size) + first  # y = 2 |b_o| / half
    return outside * (4.0 * size / (half * half)), inside


def moments(variance: Array, zone: Array, gain: Array, first: Array) -> tuple[Array, ...]:
    """Return E[e+ b] / E[b^2], E[b_i b] / E[b^2], E[e+^2], E[e+ b_i], E[b_i^2] for normal b."""
    deviation, total = np.sqrt(variance + MIN_VARIANCE), np.zeros((5, len(variance)))
    for node, weight in zip(NODES, WEIGHTS):
        b = node * deviation
        e, inside = solution(b, zone, gain, first)
        pairs = (e * node / deviation, inside * node / deviation, e * e, e * inside, inside**2)
        total = total + weight * np.array(pairs)
    return tuple(total)


def nonnegative(x: Array) -> Array:
    """Return max(x, 0) of each element."""
    return np.array([clamp(each, 0.0, np.inf) for each in x])
