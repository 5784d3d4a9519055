"""The model state of a running robot: `bringup` beside its driver.

    ros2 launch screw_dynamics_ros bringup.launch.py
    ros2 launch screw_dynamics_ros bringup.launch.py namespace:=left urdf:=/path/to/robot.urdf

The robot description comes from the topic robot_description, unless a file is named.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription

SHARE = Path(get_package_share_directory('screw_dynamics_ros'))

ARGUMENTS = [
    DeclareLaunchArgument('namespace', default_value='', description='Namespace of the robot.'),
    DeclareLaunchArgument(
        'params_file', default_value=str(SHARE / 'config' / 'model.yaml'),
        description='Parameters of bringup and the nodes it hosts.'),
    DeclareLaunchArgument(
        'urdf', default_value='',
        description='URDF file. Empty: parameters, then the topic robot_description.'),
    DeclareLaunchArgument(
        'use_sim_time', default_value='false', choices=['true', 'false'],
        description='Take the time from /clock.'),
    DeclareLaunchArgument(
        'log_level', default_value='info', description='Least severe messages to log.'),
]


def make_node(context: LaunchContext) -> list[Node]:
    """Return the node; a URDF file is read now, and only if there is one."""
    urdf = LaunchConfiguration('urdf').perform(context)
    parameters = [LaunchConfiguration('params_file'), {
        'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)}]
    if urdf:
        text = Path(urdf).read_text(encoding='utf-8')
        parameters.append({'robot_description': ParameterValue(text, value_type=str)})
    return [Node(
        package='screw_dynamics_ros', executable='bringup', output='screen',
        namespace=LaunchConfiguration('namespace'), parameters=parameters,
        ros_arguments=['--log-level', LaunchConfiguration('log_level')])]


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=make_node)])
