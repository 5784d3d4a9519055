# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the simulation runs, and why not: paused, stopped by a fault, waiting for a client."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.errors import ScrewDynamicsError


class RefusedError(ScrewDynamicsError):
    """A request that cannot be met in the present state of the simulation."""


class RunState:
    """Running or paused; stopped by a divergence; in lock step waiting for an answer.

    A stop lasts until the simulation has another state, by a reset or by setting it: from the last
    one it would diverge again.

    Parameters
    ----------
    paused : bool

    Attributes
    ----------
    paused : bool
    stopped : str
        Why the simulation cannot go on; empty if it can.
    awaited : int or None
        Stamp of the joint state that waits for an answer [ns].
    """

    def __init__(self, paused: bool = False) -> None:
        self.paused, self.stopped = paused, ''
        self.awaited: int | None = None
        self._asked, self._missing = math.inf, 0

    @property
    def is_running(self) -> bool:
        """Whether time runs, now or as soon as a response arrives."""
        return not (self.paused or self.stopped)

    def pause(self) -> None:
        """Pause; has no effect if already paused."""
        self.paused = True

    def resume(self, now: float) -> None:
        """End a pause at a real time [s]; raises `RefusedError` if the simulation has stopped."""
        self._check_stopped()
        if self.paused:
            self.paused, self._asked = False, now

    def check_step(self) -> None:
        """Raise `RefusedError` unless single steps may be made: during a pause."""
        self._check_stopped()
        if not self.paused:
            raise RefusedError('the simulation runs; call ~/pause with data: true first')

    def stop(self, reason: str) -> None:
        """Stop where the motion cannot be followed."""
        self.stopped, self.awaited = reason, None

    def replaced(self) -> None:
        """Note that the simulation has got another state, from which it can go on."""
        self.stopped, self.awaited = '', None

    def wait_for_answer(self, stamp: int, now: float, commands: int = 1) -> None:
        """Wait, from the real time `now` [s], for the answer to the joint state of a stamp [ns].

        It consists of so many commands.
        """
        self.awaited, self._asked, self._missing = stamp, now, commands

    def answered(self, stamp: int = 0) -> bool:
        """Take a command for a part of the answer; return whether that is complete now.

        Commands with a nonzero stamp [ns] older than the joint state are ignored.
        """
        if self.awaited is None or 0 < stamp < self.awaited:
            return False
        self._missing -= 1
        if self._missing > 0:
            return False
        self.awaited = None
        return True

    def given_up(self, now: float, timeout: float) -> bool:
        """Whether an answer has not come within a time [s]; it is not waited for any more then."""
        if self.awaited is None or not timeout or now - self._asked < timeout:
            return False
        self.awaited = None
        return True

    def _check_stopped(self) -> None:
        if self.stopped:
            raise RefusedError(
                f'the simulation has stopped: {self.stopped}; call ~/reset, or set a state first'
            )
