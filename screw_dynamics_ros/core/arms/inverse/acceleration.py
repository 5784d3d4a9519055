# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse acceleration kinematics: joint accelerations for the acceleration of a link.

J a = A - J' v is solved with the options of `inverse_velocity`. J' v is the acceleration of the
link for zero joint accelerations, computed by the recursion of forward kinematics.

Source: Bruyninckx 2010, sections 7.17 and 7.18 (C-109).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from ...types import Array
from .velocity import inverse_velocity, matrix, rate


@dataclass(frozen=True, eq=False)
class InverseAccelerationResult:
    """Joint accelerations for an acceleration; fields as in `InverseVelocityResult`.

    Attributes
    ----------
    a : (n,) array
        Joint accelerations [rad/s^2, m/s^2].
    success : bool
    residual : (m,) array
        A - J' v - J a.
    rank : int
    singular_values : (min(m, n),) array
    damping : float
    message : str
    """

    a: Array
    success: bool
    residual: Array
    rank: int
    singular_values: Array
    damping: float
    message: str


def inverse_acceleration(
    J: ArrayLike, bias: ArrayLike, acceleration: ArrayLike, **options: Any
) -> InverseAccelerationResult:
    """Return joint accelerations a with J a + bias = acceleration, by least squares.

    Parameters
    ----------
    J : (m, n) array
        Jacobian in the representation of the acceleration.
    bias : (m,) array
        J' v: the acceleration for a = 0 [rad/s^2, m/s^2].
    acceleration : (m,) array
        Time derivative of the twist [rad/s^2, m/s^2].
    **options
        Those of `inverse_velocity`; `secondary` are accelerations.

    Examples
    --------
    >>> inverse_acceleration([[2.0, 0.0], [0.0, 1.0]], [1.0, 0.0], [3.0, 4.0]).a
    array([1., 4.])
    """
    J = matrix('the Jacobian', J)
    target = rate('the acceleration', len(J), acceleration) - rate('the bias', len(J), bias)
    found = inverse_velocity(J, target, **options)
    return InverseAccelerationResult(
        found.v,
        found.success,
        found.residual,
        found.rank,
        found.singular_values,
        found.damping,
        found.message,
    )
