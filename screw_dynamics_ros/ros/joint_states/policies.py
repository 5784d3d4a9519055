# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Policies for incomplete, invalid and late joint states, and the reasons they report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from screw_dynamics_ros.core.errors import ArgumentError

NEVER_STAMP = -(2**62)  # stamp of a value that has not been seen yet [ns]
DEFAULT_JUMP = 0.5  # s; without timeout, stamps that run back by more restart the history

#: Policies for missing or non-finite values of each field.
POSITION_POLICIES = ('reject', 'hold', 'zero')
VELOCITY_POLICIES = ('reject', 'differentiate', 'zero', 'hold')
EFFORT_POLICIES = ('reject', 'zero', 'hold')

#: Policies for several publishers that report different positions, besides the name of one node.
CONFLICT_POLICIES = ('refuse', 'newest')

#: Policies for velocities that are not the derivatives of the positions.
VELOCITY_CONFLICT_POLICIES = ('refuse', 'report')


#: Policies for positions that step by a turn.
WRAP_POLICIES = ('unwrap', 'refuse')


class Reason(Enum):
    """Why a message was refused or corrected; the value is the text for users."""

    INVALID_STAMP = 'the stamp is not a valid time'
    TOO_LARGE = 'the message is larger than the joint state of any robot'
    UNREADABLE = 'the message is not a joint state in the encoding of rosbag2'
    EMPTY = 'the message names no joint'
    FOREIGN = 'the message names no joint of this robot'
    DUPLICATE_JOINT = 'a joint appears twice in one message'
    POSITION_RAGGED = 'the number of positions differs from the number of names'
    POSITION_MISSING = 'a position is missing or not a finite number'
    WRAPPED = 'a position steps by a turn, faster than the joint can move'
    INCOMPLETE = 'joints without a current state'
    NOT_FOLLOWED = 'joint states of other publishers are ignored'
    DISPUTED = 'publishers of joint states disagree'
    LOOPS_OPEN = 'the loops of the mechanism cannot be closed at the measured positions'
    DUPLICATE_STAMP = 'the stamp is that of the previous message'
    OUT_OF_ORDER = 'the stamp is older than that of the previous message'
    OLD = 'the stamp is older than max_stamp_age'
    FUTURE = 'the stamp is further in the future than max_stamp_age'

    UNKNOWN_JOINTS = 'names that are not in the description are ignored'
    VELOCITY_RAGGED = 'the number of velocities differs from the number of names'
    VELOCITY_MISSING = 'a velocity is missing or not a finite number'
    EFFORT_RAGGED = 'the number of efforts differs from the number of names'
    EFFORT_MISSING = 'an effort is missing or not a finite number'
    EFFORT_UNKNOWN = 'efforts are not used, as effort_condition is not met (see doctor --suggest)'
    TIME_RESET = 'time went backwards: history discarded, processing restarts'
    PAUSE = 'no joint state for longer than state_timeout'
    UNSTAMPED = 'messages carry no stamp: the time of arrival is used'
    CLOCK_OFFSET = 'stamps and the clock of this node disagree'


@dataclass
class Occurrences:
    """Count of a reason, and time [s, monotonic clock] and details of its last occurrence."""

    count: int = 0
    last: float = -math.inf
    detail: str = ''

    def note(self, time: float, detail: str) -> None:
        """Count an occurrence."""
        self.count += 1
        self.last, self.detail = time, detail


@dataclass(frozen=True)
class Policies:
    """How to treat incomplete and invalid joint states.

    Attributes
    ----------
    position : {'reject', 'hold', 'zero'}
        `reject` refuses the message, `hold` keeps a value for at most `state_timeout`, `zero` does
        the same but sets joints to 0 that no source has ever reported.
    velocity : {'reject', 'differentiate', 'zero', 'hold'}
        `reject` leaves the state without velocity: outputs that do not need it are still computed.
    effort : {'reject', 'zero', 'hold'}
        `reject` leaves the state without effort.
    conflict : {'refuse', 'newest'} or str
        `refuse` refuses the messages of publishers that disagree, `newest` uses each of them; the
        name of a node with its namespace, as ``/robot/broadcaster``, uses its messages only.
    velocity_conflict : {'refuse', 'report'}
        `refuse` ignores velocities that contradict the positions, `report` uses them.
    wrap : {'unwrap', 'refuse'}
        `unwrap` adds turns to positions of revolute joints that step by a turn, `refuse` refuses
        the messages.
    state_timeout : float
        Longest age of a value that is merged, held or differentiated [s]; 0 for no limit.
    max_stamp_age : float
        Largest difference between stamp and clock [s]; 0 for no limit, large differences are only
        reported.
    max_delay : float
        Longest time from sending to processing of a message [s]; 0 for no limit, as for recordings,
        of which every message is processed.
    velocity_cutoff : float
        Cut-off frequency of the first-order filter on differentiated velocities [Hz]; 0 for none.
    """

    position: str = 'reject'
    velocity: str = 'differentiate'
    effort: str = 'reject'
    conflict: str = 'refuse'
    velocity_conflict: str = 'refuse'
    wrap: str = 'unwrap'
    state_timeout: float = 0.5
    max_stamp_age: float = 0.0
    max_delay: float = 0.0
    velocity_cutoff: float = 0.0

    def __post_init__(self) -> None:
        for name, choices in (
            ('position', POSITION_POLICIES),
            ('velocity', VELOCITY_POLICIES),
            ('effort', EFFORT_POLICIES),
            ('velocity_conflict', VELOCITY_CONFLICT_POLICIES),
            ('wrap', WRAP_POLICIES),
        ):
            if getattr(self, name) not in choices:
                raise ArgumentError(
                    f'{name} policy {getattr(self, name)!r} is not one of {", ".join(choices)}'
                )
        if self.conflict not in CONFLICT_POLICIES and not self.followed:
            raise ArgumentError(
                f'conflict policy {self.conflict!r} is not one of {", ".join(CONFLICT_POLICIES)}, '
                'nor the name of a node with its namespace, such as /robot/broadcaster'
            )
        for name in ('state_timeout', 'max_stamp_age', 'max_delay', 'velocity_cutoff'):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ArgumentError(
                    f'{name} must be a finite number >= 0, got {getattr(self, name)}'
                )

    @property
    def followed(self) -> str:
        """The node whose messages are used only, empty for any."""
        return self.conflict if self.conflict.startswith('/') else ''

    @cached_property
    def timeout(self) -> int:
        """`state_timeout` in ns; without limit larger than any difference of stamps."""
        return _nanoseconds(self.state_timeout) or -NEVER_STAMP

    @cached_property
    def max_age(self) -> int:
        """`max_stamp_age` in ns, likewise."""
        return _nanoseconds(self.max_stamp_age) or -NEVER_STAMP

    @cached_property
    def longest_delay(self) -> float:
        """`max_delay`, inf for any [s]."""
        return self.max_delay or math.inf

    @cached_property
    def jump(self) -> int:
        """Smallest backward step of the stamps that means a restart of time [ns]."""
        return _nanoseconds(self.state_timeout or DEFAULT_JUMP)

    # --- lateness --------------------------------------------------------------------------------

    def admits(self, age: Any) -> Any:
        """Whether a stamp of this age is used: clock minus stamp [ns], scalar or array."""
        return abs(age) <= self.max_age

    def age_refusal(self, age: int) -> Reason | None:
        """Return why a stamp of this age [ns] is not used, None if it is."""
        if self.admits(age):
            return None
        return Reason.OLD if age > 0 else Reason.FUTURE

    @cached_property
    def undisputed_age(self) -> int:
        """The largest age that is admitted and not reported as clock offset [ns]."""
        return min(self.max_age, self.jump)

    def is_offset(self, age: int) -> bool:
        """Whether an age [ns] is too large for synchronized clocks."""
        return abs(age) > self.jump

    def is_late(self, delay: float) -> bool:
        """Whether a message sent `delay` ago [s] is too late to be processed."""
        return delay > self.longest_delay

    @property
    def may_merge(self) -> bool:
        """Whether a newer state may replace one that waits."""
        return self.max_delay > 0.0


def _nanoseconds(seconds: float) -> int:
    """Return a time in ns, bounded by a value larger than any difference of stamps."""
    return round(min(seconds * 1e9, -NEVER_STAMP))
