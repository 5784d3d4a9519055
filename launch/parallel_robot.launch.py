# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A platform on legs: pose, velocity and leg forces from the joint states of its motors.

ros2 launch screw_dynamics_ros parallel_robot.launch.py mechanism:=my_platform.yaml
ros2 topic echo /parallel_robot/pose
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument

from launch import LaunchDescription
from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.nodes.parallel.parameters import read_mechanism
from screw_dynamics_ros.ros import launch_arguments as check
from screw_dynamics_ros.ros.launch_files import SHARE, LaunchSettings, Values, one_node

ARGUMENTS = [
    DeclareLaunchArgument(
        'mechanism',
        default_value=str(SHARE / 'config' / 'parallel' / 'stewart_gough.yaml'),
        description='YAML file that describes the platform and its legs.',
    ),
    DeclareLaunchArgument(
        'base_frame', default_value='base', description='Frame of the base, parent on /tf.'
    ),
    DeclareLaunchArgument(
        'platform_frame',
        default_value='platform',
        description='Frame of the platform, child on /tf.',
    ),
]


def check_mechanism(value: str) -> None:
    """Refuse a file that describes no platform."""
    try:
        read_mechanism(Path(value))
    except DescriptionError as error:
        expected = 'a YAML file like those in config/parallel'
        raise check.refusal('mechanism', value, str(error), expected) from None


def check_frames(base: str, platform: str) -> None:
    """Refuse one frame for both, or none."""
    if not platform or platform == base:
        expected = f'the name of a frame other than base_frame:={base}'
        raise check.refusal('platform_frame', platform, 'the platform moves in the base', expected)
    if not base:
        raise check.refusal('base_frame', base, 'it has no name', 'the name of a frame')


def settings(value: Values) -> LaunchSettings:
    """Return the parameters that arguments set."""
    check_mechanism(value['mechanism'])
    check_frames(value['base_frame'], value['platform_frame'])
    names = ('mechanism', 'base_frame', 'platform_frame')
    return LaunchSettings([{name: value[name] for name in names}])


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return one_node('parallel_robot', ARGUMENTS, settings)
