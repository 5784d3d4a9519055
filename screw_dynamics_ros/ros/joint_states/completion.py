# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States of all joints from those that messages report, where these are not the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from screw_dynamics_ros.core.compile.typed.external import Signature
from screw_dynamics_ros.core.compile.typed.functions import Floats
from screw_dynamics_ros.core.compile.typed.records import Opaque, Record
from screw_dynamics_ros.core.types import Array

COMPLETED = 0  # result of a completion; others are reasons

completing = Signature(('address',), 'i64')


class Completion(Record):
    """Completes the measured state of a mechanism.

    Parameters
    ----------
    code : Opaque
    joints : sequence of str
    measured : int
        k.
    has_efforts : bool

    Attributes
    ----------
    code : Opaque
        The typed function of this record: it sets `state` for `measured` and returns `COMPLETED`,
        or another number if that is not possible.
    measured, state : (3 k,) and (3 n,) arrays
        Positions, velocities and efforts of the joints with sensors, and of all joints.
    joints : tuple of str
        All joints, in the order of complete states.
    has_efforts : bool
        Whether the joints with sensors include all joints with motors.
    """

    code: Opaque
    measured: Floats
    state: Floats

    def __init__(
        self, code: Opaque, joints: Sequence[str], measured: int, has_efforts: bool
    ) -> None:
        self.joints, self.has_efforts, self.code = tuple(joints), has_efforts, code
        self.measured, self.state = np.zeros(3 * measured), np.zeros(3 * len(self.joints))

    def complete(self, measured: Array, state: Array) -> str:
        """Write positions, velocities and efforts (3, n) of all joints for (3, k) measured ones.

        Returns why that is not possible, with `state` left as it was, or an empty text.
        """
        self.measured[:] = measured.reshape(-1)
        result = completing(self.code, self)
        if result != COMPLETED:
            return self.reason(result)
        state.reshape(-1)[:] = self.state
        return ''

    def reason(self, result: int) -> str:
        """Return what another result than `COMPLETED` means."""
        raise NotImplementedError

    def restart(self) -> None:
        """Discard the history of the joints: time has restarted."""
