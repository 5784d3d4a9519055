# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wheeled platforms and their odometry; doc/theory/mobile_robots.md."""

from screw_dynamics_ros.core.mobile.command_limits import AxisLimits, TwistLimiter
from screw_dynamics_ros.core.mobile.odometry import Odometry, WheelNoise, turn_drive_turn
from screw_dynamics_ros.core.mobile.platforms import (
    ackermann,
    ackermann_angles,
    bicycle,
    differential_drive,
    mecanum,
    omnidirectional,
    steering_for,
    swerve,
)
from screw_dynamics_ros.core.mobile.twist_filter import admissible_twist
from screw_dynamics_ros.core.mobile.wheeled_platform import WheeledPlatform
from screw_dynamics_ros.core.mobile.wheels import Wheel

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
