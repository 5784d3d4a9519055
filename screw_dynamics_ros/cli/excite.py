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
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ..core import Robot
from ..core.description.formats import read_robot_description
from ..core.identification import EffortModel
from ..core.identification.excitation import Excitation, MotionLimits, excite
from ..core.identification.fourier_motion import FourierMotion
from ..core.statistics.least_squares import described
from ..core.types import Array
from ..core.units import NANOSECONDS
from ..entry import DONE, NEGATIVE
from ..nodes.parameters.robot_parameters import robot_parameters
from .command_line import (
    UnusableError,
    add_gravity,
    add_robot,
    command_parser,
    execute,
    exit_statuses,
    names,
    option,
    positive,
    progress_bar,
    robot_text,
    whole,
    write_file,
)
from .recorded_joints import add_drives
from .report import Section, digits

WARNING = 'WARNING self-collisions and obstacles were not checked: simulate this motion first'
MAX_POINTS = 100_000  # of the written motion
KINDS = ('position', 'velocity', 'acceleration')


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the identifiable parameters, write the motion; return the exit status."""
    return execute('excite', parse, run, arguments)


def run(options: argparse.Namespace) -> int:
    """Print the identifiable parameters, write the motion."""
    writers = [writer(path) for path in options.output]
    if options.periods * options.period * options.rate > MAX_POINTS:
        raise UnusableError(f'more than {MAX_POINTS} points; lower --rate, --period or --periods')
    text = robot_text(options)
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
        return NEGATIVE
    chosen = [k for k, name in enumerate(robot.joint_names) if _moves(options, name)]
    t, values = sampled(found.motion, options.rate, options.periods)
    for path, text_of in zip(options.output, writers):
        joints = [robot.joint_names[k] for k in chosen]
        write_file(path, '--output', text_of(joints, t, values[:, chosen]))
    return DONE


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
    rows = []
    for i, name in enumerate(found.joint_names):
        row = (
            *(q[0, i], q[:, i].min(), q[:, i].max(), np.abs(v[:, i]).max(), np.abs(a[:, i]).max()),
            *(found.effort[i], robot.limits.effort[i]),
        )
        rows.append((name, *digits(row)))
    head = ('joint', 'start', 'lowest', 'highest', 'speed', 'acceler.', 'effort', 'its limit')
    yield from Section('motion [rad, m, s; N m, N]').table(head, rows).text()
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
    parser = command_parser('excite', __doc__, exit_statuses('no motion within the limits'))
    add = partial(option, parser)
    add_robot(parser)
    add_drives(parser)
    add(
        '--output -o FILE',
        '.yaml: a goal of FollowJointTrajectory; .csv: a table; may be given twice',
        Path,
        [],
        action='append',
    )
    add('--period S', 'duration of the motion (10)', positive, 10.0)
    add('--harmonics N', 'highest frequency: N / period (5)', whole(1), 5)
    add('--periods N', 'repetitions of the motion (2)', whole(1), 2)
    add('--range FRACTION', 'fraction of the joint ranges to use (1)', positive, 1.0)
    add('--speed FRACTION', 'fraction of the velocity limits to use (1)', positive, 1.0)
    add(
        '--acceleration A',
        'acceleration limit [rad/s^2, m/s^2] (default: full speed within 0.5 s)',
        positive,
    )
    add('--ignore-effort', 'ignore the effort limits')
    add('--joints A,B', 'joints that move (all)', names)
    add('--payload LINK', 'design the motion for the payload on a link', default='')
    add('--rate HZ', 'rate of the points written (20)', positive, 20.0)
    add('--restarts N', 'number of random initial motions (24)', whole(1), 24)
    add('--seed SEED', 'seed of the search (0)', int, 0)
    add_gravity(parser)
    return parser.parse_args(arguments)


def _moves(options: argparse.Namespace, name: str) -> bool:
    return options.joints is None or name in options.joints


def sampled(motion: FourierMotion, rate: float, periods: int) -> tuple[Array, Array]:
    """Return times (N,) [s] and q, v, a (N, n, 3); exactly at rest at both ends."""
    count = round(periods * motion.period * rate)
    t = np.linspace(0.0, periods * motion.period, count + 1)
    values = np.stack(motion.at(t), axis=2)
    values[[0, -1], :, 1:] = 0.0
    return t, values


def yaml_text(names: Sequence[str], t: Array, values: Array) -> str:
    """Return a goal of control_msgs/FollowJointTrajectory; its `trajectory` is a JointTrajectory.

    >>> print(yaml_text(['a'], np.array([1.5]), np.array([[[0.1, 0.0, -0.25]]])))
    trajectory:
      joint_names: [a]
      points:
      - positions: [0.1]
        velocities: [0.0]
        accelerations: [-0.25]
        time_from_start: {sec: 1, nanosec: 500000000}
    <BLANKLINE>
    """
    lines = ['trajectory:', f'  joint_names: [{", ".join(names)}]', '  points:']
    for time, point in zip(t.tolist(), values):
        sec, nanosec = divmod(round(time * NANOSECONDS), NANOSECONDS)
        lines += [
            f'  - positions: [{_numbers(point[:, 0])}]',
            f'    velocities: [{_numbers(point[:, 1])}]',
            f'    accelerations: [{_numbers(point[:, 2])}]',
            f'    time_from_start: {{sec: {sec}, nanosec: {nanosec}}}',
        ]
    return '\n'.join(lines) + '\n'


def csv_text(names: Sequence[str], t: Array, values: Array) -> str:
    """Return a table: time [s], then position, velocity and acceleration of each joint."""
    text = io.StringIO()
    header = ','.join(['time', *(f'{name}.{kind}' for name in names for kind in KINDS)])
    np.savetxt(
        text,
        np.column_stack([t, values.reshape(len(t), -1)]),
        fmt='%.9g',
        delimiter=',',
        header=header,
        comments='',
    )
    return text.getvalue()


def _numbers(values: Array) -> str:
    """Return numbers of YAML; exponents without a decimal point would be text."""
    rounded = np.round(values, 9) + 0.0
    return ', '.join(np.format_float_positional(x, trim='0') for x in rounded)
