# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The clock with which stamps of joint states are compared."""

from __future__ import annotations

import time
from typing import Any

from rclpy.clock import JumpThreshold
from rclpy.node import Node

from screw_dynamics_ros.ros.messages.cdr import stamp_of_clock


class StampClock:
    """The clock of a node; without simulated time the system clock, which is faster to read.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    def __init__(self, node: Node) -> None:
        self._clock = node.get_clock()
        self._follow()
        self._jumps = self._clock.create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=None), post_callback=self._follow
        )

    def now(self) -> int:
        """Return the time as a stamp [ns]."""
        if self._has_ros_time:
            return stamp_of_clock(self._clock.now().nanoseconds)
        return stamp_of_clock(time.time_ns())

    def _follow(self, _: Any = None) -> None:
        self._has_ros_time = self._clock.ros_time_is_active
