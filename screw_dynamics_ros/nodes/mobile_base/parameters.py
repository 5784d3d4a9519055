# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the node `odometry`, as in diff_drive_controller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from screw_dynamics_ros.core.mobile.command_limits import AxisLimits
from screw_dynamics_ros.ros.parameters import Specification

from ..parameters.shared_parameters import PROCESS
from ..parameters.state_parameters import AS_MEASURED

#: Axes of commands in the order of twists (omega, v_x, v_y), and their units.
AXES = (('angular.z', 'rad'), ('linear.x', 'm'), ('linear.y', 'm'))

#: Of each axis: name, meaning, divisor of the unit, meaning of 0.
BOUNDS = (
    ('max_velocity', 'Largest speed', '/s', 'no limit'),
    ('min_velocity', 'Largest speed in reverse, negative', '/s', 'as max_velocity'),
    ('max_acceleration', 'Largest acceleration', '/s^2', 'no limit'),
    ('max_deceleration', 'Largest deceleration, negative', '/s^2', 'as max_acceleration'),
    ('max_jerk', 'Largest jerk', '/s^3', 'no limit'),
)
NEGATIVE = ('min_velocity', 'max_deceleration')

DIFFERENTIAL = 'differential'

PLATFORM = (
    Specification(
        'platform',
        DIFFERENTIAL,
        'Arrangement of the wheels (doc/theory/mobile_robots.md).',
        choices=(DIFFERENTIAL, 'bicycle', 'ackermann', 'omnidirectional', 'mecanum', 'swerve'),
        read_only=True,
    ),
    Specification(
        'left_wheel_names',
        [''],
        'Joints of the left wheels of a differential drive; several turn together.',
        rule='names of joints; needed for a differential drive',
        read_only=True,
    ),
    Specification(
        'right_wheel_names',
        [''],
        'Joints of the right wheels of a differential drive; several turn together.',
        rule='names of joints; needed for a differential drive',
        read_only=True,
    ),
    Specification(
        'wheel_names',
        [''],
        'Joints of the driven wheels of other platforms: bicycle: rear; ackermann: rear left and '
        'right; omnidirectional: counterclockwise; mecanum: front left, front right, rear left, '
        'rear right; swerve: in the order of wheel_positions.',
        rule='names of joints, one for each driven wheel',
        read_only=True,
    ),
    Specification(
        'steering_names',
        [''],
        'Steering joints: bicycle: front; ackermann: front left and right; swerve: in the order '
        'of wheel_positions.',
        rule='names of joints, one for each steered wheel',
        read_only=True,
    ),
    Specification(
        'wheel_radius',
        0.0,
        'Radius of the wheels [m]; must be set.',
        minimum=0.0,
        read_only=True,
    ),
    Specification(
        'wheel_separation',
        0.0,
        'Distance between left and right wheels [m]; for differential, ackermann and mecanum.',
        minimum=0.0,
        read_only=True,
    ),
    Specification(
        'wheelbase',
        0.0,
        'Distance between front and rear wheels [m]; for bicycle, ackermann and mecanum.',
        minimum=0.0,
        read_only=True,
    ),
    Specification(
        'robot_radius',
        0.0,
        'Distance of omnidirectional wheels from the center [m].',
        minimum=0.0,
        read_only=True,
    ),
    Specification(
        'wheel_offset', 0.0, 'Angle of the first omnidirectional wheel [rad].', read_only=True
    ),
    Specification(
        'wheel_positions',
        [],
        'x and y of each swerve wheel: x1, y1, x2, y2 and so on [m].',
        rule='two numbers for each of wheel_names',
        read_only=True,
    ),
    *(
        Specification(
            f'{what}_multiplier',
            1.0,
            f'Factor of the {text}, from a calibration; for a differential drive.',
            minimum=0.1,
            maximum=10.0,
            read_only=True,
        )
        for what, text in (
            ('wheel_separation', 'wheel separation'),
            ('left_wheel_radius', 'radius of the left wheels'),
            ('right_wheel_radius', 'radius of the right wheels'),
        )
    ),
)

ODOMETRY = (
    Specification(
        'odom_frame_id',
        'odom',
        'Frame in which the platform started.',
        rule='the name of a frame',
        read_only=True,
    ),
    Specification(
        'base_frame_id',
        'base_link',
        'Frame of the platform.',
        rule='the name of a frame',
        read_only=True,
    ),
    Specification('enable_odom_tf', True, 'Whether to publish the pose on /tf.', read_only=True),
    Specification(
        'odom_joint_names',
        [''],
        'Joints of a robot description that represent the pose (x, y, heading), published on '
        'joint_states for the other nodes of this package. Empty: none.',
        rule='three names, or none',
        read_only=True,
    ),
    Specification(
        'open_loop',
        False,
        'Whether to integrate the commands on ~/cmd_vel_out instead of joint_states.',
        read_only=True,
    ),
    Specification(
        'position_feedback',
        True,
        'Whether odometry uses positions (true) or velocities (false) of the wheels.',
        read_only=True,
    ),
    Specification(
        'publish_rate',
        50.0,
        'Largest rate of ~/odom and /tf, rate of ~/cmd_vel_out [Hz].',
        minimum=1.0,
        maximum=1000.0,
        read_only=True,
    ),
    Specification(
        'pose_covariance_diagonal',
        [1e-6] * 6,
        'Variances added to the pose covariance [m^2, rad^2]: x, y, z, roll, pitch, yaw.',
        minimum=0.0,
        size=6,
    ),
    Specification(
        'twist_covariance_diagonal',
        [1e-6] * 6,
        'Variances added to the twist covariance [m^2/s^2, rad^2/s^2].',
        minimum=0.0,
        size=6,
    ),
    Specification(
        'wheel_noise_along',
        1e-4,
        'Variance of the slip of a wheel in its rolling direction, per distance [m^2/m].',
        minimum=0.0,
        read_only=True,
    ),
    Specification(
        'wheel_noise_across',
        1e-5,
        'Variance of the lateral slip of a wheel, per distance [m^2/m].',
        minimum=0.0,
        read_only=True,
    ),
    Specification(
        'max_gap',
        0.5,
        'Longest time between two joint states; after a longer one the path is lost [s].',
        minimum=0.001,
        maximum=60.0,
    ),
    Specification(
        'max_wheel_velocity',
        200.0,
        'Largest possible wheel velocity [rad/s]; larger steps are encoder faults.',
        minimum=0.1,
    ),
)

COMMANDS = (
    Specification(
        'publish_limited_velocity',
        True,
        'Whether commands are filtered, limited and published on ~/cmd_vel_out.',
        read_only=True,
    ),
    Specification(
        'cmd_vel_timeout',
        0.5,
        'Time after which a command ends and the platform stops [s].',
        minimum=0.01,
        maximum=60.0,
    ),
    Specification(
        'filter_length',
        0.5,
        'Weight of rotation against translation when a command is not feasible [m]: 1 rad/s '
        'weighs as much as this length per second.',
        minimum=0.001,
        maximum=1000.0,
    ),
    Specification(
        'max_steering_angle',
        0.0,
        'Largest steering angle of a bicycle or ackermann platform [rad], which limits the '
        'curvature of commands. 0: no limit.',
        minimum=0.0,
        maximum=1.5,
    ),
    *(
        Specification(
            f'{axis}.{name}',
            0.0,
            f'{text} [{unit}{per}]. 0: {none}.',
            minimum=-math.inf if name in NEGATIVE else 0.0,
            maximum=0.0 if name in NEGATIVE else math.inf,
        )
        for axis, unit in AXES
        for name, text, per, none in BOUNDS
    ),
)

STATES = tuple(row for row in AS_MEASURED if row.name != 'effort_policy')

TABLE = (*PLATFORM, *ODOMETRY, *STATES, *COMMANDS, *PROCESS)


def axis_limits(values: Mapping[str, Any]) -> list[AxisLimits]:
    """Return the limits of commands in the order of `AXES`."""
    return [_limits({k.rpartition('.')[2]: values[k] for k in _names(axis)}) for axis, _ in AXES]


def _names(axis: str) -> list[str]:
    return [s.name for s in COMMANDS if s.name.startswith(f'{axis}.')]


def _limits(values: Mapping[str, float]) -> AxisLimits:
    """Return the limits of one axis; 0 means no limit."""
    return AxisLimits(
        most=values['max_velocity'] or math.inf,
        least=values['min_velocity'] or None,
        acceleration=values['max_acceleration'] or math.inf,
        deceleration=-values['max_deceleration'] or None,
        jerk=values['max_jerk'] or math.inf,
    )
