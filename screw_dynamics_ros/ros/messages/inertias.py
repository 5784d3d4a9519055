# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of bodies from and to geometry_msgs/Inertia: inertia about the center of mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import ArgumentError, NotFiniteError

#: The largest numbers of a body that a message may describe: mass [kg], coordinates of the center
#: of mass [m], moments of inertia [kg m^2]. Beyond them torques lose all their digits.
MAX_INERTIA_VALUES = 1e6, 1e3, 1e9


def read_inertia(message: Any, name: str) -> RigidBody:
    """Return the body of a geometry_msgs/Inertia.

    Raises
    ------
    NotFiniteError, ArgumentError
        If a number is NaN or infinite, or larger than `MAX_INERTIA_VALUES`; `name` is in the
        reason.
    InertiaError
        If mass and inertia are physically impossible.
    """
    com = [message.com.x, message.com.y, message.com.z]
    moments = [message.ixx, message.ixy, message.ixz, message.iyy, message.iyz, message.izz]
    check_size(name, message.m, com, moments)
    return RigidBody.from_moments(message.m, com, moments)


def check_size(name: str, mass: float, com: list[float], moments: list[float]) -> None:
    """Raise `NotFiniteError` or `ArgumentError` for numbers beyond `MAX_INERTIA_VALUES`."""
    fields = ('m', [mass]), ('com', com), ('inertia', moments)
    for (field, values), largest in zip(fields, MAX_INERTIA_VALUES):
        if not np.isfinite(values).all():
            raise NotFiniteError(f'{name}: {field} is {shown(values)}; it must be finite')
        if np.abs(values).max() > largest:
            raise ArgumentError(
                f'{name}: {field} is {shown(values)}; the largest allowed value is {largest:g}'
            )


def write_inertia(message: Any, body: RigidBody) -> None:
    """Write a body into a geometry_msgs/Inertia."""
    message.m = float(body.mass)
    message.com.x, message.com.y, message.com.z = body.com.tolist()
    (message.ixx, message.ixy, message.ixz), (_, message.iyy, message.iyz), (_, _, message.izz) = (
        body.matrix.tolist()
    )


def shown(values: list[float]) -> str:
    """Return numbers as text."""
    return ', '.join(f'{value:g}' for value in values)
