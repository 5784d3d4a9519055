# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The demo: a simulated arm, its model state over DDS, and a client that checks it.

The command starts the node `simulator`, the driver of a 7-joint arm, and `bringup`, in separate
processes. A known force pushes the tool for part of the run; the outputs are compared with it and
with Pinocchio. With --view, a web browser shows the robot.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import signal
import socket
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from screw_dynamics_ros import __version__
from screw_dynamics_ros.entry import DONE, NEGATIVE
from screw_dynamics_ros.ros.process.children import Children, free_domain

from ..command_line import (
    UnusableError,
    between,
    command_parser,
    execute,
    exit_statuses,
    option,
    progress_bar,
    whole,
)
from .recording import DemoRecording, Push
from .report import as_text, make_report, save, save_picture

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
    option(
        parser,
        '--duration S',
        f'length of the run in seconds, {MIN_DURATION_S:g} to {MAX_DURATION_S:g} (default: 20)',
        between(MIN_DURATION_S, MAX_DURATION_S),
        20.0,
    )
    option(
        parser,
        '--results FOLDER',
        'folder for demo.png and demo.json (default: results)',
        Path,
        Path('results'),
    )
    option(parser, '--domain ID', 'ROS_DOMAIN_ID, 0 to 101 (default: an unused one)', whole(0, 101))
    option(parser, '--view', 'also show the robot in a web browser, at an address that is printed')
    options = parser.parse_args(arguments)
    if options.view and find_spec('viser') is None:
        parser.error('argument --view: viser is not installed; install it: pip install viser')
    return options


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


if TYPE_CHECKING:
    from .client import Client

TOOL = 'panda_hand_tcp'
PARAMETERS: dict[str, dict[str, Any]] = {
    'simulator': {
        'rate': 200.0,  # Hz; low enough for the client, which records everything
        'initial_joints': [f'panda_joint{i}' for i in range(1, 8)],
        'initial_positions': [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785],  # rad
        'motion_amplitude': 0.3,  # rad; the limits in report.py depend on it and the period
        'motion_period': 10.0,  # s
        'wrench_timeout': 60.0,  # s; the push must not end when the client is delayed
    },
    # Process every state, even if a busy machine delays it.
    'bringup': {
        'max_delay': 0.0,
        'model_state': ['all'],
        'kinematics:frames': [TOOL],
        'wrench_estimator:frames': [TOOL],
        'dynamics:enabled': True,
        'dynamics:ramp_time': 0.0,
        'dynamics:effort_rate_factor': 1e6,
        'dynamics:age_limit': 10.0,
    },
}
QUEUE_DEPTH = 5000  # messages per topic, 25 s, for a process that is delayed
TOPICS = {
    'simulator': ('joint_states', 'simulator/ground_truth/external_torque'),
    'bringup': (
        'tf',
        *(f'dynamics/{name}' for name in ('gravity', 'coriolis', 'feedforward')),
        f'kinematics/jacobian/{TOOL}',
        f'wrench_estimator/wrench/{TOOL}',
        'bringup/model_state',
    ),
}
for process, topics in TOPICS.items():
    PARAMETERS[process].update(
        {f'qos_overrides./{topic}.publisher.depth': QUEUE_DEPTH for topic in topics}
    )
PARAMETERS['bringup'].update(
    {
        'qos_overrides./joint_states.subscription.depth': QUEUE_DEPTH,
        'qos_overrides./joint_states.subscription.reliability': 'reliable',
    }
)
PURPOSES = {'simulator': 'simulated driver of an arm', 'bringup': 'model of the arm, compiling ...'}

SPIN_TIMEOUT_S = 0.01  # longest wait for a message
PROGRESS_PERIOD_S = 5.0  # between progress messages without data
SILENCE_TIMEOUT_S = 300.0  # without expected messages before the demo fails


class DemoError(UnusableError):
    """The demo cannot continue; the message contains the reason and the remedy."""


class Interruption(Exception):
    """A signal requests the end of the demo."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Signals:
    """Records termination signals within the `with` block; `check` handles them."""

    def __init__(self) -> None:
        self._received: list[int] = []

    def __enter__(self) -> Signals:
        self._before = {
            number: signal.signal(number, self._note)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._received.append(number)

    def check(self) -> None:
        """Raise `Interruption` if a termination signal was received."""
        if self._received:
            raise Interruption(self._received[0])


class DemoSession:
    """Runs the client.

    Parameters
    ----------
    client : Client
    executor : rclpy executor
        Spins the node of the client.
    children : Children
    signals : Signals
    """

    def __init__(self, client: Client, executor: Any, children: Children, signals: Signals) -> None:
        self._client, self._executor = client, executor
        self._children, self._signals = children, signals

    def wait_for_outputs(self) -> None:
        """Report progress until each series has a message; raises `DemoError` on timeout."""
        start = said = time.monotonic()
        silent = True
        while missing := self._client.missing:
            self._turn()
            now = time.monotonic()
            if silent and 'joint_states' not in self._client.missing:
                silent = False
                say(f'joint states after {now - start:.1f} s')
            if now - said > PROGRESS_PERIOD_S:
                said = now
                say(f'{now - start:.0f} s, still waiting for {", ".join(missing)}')
            if now - start > SILENCE_TIMEOUT_S:
                raise self._silence(missing)
        say(f'all outputs after {time.monotonic() - start:.1f} s')

    def record(self, push: Push, duration: float) -> DemoRecording:
        """Record the outputs for a simulated `duration` [s]; wait for the last outputs.

        On a busy machine, simulated time is slower than real time.
        """
        gc.collect()
        gc.freeze()  # excludes existing objects from later collections
        client = self._client
        recording = client.begin(push)
        heard, seconds = time.monotonic(), 0.0
        with progress_bar('demo') as progress:
            while client.time < duration:
                self._turn()
                if client.time > seconds:
                    seconds, heard = client.time, time.monotonic()
                    progress(min(seconds / duration, 1.0))
                elif time.monotonic() - heard > SILENCE_TIMEOUT_S:
                    raise self._silence(['joint_states'])
        client.end()
        heard = time.monotonic()
        while client.late and time.monotonic() < heard + SILENCE_TIMEOUT_S:
            self._turn()
        return recording

    def _silence(self, missing: list[str]) -> DemoError:
        """Return the error for missing messages, with the last output of the nodes."""
        return DemoError(
            f'no message from {", ".join(missing)} for {SILENCE_TIMEOUT_S:.0f} s'
            + ''.join(
                f'\n  last output of {name}:\n    ' + '\n    '.join(self._children.output(name))
                for name in self._children.pids()
            )
        )

    def _turn(self) -> None:
        """Process the next message and periodic tasks."""
        self._executor.spin_once(timeout_sec=SPIN_TIMEOUT_S)
        self._client.push()
        self._signals.check()
        self._children.check()


def run(domain: int, duration: float, push: Push, view: bool = False) -> DemoRecording:
    """Run the nodes and the client on a ROS domain; return the recording.

    With `view`, the page of the robot is served too.
    """
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from screw_dynamics_ros.ros.compatibility import stay_on_this_machine
    from screw_dynamics_ros.ros.process.executor import make_executor

    from .client import Client

    os.environ['ROS_DOMAIN_ID'] = str(domain)
    stay_on_this_machine()
    say(f'ROS_DOMAIN_ID={domain}, on this machine only')
    with Signals() as signals, Children() as children:
        start_nodes(children)
        if view:
            start_view(children)
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        try:
            node = rclpy.create_node('demo')
            executor = make_executor('auto')
            executor.add_node(node)
            client = Client(node, TOOL, 1.0 / PARAMETERS['simulator']['rate'], QUEUE_DEPTH)
            session = DemoSession(client, executor, children, signals)
            session.wait_for_outputs()
            return session.record(push, duration)
        finally:
            rclpy.try_shutdown()


def start_nodes(children: Children) -> None:
    """Start the nodes with the parameters of the demo."""
    for name, parameters in PARAMETERS.items():
        assignments = [
            argument for key, value in parameters.items() for argument in ('-p', f'{key}:={value}')
        ]
        children.start(name, 'screw_dynamics_ros', [name, '--ros-args', *assignments])
        say(f'started {name}, process {children.pids()[name]}: {PURPOSES[name]}')


def start_view(children: Children) -> None:
    """Serve the page of the robot on a free port of this machine."""
    with socket.socket() as trial:
        trial.bind(('127.0.0.1', 0))
        port = trial.getsockname()[1]
    children.start('view', 'screw_dynamics_ros', ['view', '--live', '--port', str(port)])
    say(f'started view, process {children.pids()["view"]}: http://127.0.0.1:{port}')


def say(text: str) -> None:
    """Print a line of progress."""
    print(f'demo: {text}', flush=True)
