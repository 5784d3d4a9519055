# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Memory for large results, kept when nobody refers to them any more, for the next ones.

The system clears memory before a process gets it, which takes longer than computing mass matrices
or derivatives into it, and the C library gives back what is freed if it is much. Large pieces that
are kept here are marked as free: the system takes them back where memory is short.
"""

from __future__ import annotations

import mmap
import sys
from collections import deque
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from screw_dynamics_ros.core.types import Array

LARGE = 2**20  # bytes of results from which on their memory is kept
MOST_KEPT = 512 * 2**20
MARKED = 16 * 2**20  # bytes of pieces that are marked; smaller ones would become a fifth slower
UNIT = 2**16  # sizes are multiples of it

_ending = sys.is_finalizing  # arrays may outlive this module

AVAILABLE = all(hasattr(mmap, name) for name in ('MADV_HUGEPAGE', 'MADV_FREE'))

_kept: dict[int, deque[_Piece]] = {}  # by their size


def new_arrays(shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Return float64 arrays of any content."""
    if not AVAILABLE or 8 * sum(map(prod, shapes)) < LARGE:
        return [np.empty(shape) for shape in shapes]
    return [np.asarray(_Owner(_piece(8 * prod(shape)), shape)) for shape in shapes]


class _Piece:
    """Some memory, and its address, which takes longer to ask for than to keep."""

    def __init__(self, size: int) -> None:
        try:
            self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f'no memory for results of {size / 1e6:.1f} MB: {error}') from None
        self.memory.madvise(mmap.MADV_HUGEPAGE)
        self.address = np.frombuffer(self.memory, np.uint8).ctypes.data


class _Owner:
    """Has an array for as long as any view of it lives."""

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
    """Keep memory that nobody uses; without locks, as this may be called at any time."""
    size = len(piece.memory)
    if size > MOST_KEPT:
        return
    if sum(each * len(of_size) for each, of_size in list(_kept.items())) + size > MOST_KEPT:
        _kept.clear()
    if size >= MARKED:
        piece.memory.madvise(mmap.MADV_FREE)
    _kept.setdefault(size, deque()).append(piece)
