# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Processing of a joint state: serialized message, state of all joints, kernel, outputs.

If joint states arrive faster than they are processed, only the newest one waits. After a short
pause, all states that arrived during the pause are processed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from typing import Any

from rclpy.node import Node

from screw_dynamics_ros.ros.joint_states.contents import JointStateMessage
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.messages.cdr import packed
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.process.timers import DeferredWork
from screw_dynamics_ros.ros.status import Status
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.channel_record import FOR_PYTHON, NOT_VALID

from ..model.running_model import RunningModel
from . import statuses
from .model_state import ModelStateTopic
from .output_group import CompiledStep, Stage
from .state_input import StateInput

IDLE_TIME_S = 2e-4  # s after which the next state is processed immediately
CATCH_UP = 2e-3  # s for which waiting states are processed instead of merged into newer ones
TURN_LOST = 0.1  # s after which a state no longer waits


class StatePipeline(StateInput):
    """Publishes, for each joint state, the messages that have subscribers.

    Parameters
    ----------
    node : rclpy.node.Node
        Subscribes to `joint_states`.

    Attributes
    ----------
    model : RunningModel or None
        The robot, with its kernel.
    channels : sequence of Channel
        All topics.
    model_since : float
        Time at which this robot was adopted, on the monotonic clock [s].
    suspended : bool
        Whether nothing is computed and published, as without joint states; see `suspend`.
    deferred_work : DeferredWork
        Work between joint states.
    listened : list of Channel
        The topics with subscribers, in order.
    model_state : ModelStateTopic, optional
        Reads the numbers of other topics.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.model: RunningModel | None = None
        self.channels: Sequence[Channel] = ()
        self.model_since = -math.inf
        self._suspending: set[str] = set()
        self._lost: set[str] = set()  # inputs of which the last state had no measurement
        self.deferred_work = DeferredWork(node)
        self.model_state: ModelStateTopic | None = None
        self.listened: list[Channel] = []
        self.stages = ()
        self._waiting: float | None = None  # time of publication of the waiting state
        self._free_since = self._turn = -math.inf

    def suspend(self, reason: str, is_suspended: bool) -> None:
        """Compute and publish nothing as long as there is a reason."""
        if is_suspended:
            self._suspending.add(reason)
        else:
            self._suspending.discard(reason)

    def lose(self, name: str, is_lost: bool, stops: bool = True) -> None:
        """Note whether an input of the current state is lost, and suspend if that `stops` outputs.

        Observers start again when it is lost and when it returns.
        """
        if is_lost != (name in self._lost):
            self._lost ^= {name}
            if self.mapper is not None:
                self.mapper.restarted = True
        self.suspend(name, is_lost and stops)

    @property
    def suspending(self) -> frozenset[str]:
        """The reasons of `suspend`."""
        return frozenset(self._suspending)

    @property
    def suspended(self) -> bool:
        """Whether `suspend` has a reason."""
        return bool(self._suspending)

    @property
    def stages(self) -> Sequence[Stage]:
        """Stages for each joint state in addition to the kernel, in order."""
        return self._stages

    @stages.setter
    def stages(self, stages: Sequence[Stage]) -> None:
        self._stages = tuple(stages)
        self._prepare = [stage.prepare for stage in stages if stage.prepare]
        self._consume = [stage.consume for stage in stages if stage.consume]
        self._observe = [stage.observe for stage in stages if stage.observe]
        self._use_refused = [stage.use_refused for stage in stages if stage.use_refused]

    def use(self, model: RunningModel, mapper: JointStateMapper) -> None:
        """Adopt a model; discard a waiting state of another robot."""
        if mapper is not self.mapper:
            self.model_since = time.monotonic()
            self._waiting = None
        self.model, self.mapper = model, mapper
        mapper.policies = self.policies

    @property
    def needs_preparation(self) -> bool:
        """Whether a stage has something to do before the kernel that is not compiled."""
        return any(
            stage.prepare and not stage.compiled_prepare and stage.is_needed()
            for stage in self._stages
        )

    @property
    def needs_completion(self) -> bool:
        """Whether a stage has something to do after the kernel that is not compiled."""
        return any(
            stage.consume and not stage.compiled_consume and stage.is_needed()
            for stage in self._stages
        )

    @property
    def compiled_steps(self) -> tuple[list[CompiledStep], list[CompiledStep]]:
        """The steps of the compiled loop before and after the kernel."""
        needed = [stage for stage in self._stages if stage.is_needed()]
        return (
            [stage.compiled_prepare for stage in needed if stage.compiled_prepare],
            [stage.compiled_consume for stage in needed if stage.compiled_consume],
        )

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
        listened = sorted(
            (channel for channel in self.channels if channel.listened),
            key=lambda channel: channel.rank,
        )
        if listened != self.listened:
            self.listened = listened

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
        arrival = time.monotonic()
        if self._waiting is not None and arrival - self._turn < CATCH_UP:
            self._answer(self._waiting)
        load = self.load
        try:
            delay = self.take(data, info, arrival, self._pass_on_refused)
        except Exception as error:
            self.give_up(error)
            return
        if delay is None:
            return
        sent = arrival - delay
        waits = self._waiting is not None
        if waits:
            load.lost += 1
        if (
            arrival - self._free_since > (TURN_LOST if waits else IDLE_TIME_S)
            or not self._policies.may_merge
            or self._node.executor is None
        ):
            self._turn = arrival
            self._answer(sent)
            return
        if not waits:
            # The EventsExecutor has no guard conditions, and stops if a task raises.
            self._node.executor.create_task(FAULTS.guarded('a joint state', self._on_turn))
        self._waiting = sent

    def receive_now(self, data: bytes, info: dict[str, Any]) -> None:
        """Read and process one serialized joint state; the lock of states is held."""
        arrival = time.monotonic()
        try:
            delay = self.take(data, info, arrival, self._pass_on_refused)
            if delay is not None:
                self._process(arrival - delay)
        except Exception as error:
            self.give_up(error)

    def complete(self, sent: float, start: float, taken: Collection[CompiledStep]) -> None:
        """Do what the compiled loop has left of a state.

        Parameters
        ----------
        sent : float
            Time of publication of the state, on the monotonic clock [s].
        start : float
            When the loop began to process it [s].
        taken : collection of CompiledStep
            Those that the loop has done.
        """
        mapper = self.mapper
        assert mapper is not None
        for stage in self._stages:
            if stage.consume is not None and stage.compiled_consume not in taken:
                stage.consume(mapper, sent)
        stamp = packed(mapper.stamp)
        for channel in self.listened:
            if channel.state == FOR_PYTHON:
                channel.state = NOT_VALID
                with FAULTS.caught(f'output {channel.topic}'):  # other topics are still published
                    channel.use(mapper.stamp, stamp)
        self.load.was_served(time.monotonic() - start)

    def _on_turn(self) -> None:
        """Process the newest waiting state, if there still is one."""
        self._turn = time.monotonic()
        if self._waiting is not None:
            self._answer(self._waiting)

    def _pass_on_refused(self, mapper: JointStateMapper, message: JointStateMessage) -> None:
        for use in self._use_refused:
            use(mapper, message)

    def _answer(self, sent: float) -> None:
        """Publish the results for the current state, published at monotonic time `sent` [s]."""
        self._waiting = None
        try:
            with STATE_LOCK:
                self._process(sent)
            with FAULTS.caught('work between joint states'):
                self.deferred_work.use()
        except Exception as error:
            self.give_up(error)
        finally:
            self._free_since = time.monotonic()

    def _process(self, sent: float) -> None:
        """Publish the results for the current state, unless it is late."""
        start = time.monotonic()
        if self._policies.is_late(start - sent):
            self.load.was_late(start, start - sent)
            return
        self._evaluate(sent)
        self.load.was_served(time.monotonic() - start)

    def _evaluate(self, sent: float) -> None:
        """Compute and publish all messages with subscribers for the current state."""
        model, mapper = self.model, self.mapper
        assert model is not None
        assert mapper is not None
        if self.listened:
            for prepare in self._prepare:
                prepare()
            if self.suspended:
                pass
            elif model.evaluate():
                for consume in self._consume:
                    consume(mapper, sent)
                self.publish()
            else:
                self.load.overflowed(time.monotonic())
        self.observe(mapper.observed)

    def observe(self, state: ObservedState) -> None:
        """Pass a state that has been processed to its observers."""
        for observe in self._observe:
            try:
                observe(state)
            except Exception as error:  # the state is valid, and other observers see it
                FAULTS.record('a joint state that has been processed', error)

    def publish(self) -> None:
        """Publish all messages with subscribers; the drawn ones last."""
        mapper = self.mapper
        assert mapper is not None
        stamp = packed(mapper.stamp)
        lacking_velocity, lacking_effort = not mapper.has_velocity, not mapper.has_effort
        for channel in self.listened:
            channel.state = NOT_VALID
            if (lacking_velocity and channel.velocity) or (lacking_effort and channel.effort):
                continue
            try:
                channel.use(mapper.stamp, stamp)
            except Exception as error:  # other topics are still published
                FAULTS.record(f'output {channel.topic}', error)
