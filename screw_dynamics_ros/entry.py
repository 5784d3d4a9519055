# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Starting the executables: signals are heeded before anything is imported that takes time.

    screw-dynamics NAME [arguments]             (installed by pip)
    python -m screw_dynamics_ros NAME [arguments]

Python turns an early SIGINT into a KeyboardInterrupt during an import, with a traceback. As long as
there is nothing to clean up, a process should end at once. Nodes do otherwise as soon as ROS begins
(`process.executor.start`), `doctor` while it listens.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module

from .pipes import ONE_THREAD
from .registry import COMMANDS, EXECUTABLES, NODES
from .share import share_folder

TRANSFORMATIONS = 'tf_transformations'  # if it is missing, a line names the remedy
ROS_MODULES = ('ament_index_python', 'builtin_interfaces', 'launch', 'launch_ros', 'rclpy')
PROGRAM = 'screw-dynamics'  # what pip installs

# Exit status of commands; doc/reference/nodes/index.md explains them. UNUSABLE is that of argparse.
DONE, NEGATIVE, UNUSABLE, PARTIAL = range(4)
INTERRUPTED = 128 + signal.SIGINT  # that of a node is 0


def end_node_at_once() -> None:
    """Let SIGINT and SIGTERM end this process without a word, as they end a node that runs."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))


def end_tool_at_once(name: str) -> None:
    """Let SIGINT end this process with a line."""

    def end(*_: object) -> None:
        os.write(2, f'\n{name}: interrupted\n'.encode())
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, end)


def run_node(name: str) -> None:
    """Run a node until the process is asked to end; a crash writes all stacks to stderr.

    With `--help` print its usage instead, without ROS.
    """
    if not {'-h', '--help'}.isdisjoint(sys.argv[1:]):
        print(node_help(name))
        return
    if sys.stderr is not None:
        faulthandler.enable()
    end_node_at_once()
    gc.disable()  # until `executor.settle`: what a start makes stays
    try:
        executables = import_module('screw_dynamics_ros.nodes.executables')
        executables.run(name)
    except ImportError as error:
        if error.name != TRANSFORMATIONS and not is_of_ros(error.name):
            raise
        sys.exit(f'[FATAL] [{name}]: {reason(error)}')


def run_command(name: str) -> int:
    """Run a command; return its exit status."""
    end_tool_at_once(name)
    os.environ.update({**ONE_THREAD, **os.environ})  # read when NumPy is imported
    try:
        return import_module(COMMANDS[name].module).main()
    except ModuleNotFoundError as error:
        if not is_of_ros(error.name):
            raise
        print(f'{name}: {reason(error)}', file=sys.stderr)
        return UNUSABLE


def is_of_ros(module: str | None) -> bool:
    """Return whether a missing module belongs to ROS 2 rather than to a pip package."""
    top = (module or '').partition('.')[0]
    return top in ROS_MODULES or top.endswith(('_msgs', '_interfaces'))


def reason(error: ImportError) -> str:
    """Return why something cannot run, with the remedy."""
    if not is_of_ros(error.name):
        return str(error)
    return (
        f'needs ROS 2, and there is no module {error.name!r}; run '
        "'. /opt/ros/<distribution>/setup.bash' first, in a shell whose python3 is that of ROS 2"
    )


def executable(name: str) -> Callable[[], int | None]:
    """Return the function that runs an executable with the arguments of the process."""
    return lambda: run_node(name) if name in NODES else run_command(name)


def __getattr__(name: str) -> Callable[[], int | None]:
    """Return the entry point of an executable, whose name it has."""
    if name not in EXECUTABLES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return executable(name)


def main() -> int | None:
    """Run the executable that the first argument names, with the others."""
    name = sys.argv[1] if len(sys.argv) > 1 else '--help'
    if name in EXECUTABLES:
        del sys.argv[1]
        return executable(name)()
    if name in ('-h', '--help'):
        print(help_text())
        return 0
    near = get_close_matches(name, EXECUTABLES, 1)
    hint = f'did you mean {near[0]}? ' if near else ''
    print(f'{PROGRAM}: there is no {name!r}; {hint}{PROGRAM} --help lists all', file=sys.stderr)
    return UNUSABLE


def node_help(name: str) -> str:
    """Return the usage of a node, and where its parameters and topics are described."""
    row, words = NODES[name], ' [NAMESPACE ...]' if name == 'bringup' else ''
    return (
        f'usage: ros2 run screw_dynamics_ros {name}{words} --ros-args [-p NAME:=VALUE ...]\n'
        f'           [--params-file FILE] [-r __ns:=NAMESPACE] [-r TOPIC:=OTHER ...]\n'
        f'       ros2 launch screw_dynamics_ros {row.launch or "bringup"}.launch.py --show-args\n\n'
        f'{row.purpose}\n\n'
        f'parameters: {share_folder()}/config/{row.config}.yaml has all of them with defaults;\n'
        '            doc/reference/parameters.md explains them\n'
        'topics:     doc/reference/nodes/topics.md; of a running node: ros2 node info /'
        f'{name}\n'
        'services:   doc/reference/nodes/services.md'
    )


def help_text() -> str:
    """Return what can be run, in a line each."""
    commands, nodes = (
        '\n'.join(f'  {name:<20} {row.purpose}' for name, row in table.items())
        for table in (COMMANDS, NODES)
    )
    return (
        f'usage: {PROGRAM} NAME [arguments]; NAME --help describes one\n\n'
        f'commands:\n{commands}\n\nnodes, which need ROS 2:\n{nodes}'
    )
