# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compare a robot in this package, Pinocchio, MuJoCo and KDL, and explain the differences.

Mass, center of mass, poses, mass matrix, gravity and Coriolis torques, forward dynamics and
energies are compared at random states with each of these programs that is installed. For a
difference, the report names the link and the field of the description that explain it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..comparison import report
from ..comparison.peer import ModelSource
from ..comparison.programs import PROGRAMS, STATES, TOLERANCE, check, outcome
from ..comparison.quantities import our_values, random_states
from ..comparison.reading import DescriptionReading
from ..comparison.report import ProgramOutcome
from ..core.description.formats import read_robot_description
from ..core.description.urdf_elements import version_text
from ..core.description.xml_document import robot_element
from ..entry import DONE, NEGATIVE
from .command_line import (
    ROBOT_FILE,
    UnusableError,
    add_arguments_of,
    add_gravity,
    command_parser,
    execute,
    exit_statuses,
    names,
    positive,
    read_description,
)
from .library_messages import caught_messages


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return the exit status."""
    return execute('parity', parse, run, arguments)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('parity', __doc__, exit_statuses('some differ, or are missing'))
    add = parser.add_argument
    add('description', type=Path, metavar='FILE', help=ROBOT_FILE)
    add_arguments_of(parser, 'description', 'FILE')
    add(
        '--against',
        type=Path,
        metavar='FILE',
        help=f'{ROBOT_FILE} for the other programs (default: the same)',
    )
    add_arguments_of(parser, 'against', 'the FILE of --against')
    add('--mjcf', type=Path, metavar='FILE', help='a model for MuJoCo instead of a URDF')
    add('--only', type=programs, default=tuple(PROGRAMS), metavar='A,B', help='programs to compare')
    add(
        '--require',
        type=programs,
        default=(),
        metavar='A,B',
        help=f'programs that must be compared: {", ".join(PROGRAMS)}',
    )
    add('--states', type=count, default=STATES, metavar='N', help='random states (default: 20)')
    add('--seed', type=int, default=0, metavar='N', help='seed of the random states (default: 0)')
    add(
        '--tolerance',
        type=positive,
        default=TOLERANCE,
        metavar='X',
        help=f'relative difference below which models agree (default: {TOLERANCE:g})',
    )
    add_gravity(parser)
    add('--tip', default='', metavar='LINK', help='end of the chain that KDL computes')
    add('--json', action='store_true', help='print the report as JSON')
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> int:
    """Compare, and print the report."""
    urdf = read_description(options.description, options.description_arguments)
    description = read_robot_description(urdf)
    check(description, options.tip)
    if options.mjcf is not None and not options.mjcf.is_file():
        raise UnusableError(f'argument --mjcf: there is no file {options.mjcf}')
    text = (
        urdf
        if options.against is None
        else read_description(options.against, options.against_arguments, 'against', '--against')
    )
    theirs = read_robot_description(text)  # so that the error messages are ours
    gravity = np.array(options.gravity)
    source = ModelSource(text, description, theirs, gravity, options.tip, str(options.mjcf or ''))
    outcomes = []
    for name in options.only:
        with caught_messages() as printed:
            came = outcome(name, source, options.states, options.seed, options.tolerance)
        outcomes.append(replace(came, printed=printed))
    ours = DescriptionReading(description)
    states = random_states(ours, options.states, options.seed, source.gravity)
    version = version_text(robot_element(text))
    head = {
        'robot': description.name,
        'version': version,
        'states': options.states,
        'seed': options.seed,
        'tolerance': options.tolerance,
    }
    if options.json:
        print(report.as_json(head, outcomes))
    else:
        title = (
            f'robot {description.name}: largest differences in {options.states} random states '
            f'(seed {options.seed}); {report.MARK} above the relative tolerance '
            f'{options.tolerance:g}; mass and potential energy exclude links fixed to the root'
        )
        print('\n'.join([*report.text(title, our_values(ours, states), outcomes), version]))
    return verdict(outcomes, options.require)


def verdict(outcomes: Sequence[ProgramOutcome], required: Sequence[str]) -> int:
    """Return the exit status, and print which required programs are missing."""
    missing = [
        each for each in outcomes if each.comparison is None and each.name.lower() in required
    ]
    for each in missing:
        print(f'parity: {each.name} is required: {each.refusal}', file=sys.stderr)
    unequal = any(each.comparison and not each.comparison.agrees for each in outcomes)
    return NEGATIVE if missing or unequal else DONE


def programs(words: str) -> tuple[str, ...]:
    """Return names of programs; raises `argparse.ArgumentTypeError`."""
    chosen = names(words.lower())
    if not chosen or not set(chosen) <= set(PROGRAMS):
        raise argparse.ArgumentTypeError(
            f'{words!r}: expected names of {", ".join(PROGRAMS)}, separated by commas'
        )
    return chosen


def count(text: str) -> int:
    """Return a number of states; raises `argparse.ArgumentTypeError`."""
    if not text.isdecimal() or not 1 <= int(text) <= 10000:
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number from 1 to 10000')
    return int(text)
