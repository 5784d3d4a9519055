# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Running nodes with the events executor if rclpy has one, otherwise single-threaded."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any, NoReturn, Protocol

import rclpy
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.share import share_folder

from ..compatibility import events_executor
from .faults import FAULTS
from .start_parameters import check_arguments, reason
from .worker import Worker

#: For Fast DDS 2 and 3: environment variable, profiles of this package, default file of profiles.
PROFILES = (
    ('FASTRTPS_DEFAULT_PROFILES_FILE', 'fastrtps.xml', 'DEFAULT_FASTRTPS_PROFILES.xml'),
    ('FASTDDS_DEFAULT_PROFILES_FILE', 'fastdds.xml', 'DEFAULT_FASTDDS_PROFILES.xml'),
)
EXECUTORS = ('auto', 'events', 'single')

# Longest wait of the executors [s], after which a request to end is checked. rclpy 7.1.6 also needs
# a timeout: without one it waits forever and calls no callback.
SPIN_TIMEOUT_S = 0.1

SHUTDOWN_TIMEOUT_S = 10.0  # for all shutdown tasks

REQUEST_TIMEOUT_S = 5.0  # for a request that is being answered when the process ends


def generation() -> int:
    """Return the index in `PROFILES` of the Fast DDS that rmw_fastrtps_cpp uses."""
    with suppress(PackageNotFoundError, OSError):  # another middleware, or no ament index
        manifest = Path(get_package_share_directory('rmw_fastrtps_cpp'), 'package.xml')
        return int('<build_depend>fastdds<' in manifest.read_text())
    return 0


def use_profiles() -> None:
    """Make Fast DDS in this process use the profiles in config/, unless the user has profiles.

    To be called before ROS is initialized. Other middleware ignores them.
    """
    ours = generation()
    variable, name, found_by_itself = PROFILES[ours]
    # Fast DDS 3 still reads the variable of Fast DDS 2.
    chosen_by_user = any(known in os.environ for known, *_ in PROFILES[: ours + 1])
    file = share_folder() / 'config' / name
    if not chosen_by_user and not Path(found_by_itself).exists() and file.is_file():
        os.environ[variable] = str(file)


class ShutdownTask(Protocol):
    """A task that is executed before the process ends."""

    def begin(self) -> None:
        """Begin the task; callbacks continue to run."""

    @property
    def ended(self) -> bool:
        """Whether the task is complete."""


class ProcessingThread(Protocol):
    """A thread that processes messages of a node."""

    def start(self) -> None:
        """Start the thread."""

    def stop(self) -> None:
        """End the thread."""


def make_executor(kind: str) -> Any:
    """Return an executor: 'events' (half the processor time of the other), 'single', or 'auto'."""
    if kind in ('auto', 'events'):
        executor = events_executor()
        if executor is not None:
            return executor
        if kind == 'events':
            raise ArgumentError(
                'this rclpy has no EventsExecutor; set the parameter executor to auto or single'
            )
    return SingleThreadedExecutor()


def start() -> None:
    """Initialize ROS. Until `spin` is called, SIGINT and SIGTERM end the process at once.

    Raises `ArgumentError` if ROS refuses the command line or a parameter file.
    """
    on_signals(leave)
    check_arguments(sys.argv)
    use_profiles()
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # rclpy has several classes, without a common base
        raise ArgumentError(reason(error)) from None


def leave(*_: Any) -> None:
    """Shut down gracefully; a second signal exits immediately."""
    on_signals(lambda *_: os._exit(0))
    sys.exit()


def end_process(status: int) -> NoReturn:
    """End the process after all nodes are destroyed, without the finalization of Python.

    Python would wait for a description that is being compiled. It would then destroy executors and
    messages in undefined order while threads of the middleware may still use them, which has caused
    segmentation faults.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # broken pipe, or closed
            stream.flush()
    ctypes.CDLL(None).fflush(None)  # buffered log of ROS, if it goes to stdout
    os._exit(status)


def on_signals(handler: Callable[..., None]) -> None:
    """Set the handler of SIGINT and SIGTERM.

    The handler of rclpy shuts the context down at once, even while other threads publish.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def spin(
    nodes: Sequence[Node],
    kind: str = 'auto',
    slow: Sequence[Node] = (),
    endings: Sequence[ShutdownTask] = (),
    threads: Sequence[ProcessingThread] = (),
) -> None:
    """Run nodes until SIGINT or SIGTERM, nodes with slow callbacks in a thread; shut ROS down.

    Signals are handled between two callbacks. An exception in a callback is logged, and the other
    callbacks continue.

    Parameters
    ----------
    nodes, slow : sequences of rclpy.node.Node
    kind : str
        One of `EXECUTORS`.
    endings : sequence of ShutdownTask
        Tasks to execute after the first signal; a second signal skips them.
    threads : sequence of ProcessingThread
        Run beside the nodes until these tasks are complete.
    """
    signals = count(1)
    asked = 0

    def ask(*_: object) -> None:
        nonlocal asked
        asked = next(signals)

    on_signals(ask)
    executor = make_executor(kind)
    for node in nodes:
        executor.add_node(node)

    def turn() -> None:
        try:
            executor.spin_once(timeout_sec=SPIN_TIMEOUT_S)
        except Exception as error:
            FAULTS.record('a callback', error)

    try:
        with running_aside(slow) if slow else nullcontext():
            settle(collects=False)
            try:
                for thread in threads:
                    thread.start()
                while not asked and rclpy.ok():
                    turn()
                for ending in endings:
                    ending.begin()
                latest = time.monotonic() + SHUTDOWN_TIMEOUT_S
                while (
                    asked < 2
                    and time.monotonic() < latest
                    and not all(ending.ended for ending in endings)
                ):
                    turn()
            finally:
                for thread in threads:
                    thread.stop()
                Worker.end_all()  # ends all calls that wait for a result
    finally:
        # Shut down first: the executor may call nodes until then.
        executor.shutdown()
        for node in nodes:
            with suppress(Exception):
                node.destroy_node()
        rclpy.try_shutdown()


@contextmanager
def running_aside(nodes: Sequence[Node]) -> Iterator[None]:
    """Run nodes in another thread, whose callbacks must not compute for long.

    The thread sleeps until a request arrives. It has the priority of the process: while it holds
    the interpreter lock, the thread that processes joint states waits for it. With a lower
    priority, it could be preempted while it holds the lock (priority inversion).
    """
    ended = threading.Event()
    executor = SingleThreadedExecutor()

    def run() -> None:
        for node in nodes:
            executor.add_node(node)
        while not ended.is_set():
            try:
                executor.spin_once()
            except Exception as error:  # affects one request only
                if not ended.is_set():
                    nodes[0].get_logger().error(f'{type(error).__name__}: {error}')
                    ended.wait(SPIN_TIMEOUT_S)
        for node in nodes:
            node.destroy_node()

    thread = threading.Thread(target=run, name='slow callbacks', daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        executor.shutdown(timeout_sec=0)  # wakes the thread
        thread.join(REQUEST_TIMEOUT_S)


def settle(collects: bool = True) -> None:
    """Exclude all existing objects from garbage collection; return unused memory to the system.

    Otherwise full collections take tens of milliseconds, during which no joint state is processed,
    and the process keeps 10 MB that a compilation has used. Garbage is collected first if it
    `collects`: there is some after a model has been replaced, and hardly any after a start.
    """
    if collects:
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    gc.enable()
    with suppress(AttributeError):  # of the GNU C library only
        ctypes.CDLL(None).malloc_trim(0)
