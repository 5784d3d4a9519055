"""Odometry of a platform on wheels, and a filter of its commands.

ros2 launch screw_dynamics_ros odometry.launch.py params_file:=my_platform.yaml cmd_vel:=/cmd_vel
ros2 topic echo /odometry/odom
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from screw_dynamics_ros.ros import launch_arguments as check

SHARE = Path(get_package_share_directory('screw_dynamics_ros'))

ARGUMENTS = [
    DeclareLaunchArgument('namespace', default_value='', description='Namespace of the node.'),
    DeclareLaunchArgument(
        'params_file',
        default_value=str(SHARE / 'config' / 'odometry.yaml'),
        description='Parameters of the node: a copy of config/odometry.yaml with your wheels.',
    ),
    DeclareLaunchArgument(
        'cmd_vel',
        default_value='~/cmd_vel',
        description='Topic of the commands (TwistStamped), for instance /cmd_vel.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        description=f'Lowest severity of logged messages: {", ".join(check.LEVELS)}.',
    ),
]


def make_actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the node, once all arguments are found to be right."""
    value = context.launch_configurations
    return [
        Node(
            package='screw_dynamics_ros',
            executable='odometry',
            output='screen',
            namespace=check.namespace('namespace', value['namespace']),
            parameters=[check.parameter_file('params_file', value['params_file'])],
            remappings=[('~/cmd_vel', value['cmd_vel'])],
            ros_arguments=['--log-level', check.log_level('log_level', value['log_level'])],
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return check.checked_description(__file__, ARGUMENTS, make_actions)
