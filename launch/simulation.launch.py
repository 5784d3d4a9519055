# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated arm as driver, `bringup` beside it, ros2_control, rviz and a page on request.

ros2 launch screw_dynamics_ros simulation.launch.py rviz:=true
ros2 launch screw_dynamics_ros simulation.launch.py view:=true model:=robot.urdf
ros2 topic echo /wrench_estimator/wrench/panda_hand_tcp

ros2 launch screw_dynamics_ros simulation.launch.py ros2_control:=true command_interfaces:=position
ros2 control list_controllers

With ros2_control the simulator stands in for the hardware: the controller manager reads its joint
states and sends it commands, and the topic joint_states is that of the joint_state_broadcaster, as
on a robot. doc/how_to/simulation_pipelines.md tells the rest.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.logging import get_logger
from launch_ros.actions import Node
from launch_ros.utilities import make_namespace_absolute, prefix_namespace

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from screw_dynamics_ros.core import ArgumentError, DescriptionError, Robot
from screw_dynamics_ros.core.motion.control.joint_gains import joint_gains
from screw_dynamics_ros.ros import launch_arguments as check
from screw_dynamics_ros.ros import launch_files as files
from screw_dynamics_ros.ros.ros2_control import (
    EXPECTED,
    Controllers,
    GeneratedFiles,
    SimulatedHardware,
    controllers_for,
    with_simulated_hardware,
    write_files,
)

SERVO_FREQUENCY = 30.0  # rad/s, of the trajectory controller that commands efforts
OF_BRINGUP = (
    'namespace',
    'params_file',
    'loop_closures',
    'log_level',
    'respawn',
    'use_sim_time',
)
CONTROL_PACKAGES = ('controller_manager', 'joint_state_topic_hardware_interface')

ARGUMENTS = [
    files.NAMESPACE,
    *files.urdf_arguments('model', str(files.SHARE / 'urdf' / 'panda.urdf')),
    DeclareLaunchArgument(
        'loop_closures',
        default_value='',
        description='YAML file with the joints that close loops; description: those described. '
        'mechanism_simulator simulates the model then, with its default parameters. Empty: none.',
    ),
    files.params_file('simulator', 'simulator_params_file'),
    files.params_file('bringup'),
    files.switch(
        'ros2_control', False, 'Start a controller manager, with the simulator as its hardware.'
    ),
    DeclareLaunchArgument(
        'command_interfaces',
        default_value='effort',
        description='With ros2_control: position, velocity, effort, or position+effort of '
        'impedance drives, for all joints, and joint:interface for single ones, separated by '
        'spaces.',
    ),
    files.switch(
        'replace_ros2_control',
        False,
        'With ros2_control: replace the <ros2_control> tags of the model. false: one for topics is '
        'kept, others are refused.',
    ),
    DeclareLaunchArgument(
        'update_rate',
        default_value='500',
        description='With ros2_control: rate of the controller manager [Hz].',
    ),
    DeclareLaunchArgument(
        'generated_dir',
        default_value='',
        description='With ros2_control: folder for the generated description and parameters of '
        'controllers. Empty: a temporary one.',
    ),
    files.USE_SIM_TIME,
    *files.VIEWERS,
    files.LOG_LEVEL,
    files.RESPAWN,
]


def make_actions(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return simulator, `bringup` and the rest, once all arguments are found to be right."""
    value = context.launch_configurations
    check.namespace('namespace', value['namespace'])
    check.log_level('log_level', value['log_level'])
    check.parameter_file('simulator_params_file', value['simulator_params_file'])
    check.parameter_file('params_file', value['params_file'])
    if value['loop_closures'] and value['ros2_control'] == 'true':
        raise check.refusal(
            'loop_closures',
            value['loop_closures'],
            'mechanism_simulator cannot be the hardware of ros2_control',
            'no ros2_control:=true, or no loop_closures',
        )
    model = check.urdf_file('model', value['model'], value['model_arguments'])
    if value['loop_closures']:
        actions = [make_mechanism_simulator(context, model.path)]
    elif value['ros2_control'] == 'true':
        actions = make_controlled_robot(context, model.text)
    else:
        actions = [make_simulator(context, model.path)]
    actions.append(
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(files.SHARE / 'launch' / 'bringup.launch.py')),
            launch_arguments={
                **{name: value[name] for name in OF_BRINGUP},
                # it would see the values of these, which are started here
                **{switch.name: 'false' for switch in files.VIEWER_SWITCHES},
            }.items(),
        )
    )
    actions += files.viewers(value)
    if model.is_temporary:
        actions.append(files.deleted_at_end(model.path))
    return actions


def make_simulator(
    context: LaunchContext,
    urdf: str,
    remappings: Sequence[tuple[str, str]] = (),
    parameters: Mapping[str, float] = MappingProxyType({}),
) -> Node:
    """Return the simulator."""
    value = context.launch_configurations
    return files.node(
        value,
        'simulator',
        [value['simulator_params_file'], {'urdf': urdf, **parameters}],
        respawn=value['respawn'] == 'true',
        remappings=remappings,
    )


def make_mechanism_simulator(context: LaunchContext, urdf: str) -> Node:
    """Return the simulator of a model with loops."""
    value = context.launch_configurations
    defaults = str(files.SHARE / 'config' / 'mechanism_simulator.yaml')
    return files.node(
        value,
        'mechanism_simulator',
        [defaults, {'urdf': urdf, 'loop_closures': value['loop_closures']}],
        respawn=value['respawn'] == 'true',
    )


def make_controlled_robot(context: LaunchContext, model: str) -> list[LaunchDescriptionEntity]:
    """Return the simulator as hardware, the controller manager, and what loads its controllers.

    The controller manager waits for the description, which the simulator publishes, and then
    offers the services that the spawners wait for. It is not restarted: it would come back without
    controllers.
    """
    value = context.launch_configurations
    for package in CONTROL_PACKAGES:
        check.ros_package('ros2_control', 'true', package)
    space = absolute_namespace(context)
    hardware, written, controllers = generate(context, model, space)
    for remark in hardware.remarks:
        get_logger('launch').warning(f'<ros2_control> tag of {value["model"]}: {remark}')
    manager = f'{space.rstrip("/")}/controller_manager'
    spawner = ['--controller-manager', manager, '--param-file', str(written.controllers)]
    actions: list[LaunchDescriptionEntity] = [
        make_simulator(
            context,
            str(written.description),
            [('joint_states', hardware.states_topic), ('joint_commands', hardware.commands_topic)],
            {'motion_amplitude': 0.0},  # hardware without controllers holds still
        ),
        Node(
            package='controller_manager',
            executable='ros2_control_node',
            output='screen',
            namespace=value['namespace'],
            parameters=[str(written.controllers)],
            remappings=[('~/robot_description', 'robot_description')],  # its name in Humble
            ros_arguments=['--log-level', value['log_level']],
        ),
        *(
            Node(
                package='controller_manager',
                executable='spawner',
                output='screen',
                namespace=value['namespace'],
                arguments=[*names, *spawner, *more],
            )
            for names, more in ((controllers.active, []), (controllers.inactive, ['--inactive']))
            if names
        ),
    ]
    if written.temporary:
        actions.append(files.deleted_at_end(written.description))
    else:
        get_logger('launch').info(f'generated {written.description} and {written.controllers}')
    return actions


def generate(
    context: LaunchContext, model: str, space: str
) -> tuple[SimulatedHardware, GeneratedFiles, Controllers]:
    """Write the description with the hardware and the parameters of the controllers."""
    value = context.launch_configurations
    rate = check.whole_number('update_rate', value['update_rate'], 1, 10000)
    choice, prefix = value['command_interfaces'], space.rstrip('/')
    try:
        hardware = with_simulated_hardware(
            model,
            choice,
            f'{prefix}/joint_commands',
            f'{prefix}/robot_joint_states',
            replace=value['replace_ros2_control'] == 'true',
        )
    except ArgumentError as error:
        raise check.refusal('command_interfaces', choice, str(error), EXPECTED) from None
    except DescriptionError as error:
        raise check.refusal(
            'model', value['model'], str(error), 'another model, or replace_ros2_control:=true'
        ) from None
    controllers = controllers_for(
        hardware.interfaces,
        effort_gains(value['model'], model, rate)
        if 'effort' in hardware.interfaces.values()
        else {},
        namespace=space,
        update_rate=rate,
        use_sim_time=value['use_sim_time'] == 'true',
    )
    try:
        return hardware, write_files(value['generated_dir'], hardware, controllers), controllers
    except ArgumentError as error:
        raise check.refusal(
            'generated_dir', value['generated_dir'], str(error), 'a folder, or nothing'
        ) from None


def effort_gains(path: str, model: str, rate: int) -> dict[str, dict[str, float]]:
    """Return gains for controllers that command efforts."""
    robot = Robot.from_urdf(model, backend='reference')
    try:
        return joint_gains(robot, None, min(SERVO_FREQUENCY, 0.06 * rate))
    except ArgumentError as error:
        raise check.refusal('model', path, str(error), 'a robot that can be simulated') from None


def absolute_namespace(context: LaunchContext) -> str:
    """Return the namespace that the nodes get, of a launch file around this one, too."""
    pushed = context.launch_configurations.get('ros_namespace')
    own = context.launch_configurations['namespace'] or None
    return make_namespace_absolute(prefix_namespace(pushed, own) or '/')


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return files.checked_description('simulator', ARGUMENTS, make_actions)
