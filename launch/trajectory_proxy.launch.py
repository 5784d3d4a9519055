"""Trajectories with efforts, within the limits, for a joint trajectory controller.

    ros2 launch screw_dynamics_ros trajectory_proxy.launch.py
    ros2 launch screw_dynamics_ros trajectory_proxy.launch.py \\
        controller_action:=/left/arm_controller/follow_joint_trajectory

Goals for the controller go to trajectory_proxy/follow_joint_trajectory then.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription
from screw_dynamics_ros.ros import launch_arguments as check

SHARE = Path(get_package_share_directory('screw_dynamics_ros'))

ARGUMENTS = [
    DeclareLaunchArgument('namespace', default_value='', description='Namespace of the robot.'),
    DeclareLaunchArgument(
        'controller_action',
        default_value='',
        description='Action of the controller. Empty: as in params_file.',
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=str(SHARE / 'config' / 'model.yaml'),
        description='Parameters of the node; the other arguments take precedence.',
    ),
    DeclareLaunchArgument(
        'urdf',
        default_value='',
        description='URDF or xacro file, by path or package://. Empty: parameters, then the topic '
        'robot_description.',
    ),
    check.arguments_of('urdf'),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        choices=['true', 'false'],
        description='Use the time of /clock.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        description=f'Lowest severity of logged messages: {", ".join(check.LEVELS)}.',
    ),
]


def make_node(context: LaunchContext) -> list[Node]:
    """Return the node; files are read now, so that nothing starts with a wrong one."""
    value = context.launch_configurations
    parameters = [
        check.parameter_file('params_file', value['params_file']),
        {'use_sim_time': value['use_sim_time'] == 'true'},
    ]
    if value['controller_action']:
        parameters.append({'controller_action': value['controller_action']})
    if value['urdf']:
        text = check.description('urdf', value['urdf'], value['urdf_arguments'])
        parameters.append({'robot_description': ParameterValue(text, value_type=str)})
    return [
        Node(
            package='screw_dynamics_ros',
            executable='trajectory_proxy',
            output='screen',
            namespace=check.namespace('namespace', value['namespace']),
            parameters=parameters,
            ros_arguments=['--log-level', check.log_level('log_level', value['log_level'])],
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return check.checked_description(__file__, ARGUMENTS, make_node)
