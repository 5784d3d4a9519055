# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits and names of joints, spread over the coordinates and velocities of a robot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..types import Array


class Coordinates(Protocol):
    """Interface of joints with coordinates and velocities, implemented by `Robot`."""

    @property
    def nq(self) -> int:
        """Number of coordinates."""

    @property
    def nv(self) -> int:
        """Number of velocities."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints with independent coordinates."""

    @property
    def link_names(self) -> tuple[str, ...]:
        """Links, the root first."""

    @property
    def limits(self) -> Any:
        """`JointLimits` over `joint_names`."""

    def joint_coordinates(self, joint: str) -> tuple[slice, slice]:
        """Return where the coordinates and velocities of a joint stand in q and v."""


def coordinate_names(robot: Coordinates) -> list[str]:
    """Return for each of the nq coordinates its joint, for a floating base the root link."""
    names = np.full(robot.nq, robot.link_names[0], dtype=object)
    return spread(robot.joint_names, places(robot)[0], names).tolist()


def velocity_names(robot: Coordinates) -> list[str]:
    """Return for each of the nv velocities its joint, for a floating base the root link."""
    names = np.full(robot.nv, robot.link_names[0], dtype=object)
    return spread(robot.joint_names, places(robot)[1], names).tolist()


def position_limits(robot: Coordinates) -> tuple[Array, Array]:
    """Return lower and upper limits of all coordinates, (nq,) each; a free base has none."""
    unlimited, (joints, _) = np.full(robot.nq, np.inf), places(robot)
    lower = spread(robot.limits.lower, joints, -unlimited)
    return lower, spread(robot.limits.upper, joints, unlimited)


def of_velocities(robot: Coordinates, limit: Array) -> Array:
    """Return a limit over `joint_names` for each of the nv velocities; a free base has none."""
    return spread(limit, places(robot)[1], np.full(robot.nv, np.inf))


def places(robot: Coordinates) -> tuple[list[slice], list[slice]]:
    """Return where the coordinates and the velocities of `joint_names` stand."""
    both = [robot.joint_coordinates(joint) for joint in robot.joint_names]
    return [q for q, _ in both], [v for _, v in both]


def spread(values: Iterable[Any], places: Iterable[slice], result: NDArray[Any]) -> NDArray[Any]:
    """Write each of the values to its place in `result`; return that."""
    for value, place in zip(values, places):
        result[place] = value
    return result
