# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States from recorded joint states, computed by the code of the nodes, many messages at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array

from ..joint_states.contents import JointStateMessage
from ..joint_states.mapper import JointStateMapper
from .blocks import Block
from .stacks import JointStateStack, joint_state_stacks

MIN_RUN_LENGTH = 16  # messages processed together after an irregular one


class States(NamedTuple):
    """States of the joints of a mapper, in its order.

    Attributes
    ----------
    stamps, received : (N,) arrays of int
        Stamp of each state, and recording time of the message that completed it [ns].
    q, v, tau : (N, n) arrays
        Positions, velocities and torques; NaN in states without velocities or torques.
    restarted : (N,) array of bool
        States after a pause or after time went backwards.
    """

    stamps: NDArray[np.int64]
    received: NDArray[np.int64]
    q: Array
    v: Array
    tau: Array
    restarted: NDArray[np.bool_]

    def part(self, which: slice) -> States:
        """Return some of the states."""
        stamps, received, q, v, tau, restarted = self
        return States(
            stamps[which], received[which], q[which], v[which], tau[which], restarted[which]
        )

    def first(self, count: int) -> States:
        """Return the first `count` states."""
        return self.part(slice(count))

    @classmethod
    def joined(cls, parts: Iterable[States]) -> States:
        """Return concatenated states; at least one part is required."""
        return cls(*(np.concatenate(each) for each in zip(*parts)))


class StateMaker:
    """Computes states from recorded messages.

    Parameters
    ----------
    mapper : JointStateMapper
        Its clock is set to the recording time, as for a node that ran during the recording.
    """

    def __init__(self, mapper: JointStateMapper) -> None:
        self.mapper = mapper
        self._now = 0
        mapper.clock = lambda: self._now

    def states(self, blocks: Iterable[Block]) -> Iterator[States]:
        """Yield the states from each block with at least one."""
        for block in blocks:
            parts = [
                part
                for stack, first, last in runs(list(joint_state_stacks(block)), len(block.sizes))
                for part in self._run(stack, first, last, block.received)
            ]
            if parts:
                yield States.joined(parts)

    def _run(
        self, stack: JointStateStack, first: int, end: int, received: NDArray[np.int64]
    ) -> Iterator[States]:
        """Yield the states from consecutive messages of one layout."""
        clocks, length = received[stack.rows], MIN_RUN_LENGTH
        while first < end:
            some = slice(first, min(first + length, end))
            taken = np.zeros(0)
            if stack.refusal is None:
                taken = self.mapper.update_run(
                    stack.layout, stack.numbers[some], stack.stamps[some], clocks[some]
                )
            if len(taken):
                some = slice(first, first + len(taken))
                q, v, tau = taken[:, 0], taken[:, 1], taken[:, 2]
                if not self.mapper.has_effort:
                    tau[:] = np.nan
                restarted = np.zeros(len(taken), dtype=bool)
                yield States(stack.stamps[some], clocks[some], q, v, tau, restarted)
                first, length = some.stop, 2 * length
            else:
                yield from self._single(stack, first, int(clocks[first]))
                first, length = first + 1, MIN_RUN_LENGTH

    def _single(self, stack: JointStateStack, row: int, received: int) -> Iterator[States]:
        """Yield the state from one message, if it completes one."""
        self._now, mapper = received, self.mapper
        if stack.refusal is not None:
            message = JointStateMessage.refused(stack.refusal, '')
        else:
            numbers, stamp = stack.numbers[row], int(stack.stamps[row])
            message = JointStateMessage(stack.layout, numbers, stamp)
        if not mapper.update(message, received * 1e-9):
            return
        q, v, tau = mapper.q.copy(), mapper.v.copy(), mapper.tau.copy()
        if not mapper.has_velocity:
            v[:] = np.nan
        if not mapper.has_effort:
            tau[:] = np.nan
        yield States(
            np.array([mapper.stamp], dtype=np.int64),
            np.array([received], dtype=np.int64),
            q[None],
            v[None],
            tau[None],
            np.array([mapper.restarted]),
        )


def runs(stacks: list[JointStateStack], count: int) -> Iterator[tuple[JointStateStack, int, int]]:
    """Yield (stack, first, end): consecutive messages of one layout in the block."""
    which, place = np.zeros(count, dtype=np.intp), np.zeros(count, dtype=np.intp)
    for k, stack in enumerate(stacks):
        which[stack.rows], place[stack.rows] = k, np.arange(len(stack.rows))
    edges = np.flatnonzero(np.diff(which)) + 1
    for first, end in zip([0, *edges], [*edges, count]):
        if end > first:
            yield stacks[which[first]], int(place[first]), int(place[end - 1]) + 1
