# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The time steps of an observer: their lengths, and restarts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.shared_numbers import Flag, Real, SharedNumbers, Word

SETTLING_TIME_CONSTANTS = 5.0  # time constants after which 99.3 % of a torque are estimated

# Places of the shared attributes: those of `StepLengths` are the first ones of each owner.
STAMP, HAS_STAMP, AGE, STARTS = range(STEP_WORDS := 4)
LENGTH_WORDS = 2
MAX_STEP, TIME_CONSTANTS = range(2)  # the first of n


class StepLengths:
    """Times between samples, from their stamps.

    Parameters
    ----------
    owner : SharedNumbers, optional
        Has the memory for `LENGTH_WORDS` and `MAX_STEP` at its beginning.

    Attributes
    ----------
    longest : float
        A longer step [s] causes a restart.
    """

    longest = Real(MAX_STEP)
    _has_stamp = Flag(HAS_STAMP)

    def __init__(self, owner: SharedNumbers | None = None) -> None:
        memory = owner or SharedNumbers(LENGTH_WORDS, 1)
        self.word_view, self.real_view = memory.word_view, memory.real_view
        self.longest = math.inf
        self.restart()

    def restart(self) -> None:
        """Restart with the next sample."""
        self._has_stamp = False

    def take(self, stamp: int, restarted: bool = False) -> int:
        """Return the time since the previous sample [ns], 0 at a start.

        Parameters
        ----------
        stamp : int
            Stamp of the sample [ns]. A stamp that does not increase causes a restart.
        restarted : bool
            Whether the sample is the first after a pause.
        """
        return step_length(self.word_view, self.real_view, stamp, restarted)


@typed
def step_length(words: Ints, reals: Floats, stamp: int, restarted: bool) -> int:
    """Return the result of `StepLengths.take` with its words and reals."""
    elapsed = stamp - words[STAMP]
    is_start = words[HAS_STAMP] == 0 or restarted
    words[STAMP] = stamp
    words[HAS_STAMP] = 1
    if is_start or not 0.0 < float(elapsed) * 1e-9 <= reals[MAX_STEP]:
        return 0
    return elapsed


class ObserverSteps(SharedNumbers):
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
    lengths : StepLengths
        Determines where it restarts.
    age : int
        The time since the last start [ns].
    starts : int
        Number of starts of the observer.
    """

    age, starts = Word(AGE), Word(STARTS)

    def __init__(self, n: int) -> None:
        super().__init__(STEP_WORDS, TIME_CONSTANTS + n)
        self.n, self.numbers = n, np.zeros(n + 3)
        self.number_view: Any = self.numbers.data
        self.time_constants = self.reals[TIME_CONSTANTS:]
        self.time_constants[:] = 0.02
        self.lengths = StepLengths(self)
        self.restart()

    def restart(self) -> None:
        """Restart with the next state."""
        restart_steps(self.word_view, self.number_view, self.n)

    def advance(self, stamp: int, restarted: bool = False) -> bool:
        """Advance to a state; return whether it is the first one.

        Parameters
        ----------
        stamp : int
            Stamp of the state [ns]. A stamp that does not increase causes a restart.
        restarted : bool
            Whether the state is the first after a pause.
        """
        return advance_steps(
            self.word_view, self.real_view, self.number_view, self.n, stamp, restarted
        )

    @property
    def settled(self) -> bool:
        """Whether the initial error has decayed, see `SETTLING_TIME_CONSTANTS`."""
        return self.age >= round(SETTLING_TIME_CONSTANTS * 1e9 * self.longest_time_constant)

    @property
    def longest_time_constant(self) -> float:
        """The largest of `time_constants` [s]."""
        return float(self.time_constants.max(initial=0.0))


@typed
def restart_steps(words: Ints, numbers: Floats, n: int) -> None:
    """Restart `ObserverSteps` with the next state."""
    words[HAS_STAMP] = 0
    words[AGE] = 0
    set_numbers_of_start(numbers, n)


@typed
def advance_steps(
    words: Ints, reals: Floats, numbers: Floats, n: int, stamp: int, restarted: bool
) -> bool:
    """Return the result of `ObserverSteps.advance` with its words, reals and numbers (n + 3,)."""
    elapsed = step_length(words, reals, stamp, restarted)
    if elapsed == 0:
        words[AGE] = 0
        words[STARTS] += 1
        set_numbers_of_start(numbers, n)
        return True
    words[AGE] += elapsed
    h = float(elapsed) * 1e-9
    for k in range(n):
        numbers[k] = math.exp(-h / reals[TIME_CONSTANTS + k])
    numbers[n] = 1.0 / h
    numbers[n + 1] = h
    numbers[n + 2] = 0.0
    return False


@typed
def set_numbers_of_start(numbers: Floats, n: int) -> None:
    """Set the numbers (n + 3,) of the first step."""
    for k in range(n):
        numbers[k] = 1.0
    numbers[n] = 0.0
    numbers[n + 1] = 0.0
    numbers[n + 2] = 1.0
