# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arguments of the launch files: checks of their values and names, without launch."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from ..core.errors import ArgumentError, DescriptionError
from .description_file import assignments, located, read_description
from .parameter_files import read_parameter_file
from .xacro_expansion import ExpansionError

PACKAGE = 'screw_dynamics_ros'
LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')
#: Similarity of names from 0 to 1: for a hint, and for a refusal.
HINT_SIMILARITY, CLEAR_SIMILARITY = 0.6, 0.8


def refusal(name: str, value: str, reason: str, expected: str = '') -> ArgumentError:
    """Return the error of a launch argument; `expected` is empty if the reason states it."""
    hint = f'; expected {expected}' if expected else ''
    return ArgumentError(f'launch argument {name}:={value}: {reason}{hint}')


def parameter_file(name: str, value: str) -> str:
    """Return the path of a valid parameter file."""
    try:
        read_parameter_file(Path(value))
    except ArgumentError as error:
        raise refusal(name, value, str(error), 'a YAML file like config/model.yaml') from None
    return value


def description(name: str, value: str, arguments: str = '') -> str:
    """Return the URDF of a file, expanded by xacro with arguments 'name:=value ...' if needed.

    `value` is a path or package:// URI. The xacro arguments are the launch argument
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
    """A URDF, its path, and whether it was written to a temporary folder."""

    text: str
    path: str
    is_temporary: bool


def urdf_file(name: str, value: str, arguments: str = '') -> UrdfFile:
    """Return a URDF file; xacro is expanded into a temporary file.

    Delete the latter with `launch_files.deleted_at_end`.
    """
    text, path = description(name, value, arguments), located(value)
    if path.read_text(encoding='utf-8') == text:
        return UrdfFile(text, str(path), False)
    made = Path(tempfile.mkdtemp(prefix=f'{PACKAGE}_')) / f'{path.name.partition(".")[0]}.urdf'
    made.write_text(text, encoding='utf-8')
    return UrdfFile(text, str(made), True)


def namespace(name: str, value: str) -> str:
    """Return a namespace, '' for none; relative ones are returned unchanged."""
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
    """Return an integer within bounds."""
    if not re.fullmatch(r'\d{1,9}', value, re.ASCII) or not least <= int(value) <= most:
        raise refusal(name, value, 'this is not possible', f'a whole number, {least} to {most}')
    return int(value)


def program_path(package: str, executable: str) -> str | None:
    """Return the path of an executable in PATH or of a ROS package, None if it is not installed."""
    found = shutil.which(executable)
    if found is not None:
        return found
    try:
        return shutil.which(Path(get_package_prefix(package)) / 'lib' / package / executable)
    except (PackageNotFoundError, OSError):  # OSError: there is no ament index
        return None


def program(name: str, value: str, path: str | None, package: str) -> None:
    """Refuse an argument that needs a program if `path` is None: it is not installed."""
    if path is None:
        raise refusal(
            name, value, f'{package} is not installed', f'false, or the package {package}'
        )


def ros_package(name: str, value: str, package: str) -> None:
    """Refuse an argument if the ROS package that it needs is not installed."""
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        debian = f'ros-{os.environ.get("ROS_DISTRO", "<distro>")}-{package.replace("_", "-")}'
        raise refusal(
            name, value, f'{package} is not installed', f'false, or the package: {debian}'
        ) from None


def unknown(
    launch_file: str, given: Collection[str], declared: Sequence[str], command: Sequence[str]
) -> str:
    """Refuse undeclared arguments of a launch file, or return a warning, '' for none.

    Parameters
    ----------
    launch_file : str
        Its name.
    given : collection of str
        The launch configurations before any default is set. They include those of files that
        include this one, which look like mistyped ones: only likely typing errors cause a warning.
    declared : sequence of str
        Its arguments.
    command : sequence of str
        `argv` of the launch.LaunchContext: the arguments of ``ros2 launch``, name:=value each.

    Raises
    ------
    ArgumentError
        If an argument of the command line is similar to a declared one, and only the command line
        sets arguments: this is the launch file that the user started.
    """
    typed = {word.partition(':=')[0] for word in command}
    was_asked_for = all(name in typed or _is_of_launch(name) for name in given)
    warnings = []
    for name in given:
        if name in declared or _is_of_launch(name):
            continue
        fault = f'launch argument {name}: {launch_file} has no such argument'
        like = get_close_matches(
            name, declared, 1, HINT_SIMILARITY if was_asked_for else CLEAR_SIMILARITY
        )
        if like and like[0] not in given:
            if was_asked_for:
                expected = ', '.join(declared)
                raise ArgumentError(f'{fault}; did you mean {like[0]}? expected {expected}')
            warnings.append(f'{fault} and ignores it; did you mean {like[0]}?')
        elif was_asked_for:
            warnings.append(f'{fault} and ignores it; it has {", ".join(declared)}')
    return '; '.join(warnings)


def _is_of_launch(name: str) -> bool:
    """Whether an argument is for launch itself, as launch-prefix is."""
    return name.startswith('launch-')
