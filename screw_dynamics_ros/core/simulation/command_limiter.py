# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of effort commands as ros2_control enforces them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..types import Array


@dataclass(frozen=True, eq=False)
class CommandLimiter:
    """The limiter of controller_manager, with the parameter enforce_command_limits.

    At a position limit a joint that does not leave it gets efforts away from the limit only; beyond
    the velocity limit it gets efforts against the motion only.

    Source: `compute_effort_limits` in joint_limits_helpers.cpp of ros2_control, commit 057d3673.

    Attributes
    ----------
    lower, upper, velocity, effort : (n,) arrays
        Limits of joints [rad, m; rad/s, m/s; N m, N]; infinite for no limit.
    """

    lower: Array
    upper: Array
    velocity: Array
    effort: Array

    def limited(self, efforts: Array, q: Array, v: Array) -> Array:
        """Return the commands that pass in a state, (n,) each.

        Examples
        --------
        >>> one = CommandLimiter(*np.array([[-1.0], [1.0], [2.0], [10.0]]))
        >>> for q, v in ((0.0, 0.0), (1.0, 0.0), (1.0, -0.1), (0.0, 2.1)):
        ...     one.limited(np.array([12.0]), np.array([q]), np.array([v])).tolist()
        [10.0]
        [0.0]
        [10.0]
        [0.0]
        """
        at_lower = (q <= self.lower) & (v <= 0.0)
        at_upper = (q >= self.upper) & (v >= 0.0) & ~at_lower
        lowest = np.where(at_lower | (v < -self.velocity), 0.0, -self.effort)
        highest = np.where(at_upper | (v > self.velocity), 0.0, self.effort)
        result: Array = np.clip(efforts, lowest, highest)
        return result
