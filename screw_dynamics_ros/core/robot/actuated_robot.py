# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What programs ask a robot, with loops or without: formulas in the coordinates of its motors.

Loops leave fewer freedoms than the tree has joints: with the map G from the rates of the motors to
those of all joints, v = G v_a and a = G a_a + d, Jacobians are J G, mass matrices G^T M G and
torques G^T tau. Without loops all of them are what they are. Either way formulas are for
`Robot.fuse` of the tree; vectors have one element for each joint of the tree, zero for joints
without a motor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..types import Array
from .functions import Output
from .fused_kernel import Formula

Source = Output | Formula


class ActuatedRobot(Protocol):
    """A tree or a `ClosedRobot`, asked alike."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints with motors."""

    @property
    def sensed(self) -> tuple[str, ...]:
        """Joints with sensors."""

    @property
    def has_loops(self) -> bool:
        """Whether other joints follow those with motors; to refuse functions of trees only."""

    @property
    def velocity_labels(self) -> list[str]:
        """Names of the velocities that are free."""

    def freedoms_of(self, link: str) -> int:
        """Return the number of motors that may move a link."""

    def elements_of_motors(self, values: Source) -> Source:
        """Return the elements of a vector (n,) that belong to motors."""

    def torques_of_motors(self, torques: Source) -> Source:
        """Return torques (n,) of all joints as those of the motors."""

    def columns_of_motors(self, jacobian: Source) -> Source:
        """Return a Jacobian (..., nv) for the rates of the motors, (..., k)."""

    def mass_matrix_of_motors(self) -> Source:
        """Return the mass matrix for all velocities that are free."""

    def inertia_of_joints(self) -> Formula:
        """Return the mass matrix of the motors alone, (k, k)."""

    def rates_along(self, rates: Source) -> Source:
        """Return the rates (n,) of all joints for those of the motors in a vector (n,)."""

    def accelerations_along(self, accelerations: Source) -> Source:
        """Return the accelerations (n,) of all joints for those of the motors likewise."""

    def coriolis_torques_of_all(self) -> Source:
        """Return the torques (n,) of all joints while the motors do not accelerate, no gravity."""


def elements(values: Source, places: Sequence[int]) -> Formula:
    """Return some elements of a vector, or columns of a matrix, in the order of `places`."""
    return Formula('elements', (values,), chosen, (tuple(int(place) for place in places),))


def chosen(values: Array, places: tuple[int, ...]) -> Array:
    """Return some elements of a vector, or columns of a matrix."""
    return values[..., list(places)]


def at_rest(v: Array) -> Array:
    """Return no velocity, of the same shape."""
    return np.zeros_like(v)


def inertial(M: Array, a: Array) -> Array:
    """Return the torques of an acceleration."""
    return M @ a


def sum_of_torques(a: Array, b: Array) -> Array:
    """Return a + b."""
    return a + b


#: No velocity, or no acceleration.
REST = Formula('rest', ('v',), at_rest)
