# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Statistics of joint states: arrivals, processing times, skipped states."""

from __future__ import annotations

import math
import time

from screw_dynamics_ros.ros.data_path.records import LoadCounts, count_message

MAX_LOSS_SHARE = 0.1  # fraction of lost or merged joint states above which a warning is reported


class Load(LoadCounts):
    """Counts and processing times of joint states, since the last report and in total."""

    def __init__(self) -> None:
        self.started = self.last_arrival = time.monotonic()
        self.overflows = self.unreadables = self.late = 0
        self.delay = 0.0
        self.last_overflow = self.last_unreadable = self.last_late = -math.inf
        self.unreadable_reason = ''
        self.loses = False
        self._reported = self.started
        self._reset()

    def _reset(self) -> None:
        self.count, self.served, self.busy, self.longest = 0, 0, 0.0, 0.0
        self._lost = self.lost

    def arrived(self, now: float) -> None:
        """Count a message that arrived at `now` on the monotonic clock [s]."""
        count_message(self, now)

    def was_late(self, now: float, delay: float) -> None:
        """Count a state that was skipped because of its delay [s]."""
        self.late += 1
        self.last_late, self.delay = now, delay

    def overflowed(self, now: float) -> None:
        """Count a state whose results were not finite."""
        self.overflows += 1
        self.last_overflow = now

    def unreadable(self, now: float, error: Exception) -> None:
        """Record a message that cannot be deserialized."""
        self.unreadables += 1
        self.last_unreadable = now
        self.unreadable_reason = str(error)

    def take(self, now: float) -> dict[str, str]:
        """Return rates and times since the last report, and reset them."""
        interval = max(now - self._reported, 1e-9)
        self.loses = self.lost - self._lost > MAX_LOSS_SHARE * (self.count + self.lost - self._lost)
        values = {'rate [Hz]': f'{self.count / interval:.1f}'}
        if self.served:
            values['processing mean [us]'] = f'{self.busy / self.served * 1e6:.1f}'
            values['processing longest [us]'] = f'{self.longest * 1e6:.1f}'
        self._reported = now
        self._reset()
        return values
