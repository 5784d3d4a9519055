# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers of joint states for outputs that Python computes after the state has been answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from screw_dynamics_ros.core.compile.typed.functions import Floats, typed
from screw_dynamics_ros.core.compile.typed.records import Record
from screw_dynamics_ros.core.types import Array

from ..joint_states.policies import NEVER_STAMP

SIZE = 16  # states that may wait for Python


class Copy(Record):
    """Numbers (n,) to be copied."""

    target: Floats
    source: Floats

    def __init__(self, target: Array, source: Array) -> None:
        self.target, self.source = target, source


@typed
def copy(numbers: Copy) -> None:
    """Copy numbers."""
    for k in range(len(numbers.source)):
        numbers.target[k] = numbers.source[k]


class SnapshotEntry(Record):
    """The numbers of one state, with its stamp [ns]."""

    stamp: int
    copies: tuple[Copy, ...]

    def __init__(self, sources: Sequence[Array]) -> None:
        self.arrays = [np.empty_like(each) for each in sources]
        self.copies = tuple(map(Copy, self.arrays, sources))


class StateSnapshot(Record):
    """The numbers of the latest states, which Python uses; see `take_snapshot`.

    Parameters
    ----------
    sources : callable
        Returns the arrays that are copied at a state; called by `connect`.
    function : callable
        ``function(stamp, *arrays)`` is called for each state with copies that it may keep.

    Attributes
    ----------
    number : int
        Of the last state.
    stamp : int
        Its stamp [ns], `NEVER_STAMP` without one.
    taken : int
        Number of states so far.
    entries : tuple of SnapshotEntry
        Those of the last states, in turn.
    """

    number: int
    stamp: int
    taken: int
    entries: tuple[SnapshotEntry, ...]

    def __init__(
        self, sources: Callable[[], Sequence[Array]], function: Callable[..., None]
    ) -> None:
        self._sources, self._function = sources, function
        self.stamp, self._used = NEVER_STAMP, 0

    def connect(self) -> None:
        """Use the arrays of the model; states that wait stay if the snapshot has them already."""
        self.entries = self.entries or tuple(SnapshotEntry(self._sources()) for _ in range(SIZE))

    def use(self) -> None:
        """Call the function for the states since the last call, at most `SIZE` - 1.

        Those that arrive meanwhile are for the next call.
        """
        end = self.taken
        while self._used < end:
            self._used = max(self._used, self.taken - SIZE + 1)
            entry = self.entries[self._used % SIZE]
            stamp, arrays = entry.stamp, [each.copy() for each in entry.arrays]
            if self.taken - self._used < SIZE:  # not overwritten meanwhile
                self._used += 1
                self._function(stamp, *arrays)
