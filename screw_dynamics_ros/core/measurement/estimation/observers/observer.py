# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The contract of an observer of external torques: what it reads, keeps, computes and reports.

An observer takes one sample after another: momenta, efforts and what else it names in `reads`. It
keeps a vector of numbers from sample to sample, all zero at a start. All its functions of arrays
can be recorded, so that a node runs them in its program and `annotate` in one of its own.

A new observer is a subclass in a file of its own and a row of `table.OBSERVERS`, and a row of
`parameters.ObserverParameters` for each parameter that it adds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from screw_dynamics_ros.core.measurement.estimation.observers.steps import (
    SETTLING_TIME_CONSTANTS,
    ObserverSteps,
)
from screw_dynamics_ros.core.types import Array

#: What observers may read of a sample, for the n joints with measured efforts: velocities (n,), the
#: external torques of an unaccelerated robot (n,), p = M v and the known part of p' (n,), M (n, n).
QUANTITIES = ('velocity', 'static_torque', 'momentum', 'known_torque', 'moved_mass')


@dataclass(frozen=True)
class Sample:
    """One sample, as an observer reads it.

    Attributes
    ----------
    values : mapping
        What it reads of `QUANTITIES`, by name.
    parameters : tuple of (n,) arrays
        The values of its parameters, in their order.
    decay : (n,) array
        e^(-h / T) with the time constant T; 1 in the first sample.
    rate, step, first : (1,) arrays
        1 / h [1/s] and h [s], both 0 in the first sample; 1 in the first sample, 0 otherwise.
    """

    values: Mapping[str, Array]
    parameters: tuple[Array, ...]
    decay: Array
    rate: Array
    step: Array
    first: Array

    @classmethod
    def of(cls, observer: Observer, arrays: Sequence[Array]) -> Sample:
        """Return the sample of what the observer reads, its parameters and the step.

        The parameters (k n,) come row by row, the step (n + 3,) as `ObserverSteps.numbers`.
        """
        *reads, parameters, step = arrays
        n = len(step) - 3
        count = len(observer.parameters)
        rows = parameters[: count * n].reshape(count, n)
        values = dict(zip(observer.reads, reads))
        return cls(
            values, tuple(rows), step[:n], step[n : n + 1], step[n + 1 : n + 2], step[n + 2 :]
        )

    def __getitem__(self, name: str) -> Array:
        return self.values[name]


class Observer(ABC):
    """Estimates external torques from motion and efforts.

    Attributes
    ----------
    text : str
        What it does, as a clause of the description of a parameter.
    reads : tuple of str
        Of `QUANTITIES`, what `advance` reads.
    torques_read : tuple of str
        Of `QUANTITIES`, what `torques` reads.
    parameters : tuple of str
        Names of `ObserverParameters` whose values it reads from samples.
    follows_time_constant : bool
        Whether it depends on the time constant.
    estimates_covariance : bool
        Whether `covariance` is implemented.
    passes_velocity_noise : bool
        Whether errors of velocities enter through M, with the second row of `noise`.
    """

    text: str
    reads: tuple[str, ...] = ()
    torques_read: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    follows_time_constant = False
    estimates_covariance = False
    passes_velocity_noise = False

    @abstractmethod
    def state_size(self, n: int) -> int:
        """Return how many numbers it keeps for n joints; 0 if it has no state."""

    @abstractmethod
    def advance(self, state: Array, sample: Sample) -> Array:
        """Return the state after a sample; the one before is all zero at a start."""

    @abstractmethod
    def torques(self, n: int, state: Array, given: Mapping[str, Array]) -> Array:
        """Return the external torques (..., n) from the state after a sample, (..., size).

        `given` has the `torques_read`, by name. All may be stacks.
        """

    def covariance(self, n: int, state: Array) -> Array:
        """Return the covariance of the torques row by row, (..., n^2), from such a state."""
        raise NotImplementedError

    def settling_time(self, time_constant: float) -> int:
        """Return the time [ns] since a start from which the torques may be used."""
        return round(SETTLING_TIME_CONSTANTS * 1e9 * time_constant)

    def is_settled(self, steps: ObserverSteps, is_kept: bool) -> bool:
        """Whether the present torques may be used; `is_kept` if the present state is finite."""
        return steps.age >= self.settling_time(steps.longest_time_constant)

    def noise(self, decay: float, rate: float) -> tuple[list[Array], list[Array]]:
        """Return how noise of efforts, and of momenta, passes a step (`noise_propagation`).

        Both are empty if noise of efforts passes unchanged, or if it estimates a covariance.
        """
        return [], []


class FirstOrderObserver(Observer):
    """An observer whose state is what it read last, then filters of first order.

    All steps of a recording are made at once: `advance` acts on each element by itself, and `reads`
    are two vectors (n,).
    """

    filters: int
    follows_time_constant = True
    passes_velocity_noise = True

    def state_size(self, n: int) -> int:
        """Return the length of the two vectors and of the filters."""
        return (2 + self.filters) * n
