# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kinematic calibration from measured poses, points or distances; accuracy of robots."""

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
