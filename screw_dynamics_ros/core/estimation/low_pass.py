# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""First-order low-pass filter for signals sampled at irregular times.

With the cut-off frequency f, a = 2 pi f,

    y' = a (u - y),                                                                   (1)

and an input that is linear between samples, (1) has the exact solution over a step h

    y+ = e y + w0 u + w1 u+,    e = e^(-a h),    w1 = 1 - (1 - e) / (a h),    w0 = 1 - e - w1   (2)

The weights are positive and their sum is 1: a constant is unchanged, and the result is always
within the range of the inputs. The first sample is unchanged: the filter starts settled.

The output for a ramp of 1/s has the delay 1 / a, exactly for any step. From rest at zero, with
a = 1:

>>> w = weights(1.0 / (2.0 * np.pi), 0.5)
>>> state = low_pass_step(np.zeros(2), np.array([0.5]), w)
>>> state = low_pass_step(state, np.array([1.0]), w)
>>> state  # u, and y = t - (1 - e^-t) = 1 / e
array([1.        , 0.36787944])

Source: Franklin, Powell and Workman, Digital Control of Dynamic Systems, 3rd edition, 6.3.2
(triangle hold); (2) by integration of (1).
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.typed.functions import Floats, typed
from ..compile.typed.records import Record
from ..types import Array

SERIES_LIMIT = 1e-6  # a h below which the series of w1 is exact to rounding
PASS_WEIGHTS = (0.0, 0.0, 1.0)  # weights of an inactive filter, and of the first step


def weights(cutoff: float, step: float) -> Array:
    """Return e, w0 and w1 of (2), (3,), for a cut-off frequency [Hz] and a step [s], both > 0."""
    result = np.zeros(3)
    set_weights(result, cutoff, step)
    return result


@typed
def set_weights(weight: Floats, cutoff: float, step: float) -> None:
    """Set e, w0 and w1 as returned by `weights`."""
    x = 2.0 * math.pi * cutoff * step
    w1 = x / 2.0 - x * x / 6.0 if x < SERIES_LIMIT else 1.0 + math.expm1(-x) / x
    weight[0] = math.exp(-x)
    weight[1] = -math.expm1(-x) - w1
    weight[2] = w1


def low_pass_step(state: Array, u: Array, weight: Array) -> Array:
    """Return the next state (2 n,): u and y. May be recorded.

    Parameters
    ----------
    state : (2 n,) array
        The previous state.
    u : (n,) array
        The current input.
    weight : (3,) array
        e, w0 and w1 of (2).
    """
    before, y = state.reshape(2, -1)
    return np.concatenate([u, weight[0] * y + weight[1] * before + weight[2] * u])


class LowPassSteps(Record):
    """The weights of a filter from sample to sample.

    Attributes
    ----------
    weights : (3,) array
        Weights of the current step, always the same array; `PASS_WEIGHTS` in the first step and
        while the filter is off.
    cutoff : float
        [Hz]; 0: off.
    is_running : bool
        Whether the next sample continues.

    Parameters
    ----------
    weights : (3,) array, optional
        The array to use.
    """

    is_running: bool
    cutoff: float
    weights: Floats

    def __init__(self, weights: Array | None = None) -> None:
        self.weights = np.zeros(3) if weights is None else weights
        self.weights[:] = PASS_WEIGHTS

    def set_cutoff(self, cutoff: float) -> None:
        """Set the cut-off frequency [Hz], 0 for none; a filter that was off restarts."""
        if not self.cutoff:
            self.restart()
        self.cutoff = cutoff
        if not cutoff:
            self.weights[:] = PASS_WEIGHTS

    def restart(self) -> None:
        """Restart with the next sample."""
        self.is_running = False

    def advance(self, elapsed: int) -> bool:
        """Advance to a sample; return whether it is not filtered.

        `elapsed` is the time since the last sample [ns], 0 for the first one; see `StateClock`.
        """
        return advance_low_pass(self, elapsed)


@typed
def advance_low_pass(steps: LowPassSteps, elapsed: int) -> bool:
    """Return the result of `LowPassSteps.advance`."""
    follows = elapsed != 0 and steps.is_running
    steps.is_running = True
    if follows and steps.cutoff != 0.0:
        set_weights(steps.weights, steps.cutoff, float(elapsed) * 1e-9)
        return False
    steps.weights[0] = 0.0  # `PASS_WEIGHTS`
    steps.weights[1] = 0.0
    steps.weights[2] = 1.0
    return True
