# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The record of the compiled loop, from the model, the mapper and the outputs in use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_ as is_same
from typing import Any

import numpy as np
from rclpy.node import Node

from screw_dynamics_ros.core.compile.typed.functions import Bytes
from screw_dynamics_ros.core.compile.typed.records import WORD
from screw_dynamics_ros.core.state_clock import StateClock
from screw_dynamics_ros.ros.data_path.loop import ID_WORD, RECEIVED
from screw_dynamics_ros.ros.data_path.rcl import (
    SEQUENCE_NUMBER,
    SOURCE_TIME,
    LoopSubscription,
    PlainFunctions,
    Rcl,
)
from screw_dynamics_ros.ros.data_path.records import (
    CopiedPart,
    InputRecord,
    LoopRecord,
    LoopStep,
    MessageBuffer,
    MessageLayout,
    StateHistory,
)
from screw_dynamics_ros.ros.joint_states.layouts import Layout
from screw_dynamics_ros.ros.joint_states.mapper import JointStateMapper, ObservedState
from screw_dynamics_ros.ros.messages.serialized import Template
from screw_dynamics_ros.ros.process.python_function import PythonFunction
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK
from screw_dynamics_ros.ros.topics import channel_record as c
from screw_dynamics_ros.ros.topics.channel import Channel
from screw_dynamics_ros.ros.topics.taken_message import ID_SIZE, STRUCT

from ..model.parts import Stage, StateStep
from ..model.running_model import RunningModel
from .state_input import StateInput

NO_PUBLISHER = b'\xff' * ID_SIZE  # not the identifier of a publisher
HISTORY_SIZE = 1024  # states between two calls of Python


class AnsweredStates(StateInput):
    """Joint states with what answers them.

    Attributes
    ----------
    model : RunningModel or None
        The robot, with its kernel.
    channels : sequence of Channel
        All topics.
    listened : list of Channel
        The topics with subscribers, in order.
    stages : sequence of Stage
        Steps for each joint state in addition to the kernel, in order.
    inputs : tuple of InputRecord
        Inputs beside joint states.
    clock : StateClock
        Of the states for which outputs are computed.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.model: RunningModel | None = None
        self.channels: Sequence[Channel] = ()
        self.listened: list[Channel] = []
        self.stages: Sequence[Stage] = ()
        self.inputs: tuple[InputRecord, ...] = ()
        self.clock = StateClock()


class LoopTables:
    """Keeps the record of the loop up to date.

    Parameters
    ----------
    functions : Rcl or PlainFunctions
    node : rclpy.node.Node
    pipeline : AnsweredStates
    taken : LoopSubscription, optional
        The subscription of the compiled loop; without it, messages are given to `receive`.

    Attributes
    ----------
    loop : LoopRecord
    """

    def __init__(
        self,
        functions: Rcl | PlainFunctions,
        node: Node,
        pipeline: AnsweredStates,
        taken: LoopSubscription | None = None,
    ) -> None:
        self.functions, self._node, self._taken = functions, node, taken
        self._layout: tuple[Any, ...] = ()
        self._mapper: JointStateMapper | None = None
        self._gates: dict[Channel, Sequence[c.Gate]] = {}  # of the messages that are written
        self._steps: dict[str, Sequence[StateStep]] = {}
        self._model: RunningModel | None = None
        self._outputs: list[tuple[Any, ...]] = []
        self._refreshed: Sequence[Callable[[], None]] = ()
        self.loop = loop = LoopRecord()
        loop.mutex, loop.state_clock = STATE_LOCK, pipeline.clock
        loop.time = np.zeros(2, dtype=np.int64)
        loop.message, loop.info = MessageBuffer(), np.zeros(STRUCT // WORD, dtype=np.int64)
        if taken is not None:
            loop.subscription, loop.wait_set, loop.place = (
                taken.subscription,
                taken.wait_set,
                taken.place,
            )
            loop.message, loop.info = taken.message, taken.info
        loop.delays, loop.gaps, loop.load = pipeline.delay, pipeline.gaps, pipeline.load
        loop.layout, loop.history = MessageLayout(), StateHistory()
        loop.channels = loop.parts = loop.preparations = loop.steps = loop.inputs = ()

    def receive(self, data: bytes, info: Mapping[str, Any], arrival: int) -> bool:
        """Set the state from an ordinary message; return False without doing so for others.

        `arrival` is its time of arrival on the monotonic clock [ns].
        """
        loop = self.loop
        loop.message.buffer = np.frombuffer(data, np.uint8)
        loop.info[SOURCE_TIME] = info.get('source_timestamp', 0)
        loop.info[SEQUENCE_NUMBER] = info.get('publication_sequence_number') or 0
        loop.info[ID_WORD : ID_WORD + 2] = np.frombuffer(
            info.get('publisher', NO_PUBLISHER), np.int64
        )
        return self.functions.receive(loop, arrival) == RECEIVED

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
        if mapper is None or history.read == history.written:
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
        loop.clock = self.functions.clock(self._node.get_clock(), mapper.clock)
        history.stamps = np.zeros(HISTORY_SIZE, dtype=np.int64)
        history.arrivals = np.zeros(HISTORY_SIZE)
        history.states = np.zeros(HISTORY_SIZE * mapper.state.size)
        history.measured = np.zeros(HISTORY_SIZE * loop.measured.size)
        history.read = history.written = 0

    # --- the next states ------------------------------------------------------------------------

    def update(self, pipeline: AnsweredStates, is_verifying: bool) -> None:
        """Prepare the loop for the next states.

        `is_verifying` leaves the next message to Python in any case.
        """
        loop, model, mapper = self.loop, pipeline.model, pipeline.mapper
        loop.armed = False
        if model is None or mapper is None or not mapper.joints:
            return
        if mapper is not self._mapper:
            self._use_mapper(mapper)
        self._use_policies(pipeline, mapper)
        self._use_steps(pipeline.stages)
        outputs = [(each, each.is_sent, each.gates) for each in pipeline.listened]
        if model is not self._model or outputs != self._outputs:
            loop.kernel, loop.arguments, loop.total = model.call, model.addresses, model.total
            self._use_channels(pipeline)
            self._model, self._outputs = model, outputs
        for refresh in self._refreshed:
            refresh()
        loop.inputs, loop.is_read, layout = (
            pipeline.inputs,
            bool(pipeline.listened),
            pipeline.layout,
        )
        loop.armed = (
            not is_verifying
            and layout is not None
            and (mapper.completion is None or bool(mapper.completion.code.address))
            and not (pipeline.drivers and pipeline.followed is None)
            and self._use_layout(mapper, layout)
        )

    def _use_policies(self, pipeline: AnsweredStates, mapper: JointStateMapper) -> None:
        loop, policies = self.loop, pipeline.policies
        loop.timeout, loop.undisputed_age = policies.timeout, policies.undisputed_age
        loop.state_clock.timeout = policies.timeout
        loop.max_delay = policies.longest_delay
        loop.one_driver = pipeline.has_one_driver
        loop.has_info = self._taken is None or self._taken.has_info
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

    def _use_channels(self, pipeline: AnsweredStates) -> None:
        listened = pipeline.listened
        for channel in self._gates.keys() - set(pipeline.channels):
            del self._gates[channel]  # of another model
        parts: list[CopiedPart] = []
        for channel in listened:
            self._fill(channel)
            channel.first_part = len(parts)
            parts += getattr(channel.message, 'parts', ())
            channel.end_part = len(parts)
        self.loop.channels, self.loop.parts = tuple(listened), tuple(parts)
        # Several outputs may share one function.
        refreshes = (channel.refresh for channel in listened)
        self._refreshed = list(dict.fromkeys(refresh for refresh in refreshes if refresh))

    def _fill(self, channel: Channel) -> None:
        """Write the record of an output."""
        channel.needs = c.VELOCITY * channel.velocity + c.EFFORT * channel.effort
        template = getattr(channel.message, 'template', channel.message)
        channel.is_published = channel.is_sent
        channel.handle = None
        if isinstance(template, Template) and channel.is_sent:
            channel.handle = self.functions.publisher(channel)
        if self._gates.get(channel) is not channel.gates:
            self._gates[channel] = channel.gates
            if isinstance(template, Template):
                channel.serialized = self.functions.buffer(template.message)
                channel.stamps = tuple(map(c.MessageStamp, template.stamps))
            for gate in channel.gates:
                if gate.function is not None:
                    gate.code = self.functions.code(gate.function)
            channel.conditions = tuple(channel.gates)
            if channel.snapshot is not None:
                channel.snapshot.connect()

    # --- steps ----------------------------------------------------------------------------------

    def _use_steps(self, stages: Sequence[Stage]) -> None:
        """Use the steps of the stages that are needed, and their records."""
        needed = [stage for stage in stages if stage.is_needed()]
        self.loop.preparations = self._records(
            'preparations', [stage.prepare for stage in needed if stage.prepare]
        )
        self.loop.steps = self._records(
            'steps', [stage.consume for stage in needed if stage.consume]
        )

    def _records(self, name: str, steps: Sequence[StateStep]) -> tuple[LoopStep, ...]:
        """Return the records of steps: those from before if nothing has changed."""
        records: tuple[LoopStep, ...] = getattr(self.loop, name)
        wanted = [step.record() for step in steps]
        if steps == self._steps.get(name, ()) and all(
            map(is_same, wanted, [each.record for each in records])
        ):
            return records
        self._steps[name] = steps
        found = []
        for step, record in zip(steps, wanted):
            each = LoopStep()
            each.record, each.otherwise = record, step.otherwise
            function = step.function
            each.function = (
                function if isinstance(function, PythonFunction) else self.functions.code(function)
            )
            found.append(each)
        return tuple(found)


def padded(data: bytes) -> Bytes:
    """Return bytes as an array of whole words."""
    return np.frombuffer(data.ljust(8 * math.ceil(len(data) / 8), b'\0'), np.uint8).copy()
