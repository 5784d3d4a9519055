"""Memory for large results, kept when nobody refers to them any more, for the next ones.

The system clears memory before a process gets it, which takes longer than computing mass matrices
or derivatives into it. The C library keeps what is freed, up to 32 MB a piece; this does the same
for larger arrays. What is kept is marked as free: the system takes it back where memory is short.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections import deque
from math import prod

import numpy as np

from screw_dynamics_ros.core.types import Array

LARGE = 4 * 2**20  # bytes from which on memory is kept
MOST_KEPT = 512 * 2**20
PAGE = 2**21
AVAILABLE = all(hasattr(mmap, name) for name in ('MADV_HUGEPAGE', 'MADV_FREE'))

_kept: dict[int, deque[mmap.mmap]] = {}  # by their size


def new_array(shape: tuple[int, ...]) -> Array:
    """Return a float64 array of any content."""
    size = 8 * prod(shape)
    if size < LARGE or not AVAILABLE:
        return np.empty(shape)
    size = -(-size // PAGE) * PAGE
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
    memory.madvise(mmap.MADV_FREE)
    _kept.setdefault(size, deque()).append(memory)
