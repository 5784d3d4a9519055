# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The way of a joint state: receive a message, then answer the state with all outputs.

`receive` takes ordinary messages: a known layout, a stamp that follows the last one, finite
numbers. It leaves all others to Python (`HAND_OVER`), and has done nothing then. `answer` computes
and publishes the outputs of the state, however it came. Both run as machine code or, without
llvmlite, as Python.

Two drivers call them: `run`, compiled, which waits for messages and returns to Python, holding the
lock of states (`ros.process.state_lock`), whenever there is something else to do; and a callback of
rclpy, `StatePipeline.receive`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from screw_dynamics_ros.core.compile.typed.functions import Bytes, Floats, typed
from screw_dynamics_ros.core.compile.typed.memory import (
    copy_bytes,
    read_f64,
    read_i32,
    read_i64,
    read_u32,
    write_u32,
)
from screw_dynamics_ros.core.state_clock import advance_clock
from screw_dynamics_ros.core.units import NANOSECONDS

from ..joint_states.completion import COMPLETED, completing
from ..joint_states.policies import NEVER_STAMP
from ..messages.cdr import STAMP_OFFSET, stamp_of_clock
from ..process.rate_limit import use
from ..topics import channel_record as c
from ..topics.channel_record import EFFORT, VELOCITY
from ..topics.snapshot import StateSnapshot, copy
from ..topics.taken_message import ID_PLACE
from ..topics.transport import delay_of, gap_before
from .externals import (
    MONOTONIC,
    NOTHING_TO_TAKE,
    OK,
    REALTIME,
    TIMEOUT,
    clock_get_now,
    clock_gettime,
    kernel,
    lock,
    publish_message,
    step,
    take_message,
    unlock,
    wait,
    wait_set_add,
    wait_set_clear,
    wake,
)
from .records import (
    DECLINED,
    STEP_FAILED,
    CopiedPart,
    InputRecord,
    LoopRecord,
    LoopStep,
    MessageLayout,
    count_message,
    count_served,
)

ID_WORD = ID_PLACE // 8  # of the info: identifier of the publisher
AGE_OF_NEVER = -NEVER_STAMP // 2  # [ns]; longer means never
WAIT_TIMEOUT = 100_000_000  # ns for which the loop waits until it looks whether it is to end

# Results of `run`, `receive` and `answer`.
STOPPED = 0  # it was asked to end
FAILED = 1  # rcl reports an error
DONE = 2
CHANGED = 4  # done, but Python has taken a declined step: other steps may be needed now
HAND_OVER = 3  # Python processes the message; nothing has been done with it
TOO_LATE = 5  # the state is later than max_delay: it is accepted, there are no outputs
NOT_FINITE = 6  # results of the model are not finite: the state is accepted, there are no outputs
RECEIVED = 7  # the message has set the state
ABANDONED = 8  # a step has failed, and has been reported: there are no outputs

Step = TypeVar('Step', bound=Callable[..., int])
#: Functions that are compiled with the loop, see `compiled_step`.
STEPS: list[Callable[..., int]] = []


def compiled_step(function: Step) -> Step:
    """Declare a function ``(record, loop)`` for steps and gates of the loop."""
    function = typed(function)
    STEPS.append(function)
    return function


@typed
def run(loop: LoopRecord) -> int:
    """Process joint states until Python is needed; return what for.

    The lock is held except after `STOPPED` and `FAILED`.
    """
    while not loop.stop:
        if wait_set_clear(loop.wait_set) != OK:
            return FAILED
        if wait_set_add(loop.wait_set, loop.subscription, loop.place) != OK:
            return FAILED
        result = wait(loop.wait_set, WAIT_TIMEOUT)
        if result == OK:
            outcome = take_all(loop)
            if outcome != DONE:
                return outcome
        elif result != TIMEOUT:
            return FAILED
    return STOPPED


@typed
def take_all(loop: LoopRecord) -> int:
    """Process the messages that have arrived."""
    while not loop.stop:
        result = take_message(loop.subscription, loop.message, loop.info, 0)
        if result == NOTHING_TO_TAKE:
            return DONE
        if result != OK:
            return FAILED
        lock(loop.mutex)
        outcome = process(loop)
        if outcome != DONE:
            return outcome  # with the lock
        unlock(loop.mutex)
    return DONE


@typed
def time_of(loop: LoopRecord, clock: int) -> int:
    """Return the time on a clock [ns]."""
    clock_gettime(clock, loop.time)
    return loop.time[0] * NANOSECONDS + loop.time[1]


@typed
def seconds(nanoseconds: int) -> float:
    """Return a time in s."""
    return float(nanoseconds) / 1e9


@typed
def process(loop: LoopRecord) -> int:
    """Process the message."""
    outcome = receive(loop, time_of(loop, MONOTONIC))
    return answer(loop) if outcome == RECEIVED else outcome


@typed
def receive(loop: LoopRecord, now: int) -> int:
    """Set the state from the message that arrived at `now` on the monotonic clock [ns]."""
    loop.arrival = seconds(now)
    message = loop.message.buffer
    size = len(loop.message.buffer)
    if not loop.armed or size != loop.layout.size or not has_layout(loop.layout, message):
        return HAND_OVER
    if loop.history.written - loop.history.read >= len(loop.history.stamps):
        return HAND_OVER
    if not is_followed(loop):
        return HAND_OVER
    nanosec = read_u32(message, STAMP_OFFSET + 4)
    stamp = read_i32(message, STAMP_OFFSET) * NANOSECONDS + nanosec
    if clock_get_now(loop.clock, loop.time) != OK:
        return HAND_OVER
    age = stamp_of_clock(loop.time[0]) - stamp
    if nanosec >= NANOSECONDS or not is_regular(loop, message, stamp, age):
        return HAND_OVER
    loop.delay = count_arrival(loop, time_of(loop, REALTIME))
    accept(loop, message, stamp, age)
    return RECEIVED


@typed
def answer(loop: LoopRecord) -> int:
    """Compute and publish the outputs of the current state, which has arrived at `loop.arrival`."""
    loop.is_changed = False
    now = time_of(loop, MONOTONIC)
    loop.start = seconds(now)
    if loop.start - (loop.arrival - loop.delay) > loop.max_delay:
        return TOO_LATE
    if loop.is_read:
        state = loop.mapper
        loop.has = VELOCITY * int(state.has_velocity) + EFFORT * int(state.has_effort)
        advance_clock(loop.state_clock, state.stamp, state.restarted)
        if not prepare(loop):
            return ABANDONED
    if loop.is_read and not is_suspended(loop):
        kernel(loop.kernel, loop.arguments)
        if not math.isfinite(loop.total[0]):
            return NOT_FINITE
        if not complete(loop):
            return ABANDONED
        use_channels(loop, now)
    count_served(loop.load, seconds(time_of(loop, MONOTONIC)) - loop.start)
    return CHANGED if loop.is_changed else DONE


# --- the message --------------------------------------------------------------------------------


@typed
def has_layout(layout: MessageLayout, message: Bytes) -> bool:
    """Whether a message of the right size differs from the layout in stamp and numbers only."""
    whole = layout.size // 8
    for k in range(whole):
        masked = read_i64(message, 8 * k) & read_i64(layout.mask, 8 * k)
        if masked != read_i64(layout.fixed, 8 * k):
            return False
    for k in range(8 * whole, layout.size):
        if message[k] & layout.mask[k] != layout.fixed[k]:
            return False
    return True


@typed
def is_followed(loop: LoopRecord) -> bool:
    """Whether the publisher of a message is the one to follow, if there is one."""
    if loop.followed is None:
        return True
    return loop.info[ID_WORD] == loop.followed[0] and loop.info[ID_WORD + 1] == loop.followed[1]


@typed
def is_regular(loop: LoopRecord, message: Bytes, stamp: int, age: int) -> bool:
    """Whether a message follows another one, with a stamp in time, finite numbers and no jumps.

    A completion then has the state of all joints. `JointStateMapper.update` reads all other
    messages.
    """
    newest = loop.mapper.newest
    if loop.mapper.whole != newest or newest <= NEVER_STAMP:
        return False
    if not 0 < stamp - newest <= loop.timeout:
        return False
    if abs(age) > loop.undisputed_age:
        return False
    total = 0.0
    for k in range(len(loop.layout.numbers)):
        total += read_f64(message, loop.layout.numbers[k])
    if not math.isfinite(total):
        return False
    for k in range(loop.joints):
        if abs(position(loop, message, k) - loop.measured[k]) > math.pi:
            return False
    if loop.scale is not None or loop.offset is not None:
        total = 0.0
        for k in range(loop.joints):
            total += torque(loop, message, k)
        if not math.isfinite(total):
            return False
    if loop.completion is None:
        return True
    read_values(loop, message, loop.completion.measured)
    return completing(loop.completion.code, loop.completion) == COMPLETED


@typed
def read_values(loop: LoopRecord, message: Bytes, values: Floats) -> None:
    """Set positions, velocities and torques (3 k,) of the joints that messages report."""
    n = loop.joints
    for k in range(n):
        values[k] = position(loop, message, k)
        values[n + k] = read_f64(message, loop.layout.places[n + k])
        values[2 * n + k] = torque(loop, message, k)


@typed
def position(loop: LoopRecord, message: Bytes, joint: int) -> float:
    """Return the position of a joint, with the turns that its driver leaves out."""
    q = read_f64(message, loop.layout.places[joint])
    return q + loop.turns[joint] if loop.turns is not None else q


@typed
def torque(loop: LoopRecord, message: Bytes, joint: int) -> float:
    """Return scale * effort + offset of a joint."""
    effort = read_f64(message, loop.layout.places[2 * loop.joints + joint])
    if loop.scale is not None:
        effort = effort * loop.scale[joint]
    if loop.offset is not None:
        effort = effort + loop.offset[joint]
    return effort


@typed
def count_arrival(loop: LoopRecord, now: int) -> float:
    """Count a message and those lost before it; return its delay [s]."""
    count_message(loop.load, loop.arrival)
    if not loop.has_info:
        return 0.0
    loop.load.lost += gap_before(loop.gaps, loop.info[2], loop.one_driver)
    return delay_of(loop.delays, loop.info[0], now, loop.max_delay)


@typed
def accept(loop: LoopRecord, message: Bytes, stamp: int, age: int) -> None:
    """Set the state."""
    if loop.completion is None:
        read_values(loop, message, loop.state)
    else:
        copy_bytes(loop.measured, loop.completion.measured, 8 * len(loop.measured))
        copy_bytes(loop.state, loop.completion.state, 8 * len(loop.state))
    loop.mapper.stamp = stamp
    loop.mapper.newest = stamp
    loop.mapper.whole = stamp
    loop.mapper.age_ns = age
    loop.mapper.restarted = False
    loop.mapper.accepted += 1
    loop.mapper.last_accepted = loop.arrival
    remember(loop, stamp)


@typed
def remember(loop: LoopRecord, stamp: int) -> None:
    """Add the state to the history."""
    history = loop.history
    row = history.written % len(history.stamps)
    history.stamps[row] = stamp
    history.arrivals[row] = loop.arrival
    size = len(loop.state)
    copy_bytes(history.states[row * size :], loop.state, 8 * size)
    if loop.completion is not None:
        size = len(loop.measured)
        copy_bytes(history.measured[row * size :], loop.measured, 8 * size)
    history.written += 1


# --- steps --------------------------------------------------------------------------------------


@typed
def prepare(loop: LoopRecord) -> bool:
    """Take the steps before the kernel; return whether none has failed."""
    is_taken = True
    for k in range(len(loop.preparations)):
        is_taken = is_taken and take_step(loop.preparations[k], loop)
    return is_taken


@typed
def note_loss(record: InputRecord, is_lost: bool, loop: LoopRecord) -> None:
    """Note whether an input is lost; observers restart when it is lost and when it returns."""
    if is_lost != record.is_lost:
        loop.mapper.restarted = True
        loop.state_clock.elapsed = 0
    record.is_lost = is_lost


@typed
def is_suspended(loop: LoopRecord) -> bool:
    """Return whether an input is lost that stops the outputs."""
    for k in range(len(loop.inputs)):  # noqa: SIM110 - `any` is not compiled
        if loop.inputs[k].is_lost and loop.inputs[k].stops:
            return True
    return False


@typed
def complete(loop: LoopRecord) -> bool:
    """Take the steps after the kernel; return whether none has failed."""
    is_taken = True
    for k in range(len(loop.steps)):
        is_taken = is_taken and take_step(loop.steps[k], loop)
    return is_taken


@typed
def take_step(each: LoopStep, loop: LoopRecord) -> bool:
    """Take a step, in Python if it is declined; return whether it has not failed."""
    result = step(each.function, each.record, loop)
    if result == DECLINED and each.otherwise is not None:
        loop.is_changed = True
        result = step(each.otherwise, each.record, loop)
    return result != STEP_FAILED


# --- outputs ------------------------------------------------------------------------------------


@typed
def use_channels(loop: LoopRecord, start: int) -> None:
    """Check all outputs, and publish the valid ones."""
    stamp = loop.mapper.stamp
    for k in range(len(loop.channels)):
        channel = loop.channels[k]
        channel.state = c.NOT_VALID
        if channel.needs & ~loop.has != 0:
            continue
        if channel.rate is not None and not use(channel.rate, start):
            continue
        channel.state = state_of(loop, channel)
        for part in range(channel.first_part, channel.end_part):
            fill_part(loop.parts[part], loop.has, stamp)
        if channel.state == c.VALID:
            channel.valid_stamp = stamp
            publish(channel, loop)


@typed
def state_of(loop: LoopRecord, channel: c.ChannelRecord) -> int:
    """Return whether the numbers of an output are valid; conditions may compute them."""
    state = c.VALID
    for k in range(len(channel.conditions)):
        if state == c.VALID:
            state = state_of_gate(loop, channel.conditions[k])
    return state


@typed
def state_of_gate(loop: LoopRecord, gate: c.Gate) -> int:
    """Return the state of an output by one of its conditions."""
    if gate.state is not None:
        return gate.state[0]
    if gate.kind == c.CALL:
        return step(gate.code, gate.record, loop)
    if gate.numbers is None:
        return c.NOT_VALID
    if gate.kind == c.BEFORE:
        is_before = seconds(time_of(loop, MONOTONIC)) <= gate.numbers[0]
        return c.VALID if is_before else c.NOT_VALID
    for k in range(len(gate.numbers)):
        if not gate.numbers[k] > 0.0:
            return c.NOT_VALID
    return c.VALID


@typed
def publish(channel: c.ChannelRecord, loop: LoopRecord) -> None:
    """Publish an output, if it has subscribers and is due, with the stamp of the joint state."""
    if not channel.is_published:
        return
    stamp = loop.mapper.stamp
    if channel.topic_rate is not None and not use(channel.topic_rate, stamp):
        return
    if channel.handle is not None:
        sec = stamp // NANOSECONDS
        for k in range(len(channel.stamps)):
            target = channel.stamps[k].data
            write_u32(target, 0, sec)
            write_u32(target, 4, stamp - sec * NANOSECONDS)
        if publish_message(channel.handle, channel.serialized, 0) == OK:
            channel.published += 1
            return
    step(channel.sender, channel, loop)  # other messages, and errors, which it reports


@typed
def fill_part(part: CopiedPart, has: int, stamp: int) -> None:
    """Set flag, age and numbers of a part; `has` is VELOCITY | EFFORT."""
    is_valid = part.needs & ~has == 0
    if part.channel is None:
        if is_valid:
            part.since[0] = stamp
    elif part.is_held:
        is_valid = part.since[0] > NEVER_STAMP
    else:
        is_valid = part.channel.state == c.VALID
        if is_valid:
            part.since[0] = stamp
    age = stamp - part.since[0]
    part.age[0] = float(age) * 1e-9 if age < AGE_OF_NEVER else math.inf
    part.valid[0] = int(is_valid)
    if is_valid:
        for k in range(len(part.copies)):
            copy(part.copies[k])
    else:
        for k in range(len(part.data)):
            part.data[k] = part.missing


@compiled_step
def take_snapshot(s: StateSnapshot, loop: LoopRecord) -> int:
    """Copy the numbers of the current state for Python, unless that is done; a gate of outputs."""
    if s.number != loop.mapper.accepted:
        s.number = loop.mapper.accepted
        s.stamp = loop.mapper.stamp
        entry = s.entries[s.taken % len(s.entries)]
        entry.stamp = s.stamp
        for k in range(len(entry.copies)):
            copy(entry.copies[k])
        s.taken += 1
        if loop.wakeup != 0:
            wake(loop.wakeup, 1)
    return c.NOT_VALID
