# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Check a robot before using its model: description, joint states, efforts.

Without arguments the command checks the running robot, from its topics robot_description and
joint_states. With a URDF it checks only the description, with a recording
(doc/how_to/recordings.md) also its joint states; both without ROS.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.description.robot_description import Finding
from screw_dynamics_ros.entry import DONE, NEGATIVE
from screw_dynamics_ros.ros.recordings.storage import is_recording

from ..command_line import (
    MAX_TIMEOUT_S,
    ROBOT_FILE,
    UnusableError,
    add_robot,
    command_parser,
    execute,
    exit_statuses,
    option,
    robot_text,
    seconds,
    write_file,
)
from ..recorded_joints import add_recorded_robot
from ..report import Section, add_html, html, text
from . import topics
from .description_report import description_sections
from .session_data import SessionData, recorded_session


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a report; return the exit status."""
    return execute('doctor', parse, run, arguments)


def run(options: argparse.Namespace) -> int:
    """Print a report."""
    if options.description is None:
        sections = examine_running_robot(
            options.given, options.seconds, options.wait, options.suggest
        )
    elif is_recorded(options.description):
        sections = examined(recorded_session(options), options.suggest)
    else:
        urdf = robot_text(options)
        sections = description_sections(Robot(read_robot_description(urdf)), urdf)
    if not sections:
        raise UnusableError(
            f'no message arrived on robot_description within {options.wait:g} s: start the '
            'driver, check ROS_DOMAIN_ID and namespace, or give a file'
        )
    print(text(sections), flush=True)
    if options.html is not None:
        write_file(options.html, '--html', html('doctor', sections))
    return verdict(sections, options.strict)


def is_recorded(path: Path) -> bool:
    """Whether a path is a recording; a folder can be nothing else."""
    return is_recording(path) or path.is_dir()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('doctor', __doc__, exit_statuses('errors, with --strict also warnings'))
    default = '(default: the published description)'
    add_robot(parser, f'{ROBOT_FILE}, or a recording {default}', nargs='?')
    option(
        parser,
        '--seconds S',
        f'time for which joint states are recorded, at most {MAX_TIMEOUT_S:g} (default: 3)',
        seconds,
        3.0,
    )
    option(
        parser,
        '--wait S',
        f'longest time to wait for the first messages, at most {MAX_TIMEOUT_S:g} (default: 5)',
        seconds,
        5.0,
    )
    option(parser, '--strict', 'treat warnings as errors')
    option(
        parser,
        '--suggest FILE',
        'write a parameter file for the robot (default: suggested.yaml)',
        Path,
        nargs='?',
        const=Path('suggested.yaml'),
    )
    add_recorded_robot(parser)
    add_html(parser)
    options = parser.parse_args(arguments)
    if options.description is not None and is_recorded(options.description):
        return options
    if options.suggest is not None and options.description is not None:
        parser.error('--suggest requires a running robot or a recording; omit the description')
    for name in ('urdf', 'drives', 'leave_out', 'rename'):
        if getattr(options, name):
            parser.error(f'--{name.replace("_", "-")} requires a recording')
    return options


def examine_running_robot(
    arguments: Sequence[str], seconds: float, patience: float, suggested: Path | None
) -> list[Section]:
    """Return the report on the running robot; empty without a robot.

    A parameter file is written to `suggested`.
    """
    from . import session

    heard = session.listen(arguments, seconds, patience)
    return [] if heard is None else examined(heard, suggested)


def examined(heard: SessionData, suggested: Path | None) -> list[Section]:
    """Return the report on a robot; a parameter file is written to `suggested`."""
    sections = [*description_sections(heard.robot, heard.text), *topics.topic_sections(heard)]
    if suggested is not None:
        sections.append(written_suggestion(heard, sections, suggested))
    return sections


def written_suggestion(heard: SessionData, sections: Sequence[Section], path: Path) -> Section:
    """Write a parameter file for a robot; return a section with its contents."""
    from . import suggestion, suggestions

    made = suggestions.suggest(heard, sections)
    suggestion.write(made, heard.robot.description.name, path)
    section = Section('suggested parameters', [f'written to {path}'])
    section.lines += [f'{line.name}: {suggestion.written(line.value)}' for line in made.lines]
    section.findings += [Finding('info', name, f'unknown: {reason}') for name, reason in made.left]
    return section


def verdict(sections: Sequence[Section], strict: bool) -> int:
    """Print the number of findings; return the exit status."""
    severities = [finding.severity for section in sections for finding in section.findings]
    errors, warnings = severities.count('error'), severities.count('warning')
    print(f'{errors} errors, {warnings} warnings')
    return NEGATIVE if errors or (strict and warnings) else DONE
