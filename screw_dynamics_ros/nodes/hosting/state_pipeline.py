# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Processing of a joint state: serialized message, state of all joints, kernel, outputs.

If joint states arrive faster than they are processed, only the newest one waits. After a short
pause, all states that arrived during the pause are processed.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import Any

from rclpy.node import Node

from screw_dynamics_ros.ros.data_path.loop import ABANDONED, CHANGED, NOT_FINITE, TOO_LATE
from screw_dynamics_ros.ros.data_path.rcl import LoopSubscription, PlainFunctions, Rcl
from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.process.timers import DeferredWork
from screw_dynamics_ros.ros.status import Status

from ..model.running_model import RunningModel
from . import statuses
from .loop_tables import AnsweredStates, LoopTables
from .model_state import ModelStateTopic

IDLE_TIME_S = 2e-4  # s after which the next state is processed immediately
CATCH_UP = 2e-3  # s for which waiting states are processed instead of merged into newer ones
TURN_LOST = 0.1  # s after which a state no longer waits


class StatePipeline(AnsweredStates):
    """Publishes, for each joint state, the messages that have subscribers.

    Parameters
    ----------
    node : rclpy.node.Node
        Subscribes to `joint_states`.

    Attributes
    ----------
    model_since : float
        Time at which this robot was adopted, on the monotonic clock [s].
    deferred_work : DeferredWork
        Work between joint states.
    tables : LoopTables
        Process the joint states; see `use_functions`.
    model_state : ModelStateTopic, optional
        Reads the numbers of other topics.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.model_since = -math.inf
        self.deferred_work = DeferredWork(node)
        self.model_state: ModelStateTopic | None = None
        self.tables = LoopTables(PlainFunctions(), node, self)
        self._armed_at = -1  # STATE_LOCK.changes
        self._is_waiting = False  # whether a state has no answer yet
        self._merged: ObservedState | None = None  # by Python, and not observed yet
        self._free_since = self._turn = -math.inf

    def use(self, model: RunningModel, mapper: JointStateMapper) -> None:
        """Adopt a model; discard a waiting state of another robot."""
        if mapper is not self.mapper:
            self.model_since = time.monotonic()
            self._is_waiting = False
        self.model, self.mapper = model, mapper
        mapper.policies = self.policies

    def use_functions(
        self, functions: Rcl | PlainFunctions, taken: LoopSubscription | None = None
    ) -> None:
        """Process joint states by these functions: those that `receive` gets, or of `taken`."""
        self.tables = LoopTables(functions, self._node, self, taken)
        self._armed_at = -1

    def look_for_listeners(self) -> None:
        """Determine which topics have subscribers, and whether there is only one driver."""
        for channel in self.channels:
            channel.count_listeners()
        self.look_for_drivers()
        with STATE_LOCK:
            self._use_listeners()
        self.compare_velocities()

    def _use_listeners(self) -> None:
        if self.model_state is not None:
            self.model_state.follow()
        self.listened = sorted(
            (channel for channel in self.channels if channel.listened),
            key=lambda channel: channel.rank,
        )

    def status(self, timeout: float, scheduling_fault: str) -> Status:
        """Report whether states arrive, and their faults."""
        return statuses.joint_state_status(
            self._node,
            self.model,
            self.mapper,
            self.load,
            self.channels,
            timeout=timeout,
            model_since=self.model_since,
            scheduling_fault=scheduling_fault,
        )

    # --- one joint state ------------------------------------------------------------------------

    def receive(self, data: bytes, info: dict[str, Any]) -> None:
        """Read one serialized joint state, and process it unless other callbacks are due.

        A state that arrives right after another one was processed waits until all pending
        callbacks have run, including parameters and timers; then the newest waiting state is
        processed. Otherwise joint states at a high rate would starve all other callbacks. For up
        to `CATCH_UP` they may, so that no state that arrived during a pause is lost.
        """
        arrival = time.monotonic_ns()
        now = arrival / 1e9
        if self._is_waiting and now - self._turn < CATCH_UP:
            self._answer()
        STATE_LOCK.acquire()
        try:
            self._follow_changes()
            self.observe_history()
            is_new = self.tables.receive(data, info, arrival) or self._merge(data, info, now)
        except Exception as error:
            self.give_up(error)
            return
        finally:
            STATE_LOCK.release()
        if not is_new:
            return
        waits = self._is_waiting
        self.load.lost += waits
        if (
            now - self._free_since > (TURN_LOST if waits else IDLE_TIME_S)
            or not self._policies.may_merge
            or self._node.executor is None
        ):
            self._turn = now
            self._answer()
            return
        if not waits:
            # The EventsExecutor has no guard conditions, and stops if a task raises.
            self._node.executor.create_task(FAULTS.guarded('a joint state', self._on_turn))
        self._is_waiting = True

    def _on_turn(self) -> None:
        """Process the newest waiting state, if there still is one."""
        self._turn = time.monotonic()
        if self._is_waiting:
            self._answer()

    def _answer(self) -> None:
        """Publish the results for the current state."""
        self._is_waiting = False
        try:
            STATE_LOCK.acquire()
            try:
                self._follow_changes()
                self.answer()
            finally:
                STATE_LOCK.release()
            self.use_snapshots()
            with FAULTS.caught('work between joint states'):
                self.deferred_work.use()
        except Exception as error:
            self.give_up(error)
        finally:
            self._free_since = time.monotonic()

    def use_snapshots(self) -> None:
        """Let outputs use the numbers of the states that they have left to Python."""
        for channel in self.listened:
            if channel.snapshot is not None:
                with FAULTS.caught(f'output {channel.topic}'):
                    channel.snapshot.use()

    def pass_snapshots(self) -> None:
        """Let the executor use snapshots; may be called in any thread."""
        if self._node.executor is not None:
            with suppress(AttributeError):  # the executor is being shut down
                self._node.executor.create_task(FAULTS.guarded('a snapshot', self.use_snapshots))

    # --- with the lock of states ----------------------------------------------------------------

    def arm(self, is_verifying: bool = False) -> None:
        """Give the loop the model, the state and the outputs in use.

        `is_verifying` leaves the next message to Python in any case.
        """
        try:
            self.tables.update(self, is_verifying)
        except Exception as error:
            self.tables.loop.armed = self.tables.loop.is_read = False
            FAULTS.record('tables of the loop', error)

    def _follow_changes(self) -> None:
        if self._armed_at != STATE_LOCK.changes:
            self.arm()
            self._armed_at = STATE_LOCK.changes

    def receive_now(self, data: bytes, info: dict[str, Any]) -> None:
        """Process a message that the loop has left to Python."""
        try:
            if self._merge(data, info, time.monotonic()):
                self.answer()
        except Exception as error:
            self.give_up(error)

    def _merge(self, data: bytes, info: dict[str, Any], arrival: float) -> bool:
        """Merge a message that arrived at a monotonic time [s]; return whether a state results."""
        self.observe_history()
        delay = self.take(data, info, arrival, self._pass_on_refused)
        self.arm()
        if delay is None:
            return False
        loop, mapper = self.tables.loop, self.mapper
        assert mapper is not None
        loop.arrival, loop.delay = arrival, delay
        self._merged = mapper.observed
        return True

    def _pass_on_refused(self, mapper: JointStateMapper, message: JointStateMessage) -> None:
        for stage in self.stages:
            if stage.use_refused is not None:
                stage.use_refused(mapper, message)

    def answer(self) -> None:
        """Publish the results for the current state."""
        outcome = self.tables.functions.answer(self.tables.loop)
        self.finish(outcome)
        if outcome == CHANGED:  # other steps may be needed
            self.arm()
        self.observe_history()

    def finish(self, outcome: int) -> None:
        """Note why a state has no results."""
        loop = self.tables.loop
        if outcome == TOO_LATE:
            self.load.was_late(loop.start, loop.start - (loop.arrival - loop.delay))
        elif outcome == NOT_FINITE:
            self.load.overflowed(time.monotonic())
        elif outcome == ABANDONED and self.mapper is not None:
            self.mapper.reset()

    def observe_history(self) -> None:
        """Pass the states that have been processed since the last call to their observers."""
        merged, self._merged = self._merged, None
        if merged is not None:
            self._observe(merged)
        for state in self.tables.unread_states():
            self._observe(state)

    def _observe(self, state: ObservedState) -> None:
        for stage in self.stages:
            if stage.observe is not None:
                try:
                    stage.observe(state)
                except Exception as error:  # the state is valid, and other observers see it
                    FAULTS.record('a joint state that has been processed', error)
