# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Memory of large results, reused after the results are no longer referenced.

The operating system clears memory before a process receives it, which takes longer than computing
mass matrices or derivatives, and the C library returns large freed blocks to the system. Large
blocks kept here are marked as free, so that the system can reclaim them if memory is short.
"""

from __future__ import annotations

import mmap
import sys
from collections import deque
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..types import Array

LARGE = 2**20  # bytes; memory of larger results is kept
MOST_KEPT = 512 * 2**20
MARKED = 16 * 2**20  # bytes; larger blocks are marked as free (20 % slower for smaller ones)
UNIT = 2**16  # bytes; sizes are multiples of it

_ending = sys.is_finalizing  # arrays may outlive this module

AVAILABLE = all(hasattr(mmap, name) for name in ('MADV_HUGEPAGE', 'MADV_FREE'))

_kept: dict[int, deque[_Piece]] = {}  # free blocks by size


def new_arrays(shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Return uninitialized float64 arrays."""
    if not AVAILABLE or 8 * sum(map(prod, shapes)) < LARGE:
        return [np.empty(shape) for shape in shapes]
    return [np.asarray(_Owner(_piece(8 * prod(shape)), shape)) for shape in shapes]


class _Piece:
    """A block of memory, and its address, stored because querying it is slow."""

    def __init__(self, size: int) -> None:
        try:
            self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f'no memory for results of {size / 1e6:.1f} MB: {error}') from None
        self.memory.madvise(mmap.MADV_HUGEPAGE)
        self.address = np.frombuffer(self.memory, np.uint8).ctypes.data


class _Owner:
    """Owner of an array, alive as long as any view of it."""

    def __init__(self, piece: _Piece, shape: tuple[int, ...]) -> None:
        self._piece = piece
        self.__array_interface__: dict[str, Any] = {
            'data': (piece.address, False),
            'shape': shape,
            'typestr': np.dtype(float).str,
            'version': 3,
        }

    def __del__(self) -> None:
        if not _ending():
            _keep(self._piece)


def _piece(size: int) -> _Piece:
    size = max(1, -(-size // UNIT)) * UNIT
    try:
        return _kept.setdefault(size, deque()).pop()
    except IndexError:
        return _Piece(size)


def _keep(piece: _Piece) -> None:
    """Keep an unused block; without locks, because this can be called at any time."""
    size = len(piece.memory)
    if size > MOST_KEPT:
        return
    if sum(each * len(of_size) for each, of_size in list(_kept.items())) + size > MOST_KEPT:
        _kept.clear()
    if size >= MARKED:
        piece.memory.madvise(mmap.MADV_FREE)
    _kept.setdefault(size, deque()).append(piece)
