# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The tables of the compiled loop, from the model, the mapper and the outputs in use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import is_ as is_same
from typing import TYPE_CHECKING, Any

import numpy as np

from screw_dynamics_ros.core.compile.typed.shared_numbers import SharedRecord, pointers
from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.model_state import Encoder
from screw_dynamics_ros.nodes.hosting.output_group import CompiledStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.data_path.rcl import (
    LoopSubscription,
    Rcl,
    serialized_message,
)
from screw_dynamics_ros.ros.joint_states.layouts import Layout
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.process.rate_limit import RateLimit
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics import channel_record as c
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.taken_message import HandleInUse

if TYPE_CHECKING:
    from screw_dynamics_ros.nodes.hosting.state_pipeline import StatePipeline

HISTORY_SIZE = 1024  # states between two calls of Python


class LoopTables:
    """The record of the loop, which owns all to which it points.

    Parameters
    ----------
    rcl : Rcl
    taken : LoopSubscription
    clock : HandleInUse
        Of the rcl_clock_t of the stamps.
    pipeline : StatePipeline

    Attributes
    ----------
    words : SharedRecord
    reals : (LOOP_REALS,) array
    """

    def __init__(
        self, rcl: Rcl, taken: LoopSubscription, clock: HandleInUse, pipeline: StatePipeline
    ) -> None:
        self._rcl, self._taken = rcl, taken
        self.words = SharedRecord(r.LOOP_WORDS)
        self.reals = np.zeros(r.LOOP_REALS)
        self._layout: tuple[Any, ...] = ()
        self._mapper: JointStateMapper | None = None
        self._gates: dict[Channel, Sequence[c.Gate]] = {}  # of the messages that are written
        self._steps: dict[int, list[CompiledStep]] = {r.PREPARATIONS: [], r.STEPS: []}
        self._records: dict[int, list[Any]] = {r.PREPARATIONS: [], r.STEPS: []}
        self._model: RunningModel | None = None
        self._listened: Sequence[Channel] = ()
        self._refreshed: Sequence[Callable[[], None]] = ()
        self._changes = -1
        for place, target in (
            (r.MUTEX, STATE_LOCK),
            (r.SUBSCRIPTION, taken.subscription),
            (r.CLOCK, clock),
            (r.STEPS, SharedRecord(0, r.STEP_WORDS)),
            (r.WAIT_SET, taken.wait_set),
            (r.MESSAGE, taken.message),
            (r.INFO, taken.info),
            (r.PLACE, taken.place),
            (r.TIME, np.zeros(2, dtype=np.int64)),
            (r.REALS, self.reals),
            (r.DELAY_MEMORY, pipeline.delay.memory),
            (r.GAP_MEMORY, pipeline.gaps.memory),
            (r.LOAD_COUNTS, pipeline.load.words),
            (r.LOAD_TIMES, pipeline.load.reals),
        ):
            self.words.point(place, target)

    def release(self) -> None:
        """Let the handles of ROS be destroyed; the loop has ended."""
        self.words[r.ARMED] = 0
        for place in (r.SUBSCRIPTION, r.CLOCK):
            self.words.point(place, None)
        for channel in self._gates:
            channel.words.point(c.PUBLISHER, None)

    # --- states that have been processed --------------------------------------------------------

    def unread_states(self) -> Iterator[ObservedState]:
        """Yield the states that the loop has processed since the last call."""
        words, mapper = self.words, self._mapper
        if mapper is None:
            return
        stamps, arrivals, states = (
            words.target(place) for place in (r.HISTORY, r.HISTORY_ARRIVALS, r.HISTORY_STATES)
        )
        rows = np.arange(words[r.HISTORY_READ], words[r.HISTORY_WRITTEN]) % HISTORY_SIZE
        mapper.reported.add(stamps[rows], states[rows])
        for row in rows.tolist():
            words[r.HISTORY_READ] += 1
            yield ObservedState(
                mapper,
                states[row],
                int(stamps[row]),
                float(arrivals[row]),
                False,
                mapper.has_velocity,
                mapper.has_effort,
            )

    def _use_mapper(self, mapper: JointStateMapper) -> None:
        """Adopt the state of another robot."""
        self._mapper, self._layout = mapper, ()
        n = len(mapper.joints)
        for place, array in (
            (r.MAPPER_WORDS, mapper.words),
            (r.MAPPER_REALS, mapper.reals),
            (r.STATE, mapper.state),
            (r.HISTORY, np.zeros(HISTORY_SIZE, dtype=np.int64)),
            (r.HISTORY_ARRIVALS, np.zeros(HISTORY_SIZE)),
            (r.HISTORY_STATES, np.zeros((HISTORY_SIZE, 3, n))),
        ):
            self.words.point(place, array)
        self.words[r.JOINTS], self.words[r.HISTORY_SIZE] = n, HISTORY_SIZE
        self.words[r.HISTORY_READ] = self.words[r.HISTORY_WRITTEN] = 0

    # --- the next states ------------------------------------------------------------------------

    def update(self, pipeline: StatePipeline, is_verifying: bool) -> None:
        """Prepare the loop for the next states, or leave them to Python.

        `is_verifying` leaves them to Python in any case.
        """
        self.words[r.ARMED] = 0
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
            or not mapper.is_direct
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
        self.words[r.NEEDS_PYTHON] = pipeline.needs_completion
        self.words[r.ARMED] = 1

    def _use_model(self, model: RunningModel) -> None:
        assert model.table_call is not None
        self.words.point(r.KERNEL_ARGUMENTS, model.addresses)
        self.words.point(r.TOTAL, model.total)
        self.words.point(r.KERNEL, model.table_call)

    def _use_policies(self, pipeline: StatePipeline, mapper: JointStateMapper) -> None:
        words, policies = self.words, pipeline.policies
        words[r.TIMEOUT], words[r.UNDISPUTED_AGE] = policies.timeout, policies.undisputed_age
        self.reals[r.MAX_DELAY] = policies.longest_delay
        words[r.ONE_DRIVER], words[r.HAS_INFO] = pipeline.has_one_driver, self._taken.has_info
        words[r.HAS] = c.VELOCITY * mapper.has_velocity + c.EFFORT * mapper.has_effort
        scale, offset = mapper.calibration
        words.point(r.SCALE, scale)
        words.point(r.OFFSET, offset)
        words.point(r.TURNS, mapper.turns)
        words.point(r.FOLLOWED, pipeline.followed)

    def _use_layout(self, mapper: JointStateMapper, layout: Layout) -> bool:
        """Adopt the layout of messages; return whether they set all values."""
        key = (layout, mapper.maps)
        if self._layout == key:
            return True
        names = mapper.maps[layout.contents]
        if names.whole is None or names.unknown or names.refusal is not None:
            return False
        numbers = layout.number_offsets
        self.words.point(r.MASK, padded(layout.mask))
        self.words.point(r.FIXED, padded(layout.fixed))
        self.words.point(r.NUMBERS, numbers)
        self.words.point(r.PLACES, numbers[names.whole])
        self.words[r.NUMBER_COUNT], self.words[r.SIZE] = len(numbers), layout.size
        self._layout = key
        return True

    # --- outputs --------------------------------------------------------------------------------

    def _use_channels(self, pipeline: StatePipeline) -> None:
        listened = pipeline.listened
        for channel in self._gates.keys() - set(pipeline.channels):
            del self._gates[channel]  # of another model
        for channel in listened:
            self._fill(channel)
        words = self.words
        words.point(r.CHANNELS, pointers([channel.words for channel in listened]))
        words[r.CHANNEL_COUNT], words[r.IS_READ] = len(listened), bool(listened)
        native = [channel.refresh for channel in listened if channel.words[c.IS_NATIVE]]
        # Several outputs may share one function.
        self._refreshed = list(dict.fromkeys(refresh for refresh in native if refresh))

    def _fill(self, channel: Channel) -> None:
        """Write the record of an output."""
        words = channel.words
        words[c.NEEDS] = c.VELOCITY * channel.velocity + c.EFFORT * channel.effort
        limit = channel.limit or channel.is_due
        words.point(c.LIMIT, limit.memory if isinstance(limit, RateLimit) else None)
        encoder = channel.message if isinstance(channel.message, Encoder) else None
        template = getattr(channel.message, 'template', channel.message)
        words[c.IS_MODEL_STATE], words[c.IS_NATIVE] = encoder is not None, False
        words.point(c.PUBLISHER, None)
        if not isinstance(template, Template) or channel.is_due or channel.gates is None:
            return
        words[c.IS_NATIVE] = True
        if channel.is_sent:
            words.point(c.PUBLISHER, HandleInUse(channel.publisher.handle))
        if self._gates.get(channel) is not channel.gates:
            self._gates[channel] = channel.gates
            self._write_message(words, channel.gates, template)
            if encoder is not None:
                self._write_parts(encoder)

    def _write_message(
        self, words: SharedRecord, gates: Sequence[c.Gate], template: Template
    ) -> None:
        """Write what does not change in the record of an output."""
        words.point(c.SERIALIZED, serialized_message(self._rcl, template.message))
        words.point(c.STAMPS, pointers(template.stamps))
        words[c.STAMP_COUNT], words[c.GATE_COUNT] = len(template.stamps), len(gates)
        records = SharedRecord(len(gates), c.GATE_WORDS)
        for k, gate in enumerate(gates):
            records[k, c.GATE_KIND], records[k, c.GATE_SIZE] = gate.kind, gate.numbers.size
            records.point((k, c.GATE_NUMBERS), gate.numbers)
            if gate.function is not None:
                records.point((k, c.GATE_FUNCTION), self._rcl.library.code(gate.function))
        words.point(c.GATES, records)

    # --- steps ----------------------------------------------------------------------------------

    def _use_steps(self, pipeline: StatePipeline) -> None:
        """Write the records of the steps of the pipeline."""
        for place, steps in zip((r.PREPARATIONS, r.STEPS), pipeline.compiled_steps):
            records = [step.record() for step in steps]
            if steps == self._steps[place] and all(map(is_same, records, self._records[place])):
                continue
            table = SharedRecord(len(steps), r.STEP_WORDS)
            table[:, r.STEP_RESULT] = r.DECLINED
            for k, (step, record) in enumerate(zip(steps, records)):
                table.point((k, r.STEP_FUNCTION), self._rcl.library.code(step.function))
                table.point((k, r.STEP_RECORD), record)
            self.words.point(place, table)
            self.words[place + 1] = len(steps)
            self._steps[place], self._records[place] = steps, records

    def taken_steps(self) -> list[CompiledStep]:
        """Return the steps after the kernel that the loop has done for the last state."""
        return [
            step
            for step, row in zip(self._steps[r.STEPS], self.words.target(r.STEPS))
            if row[r.STEP_RESULT] != r.DECLINED
        ]

    def _write_parts(self, encoder: Encoder) -> None:
        """Write the records of the parts of the model state."""
        records = SharedRecord(len(encoder.parts), r.PART_WORDS)
        for k, part in enumerate(encoder.parts):
            copies = SharedRecord(len(part.copies), r.COPY_WORDS)
            for i, (target, source) in enumerate(part.copies):
                copies.point((i, r.COPY_TARGET), target)
                copies.point((i, r.COPY_SOURCE), source)
                copies[i, r.COPY_SIZE] = source.size
            if part.channel is not None:
                records.point((k, r.PART_CHANNEL), part.channel.words)
                records[k, r.PART_IS_HELD] = part.channel.is_held
            for place, array in (
                (r.PART_SINCE, part.since),
                (r.PART_COPIES, copies),
                (r.PART_VALID, part.valid),
                (r.PART_AGE, part.age),
                (r.PART_DATA, part.data),
            ):
                records.point((k, place), array)
            records[k, r.PART_NEEDS] = part.needs
            records[k, r.PART_COPY_COUNT], records[k, r.PART_SIZE] = len(copies), part.data.size
        self.words.point(r.PARTS, records)
        self.words[r.PART_COUNT] = len(records)


def padded(data: bytes) -> Array:
    """Return bytes as an array of whole words."""
    return np.frombuffer(data.ljust(8 * math.ceil(len(data) / 8), b'\0'), np.uint8).copy()
