"""Timers that run on whatever happens to /clock."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node


def every(node: Node, period: float, callback: Callable[[], None]) -> None:
    """Call `callback` each `period` [s] of real time, also when simulated time stands still."""
    node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))
