"""The executables: signals are heeded before anything is imported that takes time.

Python turns an early SIGINT into a KeyboardInterrupt during an import, with a traceback. As long as
there is nothing to clean up, a process should end at once. Nodes do otherwise as soon as ROS begins
(`process.executor.start`), `doctor` while it listens.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module

TRANSFORMATIONS = 'tf_transformations'  # whose absence is told in a line, with the remedy
INTERRUPTED = 128 + signal.SIGINT  # exit status of a tool; that of a node is 0


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


def module_to_run(package: str) -> str:
    """Return which module of a package Python is about to run by `python -m`; '' if none.

    To be asked while the package is imported: until the module is found, sys.argv[0] is '-m'.
    """
    if sys.argv[:1] != ['-m'] or '-m' not in sys.orig_argv:
        return ''
    name, _, module = sys.orig_argv[sys.orig_argv.index('-m') + 1].rpartition('.')
    return module if name == package else ''


def node(name: str) -> Callable[[], None]:
    """Return the executable of a node."""

    def main() -> None:
        end_node_at_once()
        try:
            module = import_module(f'screw_dynamics_ros.nodes.{name}')
        except ImportError as error:
            if error.name != TRANSFORMATIONS:
                raise
            sys.exit(f'[FATAL] [{name}]: {error}')
        module.main()

    return main


def tool(name: str, module: str = '') -> Callable[[], int]:
    """Return the executable of a tool, which returns its exit status."""

    def main() -> int:
        end_tool_at_once(name)
        return import_module(f'screw_dynamics_ros.cli.{module or name}').main()

    return main


kinematics = node('kinematics')
dynamics = node('dynamics')
wrench_estimator = node('wrench_estimator')
wrist_sensor = node('wrist_sensor')
simulator = node('simulator')
mechanism_simulator = node('mechanism_simulator')
odometry = node('odometry')
parallel_robot = node('parallel_robot')
trajectory_proxy = node('trajectory_proxy')
bringup = node('bringup')
demo = tool('demo', 'demo.command')
doctor = tool('doctor', 'doctor.command')
parity = tool('parity', 'parity.command')
calibrate = tool('calibrate', 'calibrate.command')
identify = tool('identify', 'identify.command')
excite = tool('excite', 'excite.command')
annotate = tool('annotate', 'annotate.command')
replay = tool('replay', 'replay.command')
compile = tool('compile')
bench = tool('bench')
rviz = tool('rviz', 'rviz.command')
