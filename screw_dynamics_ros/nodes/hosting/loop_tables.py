# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The record of the compiled loop, from the model, the mapper and the outputs in use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import is_ as is_same
from typing import TYPE_CHECKING, Any

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Bytes
from screw_dynamics_ros.ros.data_path.rcl import LoopSubscription, Rcl, serialized_message
from screw_dynamics_ros.ros.data_path.records import (
    DECLINED,
    LoopRecord,
    LoopStep,
    MessageLayout,
    StateHistory,
)
from screw_dynamics_ros.ros.joint_states.layouts import Layout
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.process.rate_limit import RateLimit
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics import channel_record as c
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.taken_message import HandleInUse

from ..model.running_model import RunningModel
from .model_state import Encoder
from .output_group import CompiledStep

if TYPE_CHECKING:
    from .state_pipeline import StatePipeline

HISTORY_SIZE = 1024  # states between two calls of Python


class LoopTables:
    """Keeps the record of the loop up to date.

    Parameters
    ----------
    rcl : Rcl
    taken : LoopSubscription
    clock : HandleInUse
        Of the rcl_clock_t of the stamps.
    pipeline : StatePipeline

    Attributes
    ----------
    loop : LoopRecord
    """

    def __init__(
        self, rcl: Rcl, taken: LoopSubscription, clock: HandleInUse, pipeline: StatePipeline
    ) -> None:
        self._rcl, self._taken = rcl, taken
        self._layout: tuple[Any, ...] = ()
        self._mapper: JointStateMapper | None = None
        self._gates: dict[Channel, Sequence[c.Gate]] = {}  # of the messages that are written
        self._preparations: Sequence[CompiledStep] = ()
        self._steps: Sequence[CompiledStep] = ()
        self._model: RunningModel | None = None
        self._listened: Sequence[Channel] = ()
        self._refreshed: Sequence[Callable[[], None]] = ()
        self._changes = -1
        self.loop = loop = LoopRecord()
        loop.mutex, loop.subscription, loop.clock = STATE_LOCK, taken.subscription, clock
        loop.wait_set, loop.message, loop.info = taken.wait_set, taken.message, taken.info
        loop.place, loop.time = taken.place, np.zeros(2, dtype=np.int64)
        loop.delays, loop.gaps, loop.load = pipeline.delay, pipeline.gaps, pipeline.load
        loop.layout, loop.history = MessageLayout(), StateHistory()
        loop.channels = loop.parts = loop.preparations = loop.steps = ()

    def release(self) -> None:
        """Let the handles of ROS be destroyed; the loop has ended."""
        self.loop.armed = False
        self.loop.subscription = self.loop.clock = None
        for channel in self._gates:
            channel.handle = None

    # --- states that have been processed --------------------------------------------------------

    def unread_states(self) -> Iterator[ObservedState]:
        """Yield the states that the loop has processed since the last call."""
        history, mapper = self.loop.history, self._mapper
        if mapper is None:
            return
        states = history.states.reshape(HISTORY_SIZE, 3, -1)
        rows = np.arange(history.read, history.written) % HISTORY_SIZE
        reported = states if mapper.completion is None else history.measured
        reported = reported.reshape(HISTORY_SIZE, 3, -1)
        mapper.reported.add(history.stamps[rows], reported[rows])
        for row in rows.tolist():
            history.read += 1
            mapper.note_whole(float(history.arrivals[row]))
            yield ObservedState(
                mapper,
                states[row],
                int(history.stamps[row]),
                float(history.arrivals[row]),
                False,
                mapper.has_velocity,
                mapper.has_effort,
            )

    def _use_mapper(self, mapper: JointStateMapper) -> None:
        """Adopt the state of another robot."""
        self._mapper, self._layout = mapper, ()
        loop, history = self.loop, self.loop.history
        loop.mapper, loop.state, loop.joints = mapper, mapper.state, len(mapper.measured_joints)
        loop.completion, loop.measured = mapper.completion, mapper.whole_values
        history.stamps = np.zeros(HISTORY_SIZE, dtype=np.int64)
        history.arrivals = np.zeros(HISTORY_SIZE)
        history.states = np.zeros(HISTORY_SIZE * mapper.state.size)
        history.measured = np.zeros(HISTORY_SIZE * loop.measured.size)
        history.read = history.written = 0

    # --- the next states ------------------------------------------------------------------------

    def update(self, pipeline: StatePipeline, is_verifying: bool) -> None:
        """Prepare the loop for the next states, or leave them to Python.

        `is_verifying` leaves them to Python in any case.
        """
        self.loop.armed = False
        model, mapper = pipeline.model, pipeline.mapper
        if model is None or mapper is None or not mapper.joints:
            return
        if mapper is not self._mapper:
            self._use_mapper(mapper)
        layout = pipeline.layout
        if (
            is_verifying
            or layout is None
            or model.is_free
            or model.table_call is None
            or (mapper.completion is not None and not mapper.completion.code.address)
            or pipeline.suspended
            or (pipeline.drivers and pipeline.followed is None)
            or pipeline.needs_preparation
            or not self._use_layout(mapper, layout)
        ):
            return
        self._use_policies(pipeline, mapper)
        self._use_steps(pipeline)
        listened, changes = pipeline.listened, Channel.changes
        if model is not self._model or listened is not self._listened or changes != self._changes:
            self._use_model(model)
            self._use_channels(pipeline)
            self._model, self._listened, self._changes = model, listened, changes
        for refresh in self._refreshed:
            refresh()
        self.loop.needs_python = pipeline.needs_completion
        self.loop.armed = True

    def _use_model(self, model: RunningModel) -> None:
        assert model.table_call is not None
        loop = self.loop
        loop.kernel, loop.arguments, loop.total = model.table_call, model.addresses, model.total

    def _use_policies(self, pipeline: StatePipeline, mapper: JointStateMapper) -> None:
        loop, policies = self.loop, pipeline.policies
        loop.timeout, loop.undisputed_age = policies.timeout, policies.undisputed_age
        loop.max_delay = policies.longest_delay
        loop.one_driver, loop.has_info = pipeline.has_one_driver, self._taken.has_info
        loop.has = c.VELOCITY * mapper.has_velocity + c.EFFORT * mapper.has_effort
        loop.scale, loop.offset = mapper.calibration
        loop.turns = mapper.turns
        loop.followed = pipeline.followed

    def _use_layout(self, mapper: JointStateMapper, layout: Layout) -> bool:
        """Adopt the layout of messages; return whether they set all values."""
        key = (layout, mapper.maps)
        if self._layout == key:
            return True
        names = mapper.maps[layout.contents]
        if names.whole is None or names.unknown or names.refusal is not None:
            return False
        record = self.loop.layout
        record.mask, record.fixed = padded(layout.mask), padded(layout.fixed)
        record.numbers = layout.number_offsets
        record.places = layout.number_offsets[names.whole]
        record.size = layout.size
        self._layout = key
        return True

    # --- outputs --------------------------------------------------------------------------------

    def _use_channels(self, pipeline: StatePipeline) -> None:
        listened = pipeline.listened
        for channel in self._gates.keys() - set(pipeline.channels):
            del self._gates[channel]  # of another model
        for channel in listened:
            self._fill(channel)
        self.loop.channels, self.loop.is_read = tuple(listened), bool(listened)
        native = [channel.refresh for channel in listened if channel.is_native]
        # Several outputs may share one function.
        self._refreshed = list(dict.fromkeys(refresh for refresh in native if refresh))

    def _fill(self, channel: Channel) -> None:
        """Write the record of an output."""
        channel.needs = c.VELOCITY * channel.velocity + c.EFFORT * channel.effort
        limit = channel.limit or channel.is_due
        channel.rate = limit if isinstance(limit, RateLimit) else None
        encoder = channel.message if isinstance(channel.message, Encoder) else None
        template = getattr(channel.message, 'template', channel.message)
        channel.is_model_state, channel.is_native = encoder is not None, False
        channel.handle = None
        if not isinstance(template, Template) or channel.is_due or channel.gates is None:
            return
        channel.is_native = True
        if channel.is_sent:
            channel.handle = HandleInUse(channel.publisher.handle)
        if self._gates.get(channel) is not channel.gates:
            self._gates[channel] = channel.gates
            channel.serialized = serialized_message(self._rcl, template.message)
            channel.stamps = tuple(map(c.MessageStamp, template.stamps))
            for gate in channel.gates:
                if gate.function is not None:
                    gate.code = self._rcl.library.code(gate.function)
            channel.conditions = tuple(channel.gates)
            if encoder is not None:
                self.loop.parts = tuple(encoder.parts)

    # --- steps ----------------------------------------------------------------------------------

    def _use_steps(self, pipeline: StatePipeline) -> None:
        """Use the steps of the pipeline, and their records."""
        preparations, steps = pipeline.compiled_steps
        self.loop.preparations = self._records(
            preparations, self._preparations, self.loop.preparations
        )
        self.loop.steps = self._records(steps, self._steps, self.loop.steps)
        self._preparations, self._steps = preparations, steps

    def _records(
        self,
        steps: Sequence[CompiledStep],
        before: Sequence[CompiledStep],
        records: tuple[LoopStep, ...],
    ) -> tuple[LoopStep, ...]:
        """Return the records of steps: those from before if nothing has changed."""
        wanted = [step.record() for step in steps]
        if steps == before and all(map(is_same, wanted, [each.record for each in records])):
            return records
        found = []
        for step, record in zip(steps, wanted):
            each = LoopStep()
            each.function, each.record = self._rcl.library.code(step.function), record
            each.result = DECLINED
            found.append(each)
        return tuple(found)

    def taken_steps(self) -> list[CompiledStep]:
        """Return the steps after the kernel that the loop has done for the last state."""
        pairs = zip(self._steps, self.loop.steps)
        return [step for step, each in pairs if each.result != DECLINED]


def padded(data: bytes) -> Bytes:
    """Return bytes as an array of whole words."""
    return np.frombuffer(data.ljust(8 * math.ceil(len(data) / 8), b'\0'), np.uint8).copy()
