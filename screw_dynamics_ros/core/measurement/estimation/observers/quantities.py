# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What observers read and compute, as formulas for the program of a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from screw_dynamics_ros.core.measurement.estimation.effort_terms import (
    CORIOLIS,
    FRICTION,
    GRAVITY,
    PAYLOAD,
    external_torque_of_terms,
    momenta_and_known_torques,
    moved_mass,
)
from screw_dynamics_ros.core.measurement.estimation.observers import table
from screw_dynamics_ros.core.measurement.estimation.observers.observer import Observer
from screw_dynamics_ros.core.robot.actuated_robot import Source
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from screw_dynamics_ros.core.types import Array


@dataclass(frozen=True)
class Efforts:
    """Measured efforts, and what they contain.

    Attributes
    ----------
    shares : Source
        1 for each of `TERMS` that they contain, 0 for others (5,).
    measured, offset : Source
        Efforts and what is subtracted from external torques (n,) [N m, N].
    places : tuple of int
        The n velocities that they belong to, of the nv of the robot.
    """

    shares: Source
    measured: Source
    offset: Source
    places: tuple[int, ...]


def effort_terms(payload: Source, coriolis: Source = 'coriolis_torques') -> dict[int, Source]:
    """Return the torques (nv,) that may be part of measured efforts, by their places in `TERMS`.

    In the measured state and unaccelerated, as `payload` torques have to be: the estimate is
    static, so that there are no inertial torques among them.
    """
    return {
        GRAVITY: 'gravity_torques',
        CORIOLIS: coriolis,
        FRICTION: 'friction_torques',
        PAYLOAD: payload,
    }


def static_torque(efforts: Efforts, terms: Mapping[int, Source]) -> Formula:
    """Return the external torques (n,) of an unaccelerated robot; terms by places in `TERMS`."""
    return Formula(
        'external torques',
        (efforts.shares, efforts.measured, efforts.offset, *terms.values()),
        external_torque_of_terms,
        (tuple(terms),),
    )


def quantities(
    efforts: Efforts, velocity: Source, static: Source, payload: Callable[[str], Source]
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
    """
    momenta = Formula(
        'momenta and known torques',
        (
            efforts.shares,
            efforts.measured,
            efforts.offset,
            'momenta_and_rates',
            payload('payload_momenta_and_rates'),
            *(f'{term}_torques' for term in ('gravity', 'coriolis', 'friction')),
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


def element(values: tuple[Array, ...], place: int) -> Array:
    """Return one of several arrays."""
    return values[place]


@dataclass(frozen=True)
class Observation:
    """The external torques by one observer.

    Attributes
    ----------
    name : str
        Of `table.OBSERVERS`.
    torque : Formula
        External torques (n,).
    state : Formula or None
        What the observer keeps until the next sample, then the input 'observer'.
    size : int
        How many numbers that are.
    covariance : Formula or None
        Of the torques, (n^2,), if the observer estimates it.
    inertia : Source or None
        The mass matrix (n, n) through which errors of velocities enter, if they do.
    """

    name: str
    torque: Formula
    state: Formula | None = None
    size: int = 0
    covariance: Formula | None = None
    inertia: Source | None = None

    @property
    def observer(self) -> Observer:
        """The observer."""
        return table.OBSERVERS[self.name]


def observation(name: str, n: int, static: Formula, given: Mapping[str, Source]) -> Observation:
    """Return the formulas of one of `table.OBSERVERS` for n joints.

    They read the parameters 'observer', 'observer_step' (`ObserverSteps.numbers`),
    'observer_parameters' (rows of n values, as `Observer.parameters`), and those of `given`, the
    `quantities`.
    """
    observer = table.OBSERVERS[name]
    size = observer.state_size(n)
    if not size:
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
