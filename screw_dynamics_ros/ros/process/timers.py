# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Timers of real time, independent of /clock, and ones that run after a joint state.

Deferred work is one callback at a time, after the outputs of a joint state have been sent. Statuses
and the search for subscribers take as long as a joint state. Between two joint states at 500 Hz
there is time for one such callback, not for all that are due.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from .faults import FAULTS

IDLE_TIME_S = 0.05  # without a joint state, after which timers run at once
MIN_SPACING_S = 0.01  # between two callbacks while joint states arrive


def every(node: Node, period: float, callback: Callable[[], None]) -> None:
    """Call `callback` each `period` [s] of real time, also while simulated time is paused.

    Its exceptions are caught.
    """
    guarded = FAULTS.guarded(f'timer {getattr(callback, "__qualname__", "")}', callback)
    node.create_timer(period, guarded, clock=Clock(clock_type=ClockType.STEADY_TIME))


class DeferredWork:
    """Timers whose callbacks run after a joint state.

    Parameters
    ----------
    node : rclpy.node.Node
        Owner of the timers.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: deque[Callable[[], None]] = deque()
        self._last_state = self._last_work = -math.inf

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """Call `callback` each `period` [s] of real time, between joint states if they arrive."""

        def offer() -> None:
            if callback not in self._waiting:
                self._waiting.append(callback)
            if time.monotonic() - self._last_state > IDLE_TIME_S:
                while self._waiting:
                    self._waiting.popleft()()

        every(self._node, period, offer)

    def use(self) -> None:
        """Run the callback that has waited longest; to be called after each joint state."""
        self._last_state = time.monotonic()
        if self._waiting and self._last_state - self._last_work > MIN_SPACING_S:
            self._last_work = self._last_state
            self._waiting.popleft()()
