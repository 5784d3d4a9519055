# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measure the computing time of a robot's functions on this machine.

For each function: the first call, which compiles it or loads it from the cache; a further call from
Python; one sample of a stack. Times are the smallest of several runs.
"""

from __future__ import annotations

import argparse
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core import Robot
from ..core.compile.kernels import BACKENDS
from ..core.description.formats import read_robot_description
from ..entry import DONE
from .command_line import add_robot, command_parser, execute, option, progress_bar, robot_text
from .report import Section, text

SAMPLES = 4096
MIN_RUN_DURATION_S = 0.01  # shortest duration of a run
RUNS = 7

#: The functions with their arguments; `jacobian` is for the last link.
FUNCTIONS = {
    'link_poses': 'q',
    'jacobian': 'q',
    'inverse_dynamics': 'qva',
    'forward_dynamics': 'qva',
    'mass_matrix': 'q',
    'gravity_torques': 'q',
    'coriolis_torques': 'qv',
    'coriolis_matrix': 'qv',
    'inverse_dynamics_derivatives': 'qva',
    'forward_dynamics_derivatives': 'qva',
    'regressor': 'qva',
    'centroidal_momentum': 'qv',
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table; return the exit status."""
    return execute('bench', parse, run, arguments)


def run(options: argparse.Namespace) -> int:
    """Print the table."""
    urdf = robot_text(options)
    robot = Robot(
        read_robot_description(urdf), floating_base=options.floating_base, backend=options.backend
    )
    functions = options.functions or list(FUNCTIONS)
    measured = []
    with progress_bar('bench') as progress:
        for row in rows(robot, functions):
            measured.append(row)
            progress(len(measured) / len(functions), row[0])
    head = ('function', 'first call [ms]', 'call [us]', f'of {SAMPLES} [us]')
    print(text([Section(str(robot)).table(head, measured)]))
    return DONE


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('bench', __doc__)
    add_robot(parser)
    option(
        parser,
        'functions FUNCTION',
        f'some of {", ".join(FUNCTIONS)} (default: all)',
        default=[],
        nargs='*',
    )
    option(parser, '--backend', default='auto', choices=('auto', *BACKENDS))
    option(parser, '--floating-base', 'floating base: the root link moves freely')
    options = parser.parse_args(arguments)
    for name in options.functions:
        if name not in FUNCTIONS:
            parser.error(f'no function {name!r}; choose some of {", ".join(FUNCTIONS)}')
    return options


def rows(robot: Robot, functions: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Measure the functions one after another."""
    random = np.random.default_rng(0)
    states = {
        'q': np.tile(robot.home(), (SAMPLES, 1)),
        'v': random.uniform(-1.0, 1.0, (SAMPLES, robot.nv)),
        'a': random.uniform(-1.0, 1.0, (SAMPLES, robot.nv)),
    }
    for name in functions:
        link = [robot.link_names[-1]] if name == 'jacobian' else []
        stack = [states[vector] for vector in FUNCTIONS[name]]
        one = partial(getattr, robot, name)  # the first call replaces the method by a faster one
        sample = [array[0] for array in stack]
        start = time.perf_counter()
        one()(*sample, *link)
        first = time.perf_counter() - start
        yield (
            name,
            f'{first * 1e3:.0f}',
            f'{shortest(one(), *sample, *link) * 1e6:.2f}',
            f'{shortest(one(), *stack, *link) / SAMPLES * 1e6:.3f}',
        )


def shortest(function: Callable[..., Any], *arguments: Any) -> float:
    """Return the time of a call [s]."""
    timer = timeit.Timer(
        'function(*arguments)', globals={'function': function, 'arguments': arguments}
    )
    once = timer.timeit(1)
    calls = max(1, int(MIN_RUN_DURATION_S / once))
    return min(timer.repeat(max(1, min(RUNS, int(1.0 / once))), calls)) / calls
