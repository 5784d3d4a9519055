# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in Gazebo under gz_ros2_control, and `bringup` beside it.

    ros2 launch gz_ros2_control.launch.py urdf:=/path/to/robot.urdf controllers:=effort_controller

The description has a <ros2_control> tag with the plugin gz_ros2_control/GazeboSimSystem, and in a
<gazebo> tag gz_ros2_control::GazeboSimROS2ControlPlugin, which names the parameters of the
controllers. Gazebo runs the controller manager; its time comes over the bridge.
"""

from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from screw_dynamics_ros.ros import launch_arguments as check
from screw_dynamics_ros.ros.launch_files import urdf_arguments

ARGUMENTS = [
    *urdf_arguments('urdf', None),
    DeclareLaunchArgument(
        'controllers',
        default_value='joint_trajectory_controller',
        description='Controllers to activate, separated by spaces.',
    ),
    DeclareLaunchArgument('world', default_value='empty.sdf', description='World of Gazebo.'),
]


def make_actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return Gazebo, what brings the robot and its time in and out, and `bringup`."""
    value = context.launch_configurations
    urdf = check.description('urdf', value['urdf'], value['urdf_arguments'])
    create = Node(
        package='ros_gz_sim',
        executable='create',
        arguments=['-topic', 'robot_description', '-allow_renaming', 'true'],
        output='screen',
    )
    spawner = Node(
        package='controller_manager',
        executable='spawner',
        arguments=['joint_state_broadcaster', *value['controllers'].split()],
        output='screen',
    )
    return [
        IncludeLaunchDescription(
            PathJoinSubstitution([FindPackageShare('ros_gz_sim'), 'launch', 'gz_sim.launch.py']),
            launch_arguments={'gz_args': f'-r {value["world"]}'}.items(),
        ),
        Node(
            package='ros_gz_bridge',
            executable='parameter_bridge',
            arguments=['/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock'],
        ),
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            parameters=[
                {'robot_description': ParameterValue(urdf, value_type=str), 'use_sim_time': True}
            ],
        ),
        create,
        RegisterEventHandler(OnProcessExit(target_action=create, on_exit=[spawner])),
        IncludeLaunchDescription(
            PathJoinSubstitution(
                [FindPackageShare('screw_dynamics_ros'), 'launch', 'bringup.launch.py']
            ),
            launch_arguments={'use_sim_time': 'true'}.items(),
        ),
    ]


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=make_actions)])
