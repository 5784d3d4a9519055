# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The rules of `TorqueCommand`, for Python and for compiled loops."""

from __future__ import annotations

import math

from ...compile.typed.functions import Floats, typed
from ...compile.typed.memory import copy_bytes
from ...compile.typed.records import Record
from .command_report import LimitLog, note

#: What the command follows: nothing, nothing until the end, wanted torques, itself, gravity
#: torques, zero.
SILENT, ENDED, FOLLOWING, HOLDING, GRAVITY, TO_ZERO = range(6)

#: Activities, beside FOLLOWING; RESTING: an action of on_loss that keeps torques, or a pause.
OFF, RESTING = range(2)

#: Reasons of losses: a text, the age of a state, the torques in `refused`, a pause.
GIVEN, TOO_OLD, REFUSED, PAUSED = range(4)

MAX_TORQUE = 1e9  # torques [N m, N]; a blend from one would round by more than 1e-7
NO_CHANGE = -1.0


class CommandRecord(Record):
    """State of a `TorqueCommand` for n joints.

    Attributes
    ----------
    upper, rates : (n,) arrays
        Limits of magnitude [N m, N] and of rates [N m/s, N/s], infinite for none.
    blend_time, ramp_time, age_limit : float
        See `CommandSettings`.
    on_loss : int
        The phase that begins when states are lost, SILENT for 'stop'.
    is_enabled, is_ending : bool
        Whether torques are wanted, and whether the process ends.
    phase : int
        What the command follows.
    since : float
        When that, a ramp or a blend began or ended [s].
    is_lost : bool
    losses, reason : int
        How often states were lost, and why the last time.
    reason_value : float
        Age or pause [s].
    refused : (2 n,) array
        Wanted and gravity torques that were impossible.
    now, state_time, sent : float
        Times of the last call, of the last state and of the last command [s]; `sent` is infinite
        after silence.
    is_ramping, ramp_start
    is_blending, blend_start, blend_duration
        The ramp and the blend [s].
    change : float
        Duration of a blend that begins with the next command [s], NO_CHANGE without one.
    has_new_limits : bool
        Whether the last command may exceed the limits.
    command, gravity : (n,) arrays
        The last command, zero after silence, and the gravity torques of the last state.
    target, bias, ramped : (n,) arrays
        The torques to follow, within the limits; b; and 1 for joints with a ramp.
    log : LimitLog
    """

    upper: Floats
    rates: Floats
    blend_time: float
    ramp_time: float
    age_limit: float
    on_loss: int
    is_enabled: bool
    is_ending: bool
    phase: int
    since: float
    is_lost: bool
    losses: int
    reason: int
    reason_value: float
    refused: Floats
    now: float
    state_time: float
    sent: float
    is_ramping: bool
    ramp_start: float
    is_blending: bool
    blend_start: float
    blend_duration: float
    change: float
    has_new_limits: bool
    command: Floats
    gravity: Floats
    target: Floats
    bias: Floats
    ramped: Floats
    log: LimitLog


# --- calls --------------------------------------------------------------------------------------


@typed
def step(c: CommandRecord, wanted: Floats, gravity: Floats, now: float, state_time: float) -> bool:
    """See `TorqueCommand.step`; return whether there is a command."""
    if is_quiet(c) and not c.is_enabled:
        return False
    now = advance_time(c, now)
    if c.is_ending:
        return advance(c, now)
    age = now - state_time
    if not -c.age_limit <= age <= c.age_limit:
        return lose(c, now, TOO_OLD, age)
    n = len(c.command)
    if not total(wanted, n) + total(gravity, n) < MAX_TORQUE:
        copy_bytes(c.refused, wanted, 8 * n)
        copy_bytes(c.refused[n:], gravity, 8 * n)
        return lose(c, now, REFUSED, 0.0)
    c.state_time = state_time if age > 0.0 else now
    copy_bytes(c.gravity, gravity, 8 * n)
    c.is_lost = False
    if not c.is_enabled:
        return proceed(c, now)
    if c.phase != FOLLOWING or now - c.sent > c.age_limit:
        follow(c, now)
    limit(c, wanted, c.target)
    return advance(c, now)


@typed
def blend(c: CommandRecord) -> None:
    """See `TorqueCommand.blend`."""
    if c.phase == FOLLOWING and c.change < 0.0:
        c.change = c.blend_time


@typed
def is_quiet(c: CommandRecord) -> bool:
    """Return whether nothing is to be sent."""
    return c.phase == SILENT or c.phase == ENDED


@typed
def activity(c: CommandRecord, now: float) -> int:
    """Return the activity of the torques at a time [s].

    OFF: the next torques, if there are any, start from zero with a ramp. FOLLOWING: wanted torques
    are being commanded, the last ones no pause before `now`. RESTING otherwise.
    """
    if not c.is_enabled or is_quiet(c) or c.phase == TO_ZERO:
        return OFF
    is_recent = now - c.sent <= c.age_limit
    return FOLLOWING if c.phase == FOLLOWING and is_recent else RESTING


@typed
def advance_time(c: CommandRecord, now: float) -> float:
    """Return the time of a call [s], not before the last one; pauses count in no ramp or blend."""
    c.now = max(c.now, now)
    pause = c.now - c.sent - c.age_limit
    if pause > 0.0:
        c.ramp_start += pause
        c.blend_start += pause
    return c.now


@typed
def lose(c: CommandRecord, now: float, reason: int, value: float) -> bool:
    """Continue without a usable state; return whether there is a command."""
    c.reason = reason
    c.reason_value = value
    if not c.is_lost:
        c.is_lost = True
        c.losses += 1
        is_on = c.is_enabled and c.phase != TO_ZERO
        is_stop = c.on_loss == SILENT and not c.is_ending
        if not is_quiet(c) and (is_on or is_stop):
            act(c, c.on_loss, now)
    return proceed(c, now)


@typed
def proceed(c: CommandRecord, now: float) -> bool:
    """Advance without wanted torques, to zero if disabled; return whether there is a command."""
    if not (c.is_enabled or c.is_ending or c.phase == SILENT or c.phase == TO_ZERO):
        act(c, TO_ZERO, now)
    return advance(c, now)


# --- changes ------------------------------------------------------------------------------------


@typed
def begin(c: CommandRecord, phase: int, now: float, change: float) -> None:
    """Begin a phase with a blend of a duration."""
    c.phase = phase
    c.since = now
    c.change = change


@typed
def act(c: CommandRecord, phase: int, now: float) -> None:
    """Begin the phase of an action: HOLDING, GRAVITY, TO_ZERO, or SILENT at once."""
    if phase == HOLDING:
        begin(c, HOLDING, now, NO_CHANGE)
        c.is_blending = False
    elif phase == GRAVITY:
        begin(c, GRAVITY, now, max(c.blend_time, c.ramp_time if c.is_ramping else 0.0))
    elif phase == TO_ZERO:
        begin(c, TO_ZERO, now, c.ramp_time)
    else:
        silence(c, now)


@typed
def follow(c: CommandRecord, now: float) -> None:
    """Begin or resume to follow wanted torques."""
    if c.phase == FOLLOWING:  # after a pause in which no tick came, either
        c.reason = PAUSED
        c.reason_value = now - c.sent
        c.losses += 1
    if c.phase == SILENT or c.phase == TO_ZERO or c.is_ramping:
        for k in range(len(c.ramped)):
            c.ramped[k] = 1.0
        c.is_ramping = True
        c.ramp_start = now
    begin(c, FOLLOWING, now, c.ramp_time if c.is_ramping else c.blend_time)


@typed
def silence(c: CommandRecord, now: float) -> None:
    """Stop sending; the next torques start from zero."""
    begin(c, ENDED if c.is_ending else SILENT, now, NO_CHANGE)
    c.is_ramping = c.is_blending = False
    for k in range(len(c.command)):
        c.command[k] = 0.0
    c.sent = math.inf


# --- one command --------------------------------------------------------------------------------


@typed
def advance(c: CommandRecord, now: float) -> bool:
    """Compute the next command, of wanted torques from `target`; return whether there is one."""
    phase = c.phase
    if is_quiet(c):
        return False
    if c.has_new_limits:
        c.has_new_limits = False
        limit(c, c.command, c.command)
    if phase == FOLLOWING:
        if c.is_ramping:
            ramp(c, now)
    elif phase == GRAVITY:
        limit(c, c.gravity, c.target)
    else:
        for k in range(len(c.command)):
            c.target[k] = c.command[k] if phase == HOLDING else 0.0
    if c.change >= 0.0:
        start_blend(c, now)
    if c.is_blending:
        add_bias(c, now)
    is_late = approach(c, c.target, c.command, min(now - c.sent, c.age_limit))
    c.sent = now
    if phase == TO_ZERO:
        if total(c.command, len(c.command)) == 0.0:
            silence(c, now)
    elif c.is_ending and not (c.is_blending or is_late):
        begin(c, ENDED, now, NO_CHANGE)
    return True


@typed
def ramp(c: CommandRecord, now: float) -> None:
    """Multiply `target` by the gain g of each joint."""
    c.ramp_start = min(c.ramp_start, now)
    elapsed = now - c.ramp_start
    if elapsed < c.ramp_time:
        rest = 1.0 - smooth(elapsed / c.ramp_time)
        for k in range(len(c.target)):
            c.target[k] *= 1.0 - c.ramped[k] * rest
    else:
        c.is_ramping = False
        c.since = now


@typed
def start_blend(c: CommandRecord, now: float) -> None:
    """Let the command continue from the last one."""
    duration = c.change
    c.change = NO_CHANGE
    if c.phase == FOLLOWING and c.is_blending:  # do not cut a longer one short
        duration = max(duration, c.blend_start + c.blend_duration - now)
    for k in range(len(c.bias)):
        c.bias[k] = c.command[k] - c.target[k]
    c.is_blending = True
    c.since = c.blend_start = now
    c.blend_duration = duration


@typed
def add_bias(c: CommandRecord, now: float) -> None:
    """Add the remaining bias to `target`."""
    elapsed = now - c.blend_start
    if elapsed < c.blend_duration:
        rest = 1.0 - smooth(elapsed / c.blend_duration)
        for k in range(len(c.target)):
            c.target[k] += rest * c.bias[k]
        limit(c, c.target, c.target)
    else:
        c.is_blending = False
        c.since = now


@typed
def smooth(s: float) -> float:
    """Return s^3 (10 - 15 s + 6 s^2): from 0 to 1 for s from 0 to 1."""
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


@typed
def total(torques: Floats, n: int) -> float:
    """Return the sum of the magnitudes."""
    result = 0.0
    for k in range(n):
        result += abs(torques[k])
    return result


# --- limits -------------------------------------------------------------------------------------


@typed
def limit(c: CommandRecord, wanted: Floats, limited: Floats) -> None:
    """Write torques (n,) within their limits to `limited`, which may be `wanted`."""
    for k in range(len(c.upper)):
        torque = wanted[k]
        limited[k] = max(-c.upper[k], min(c.upper[k], torque))
        if limited[k] != torque:
            note(c.log, 2 * k, torque, c.upper[k])


@typed
def approach(c: CommandRecord, target: Floats, command: Floats, dt: float) -> bool:
    """Move `command` as near to `target` as rates allow; return whether it is not there.

    Without time since the last command (`dt` <= 0) only joints without a rate limit change.
    """
    is_late = False
    for k in range(len(c.rates)):
        rate = c.rates[k]
        change = target[k] - command[k]
        largest = rate * dt if dt > 0.0 else math.inf if math.isinf(rate) else 0.0
        if abs(change) <= largest:
            command[k] = target[k]
            continue
        last = command[k]
        command[k] = last + math.copysign(largest, change)
        is_late = is_late or command[k] != target[k]
        if command[k] - last != change:
            speed = change / dt if dt > 0.0 else math.copysign(math.inf, change)
            note(c.log, 2 * k + 1, speed, rate)
    return is_late
