# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The tables of the compiled loop, from the model, the mapper and the outputs in use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import is_ as is_same
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.nodes.hosting.model_state import Encoder
from screw_dynamics_ros.nodes.hosting.output_group import CompiledStep
from screw_dynamics_ros.nodes.model.running_model import RunningModel
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.data_path.rcl import LoopSubscription, Rcl, serialized_message
from screw_dynamics_ros.ros.joint_states.layouts import Layout
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.process.timers import RateLimit
from screw_dynamics_ros.ros.topics import channel_record as c
from screw_dynamics_ros.ros.topics.channel import Channel

if TYPE_CHECKING:
    from screw_dynamics_ros.nodes.hosting.state_pipeline import StatePipeline

HISTORY_SIZE = 1024  # states between two calls of Python


class LoopTables:
    """The record of the loop, and all arrays to which it points.

    Parameters
    ----------
    rcl : Rcl
    taken : LoopSubscription
    clock : int
        Address of the rcl_clock_t of the stamps.
    pipeline : StatePipeline

    Attributes
    ----------
    words : (LOOP_WORDS,) array of int64
    reals : (LOOP_REALS,) array
    """

    def __init__(
        self, rcl: Rcl, taken: LoopSubscription, clock: int, pipeline: StatePipeline
    ) -> None:
        self._rcl, self._taken = rcl, taken
        self.words = np.zeros(r.LOOP_WORDS, dtype=np.int64)
        self.reals = np.zeros(r.LOOP_REALS)
        self._kept: dict[int, Any] = {r.STEPS: ()}  # arrays by the place of their address
        self._layout: tuple[Any, ...] = ()
        self._mapper: JointStateMapper | None = None
        self._messages: dict[Channel, tuple[Any, ...]] = {}
        self._steps: dict[int, list[CompiledStep]] = {r.PREPARATIONS: [], r.STEPS: []}
        self._records: dict[int, list[Any]] = {r.PREPARATIONS: [], r.STEPS: []}
        self._model: RunningModel | None = None
        self._listened: Sequence[Channel] = ()
        self._refreshed: Sequence[Callable[[], None]] = ()
        self._changes = -1
        self._time = np.zeros(2, dtype=np.int64)
        words = self.words
        words[r.MUTEX], words[r.SUBSCRIPTION] = STATE_LOCK.address, taken.subscription
        words[r.CLOCK] = clock
        for place, array in (
            (r.WAIT_SET, taken.wait_set),
            (r.MESSAGE, taken.message),
            (r.INFO, taken.info),
            (r.PLACE, taken.place),
            (r.TIME, self._time),
            (r.REALS, self.reals),
            (r.DELAY_MEMORY, pipeline.delay.memory),
            (r.GAP_MEMORY, pipeline.gaps.memory),
            (r.LOAD_COUNTS, pipeline.load.words),
            (r.LOAD_TIMES, pipeline.load.reals),
        ):
            self._set(place, array)

    def _set(self, place: int, array: Any) -> None:
        """Store the address of an array, and keep the array alive."""
        self._kept[place] = array
        self.words[place] = array.ctypes.data if array is not None else 0

    # --- states that have been processed --------------------------------------------------------

    def unread_states(self) -> Iterator[ObservedState]:
        """Yield the states that the loop has processed since the last call."""
        words, mapper = self.words, self._mapper
        if mapper is None:
            return
        stamps, arrivals, states = (
            self._kept[place] for place in (r.HISTORY, r.HISTORY_ARRIVALS, r.HISTORY_STATES)
        )
        while words[r.HISTORY_READ] < words[r.HISTORY_WRITTEN]:
            row = int(words[r.HISTORY_READ]) % HISTORY_SIZE
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
        self._set(r.MAPPER_WORDS, mapper.words)
        self._set(r.MAPPER_REALS, mapper.reals)
        self._set(r.STATE, mapper.state)
        self._set(r.HISTORY, np.zeros(HISTORY_SIZE, dtype=np.int64))
        self._set(r.HISTORY_ARRIVALS, np.zeros(HISTORY_SIZE))
        self._set(r.HISTORY_STATES, np.zeros((HISTORY_SIZE, 3, n)))
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
        self._set(r.KERNEL_ARGUMENTS, model.addresses)
        self._set(r.TOTAL, model.total)
        self.words[r.KERNEL] = model.table_call.address

    def _use_policies(self, pipeline: StatePipeline, mapper: JointStateMapper) -> None:
        words, policies = self.words, pipeline.policies
        words[r.TIMEOUT], words[r.UNDISPUTED_AGE] = policies.timeout, policies.undisputed_age
        self.reals[r.MAX_DELAY] = policies.longest_delay
        words[r.ONE_DRIVER], words[r.HAS_INFO] = pipeline.has_one_driver, self._taken.has_info
        words[r.HAS] = c.VELOCITY * mapper.has_velocity + c.EFFORT * mapper.has_effort
        scale, offset = mapper.calibration
        self._set(r.SCALE, scale)
        self._set(r.OFFSET, offset)

    def _use_layout(self, mapper: JointStateMapper, layout: Layout) -> bool:
        """Adopt the layout of messages; return whether they set all values."""
        key = (layout, mapper.maps)
        if self._layout == key:
            return True
        names = mapper.maps[layout.contents]
        if names.whole is None or names.unknown or names.refusal is not None:
            return False
        numbers = layout.number_offsets
        self._set(r.MASK, padded(layout.mask))
        self._set(r.FIXED, padded(layout.fixed))
        self._set(r.NUMBERS, numbers)
        self._set(r.PLACES, numbers[names.whole])
        self.words[r.NUMBER_COUNT], self.words[r.SIZE] = len(numbers), layout.size
        self._layout = key
        return True

    # --- outputs --------------------------------------------------------------------------------

    def _use_channels(self, pipeline: StatePipeline) -> None:
        listened = pipeline.listened
        if self._messages.keys() - set(pipeline.channels):
            self._messages.clear()  # of another model
        for channel in listened:
            self._fill(channel)
        self._set(r.CHANNELS, addresses([channel.words for channel in listened]))
        words = self.words
        words[r.CHANNEL_COUNT], words[r.IS_READ] = len(listened), bool(listened)
        native = [channel.refresh for channel in listened if channel.words[c.IS_NATIVE]]
        # Several outputs may share one function.
        self._refreshed = list(dict.fromkeys(refresh for refresh in native if refresh))

    def _fill(self, channel: Channel) -> None:
        """Write the record of an output."""
        words = channel.words
        words[c.NEEDS] = c.VELOCITY * channel.velocity + c.EFFORT * channel.effort
        words[c.PUBLISHER] = channel.publisher.handle.pointer if channel.is_sent else 0
        due = channel.limit or channel.is_due
        words[c.DUE] = due.due.ctypes.data if isinstance(due, RateLimit) else 0
        encoder = channel.message if isinstance(channel.message, Encoder) else None
        template = getattr(channel.message, 'template', channel.message)
        words[c.IS_MODEL_STATE], words[c.IS_NATIVE] = encoder is not None, False
        if not isinstance(template, Template) or channel.is_due or channel.gates is None:
            return
        words[c.IS_NATIVE] = True
        if channel not in self._messages or self._messages[channel][-1] is not channel.gates:
            self._messages[channel] = self._message_of(channel, template)
            if encoder is not None:
                self._set_parts(encoder)

    def _message_of(self, channel: Channel, template: Template) -> tuple[Any, ...]:
        """Write what does not change in the record of an output; return the arrays."""
        words = channel.words
        serialized = serialized_message(self._rcl, template.address, template.size)
        stamps = np.array(template.stamp_addresses, dtype=np.int64)
        gates = np.array([self._gate(gate) for gate in channel.gates or ()], dtype=np.int64)
        words[c.SERIALIZED], words[c.STAMPS] = serialized.ctypes.data, stamps.ctypes.data
        words[c.STAMP_COUNT], words[c.GATE_COUNT] = len(stamps), len(channel.gates or ())
        words[c.GATES] = gates.ctypes.data
        return template, serialized, stamps, gates, channel.gates

    def _gate(self, gate: c.Gate) -> list[int]:
        """Return the record of a condition."""
        function = 0 if gate.function is None else self._rcl.library.address(gate.function)
        return [gate.kind, gate.numbers.ctypes.data, gate.numbers.size, function]

    # --- steps ----------------------------------------------------------------------------------

    def _use_steps(self, pipeline: StatePipeline) -> None:
        """Write the records of the steps of the pipeline."""
        for place, steps in zip((r.PREPARATIONS, r.STEPS), pipeline.compiled_steps):
            records = [step.record() for step in steps]
            if steps == self._steps[place] and all(map(is_same, records, self._records[place])):
                continue
            table = [
                [self._rcl.library.address(step.function), record.ctypes.data, r.DECLINED]
                for step, record in zip(steps, records)
            ]
            self._set(place, np.array(table, dtype=np.int64))
            self.words[place + 1] = len(steps)
            self._steps[place], self._records[place] = steps, records

    def taken_steps(self) -> list[CompiledStep]:
        """Return the steps after the kernel that the loop has done for the last state."""
        return [
            step
            for step, row in zip(self._steps[r.STEPS], self._kept[r.STEPS])
            if row[r.STEP_RESULT] != r.DECLINED
        ]

    def _set_parts(self, encoder: Encoder) -> None:
        """Write the records of the parts of the model state."""
        records = np.zeros((len(encoder.parts), r.PART_WORDS), dtype=np.int64)
        kept = []
        for record, part in zip(records, encoder.parts):
            copies = np.array(
                [
                    [target.ctypes.data, source.ctypes.data, source.size]
                    for target, source in part.copies
                ],
                dtype=np.int64,
            )
            kept.append(copies)
            if part.channel is not None:
                record[r.PART_CHANNEL] = part.channel.words.ctypes.data
                record[r.PART_IS_HELD] = part.channel.is_held
            record[r.PART_NEEDS] = part.needs
            record[r.PART_SINCE] = part.since.ctypes.data
            record[r.PART_COPIES], record[r.PART_COPY_COUNT] = copies.ctypes.data, len(copies)
            record[r.PART_VALID] = part.valid.ctypes.data
            record[r.PART_AGE] = part.age.ctypes.data
            record[r.PART_DATA], record[r.PART_SIZE] = part.data.ctypes.data, part.data.size
        self._set(r.PARTS, records)
        self._kept[-1] = kept
        self.words[r.PART_COUNT] = len(records)


def addresses(arrays: Sequence[Any]) -> NDArray[np.int64]:
    """Return the addresses of arrays."""
    return np.array([array.ctypes.data for array in arrays], dtype=np.int64)


def padded(data: bytes) -> Array:
    """Return bytes as an array of whole words."""
    return np.frombuffer(data.ljust(8 * math.ceil(len(data) / 8), b'\0'), np.uint8).copy()
