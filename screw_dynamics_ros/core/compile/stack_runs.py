# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Execution of compiled kernels on stacks of samples: result arrays and threads.

Memory of large results is reused after they are no longer referenced. The operating system clears
memory before a process receives it, which takes longer than computing mass matrices or derivatives,
and the C library returns large freed blocks to the system. Large blocks kept here are marked as
free, so that the system can reclaim them if memory is short.

Threads claim a few samples at a time, some from the start and some from the end of the stack. A
thread that starts late, or whose processor is busy, therefore delays no other: the calling thread
computes the remaining samples.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..types import Array
from .llvm import native

LARGE = 2**20  # bytes; memory of larger results is kept
MOST_KEPT = 512 * 2**20
MARKED = 16 * 2**20  # bytes; larger blocks are marked as free (20 % slower for smaller ones)
UNIT = 2**16  # bytes; sizes are multiples of it

_ending = sys.is_finalizing  # arrays may outlive this module

AVAILABLE = all(hasattr(mmap, name) for name in ('MADV_HUGEPAGE', 'MADV_FREE'))

_kept: dict[int, deque[_Piece]] = {}  # free blocks by size
#: Vector operations from which a second thread is worthwhile.
THREAD_WORK = 600_000
#: Smallest number of vector operations that a thread claims at once.
CLAIM_WORK = 50_000
#: Vector operations from which the GIL is released.
LONG_WORK = 40_000

Numbers = ctypes.Array[ctypes.c_int64]


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


@dataclass(frozen=True)
class StackProgram:
    """Machine code of `llvm.stack_loop`; `library` keeps it loaded.

    Attributes
    ----------
    address, shared_address : int
        Addresses of the functions for one thread and for several threads.
    shapes : tuple of shapes
        Shapes of the outputs for one sample.
    operations : int
        Number of operations of the program.
    lanes : int
        Number of samples computed at once.
    """

    library: native.Library
    address: int
    shared_address: int
    shapes: tuple[tuple[int, ...], ...]
    operations: int
    lanes: int

    @cached_property
    def _run(self) -> Callable[..., None]:
        """The function for one thread; it releases the GIL during a call."""
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)
        return signature(self.address)

    @cached_property
    def _run_shared(self) -> Callable[..., None]:
        signature = ctypes.CFUNCTYPE(
            None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2, ctypes.c_void_p, ctypes.c_int64
        )
        return signature(self.shared_address)

    def samples_of(self, work: int) -> int:
        """Return the number of samples that take `work` vector operations."""
        return max(1, work // max(1, self.operations)) * self.lanes

    @cached_property
    def limits(self) -> tuple[int, int, int]:
        """Numbers of samples for calls from compiled code, as `CallTable.add_stacked` has them."""
        most_new = LARGE // max(1, 8 * sum(map(prod, self.shapes)))
        return self.samples_of(THREAD_WORK), self.samples_of(LONG_WORK), most_new

    def new_outputs(self, samples: int) -> list[Array]:
        """Return arrays for the results of a stack, in reused memory where they are large."""
        return new_arrays([(samples, *shape) for shape in self.shapes])

    def __call__(
        self, inputs: Sequence[Array], outputs: Sequence[Array] | None = None
    ) -> tuple[Array, ...]:
        """Return the outputs for a stack, new ones if none are given.

        Parameters
        ----------
        inputs : sequence of (N, size) or (size,)
            C-contiguous float64 arrays; (size,) applies to all samples.
        outputs : sequence of (N, ...), optional
            C-contiguous float64 arrays that share no memory with other arrays.
        """
        samples = stack_length(inputs)
        if outputs is None:
            outputs = self.new_outputs(samples)
        arrays = [*inputs, *outputs]
        addresses = [array.__array_interface__['data'][0] for array in arrays]
        steps = [array.shape[-1] * 8 if array.ndim == 2 else 0 for array in inputs]
        steps += [8 * prod(shape) for shape in self.shapes]
        table: Numbers = (ctypes.c_int64 * len(arrays))(*addresses)
        bytes_: Numbers = (ctypes.c_int64 * len(arrays))(*steps)
        threads = native.worker_count() if samples > self.samples_of(THREAD_WORK) else 1
        if threads > 1:
            self._share(table, bytes_, samples, threads, arrays)
        else:
            self._run(table, bytes_, 0, samples)
        return tuple(outputs)

    def _share(
        self, table: Numbers, steps: Numbers, samples: int, threads: int, arrays: list[Array]
    ) -> None:
        """Compute in this thread and in worker threads."""
        claimed: Numbers = (ctypes.c_int64 * 3)()
        chunk = self.samples_of(CLAIM_WORK)

        def run(back: bool) -> None:
            self._run_shared(table, steps, samples, chunk, claimed, int(back))
            assert arrays  # keeps them alive while a thread uses them

        helpers = start(run, min(threads, -(-samples // chunk)) - 1)
        run(False)
        for helper in helpers:
            if not helper.cancel():  # it has started
                helper.result()


def stack_length(inputs: Sequence[Array]) -> int:
    """Return the number of samples of a stack; some inputs may be (size,)."""
    return next(len(array) for array in inputs if array.ndim == 2)


def start(run: Callable[[bool], None], count: int) -> list[Future[None]]:
    """Run a function in worker threads, every second one from the end; none while Python ends."""
    try:
        return [workers().submit(run, k % 2 == 0) for k in range(count)]
    except RuntimeError:
        return []


@cache
def workers() -> ThreadPoolExecutor:
    """Return the pool of worker threads."""
    return ThreadPoolExecutor(native.worker_count(), thread_name_prefix='screw_dynamics')


if hasattr(os, 'register_at_fork'):  # threads do not survive a fork
    os.register_at_fork(after_in_child=workers.cache_clear)


def check_outputs(out: object, samples: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise `ArgumentError` unless `out` has a valid array for each output.

    `samples` is () for one sample, (N,) for a stack.
    """
    if not isinstance(out, tuple | list) or len(out) != len(shapes):
        what = f'{len(out)} arrays' if isinstance(out, tuple | list) else type(out).__name__
        raise ArgumentError(f'out must be a tuple of {len(shapes)} arrays, got {what}')
    for k, (target, shape) in enumerate(zip(out, shapes)):
        if not (
            isinstance(target, np.ndarray)
            and target.dtype == np.float64
            and target.shape == (*samples, *shape)
            and target.flags.c_contiguous
            and target.flags.aligned
            and target.flags.writeable
        ):
            wanted = (*samples, *shape)
            raise ArgumentError(
                f'out[{k}] must be a writeable C-contiguous float64 array of shape {wanted}'
            )
        if any(np.may_share_memory(target, other) for other in out[:k]):
            raise ArgumentError(f'out[{k}] shares memory with an array before it')
