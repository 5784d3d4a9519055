# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stamps of messages against the clock, and reasons why messages are refused or corrected."""

from __future__ import annotations

import time
from collections.abc import Callable

from screw_dynamics_ros.core.compile.typed.records import Record

from ..messages.cdr import MAX_STAMP, MIN_STAMP
from .policies import NEVER_STAMP, Occurrences, Policies, Reason


class StampedMessages(Record):
    """What the mapper notes of each message.

    Parameters
    ----------
    policies : Policies
    clock : callable
        Returns the current time in ns on the time base of the stamps.

    Attributes
    ----------
    stamp : int
        Stamp of the state [ns], one that messages can carry.
    newest : int
        The same, but `NEVER_STAMP` after time went backwards [ns].
    whole : int
        Stamp of a complete message not yet recorded in the fields of joints [ns], or `NEVER_STAMP`.
    accepted : int
        Number of states.
    age_ns : int
        Clock minus stamp at the arrival of the last message [ns].
    restarted : bool
        Whether the state is the first one after a pause or after time went backwards.
    has_velocity, has_effort : bool
        Whether velocities and efforts of the state can be used.
    last_accepted : float
        Time of arrival of the message that completed the current state [s], -inf without one.
    refused : Reason or None
        Why the last message was refused; None if it was not.
    records : dict
        Refused and corrected messages, by `Reason`.
    """

    stamp: int
    newest: int
    whole: int
    accepted: int
    age_ns: int
    restarted: bool
    has_velocity: bool
    has_effort: bool
    last_accepted: float

    def __init__(self, policies: Policies, clock: Callable[[], int]) -> None:
        self.policies, self.clock = policies, clock
        self.records: dict[Reason, Occurrences] = {}
        self.refused: Reason | None = None
        self.age_ns = 0
        self._watch_end = NEVER_STAMP  # time up to which late messages of the past are refused

    @property
    def age(self) -> float:
        """Clock minus stamp at the arrival of the last message [s]."""
        return self.age_ns * 1e-9

    @property
    def policies(self) -> Policies:
        """The active policies; can be set at any time."""
        return self._policies

    @policies.setter
    def policies(self, policies: Policies) -> None:
        self._policies = policies
        self._timeout, self._jump = policies.timeout, policies.jump
        self._undisputed_age = policies.undisputed_age

    def _watch(self, step: int) -> None:
        """Refuse late messages of the time before the clock went back by a step [ns]."""
        self._watch_end, self._step_back = self.clock() + min(step, self._jump), step
        self._arrival = time.monotonic()

    def _check_age(self, stamp: int) -> int:
        """Return the stamp to use, NEVER_STAMP if it is refused."""
        now = self.clock()
        if stamp == 0:
            self._note(Reason.UNSTAMPED, '')
            self.age_ns = 0
            if not MIN_STAMP <= now <= MAX_STAMP:
                self._note(Reason.INVALID_STAMP, f'the clock of this node is at {now} ns')
                return NEVER_STAMP
            return now
        self.age_ns = now - stamp
        if now >= self._watch_end:
            self._watch_end = NEVER_STAMP
        elif -self.age_ns > self._step_back // 2:
            self._refuse(Reason.OUT_OF_ORDER, 'it is of the time before the clock went back')
            return NEVER_STAMP
        refusal = self._policies.age_refusal(self.age_ns)
        if refusal is not None:
            self._refuse(refusal, f'{abs(self.age):.3f} s')
            return NEVER_STAMP
        if self._policies.is_offset(self.age_ns):
            self._note_clock_offset()
        return stamp

    def _note_clock_offset(self) -> None:
        self._note(
            Reason.CLOCK_OFFSET,
            f'by {self.age:.3f} s: a replay without use_sim_time, '
            'clocks that are not synchronized, or an overloaded machine',
        )

    def _note(self, reason: Reason, detail: str) -> None:
        self.records.setdefault(reason, Occurrences()).note(self._arrival, detail)

    def _refuse(self, reason: Reason, detail: str) -> bool:
        self.refused = reason
        self._note(reason, detail)
        return False
