"""A simulated arm as driver, `bringup` beside it, and rviz on request.

    ros2 launch screw_dynamics_ros simulation.launch.py rviz:=true
    ros2 topic echo /wrench_estimator/wrench/panda_hand_tcp
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, ExecuteProcess, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

SHARE = Path(get_package_share_directory('screw_dynamics_ros'))


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    namespace = LaunchConfiguration('namespace')
    absolute = PythonExpression(["'/' + '", namespace, "'.strip('/')"])
    return LaunchDescription([
        DeclareLaunchArgument('namespace', default_value='', description='Namespace of the robot.'),
        DeclareLaunchArgument(
            'model', default_value=str(SHARE / 'urdf' / 'panda.urdf'),
            description='URDF file of the robot to simulate.'),
        DeclareLaunchArgument(
            'simulator_params_file', default_value=str(SHARE / 'config' / 'simulator.yaml'),
            description='Parameters of the simulator.'),
        DeclareLaunchArgument(
            'params_file', default_value=str(SHARE / 'config' / 'model.yaml'),
            description='Parameters of bringup and the nodes it hosts.'),
        DeclareLaunchArgument(
            'rviz', default_value='false', choices=['true', 'false'],
            description='Start rviz2, if it is installed.'),
        Node(
            package='screw_dynamics_ros', executable='simulator', output='screen',
            namespace=namespace,
            parameters=[LaunchConfiguration('simulator_params_file'),
                        {'urdf': ParameterValue(LaunchConfiguration('model'), value_type=str)}]),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'bringup.launch.py')),
            launch_arguments={
                'namespace': namespace, 'params_file': LaunchConfiguration('params_file')}.items()),
        ExecuteProcess(
            cmd=['rviz2', '-d', str(SHARE / 'rviz' / 'model.rviz'),
                 '--ros-args', '-r', ['__ns:=', absolute]],
            condition=IfCondition(LaunchConfiguration('rviz'))),
    ])
