# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Write the URDF of a robot that another format describes.

    export robot.xml robot.urdf

reads MJCF or SDFormat, or expands xacro, and writes a URDF with the same links, joints and
inertias. Shapes become <collision>, armatures and springs attributes of <dynamics>, an extension,
as are elements for loops, motors and postures. Gravity and the free joint of the root are omitted.
The command prints what it omits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..core import ScrewDynamicsError
from ..core.description.formats import read_robot_description
from .command_line import (
    UNUSABLE,
    UnusableError,
    add_arguments_of,
    command_parser,
    own_arguments,
    read_description,
    write_whole,
)

WRITTEN, REFUSED, BROKEN = 0, 1, UNUSABLE
EXIT_STATUS = (
    f'exit status: {WRITTEN} written, {REFUSED} the description was refused, {BROKEN} a file '
    'cannot be read or written'
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file; return the exit status."""
    options = parse(sys.argv[1:] if arguments is None else list(arguments))
    try:
        text = read_description(options.description, options.description_arguments)
        read_robot_description(text)
        write_whole(options.urdf, text.encode())
    except ScrewDynamicsError as error:
        print(f'refused: {error}', file=sys.stderr)
        return REFUSED
    except UnusableError as error:
        print(f'export: {error}', file=sys.stderr)
        return BROKEN
    except OSError as error:
        print(f'export: argument URDF: {options.urdf}: {error.strerror}', file=sys.stderr)
        return BROKEN
    print(f'written: {options.urdf}')
    return WRITTEN


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('export', __doc__, EXIT_STATUS)
    what = 'an MJCF, SDFormat, xacro or URDF file'
    parser.add_argument('description', type=Path, metavar='FILE', help=what)
    add_arguments_of(parser, 'description', 'FILE')
    parser.add_argument('urdf', type=Path, metavar='URDF', help='the file to write')
    return parser.parse_args(own_arguments(arguments))
