# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the node `wrist_sensor`, and the tool built from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.ros.messages.conversions import check_size, swap_linear_angular
from screw_dynamics_ros.ros.parameters import Specification

TOOL = (
    Specification('tool_mass', 0.0, 'Mass of the tool on the sensor [kg].', minimum=0.0),
    Specification(
        'tool_center_of_mass',
        [0.0, 0.0, 0.0],
        'Center of mass of the tool in the frame of the sensor [m].',
        size=3,
    ),
    Specification(
        'tool_inertia',
        [0.0] * 6,
        'Inertia of the tool about its center of mass in the axes of the sensor: xx, xy, xz, yy, '
        'yz, zz [kg m^2].',
        size=6,
        rule='physically possible',
    ),
    Specification(
        'bias',
        [0.0] * 6,
        'Measured wrench without load, after sensor_sign: fx, fy, fz, mx, my, mz [N, N m]; '
        '~/tare and ~/identify_tool set it.',
        size=6,
    ),
)

TABLE = (
    Specification(
        'sensor_frame',
        '',
        'Link whose frame is the frame of the sensor, regardless of header.frame_id. Empty: '
        'header.frame_id of the first message.',
        rule='a link of the robot, or empty',
    ),
    Specification(
        'sensor_sign',
        1.0,
        '1: the sensor reports the wrench of the environment on the robot, as '
        'force_torque_sensor_broadcaster does; -1: of the robot on the environment.',
        minimum=-1.0,
        maximum=1.0,
        rule='1 or -1',
    ),
    *TOOL,
    Specification(
        'frames',
        [''],
        'Links for which the compensated wrench is also published on ~/wrench_at/<link>.',
        rule='links of the robot',
    ),
    Specification(
        'acceleration_cutoff',
        10.0,
        'Cut-off frequency of the low-pass filter on accelerations, which are differentiated '
        'velocities [Hz]. 0: zero accelerations are used.',
        minimum=0.0,
        maximum=1000.0,
    ),
    Specification(
        'match_limit',
        0.02,
        'Largest time between the stamps of a sensor message and of the nearest joint state [s].',
        minimum=1e-4,
        maximum=1.0,
    ),
    Specification(
        'sensor_timeout',
        0.5,
        'Time without a valid sensor message after which a warning is reported and ~/tare and '
        '~/record_pose are refused [s].',
        minimum=0.001,
        maximum=3600.0,
    ),
    Specification(
        'pose_samples',
        100,
        'Number of latest sensor messages that ~/tare and ~/record_pose average; at least 10, or '
        'this number if smaller, must have arrived without a pause.',
        minimum=1,
        maximum=10_000,
    ),
    Specification(
        'rest_velocity_limit',
        0.05,
        'Largest joint velocity, measured or derived from positions, at which ~/tare and '
        '~/record_pose are accepted [rad/s, m/s].',
        minimum=1e-6,
    ),
)


def tool_of(values: Mapping[str, Any]) -> RigidBody:
    """Return the tool.

    Raises `InertiaError` if its inertia is physically impossible, `ArgumentError` if a number is
    too large.
    """
    tool = values['tool_mass'], values['tool_center_of_mass'], values['tool_inertia']
    check_size('tool', *tool)
    return RigidBody.from_moments(*tool)


def bias_of(values: Mapping[str, Any]) -> Array:
    """Return the bias, moment and force (6,)."""
    return swap_linear_angular(np.array(values['bias']))
