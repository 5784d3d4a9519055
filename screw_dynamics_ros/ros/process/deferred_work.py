# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Deferred work: one callback at a time after a joint state, when its outputs are sent.

Statuses and the search for subscribers take as long as a joint state. Between two joint states at
500 Hz there is time for one of them, not for all that are due at once.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from rclpy.node import Node

from screw_dynamics_ros.ros.process.timers import every

IDLE_TIME_S = 0.05  # without a joint state, from which timers need not wait for one
MIN_SPACING_S = 0.01  # between two pieces while joint states come


class DeferredWork:
    """Timers whose callbacks run after a joint state.

    Parameters
    ----------
    node : rclpy.node.Node
        Has the timers.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._waiting: deque[Callable[[], None]] = deque()
        self._last_state = self._last_work = -math.inf

    def every(self, period: float, callback: Callable[[], None]) -> None:
        """Call `callback` each `period` [s] of real time, between joint states if there are any."""

        def offer() -> None:
            if callback not in self._waiting:
                self._waiting.append(callback)
            if time.monotonic() - self._last_state > IDLE_TIME_S:
                while self._waiting:
                    self._waiting.popleft()()

        every(self._node, period, offer)

    def use(self) -> None:
        """Make the call that has waited longest; to be called after each joint state."""
        self._last_state = time.monotonic()
        if self._waiting and self._last_state - self._last_work > MIN_SPACING_S:
            self._last_work = self._last_state
            self._waiting.popleft()()
