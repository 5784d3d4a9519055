"""Memory for large results, kept when nobody refers to them any more, for the next ones.

The system clears memory before a process gets it, which takes longer than computing mass matrices
or derivatives into it, and the C library gives back what is freed if it is much. Large pieces that
are kept here are marked as free: the system takes them back where memory is short.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections import deque
from collections.abc import Sequence
from math import prod

import numpy as np

from screw_dynamics_ros.core.types import Array

LARGE = 2**20  # bytes of results from which on their memory is kept
MOST_KEPT = 512 * 2**20
MARKED = 16 * 2**20  # bytes of pieces that are marked; smaller ones would become a fifth slower
UNIT = 2**16  # sizes are multiples of it

AVAILABLE = all(hasattr(mmap, name) for name in ('MADV_HUGEPAGE', 'MADV_FREE'))

_kept: dict[int, deque[mmap.mmap]] = {}  # by their size


def new_arrays(shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Return float64 arrays of any content."""
    if not AVAILABLE or 8 * sum(map(prod, shapes)) < LARGE:
        return [np.empty(shape) for shape in shapes]
    return [_kept_array(shape) for shape in shapes]


def _kept_array(shape: tuple[int, ...]) -> Array:
    size = max(1, -(-8 * prod(shape) // UNIT)) * UNIT
    try:
        memory = _kept.setdefault(size, deque()).pop()
    except IndexError:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)
    owner = (ctypes.c_char * size).from_buffer(memory)  # lives as long as any view of the array
    weakref.finalize(owner, _keep, memory).atexit = False
    return np.ndarray(shape, np.float64, memoryview(owner))


def _keep(memory: mmap.mmap) -> None:
    """Keep memory that nobody uses; without locks, as this may be called at any time."""
    size = len(memory)
    if size > MOST_KEPT:
        return
    if sum(each * len(list(of_size)) for each, of_size in list(_kept.items())) + size > MOST_KEPT:
        _kept.clear()
    if size >= MARKED:
        memory.madvise(mmap.MADV_FREE)
    _kept.setdefault(size, deque()).append(memory)
