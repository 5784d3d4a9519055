# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identification from measurements: geometric calibration, accuracy, dynamics."""

from .accuracy import Accuracy
from .measurements import MeasuredDistances, MeasuredPoints, MeasuredPoses
from .observability import informative_configurations
from .robot_calibration import RobotCalibration, calibrate_robot

__all__ = [
    'Accuracy',
    'MeasuredDistances',
    'MeasuredPoints',
    'MeasuredPoses',
    'RobotCalibration',
    'calibrate_robot',
    'informative_configurations',
]
