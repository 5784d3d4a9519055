"""The model state of a running robot: `bringup` beside its driver.

    ros2 launch screw_dynamics_ros bringup.launch.py
    ros2 launch screw_dynamics_ros bringup.launch.py namespace:=left description:=robot.urdf
    ros2 launch screw_dynamics_ros bringup.launch.py rviz:=true \\
        description:=package://my_robot/urdf/robot.urdf.xacro description_arguments:='prefix:=left_'
    ros2 launch screw_dynamics_ros bringup.launch.py loop_closures:=/path/to/closures.yaml
    ros2 launch screw_dynamics_ros bringup.launch.py driver:=franka

The robot description comes from the topic robot_description, unless a file is named. Processes
that die are restarted after a delay, so that a wrong parameter does not cause rapid restarts.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription
from screw_dynamics_ros.core import DescriptionError, ScrewDynamicsError
from screw_dynamics_ros.nodes.parameters import closure_parameters
from screw_dynamics_ros.ros import launch_arguments as check
from screw_dynamics_ros.ros.drivers import find_driver

SHARE = Path(get_package_share_directory('screw_dynamics_ros'))
DEFAULTS = str(SHARE / 'config' / 'model.yaml')
RESPAWN_DELAY = 2.0  # s

ARGUMENTS = [
    DeclareLaunchArgument('namespace', default_value='', description='Namespace of the robot.'),
    DeclareLaunchArgument(
        'params_file',
        default_value=DEFAULTS,
        description='Parameters of bringup and the nodes it hosts.',
    ),
    DeclareLaunchArgument(
        'driver',
        default_value='',
        description='What the robot driver measures and compensates: ur, franka, iiwa, '
        'kinova_gen3, xarm, generic, or a YAML file like config/drivers/ur.yaml; a params_file of '
        'your own takes precedence. Empty: as in params_file.',
    ),
    DeclareLaunchArgument(
        'description',
        default_value='',
        description='URDF or xacro file, by path or package://. Empty: parameters, then the topic '
        'robot_description.',
    ),
    check.arguments_of('description'),
    DeclareLaunchArgument(
        'loop_closures',
        default_value='',
        description='YAML file with the joints that close loops. Empty: as in params_file.',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        choices=['true', 'false'],
        description='Use the time of /clock.',
    ),
    DeclareLaunchArgument(
        'rviz',
        default_value='false',
        choices=['true', 'false'],
        description='Start rviz2, if it is installed, with the frames of the robot.',
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
        description=f'Restart processes that die, after {RESPAWN_DELAY:g} s.',
    ),
]


def make_nodes(context: LaunchContext) -> list[Node]:
    """Return the nodes; files are read now, so that nothing starts with a wrong one."""
    value = context.launch_configurations
    parameters = [
        *parameter_files(value['params_file'], value['driver']),
        {'use_sim_time': value['use_sim_time'] == 'true'},
    ]
    if value['description']:
        text = check.description(
            'description', value['description'], value['description_arguments']
        )
        parameters.append({'robot_description': ParameterValue(text, value_type=str)})
    if value['loop_closures']:
        check_loop_closures(value['loop_closures'])
        parameters.append({'loop_closures': value['loop_closures']})
    namespace = check.namespace('namespace', value['namespace'])
    nodes = [
        Node(
            package='screw_dynamics_ros',
            executable='bringup',
            output='screen',
            namespace=namespace,
            parameters=parameters,
            ros_arguments=['--log-level', check.log_level('log_level', value['log_level'])],
            respawn=value['respawn'] == 'true',
            respawn_delay=RESPAWN_DELAY,
        )
    ]
    if value['rviz'] == 'true':
        nodes.append(check.rviz(namespace, value['params_file']))
    return nodes


def parameter_files(own: str, driver: str) -> list[str]:
    """Return the parameter files, those that take precedence last."""
    file = check.parameter_file('params_file', own)
    if not driver:
        return [file]
    try:
        preset = find_driver(driver, SHARE / 'config' / 'drivers')
    except ScrewDynamicsError as error:
        raise check.refusal('driver', driver, str(error), 'a preset as in doc/drivers.md') from None
    return [DEFAULTS, str(preset.path)] + ([file] if file != DEFAULTS else [])


def check_loop_closures(path: str) -> None:
    """Refuse a file that does not say how loops are closed."""
    try:
        closure_parameters.read(path)
    except DescriptionError as error:
        raise check.refusal(
            'loop_closures', path, str(error), 'a YAML file as in doc/closed_loops.md'
        ) from None


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return check.checked_description(__file__, ARGUMENTS, make_nodes)
