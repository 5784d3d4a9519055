# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Criterion 1 of section 5.9.1: springs to a preferred posture, and to the range centers.

Source: Bruyninckx 2010, section 5.9.1 item 1 (C-030).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number, vector
from ...arms.inverse.redundancy import RobotModel
from ...arms.inverse.weighted_inverse import finite
from ...errors import ArgumentError
from ...types import Array


@dataclass(frozen=True)
class PostureSprings:
    """H = d^T K d / 2 with the displacement d from a preferred configuration.

    Attributes
    ----------
    posture : (nq,) array
        The preferred configuration.
    stiffness : float, (nv,) or (nv, nv) array
        K, dimensionless relative stiffnesses: symmetric, positive semidefinite; 0 for free joints.
    weight : float
        [1/s]: the null-space motion approaches the posture with the rate `weight` * K.
    """

    posture: ArrayLike
    stiffness: ArrayLike = 1.0
    weight: float = 1.0
    name: str = 'posture'
    unit: str = 'rad^2'

    def __post_init__(self) -> None:
        check_number('the weight of the posture', self.weight)

    def value(self, robot: RobotModel, q: ArrayLike) -> float:
        """Return H(q)."""
        d = robot.difference(self._posture(robot), q)
        return float(0.5 * d @ self.hessian(robot, q) @ d)

    def gradient(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return dH along each velocity, (nv,)."""
        d = robot.difference(self._posture(robot), q)
        if robot.nq == robot.nv:
            return self.hessian(robot, q) @ d
        rates = np.array([robot.increment_rate(q, d, v) for v in np.eye(robot.nv)])
        return rates @ self.hessian(robot, q) @ d

    def hessian(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return K, (nv, nv): the second derivatives of H for additive coordinates."""
        n, K = robot.nv, finite('the stiffness of the posture', self.stiffness)
        if K.shape in ((1,), (n,)):
            K = np.diag(np.broadcast_to(K, (n,)))
        if K.shape != (n, n):
            raise ArgumentError(
                f'the stiffness of the posture must be a number or have shape ({n},) or '
                f'({n}, {n}), got {K.shape}'
            )
        if np.abs(K - K.T).max() > 0.0 or np.linalg.eigvalsh(K).min() < -1e-12 * np.abs(K).max():
            raise ArgumentError('the stiffness of the posture must be symmetric and not negative')
        return K

    def _posture(self, robot: RobotModel) -> Array:
        return finite('the posture', vector('the posture', robot.nq, self.posture))


@dataclass(frozen=True)
class LimitCentering:
    """H = sum x_j^2 / 2, x_j the distance of joint j from its range center over half the range.

    x is 1 at a limit. Joints without limits are ignored.

    Attributes
    ----------
    weight : float
        [rad^2/s]: a joint with half-range h returns with the rate `weight` / h^2.
    """

    weight: float = 1.0
    name: str = 'limit centering'
    unit: str = '1'

    def __post_init__(self) -> None:
        check_number('the weight of limit centering', self.weight)

    def value(self, robot: RobotModel, q: ArrayLike) -> float:
        """Return H(q)."""
        x, _ = self._distances(robot, q)
        return float(0.5 * x @ x)

    def gradient(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return dH along each velocity, (nv,)."""
        x, slope = self._distances(robot, q)
        return x * slope

    def hessian(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return the second derivatives of H, (nv, nv)."""
        return np.diag(self._distances(robot, q)[1] ** 2)

    @staticmethod
    def _distances(robot: RobotModel, q: ArrayLike) -> tuple[Array, Array]:
        """Return x and dx/dq for each velocity, (nv,) each."""
        q = finite('q', vector('q', robot.nq, q))
        x, slope = np.zeros(robot.nv), np.zeros(robot.nv)
        limits = robot.limits
        for k, joint in enumerate(robot.tree.joint_names):
            place, velocity = robot.tree.coordinates[joint]
            half = 0.5 * (limits.upper[k] - limits.lower[k])
            if velocity.stop - velocity.start == 1 and 0.0 < half < np.inf:
                middle = 0.5 * (limits.upper[k] + limits.lower[k])
                x[velocity], slope[velocity] = (q[place] - middle) / half, 1.0 / half
        return x, slope
