# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Allocation of the workspace of a program, for values shared between functions."""

from __future__ import annotations

from collections import defaultdict


class Workspace:
    """Allocates places, and reuses free ones first so that the workspace stays in the cache.

    Attributes
    ----------
    size : int
        Required number of places.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)  # by number of places

    def take(self, count: int = 1) -> int:
        """Return the first of `count` contiguous places."""
        if self._free[count]:
            return self._free[count].pop()
        self.size += count
        return self.size - count

    def free(self, place: int, count: int = 1) -> None:
        """Release the result of `take`."""
        self._free[count].append(place)
