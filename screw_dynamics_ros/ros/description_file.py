"""Robot descriptions in files: URDF, or xacro with arguments; by path, package:// or file://."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from xml.dom import minidom

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from screw_dynamics_ros.core import files
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.core.description.xml_document import LARGEST
from screw_dynamics_ros.core.errors import ArgumentError

PACKAGE_URI = 'package://'
#: How xacro files say the names of their arguments.
DECLARED = re.compile(r'<xacro:arg\s[^>]*\bname\s*=\s*["\']([^"\']+)["\']')
USED = re.compile(r'\$\(arg\s+([^\s)]+)')


def located(place: str) -> Path:
    """Return the path that a text names, ~ and package:// resolved; raises `ArgumentError`."""
    if not place.startswith(PACKAGE_URI):
        return Path(place.removeprefix('file://')).expanduser()
    package, _, rest = place.removeprefix(PACKAGE_URI).partition('/')
    try:
        return Path(get_package_share_directory(package)) / rest
    except (PackageNotFoundError, ValueError):  # the latter for what is no name of a package
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


def read_description(path: Path, arguments: Mapping[str, str]) -> str:
    """Return the URDF that a file contains or, with arguments, expands to.

    Raises
    ------
    ArgumentError
        If the file cannot be read or expanded, or has none of the arguments.
    DescriptionError
        If it describes no robot.
    """
    text = files.text_of(path, LARGEST)
    if is_xacro(path, text):
        text = expanded(path, text, arguments)
    elif arguments:
        raise ArgumentError(f'it is no xacro file, which could have {", ".join(arguments)}')
    read_urdf(text, inertia_check='ignore')
    return text


def expanded(path: Path, text: str, arguments: Mapping[str, str]) -> str:
    """Return what xacro makes of a file; raises `ArgumentError`."""
    written = minidom.Element.writexml
    try:
        import xacro  # optional
    except ImportError:
        debian = f'ros-{os.environ.get("ROS_DISTRO", "<distro>")}-xacro'
        raise ArgumentError(
            f'xacro is not installed; install the package {debian}, or xacro by pip'
        ) from None
    finally:  # xacro replaces it, also for XML that others write
        minidom.Element.writexml = written  # type: ignore[method-assign]
    try:
        document = xacro.process_file(str(path), mappings=dict(arguments))
    except Exception as error:  # whatever the expressions in the file raise
        raise ArgumentError(f'xacro cannot expand it: {one_line(error)}') from None
    check_arguments(arguments, [text, *included(xacro)])
    made: str = document.toprettyxml(indent='  ')
    return made


def included(xacro: Any) -> list[str]:
    """Return the texts of the files that the last one included."""
    return [
        Path(name).read_text(encoding='utf-8', errors='replace')
        for name in getattr(xacro, 'all_includes', ())
        if Path(name).is_file()
    ]


def check_arguments(arguments: Iterable[str], texts: Iterable[str]) -> None:
    """Refuse arguments that no file asks for: xacro would ignore them."""
    declared = {name for text in texts for kind in (DECLARED, USED) for name in kind.findall(text)}
    names = sorted(declared)
    for name in arguments:
        if name not in names:
            like = get_close_matches(name, names, 1)
            hint = f'did you mean {like[0]}? ' if like else ''
            told = f'{hint}it has {", ".join(names)}' if names else 'it has none'
            raise ArgumentError(f'it has no argument {name}; {told}')


def one_line(error: Exception) -> str:
    """Return the text of an error in one line."""
    return ' '.join(str(error).split()) or type(error).__name__
