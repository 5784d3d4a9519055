# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Timers of real time, independent of /clock."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer

from .faults import FAULTS


def every(node: Node, period: float, callback: Callable[[], None]) -> Timer:
    """Call `callback` each `period` [s] of real time, also while simulated time is paused.

    Its exceptions are caught.
    """
    guarded = FAULTS.guarded(f'timer {getattr(callback, "__qualname__", "")}', callback)
    return node.create_timer(period, guarded, clock=Clock(clock_type=ClockType.STEADY_TIME))
