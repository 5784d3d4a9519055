"""A platform on legs: pose, velocity and leg forces from the joint states of its motors.

ros2 launch screw_dynamics_ros parallel_robot.launch.py mechanism:=my_platform.yaml
ros2 topic echo /parallel_robot/pose
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.nodes.parallel.parameters import read_mechanism
from screw_dynamics_ros.ros import launch_arguments as check

SHARE = Path(get_package_share_directory('screw_dynamics_ros'))

ARGUMENTS = [
    DeclareLaunchArgument('namespace', default_value='', description='Namespace of the node.'),
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
    DeclareLaunchArgument(
        'params_file',
        default_value=str(SHARE / 'config' / 'parallel_robot.yaml'),
        description='Parameters of the node; the arguments above take precedence.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        description=f'Lowest severity of logged messages: {", ".join(check.LEVELS)}.',
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


def make_actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the node, once all arguments are found to be right."""
    value = context.launch_configurations
    namespace = check.namespace('namespace', value['namespace'])
    log_level = check.log_level('log_level', value['log_level'])
    check_mechanism(value['mechanism'])
    check_frames(value['base_frame'], value['platform_frame'])
    parameters = check.parameter_file('params_file', value['params_file'])
    chosen = {name: value[name] for name in ('mechanism', 'base_frame', 'platform_frame')}
    return [
        Node(
            package='screw_dynamics_ros',
            executable='parallel_robot',
            output='screen',
            namespace=namespace,
            parameters=[parameters, chosen],
            ros_arguments=['--log-level', log_level],
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return check.checked_description(__file__, ARGUMENTS, make_actions)
