# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Places in the workspace of a kernel, for values that one function leaves for another."""

from __future__ import annotations

from collections import defaultdict


class Workspace:
    """Hands out places, and those that are free again before new ones: it stays in the cache.

    Attributes
    ----------
    size : int
        Places that there must be.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: defaultdict[int, list[int]] = defaultdict(list)  # by how many they are

    def take(self, count: int = 1) -> int:
        """Return the first of `count` places, one after the other."""
        if self._free[count]:
            return self._free[count].pop()
        self.size += count
        return self.size - count

    def free(self, place: int, count: int = 1) -> None:
        """Give back what `take` has returned."""
        self._free[count].append(place)
