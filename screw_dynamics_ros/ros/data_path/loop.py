# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled loop: waits for joint states, and processes the ordinary ones.

`run` returns to Python, holding the lock of states (`ros.process.state_lock`), whenever there is
something else to do than in the ordinary case: a message of another layout, a stamp that does not
follow the last one, an output that Python computes. Nothing has been done with the message then,
unless the result states otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from screw_dynamics_ros.core.compile.typed.external import External, Signature, address_of
from screw_dynamics_ros.core.compile.typed.functions import Bytes, Ints, typed
from screw_dynamics_ros.core.compile.typed.memory import (
    bytes_at,
    floats_at,
    ints_at,
    read_f64,
    read_i32,
    read_u32,
    write_u32,
)
from screw_dynamics_ros.core.units import NANOSECONDS
from screw_dynamics_ros.ros.data_path import records as r
from screw_dynamics_ros.ros.joint_states import stamped_messages as m
from screw_dynamics_ros.ros.joint_states.policies import NEVER_STAMP
from screw_dynamics_ros.ros.messages.cdr import STAMP_OFFSET, stamp_of_clock
from screw_dynamics_ros.ros.process.rate_limit import is_due, use
from screw_dynamics_ros.ros.topics import channel_record as c
from screw_dynamics_ros.ros.topics.taken_message import ID_PLACE
from screw_dynamics_ros.ros.topics.transport import delay_of, gap_before

REALTIME, MONOTONIC = 0, 1  # clocks of Linux
AGE_OF_NEVER = -NEVER_STAMP // 2  # [ns]; longer means never
WAIT_TIMEOUT = 100_000_000  # ns for which the loop waits until it looks whether it is to end
OK, TIMEOUT, NOTHING_TO_TAKE = 0, 2, 401  # results of rcl

# Results of `run` and of its parts.
STOPPED = 0  # it was asked to end
FAILED = 1  # rcl reports an error
DONE = 2
HAND_OVER = 3  # Python processes the message; nothing has been done with it
COMPLETE = 4  # Python processes the outputs that are `FOR_PYTHON`
TOO_LATE = 5  # the state is later than max_delay: it is accepted, there are no outputs
NOT_FINITE = 6  # results of the model are not finite: the state is accepted, there are no outputs

wait_set_clear = External('rcl_wait_set_clear', ('address',), 'i32')
wait_set_add = External('rcl_wait_set_add_subscription', ('address', 'address', 'address'), 'i32')
wait = External('rcl_wait', ('address', 'i64'), 'i32')
take_message = External(
    'rcl_take_serialized_message', ('address', 'address', 'address', 'address'), 'i32'
)
publish_message = External(
    'rcl_publish_serialized_message', ('address', 'address', 'address'), 'i32'
)
clock_get_now = External('rcl_clock_get_now', ('address', 'address'), 'i32')
lock = External('pthread_mutex_lock', ('address',), 'i32')
unlock = External('pthread_mutex_unlock', ('address',), 'i32')
clock_gettime = External('clock_gettime', ('i32', 'address'), 'i32')
kernel = Signature(('address',), 'void')
step = Signature(('address', 'address'), 'i64')

Step = TypeVar('Step', bound=Callable[[Ints, Ints], int])
#: Functions that are compiled with the loop, see `compiled_step`.
STEPS: list[Callable[[Ints, Ints], int]] = []


def compiled_step(function: Step) -> Step:
    """Declare a function ``(record, t)`` for steps and gates of the loop.

    `record` has its numbers and addresses, `t` is the record of the loop.
    """
    function = typed(function)
    STEPS.append(function)
    return function


@typed
def run(t: Ints) -> int:
    """Process joint states until Python is needed; return what for.

    `t` is the record of the loop. The lock is held except after `STOPPED` and `FAILED`.
    """
    while t[r.STOP] == 0:
        if wait_set_clear(t[r.WAIT_SET]) != OK:
            return FAILED
        if wait_set_add(t[r.WAIT_SET], t[r.SUBSCRIPTION], t[r.PLACE]) != OK:
            return FAILED
        result = wait(t[r.WAIT_SET], WAIT_TIMEOUT)
        if result == OK:
            outcome = take_all(t)
            if outcome != DONE:
                return outcome
        elif result != TIMEOUT:
            return FAILED
    return STOPPED


@typed
def take_all(t: Ints) -> int:
    """Process the messages that have arrived."""
    while t[r.STOP] == 0:
        result = take_message(t[r.SUBSCRIPTION], t[r.MESSAGE], t[r.INFO], 0)
        if result == NOTHING_TO_TAKE:
            return DONE
        if result != OK:
            return FAILED
        lock(t[r.MUTEX])
        outcome = process(t)
        if outcome != DONE:
            return outcome  # with the lock
        unlock(t[r.MUTEX])
    return DONE


@typed
def time_of(t: Ints, clock: int) -> int:
    """Return the time on a clock [ns]."""
    time = ints_at(t[r.TIME])
    clock_gettime(clock, t[r.TIME])
    return time[0] * NANOSECONDS + time[1]


@typed
def process(t: Ints) -> int:
    """Process a message."""
    reals = floats_at(t[r.REALS])
    arrival = float(time_of(t, MONOTONIC)) / 1e9
    reals[r.ARRIVAL] = arrival
    serialized = ints_at(t[r.MESSAGE])
    message = bytes_at(serialized[0])
    if t[r.ARMED] == 0 or serialized[1] != t[r.SIZE] or not has_layout(t, message):
        return HAND_OVER
    if t[r.HISTORY_WRITTEN] - t[r.HISTORY_READ] >= t[r.HISTORY_SIZE]:
        return HAND_OVER
    if not is_followed(t):
        return HAND_OVER
    nanosec = read_u32(message, STAMP_OFFSET + 4)
    stamp = read_i32(message, STAMP_OFFSET) * NANOSECONDS + nanosec
    clock_now = ints_at(t[r.TIME])
    if clock_get_now(t[r.CLOCK], t[r.TIME]) != OK:
        return HAND_OVER
    age = stamp_of_clock(clock_now[0]) - stamp
    if nanosec >= NANOSECONDS or not is_regular(t, message, stamp, age):
        return HAND_OVER
    delay = count_arrival(t, arrival, time_of(t, REALTIME))
    accept(t, message, stamp, age, arrival)
    reals[r.DELAY] = delay
    now = time_of(t, MONOTONIC)
    start = float(now) / 1e9
    reals[r.START] = start
    if start - (arrival - delay) > reals[r.MAX_DELAY]:
        return TOO_LATE
    outcome = DONE
    if t[r.IS_READ] != 0:
        take_steps(t, t[r.PREPARATIONS], t[r.PREPARATION_COUNT])
        kernel(t[r.KERNEL], t[r.KERNEL_ARGUMENTS])
        if not math.isfinite(floats_at(t[r.TOTAL])[0]):
            return NOT_FINITE
        are_taken = take_steps(t, t[r.STEPS], t[r.STEP_COUNT])
        outcome = use_channels(t, message, stamp, now)
        if t[r.NEEDS_PYTHON] != 0 or not are_taken:
            outcome = COMPLETE
    if outcome == DONE:
        served(t, float(time_of(t, MONOTONIC)) / 1e9 - start)
    return outcome


# --- the message --------------------------------------------------------------------------------


@typed
def has_layout(t: Ints, message: Bytes) -> bool:
    """Whether a message of the right size differs from the layout in stamp and numbers only."""
    masks = bytes_at(t[r.MASK])
    fixed = bytes_at(t[r.FIXED])
    size = t[r.SIZE]
    whole = size // 8
    words = ints_at(address_of(message))
    mask_words = ints_at(address_of(masks))
    fixed_words = ints_at(address_of(fixed))
    for k in range(whole):
        if words[k] & mask_words[k] != fixed_words[k]:
            return False
    for k in range(8 * whole, size):  # noqa: SIM110 - `all` is not compiled
        if message[k] & masks[k] != fixed[k]:
            return False
    return True


@typed
def is_followed(t: Ints) -> bool:
    """Whether the publisher of a message is the one to follow, if there is one."""
    if t[r.FOLLOWED] == 0:
        return True
    publisher = ints_at(t[r.INFO] + ID_PLACE)
    followed = ints_at(t[r.FOLLOWED])
    return publisher[0] == followed[0] and publisher[1] == followed[1]


@typed
def is_regular(t: Ints, message: Bytes, stamp: int, age: int) -> bool:
    """Whether a message follows another one, with a stamp in time, finite numbers and no jumps.

    See `JointStateMapper.update`.
    """
    words = ints_at(t[r.MAPPER_WORDS])
    newest = words[m.NEWEST_STAMP]
    if words[m.WHOLE] != newest or newest <= NEVER_STAMP:
        return False
    if not 0 < stamp - newest <= t[r.TIMEOUT]:
        return False
    if abs(age) > t[r.UNDISPUTED_AGE]:
        return False
    offsets = ints_at(t[r.NUMBERS])
    total = 0.0
    for k in range(t[r.NUMBER_COUNT]):
        total += read_f64(message, offsets[k])
    if not math.isfinite(total):
        return False
    state = floats_at(t[r.STATE])
    for k in range(t[r.JOINTS]):
        if abs(position(t, message, k) - state[k]) > math.pi:
            return False
    if t[r.SCALE] == 0 and t[r.OFFSET] == 0:
        return True
    total = 0.0
    for k in range(t[r.JOINTS]):
        total += torque(t, message, k)
    return math.isfinite(total)


@typed
def position(t: Ints, message: Bytes, joint: int) -> float:
    """Return the position of a joint, with the turns that its driver leaves out."""
    q = read_f64(message, ints_at(t[r.PLACES])[joint])
    return q + floats_at(t[r.TURNS])[joint] if t[r.TURNS] != 0 else q


@typed
def torque(t: Ints, message: Bytes, joint: int) -> float:
    """Return scale * effort + offset of a joint."""
    effort = read_f64(message, ints_at(t[r.PLACES])[2 * t[r.JOINTS] + joint])
    if t[r.SCALE] != 0:
        effort = effort * floats_at(t[r.SCALE])[joint]
    if t[r.OFFSET] != 0:
        effort = effort + floats_at(t[r.OFFSET])[joint]
    return effort


@typed
def count_arrival(t: Ints, arrival: float, now: int) -> float:
    """Count a message and those lost before it; return its delay [s]."""
    counts = ints_at(t[r.LOAD_COUNTS])
    counts[r.ARRIVALS] += 1
    counts[r.COUNT] += 1
    floats_at(t[r.LOAD_TIMES])[r.LAST_ARRIVAL] = arrival
    if t[r.HAS_INFO] == 0:
        return 0.0
    info = ints_at(t[r.INFO])
    only = t[r.ONE_DRIVER] != 0
    counts[r.LOST] += gap_before(ints_at(t[r.GAP_MEMORY]), info[2], only)
    return delay_of(floats_at(t[r.DELAY_MEMORY]), info[0], now, floats_at(t[r.REALS])[r.MAX_DELAY])


@typed
def accept(t: Ints, message: Bytes, stamp: int, age: int, arrival: float) -> None:
    """Set the state."""
    n = t[r.JOINTS]
    places = ints_at(t[r.PLACES])
    state = floats_at(t[r.STATE])
    for k in range(n):
        state[k] = position(t, message, k)
        state[n + k] = read_f64(message, places[n + k])
        state[2 * n + k] = torque(t, message, k)
    words = ints_at(t[r.MAPPER_WORDS])
    words[m.STAMP] = stamp
    words[m.NEWEST_STAMP] = stamp
    words[m.WHOLE] = stamp
    words[m.AGE] = age
    words[m.RESTARTED] = 0
    words[m.ACCEPTED] += 1
    floats_at(t[r.MAPPER_REALS])[m.LAST_ACCEPTED] = arrival
    remember(t, stamp, arrival)


@typed
def remember(t: Ints, stamp: int, arrival: float) -> None:
    """Add the state to the history."""
    row = t[r.HISTORY_WRITTEN] % t[r.HISTORY_SIZE]
    ints_at(t[r.HISTORY])[row] = stamp
    floats_at(t[r.HISTORY_ARRIVALS])[row] = arrival
    size = 3 * t[r.JOINTS]
    kept = floats_at(t[r.HISTORY_STATES])[row * size :]
    state = floats_at(t[r.STATE])
    for k in range(size):
        kept[k] = state[k]
    t[r.HISTORY_WRITTEN] += 1


@typed
def served(t: Ints, duration: float) -> None:
    """Count a state that was processed within `duration` [s]."""
    ints_at(t[r.LOAD_COUNTS])[r.SERVED] += 1
    times = floats_at(t[r.LOAD_TIMES])
    times[r.BUSY_TIME] += duration
    times[r.MAX_TIME] = max(times[r.MAX_TIME], duration)


# --- steps --------------------------------------------------------------------------------------


@typed
def take_steps(t: Ints, first: int, count: int) -> bool:
    """Take steps; return whether none was declined."""
    are_taken = True
    steps = ints_at(first)
    for k in range(count):
        record = steps[r.STEP_WORDS * k :]
        record[r.STEP_RESULT] = step(record[r.STEP_FUNCTION], record[r.STEP_RECORD], address_of(t))
        if record[r.STEP_RESULT] == r.DECLINED:
            are_taken = False
    return are_taken


# --- outputs ------------------------------------------------------------------------------------


@typed
def use_channels(t: Ints, message: Bytes, stamp: int, start: int) -> int:
    """Check all outputs and publish them; return `COMPLETE` if some are for Python."""
    outcome = DONE
    channels = ints_at(t[r.CHANNELS])
    for k in range(t[r.CHANNEL_COUNT]):
        channel = ints_at(channels[k])
        channel[c.CURRENT] = c.NOT_VALID
        if channel[c.NEEDS] & ~t[r.HAS] != 0:
            continue
        if channel[c.LIMIT] != 0:
            limit = ints_at(channel[c.LIMIT])
            # Python counts the states that it uses.
            if (channel[c.IS_NATIVE] != 0 or not is_due(limit, start)) and not use(limit, start):
                continue
        if channel[c.IS_NATIVE] == 0:
            channel[c.CURRENT] = c.FOR_PYTHON
        elif channel[c.IS_MODEL_STATE] != 0:
            fill_model_state(t, channel, stamp)
        else:
            channel[c.CURRENT] = state_of(t, channel)
        if channel[c.CURRENT] == c.VALID:
            channel[c.VALID_STAMP] = stamp
            publish(channel, message)
        if channel[c.CURRENT] == c.FOR_PYTHON:
            outcome = COMPLETE
    return outcome


@typed
def state_of(t: Ints, channel: Ints) -> int:
    """Return whether the numbers of an output are valid, or whether Python is to look at them."""
    gates = ints_at(channel[c.GATES])
    for k in range(channel[c.GATE_COUNT]):
        gate = gates[c.GATE_WORDS * k :]
        state = state_of_gate(t, gate)
        if state != c.VALID:
            return state
    return c.VALID


@typed
def state_of_gate(t: Ints, gate: Ints) -> int:
    """Return the state of an output by one of its conditions."""
    kind = gate[c.GATE_KIND]
    if kind == c.TRUE:
        return ints_at(gate[c.GATE_NUMBERS])[0]
    if kind == c.CALL:
        return step(gate[c.GATE_FUNCTION], gate[c.GATE_NUMBERS], address_of(t))
    numbers = floats_at(gate[c.GATE_NUMBERS])
    if kind == c.BEFORE:
        now = float(time_of(t, MONOTONIC)) / 1e9
        return c.VALID if now <= numbers[0] else c.NOT_VALID
    for k in range(gate[c.GATE_SIZE]):
        if kind == c.FINITE and not math.isfinite(numbers[k]):
            return c.FOR_PYTHON
        if kind == c.POSITIVE and not numbers[k] > 0.0:
            return c.NOT_VALID
    return c.VALID


@typed
def publish(channel: Ints, message: Bytes) -> None:
    """Publish an output, if it has subscribers, with the stamp of the joint state."""
    if channel[c.PUBLISHER] == 0:
        return
    stamps = ints_at(channel[c.STAMPS])
    for k in range(channel[c.STAMP_COUNT]):
        target = bytes_at(stamps[k])
        write_u32(target, 0, read_u32(message, STAMP_OFFSET))
        write_u32(target, 4, read_u32(message, STAMP_OFFSET + 4))
    if publish_message(channel[c.PUBLISHER], channel[c.SERIALIZED], 0) == OK:
        channel[c.PUBLISHED] += 1
    else:
        channel[c.CURRENT] = c.FOR_PYTHON  # which reports the error


@typed
def fill_model_state(t: Ints, channel: Ints, stamp: int) -> None:
    """Collect the numbers of all parts, or leave it to Python if it computes one of them."""
    parts = ints_at(t[r.PARTS])
    for k in range(t[r.PART_COUNT]):
        part = parts[r.PART_WORDS * k :]
        if part[r.PART_CHANNEL] != 0 and ints_at(part[r.PART_CHANNEL])[c.CURRENT] == c.FOR_PYTHON:
            channel[c.CURRENT] = c.FOR_PYTHON
            return
    for k in range(t[r.PART_COUNT]):
        fill_part(t, parts[r.PART_WORDS * k :], stamp)
    channel[c.CURRENT] = c.VALID


@typed
def fill_part(t: Ints, part: Ints, stamp: int) -> None:
    """Set flag, age and numbers of a part; see `nodes.hosting.model_state.Encoder`."""
    is_valid = part[r.PART_NEEDS] & ~t[r.HAS] == 0
    since = ints_at(part[r.PART_SINCE])
    if part[r.PART_CHANNEL] == 0:
        if is_valid:
            since[0] = stamp
    elif part[r.PART_IS_HELD] != 0:
        is_valid = since[0] > NEVER_STAMP
    else:
        is_valid = ints_at(part[r.PART_CHANNEL])[c.CURRENT] == c.VALID
        if is_valid:
            since[0] = stamp
    age = stamp - since[0]
    floats_at(part[r.PART_AGE])[0] = float(age) * 1e-9 if age < AGE_OF_NEVER else math.inf
    bytes_at(part[r.PART_VALID])[0] = int(is_valid)
    if is_valid:
        copies = ints_at(part[r.PART_COPIES])
        for k in range(part[r.PART_COPY_COUNT]):
            copy(copies[r.COPY_WORDS * k :])
    else:
        data = floats_at(part[r.PART_DATA])
        for k in range(part[r.PART_SIZE]):
            data[k] = math.nan


@typed
def copy(record: Ints) -> None:
    """Copy the numbers of a copy record."""
    target = floats_at(record[r.COPY_TARGET])
    source = floats_at(record[r.COPY_SOURCE])
    for k in range(record[r.COPY_SIZE]):
        target[k] = source[k]
