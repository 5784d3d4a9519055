# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Observer of external torques by inverse dynamics with a filtered acceleration.

The velocities are differentiated and filtered in one step, with the rate K (1 / time constant).
Over a step of length h with constant acceleration this is exactly

    a_f+ = e^(-K h) a_f + (1 - e^(-K h)) (v+ - v) / h                                 (1)

and all other torques pass through the same filter, so that both sides have the same delay:

    y+ = e^(-K h) y + (1 - e^(-K h)) n,     n = C v + g + f - tau                     (2)
    tau_ext = M a_f + y                                                               (3)

M is that of the current configuration. If it changes fast, the generalized momentum is better.

>>> start = np.zeros(4)  # v, n, a_f, y
>>> half, ten = np.array([0.5]), np.array([10.0])
>>> filtered_step(start, np.array([0.3]), np.array([-1.0]), half, ten).round(12)
array([ 0.3 , -1.  ,  1.5 , -0.25])

Source: Van Damme et al., Estimating robot end-effector force from noisy actuator torque
measurements (2011); Haddadin, De Luca and Albu-Schaeffer 2017, section V. Signs as in E-54.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...types import Array
from .observer import FirstOrderObserver, Sample


class FilteredDynamics(FirstOrderObserver):
    """The state is that of `filtered_step`."""

    text = 'inverse dynamics with a filtered acceleration'
    reads = ('velocity', 'static_torque')
    torques_read = ('moved_mass',)
    filters = 2

    def advance(self, state: Array, sample: Sample) -> Array:
        """Return the state after a sample."""
        v, rest = sample['velocity'], sample['static_torque']
        return filtered_step(state, v, rest, sample.decay, sample.rate)

    def torques(self, n: int, state: Array, given: Mapping[str, Array]) -> Array:
        """Return (3), (n,)."""
        torques: Array = given['moved_mass'] @ state[2 * n : 3 * n] + state[3 * n :]
        return torques


def filtered_step(state: Array, v: Array, rest: Array, decay: Array, rate: Array) -> Array:
    """Return the next state (4 n,): v, n, a_f and y. May be recorded.

    Parameters
    ----------
    state : (4 n,) array
        The previous state, zero at the start.
    v : (n,) array
        Current velocities.
    rest : (n,) array
        Current n of (2) [N m, N].
    decay, rate
        As in `generalized_momentum.momentum_step`.
    """
    before, rest_before, a, y = state.reshape(4, -1)
    a = decay * a + (1.0 - decay) * (v - before) * rate
    y = decay * y + (1.0 - decay) * 0.5 * (rest + rest_before)
    return np.concatenate([v, rest, a, y])
