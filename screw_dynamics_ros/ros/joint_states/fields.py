# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Positions, velocities and efforts of all joints, and substitutes for missing ones.

Each field stores the values of all joints with their stamps. It reads the values of the joints in a
message according to its policy; they are stored only after the whole message has been accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array

from .contents import JointStateMessage
from .name_map import NameMap
from .policies import NEVER_STAMP, Policies, Reason

MAX_SPEED = 100.0  # rad/s, of joints whose limit is higher or unknown
SPEED_MARGIN = 2.0  # by which joints may exceed their velocity limit
MIN_STEP = 0.1  # rad; noise and jitter of stamps

Flags = NDArray[np.bool_]
Note = Callable[[Reason, str], None]


class JointReading(NamedTuple):
    """Values of the joints in a message, and flags: measured, usable; (k,) each."""

    values: Array
    measured: Flags
    usable: Flags


class Field:
    """One field of all joints.

    Parameters
    ----------
    value : (n,) array
        Storage of the values.
    note : callable
        Called with a reason and details as text.

    Attributes
    ----------
    value : (n,) array
        Zero for joints without a usable value.
    measured : (n,) array of int
        Stamps of the last measured values [ns].
    usable : (n,) array of bool
    """

    def __init__(self, value: Array, note: Note) -> None:
        size = len(value)
        self.value = value
        self.measured = np.full(size, NEVER_STAMP)
        self.usable = np.zeros(size, dtype=bool)
        self._note = note

    def forget(self) -> None:
        """Mark all joints as never measured."""
        self.value[:] = 0.0
        self.measured[:] = NEVER_STAMP
        self.usable[:] = False

    def keep(self, joints: NDArray[np.intp], reading: JointReading, stamp: int) -> None:
        """Store a reading; unusable values become zero, so that no NaN propagates."""
        self.value[joints] = np.where(reading.usable, reading.values, 0.0)
        self.measured[joints[reading.measured]] = stamp
        self.usable[joints] = reading.usable

    def is_recent(self, names: NameMap, stamp: int, policies: Policies) -> Flags:
        """Which joints of a message were measured at most `state_timeout` before it."""
        measured = self.measured[names.target]
        recent: Flags = (measured > NEVER_STAMP) & (stamp - measured <= policies.timeout)
        return recent

    def _substitute(
        self, policy: str, values: Array, names: NameMap, stamp: int, policies: Policies
    ) -> tuple[Array, Flags]:
        """Return the substitutes of the policies `zero` and `hold`, and which are usable."""
        if policy == 'zero':
            return np.zeros_like(values), np.ones(len(values), dtype=bool)
        if policy == 'hold':
            return self.value[names.target], self.is_recent(names, stamp, policies)
        return values, np.zeros(len(values), dtype=bool)

    def _is_ragged(self, values: Array, names: NameMap, reason: Reason) -> bool:
        """Whether the number of values differs from the number of names and is not zero."""
        if len(values) in (0, names.count):
            return False
        self._note(reason, f'{len(values)} for {names.count} names')
        return True


def measured(values: Array, names: NameMap) -> tuple[Array, Flags]:
    """Return the values of the joints `names.target`, and which of them are finite."""
    if len(values) != names.count:
        return np.full(len(names.source), np.nan), np.zeros(len(names.source), dtype=bool)
    found = np.array(values[names.source], dtype=float)
    return found, np.isfinite(found)


class Position(Field):
    """Positions: without them there is no state.

    Parameters
    ----------
    value, note
        As for `Field`.
    max_speeds : (n,) array
        Of joints that turn within limits [rad/s]; NaN of others, which may step by a turn.

    Attributes
    ----------
    turns : (n,) array or None
        Angles that are added to reported positions [rad]; None if there are none.
    """

    def __init__(self, value: Array, note: Note, max_speeds: Array) -> None:
        super().__init__(value, note)
        self._max_speeds = np.minimum(max_speeds, MAX_SPEED)
        self.turns: Array | None = None

    def forget(self) -> None:
        """Mark all joints as never measured."""
        super().forget()
        self.turns = None

    def unwrapped(self, q: Array, joints: NDArray[np.intp] | slice = slice(None)) -> Array:
        """Return reported positions of some joints (..., k) with `turns`."""
        return q if self.turns is None else q + self.turns[joints]

    def read(
        self,
        message: JointStateMessage,
        names: NameMap,
        stamp: int,
        policies: Policies,
        heard: NDArray[np.int64],
    ) -> JointReading | Reason:
        """Return the positions, or why the message is refused.

        `heard` has the stamps of the last messages that report the joints, (n,).
        """
        is_ragged = self._is_ragged(message.position, names, Reason.POSITION_RAGGED)
        if is_ragged and policies.position == 'reject':
            return Reason.POSITION_MISSING
        reported, found = measured(message.position, names)
        q = self.unwrapped(reported, names.target)
        turns = self._steps_by_turns(q, names, stamp, policies, heard)
        if turns.any():
            if policies.wrap == 'refuse':
                return Reason.WRAPPED
            q = q - turns
            every = np.zeros(len(self.value)) if self.turns is None else self.turns.copy()
            every[names.target] -= turns
            self.turns = every if every.any() else None
        if found.all():
            return JointReading(q, found, found)
        self._note(
            Reason.POSITION_MISSING,
            f'{names.listed(~found)} (position_policy: {policies.position})',
        )
        known = self.is_recent(names, stamp, policies)
        if policies.position == 'zero':
            known |= self.measured[names.target] == NEVER_STAMP
        if policies.position == 'reject' or not (found | known).all():
            return Reason.POSITION_MISSING
        q = np.where(found, q, self.value[names.target])
        return JointReading(q, found, np.ones_like(found))

    def _steps_by_turns(
        self, q: Array, names: NameMap, stamp: int, policies: Policies, heard: NDArray[np.int64]
    ) -> Array:
        """Return multiples of 2 pi (k,) by which joints step that cannot move as fast."""
        joints = names.target
        dt = 1e-9 * (stamp - heard[joints])
        possible = SPEED_MARGIN * self._max_speeds[joints] * dt + MIN_STEP
        with np.errstate(over='ignore', invalid='ignore'):  # positions that are not finite
            step = q - self.value[joints]
            turns = 2.0 * np.pi * np.round(step / (2.0 * np.pi))
            wrapped = (np.abs(step) > possible) & (np.abs(step - turns) <= possible)
        wrapped &= self.is_recent(names, stamp, policies)
        if wrapped.any():
            k = int(np.argmax(wrapped))
            self._note(
                Reason.WRAPPED,
                f'{names.joints[k]} from {q[k] - step[k]:.4g} to {q[k]:.4g} rad in {dt[k]:.3g} s '
                f'(wrap_policy: {policies.wrap})',
            )
        return np.where(wrapped, turns, 0.0)


class Velocity(Field):
    """Velocities, which can be derived from positions.

    Parameters
    ----------
    value, note
        As for `Field`.
    position : Position
    continuous : (n,) array of bool
        Joints whose positions are equal modulo 2 pi.

    Attributes
    ----------
    distrusted : (n,) array of bool
        Joints whose values in messages are ignored.
    """

    def __init__(self, value: Array, note: Note, position: Position, continuous: Flags) -> None:
        super().__init__(value, note)
        self._position, self._continuous = position, continuous
        self.distrusted = np.zeros(len(value), dtype=bool)

    def distrust(self, joints: Flags) -> None:
        """Ignore values of these joints in messages, and forget the last ones."""
        self.distrusted = joints
        self.usable &= ~joints
        self.measured[joints] = NEVER_STAMP

    def read(
        self,
        message: JointStateMessage,
        names: NameMap,
        stamp: int,
        policies: Policies,
        position: JointReading,
    ) -> JointReading:
        """Return the velocities; `position` has the positions of the message, not stored yet."""
        self._is_ragged(message.velocity, names, Reason.VELOCITY_RAGGED)
        v, found = measured(message.velocity, names)
        policy, missing = policies.velocity, ~found
        if missing.any():
            self._note(
                Reason.VELOCITY_MISSING, f'{names.listed(missing)} (velocity_policy: {policy})'
            )
        found &= ~self.distrusted[names.target]
        if found.all():
            return JointReading(v, found, found)
        if policy == 'differentiate':
            estimate, usable = self._differentiated(names, stamp, policies, position)
        else:
            estimate, usable = self._substitute(policy, v, names, stamp, policies)
        return JointReading(np.where(found, v, estimate), found, found | usable)

    def _differentiated(
        self, names: NameMap, stamp: int, policies: Policies, position: JointReading
    ) -> tuple[Array, Flags]:
        """Return velocities differentiated from the stored positions, and which are usable."""
        joints, before = names.target, self._position
        interval = stamp - before.measured[joints]
        usable = (
            position.measured
            & (interval <= policies.timeout)
            & (before.measured[joints] > NEVER_STAMP)
        )
        dt = np.where(usable, interval, 1) * 1e-9
        dq = position.values - before.value[joints]
        turn = self._continuous[joints]
        dq[turn] = (dq[turn] + np.pi) % (2 * np.pi) - np.pi
        with np.errstate(over='ignore'):
            estimate = dq / dt
            if policies.velocity_cutoff > 0.0:
                gain = -np.expm1(-2 * np.pi * policies.velocity_cutoff * dt)
                v = self.value[joints]
                estimate = np.where(self.usable[joints], v + gain * (estimate - v), estimate)
        return estimate, usable & np.isfinite(estimate)


class Effort(Field):
    """Efforts, converted to torques: scale * effort + offset.

    Attributes
    ----------
    is_calibrated : bool
        Whether torques differ from efforts.
    fault : str
        Why efforts are not used; empty if they are.
    """

    is_calibrated = False
    fault = ''

    def calibrate(self, scale: Array | None, offset: Array | None) -> None:
        """Set scale and offset [N m, N], (n,) each; None means 1 and 0."""
        self.scale, self.offset = (
            None if each is None else np.ascontiguousarray(each, dtype=float)
            for each in (scale, offset)
        )
        self.is_calibrated = scale is not None or offset is not None

    def note_fault(self) -> None:
        """Record that efforts are not used."""
        self._note(Reason.EFFORT_UNKNOWN, self.fault)

    def torque(self, effort: Array, joints: NDArray[np.intp] | slice = slice(None)) -> Array:
        """Return the torques of some joints."""
        if self.scale is not None:
            effort = effort * self.scale[joints]
        if self.offset is not None:
            effort = effort + self.offset[joints]
        return effort

    def read(
        self, message: JointStateMessage, names: NameMap, stamp: int, policies: Policies
    ) -> JointReading:
        """Return the torques."""
        if self.fault:
            self.note_fault()
            absent = np.zeros(len(names.target), dtype=bool)
            return JointReading(np.zeros(len(absent)), absent, absent)
        self._is_ragged(message.effort, names, Reason.EFFORT_RAGGED)
        effort, found = measured(message.effort, names)
        tau = self.torque(effort, names.target)
        if self.is_calibrated:
            found &= np.isfinite(tau)
        if found.all():
            return JointReading(tau, found, found)
        policy = policies.effort
        self._note(Reason.EFFORT_MISSING, f'{names.listed(~found)} (effort_policy: {policy})')
        estimate, usable = self._substitute(policy, tau, names, stamp, policies)
        return JointReading(np.where(found, tau, estimate), found, found | usable)
