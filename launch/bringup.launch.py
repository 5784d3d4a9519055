# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""The model state of a running robot: `bringup` beside its driver.

    ros2 launch screw_dynamics_ros bringup.launch.py
    ros2 launch screw_dynamics_ros bringup.launch.py namespace:=left description:=robot.urdf
    ros2 launch screw_dynamics_ros bringup.launch.py view:=true
    ros2 launch screw_dynamics_ros bringup.launch.py rviz:=true \
        description:=package://my_robot/urdf/robot.urdf.xacro description_arguments:='prefix:=left_'
    ros2 launch screw_dynamics_ros bringup.launch.py loop_closures:=/path/to/closures.yaml
    ros2 launch screw_dynamics_ros bringup.launch.py driver:=franka

The robot description comes from the topic robot_description, unless a file is named. Processes
that die are restarted after a delay, so that a wrong parameter does not cause rapid restarts.
"""

from typing import Any

from launch.actions import DeclareLaunchArgument

from launch import LaunchContext, LaunchDescription
from screw_dynamics_ros.core import DescriptionError, ScrewDynamicsError
from screw_dynamics_ros.nodes.parameters import closure_parameters
from screw_dynamics_ros.ros import launch_arguments as check
from screw_dynamics_ros.ros import launch_files as files
from screw_dynamics_ros.ros.drivers import find_driver

DEFAULTS = str(files.SHARE / 'config' / 'model.yaml')

ARGUMENTS = [
    files.NAMESPACE,
    files.params_file('bringup'),
    DeclareLaunchArgument(
        'driver',
        default_value='',
        description='What the robot driver measures and compensates: a preset of '
        'doc/start/drivers.md such as ur, franka or openarm, or a YAML file like '
        'config/drivers/ur.yaml; a params_file of your own takes precedence. Empty: as in '
        'params_file.',
    ),
    *files.urdf_arguments('description', '', 'parameters, then the topic robot_description'),
    DeclareLaunchArgument(
        'loop_closures',
        default_value='',
        description='YAML file with the joints that close loops; description: those described. '
        'Empty: as in params_file.',
    ),
    files.USE_SIM_TIME,
    *files.VIEWERS,
    files.LOG_LEVEL,
    files.RESPAWN,
]


def make_nodes(context: LaunchContext) -> list[Any]:
    """Return the nodes; files are read now, so that nothing starts with a wrong one."""
    value = context.launch_configurations
    parameters = [
        *parameter_files(value['params_file'], value['driver']),
        files.sim_time(value),
        *files.robot_description(value, 'description'),
    ]
    if value['loop_closures']:
        check_loop_closures(value['loop_closures'])
        parameters.append({'loop_closures': value['loop_closures']})
    node = files.node(value, 'bringup', parameters, respawn=value['respawn'] == 'true')
    return [node, *files.viewers(value)]


def parameter_files(own: str, driver: str) -> list[str]:
    """Return the parameter files, those that take precedence last."""
    file = check.parameter_file('params_file', own)
    if not driver:
        return [file]
    try:
        preset = find_driver(driver, files.SHARE / 'config' / 'drivers')
    except ScrewDynamicsError as error:
        raise check.refusal(
            'driver', driver, str(error), 'a preset as in doc/start/drivers.md'
        ) from None
    return [DEFAULTS, str(preset.path)] + ([file] if file != DEFAULTS else [])


def check_loop_closures(path: str) -> None:
    """Refuse a file that does not say how loops are closed."""
    if path == closure_parameters.OF_DESCRIPTION:
        return
    try:
        closure_parameters.read_file(path)
    except DescriptionError as error:
        raise check.refusal(
            'loop_closures', path, str(error), 'a YAML file as in doc/theory/closed_loops.md'
        ) from None


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` starts."""
    return files.checked_description('bringup', ARGUMENTS, make_nodes)
