# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Interface of the mapper to complete the state of mechanisms with unmeasured joints."""

from __future__ import annotations

from typing import Protocol

from screw_dynamics_ros.core.types import Array


class Completion(Protocol):
    """Completes the measured state of a mechanism with loops.

    Attributes
    ----------
    joints : tuple of str
        All joints, in the order of complete states.
    has_efforts : bool
        Whether the joints with sensors include all joints with motors.
    """

    joints: tuple[str, ...]
    has_efforts: bool

    def complete(self, measured: Array, state: Array) -> str:
        """Write positions, velocities and efforts (3, n) of all joints for (3, k) measured ones.

        Returns why that is not possible, with `state` left as it was, or an empty text.
        """

    def restart(self) -> None:
        """Discard the history of the joints: time has restarted."""
