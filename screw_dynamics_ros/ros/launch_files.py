# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Common parts of the launch files of this package; needs the package launch of ROS 2.

Arguments are checked before anything starts. `ros2 launch` itself ignores undeclared arguments, so
a mistyped one would leave a default active.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnShutdown
from launch.logging import get_logger
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

from ..registry import NODES
from ..share import share_folder
from . import launch_arguments as check

SHARE = share_folder()
RESPAWN_DELAY = 2.0  # s; prevents rapid restarts with an invalid parameter

Values = Mapping[str, str]  # of launch arguments, by name


class LaunchSettings(NamedTuple):
    """What a launch file adds to its node: parameters besides the file, and further actions."""

    parameters: Sequence[Any] = ()
    remappings: Sequence[tuple[str, str]] = ()
    actions: Sequence[Any] = ()


# --- arguments ----------------------------------------------------------------------------------


def switch(name: str, default: bool, description: str) -> Any:
    """Return a boolean argument."""
    return DeclareLaunchArgument(
        name, default_value=str(default).lower(), choices=['true', 'false'], description=description
    )


NAMESPACE = DeclareLaunchArgument('namespace', default_value='', description='Namespace.')
LOG_LEVEL = DeclareLaunchArgument(
    'log_level',
    default_value='info',
    description=f'Lowest severity of logged messages: {", ".join(check.LEVELS)}.',
)
USE_SIM_TIME = switch('use_sim_time', False, 'Use the time of /clock.')
#: Visualization programs, each started with a layout for the robot: package and executable.
VISUALIZERS = {
    'rviz': ('rviz2', 'rviz2'),
    'plotjuggler': ('plotjuggler', 'plotjuggler'),
    'foxglove': ('foxglove_bridge', 'foxglove_bridge'),
}
VIEWER_SWITCHES = (
    switch('rviz', False, 'Start rviz2 with frames and markers of the robot.'),
    switch('plotjuggler', False, 'Start PlotJuggler with torques and wrenches of the robot.'),
    switch('foxglove', False, 'Start foxglove_bridge and make a layout of the robot for Foxglove.'),
    switch('view', False, 'Show the robot in a web browser, at an address that is printed.'),
)
VIEWERS = (
    *VIEWER_SWITCHES,
    DeclareLaunchArgument(
        'fixed_frame',
        default_value='',
        description='Fixed frame of rviz and Foxglove, for instance odom. Empty: the root link.',
    ),
)
RESPAWN = switch('respawn', True, f'Restart processes that die, after {RESPAWN_DELAY:g} s.')


def params_file(node: str, name: str = 'params_file') -> Any:
    """Return the argument of the parameter file of a node."""
    file = f'{NODES[node].config}.yaml'
    return DeclareLaunchArgument(
        name,
        default_value=str(SHARE / 'config' / file),
        description=f'Parameters of {node}, a file like config/{file}; other arguments take '
        'precedence.',
    )


def urdf_arguments(name: str, default: str | None, empty: str = '') -> list[Any]:
    """Return the arguments of a description: the file and, for xacro, its arguments.

    Without a default the file is required; `empty` describes what an empty value means.
    """
    text = 'URDF, xacro, SDFormat or MJCF file, by path or package://.'
    return [
        DeclareLaunchArgument(
            name,
            **({} if default is None else {'default_value': default}),
            description=f'{text} Empty: {empty}.' if empty else text,
        ),
        DeclareLaunchArgument(
            f'{name}_arguments',
            default_value='',
            description=f'Arguments of {name} if it is a xacro file: name:=value name:=value.',
        ),
    ]


# --- descriptions -------------------------------------------------------------------------------


def checked_description(
    node: str, arguments: Sequence[Any], make: Callable[[Any], Sequence[Any]]
) -> Any:
    """Return the launch description of a node that checks its arguments.

    Parameters
    ----------
    node : str
    arguments : sequence of launch.actions.DeclareLaunchArgument
    make : callable
        Takes the launch.LaunchContext and returns the entities to start.
    """
    return LaunchDescription(
        [
            OpaqueFunction(
                function=check_names, args=[f'{NODES[node].launch}.launch.py', arguments]
            ),
            *arguments,
            OpaqueFunction(function=make),
        ]
    )


def check_names(context: Any, launch_file: str, arguments: Sequence[Any]) -> None:
    """Refuse undeclared launch arguments, or log a warning: see `check.unknown`.

    This must be the first action of a launch file, because later ones set defaults.
    """
    names = [argument.name for argument in arguments]
    warning = check.unknown(launch_file, context.launch_configurations, names, context.argv)
    if warning:
        get_logger('launch').warning(warning)


def one_node(
    name: str,
    arguments: Sequence[Any] = (),
    settings: Callable[[Values], LaunchSettings] = lambda value: LaunchSettings(),
) -> Any:
    """Return the launch description of one node with a parameter file.

    Parameters
    ----------
    name : str
        Name of the node.
    arguments : sequence of launch.actions.DeclareLaunchArgument
        Besides namespace, params_file, log_level and `VIEWERS`.
    settings : callable
        Takes the values of all arguments.
    """

    def make(context: Any) -> list[Any]:
        value = context.launch_configurations
        file = check.parameter_file('params_file', value['params_file'])
        given = settings(value)
        made = node(value, name, [file, *given.parameters], remappings=given.remappings)
        return [made, *viewers(value), *given.actions]

    common = [NAMESPACE, *arguments, params_file(name), *VIEWERS, LOG_LEVEL]
    return checked_description(name, common, make)


# --- actions ------------------------------------------------------------------------------------


def node(
    value: Values, executable: str, parameters: Sequence[Any], respawn: bool = False, **more: Any
) -> Any:
    """Return a node of this package, configured by the common arguments."""
    return Node(
        package=check.PACKAGE,
        executable=executable,
        output='screen',
        namespace=check.namespace('namespace', value['namespace']),
        parameters=parameters,
        ros_arguments=['--log-level', check.log_level('log_level', value['log_level'])],
        respawn=respawn,
        respawn_delay=RESPAWN_DELAY,
        **more,
    )


def sim_time(value: Values) -> dict[str, bool]:
    """Return the parameter of the argument `use_sim_time`."""
    return {'use_sim_time': value['use_sim_time'] == 'true'}


def robot_description(value: Values, name: str) -> list[dict[str, Any]]:
    """Return the parameter with the description that an argument names; empty without one."""
    if not value[name]:
        return []
    text = check.description(name, value[name], value[f'{name}_arguments'])
    return [{'robot_description': ParameterValue(text, value_type=str)}]


def viewers(value: Values) -> list[Any]:
    """Return the processes that show the robot, as requested by the arguments `VIEWERS`.

    Raises `ArgumentError` for a program that is not installed.
    """
    return [*visualizers(value), *view(value)]


def visualizers(value: Values) -> list[Any]:
    """Return the nodes that start the requested programs of `VISUALIZERS`."""
    names = [name for name in VISUALIZERS if value[name] == 'true']
    for name in names:
        package, executable = VISUALIZERS[name]
        check.program(name, 'true', check.program_path(package, executable), package)
    parameters: list[Any] = [value['params_file']]
    if value['fixed_frame']:
        parameters.append({'fixed_frame': ParameterValue(value['fixed_frame'], value_type=str)})
    return [
        Node(
            package=check.PACKAGE,
            executable=name,
            output='screen',
            namespace=check.namespace('namespace', value['namespace']),
            parameters=parameters,
        )
        for name in names
    ]


def view(value: Values) -> list[Any]:
    """Return the process of the browser view, if the arguments request it."""
    if value['view'] != 'true':
        return []
    check.program('view', 'true', 'viser' if find_spec('viser') else None, 'viser')
    return [
        Node(
            package=check.PACKAGE,
            executable='view',
            arguments=['--live'],
            output='screen',
            namespace=check.namespace('namespace', value['namespace']),
        )
    ]


def deleted_at_end(file: str | Path) -> Any:
    """Return the action that deletes a file and its temporary folder when the launch ends."""
    return RegisterEventHandler(
        OnShutdown(on_shutdown=lambda *_: shutil.rmtree(Path(file).parent, ignore_errors=True))
    )
