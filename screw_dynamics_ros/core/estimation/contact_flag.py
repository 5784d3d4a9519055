# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The flag of contacts: external torques beyond thresholds, constant ones or those of a model."""

from __future__ import annotations

import math

import numpy as np

from ..compile.typed.functions import Floats, typed
from .residual_model import set_doubts
from .residual_offset import ResidualOffset
from .threshold_flag import ThresholdFlag


class ContactFlag(ThresholdFlag):
    """A flag of the external torques of n joints; none has a threshold at first.

    Parameters
    ----------
    joints : int
        n.

    Attributes
    ----------
    is_monitored : bool
        Whether any joint has a threshold.
    offset : ResidualOffset or None
        With the model whose deviations determine the thresholds.
    factors : (n,) array
        Thresholds divided by these deviations with noise; 0 for joints with constant thresholds.
    release_ratio : float
        Lower thresholds divided by upper ones, both without `widening`.
    widening : (n,) array
        Added to both, see `FrictionDrift` [N m, N].
    """

    is_monitored: bool
    offset: ResidualOffset | None
    factors: Floats
    release_ratio: float
    widening: Floats

    def __init__(self, joints: int) -> None:
        never = np.full(joints, math.inf)
        super().__init__(never, never, 0.0, 0.0)
        self.factors, self.widening = np.zeros(joints), np.zeros(joints)


@typed
def set_thresholds_of_state(flag: ContactFlag, offset: ResidualOffset) -> None:
    """Set the thresholds of joints with a model for its last state."""
    m = offset.model
    if m is None or len(m.last) == 0:
        return
    set_doubts(m)
    for j in range(len(flag.factors)):
        if flag.factors[j] > 0.0:
            square = m.deviations[j] * m.deviations[j] + m.noise[j] * m.noise[j] + m.doubts[j]
            upper = flag.factors[j] * math.sqrt(square)
            flag.upper[j] = upper + flag.widening[j]
            flag.lower[j] = flag.release_ratio * upper + flag.widening[j]
