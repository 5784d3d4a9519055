"""A simulated arm as driver, `bringup` beside it, and rviz on request.

ros2 launch screw_dynamics_ros simulation.launch.py rviz:=true
ros2 topic echo /wrench_estimator/wrench/panda_hand_tcp
"""

import shutil
import sys
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.logging import get_logger
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from screw_dynamics_ros.ros import launch_arguments as check

SHARE = Path(get_package_share_directory('screw_dynamics_ros'))
RESPAWN_DELAY = 2.0  # s

ARGUMENTS = [
    DeclareLaunchArgument('namespace', default_value='', description='Namespace of the robot.'),
    DeclareLaunchArgument(
        'model',
        default_value=str(SHARE / 'urdf' / 'panda.urdf'),
        description='URDF file of the robot to simulate.',
    ),
    DeclareLaunchArgument(
        'simulator_params_file',
        default_value=str(SHARE / 'config' / 'simulator.yaml'),
        description='Parameters of the simulator.',
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=str(SHARE / 'config' / 'model.yaml'),
        description='Parameters of bringup and the nodes it hosts.',
    ),
    DeclareLaunchArgument(
        'rviz',
        default_value='false',
        choices=['true', 'false'],
        description='Start rviz2, if it is installed.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        description=f'Lowest severity of logged messages: {", ".join(check.LEVELS)}.',
    ),
    DeclareLaunchArgument(
        'respawn',
        default_value='true',
        choices=['true', 'false'],
        description=f'Restart nodes that die, after {RESPAWN_DELAY:g} s.',
    ),
]


def check_names(context: LaunchContext) -> None:
    """Refuse arguments that nothing reads."""
    names = [argument.name for argument in ARGUMENTS]
    warning = check.unknown(Path(__file__), context.launch_configurations, names, sys.argv)
    if warning:
        get_logger('launch').warning(warning)


def make_actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return simulator, `bringup` and rviz, once all arguments are found to be right."""
    value = context.launch_configurations
    namespace = check.namespace('namespace', value['namespace'])
    log_level = check.log_level('log_level', value['log_level'])
    check.urdf_file('model', value['model'])
    parameters = check.parameter_file('simulator_params_file', value['simulator_params_file'])
    check.parameter_file('params_file', value['params_file'])
    actions: list[LaunchDescriptionEntity] = [
        Node(
            package='screw_dynamics_ros',
            executable='simulator',
            output='screen',
            namespace=namespace,
            parameters=[parameters, {'urdf': value['model']}],
            ros_arguments=['--log-level', log_level],
            respawn=value['respawn'] == 'true',
            respawn_delay=RESPAWN_DELAY,
        ),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'bringup.launch.py')),
            launch_arguments={
                name: value[name] for name in ('namespace', 'params_file', 'log_level', 'respawn')
            }.items(),
        ),
    ]
    if value['rviz'] == 'true':
        check.program('rviz', 'true', shutil.which('rviz2'), 'rviz2')
        actions.append(
            ExecuteProcess(
                cmd=[
                    'rviz2',
                    '-d',
                    str(SHARE / 'rviz' / 'model.rviz'),
                    '--ros-args',
                    '-r',
                    f'__ns:=/{namespace.strip("/")}',
                ]
            )
        )
    return actions


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return LaunchDescription(
        [OpaqueFunction(function=check_names), *ARGUMENTS, OpaqueFunction(function=make_actions)]
    )
