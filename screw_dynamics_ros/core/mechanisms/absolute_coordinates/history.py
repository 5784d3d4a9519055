# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of a system over time, with what monitors say about it: gaps, drift, energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, vector
from ...errors import ArgumentError
from ...integration import Integrator, RungeKutta
from ...types import Array
from .system import AbsoluteSystem


@dataclass(frozen=True, eq=False)
class History:
    """Samples of a motion, k of them (I-32).

    Attributes
    ----------
    t : (k,)
        Times [s]; the first is 0.
    q, v : (k, 7 n) and (k, 6 n)
        Configurations and velocities.
    gaps, gap_rates : {joint: (k,)}
        |g| [rad, m] and |J v| [rad/s, m/s] of each joint.
    kinetic, potential : (k,)
        Energies [J].
    """

    t: Array
    q: Array
    v: Array
    gaps: Mapping[str, Array]
    gap_rates: Mapping[str, Array]
    kinetic: Array
    potential: Array

    @property
    def energy_drift(self) -> Array:
        """T + U less its value at the beginning, (k,) [J]."""
        total = self.kinetic + self.potential
        return total - total[0]

    def largest(self, values: Array, until: float = np.inf) -> float:
        """Return the largest absolute value of samples (k,) up to a time [s]."""
        return float(np.abs(values[self.t <= until + 1e-9]).max())

    def at(self, t: float) -> int:
        """Return the number of the sample at a time [s]; raises `ArgumentError` if none is."""
        k = int(np.argmin(np.abs(self.t - t)))
        if not abs(self.t[k] - t) < 1e-9:
            raise ArgumentError(
                f'no sample at {t} s: the nearest is at {self.t[k]} s; record with another `every`'
            )
        return k


def record(
    system: AbsoluteSystem,
    q: ArrayLike,
    v: ArrayLike,
    duration: float,
    dt: float,
    *,
    integrator: Integrator | None = None,
    every: int = 1,
) -> History:
    """Return the motion of a system without applied forces, from q and v on.

    Parameters
    ----------
    system : AbsoluteSystem
    q : (7 n,), v : (6 n,)
    duration : float
        A multiple of the step [s].
    dt : float
        Step [s].
    integrator : Integrator, optional
        Of this system; the classical method of Runge and Kutta by default.
    every : int
        Number of steps from sample to sample; the last state is always sampled.

    Raises
    ------
    ArgumentError
        Wrong shapes, and a duration, step or number of steps that is not positive; what the
        integrator refuses.

    Examples
    --------
    A spherical joint to the ground is kept to rounding, one between bodies is not:

    >>> from screw_dynamics_ros.core.mechanisms.absolute_coordinates import example_systems
    >>> double_pendulum = example_systems.double_pendulum
    >>> motion = record(*double_pendulum(), duration=0.1, dt=0.001, every=10)
    >>> {joint: bool(motion.largest(gap) < 1e-14) for joint, gap in motion.gaps.items()}
    {'joint 1': True, 'joint 2': False}
    """
    for name, value in (('duration', duration), ('dt', dt), ('every', every)):
        check_number(name, value, positive=True)
    steps = round(duration / dt)
    if not steps or abs(steps * dt - duration) > 1e-6 * dt:
        raise ArgumentError(
            f'duration {duration} s is no multiple of the step {dt} s; choose one that is'
        )
    integrator = integrator or RungeKutta(system)
    q, v = vector('q', system.nq, q), vector('v', system.nv, v)
    nothing = np.zeros(system.nv)
    states = [(0.0, q, v)]
    for step in range(1, steps + 1):
        q, v = integrator.step(q, v, nothing, dt, t=(step - 1) * dt)
        if step % every == 0 or step == steps:
            states.append((step * dt, q, v))
    return monitored(system, *(np.array(each) for each in zip(*states)))


def monitored(system: AbsoluteSystem, t: Array, q: Array, v: Array) -> History:
    """Return states (k, 7 n), (k, 6 n) at times (k,) with the violations and energies there."""
    violations = [system.violation(*state) for state in zip(q, v)]
    energies = np.array([system.energy(*state) for state in zip(q, v)])
    names = [joint.name for joint in system.joints]
    return History(
        t,
        q,
        v,
        {name: np.array([each[name].gap for each in violations]) for name in names},
        {name: np.array([each[name].velocity for each in violations]) for name in names},
        energies[:, 0],
        energies[:, 1],
    )
