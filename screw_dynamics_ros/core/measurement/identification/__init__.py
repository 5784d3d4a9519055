# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identification from measurements: geometric calibration, accuracy, dynamics."""

from screw_dynamics_ros.core.measurement.identification.accuracy import Accuracy
from screw_dynamics_ros.core.measurement.identification.measurements import (
    MeasuredDistances,
    MeasuredPoints,
    MeasuredPoses,
)
from screw_dynamics_ros.core.measurement.identification.observability import (
    informative_configurations,
)
from screw_dynamics_ros.core.measurement.identification.robot_calibration import (
    RobotCalibration,
    calibrate_robot,
)

__all__ = [
    'Accuracy',
    'MeasuredDistances',
    'MeasuredPoints',
    'MeasuredPoses',
    'RobotCalibration',
    'calibrate_robot',
    'informative_configurations',
]
