# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Records that Python and the compiled loop share."""

from __future__ import annotations

import ctypes

from screw_dynamics_ros.core.compile.typed.functions import Bytes, Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.records import WORD, Opaque, Record
from screw_dynamics_ros.core.state_clock import StateClock

from ..joint_states.completion import Completion
from ..joint_states.stamped_messages import StampedMessages
from ..topics.channel_record import ChannelRecord
from ..topics.snapshot import Copy
from ..topics.taken_message import STRUCT
from ..topics.transport import SequenceGaps, TransportDelay

#: Results of steps: Python is to take it; taken; it failed, and the state is abandoned.
DECLINED, TAKEN, STEP_FAILED = range(3)


class MessageBuffer(Record):
    """A rcl_serialized_message_t: bytes with their number, capacity, and allocator."""

    reserved = STRUCT // WORD

    buffer: Bytes
    capacity: int
    allocate: int
    deallocate: int
    reallocate: int
    zero_allocate: int
    state: int

    @property
    def data(self) -> bytes:
        """The bytes, also those that C has set."""
        address, length = (int(self.element('buffer', k)[0]) for k in range(2))
        return ctypes.string_at(address, length)


class LoadCounts(Record):
    """Counts and processing times of joint states.

    Attributes
    ----------
    arrivals, lost : int
        Messages, and those that were lost or merged.
    count, served : int
        Messages and processed states since the last report.
    last_arrival : float
        On the monotonic clock [s].
    busy, longest : float
        Processing times since the last report: sum and maximum [s].
    """

    arrivals: int
    lost: int
    count: int
    served: int
    last_arrival: float
    busy: float
    longest: float


@typed
def count_message(load: LoadCounts, now: float) -> None:
    """Count a message that arrived at `now` on the monotonic clock [s]."""
    load.arrivals += 1
    load.count += 1
    load.last_arrival = now


@typed
def count_served(load: LoadCounts, duration: float) -> None:
    """Count a state that was processed within `duration` [s]."""
    load.served += 1
    load.busy += duration
    load.longest = max(load.longest, duration)


class InputRecord(Record):
    """An input beside joint states.

    Attributes
    ----------
    is_used : bool
    is_lost : bool
        Whether the last state had no measurement of it; False if it is not used.
    stops : bool
        Whether there are no outputs while it is lost.
    timeout : float
        Longest age of a measurement [s].
    """

    is_used: bool
    is_lost: bool
    stops: bool
    timeout: float


class MessageLayout(Record):
    """What the messages of one layout have in common.

    Attributes
    ----------
    size : int
        [bytes].
    mask, fixed : arrays of whole words
        Bits that define the layout, and their values.
    numbers, places : arrays of int
        Offsets of all numbers, and of positions, velocities and efforts of the joints [bytes].
    """

    size: int
    mask: Bytes
    fixed: Bytes
    numbers: Ints
    places: Ints


class LoopStep(Record):
    """A step before or after the kernel.

    Attributes
    ----------
    function : Opaque
        Of a `compiled_step`, or of Python.
    record : Opaque
        Its record.
    otherwise : Opaque or None
        The function of Python that takes the step if `function` returns `DECLINED`.
    """

    function: Opaque
    record: Opaque
    otherwise: Opaque | None


class CopiedPart(Record):
    """Numbers of an output in a message with those of several.

    Attributes
    ----------
    channel : ChannelRecord or None
        The output; None for a vector of the joint state.
    needs : int
        VELOCITY or EFFORT for a vector that is known only with them.
    is_held : bool
        Whether the last valid numbers remain.
    since : (1,) array of int
        Stamp of the last valid numbers [ns].
    valid, age, data : arrays
        Flag, age [s] and numbers in the message.
    missing : float
        Each of the numbers if they are not valid.
    copies : tuple of Copy
    """

    channel: ChannelRecord | None
    needs: int
    is_held: bool
    since: Ints
    valid: Bytes
    age: Floats
    data: Floats
    missing: float
    copies: tuple[Copy, ...]


class StateHistory(Record):
    """States for observers in Python.

    Attributes
    ----------
    stamps, arrivals : (N,) arrays
        [ns], [s].
    states : (3 n N,) array
    measured : (3 k N,) array
        Those of the joints that messages report, if these are not all.
    written, read : int
        Number of states so far, and of those that Python has read.
    """

    stamps: Ints
    arrivals: Floats
    states: Floats
    measured: Floats
    written: int
    read: int


class LoopRecord(Record):
    """The record of the loop.

    Attributes
    ----------
    stop : bool
        Ends the loop.
    armed : bool
        Whether all is that of the current model, mapper and layout.
    mutex : Opaque
        The pthread_mutex_t of the lock of states.
    wait_set, subscription, info, place, clock :
        Structs of rcl; `info` is the rmw_message_info_t, `clock` that of the stamps.
    message : MessageBuffer
        The message that has arrived.
    time : (2,) array
        A struct timespec.
    has_info : bool
        Whether `info` has the expected fields.
    one_driver : bool
    followed : (2,) array of int or None
        Identifier of the publisher whose messages are used, None for any.
    has : int
        VELOCITY | EFFORT: what joint states have.
    layout : MessageLayout
    joints : int
        k, of those that messages report.
    state : (3 n,) array
    completion : Completion or None
        Computes the state of all n joints from that of k.
    measured : (3 k,) array
        The values of the last message; `state` without a completion.
    scale, offset, turns : (k,) arrays or None
        Calibration of the efforts; turns added to positions [rad].
    mapper : StampedMessages
    state_clock : StateClock
        Of the states for which outputs are computed.
    timeout, undisputed_age : int
        Longest step of the stamps, and age [ns].
    delays, gaps, load
        Of the messages.
    is_read : bool
        Whether any output has subscribers.
    is_changed : bool
        Whether Python has taken a step that was declined.
    kernel : Opaque
        void kernel(int64 *arguments).
    arguments : Opaque
        AddressTable of its inputs and outputs.
    total : (1,) array
        Finite if all outputs that must be are.
    channels, parts, preparations, steps, inputs : tuples
        Outputs, parts of their messages, steps before and after the kernel, further inputs.
    history : StateHistory
    wakeup : int
        The eventfd that wakes the thread for snapshots; 0 if they are used after each state.
    max_delay, arrival, delay, start : float
        [s].
    """

    stop: bool
    armed: bool
    mutex: Opaque
    wait_set: Ints
    subscription: Opaque | None
    message: MessageBuffer
    info: Ints
    place: Ints
    time: Ints
    clock: Opaque | None
    has_info: bool
    one_driver: bool
    followed: Ints | None
    has: int
    layout: MessageLayout
    joints: int
    state: Floats
    completion: Completion | None
    measured: Floats
    scale: Floats | None
    offset: Floats | None
    turns: Floats | None
    mapper: StampedMessages
    state_clock: StateClock
    timeout: int
    undisputed_age: int
    delays: TransportDelay
    gaps: SequenceGaps
    load: LoadCounts
    is_read: bool
    is_changed: bool
    kernel: Opaque
    arguments: Opaque
    total: Floats
    channels: tuple[ChannelRecord, ...]
    parts: tuple[CopiedPart, ...]
    preparations: tuple[LoopStep, ...]
    steps: tuple[LoopStep, ...]
    inputs: tuple[InputRecord, ...]
    history: StateHistory
    wakeup: int
    max_delay: float
    arrival: float
    delay: float
    start: float
