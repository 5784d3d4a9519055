# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The thread that processes joint states in compiled code, and calls Python for everything else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.logging import get_logger
from rclpy.node import Node

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.compatibility import hide_from_executors, show_to_executors
from screw_dynamics_ros.ros.data_path import loop
from screw_dynamics_ros.ros.data_path.rcl import LoopSubscription, Rcl
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK

if TYPE_CHECKING:
    from .state_pipeline import StatePipeline

MAX_VERIFICATIONS = 50  # messages from which the fields of their info are verified
END_TIMEOUT_S = 5.0  # for the thread to end
ENDED = 2**32  # added to the eventfd of snapshots, which adds 1 for each


def compiled_loop(rcl: Rcl, node: Node, pipeline: StatePipeline, subscription: Any) -> CompiledLoop:
    """Return the loop for the joint states of a subscription, which executors no longer see.

    Raises `ScrewDynamicsError` if it is not possible here.
    """
    if not STATE_LOCK.address:
        raise ScrewDynamicsError('the lock of this system cannot be shared')
    taken = LoopSubscription(rcl, node.context.handle, subscription.handle)
    hide_from_executors(node, subscription)

    def give_up() -> None:
        get_logger('screw_dynamics_ros').error(
            'waiting for joint states failed in the compiled loop: they are processed in Python'
        )
        with STATE_LOCK:
            pipeline.use_functions(rcl)
        show_to_executors(node, subscription)

    pipeline.use_functions(rcl, taken)
    return CompiledLoop(pipeline, rcl, taken, give_up)


class CompiledLoop:
    """Runs `loop.run` in a thread, and the pipeline in Python whenever it returns.

    Parameters
    ----------
    pipeline : StatePipeline
    rcl : Rcl
    taken : LoopSubscription
    give_up : callable
        Called if waiting fails.
    """

    def __init__(
        self,
        pipeline: StatePipeline,
        rcl: Rcl,
        taken: LoopSubscription,
        give_up: Callable[[], None],
    ) -> None:
        self._pipeline, self._rcl, self._taken, self._give_up = pipeline, rcl, taken, give_up
        self._attempts = 0
        self._thread: threading.Thread | None = None

    def attach(self) -> None:
        """Follow all changes by Python."""
        STATE_LOCK.before.append(self._pipeline.observe_history)
        STATE_LOCK.after.append(self.arm)

    def detach(self) -> None:
        """Ignore changes by Python, and let the handles of ROS be destroyed; the loop has ended."""
        STATE_LOCK.before.remove(self._pipeline.observe_history)
        STATE_LOCK.after.remove(self.arm)
        self._pipeline.tables.release()

    def start(self) -> None:
        """Start the thread, and the one that passes snapshots to the executor."""
        self.attach()
        self._pipeline.tables.loop.wakeup = self._wakeup = os.eventfd(0)
        self._thread = threading.Thread(target=self._work, name='joint states', daemon=True)
        self._thread.start()
        threading.Thread(target=self._pass_on, name='snapshots', daemon=True).start()

    def stop(self) -> None:
        """End the thread; takes up to 0.1 s if no joint state arrives.

        A thread that does not end within `END_TIMEOUT_S` keeps what it uses.
        """
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._pipeline.tables.loop.stop = True
        thread.join(END_TIMEOUT_S)
        if not thread.is_alive():
            os.eventfd_write(self._wakeup, ENDED)  # the last that is written to it
            self.detach()
            self._taken.close()

    def arm(self) -> None:
        """Give the loop the model, the state and the outputs in use."""
        self._pipeline.arm(not self._taken.has_info and self._attempts < MAX_VERIFICATIONS)

    # --- the thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        with STATE_LOCK:
            pass  # arms the loop
        while True:
            outcome = self._rcl.run(self._pipeline.tables.loop)
            if outcome == loop.STOPPED:
                return
            if outcome == loop.FAILED:
                self._give_up()
                return
            STATE_LOCK.adopt()
            try:
                self.finish(outcome)
            except Exception as error:
                FAULTS.record('a joint state', error)
            finally:
                self.arm()
                STATE_LOCK.release()

    def _pass_on(self) -> None:
        """Pass on the snapshots that the loop takes."""
        count = 0
        while count < ENDED:
            count = os.eventfd_read(self._wakeup)
            self._pipeline.pass_snapshots()
        os.close(self._wakeup)

    def finish(self, outcome: int) -> None:
        """Do what the loop leaves to Python; the lock of states is held."""
        if outcome != loop.HAND_OVER:
            self._pipeline.finish(outcome)
            return
        if not self._taken.has_info:
            self._attempts += 1
            self._taken.verify(time.time_ns())
        self._pipeline.receive_now(self._taken.data(), self._taken.message_info())
