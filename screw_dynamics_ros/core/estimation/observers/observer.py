# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of observers of external torques.

An observer processes one sample after another: momenta, efforts and the other quantities in
`reads`. Its state is a vector, which is zero at the start. All its functions of arrays can be
recorded, so that nodes and `annotate` compile them into their programs.

A new observer is a subclass in its own file and a row of `table.OBSERVERS`, with a row of
`parameters.ObserverParameters` for each of its parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...compile.typed.functions import typed
from ...types import Array
from .steps import SETTLING_TIME_CONSTANTS

#: Quantities of a sample for observers, for the n joints with measured efforts: velocities (n,),
#: static external torques (n,), p = M v and the known part of p' (n,), M (n, n).
QUANTITIES = ('velocity', 'static_torque', 'momentum', 'known_torque', 'moved_mass')


@dataclass(frozen=True, eq=False)
class Sample:
    """One sample of the inputs of an observer.

    Attributes
    ----------
    values : mapping
        Its inputs from `QUANTITIES`, by name.
    parameters : tuple of (n,) arrays
        The values of its parameters, in order.
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
        """Return the sample from the inputs of the observer, its parameters and the step.

        The parameters (k n,) are in row-major order, the step (n + 3,) is `ObserverSteps.numbers`.
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
        Its method, as a clause of the description of a parameter.
    reads : tuple of str
        Names in `QUANTITIES` that `advance` reads.
    torques_read : tuple of str
        Names in `QUANTITIES` that `torques` reads.
    parameters : tuple of str
        Names in `ObserverParameters` whose values it reads from samples.
    follows_time_constant : bool
        Whether it depends on the time constant.
    estimates_covariance : bool
        Whether `covariance` is implemented.
    requires_finite_state : bool
        Whether torques are valid only while the state is finite.
    passes_velocity_noise : bool
        Whether errors of velocities have an effect, through M; those of efforts and momenta then
        pass the stages of `noise_propagation`. Otherwise errors of efforts are unchanged, unless
        the observer estimates a covariance.
    """

    text: str
    reads: tuple[str, ...] = ()
    torques_read: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    follows_time_constant = False
    estimates_covariance = False
    requires_finite_state = False
    passes_velocity_noise = False

    @abstractmethod
    def state_size(self, n: int) -> int:
        """Return the size of its state for n joints; 0 without a state."""

    @abstractmethod
    def advance(self, state: Array, sample: Sample) -> Array:
        """Return the state after a sample; the previous state is zero at the start."""

    @abstractmethod
    def torques(self, n: int, state: Array, given: Mapping[str, Array]) -> Array:
        """Return the external torques (n,) from the state after a sample, (size,).

        `given` has the `torques_read`, by name.
        """

    def covariance(self, n: int, state: Array) -> Array:
        """Return the covariance of the torques in row-major order, (n^2,), from the state."""
        raise NotImplementedError

    def settling_time(self, time_constant: float) -> int:
        """Return the time [ns] after a start from which the torques are valid."""
        return round(SETTLING_TIME_CONSTANTS * 1e9 * time_constant)


class FirstOrderObserver(Observer):
    """An observer whose state consists of two vectors (n,), which it reads, and `filters`."""

    filters: int
    follows_time_constant = True
    passes_velocity_noise = True

    def state_size(self, n: int) -> int:
        """Return the length of the two vectors and of the filters."""
        return (2 + self.filters) * n


@typed
def is_settled(age: int, settling_time: int, requires_finite_state: bool, is_kept: bool) -> bool:
    """Return whether torques are valid at an age [ns]; the state is kept if it is finite."""
    return age >= settling_time and (is_kept or not requires_finite_state)
