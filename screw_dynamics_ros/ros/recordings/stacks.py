# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stacks of serialized messages of one layout, read as arrays.

NumPy compares and reads all messages that differ in stamp and numbers only at once, also if a few
layouts alternate, as with several drivers on one topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array
from screw_dynamics_ros.core.units import NANOSECONDS

from ..joint_states.contents import JointStateLayout
from ..joint_states.layouts import located
from ..joint_states.policies import Reason
from ..messages.cdr import STAMP_OFFSET
from .blocks import Block

MAX_LAYOUTS = 64  # layouts in one block that are compared with all its messages

Bytes = NDArray[np.uint8]


class JointStateStack(NamedTuple):
    """Joint states of one layout.

    Attributes
    ----------
    layout : JointStateLayout
    rows : (k,) array of int
        Indices of the messages in the block.
    stamps : (k,) array of int
        [ns], 0 for none.
    numbers : (k, layout.size) array
        Positions, then velocities, then efforts.
    refusal : Reason, optional
        Why the messages cannot be used; the layout has no names then.
    """

    layout: JointStateLayout
    rows: NDArray[np.intp]
    stamps: NDArray[np.int64]
    numbers: Array
    refusal: Reason | None = None


EMPTY_LAYOUT = JointStateLayout((), 0, 0, 0)


def joint_state_stacks(block: Block) -> Iterator[JointStateStack]:
    """Yield the joint states of a block, grouped by layout.

    Messages that are not a JointState in little-endian CDR, the only encoding that rosbag2 records,
    are refused.
    """
    left = np.arange(len(block.sizes), dtype=np.intp)
    count = 0
    while len(left):
        count += 1
        data = block.message(int(left[0]))
        try:
            layout, fixed, places = located(data)
        except ValueError:
            yield refused(left[:1], Reason.UNREADABLE)
            left = left[1:]
            continue
        alike = left[block.sizes[left] == len(data)] if count <= MAX_LAYOUTS else left[:1]
        bytes_of = rows_of(block, alike, len(data))
        same = alike_in(bytes_of, np.frombuffer(data, np.uint8), fixed)
        rows, found = alike[same], bytes_of[same] if not same.all() else bytes_of
        yield from by_stamps(layout, rows, found, places)
        left = np.setdiff1d(left, rows, assume_unique=True)


def by_stamps(
    layout: JointStateLayout,
    rows: NDArray[np.intp],
    found: Bytes,
    places: Sequence[tuple[int, int]],
) -> Iterator[JointStateStack]:
    """Yield joint states of one layout, and separately those with an invalid stamp."""
    stamps, valid = stamps_of(found)
    if not valid.all():
        yield refused(rows[~valid], Reason.INVALID_STAMP)
        rows, found, stamps = rows[valid], found[valid], stamps[valid]
    if len(rows):
        numbers = np.concatenate([doubles(found, start, count) for start, count in places], axis=1)
        yield JointStateStack(layout, rows, stamps, numbers)


def alike_in(found: Bytes, data: Bytes, fixed: Sequence[range]) -> NDArray[np.bool_]:
    """Return which messages (k, size) equal `data` (size,) in the ranges `fixed`."""
    same = np.ones(len(found), dtype=bool)
    for part in joined(fixed):
        stretch = slice(part.start, part.stop)
        equal = found[:, stretch] == data[stretch]
        if not equal.all():  # rare; a comparison by rows is slower
            same &= equal.all(axis=1)
    return same


def joined(parts: Sequence[range]) -> list[range]:
    """Return ranges in increasing order, with contiguous ones merged."""
    result: list[range] = []
    for part in parts:
        if result and result[-1].stop == part.start:
            part = range(result.pop().start, part.stop)
        result.append(part)
    return result


def refused(rows: NDArray[np.intp], reason: Reason) -> JointStateStack:
    """Return messages that cannot be used."""
    return JointStateStack(
        EMPTY_LAYOUT, rows, np.zeros(len(rows), np.int64), np.zeros((len(rows), 0)), reason
    )


def rows_of(block: Block, rows: NDArray[np.intp], size: int) -> Bytes:
    """Return messages of equal size as the rows of an array, without a copy if possible."""
    data = np.frombuffer(block.data, np.uint8)
    offsets = block.offsets[rows]
    steps = np.diff(offsets)
    if len(steps) and steps[0] >= size and (steps == steps[0]).all():
        first, step = int(offsets[0]), int(steps[0])
        return np.lib.stride_tricks.as_strided(
            data[first:], (len(rows), size), (step, 1), writeable=False
        )
    return data[offsets[:, None] + np.arange(size)]


def stamps_of(found: Bytes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return header.stamp [ns] of messages (k, size), and which of them are valid times."""
    parts = np.ascontiguousarray(found[:, STAMP_OFFSET : STAMP_OFFSET + 8])
    seconds, nanoseconds = parts.view('<i4')[:, 0], parts.view('<u4')[:, 1]
    return seconds.astype(np.int64) * NANOSECONDS + nanoseconds, nanoseconds < NANOSECONDS


def doubles(found: Bytes, start: int, count: int) -> Array:
    """Return the numbers (k, count) at an offset of each message."""
    return np.ascontiguousarray(found[:, start : start + 8 * count]).view('<f8')
