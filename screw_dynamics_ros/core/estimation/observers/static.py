# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Static observer of external torques: C v + g + f minus the measured efforts."""

from __future__ import annotations

from collections.abc import Mapping

from ...types import Array
from .observer import Observer, Sample


class Static(Observer):
    """External torques with neglected accelerations; has no state."""

    text = 'as if nothing accelerated'
    torques_read = ('static_torque',)

    def state_size(self, n: int) -> int:
        """Return 0."""
        return 0

    def advance(self, state: Array, sample: Sample) -> Array:
        """Return the empty state."""
        return state

    def torques(self, n: int, state: Array, given: Mapping[str, Array]) -> Array:
        """Return the external torques (n,)."""
        return given['static_torque']

    def settling_time(self, time_constant: float) -> int:
        """Return 0: samples are independent."""
        return 0
