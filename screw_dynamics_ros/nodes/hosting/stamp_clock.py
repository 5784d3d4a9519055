# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The clock with which stamps of joint states are compared."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.clock import ClockChange, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.node import Node

from screw_dynamics_ros.ros.messages.cdr import stamp_of_clock
from screw_dynamics_ros.ros.process.faults import FAULTS

MIN_JUMP = 10**7  # of simulated time, back [ns]


class StampClock:
    """The clock of a node; without simulated time the system clock, which is faster to read.

    Parameters
    ----------
    node : rclpy.node.Node
    restart : callable
        Called with the time [ns] by which simulated time went back, as a recording in a loop does.
    """

    def __init__(self, node: Node, restart: Callable[[int], None]) -> None:
        self._clock, self._restart = node.get_clock(), restart
        self._follow()
        self._jumps = self._clock.create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-MIN_JUMP)),
            post_callback=FAULTS.guarded('a jump of the clock', self._on_jump),
        )

    def now(self) -> int:
        """Return the time as a stamp [ns]."""
        if self._has_ros_time:
            return stamp_of_clock(self._clock.now().nanoseconds)
        return stamp_of_clock(time.time_ns())

    def _on_jump(self, jump: TimeJump) -> None:
        self._follow()
        if jump.clock_change == ClockChange.ROS_TIME_NO_CHANGE and jump.delta.nanoseconds < 0:
            self._restart(-jump.delta.nanoseconds)

    def _follow(self) -> None:
        self._has_ros_time = self._clock.ros_time_is_active
