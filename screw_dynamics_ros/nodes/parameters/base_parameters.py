# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters for the motion of a floating base, and of planar, ball and floating joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.parameters import Parameters, Specification

from .gravity_parameters import PARAMETER

FIXED, ODOMETRY, TF, IMU = SOURCES = ('fixed', 'odometry', 'tf', 'imu')
STOP, HOLD = ACTIONS = ('stop', 'hold')

#: Whether planar, ball and floating joints have a topic.
MULTI_DOF = 'multi_dof_joint_states'

SOURCE = Specification(
    'base_source',
    FIXED,
    'Source of the motion of the root link. fixed: it does not move; odometry: pose and twist from '
    'the topic odom (nav_msgs/Odometry, child_frame_id any link of the robot); tf: the frame '
    'base_frame on /tf, the twist by differences; imu: orientation and angular velocity from the '
    'topic imu, position and linear velocity zero. Other than fixed: gravity is in the frame of '
    'the poses, and results contain the six velocities of the root link.',
    choices=SOURCES,
)

TABLE = (
    SOURCE,
    Specification(
        'base_frame',
        'odom',
        'Frame of the poses of the root link, an ancestor of it on /tf, for base_source tf.',
        rule='the name of a frame',
    ),
    Specification(
        'base_timeout',
        0.1,
        'Longest time from a joint state to the nearest measurement of the base [s]. Between '
        'measurements the motion is interpolated, after the last one its twist is constant.',
        minimum=1e-3,
        maximum=10.0,
    ),
    Specification(
        'on_base_loss',
        STOP,
        'Reaction to a longer time, or to no measurement at all. stop: stop the outputs; hold: '
        'the last pose, at rest. /diagnostics report an error.',
        choices=ACTIONS,
    ),
    Specification(
        MULTI_DOF,
        False,
        'Take the motion of planar, ball and floating joints from the topic multi_dof_joint_states '
        '(sensor_msgs/MultiDOFJointState, twists in the axes of the child link), with base_timeout '
        'and on_base_loss. Otherwise they are held at zero.',
    ),
)

NAMES = frozenset(each.name for each in TABLE)


def check(parameters: Parameters, changes: Mapping[str, Any]) -> None:
    """Refuse two sources for the direction of gravity; raises `ArgumentError`."""
    values = {**parameters.values, **changes}
    if values['base_source'] != FIXED and values['gravity_source'] != PARAMETER:
        raise ArgumentError(
            f'base_source {values["base_source"]} determines the direction of gravity: set '
            f'gravity_source to parameter, not to {values["gravity_source"]}'
        )
    if values['base_source'] != FIXED and values['loop_closures']:
        raise ArgumentError(
            'a floating base is implemented for trees only: set base_source to fixed, or clear '
            'loop_closures'
        )
