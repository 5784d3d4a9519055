"""Running nodes: the events executor where rclpy has one, the single-threaded one elsewhere."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Sequence
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.scheduling import use_ordinary_time

EXECUTORS = ('auto', 'events', 'single')

# rclpy 7.1.6 computes the deadline of a spin without one so that it overflows with the C library of
# its wheels, and spins without ever calling back. Turns of this length [s] cost nothing.
TURN = 1.0

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


def spin(nodes: Sequence[Node], kind: str = 'auto', slow: Sequence[Node] = ()) -> None:
    """Run nodes until the process is asked to end; those whose callbacks are slow, in a thread."""
    executor = make_executor(kind)
    for node in nodes:
        executor.add_node(node)
    thread = threading.Thread(target=run_slow, args=(slow,), name='slow callbacks', daemon=True)
    if slow:
        thread.start()
    settle()
    try:
        spin_until_end(executor)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not break the clean-up
        for node in nodes:
            node.destroy_node()
        executor.shutdown()
        rclpy.try_shutdown()  # wakes the thread
        if slow:
            thread.join(PATIENCE)


def spin_until_end(executor: Any) -> None:
    """Call callbacks until the process is asked to end."""
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=TURN)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except RuntimeError:  # of rclpy: the end may come while it begins to wait, or sends
        if rclpy.ok():
            raise


def settle() -> None:
    """Take what exists now for lasting, so that collections need not look at it again.

    Full collections take tens of milliseconds otherwise, in which nothing is answered.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def run_slow(nodes: Sequence[Node]) -> None:
    """Run nodes until the process ends."""
    use_ordinary_time()
    executor = SingleThreadedExecutor()
    for node in nodes:
        executor.add_node(node)
    try:
        spin_until_end(executor)
    finally:
        for node in nodes:
            node.destroy_node()
        executor.shutdown()
