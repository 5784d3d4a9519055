# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Options of commands that read recordings: joints that are left out, joints of other names."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence

from screw_dynamics_ros.cli.command_line import names
from screw_dynamics_ros.core import ArgumentError, UnknownNameError
from screw_dynamics_ros.ros.description_file import assignments

HELD_AT_ZERO = 'joints that are held at zero, with what mimics them: their states are ignored'


def add_recorded_joints(parser: argparse.ArgumentParser, left_out: str = HELD_AT_ZERO) -> None:
    """Add --leave-out, with what it does, and --rename."""
    parser.add_argument('--leave-out', type=names, default=(), metavar='A,B', help=left_out)
    parser.add_argument(
        '--rename',
        type=renaming,
        action='append',
        default=[],
        metavar='OLD:=NEW',
        help='a joint is OLD in the recording and NEW in the description; may be repeated',
    )


def renaming(text: str) -> tuple[str, str]:
    """Return the two names of OLD:=NEW; raises `argparse.ArgumentTypeError`."""
    try:
        ((old, new),) = assignments(text).items()
    except (ArgumentError, ValueError):
        old = new = ''
    if not new:
        raise argparse.ArgumentTypeError(f'{text!r} is not OLD:=NEW, two names of a joint')
    return old, new


def renamed_joints(
    joints: Sequence[str], new_names: Mapping[str, str], recording: str
) -> tuple[str, ...]:
    """Return the joints with their new names.

    Raises
    ------
    UnknownNameError
        A joint is not recorded.
    ArgumentError
        Two joints have the same name then.
    """
    unknown = [name for name in new_names if name not in joints]
    if unknown:
        raise UnknownNameError(
            f'--rename: {recording} has no joint {unknown[0]!r}; it has {", ".join(joints)}'
        )
    renamed = tuple(new_names.get(name, name) for name in joints)
    twice = [name for name in renamed if renamed.count(name) > 1]
    if twice:
        raise ArgumentError(f'--rename: two joints of {recording} are {twice[0]!r} then')
    return renamed


def check_left_out(left_out: Collection[str], joints: Sequence[str]) -> None:
    """Raise UnknownNameError for joints that the robot does not have."""
    unknown = [name for name in left_out if name not in joints]
    if unknown:
        raise UnknownNameError(
            f'--leave-out: the robot has no joint {unknown[0]!r}; it has {", ".join(joints)}'
        )
