# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The terms of the equations of motion that measured efforts may contain.

Efforts of motors contain all terms, those of torque sensors behind the gears all except friction,
and those of drivers that compensate gravity all except gravity. `shares` (5,) is 1 for each of
`TERMS` that they contain, 0 for others. All functions can be recorded.
"""

from __future__ import annotations

from typing import Any

from ..types import Array
from .contact_wrench import external_torques

#: Terms in the order of the elements of `shares`.
TERMS = ('gravity', 'coriolis', 'friction', 'inertia', 'payload')
GRAVITY, CORIOLIS, FRICTION, INERTIA, PAYLOAD = range(len(TERMS))


def motor_torques(
    shares: Array, measured: Array, gravity: Array, coriolis: Array, places: tuple[int, ...]
) -> Array:
    """Return torques of drives (nv,): measured efforts, and the known terms that they lack.

    `places` of the efforts in the nv velocities; of other joints those terms alone.
    """
    result = (1.0 - shares[GRAVITY]) * gravity + (1.0 - shares[CORIOLIS]) * coriolis
    result[list(places)] = result[list(places)] + measured
    return result


def lost(torques: Array, transmitted: Array) -> Array:
    """Return the friction between torques of drives and what they transmit."""
    return torques - transmitted


def external_torque_of_terms(
    shares: Array,
    measured: Array,
    offset: Array,
    *torques_and_places: Any,
) -> Array:
    """Return external torques; the last arguments are the terms and their indices in `TERMS`."""
    *torques, places = torques_and_places
    return external_torques(torques, shares[list(places)], measured, offset)


def moved_mass(shares: Array, M: Array, carried: Array, places: tuple[int, ...]) -> Array:
    """Return the mass matrix (n, n) of the inertias that the measured efforts accelerate."""
    rows = list(places)
    return (shares[INERTIA] * M + shares[PAYLOAD] * carried)[rows][:, rows]


def momenta_and_known_torques(
    shares: Array,
    measured: Array,
    offset: Array,
    of_robot: tuple[Array, Array],
    of_payload: tuple[Array, Array],
    gravity: Array,
    coriolis: Array,
    friction: Array,
    places: tuple[int, ...],
) -> tuple[Array, Array]:
    """Return the momenta p and the known part of p', (n,) each, for the measured efforts.

    If the efforts contain all terms, these are M v and tau + C^T v - g - friction.
    """
    (p, rates), (p_carried, rates_carried) = of_robot, of_payload
    known = (
        shares[INERTIA] * (rates + gravity + coriolis)  # C^T v + C v
        - shares[CORIOLIS] * coriolis
        - shares[GRAVITY] * gravity
        - shares[FRICTION] * friction
        + shares[PAYLOAD] * rates_carried
    )
    rows = list(places)
    return (
        (shares[INERTIA] * p + shares[PAYLOAD] * p_carried)[rows],
        measured + offset + known[rows],
    )
