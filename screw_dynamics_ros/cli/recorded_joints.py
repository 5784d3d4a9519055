# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots of recordings: descriptions, drives, omitted joints, renamed joints."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

from ..core import ArgumentError, UnknownNameError
from ..core.description.urdf_fixed_joints import with_fixed_joints
from ..ros.description_file import assignments
from ..ros.recordings import recording
from ..ros.recordings.sources import RecordingError
from ..ros.recordings.storage import RecordingReader
from .command_line import add_arguments_of, names, read_description

HELD_AT_ZERO = 'joints to hold at zero, with joints that mimic them; their states are ignored'


def add_recorded_robot(parser: argparse.ArgumentParser, left_out: str = HELD_AT_ZERO) -> None:
    """Add the options of recorded robots; `left_out` is the help text of --leave-out."""
    add = parser.add_argument
    add('--urdf', type=Path, metavar='FILE', help='description to use instead of the recorded one')
    add_arguments_of(parser, 'urdf', 'the FILE of --urdf')
    add(
        '--topic',
        default='/joint_states',
        help='topic of the joint states (default: /joint_states)',
    )
    add('--description-topic', default='/robot_description', metavar='TOPIC')
    add_drives(parser)
    add('--leave-out', type=names, default=(), metavar='A,B', help=left_out)
    add(
        '--rename',
        type=renaming,
        action='append',
        default=[],
        metavar='OLD:=NEW',
        help='joint OLD of the recording is NEW in the description; may be repeated',
    )


def add_drives(parser: argparse.ArgumentParser) -> None:
    """Add --drives."""
    parser.add_argument(
        '--drives',
        type=Path,
        metavar='FILE',
        help='parameter file with drives, effort scales and offsets, as written by identify',
    )


def given_description(options: argparse.Namespace) -> str | None:
    """Return the text of the file of --urdf, None without it; raises as `read_description`."""
    if options.urdf is None:
        return None
    return read_description(options.urdf, options.urdf_arguments, 'urdf', '--urdf')


def renaming(text: str) -> tuple[str, str]:
    """Return the two names of OLD:=NEW; raises `argparse.ArgumentTypeError`."""
    try:
        ((old, new),) = assignments(text).items()
    except (ArgumentError, ValueError):
        old = new = ''
    if not new:
        raise argparse.ArgumentTypeError(f'{text!r} is not OLD:=NEW with two names of a joint')
    return old, new


def recorded_robot(
    reader: RecordingReader, topic: str, given: str | None, left_out: Collection[str]
) -> str:
    """Return the description of the recorded robot, with omitted joints fixed.

    Parameters
    ----------
    reader : RecordingReader
    topic : str
        Topic of the recorded description.
    given : str, optional
        A description to use instead.
    left_out : names of joints

    Raises
    ------
    RecordingError
        No description is recorded or given.
    UnknownNameError
        The robot does not have one of the joints.
    """
    text = recording.read_description(reader, topic) if given is None else given
    if text is None:
        kind = reader.types.get(topic)
        what = 'is not recorded' if kind is None else f'is of type {kind}'
        if kind == recording.STRING:
            what = 'has no message'
        raise RecordingError(f'{reader.path}: {topic} {what}; give --urdf, or --description-topic')
    return with_fixed_joints(text, left_out) if left_out else text


def check_left_out(left_out: Collection[str], joints: Sequence[str]) -> None:
    """Raise UnknownNameError for joints that the robot does not have."""
    unknown = [name for name in left_out if name not in joints]
    if unknown:
        raise UnknownNameError(
            f'--leave-out: the robot has no joint {unknown[0]!r}; it has {", ".join(joints)}'
        )
