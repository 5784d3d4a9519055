# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of a reference, and its torques; all functions can be recorded.

A reference is a vector (4 n,) for the n joints with one coordinate, four rows: 1 for the joints it
names and 0 for others, then positions, rates and accelerations. `shares` (5,) is 1 for each of
`effort_terms.TERMS` that the robot does not compensate itself, 0 for others.

>>> reference = np.array([0.0, 1.0, 0.0, 0.7, 0.0, 2.0, 0.0, 3.0])  # of the second of two joints
>>> replaced(np.array([0.1, 0.2]), reference, Q, (0, 1))
array([0.1, 0.7])
>>> reference_acceleration(reference, (0, 1), 2)
array([0., 3.])
"""

from __future__ import annotations

import numpy as np

from ..dynamics.feedforward import feedforward
from ..estimation.effort_terms import CORIOLIS, FRICTION, GRAVITY, INERTIA, PAYLOAD
from ..types import Array

#: Rows of a reference.
GIVEN, Q, V, A = range(4)


def rows(reference: Array) -> Array:
    """Return a reference as an array (4, n)."""
    return reference.reshape(4, len(reference) // 4)


def replaced(measured: Array, reference: Array, row: int, places: tuple[int, ...]) -> Array:
    """Return a vector with a row of the reference at some indices, for joints with a reference."""
    given, where = rows(reference)[GIVEN], list(places)
    result = measured.copy()
    result[where] = given * rows(reference)[row] + (1.0 - given) * measured[where]
    return result


def reference_acceleration(reference: Array, places: tuple[int, ...], size: int) -> Array:
    """Return the acceleration of the reference, (size,), zero for joints without a reference."""
    result = np.zeros(size, dtype=reference.dtype)
    result[list(places)] = rows(reference)[A]
    return result


def torques_of_named(torques: Array, reference: Array) -> Array:
    """Return the torques of the joints that the reference names, zero for others."""
    return rows(reference)[GIVEN] * torques


def acceleration_less_compensated(a: Array, shares: Array) -> Array:
    """Return an acceleration, or zero if the robot itself adds inertial torques."""
    return shares[INERTIA] * a


def feedforward_torques(
    rigid: Array, payload: Array, friction: Array, gravity: Array, coriolis: Array, shares: Array
) -> Array:
    """Return feedforward (n,): torques of the followed motion minus those added by the robot."""
    needed = rigid + shares[PAYLOAD] * payload + shares[FRICTION] * friction
    return feedforward(needed, (gravity, coriolis), shares[[GRAVITY, CORIOLIS]])


def weight_torques(gravity: Array, carried: Array, shares: Array) -> Array:
    """Return the torques (n,) that support robot and payload, minus those added by the robot."""
    return shares[GRAVITY] * gravity + shares[PAYLOAD] * carried
