# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Timers of real time, independent of /clock."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from screw_dynamics_ros.ros.process.faults import FAULTS


def every(node: Node, period: float, callback: Callable[[], None]) -> None:
    """Call `callback` each `period` [s] of real time, also while simulated time is paused.

    Its exceptions are caught.
    """
    guarded = FAULTS.guarded(f'timer {getattr(callback, "__qualname__", "")}', callback)
    node.create_timer(period, guarded, clock=Clock(clock_type=ClockType.STEADY_TIME))


class RateLimit:
    """Returns True at most at a rate of real time [Hz].

    Attributes
    ----------
    due : (2,) array
        When it returns True again, on the monotonic clock, and the period [s].
    """

    def __init__(self, rate: float) -> None:
        self.due = np.array([0.0, 1.0 / rate])

    def __call__(self) -> bool:
        """Whether something is due now."""
        now = time.monotonic()
        if now < self.due[0]:
            return False
        self.due[0] = now + self.due[1]
        return True
