# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Show a robot in a web browser: its links, joint torques, wrenches and inverse kinematics.

    python -m screw_dynamics_ros view panda
    python -m screw_dynamics_ros view my_robot.urdf
    python -m screw_dynamics_ros view my_robot.urdf --export robot.html
    python -m screw_dynamics_ros view my_robot.urdf --simulate
    python -m screw_dynamics_ros view --live
    python -m screw_dynamics_ros view --recording run.mcap

With a file, without ROS: sliders set the joints and a payload, and a handle moves any link. Live,
the view shows the topics of a running or simulated robot, including those of the nodes; a recording
has a time axis. The command prints the address of the page. Requires viser: pip install viser.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from screw_dynamics_ros.core import UnknownNameError, bundled_urdf, files
from screw_dynamics_ros.entry import DONE

from ..command_line import (
    ROBOT_FILE,
    UnusableError,
    add_arguments_of,
    command_parser,
    execute,
    heed_interrupts,
    option,
    progress_bar,
    read_description,
    whole,
    write_file,
)
from .posture_source import PostureSource
from .state import ViewSource

LOCAL_HOST, PORT = '127.0.0.1', 8080


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the page until it is interrupted; return the exit status."""
    return execute('view', parse, show, arguments)


def show(options: argparse.Namespace) -> int:
    """Serve the page until it is interrupted, or export it."""
    heed_interrupts()
    try:
        check_installed()
        source = source_of(options, options.given)
        try:
            run(source, options)
        finally:
            source.close()
    except KeyboardInterrupt:
        print('\nview: ended')
    return DONE


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = command_parser('view', __doc__)
    add = partial(option, parser)
    add('robot ROBOT', f'{ROBOT_FILE}, or the name of a bundled robot', nargs='?')
    add_arguments_of(parser, 'robot', 'ROBOT')
    origin = parser.add_mutually_exclusive_group()
    option(
        origin,
        '--live',
        'show the running robot whose description is on the topic robot_description',
    )
    option(
        origin,
        '--recording FILE',
        'show a recording; ROBOT replaces the recorded description',
        Path,
    )
    option(origin, '--simulate', 'simulate ROBOT, and run the nodes that estimate its state')
    add(
        '--topic TOPIC',
        'topic of the joint states in the recording; others are in the same namespace',
        default='/joint_states',
    )
    add(
        '--host ADDRESS',
        f'address to listen on (default: {LOCAL_HOST}, accessible from this machine only)',
        default=LOCAL_HOST,
    )
    add('--port N', f'(default: {PORT}, or a free one)', whole(1, 2**16 - 1), PORT)
    add('--export FILE', 'write the scene as one HTML file and exit', Path)
    add('--dark', 'dark colors')
    options = parser.parse_args(arguments)
    if options.live and options.robot is not None:
        parser.error('argument ROBOT: not allowed with --live, which uses robot_description')
    if not (options.live or options.recording or options.robot):
        parser.error('name a ROBOT, --live or --recording FILE')
    return options


def check_installed() -> None:
    """Raise `UnusableError` without viser."""
    if find_spec('viser') is None:
        raise UnusableError('viser is not installed; install it: pip install viser')


def source_of(options: argparse.Namespace, arguments: Sequence[str]) -> ViewSource:
    """Return the source that the options select; ROS gets all `arguments` of a live source."""
    if options.live:
        from .live_source import LiveSource

        return LiveSource(arguments)
    urdf = None
    if options.robot is not None:
        path = description_path(options.robot)
        urdf = read_description(path, options.robot_arguments, 'robot', 'ROBOT'), path
    if options.recording is not None:
        from .recording_source import RecordingSource

        with progress_bar('view') as progress:
            return RecordingSource(options.recording, urdf, options.topic, progress)
    assert urdf is not None  # ensured by `parse`
    if options.simulate:
        from .live_source import SimulatedSource

        return SimulatedSource(*urdf)
    return PostureSource(*urdf)


def description_path(name: str) -> Path:
    """Return the file of a path or of a bundled robot; raises `UnusableError`."""
    path = files.expanded(name)
    try:
        return path if path.suffix or path.exists() else bundled_urdf(name)
    except UnknownNameError as error:
        raise UnusableError(f'argument ROBOT: {error}') from None


def run(source: ViewSource, options: argparse.Namespace) -> None:
    """Serve the page until `KeyboardInterrupt`, or export it."""
    from .viewer import Viewer

    with Viewer(source, options.host, options.port, dark=options.dark) as viewer:
        if options.export is not None:
            write_file(options.export, '--export', viewer.page())
            return
        shown = 'the running robot' if options.live else source.robot.description.name
        print(f'{viewer.address} shows {shown}; Ctrl-C ends it', flush=True)
        viewer.run()


if __name__ == '__main__':
    sys.exit(main())
