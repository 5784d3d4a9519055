# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The path of a platform as joint states tell it, until it is lost."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ScrewDynamicsError
from ..types import Array
from .odometry import Odometry
from .wheel_check import WheelCheck
from .wheel_readings import PathLostError, Step, WheelReadings


class FollowedPath:
    """Moves an odometry by what wheels do between two states.

    Parameters
    ----------
    odometry : Odometry
    readings : WheelReadings

    Attributes
    ----------
    odometry : Odometry
    check : WheelCheck
        Whether the wheels agree.
    lost : str
        Why the pose is not known any more; '' while it is.
    twist : (3,) array
        Mean twist (omega, v_x, v_y) of the last step.
    distance : float
        Since the last restart [m].
    slip : float
        Largest slip that remains in the last step because wheels disagree [m/s].
    """

    def __init__(self, odometry: Odometry, readings: WheelReadings) -> None:
        self.odometry, self._readings = odometry, readings
        self.check = WheelCheck(odometry.platform)
        self.restart()

    def restart(self) -> None:
        """Go on from the pose that the odometry has been given; the next state begins."""
        self.lost, self.twist, self.distance, self.slip = '', np.zeros(3), 0.0, 0.0
        self._readings.forget()
        self.check.restart()

    def follow(
        self, q: ArrayLike, v: ArrayLike, stamp: int, max_gap: float, max_rate: float
    ) -> Step | None:
        """Move by a state; return the step, None if there is none or the path is lost.

        Parameters as of `WheelReadings.read`.
        """
        try:
            step = self._readings.read(q, v, stamp, max_gap, max_rate)
        except PathLostError as error:
            self.lost = self.lost or str(error)
            return None
        if step is None or self.lost:
            return None
        try:
            self.odometry.update(step.displacements, step.steering)
        except ScrewDynamicsError as error:  # the wheels do not tell where they went
            self.lost = str(error)
            return None
        platform, rates = self.odometry.platform, step.displacements / step.dt
        self.moved(platform.twist(rates, step.steering), step.dt)
        self.check.add(step.displacements, step.steering)
        self.slip = self.check.slip / step.dt
        return step

    def drive(self, twist: Array, dt: float) -> None:
        """Move by a twist for dt [s], where nothing is measured."""
        self.odometry.move(twist * dt)
        self.moved(twist, dt)

    def moved(self, twist: Array, dt: float) -> None:
        """Take note of a motion."""
        self.twist = twist
        self.distance += math.hypot(twist[1], twist[2]) * dt
