# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Singularity measures as typed functions, also for the compiled loop.

The measures are those of `core.arms.inverse.manipulability`. With the Cholesky factor L of the
joint metric M = L L^T, the singular values of D J M^(-1/2) are those of D J L^-T.
"""

from __future__ import annotations

import math

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.lie.screw_systems import TOLERANCE
from screw_dynamics_ros.core.measurement.estimation.triangular import divide, factorize
from screw_dynamics_ros.core.measurement.estimation.wrench_decomposition import (
    Decomposition,
    decompose,
)
from screw_dynamics_ros.ros.data_path.loop import compiled_step
from screw_dynamics_ros.ros.data_path.records import LoopRecord
from screw_dynamics_ros.ros.topics.channel_record import NOT_VALID, VALID


class LinkState(Record):
    """What the measures of a link are computed from and written to.

    Attributes
    ----------
    freedoms : int
        Largest rank of the Jacobian.
    decomposition : Decomposition
    jacobian : (6 n,) array
    metric : (n n,) array or None
        Joint metric, None for the identity.
    scaled : ((6 + n) n,) array
        J L^-T, then L.
    numbers : (4,) array
        `MEASURES`.
    """

    freedoms: int
    decomposition: Decomposition
    jacobian: Floats
    metric: Floats | None
    scaled: Floats
    numbers: Floats


@compiled_step
def fill_measures(link: LinkState, loop: LoopRecord) -> int:
    """Write the measures of the current state, unless one of them cannot be published."""
    d = link.decomposition
    n = d.joints
    if link.metric is not None:
        factor = link.scaled[6 * n :]
        factorize(link.metric, factor, n)
        divide(link.jacobian, factor, link.scaled, 6, n)
        decompose(d, link.scaled)
    else:
        decompose(d, link.jacobian)
    is_set = set_measures(d.singular_values, link.freedoms, link.numbers)
    return VALID if is_set else NOT_VALID


@typed
def set_measures(s: Floats, freedoms: int, numbers: Floats) -> bool:
    """Set `MEASURES` (4,) unless one is NaN, or another than the condition number is infinite."""
    smallest = s[freedoms - 1] if freedoms > 0 else 0.0
    rank = 0
    product = 1.0 if freedoms > 0 else 0.0
    for k in range(freedoms):
        if s[k] > TOLERANCE * s[0]:
            rank += 1
        product = product * s[k]
    if not (math.isfinite(smallest) and math.isfinite(product)):
        return False
    numbers[0] = smallest
    numbers[1] = s[0] / smallest if rank == freedoms and smallest > 0.0 else math.inf
    numbers[2] = float(rank)
    numbers[3] = product
    return True
