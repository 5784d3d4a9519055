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
from functools import partial
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
    add_robot,
    command_parser,
    execute,
    exit_statuses,
    option,
    positive,
    read_description,
    robot_text,
    some_of,
    whole,
)
from .library_messages import caught_messages


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return the exit status."""
    return execute('parity', parse, run, arguments)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('parity', __doc__, exit_statuses('some differ, or are missing'))
    add = partial(option, parser)
    add_robot(parser)
    add('--against FILE', f'{ROBOT_FILE} for the other programs (default: the same)', Path)
    add_arguments_of(parser, 'against', 'the FILE of --against')
    add('--mjcf FILE', 'a model for MuJoCo instead of a URDF', Path)
    add('--only A,B', 'programs to compare', some_of(PROGRAMS), tuple(PROGRAMS))
    add('--require A,B', f'required programs, of {", ".join(PROGRAMS)}', some_of(PROGRAMS), ())
    add('--states N', 'random states (default: 20)', whole(1, 10000), STATES)
    add('--seed N', 'seed of the random states (default: 0)', int, 0)
    add(
        '--tolerance X',
        f'relative difference below which models agree (default: {TOLERANCE:g})',
        positive,
        TOLERANCE,
    )
    add_gravity(parser)
    add('--tip LINK', 'end of the chain that KDL computes', default='')
    add('--json', 'print the report as JSON')
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> int:
    """Compare, and print the report."""
    urdf = robot_text(options)
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
