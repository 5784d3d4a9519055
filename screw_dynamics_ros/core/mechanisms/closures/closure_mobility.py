# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Freedoms of a mechanism with loops, from the rank of its closure Jacobian.

Source: Bruyninckx 2010, sections 5.5.4 and 5.8 (C-011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.types import Array

#: Singular values, relative to the largest, below which a matrix is taken to have lost rank.
RANK_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Mobility:
    """Freedoms at one configuration.

    Attributes
    ----------
    joint_freedoms : int
        Of the tree.
    equations : int
        Of all closures.
    rank : int
        How many of them are independent here.
    gained : int
        Freedoms of the passive joints while the actuated ones stand still: dim null(J_p).
    """

    joint_freedoms: int
    equations: int
    rank: int
    gained: int

    @property
    def mobility(self) -> int:
        """Freedoms of the mechanism: joint freedoms - rank."""
        return self.joint_freedoms - self.rank

    @property
    def redundant(self) -> int:
        """Equations that follow from the others: 3 of a planar loop of revolute joints."""
        return self.equations - self.rank


def rank(A: Array) -> int:
    """Return the numerical rank of a matrix; 0 of an empty one."""
    values = np.linalg.svd(A, compute_uv=False) if A.size else np.zeros(0)
    return int((values > RANK_TOLERANCE * max(1e-300, values.max(initial=0.0))).sum())


def mobility(J: Array, passive: Sequence[int]) -> Mobility:
    """Return the freedoms of a mechanism with closure Jacobian J, (c, n)."""
    passive = list(passive)
    return Mobility(J.shape[1], len(J), rank(J), len(passive) - rank(J[:, passive]))
