# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measurement of joint states as drivers report them: with noise, faults and delays."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import check_count, check_number, float_array
from ..errors import ArgumentError, UnknownNameError
from ..types import Array
from ..units import NANOSECONDS

#: The rows of a measurement.
QUANTITIES = ('position', 'velocity', 'effort')


Numbers = tuple[float, ...]


@dataclass(frozen=True)
class SensorFaults:
    """Faults of the measurements of some joints; by default none.

    Tuples of numbers are empty (none), or have one element for all joints, or one for each joint.

    Attributes
    ----------
    position_noise, velocity_noise, effort_noise : tuple of float
        Standard deviation of white Gaussian noise [rad, m; rad/s, m/s; N m, N, or A].
    position_bias, velocity_bias, effort_bias : tuple of float
        Added to each value, in the same units.
    position_resolution, velocity_resolution, effort_resolution : tuple of float
        Values are rounded to multiples of it; 0 for none.
    torque_constants : tuple of float
        Torque per current [N m/A, N/A]: efforts are reported as currents [A], torque over constant.
    delay : float
        Time from measurement to arrival [s].
    jitter : float
        Largest additional delay [s], uniform; measurements do not overtake each other.
    dropout : float
        Probability that a measurement is lost, 0 to 1.
    nan_joints : tuple of str
        Joints that report NaN ...
    nan_quantities : tuple of str
        ... for these of `QUANTITIES`.
    frozen_joints : tuple of str
        Joints that report the same numbers as when they froze.
    """

    position_noise: Numbers = ()
    velocity_noise: Numbers = ()
    effort_noise: Numbers = ()
    position_bias: Numbers = ()
    velocity_bias: Numbers = ()
    effort_bias: Numbers = ()
    position_resolution: Numbers = ()
    velocity_resolution: Numbers = ()
    effort_resolution: Numbers = ()
    torque_constants: Numbers = ()
    delay: float = 0.0
    jitter: float = 0.0
    dropout: float = 0.0
    nan_joints: tuple[str, ...] = ()
    nan_quantities: tuple[str, ...] = QUANTITIES
    frozen_joints: tuple[str, ...] = ()

    @property
    def active(self) -> dict[str, object]:
        """The faults that change something, by name."""
        found: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != 'nan_quantities' and (
                any(value) if isinstance(value, tuple) else value
            ):
                found[field.name] = value
        if self.nan_joints and self.nan_quantities != QUANTITIES:
            found['nan_quantities'] = self.nan_quantities
        return found


class Measurement(NamedTuple):
    """A measurement: time at which it was taken [ns], and the numbers of `QUANTITIES`, (3, n)."""

    stamp: int
    values: Array


class JointSensor:
    """Measures joint states with faults; random numbers are those of a seed.

    The same count of random numbers is drawn for each measurement, whatever the faults: those of a
    measurement depend only on the seed and on the number of measurements before.

    Parameters
    ----------
    joints : sequence of str
    seed : int

    Raises
    ------
    ArgumentError
        If the seed is no whole number >= 0.

    Examples
    --------
    A message with a delay of 10 ms:

    >>> sensor = JointSensor(('elbow',))
    >>> sensor.faults = SensorFaults(position_bias=(0.5,), delay=0.01)
    >>> sensor.measure(0, np.array([1.0]), np.array([0.0]), np.array([2.0]))
    >>> sensor.arrived(9_000_000)
    []
    >>> sensor.arrived(10_000_000)[0].values.tolist()
    [[1.5], [0.0], [2.0]]
    """

    def __init__(self, joints: tuple[str, ...], seed: int = 0) -> None:
        check_count('seed', seed)
        self.joints, self.seed = tuple(joints), int(seed)
        self._model = _Model(SensorFaults(), self.joints)
        self._under_way: deque[tuple[int, Measurement]] = deque()
        self.restart()

    @property
    def faults(self) -> SensorFaults:
        """The active faults; may be set.

        When delay or jitter change, pending states arrive at once. Raises `ArgumentError` and
        `UnknownNameError`, and then the previous faults stay active.
        """
        return self._model.faults

    @faults.setter
    def faults(self, faults: SensorFaults) -> None:
        before, self._model = self.faults, _Model(faults, self.joints)
        if (faults.delay, faults.jitter) != (before.delay, before.jitter):
            self._under_way = deque((message.stamp, message) for _, message in self._under_way)

    def check(self, faults: SensorFaults) -> None:
        """Raise `ArgumentError` or `UnknownNameError` for faults that the joints cannot have."""
        _Model(faults, self.joints)

    def restart(self) -> None:
        """Forget pending states and begin with the first random numbers again."""
        self._random = np.random.default_rng(self.seed)
        self._under_way.clear()
        self._reported: Array | None = None

    def measure(self, stamp: int, q: Array, v: Array, tau: Array) -> None:
        """Take a measurement at a time [ns]: positions, velocities and efforts (n,) each."""
        model = self._model
        noise = self._random.standard_normal((3, len(self.joints)))
        delay, chance = self._random.random(2)
        values = model.measured(np.stack([q, v, tau]), noise)
        if self._reported is not None:
            values[:, model.frozen] = self._reported[:, model.frozen]
        self._reported = values.copy()
        values[model.not_a_number] = np.nan
        if chance < model.faults.dropout:
            return
        late = model.faults.delay + delay * model.faults.jitter
        arrival = stamp + round(late * NANOSECONDS)
        self._under_way.append((arrival, Measurement(stamp, values)))

    def arrived(self, now: int) -> list[Measurement]:
        """Return the measurements that arrive until a time [ns], the oldest first, once."""
        there = []
        # One that would overtake waits for those before it.
        while self._under_way and self._under_way[0][0] <= now:
            there.append(self._under_way.popleft()[1])
        return there


class _Model:
    """The faults of some joints as arrays, checked."""

    def __init__(self, faults: SensorFaults, joints: tuple[str, ...]) -> None:
        self.faults, count = faults, len(joints)
        for name in ('delay', 'jitter', 'dropout'):
            check_number(name, getattr(faults, name))
        if faults.dropout > 1.0:
            raise ArgumentError(f'dropout is a probability, at most 1, got {faults.dropout}')

        def rows(what: str) -> Array:
            return np.stack(
                [
                    _spread(f'{quantity}_{what}', getattr(faults, f'{quantity}_{what}'), count)
                    for quantity in QUANTITIES
                ]
            )

        self._noise, self._bias, self._resolution = map(rows, ('noise', 'bias', 'resolution'))
        for what, values in (('noise', self._noise), ('resolution', self._resolution)):
            if (values < 0.0).any():
                raise ArgumentError(f'{what} must not be negative, got {values.min():g}')
        constants = _spread('torque_constants', faults.torque_constants, count, 1.0)
        if not constants.all():
            raise ArgumentError('torque_constants must not be 0: no current would give a torque')
        self._scale = np.ones((3, count))
        self._scale[2] = 1.0 / constants
        self._is_rounded = self._resolution > 0.0
        self.frozen = _marked('frozen_joints', faults.frozen_joints, joints)
        unknown = [name for name in faults.nan_quantities if name not in QUANTITIES]
        if unknown:
            raise UnknownNameError(
                f'nan_quantities: no quantity {unknown[0]!r}; choose from {", ".join(QUANTITIES)}'
            )
        self.not_a_number = np.outer(
            _marked('nan_quantities', faults.nan_quantities, QUANTITIES),
            _marked('nan_joints', faults.nan_joints, joints),
        )

    def measured(self, values: Array, noise: Array) -> Array:
        """Return true values (3, n) as they are measured, with standard normal noise (3, n)."""
        values = values * self._scale + self._bias + self._noise * noise
        step = self._resolution[self._is_rounded]
        values[self._is_rounded] = np.round(values[self._is_rounded] / step) * step
        return np.asarray(values)


def _spread(name: str, given: Numbers, count: int, neutral: float = 0.0) -> Array:
    """Return a number for each joint, (count,)."""
    array = float_array(name, given)
    if array.shape not in ((0,), (1,), (count,)):
        raise ArgumentError(
            f'{name} has {array.size} elements; give none, one for all joints, or one for each of '
            f'the {count} joints'
        )
    if not np.isfinite(array).all():
        raise ArgumentError(f'{name} must be finite, got {array.tolist()}')
    return np.broadcast_to(array if array.size else neutral, (count,)).astype(float)


def _marked(name: str, chosen: tuple[str, ...], all_names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which of all names are chosen, (n,)."""
    for each in chosen:
        if each not in all_names:
            raise UnknownNameError(
                f'{name}: there is no {each!r}; choose from {", ".join(all_names)}'
            )
    return np.array([each in chosen for each in all_names], dtype=bool)
