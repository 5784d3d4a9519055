"""Arguments of the launch files: checked before anything starts, refused by name.

`ros2 launch` itself ignores arguments that no launch file declares, so that a misspelled one would
leave a default in force.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.ros.description_file import assignments, located, read_description
from screw_dynamics_ros.ros.parameter_files import read_parameter_file
from screw_dynamics_ros.ros.xacro_expansion import ExpansionError

PACKAGE = 'screw_dynamics_ros'
LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')
LIKE, NEAR = 0.6, 0.8  # of 1, that names are alike for a hint, and for little doubt


def refusal(name: str, value: str, reason: str, expected: str = '') -> ArgumentError:
    """Return the error of a launch argument; without what is expected if the reason says it."""
    hint = f'; expected {expected}' if expected else ''
    return ArgumentError(f'launch argument {name}:={value}: {reason}{hint}')


def parameter_file(name: str, value: str) -> str:
    """Return the path of a parameter file that can be one."""
    try:
        read_parameter_file(Path(value))
    except ArgumentError as error:
        raise refusal(name, value, str(error), 'a YAML file like config/model.yaml') from None
    return value


def description(name: str, value: str, arguments: str = '') -> str:
    """Return the URDF of a file, or what xacro makes of it with arguments 'name:=value ...'.

    The file is named by its path or package://. The arguments are the launch argument
    `name`_arguments.
    """
    try:
        given = assignments(arguments)
    except ArgumentError as error:
        raise refusal(
            f'{name}_arguments', arguments, str(error), 'arguments of a xacro file, name:=value'
        ) from None
    try:
        return read_description(located(value), given, f'{name}_arguments:=')
    except ExpansionError as error:
        raise refusal(name, value, str(error)) from None
    except (ArgumentError, DescriptionError) as error:
        raise refusal(name, value, str(error), 'a URDF or xacro file') from None


@dataclass(frozen=True)
class UrdfFile:
    """A URDF, where it is, and whether it has been made in a temporary folder of its own."""

    text: str
    path: str
    is_temporary: bool


def urdf_file(name: str, value: str, arguments: str = '') -> UrdfFile:
    """Return the URDF of a file as a file, which is another one for xacro.

    Delete that by `deleted_at_end`.
    """
    text, path = description(name, value, arguments), located(value)
    if path.read_text(encoding='utf-8') == text:
        return UrdfFile(text, str(path), False)
    made = Path(tempfile.mkdtemp(prefix=f'{PACKAGE}_')) / f'{path.name.partition(".")[0]}.urdf'
    made.write_text(text, encoding='utf-8')
    return UrdfFile(text, str(made), True)


def namespace(name: str, value: str) -> str:
    """Return a namespace, '' for none; relative ones are taken as they are."""
    token = r'[A-Za-z_]\w*'
    if value and not re.fullmatch(rf'/|/?{token}(/{token})*', value, re.ASCII):
        raise refusal(
            name,
            value,
            'this is not a valid namespace',
            'names like left or cell/left: letters, digits and _, no digit first',
        )
    return value


def log_level(name: str, value: str) -> str:
    """Return a log level, or LOGGER:=LEVEL."""
    level = value.rpartition(':=')[2]
    if level.lower() not in LEVELS:
        raise refusal(
            name,
            value,
            f'there is no level {level!r}',
            f'one of {", ".join(LEVELS)}, or LOGGER:=LEVEL',
        )
    return value


def whole_number(name: str, value: str, least: int, most: int) -> int:
    """Return a whole number within bounds."""
    if not re.fullmatch(r'\d{1,9}', value, re.ASCII) or not least <= int(value) <= most:
        raise refusal(name, value, 'this is not possible', f'a whole number, {least} to {most}')
    return int(value)


def program(name: str, value: str, path: str | None, package: str) -> None:
    """Refuse an argument that needs a program of which `path` says that it is not there."""
    if path is None:
        raise refusal(
            name, value, f'{package} is not installed', f'false, or the package {package}'
        )


def ros_package(name: str, value: str, package: str) -> None:
    """Refuse an argument that needs a ROS package which is not installed."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        debian = f'ros-{os.environ.get("ROS_DISTRO", "<distro>")}-{package.replace("_", "-")}'
        raise refusal(
            name, value, f'{package} is not installed', f'false, or the package: {debian}'
        ) from None


def check_names(context: Any, launch_file: str, arguments: Sequence[Any]) -> None:
    """Refuse launch arguments that nothing reads, or log a warning about them: see `unknown`.

    For the first action of a launch file, as later ones set defaults; see `checked_description`.

    Parameters
    ----------
    context : launch.LaunchContext
    launch_file : str
    arguments : sequence of launch.actions.DeclareLaunchArgument
    """
    from launch.logging import get_logger  # the rest of this module does without ros2 launch

    names = [argument.name for argument in arguments]
    warning = unknown(Path(launch_file), context.launch_configurations, names, sys.argv)
    if warning:
        get_logger('launch').warning(warning)


def checked_description(
    launch_file: str, arguments: Sequence[Any], make: Callable[[Any], list[Any]]
) -> Any:
    """Return what a launch file describes: its arguments, checked by name, and what they start.

    Parameters
    ----------
    launch_file : str
        `__file__`.
    arguments : sequence of launch.actions.DeclareLaunchArgument
    make : callable
        Takes the launch.LaunchContext and returns the entities to start.
    """
    from launch.actions import OpaqueFunction

    from launch import LaunchDescription  # see `check_names`

    return LaunchDescription(
        [
            OpaqueFunction(function=check_names, args=[launch_file, arguments]),
            *arguments,
            OpaqueFunction(function=make),
        ]
    )


def deleted_at_end(file: str | Path) -> Any:
    """Return the action that deletes a file and its temporary folder when the launch ends."""
    from launch.actions import RegisterEventHandler
    from launch.event_handlers import OnShutdown

    return RegisterEventHandler(
        OnShutdown(on_shutdown=lambda *_: shutil.rmtree(Path(file).parent, ignore_errors=True))
    )


def arguments_of(name: str) -> Any:
    """Return the launch argument with the arguments of a description."""
    from launch.actions import DeclareLaunchArgument

    return DeclareLaunchArgument(
        f'{name}_arguments',
        default_value='',
        description=f'Arguments of {name}, if that is a xacro file: name:=value name:=value.',
    )


def rviz(namespace: str, parameters: str) -> Any:
    """Return the node that starts rviz2 for the robot of a namespace; refused without rviz2."""
    from launch_ros.actions import Node

    program('rviz', 'true', shutil.which('rviz2'), 'rviz2')
    return Node(
        package=PACKAGE,
        executable='rviz',
        output='screen',
        namespace=namespace,
        parameters=[parameters],
    )


def unknown(
    launch_file: Path,
    given: Collection[str],
    declared: Sequence[str],
    command: Sequence[str],
) -> str:
    """Refuse arguments that a launch file does not have, or return a warning, '' for none.

    Parameters
    ----------
    launch_file : Path
    given : collection of str
        The launch configurations before any default is set. They hold those of files that include
        this one, too, which cannot be told from misspelt ones: of these the likely are warned of.
    declared : sequence of str
        The arguments it has.
    command : sequence of str
        The words of ``ros2 launch ...``, which tell whether this is the file that was asked for.

    Raises
    ------
    ArgumentError
        If this file was asked for with an argument that it does not have.
    """
    names = [name for name in given if name not in declared and not name.startswith('launch-')]
    if was_asked_for(launch_file, command):
        for name in names:
            if any(word.startswith(f'{name}:=') for word in command):
                like = get_close_matches(name, declared, 1, LIKE)
                hint = f'did you mean {like[0]}? ' if like else ''
                raise ArgumentError(
                    f'launch argument {name}: {launch_file.name} has no such '
                    f'argument; {hint}expected {", ".join(declared)}'
                )
    near = {name: get_close_matches(name, declared, 1, NEAR) for name in names}
    return '; '.join(
        f'launch argument {name}: {launch_file.name} has no such argument and ignores it; did '
        f'you mean {close[0]}?'
        for name, close in near.items()
        if close and close[0] not in given
    )


def was_asked_for(launch_file: Path, command: Sequence[str]) -> bool:
    """Whether a command launches this file itself, and not one that includes it."""
    return any(
        (before == PACKAGE and word == launch_file.name)
        or (
            word.endswith(launch_file.name)
            and Path(word).exists()
            and Path(word).samefile(launch_file)
        )
        for before, word in zip(['', *command], command)
    )
