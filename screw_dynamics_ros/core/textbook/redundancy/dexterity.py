# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Criteria 4 and 8 of section 5.9.1: manipulability, and distance from singularities.

Both need given metrics, because no natural one exists (`inverse.singularities`).

Source: Bruyninckx 2010, section 5.9.1 items 4 and 8 (C-033, C-036).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number
from ...arms.inverse.link_motion import stacked_jacobian
from ...arms.inverse.redundancy import RobotModel
from ...arms.inverse.singularities import smallest_singular_value, volume_slopes
from ...arms.inverse.velocity import selected_rows
from ...arms.inverse.weighted_inverse import WeightedInverse, length_metric
from ...types import Array


@dataclass(frozen=True)
class LinkRows:
    """Rows of the Jacobian of a link, S J in the hybrid representation, and their metric.

    Attributes
    ----------
    link : str
    selection : (m, 6) array, optional
        S: selected components; all six by default.
    length : float
        Characteristic length [m]: 1 rad corresponds to `length` meters.
    joint_metric : (n,) or (n, n) array, optional
        Constant.
    """

    link: str
    selection: ArrayLike | None = None
    length: float = 1.0
    joint_metric: ArrayLike | None = None

    def scaled(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return A = S D J (m, n) with D of the length."""
        return self._rows() @ stacked_jacobian(robot, q, self.link, 'hybrid')

    def slopes(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return dA / dq_k at [..., k], (m, n, n)."""
        partials = robot.jacobian_partials(q, self.link, 'hybrid')
        slopes: Array = np.einsum('mi,ijk->mjk', self._rows(), partials)
        return slopes

    def _rows(self) -> Array:
        """Return S D; raises `ArgumentError`."""
        S = selected_rows(f'the selection of {self.link!r}', self.selection)
        return S * np.sqrt(length_metric(self.length))


@dataclass(frozen=True)
class Manipulability(LinkRows):
    """H = -log sqrt(det(A M^-1 A^T)) with A = S D J.

    With the logarithm, the gradient is relative. With all six components, another length or unit
    adds a constant to H and does not change the gradient.

    Attributes
    ----------
    weight : float
        [rad^2/s]
    """

    weight: float = 1.0
    name: str = 'manipulability'
    unit: str = '1'

    def __post_init__(self) -> None:
        check_number('the weight of the manipulability', self.weight)

    def value(self, robot: RobotModel, q: ArrayLike) -> float:
        """Return H(q); infinite in a singular configuration."""
        A = self.scaled(robot, q)
        s = WeightedInverse(A, self.joint_metric).singular_values
        return float(-np.log(s).sum()) if s.min() > 0.0 and len(s) == len(A) else np.inf

    def gradient(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return dH along each velocity, (nv,): -trace(A^# dA/dq_k).

        In a singular configuration, where it is undefined, the gradient for the remaining motions.
        """
        A, dA = self.scaled(robot, q), self.slopes(robot, q)
        return -volume_slopes(WeightedInverse(A, self.joint_metric), dA)


@dataclass(frozen=True)
class SingularityDistance(LinkRows):
    """H = (1 - sigma / threshold)^2 / 2 while the smallest singular value is below the threshold.

    A spring that is inactive far from singularities. sigma is the smallest singular value of S D J
    with respect to the metrics [m].

    Attributes
    ----------
    threshold : float
        Singular value below which the spring is active [m].
    weight : float
        [rad^2/s]
    """

    threshold: float = 0.1
    weight: float = 1.0
    name: str = 'distance from singularities'
    unit: str = '1'

    def __post_init__(self) -> None:
        check_number('the weight of the distance from singularities', self.weight)
        check_number('the threshold of the singular value', self.threshold, positive=True)

    def value(self, robot: RobotModel, q: ArrayLike) -> float:
        """Return H(q)."""
        A = self.scaled(robot, q)
        sigma, _ = smallest_singular_value(A, joint_metric=self.joint_metric)
        return 0.5 * max(0.0, 1.0 - sigma / self.threshold) ** 2

    def gradient(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return dH along each velocity, (nv,)."""
        A, dA = self.scaled(robot, q), self.slopes(robot, q)
        sigma, slope = smallest_singular_value(A, dA, joint_metric=self.joint_metric)
        return -max(0.0, 1.0 - sigma / self.threshold) / self.threshold * slope
