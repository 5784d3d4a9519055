# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of magnitude and of rate that commanded torques are kept to."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core.types import Array

from .command_report import LimitLog
from .command_settings import CommandSettings

ALMOST_ONE = 1.0 - 1e-9  # rounding


class CommandBounds:
    """Keeps torques to the `limits` and `rates` of settings, and notes in a log which acted.

    Attributes
    ----------
    upper, rates : (n,) arrays
        Limits of magnitude [N m, N] and of rates [N m/s, N/s], infinite for none.
    """

    def __init__(self, settings: CommandSettings, log: LimitLog) -> None:
        self._joints, self._log = tuple(settings.joints), log
        self.upper = np.array(settings.limits, dtype=np.float64)
        self._lower = -self.upper
        self.rates = np.array(settings.rates, dtype=np.float64)
        self._still = np.where(np.isinf(self.rates), np.inf, 0.0)  # change in no time
        self._least_times = 1.0 / self.rates  # for one unit of torque
        self._low, self._high = np.zeros_like(self.rates), np.zeros_like(self.rates)
        self.has_rates = bool(np.isfinite(self.rates).any())

    def limit(self, wanted: Array, limited: Array) -> None:
        """Write torques (n,) within their limits to `limited`, which may be `wanted`."""
        before = wanted.tolist()
        np.minimum(wanted, self.upper, out=limited)
        np.maximum(limited, self._lower, out=limited)
        after = limited.tolist()
        if before != after:
            self._log.note(self._joints, 'torque', before, after, self.upper.tolist())

    def limit_rates(self, target: Array, command: Array, dt: float) -> bool:
        """Bring `target` as near to the last command as rates need it; return whether it moved.

        Without time between the two (`dt` <= 0) only joints without a rate limit change.
        """
        low, high = self._low, self._high
        np.subtract(target, command, low)
        np.multiply(low, self._least_times, low)
        if dt > 0.0:
            if low.dot(low) < ALMOST_ONE * dt * dt:
                return False  # nearly always: no joint needs more time if the norm does not
            np.multiply(self.rates, dt, low)
        else:
            low[:] = self._still
        np.add(command, low, high)
        np.subtract(command, low, low)
        before = target.tolist()
        np.minimum(target, high, out=target)
        np.maximum(target, low, out=target)
        if before == target.tolist():
            return False
        wanted, given = (before - command).tolist(), (target - command).tolist()
        self._log.note(self._joints, 'rate', wanted, given, self.rates.tolist(), dt)
        return True
