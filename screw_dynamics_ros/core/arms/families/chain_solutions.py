# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Solutions of a chain before its joint limits are looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from screw_dynamics_ros.core.types import Array

from .polishing import CHECKS, FULL_TURN

#: Joint positions [rad, m] below which two solutions are the same one.
DUPLICATE_TOLERANCE = 1e-6
#: Difference of the numbers of `polishing.polished` above which two solutions certainly differ.
MIN_DISTINCT_DIFFERENCE = 1e-5
Lost = tuple[Array, Array, Array, list[int]]
NONE_LOST: Lost = (np.empty((0, 0)), np.empty(0, dtype=int), np.empty((0, CHECKS)), [])


@dataclass(eq=False, slots=True)
class ChainSolutions:
    """Solutions of a chain, without regard to limits and multiples of 2 pi.

    Attributes
    ----------
    q : (k, n) array
    checks : (k, 4) array
        Residual, det(J J^T), distance from the limits, number; see `polishing.polished`.
    branches : (k,) array of int
    lost : tuple of arrays
        ChainSolutions that are no solutions: q, branches, residuals.
    inside : bool
        Whether all are certainly within the limits.
    """

    q: Array
    checks: Array
    branches: Array
    lost: Lost = NONE_LOST
    labels: tuple[str, ...] = ('',)
    name: str = ''
    bound: int = 0
    doubt: str = ''
    inside: bool = False

    def __len__(self) -> int:
        return len(self.q)


def merged(*several: ChainSolutions) -> ChainSolutions:
    """Return solutions together, each once, the one with the smallest residual."""
    if len(several) == 1 and len(several[0].q) < 2:
        return several[0]
    if len(several) == 1 and are_distinct(several[0].checks):
        return several[0]
    q = np.concatenate([each.q for each in several])
    checks = np.concatenate([each.checks for each in several])
    branches = np.concatenate([each.branches for each in several])
    away = np.abs(q[:, None] - q)
    same = (np.abs(away - FULL_TURN * np.round(away / FULL_TURN)) <= DUPLICATE_TOLERANCE).all(
        axis=2
    )
    if len(several) == 1 and np.count_nonzero(same) == len(q):
        return several[0]
    rank = np.empty(len(q), dtype=int)
    rank[np.argsort(checks[:, 0], kind='stable')] = np.arange(len(q))
    kept = ~(same & (rank < rank[:, None])).any(axis=1)
    return replace(several[0], q=q[kept], checks=checks[kept], branches=branches[kept])


def are_distinct(checks: Array) -> bool:
    """Return whether configurations certainly differ."""
    numbers = np.sort(checks[:, 3])
    return bool((numbers[1:] - numbers[:-1]).min() > MIN_DISTINCT_DIFFERENCE)


def distances(q: Array, other: Array) -> Array:
    """Return the distances of the joint furthest away, up to multiples of 2 pi, (k,)."""
    away = q - other
    return np.asarray(np.abs(away - FULL_TURN * np.round(away / FULL_TURN)).max(axis=-1))
