# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs and results of observers, as formulas for the program of a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...linear import zeros
from ...robot.actuated_robot import Source
from ...robot.fused_kernel import Formula
from ...robot.robot import Robot
from ...types import Array
from ..delay_line import delayed
from ..effort_terms import (
    CORIOLIS,
    FRICTION,
    GRAVITY,
    PAYLOAD,
    external_torque_of_terms,
    lost,
    momenta_and_known_torques,
    motor_torques,
    moved_mass,
)
from . import table
from .observer import Observer

#: How measured efforts enter quantities that an observer reads; all but the mass matrix are late.
SIGNS = {'velocity': 0, 'static_torque': -1, 'momentum': 0, 'known_torque': 1}


@dataclass(frozen=True)
class Efforts:
    """Measured efforts, and the terms that they contain.

    Attributes
    ----------
    shares : Source
        1 for each of `TERMS` that they contain, 0 for others (5,).
    measured, offset : Source
        Efforts, and the offset that is subtracted from external torques (n,) [N m, N].
    places : tuple of int
        Indices of the n corresponding velocities among the nv of the robot.
    """

    shares: Source
    measured: Source
    offset: Source
    places: tuple[int, ...]

    @property
    def none(self) -> Efforts:
        """The same with efforts and offsets of zero: what quantities of the model read."""
        nothing = Formula('no efforts', (), zeros, (len(self.places),))
        return replace(self, measured=nothing, offset=nothing)


def friction_of(robot: Robot, efforts: Efforts) -> Source:
    """Return the friction (nv,) in measured efforts: by what they transmit, if it depends on it.

    Late efforts are taken as they are now.
    """
    if not robot.tree.has_load_friction:
        return 'friction_torques'
    driving = Formula(
        'torques of drives',
        (efforts.shares, efforts.measured, 'gravity_torques', 'coriolis_torques'),
        motor_torques,
        (efforts.places,),
    )
    transmitted = robot.substitute('transmitted_torques', tau=driving)
    return Formula('friction of loaded drives', (driving, transmitted), lost)


def effort_terms(
    payload: Source, friction: Source, coriolis: Source = 'coriolis_torques'
) -> dict[int, Source]:
    """Return the torques (nv,) that measured efforts may contain, by their indices in `TERMS`.

    They are evaluated in the measured state without acceleration, as `payload` torques must be: the
    estimate is static, so that they do not include inertial torques. `friction` as of
    `friction_of`.
    """
    return {GRAVITY: 'gravity_torques', CORIOLIS: coriolis, FRICTION: friction, PAYLOAD: payload}


def static_torque(efforts: Efforts, terms: Mapping[int, Source]) -> Formula:
    """Return the static external torques (n,); `terms` by indices in `TERMS`."""
    return Formula(
        'external torques',
        (efforts.shares, efforts.measured, efforts.offset, *terms.values()),
        external_torque_of_terms,
        (tuple(terms),),
    )


def quantities(
    efforts: Efforts,
    velocity: Source,
    static: Source,
    payload: Callable[[str], Source],
    friction: Source,
) -> dict[str, Source]:
    """Return the `observer.QUANTITIES` by name.

    Parameters
    ----------
    efforts : Efforts
    velocity : Source
        Velocities (n,) of the joints with efforts.
    static : Source
        `static_torque`.
    payload : callable
        Returns a function of the payload, by name.
    friction : Source
        See `friction_of`.
    """
    momenta = Formula(
        'momenta and known torques',
        (
            efforts.shares,
            efforts.measured,
            efforts.offset,
            'momenta_and_rates',
            payload('payload_momenta_and_rates'),
            'gravity_torques',
            'coriolis_torques',
            friction,
        ),
        momenta_and_known_torques,
        (efforts.places,),
    )
    return {
        'velocity': velocity,
        'static_torque': static,
        'momentum': Formula('p', (momenta,), element, (0,)),
        'known_torque': Formula('n', (momenta,), element, (1,)),
        'moved_mass': Formula(
            'mass matrix that efforts move',
            (efforts.shares, 'mass_matrix', payload('payload_mass_matrix')),
            moved_mass,
            (efforts.places,),
        ),
    }


def late_names(name: str) -> tuple[str, ...]:
    """Return what one of `table.OBSERVERS` reads that is delayed, once each."""
    observer = table.OBSERVERS[name]
    names = dict.fromkeys((*observer.reads, *observer.torques_read))
    return tuple(each for each in names if each in SIGNS)


def of_late_efforts(
    given: Mapping[str, Source], efforts: Efforts, name: str
) -> tuple[Formula, dict[str, Source]]:
    """Return the numbers (m,) that a `DelayLine` keeps, and the quantities for delayed efforts.

    Parameters
    ----------
    given : mapping
        The `quantities` with `Efforts.none`.
    efforts : Efforts
    name : str
        Of the observer, one of `table.OBSERVERS`.

    They read the parameter 'effort_delay', `DelayLine.numbers`.
    """
    names, n = late_names(name), len(efforts.places)
    now = Formula('model of efforts', tuple(given[each] for each in names), concatenated)
    late = Formula('model of delayed efforts', ('effort_delay', now), delayed)
    quantities = dict(given)
    for k, each in enumerate(names):
        quantities[each] = Formula(
            f'late {each}',
            (late, efforts.measured, efforts.offset),
            part_with_efforts,
            (k * n, n, SIGNS[each]),
        )
    return now, quantities


def concatenated(*arrays: Array) -> Array:
    """Return concatenated vectors."""
    return np.concatenate(arrays)


def part_with_efforts(
    late: Array, measured: Array, offset: Array, start: int, n: int, sign: int
) -> Array:
    """Return n numbers of the model with measured efforts and offset added by their sign."""
    part = late[start : start + n]
    return part + sign * (measured + offset) if sign else part


def element(values: tuple[Array, ...], place: int) -> Array:
    """Return one of several arrays."""
    return values[place]


@dataclass(frozen=True)
class Observation:
    """The external torques by one observer.

    Attributes
    ----------
    name : str
        Name in `table.OBSERVERS`.
    torque : Formula
        External torques (n,).
    state : Formula or None
        State of the observer, which is the input 'observer' of the next sample.
    size : int
        Size of the state.
    covariance : Formula or None
        Covariance of the torques, (n^2,), if the observer estimates it.
    inertia : Source or None
        The mass matrix (n, n) through which errors of velocities enter, if they do.
    model : Formula or None
        What a `DelayLine` keeps, (m,).
    """

    name: str
    torque: Formula
    state: Formula | None = None
    size: int = 0
    covariance: Formula | None = None
    inertia: Source | None = None
    model: Formula | None = None

    @property
    def observer(self) -> Observer:
        """The observer."""
        return table.OBSERVERS[self.name]


def observation(name: str, n: int, given: Mapping[str, Source]) -> Observation:
    """Return the formulas of one of `table.OBSERVERS` for n joints.

    They read the parameters 'observer', 'observer_step' (`ObserverSteps.numbers`),
    'observer_parameters' (rows of n values, as `Observer.parameters`), and those of `given`, the
    `quantities`.
    """
    observer = table.OBSERVERS[name]
    size = observer.state_size(n)
    if not size:
        static = given['static_torque']
        assert isinstance(static, Formula)
        return Observation(name, static)
    sample = (
        *(given[quantity] for quantity in observer.reads),
        'observer_parameters',
        'observer_step',
    )
    of_torques = (given[quantity] for quantity in observer.torques_read)
    state = Formula(f'{name} state', ('observer', *sample), table.next_state, (name,))
    return Observation(
        name,
        Formula(f'{name} torques', (state, *of_torques), table.torques, (name, n)),
        state,
        size,
        Formula(f'{name} covariance', (state,), table.covariance, (name, n))
        if observer.estimates_covariance
        else None,
        given['moved_mass'] if observer.passes_velocity_noise else None,
    )
