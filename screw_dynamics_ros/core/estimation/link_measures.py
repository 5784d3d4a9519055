# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Singularity measures of a link as typed functions.

The measures are those of `core.arms.inverse.manipulability`. With the Cholesky factor L of the
joint metric M = L L^T, the singular values of D J M^(-1/2) are those of D J L^-T.
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.typed.functions import Floats, typed
from ..compile.typed.records import Record
from ..lie.screw_systems import TOLERANCE
from ..types import Array
from .triangular import divide, factorize
from .wrench_decomposition import Decomposition, decompose
from .wrench_observability import WrenchObservability


class LinkMeasures(Record):
    """The measures of one link in the current state.

    Parameters
    ----------
    joints : int
        n.
    freedoms : int
        The largest rank of the Jacobian.
    jacobian : (6, n) array
    metric : (n, n) array or None
        The joint metric, None for the identity.
    numbers : (4,) array
        Set to `MEASURES`. All are always the same arrays.

    Attributes
    ----------
    decomposition : Decomposition
    scaled : ((6 + n) n,) array
        J L^-T, then L.
    """

    freedoms: int
    decomposition: Decomposition
    jacobian: Floats
    metric: Floats | None
    scaled: Floats
    numbers: Floats

    def __init__(
        self, joints: int, freedoms: int, jacobian: Array, metric: Array | None, numbers: Array
    ) -> None:
        self.decomposition, self.freedoms = WrenchObservability(joints), freedoms
        self.jacobian, self.metric, self.numbers = jacobian, metric, numbers
        self.scaled = np.zeros((6 + joints) * joints)

    def set_length(self, length: float) -> None:
        """Set the characteristic length [m]."""
        self.decomposition.characteristic_length = length


@typed
def measure_link(link: LinkMeasures) -> bool:
    """Set the measures of the current state unless one of them is not valid: return whether."""
    d = link.decomposition
    n = d.joints
    if link.metric is not None:
        factor = link.scaled[6 * n :]
        factorize(link.metric, factor, n)
        divide(link.jacobian, factor, link.scaled, 6, n)
        decompose(d, link.scaled)
    else:
        decompose(d, link.jacobian)
    return set_measures(d.singular_values, link.freedoms, link.numbers)


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
