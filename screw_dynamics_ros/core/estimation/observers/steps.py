# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The time steps of an observer: their lengths, and restarts."""

from __future__ import annotations

import math

import numpy as np

from ...compile.typed.functions import Floats, typed
from ...compile.typed.memory import copy_bytes
from ...compile.typed.records import Record

SETTLING_TIME_CONSTANTS = 5.0  # time constants after which 99.3 % of a torque are estimated


@typed
def are_finite(numbers: Floats, count: int) -> bool:
    """Return whether the first numbers are finite."""
    for k in range(count):  # noqa: SIM110 - `all` is not compiled
        if not math.isfinite(numbers[k]):
            return False
    return True


@typed
def has_finite_sum(numbers: Floats, count: int) -> bool:
    """Return whether the sum of the first numbers is finite; numbers too large to add are not."""
    total = 0.0
    for k in range(count):
        total += numbers[k]
    return math.isfinite(total)


@typed
def adopt(state: Floats, result: Floats, count: int) -> bool:
    """Copy the next state from a result, if its sum is finite; return whether it is."""
    is_finite = has_finite_sum(result, count)
    if is_finite:
        copy_bytes(state, result, 8 * count)
    return is_finite


@typed
def are_positive(numbers: Floats, count: int) -> bool:
    """Return whether the first numbers are greater than 0."""
    for k in range(count):  # noqa: SIM110 - `all` is not compiled
        if not numbers[k] > 0.0:
            return False
    return True


class ObserverSteps(Record):
    """Lengths of steps and decay factors, from the stamps of the states.

    Parameters
    ----------
    n : int
        Number of observed torques.

    Attributes
    ----------
    numbers : (n + 3,) array
        Always the same array: e^(-h / T) for each torque, 1 / h, h, and whether it is the first
        step. In the first step they are 1, 0, 0 and 1.
    time_constants : (n,) array
        T [s], greater than 0; can be changed at any time.
    is_running : bool
        Whether the next state continues.
    age : int
        The time since the last start [ns].
    starts : int
        Number of starts of the observer.
    """

    is_running: bool
    age: int
    starts: int
    numbers: Floats
    time_constants: Floats

    def __init__(self, n: int) -> None:
        self.numbers, self.time_constants = np.zeros(n + 3), np.full(n, 0.02)
        self.restart()

    def restart(self) -> None:
        """Restart with the next state."""
        restart_steps(self)

    def advance(self, elapsed: int) -> bool:
        """Advance to a state; return whether it is the first one.

        `elapsed` is the time since the last state [ns], 0 for the first one; see `StateClock`.
        """
        return advance_steps(self, elapsed)

    @property
    def longest_time_constant(self) -> float:
        """The largest of `time_constants` [s]."""
        return float(self.time_constants.max(initial=0.0))


@typed
def restart_steps(steps: ObserverSteps) -> None:
    """Restart with the next state."""
    steps.is_running = False
    steps.age = 0
    set_numbers_of_start(steps)


@typed
def advance_steps(steps: ObserverSteps, elapsed: int) -> bool:
    """Return the result of `ObserverSteps.advance`."""
    is_start = elapsed == 0 or not steps.is_running
    steps.is_running = True
    if is_start:
        steps.age = 0
        steps.starts += 1
        set_numbers_of_start(steps)
        return True
    steps.age += elapsed
    h = float(elapsed) * 1e-9
    n = len(steps.time_constants)
    numbers = steps.numbers
    for k in range(n):
        numbers[k] = math.exp(-h / steps.time_constants[k])
    numbers[n] = 1.0 / h
    numbers[n + 1] = h
    numbers[n + 2] = 0.0
    return False


@typed
def set_numbers_of_start(steps: ObserverSteps) -> None:
    """Set the numbers of the first step."""
    n = len(steps.time_constants)
    numbers = steps.numbers
    for k in range(n):
        numbers[k] = 1.0
    numbers[n] = 0.0
    numbers[n + 1] = 0.0
    numbers[n + 2] = 1.0
