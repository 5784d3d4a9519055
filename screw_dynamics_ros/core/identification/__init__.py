"""What measurements tell about a robot: geometric calibration, accuracy."""

from screw_dynamics_ros.core.identification.accuracy import Accuracy, accuracy
from screw_dynamics_ros.core.identification.measurements import (
    MeasuredDistances,
    MeasuredPoints,
    MeasuredPoses,
)
from screw_dynamics_ros.core.identification.observability import informative_configurations
from screw_dynamics_ros.core.identification.robot_calibration import (
    RobotCalibration,
    calibrate_robot,
)

__all__ = [
    'Accuracy',
    'MeasuredDistances',
    'MeasuredPoints',
    'MeasuredPoses',
    'RobotCalibration',
    'accuracy',
    'calibrate_robot',
    'informative_configurations',
]
