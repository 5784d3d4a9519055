# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wheeled platforms and their odometry; doc/theory/mobile_robots.md."""

from .command_limits import AxisLimits, TwistLimiter, admissible_twist
from .odometry import Odometry, WheelNoise, turn_drive_turn
from .platforms import (
    ackermann,
    ackermann_angles,
    bicycle,
    differential_drive,
    mecanum,
    omnidirectional,
    steering_for,
    swerve,
)
from .wheeled_platform import Wheel, WheeledPlatform

__all__ = [
    'AxisLimits',
    'Odometry',
    'TwistLimiter',
    'Wheel',
    'WheelNoise',
    'WheeledPlatform',
    'ackermann',
    'ackermann_angles',
    'admissible_twist',
    'bicycle',
    'differential_drive',
    'mecanum',
    'omnidirectional',
    'steering_for',
    'swerve',
    'turn_drive_turn',
]
