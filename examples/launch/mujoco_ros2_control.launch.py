# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in MuJoCo under mujoco_ros2_control, and `bringup` beside it.

    ros2 launch mujoco_ros2_control.launch.py urdf:=/path/to/robot.urdf parameters:=controllers.yaml

The description has a <ros2_control> tag with the plugin mujoco_ros2_control/MujocoSystemInterface
and the parameter mujoco_model, an MJCF with an actuator for each joint. Compare both files first:

    ros2 run screw_dynamics_ros parity robot.urdf --mjcf scene.xml --tolerance 1e-4
"""

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
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
        'parameters', description='Parameters of the controller manager and its controllers.'
    ),
    DeclareLaunchArgument(
        'controllers',
        default_value='joint_trajectory_controller',
        description='Controllers to activate, separated by spaces.',
    ),
]


def make_actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the controller manager with MuJoCo in it, its controllers, and `bringup`."""
    value = context.launch_configurations
    urdf = check.description('urdf', value['urdf'], value['urdf_arguments'])
    parameters = check.parameter_file('parameters', value['parameters'])
    return [
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            parameters=[
                {'robot_description': ParameterValue(urdf, value_type=str), 'use_sim_time': True}
            ],
        ),
        Node(
            package='mujoco_ros2_control',  # not controller_manager: see its documentation
            executable='ros2_control_node',
            parameters=[{'use_sim_time': True}, parameters],
            remappings=[('~/robot_description', 'robot_description')],  # its name in Humble
            output='screen',
        ),
        Node(
            package='controller_manager',
            executable='spawner',
            arguments=[
                'joint_state_broadcaster',
                *value['controllers'].split(),
                '--param-file',
                parameters,
            ],
            output='screen',
        ),
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
