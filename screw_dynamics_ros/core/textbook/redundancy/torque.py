# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Criterion 5 of section 5.9.1: small joint torques.

Torques correspond to accelerations. Of all accelerations with J a + b = V', the one that minimizes
tau^T W tau, tau = M a + h, is given by the weighted pseudo-inverse of metric M W M relative to the
torque-free acceleration -M^-1 h::

    |tau|_W^2 = |a + M^-1 h|_{M W M}^2

At the velocity level, the criterion is the posture with the smallest gravity torques. Both are
instantaneous: minimizing the torques at each time can cause growing null-space motions with large
torques later (Hollerbach and Suh 1987). The global criterion of `path_current` avoids this.

Source: Bruyninckx 2010, section 5.9.1 item 5, which has no formula (C-034).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number
from ...arms.inverse.redundancy import RobotModel
from ...arms.inverse.weighted_inverse import finite, metric
from ...errors import ArgumentError
from ...types import Array


@dataclass(frozen=True)
class HoldingTorque:
    """H = g^T W g / 2 with the torques g(q) that hold the robot at rest.

    Attributes
    ----------
    torque_weights : (nv,) or (nv, nv) array, optional
        W [1/(N m)^2, 1/N^2]; by default 1 / effort^2 with the limits of the description, so that
        one motor at its limit contributes 1.
    weight : float
        [rad^2/s]
    """

    torque_weights: ArrayLike | None = None
    weight: float = 1.0
    name: str = 'holding torque'
    unit: str = '1'

    def __post_init__(self) -> None:
        check_number('the weight of the holding torque', self.weight)

    def value(self, robot: RobotModel, q: ArrayLike) -> float:
        """Return H(q)."""
        g = robot.gravity_torques(q)
        return float(0.5 * g @ torque_metric(robot, self.torque_weights) @ g)

    def gradient(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return dH along each velocity, (nv,)."""
        rest = np.zeros(robot.nv)
        slopes = robot.inverse_dynamics_derivatives(q, rest, rest)[0]
        return slopes.T @ torque_metric(robot, self.torque_weights) @ robot.gravity_torques(q)


def least_torque(
    mass_matrix: ArrayLike, bias_torques: ArrayLike, torque_metric: ArrayLike | None = None
) -> Mapping[str, Array]:
    """Return options of `inverse_acceleration` that minimize its torques.

    Parameters
    ----------
    mass_matrix : (nv, nv)
        M(q).
    bias_torques : (nv,)
        h: the torques at zero acceleration, `Robot.inverse_dynamics(q, v, 0)`.
    torque_metric : (nv,) or (nv, nv), optional
        W; the identity by default: 1 N m corresponds to 1 N.

    Examples
    --------
    Two motors move one slider; the axis with the larger inertia moves less.

    >>> from screw_dynamics_ros.core.arms.inverse.acceleration import inverse_acceleration
    >>> options = least_torque(np.diag([1.0, 2.0]), np.zeros(2))
    >>> inverse_acceleration([[1.0, 1.0]], [0.0], [5.0], **options).a.round(12)
    array([4., 1.])
    """
    h = finite('the bias torques', bias_torques)
    M = metric('mass matrix', len(h), mass_matrix)
    W = metric('torque metric', len(h), torque_metric)
    product = M @ W @ M
    return {'joint_metric': 0.5 * (product + product.T), 'secondary': -np.linalg.solve(M, h)}


def torque_metric(robot: RobotModel, weights: ArrayLike | None) -> Array:
    """Return W (nv, nv), by default from the effort limits; raises `ArgumentError`."""
    if weights is not None:
        return metric('torque metric', robot.nv, weights)
    effort = np.full(robot.nv, np.inf)
    for k, joint in enumerate(robot.tree.joint_names):
        effort[robot.tree.coordinates[joint][1]] = robot.limits.effort[k]
    if not (np.isfinite(effort) & (effort > 0.0)).all():
        raise ArgumentError(
            'the description does not limit the effort of every joint; pass torque_weights'
        )
    return np.diag(1.0 / effort**2)
