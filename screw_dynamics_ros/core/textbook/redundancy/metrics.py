# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Criteria 2 and 3 of section 5.9.1: joint rates of least kinetic energy, or least motor power.

Source: Bruyninckx 2010, section 5.9.1 items 2 and 3 (C-031, C-032).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import check_number
from ...arms.inverse.redundancy import RobotModel
from ...arms.inverse.weighted_inverse import metric
from ...types import Array


@dataclass(frozen=True)
class KineticEnergy:
    """v^T M v, twice the kinetic energy, with the inertias of the rotors in M.

    Attributes
    ----------
    weight : float
        Weight relative to other metrics.
    """

    weight: float = 1.0
    name: str = 'kinetic energy'
    unit: str = 'J'

    def __post_init__(self) -> None:
        check_number('the weight of the kinetic energy', self.weight, positive=True)

    def matrix(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return M(q), (nv, nv)."""
        return robot.mass_matrix(q)


@dataclass(frozen=True)
class MotorPower:
    """sum r_j v_j^2, the power lost in motors with the loss r_j at unit rate.

    The strongest and most efficient motors, with the smallest r_j, perform most of the motion.

    Attributes
    ----------
    losses : (nv,) array
        r_j > 0 [W s^2/rad^2, W s^2/m^2], for example the reciprocal of the power of each motor.
    weight : float
        Weight relative to other metrics.
    """

    losses: ArrayLike
    weight: float = 1.0
    name: str = 'motor power'
    unit: str = 'W'

    def __post_init__(self) -> None:
        check_number('the weight of the motor power', self.weight, positive=True)

    def matrix(self, robot: RobotModel, q: ArrayLike) -> Array:
        """Return diag(r), (nv, nv); raises `ArgumentError` for losses that are not positive."""
        return metric('motor losses', robot.nv, np.asarray(self.losses))
