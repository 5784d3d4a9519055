# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Observer of external torques by the generalized momentum p = M(q) v.

Without accelerations, and without the inverse of M: with M' = C + C^T the equations of motion are

    p' = tau + tau_ext + C^T v - g - f                                               (1)

and the residual r that follows tau_ext with the rate K (1 / time constant),

    r' = K (tau_ext - r) = K (p' - n - r),    n = tau + C^T v - g - f                 (2)

Over a step of length h, with the mean of n and the change of p, (2) is linear with a constant
input; its solution is exact for steps of any length:

    r+ = e^(-K h) r + (1 - e^(-K h)) ((p+ - p) / h - n)                               (3)

It has no error for constant tau_ext, because it uses the change of p and not samples of p'.

Example: the momentum p of one joint rises by 0.3 in 0.1 s, and the known torques are 1: the
remainder, 2, is external. With e^(-K h) = 1/2, half of it is estimated after one step.

>>> start = np.array([0.0, 1.0, 0.0])  # p, n, r
>>> half, ten = np.array([0.5]), np.array([10.0])
>>> momentum_step(start, np.array([0.3]), np.array([1.0]), half, ten).round(12)
array([0.3, 1. , 1. ])

Source: De Luca and Mattone, Actuator failure detection and isolation using generalized momenta
(2003); Haddadin, De Luca and Albu-Schaeffer, Robot collisions: a survey on detection, isolation
and identification (2017), (33)-(36). Signs as in E-54.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...types import Array
from .observer import FirstOrderObserver, Sample


class GeneralizedMomentum(FirstOrderObserver):
    """The state is that of `momentum_step`."""

    text = 'by the generalized momentum'
    reads = ('momentum', 'known_torque')
    filters = 1

    def advance(self, state: Array, sample: Sample) -> Array:
        """Return the state after a sample."""
        p, known = sample['momentum'], sample['known_torque']
        return momentum_step(state, p, known, sample.decay, sample.rate)

    def torques(self, n: int, state: Array, given: Mapping[str, Array]) -> Array:
        """Return r (n,)."""
        return state[2 * n :]


def momentum_step(state: Array, p: Array, known: Array, decay: Array, rate: Array) -> Array:
    """Return the next state (3 n,): p, the known part of p', and r = tau_ext filtered.

    May be recorded.

    Parameters
    ----------
    state : (3 n,) array
        The previous state, zero at the start.
    p : (n,) array
        Current generalized momenta [N m s, N s].
    known : (n,) array
        Current n of (2) [N m, N].
    decay : (n,) array
        e^(-K h); 1 in the first step, which only stores p and `known`.
    rate : (1,) array
        1 / h [1/s]; 0 in the first step.
    """
    before, known_before, r = state.reshape(3, -1)
    change = (p - before) * rate - 0.5 * (known + known_before)
    return np.concatenate([p, known, decay * r + (1.0 - decay) * change])
