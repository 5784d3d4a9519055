# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Blocks of serialized messages of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Block(NamedTuple):
    """Some consecutive messages of one topic.

    Attributes
    ----------
    received : (N,) array of int
        Recording times [ns].
    data : bytes-like
        Buffer with the messages.
    offsets, sizes : (N,) arrays of int
        Position and length of each message in `data`.
    """

    received: NDArray[np.int64]
    data: Any
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def message(self, index: int) -> bytes:
        """Return one serialized message."""
        start = int(self.offsets[index])
        return bytes(self.data[start : start + int(self.sizes[index])])


def joined(received: NDArray[np.int64], messages: Sequence[bytes]) -> Block:
    """Return a block of messages (N,) with recording times (N,) [ns]."""
    sizes = np.array([len(data) for data in messages], dtype=np.int64)
    return Block(received, b''.join(messages), np.cumsum(sizes) - sizes, sizes)
