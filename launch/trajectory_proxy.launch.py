# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Trajectories with efforts, within the limits, for a joint trajectory controller.

    ros2 launch screw_dynamics_ros trajectory_proxy.launch.py
    ros2 launch screw_dynamics_ros trajectory_proxy.launch.py \
        controller_action:=/left/arm_controller/follow_joint_trajectory

Goals for the controller go to trajectory_proxy/follow_joint_trajectory then.
"""

from launch.actions import DeclareLaunchArgument

from launch import LaunchDescription
from screw_dynamics_ros.ros.launch_files import (
    USE_SIM_TIME,
    LaunchSettings,
    Values,
    one_node,
    robot_description,
    sim_time,
    urdf_arguments,
)

ARGUMENTS = [
    DeclareLaunchArgument(
        'controller_action',
        default_value='',
        description='Action of the controller. Empty: as in params_file.',
    ),
    *urdf_arguments('urdf', '', 'parameters, then the topic robot_description'),
    USE_SIM_TIME,
]


def settings(value: Values) -> LaunchSettings:
    """Return the parameters that arguments set; the description is read now."""
    action = value['controller_action']
    return LaunchSettings(
        [
            sim_time(value),
            *([{'controller_action': action}] if action else []),
            *robot_description(value, 'urdf'),
        ]
    )


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return one_node('trajectory_proxy', ARGUMENTS, settings)
