# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Odometry of a platform on wheels, and a filter of its commands.

ros2 launch screw_dynamics_ros odometry.launch.py params_file:=my_platform.yaml cmd_vel:=/cmd_vel
ros2 topic echo /odometry/odom
"""

from launch.actions import DeclareLaunchArgument

from launch import LaunchDescription
from screw_dynamics_ros.ros.launch_files import LaunchSettings, one_node

ARGUMENTS = [
    DeclareLaunchArgument(
        'cmd_vel',
        default_value='~/cmd_vel',
        description='Topic of the commands (TwistStamped), for instance /cmd_vel.',
    ),
]


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return one_node(
        'odometry',
        ARGUMENTS,
        lambda value: LaunchSettings(remappings=[('~/cmd_vel', value['cmd_vel'])]),
    )
