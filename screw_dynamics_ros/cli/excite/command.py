# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Design an excitation motion for accurate identification of a robot's dynamics.

    excite robot.urdf --output motion.yaml --output motion.csv --range 0.6

The motion is a Fourier series within the limits of position, velocity, acceleration and effort. It
starts and ends at rest. SELF-COLLISIONS AND OBSTACLES ARE NOT CHECKED: simulate the motion first,
use a part of the ranges (--range) or some joints (--joints), and keep a hand on the emergency stop.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.core.description.formats import read_robot_description
from screw_dynamics_ros.core.measurement.identification.dynamics import EffortModel
from screw_dynamics_ros.core.measurement.identification.dynamics.excitation import (
    Excitation,
    excite,
)
from screw_dynamics_ros.core.measurement.identification.dynamics.motion_limits import MotionLimits
from screw_dynamics_ros.core.measurement.identification.least_squares import described
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.entry import INTERRUPTED
from screw_dynamics_ros.nodes.parameters.robot_parameters import robot_parameters

from ..command_line import (
    ROBOT_FILE,
    UNUSABLE,
    UnusableError,
    add_arguments_of,
    add_gravity,
    command_parser,
    names,
    own_arguments,
    positive,
    progress_bar,
    read_description,
    write_text,
)
from ..recorded_joints import add_drives
from .motion_files import csv_text, sampled, yaml_text

WRITTEN, REFUSED, BROKEN = 0, 1, UNUSABLE
EXIT_STATUS = (
    f'exit status: {WRITTEN} designed, {REFUSED} refused or no motion is within the effort '
    f'limits (nothing is written), {BROKEN} a file cannot be read or written, {INTERRUPTED} it was '
    'interrupted'
)
WARNING = 'WARNING self-collisions and obstacles were not checked: simulate this motion first'
MAX_POINTS = 100_000  # of the written motion


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the identifiable parameters, write the motion; return the exit status."""
    options = parse(sys.argv[1:] if arguments is None else list(arguments))
    try:
        writers = [writer(path) for path in options.output]
        if options.periods * options.period * options.rate > MAX_POINTS:
            raise UnusableError(
                f'more than {MAX_POINTS} points; lower --rate, --period or --periods'
            )
        text = read_description(options.description, options.description_arguments)
        description = read_robot_description(text)
        drives = robot_parameters(options.drives).drives(description)
        robot = Robot(description, gravity=options.gravity, drives=drives)
        with progress_bar('excite') as progress:
            found = designed(robot, options, progress)
        print('\n'.join(lines(found, robot)))
        if found.overloaded:
            print(
                f'excite: no motion keeps {", ".join(found.overloaded)} within the effort limits, '
                'nothing is written; lower --range, --speed or --acceleration, or --ignore-effort',
                file=sys.stderr,
            )
            return REFUSED
        chosen = [k for k, name in enumerate(robot.joint_names) if _moves(options, name)]
        t, values = sampled(found.motion, options.rate, options.periods)
        for path, text_of in zip(options.output, writers):
            write_text(
                path,
                '--output',
                text_of([robot.joint_names[k] for k in chosen], t, values[:, chosen]),
            )
    except ScrewDynamicsError as error:
        print(f'refused: {error}', file=sys.stderr)
        return REFUSED
    except UnusableError as error:
        print(f'excite: {error}', file=sys.stderr)
        return BROKEN
    except KeyboardInterrupt:
        print('\nexcite: interrupted', file=sys.stderr)
        return INTERRUPTED
    return WRITTEN


def designed(
    robot: Robot, options: argparse.Namespace, progress: Callable[[float], object]
) -> Excitation:
    """Return the motion."""
    return excite(
        robot,
        period=options.period,
        harmonics=options.harmonics,
        limits=MotionLimits(
            options.range,
            options.speed,
            options.acceleration,
            not options.ignore_effort,
            options.joints,
        ),
        model=EffortModel(payload_link=options.payload),
        restarts=options.restarts,
        seed=options.seed,
        progress=progress,
    )


def lines(found: Excitation, robot: Robot) -> Iterator[str]:
    """Yield the report."""
    motion = found.motion
    highest = motion.a.shape[1] / motion.period
    yield (
        f'robot {robot.description.name}: {motion.period:g} s, up to {highest:g} Hz, for '
        f'{len(found.parameters)} base parameters'
    )
    yield (
        f'condition number {found.condition:.4g}; random motions within the same limits: '
        f'{found.random_condition:.4g} (median)'
    )
    for combination in found.held:
        yield f'HELD    not identified by this motion: {described(combination, 5)}'
    t = np.linspace(0.0, motion.period, 400)
    q, v, a = motion.at(t)
    width = max(map(len, (*found.joint_names, 'joint')))
    head = ('start', 'lowest', 'highest', 'speed', 'acceler.', 'effort', 'its limit')
    yield f'  {"joint":<{width}}' + ''.join(f'{name:>11}' for name in head)
    for i, name in enumerate(found.joint_names):
        row = (
            *(q[0, i], q[:, i].min(), q[:, i].max(), np.abs(v[:, i]).max(), np.abs(a[:, i]).max()),
            *(found.effort[i], robot.limits.effort[i]),
        )
        yield f'  {name:<{width}}' + ''.join(f'{x:11.4g}' for x in row)
    yield WARNING
    yield 'move the robot to the start first; record joint states with efforts for one period'


def writer(path: Path) -> Callable[[Sequence[str], Array, Array], str]:
    """Return the function that formats a file; raises `UnusableError`."""
    kinds = {'.yaml': yaml_text, '.yml': yaml_text, '.csv': csv_text}
    if path.suffix not in kinds:
        raise UnusableError(
            f'argument --output: {path} is neither .yaml nor .csv; use one of these suffixes'
        )
    return kinds[path.suffix]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('excite', __doc__, EXIT_STATUS)
    add = parser.add_argument
    add('description', type=Path, metavar='FILE', help=ROBOT_FILE)
    add_arguments_of(parser, 'description', 'FILE')
    add_drives(parser)
    add(
        '--output',
        '-o',
        type=Path,
        action='append',
        default=[],
        metavar='FILE',
        help='.yaml: a goal of FollowJointTrajectory; .csv: a table; may be given twice',
    )
    add('--period', type=positive, default=10.0, metavar='S', help='duration of the motion (10)')
    add('--harmonics', type=count, default=5, metavar='N', help='highest frequency: N / period (5)')
    add('--periods', type=count, default=2, metavar='N', help='repetitions of the motion (2)')
    add(
        '--range',
        type=positive,
        default=1.0,
        metavar='FRACTION',
        help='fraction of the joint ranges to use (1)',
    )
    add(
        '--speed',
        type=positive,
        default=1.0,
        metavar='FRACTION',
        help='fraction of the velocity limits to use (1)',
    )
    add(
        '--acceleration',
        type=positive,
        metavar='A',
        help='acceleration limit [rad/s^2, m/s^2] (default: full speed within 0.5 s)',
    )
    add('--ignore-effort', action='store_true', help='ignore the effort limits')
    add('--joints', type=names, metavar='A,B', help='joints that move (all)')
    add('--payload', default='', metavar='LINK', help='design the motion for the payload on a link')
    add('--rate', type=positive, default=20.0, metavar='HZ', help='rate of the points written (20)')
    add(
        '--restarts',
        type=count,
        default=24,
        metavar='N',
        help='number of random initial motions (24)',
    )
    add('--seed', type=int, default=0, help='seed of the search (0)')
    add_gravity(parser)
    return parser.parse_args(own_arguments(arguments))


def count(text: str) -> int:
    """Return a positive whole number; raises `argparse.ArgumentTypeError`."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is not a positive whole number')
    return value


def _moves(options: argparse.Namespace, name: str) -> bool:
    return options.joints is None or name in options.joints
