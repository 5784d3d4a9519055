# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions in files of any format, as URDF; by path, package:// or file://."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping
from pathlib import Path

from ..core import files
from ..core.description.formats import has_other_format, read_robot_description
from ..core.description.urdf_writer import write_urdf
from ..core.description.xml_document import MAX_FILE_BYTES
from ..core.errors import ArgumentError
from .xacro_expansion import expanded

PACKAGE_URI = 'package://'


def located(place: str) -> Path:
    """Return a path with ~, package:// and file:// resolved; raises `ArgumentError`."""
    if not place.startswith(PACKAGE_URI):
        return files.expanded(place.removeprefix('file://'))
    # Imported here: plain paths need no ROS.
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    package, _, rest = place.removeprefix(PACKAGE_URI).partition('/')
    try:
        return Path(get_package_share_directory(package)) / rest
    except (PackageNotFoundError, ValueError):  # ValueError: not a valid package name
        raise ArgumentError(
            f'there is no package {package!r}; source the workspace that has it'
        ) from None


def is_xacro(path: Path, text: str) -> bool:
    """Whether a file has to be expanded."""
    return path.suffix == '.xacro' or '<xacro:' in text


def assignments(words: str) -> dict[str, str]:
    """Return the values in 'name:=value name:=value', quoted as in a shell.

    Examples
    --------
    >>> assignments('prefix:=left_ title:="my arm"')
    {'prefix': 'left_', 'title': 'my arm'}
    """
    try:
        parts = shlex.split(words)
    except ValueError as error:
        raise ArgumentError(f'{str(error).lower()} in {words!r}') from None
    values: dict[str, str] = {}
    for part in parts:
        name, assigned, value = part.partition(':=')
        if not assigned or not name:
            raise ArgumentError(f'{part!r} assigns nothing; write name:=value')
        if name in values:
            raise ArgumentError(f'{name} is given twice')
        values[name] = value
    return values


def read_description(
    path: Path, arguments: Mapping[str, str], option: str = 'description_arguments:='
) -> str:
    """Return the URDF that a file contains, or to which it is expanded or converted.

    Parameters
    ----------
    path : Path
    arguments : mapping
        Values of xacro arguments.
    option : str
        Text before 'name:=value' on the user's command line, for errors.

    Raises
    ------
    ArgumentError
        If the file cannot be read, or is not xacro and there are arguments.
    ExpansionError
        If xacro cannot expand it, or it does not have these arguments.
    DescriptionError
        If it does not describe a robot.
    """
    text = description_text(path, arguments, option)
    read_robot_description(text, inertia_check='ignore')
    return text


def description_text(path: Path, arguments: Mapping[str, str], option: str) -> str:
    """Return the URDF of a file as `read_description`, without parsing a URDF."""
    text = files.text_of(path, MAX_FILE_BYTES)
    if is_xacro(path, text):
        return expanded(path, arguments, option)
    if arguments:
        raise ArgumentError(
            f'it is not a xacro file, so it has no arguments {", ".join(arguments)}'
        )
    return as_urdf(text, path)


def as_urdf(text: str, path: Path | None = None) -> str:
    """Return a description, converted to URDF if it has another format of `READERS`.

    Files of other formats may refer to further files beside their `path`. Findings on what the
    URDF does not contain, and doubtful values, are logged. Raises `DescriptionError`.
    """
    if not has_other_format(text):
        return text
    description = read_robot_description(path or text, inertia_check='ignore')
    for finding in description.findings:
        if finding.severity != 'info':
            logging.getLogger(__name__).warning('%s: %s', path or 'robot_description', finding)
    return write_urdf(description)
