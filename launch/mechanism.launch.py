"""A mechanism in absolute coordinates: an example of the literature, or a URDF with loop closures.

ros2 launch screw_dynamics_ros mechanism.launch.py example:=heavy_top groups:=so3_r3
ros2 topic echo /mechanism_simulator/violation
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
        'example',
        default_value='',
        choices=['', 'heavy_top', 'double_pendulum', 'floating_pair', 'three_bar_linkage'],
        description='Example of Müller and Terze. Empty: the mechanism of `model`.',
    ),
    DeclareLaunchArgument(
        'model',
        default_value=str(SHARE / 'urdf' / 'panda.urdf'),
        description='URDF or xacro file of the mechanism, by path or package://.',
    ),
    check.arguments_of('model'),
    DeclareLaunchArgument(
        'loop_closures',
        default_value='',
        description='YAML file with the joints that close loops. Empty: none.',
    ),
    DeclareLaunchArgument(
        'groups',
        default_value='auto',
        choices=['auto', 'se3', 'so3_r3'],
        description='Configuration group of the bodies.',
    ),
    DeclareLaunchArgument(
        'tableau',
        default_value='rk4',
        choices=[
            'euler',
            'midpoint',
            'heun_2',
            'kutta_3',
            'heun_3',
            'rk4',
            'three_eighths',
            'dormand_prince',
        ],
        description='Runge-Kutta method of the steps.',
    ),
    DeclareLaunchArgument(
        'params_file',
        default_value=str(SHARE / 'config' / 'mechanism_simulator.yaml'),
        description='Parameters of the node; the arguments above take precedence.',
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
    namespace = check.namespace('namespace', value['namespace'])
    log_level = check.log_level('log_level', value['log_level'])
    parameters = check.parameter_file('params_file', value['params_file'])
    model = check.urdf_file('model', value['model'], value['model_arguments'])
    chosen = {name: value[name] for name in ('example', 'loop_closures', 'groups', 'tableau')}
    actions: list[LaunchDescriptionEntity] = [
        Node(
            package='screw_dynamics_ros',
            executable='mechanism_simulator',
            output='screen',
            namespace=namespace,
            parameters=[parameters, {'urdf': model.path, **chosen}],
            ros_arguments=['--log-level', log_level],
        )
    ]
    if model.is_temporary:
        actions.append(check.deleted_at_end(model.path))
    return actions


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return check.checked_description(__file__, ARGUMENTS, make_actions)
