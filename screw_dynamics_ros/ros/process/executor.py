# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Running nodes: with the events executor if rclpy has one, else single-threaded."""

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
from typing import Any, NoReturn, Protocol

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.compatibility import events_executor
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.middleware import use_profiles
from screw_dynamics_ros.ros.process.start_parameters import check_arguments, reason
from screw_dynamics_ros.ros.process.worker import Worker

EXECUTORS = ('auto', 'events', 'single')

# How long the executors wait at most [s]: in between, one sees whether the process is to end. rclpy
# 7.1.6 needs a deadline, too: without one it waits for ever and calls nothing back.
SPIN_TIMEOUT_S = 0.1

SHUTDOWN_TIMEOUT_S = 10.0  # that what is to be done at the end may take

REQUEST_TIMEOUT_S = 5.0  # that a request under way has to end in when the process is to end


class ShutdownTask(Protocol):
    """Something that is done before the process ends."""

    def begin(self) -> None:
        """Begin; callbacks go on meanwhile."""

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do."""


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
    """Begin ROS. Until `spin` does otherwise, signals that ask to end are heeded at once.

    Raises `ArgumentError` for a command line or a parameter file that ROS refuses.
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
    """End the process for good, now that nodes are gone; what is left needs no putting away.

    Python would first wait for a description that is being compiled, and then destroy, in any
    order, executors and messages that threads of the middleware may still call: some processes
    ended with a segmentation fault.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # its reader has ended, or it is closed
            stream.flush()
    ctypes.CDLL(None).fflush(None)  # what ROS has logged, if that goes to stdout
    os._exit(status)


def on_signals(handler: Callable[..., None]) -> None:
    """Choose what SIGINT and SIGTERM do.

    By default rclpy ends its context at once, even while other threads publish.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def spin(
    nodes: Sequence[Node],
    kind: str = 'auto',
    slow: Sequence[Node] = (),
    endings: Sequence[ShutdownTask] = (),
) -> None:
    """Run nodes until the process is asked to end, those with slow callbacks in a thread; end ROS.

    Signals are heeded between two callbacks. A callback that raises is given up, no more.

    Parameters
    ----------
    nodes, slow : sequences of rclpy.node.Node
    kind : str
        One of `EXECUTORS`.
    endings : sequence of ShutdownTask
        What is still to be done when the process is asked to end; a second signal cuts it short.
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
            settle()
            try:
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
                Worker.end_all()  # so that nobody waits for an answer any more
    finally:
        # Nothing is destroyed while the executor could call it.
        executor.shutdown()
        for node in nodes:
            with suppress(Exception):
                node.destroy_node()
        rclpy.try_shutdown()


@contextmanager
def running_aside(nodes: Sequence[Node]) -> Iterator[None]:
    """Run nodes in another thread of the process meanwhile, which must not compute anything long.

    It sleeps until a request comes. Its priority is that of the process: as long as it has the lock
    of the interpreter, the thread that answers joint states waits for it, and would wait for
    everything that goes before an ordinary thread.
    """
    ended = threading.Event()
    executor = SingleThreadedExecutor()

    def run() -> None:
        for node in nodes:
            executor.add_node(node)
        while not ended.is_set():
            try:
                executor.spin_once()
            except Exception as error:  # of one request: the others are answered
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


def settle() -> None:
    """Take what exists now for lasting, so that collections need not look at it again.

    Full collections take tens of milliseconds otherwise, in which nothing is answered.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
