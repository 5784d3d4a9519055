# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Filter of commanded twists: feasibility, limits, timeout."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from screw_dynamics_ros.core.arguments import vector
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile.command_limits import TwistLimiter, admissible_twist
from screw_dynamics_ros.core.mobile.wheeled_platform import WheeledPlatform
from screw_dynamics_ros.core.types import Array

from .parameters import axis_limits

CHANGE_TOLERANCE = 1e-9  # rad/s, m/s
MAX_COMMAND = 1e6  # rad/s, m/s; numbers are still accurate after hours of open loop


class CommandFilter:
    """Returns the feasible and limited part of the newest command.

    Parameters
    ----------
    platform : WheeledPlatform
    values : callable
        Returns the active parameters.

    Attributes
    ----------
    acting : str
        Reasons for changes to the current command; '' if it is unchanged.
    """

    def __init__(self, platform: WheeledPlatform, values: Callable[[], Mapping[str, Any]]) -> None:
        self._platform, self._values = platform, values
        self._limiter = TwistLimiter(axis_limits(values()))
        self._command, self._since = np.zeros(3), -math.inf
        self._resting, self.acting = True, ''

    def adapt(self) -> None:
        """Adopt changed limits; the motion continues from the last twist."""
        self._limiter = self._limiter.with_axes(axis_limits(self._values()))

    def take(self, twist: ArrayLike, now: float) -> None:
        """Activate a command (omega, v_x, v_y) at a time [s], for cmd_vel_timeout.

        Raises `ArgumentError` if it is not finite, or above `MAX_COMMAND`; the previous command
        stays active.
        """
        wanted = vector('the command', 3, twist)
        if not (np.abs(wanted) <= MAX_COMMAND).all():
            raise ArgumentError(
                f'a component is not finite, or above {MAX_COMMAND:g}: {wanted.tolist()}'
            )
        self._command, self._since = wanted, now
        self._resting = False

    def next(self, now: float, dt: float) -> Array | None:
        """Return the twist for now, dt [s] after the previous one; None at rest.

        The last twist before rest is zero.
        """
        if self._resting:
            return None
        values = self._values()
        # After the clock was set back, the command seems to be from the future.
        is_fresh = abs(now - self._since) <= values['cmd_vel_timeout']
        wanted = self._command if is_fresh else np.zeros(3)
        possible = self._curved(admissible_twist(self._platform, wanted, values['filter_length']))
        given = self._curved(self._limiter.limit(possible, dt))
        reasons = [] if is_fresh else ['the command has timed out']
        if np.abs(possible - wanted).max() > CHANGE_TOLERANCE:
            reasons.append('not feasible for the platform')
        if self._limiter.acted:
            reasons.append('limits')
        self.acting = ', '.join(reasons)
        if not is_fresh and not given.any():
            self._resting, self.acting = True, ''
            self._limiter.restart()
        return given

    def _curved(self, twist: Array) -> Array:
        """Return the twist with a curvature that the steering can reach."""
        values = self._values()
        angle = values['max_steering_angle']
        if not angle or values['platform'] not in ('bicycle', 'ackermann'):
            return twist
        most = abs(twist[1]) * math.tan(angle) / values['wheelbase']
        return np.array([min(max(twist[0], -most), most), *twist[1:]])
