# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The demo: a simulated arm, its model state over DDS, and a client that checks it.

The command starts the node `simulator`, the driver of a 7-joint arm, and `bringup`, in separate
processes. A known force pushes the tool for part of the run; the outputs are compared with it and
with Pinocchio. With --view, a web browser shows the robot.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from screw_dynamics_ros import __version__
from screw_dynamics_ros.entry import DONE, NEGATIVE
from screw_dynamics_ros.ros.process.children import free_domain

from ..command_line import UnusableError, command_parser, execute, exit_statuses
from .picture import save_picture
from .push import Push
from .recording import DemoRecording
from .report import as_text, make_report, save
from .session import TOOL, Interruption, run, say

FORCE = (8.0, -5.0, 12.0)  # N, in the tool frame
MIN_DURATION_S, MAX_DURATION_S = 6.0, 300.0  # s


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit status."""
    return execute('demo', parse, demonstrate, arguments)


def demonstrate(options: argparse.Namespace) -> int:
    """Run the demo."""
    push = Push(FORCE, start=0.3 * options.duration, end=0.75 * options.duration)
    try:
        from screw_dynamics_ros.core.description.bundled import bundled_urdf

        recording = run(
            free_domain() if options.domain is None else options.domain,
            options.duration,
            push,
            options.view,
        )
        return conclude(recording, push, bundled_urdf('panda'), options.results)
    except ImportError as error:
        raise UnusableError(
            f'{error}. `make demo` installs all requirements; with your own ROS 2, source it first'
        ) from None
    except (Interruption, KeyboardInterrupt) as error:
        print('demo: interrupted; all processes have been stopped', file=sys.stderr, flush=True)
        return 128 + getattr(error, 'number', 2)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('demo', __doc__, exit_statuses('a comparison failed'))
    parser.add_argument(
        '--duration',
        type=duration,
        default=20.0,
        metavar='S',
        help=(
            f'length of the run in seconds, {MIN_DURATION_S:g} to {MAX_DURATION_S:g} (default: 20)'
        ),
    )
    parser.add_argument(
        '--results',
        type=Path,
        default=Path('results'),
        metavar='FOLDER',
        help='folder for demo.png and demo.json (default: results)',
    )
    parser.add_argument(
        '--domain',
        type=domain,
        metavar='ID',
        help='ROS_DOMAIN_ID, 0 to 101 (default: an unused one)',
    )
    parser.add_argument(
        '--view',
        action='store_true',
        help='also show the robot in a web browser, at an address that is printed',
    )
    options = parser.parse_args(arguments)
    if options.view and find_spec('viser') is None:
        parser.error('argument --view: viser is not installed; install it: pip install viser')
    return options


def duration(text: str) -> float:
    """Return a duration of the command line."""
    value = float(text)
    if not MIN_DURATION_S <= value <= MAX_DURATION_S:
        raise argparse.ArgumentTypeError(
            f'{text} is not between {MIN_DURATION_S:g} and {MAX_DURATION_S:g} s'
        )
    return value


def domain(text: str) -> int:
    """Return a ROS domain of the command line; domains above 101 collide with other ports."""
    value = int(text)
    if not 0 <= value <= 101:
        raise argparse.ArgumentTypeError(f'{text} is not between 0 and 101')
    return value


def conclude(recording: DemoRecording, push: Push, urdf: Path, results: Path) -> int:
    """Print and save the report; return the exit status."""
    say(f'reading {sum(map(len, recording.series.values()))} messages ...')
    report = make_report(recording, push, urdf, TOOL)
    print(f'\n{as_text(report)}\n', flush=True)
    system = {
        'version': __version__,
        'python': platform.python_version(),
        'ros': os.environ.get('ROS_DISTRO') or 'wheels',
        'robot': urdf.stem,
        'tool': TOOL,
        'force': push.force,
        'push': (push.start, push.end),
    }
    try:
        save(report, results / 'demo.json', system)
        print(f'numbers: {results / "demo.json"}', flush=True)
        save_picture(
            recording,
            push,
            results / 'demo.png',
            f'{urdf.stem}: a push at {TOOL}, estimated from joint torques',
        )
        print(f'picture: {results / "demo.png"}')
    except ImportError:
        print('no picture: matplotlib is not installed (pip install matplotlib)')
    except OSError as error:
        print(f'not saved: {error}')
    if report.failures:
        print(f'FAILED: {"; ".join(report.failures)}', flush=True)
        return NEGATIVE
    print(f'PASSED: all {len(report.comparisons)} comparisons', flush=True)
    return DONE
