# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A mechanism in absolute coordinates: an example of the literature, or a URDF with loop closures.

ros2 launch screw_dynamics_ros mechanism.launch.py example:=heavy_top groups:=so3_r3
ros2 topic echo /mechanism_simulator/violation
"""

from launch.actions import DeclareLaunchArgument

from launch import LaunchDescription
from screw_dynamics_ros.ros import launch_arguments as check
from screw_dynamics_ros.ros.launch_files import (
    SHARE,
    LaunchSettings,
    Values,
    deleted_at_end,
    one_node,
    urdf_arguments,
)

ARGUMENTS = [
    DeclareLaunchArgument(
        'example',
        default_value='',
        choices=['', 'heavy_top', 'double_pendulum', 'floating_pair', 'three_bar_linkage'],
        description='Example of Müller and Terze. Empty: the mechanism of `model`.',
    ),
    *urdf_arguments('model', str(SHARE / 'urdf' / 'panda.urdf')),
    DeclareLaunchArgument(
        'loop_closures',
        default_value='',
        description='YAML file with the joints that close loops, or description. Empty: none.',
    ),
    DeclareLaunchArgument(
        'groups',
        default_value='auto',
        choices=['auto', 'se3', 'so3_r3'],
        description='Configuration group of the bodies.',
    ),
    DeclareLaunchArgument(
        'tableau',
        default_value='rk4',
        choices=[
            'euler',
            'midpoint',
            'heun_2',
            'kutta_3',
            'heun_3',
            'rk4',
            'three_eighths',
            'dormand_prince',
        ],
        description='Runge-Kutta method of the steps.',
    ),
]


def settings(value: Values) -> LaunchSettings:
    """Return the parameters that arguments set; the URDF of a xacro file is deleted at the end."""
    model = check.urdf_file('model', value['model'], value['model_arguments'])
    chosen = {name: value[name] for name in ('example', 'loop_closures', 'groups', 'tableau')}
    actions = [deleted_at_end(model.path)] if model.is_temporary else []
    return LaunchSettings([{'urdf': model.path, **chosen}], actions=actions)


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return one_node('mechanism_simulator', ARGUMENTS, settings)
