# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run state of a simulation: running, paused, stopped by a fault, or waiting for a command."""

from __future__ import annotations

import math

from screw_dynamics_ros.core.errors import ScrewDynamicsError


class RefusedError(ScrewDynamicsError):
    """A request that is not possible in the current state of the simulation."""


class RunState:
    """Running or paused; stopped by a divergence; in lock step waiting for commands.

    A stop lasts until the state is reset or set: from the last state the simulation would diverge
    again.

    Parameters
    ----------
    paused : bool

    Attributes
    ----------
    paused : bool
    stopped : str
        Reason for the stop; empty if the simulation can continue.
    awaited : int or None
        Stamp of the joint state that is waiting for commands [ns].
    """

    def __init__(self, paused: bool = False) -> None:
        self.paused, self.stopped = paused, ''
        self.awaited: int | None = None
        self._asked, self._missing = math.inf, 0

    @property
    def is_running(self) -> bool:
        """Whether time runs, now or as soon as a command arrives."""
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
        """Raise `RefusedError` unless the simulation is paused, which permits single steps."""
        self._check_stopped()
        if not self.paused:
            raise RefusedError('the simulation is running; call ~/pause with data: true first')

    def stop(self, reason: str) -> None:
        """Stop the simulation for a reason, such as a divergence."""
        self.stopped, self.awaited = reason, None

    def replaced(self) -> None:
        """End a stop, because the state was reset or set."""
        self.stopped, self.awaited = '', None

    def wait_for_answer(self, stamp: int, now: float, commands: int = 1) -> None:
        """Wait, from real time `now` [s], for a number of commands that answer a stamp [ns]."""
        self.awaited, self._asked, self._missing = stamp, now, commands

    def answered(self, stamp: int = 0) -> bool:
        """Count a command; return whether all expected commands have arrived.

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
        """Whether the commands did not arrive within a timeout [s]; then stop waiting."""
        if self.awaited is None or not timeout or now - self._asked < timeout:
            return False
        self.awaited = None
        return True

    def _check_stopped(self) -> None:
        if self.stopped:
            raise RefusedError(
                f'the simulation has stopped: {self.stopped}; call ~/reset, or set a state first'
            )
