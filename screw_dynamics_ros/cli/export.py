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
from collections.abc import Sequence
from pathlib import Path

from ..core.description.formats import read_robot_description
from ..entry import DONE
from .command_line import add_robot, command_parser, execute, option, robot_text, write_file


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file; return the exit status."""
    return execute('export', parse, run, arguments)


def run(options: argparse.Namespace) -> int:
    """Write the file."""
    text = robot_text(options)
    read_robot_description(text)
    write_file(options.urdf, 'URDF', text)
    return DONE


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('export', __doc__)
    what = 'an MJCF, SDFormat, xacro or URDF file'
    add_robot(parser, what)
    option(parser, 'urdf URDF', 'the file to write', Path)
    return parser.parse_args(arguments)
