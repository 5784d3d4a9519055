"""Running nodes: the events executor where rclpy has one, the single-threaded one elsewhere."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.middleware import use_profiles
from screw_dynamics_ros.ros.scheduling import use_ordinary_time

EXECUTORS = ('auto', 'events', 'single')

# How long the executors wait at most [s]: in between, one sees whether the process is to end. rclpy
# 7.1.6 needs a deadline, too: without one it waits for ever and calls nothing back.
TURN = 0.1

PATIENCE = 5.0  # s that a request under way has to end in when the process is to end


def make_executor(kind: str) -> Any:
    """Return an executor: 'events' (half the processor time of the other), 'single', or 'auto'."""
    if kind in ('auto', 'events'):
        try:
            from rclpy.experimental import EventsExecutor
            return EventsExecutor()
        except ImportError:
            if kind == 'events':
                raise ArgumentError('this rclpy has no EventsExecutor; set the parameter executor '
                                    'to auto or single') from None
    return SingleThreadedExecutor()


def start() -> None:
    """Begin ROS. Until `spin` does otherwise, signals that ask to end are heeded at once."""
    on_signals(lambda *_: sys.exit())
    use_profiles()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)


def on_signals(handler: Callable[..., None]) -> None:
    """Choose what SIGINT and SIGTERM do.

    By default rclpy ends its context at once, whoever is publishing just then.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def spin(nodes: Sequence[Node], kind: str = 'auto', slow: Sequence[Node] = ()) -> None:
    """Run nodes until the process is asked to end, those with slow callbacks in a thread; end ROS.

    Signals are heeded between two callbacks.
    """
    ended = threading.Event()
    on_signals(lambda *_: ended.set())
    executor = make_executor(kind)
    for node in nodes:
        executor.add_node(node)
    try:
        with running_aside(slow) if slow else nullcontext():
            settle()
            while not ended.is_set():
                executor.spin_once(timeout_sec=TURN)
    finally:
        for node in nodes:
            node.destroy_node()
        executor.shutdown()
        rclpy.try_shutdown()


@contextmanager
def running_aside(nodes: Sequence[Node]) -> Iterator[None]:
    """Run nodes in an ordinary thread of the process meanwhile.

    It sleeps until a request comes: as long as it has the lock of the interpreter, the thread that
    answers joint states waits for it, whatever its priority.
    """
    ended = threading.Event()
    executor = SingleThreadedExecutor()

    def run() -> None:
        use_ordinary_time()
        for node in nodes:
            executor.add_node(node)
        while not ended.is_set():
            executor.spin_once()
        for node in nodes:
            node.destroy_node()

    thread = threading.Thread(target=run, name='slow callbacks', daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        executor.shutdown(timeout_sec=0)  # wakes the thread
        thread.join(PATIENCE)


def settle() -> None:
    """Take what exists now for lasting, so that collections need not look at it again.

    Full collections take tens of milliseconds otherwise, in which nothing is answered.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
