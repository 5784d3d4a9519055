# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of what a simulation starts from and is given."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import float_array, vector
from ..errors import ArgumentError, InertiaError, UnknownNameError
from ..integration import Integrator
from ..robot.robot import Robot
from ..tree.joint_limits import coordinate_names, of_coordinates
from ..types import Array
from .stops import LIMIT_TOLERANCE

#: By how much the length of a given quaternion may differ from 1.
UNIT_LENGTH = 1e-6


def integrator_class(
    robot: Robot, name: str, known: Mapping[str, type[Integrator]]
) -> type[Integrator]:
    """Return an integrator by its name; raises if there is none, or nothing to move."""
    if not robot.nv:
        raise ArgumentError(
            f'robot {robot.description.name!r} cannot be simulated: it has no movable joint'
        )
    if name not in known:
        raise UnknownNameError(f'no integrator named {name!r}; choose one of {", ".join(known)}')
    return known[name]


def check_robot(robot: Robot, q: Array) -> None:
    """Raise `InertiaError` if an acceleration of the robot is not defined."""
    weightless = immovable(robot, robot.mass_matrix(q))
    if weightless:
        raise InertiaError(
            f'{weightless} moves no mass (or only a point or a line of it), or a negative inertia, '
            'and cannot be simulated; give its link an <inertial> that a body can have'
        )


def immovable(robot: Robot, M: Array) -> str:
    """Return the first joint, or floating base, with a direction that no inertia resists, or ''."""
    places = {f'joint {name!r}': robot.joint_coordinates(name)[1] for name in robot.joint_names}
    if robot.nv > sum(v.stop - v.start for v in places.values()):
        places = {f'the floating base {robot.link_names[0]!r}': slice(0, 6), **places}
    for name, v in places.items():
        resisted = np.diag(M)[v]
        if not (resisted > 0.0).all():
            return name
        scaled = M[v, v] / np.sqrt(np.outer(resisted, resisted))
        if np.linalg.eigvalsh(scaled)[0] < 1e-12:
            return name
    return ''


def finite_wrenches(wrenches: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Return wrenches (..., 6) as arrays; raises `ArgumentError` naming the link."""
    found = {}
    for link, wrench in wrenches.items():
        array = float_array(f'the wrench on {link!r}', wrench)
        if array.shape[-1:] != (6,):
            raise ArgumentError(f'the wrench on {link!r} must have shape (6,), got {array.shape}')
        if not np.isfinite(array).all():
            raise ArgumentError(f'the wrench on {link!r} must be finite, got {array}')
        found[link] = array
    return found


def valid_state(robot: Robot, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """Return a state (nq,), (nv,) within the joint limits; raises `ArgumentError` naming a joint.

    Quaternions get unit length, and joints that are beyond a limit by rounding are put on it.
    """
    q, v = vector('q', robot.nq, q).copy(), vector('v', robot.nv, v).copy()
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise ArgumentError(f'a state must be finite, got q = {q}, v = {v}')
    lower = of_coordinates(robot, robot.limits.lower, -np.inf)
    upper = of_coordinates(robot, robot.limits.upper, np.inf)
    beyond = (q < lower - LIMIT_TOLERANCE) | (q > upper + LIMIT_TOLERANCE)
    if beyond.any():
        k = int(beyond.argmax())
        raise ArgumentError(
            f'joint {coordinate_names(robot)[k]!r} cannot be at {q[k]:g}: its limits are '
            f'{lower[k]:g} and {upper[k]:g}'
        )
    for body in robot.tree.bodies:
        if body.dof == 6:
            quaternion = q[body.q][3:]
            length = float(np.linalg.norm(quaternion))
            if abs(length - 1.0) > UNIT_LENGTH:
                raise ArgumentError(
                    f'the quaternion of {body.name!r} has the length {length:g}; give one of '
                    'length 1'
                )
            quaternion /= length
    return np.clip(q, lower, upper), v
