# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A plugin of pytest: memory of arrays is overwritten when it is freed, and returned to the system.

NumPy keeps blocks of up to 1 kB with their numbers: neither MALLOC_PERTURB_ nor Valgrind would
notice that one is used after it was freed.
"""

import ctypes
import threading

import numpy as np

from screw_dynamics_ros.core.compile.typed.external import External
from screw_dynamics_ros.core.compile.typed.functions import typed
from screw_dynamics_ros.core.compile.typed.library import compiled

SET_HANDLER = 304  # in the C interface of NumPy
LARGEST = 65536  # bytes of a block that is overwritten
FREED = 0xA5  # a byte of freed memory: a number near zero, or an address that leads nowhere

c_malloc = External('malloc', ('i64',), 'i64')
c_calloc = External('calloc', ('i64', 'i64'), 'i64')
c_realloc = External('realloc', ('i64', 'i64'), 'i64')
c_free = External('free', ('i64',), 'void')
c_memset = External('memset', ('i64', 'i32', 'i64'), 'i64')


@typed
def allocate(context: int, size: int) -> int:
    return c_malloc(size)


@typed
def allocate_zeros(context: int, count: int, size: int) -> int:
    return c_calloc(count, size)


@typed
def reallocate(context: int, block: int, size: int) -> int:
    return c_realloc(block, size)


@typed
def free(context: int, block: int, size: int) -> None:
    if block != 0:
        c_memset(block, FREED, min(size, LARGEST))
        c_free(block)


class Handler(ctypes.Structure):
    """PyDataMem_Handler."""

    _fields_ = [
        ('name', ctypes.c_char * 127),
        ('version', ctypes.c_uint8),
        ('context', ctypes.c_void_p),
        ('functions', ctypes.c_void_p * 4),
    ]


FUNCTIONS = allocate, allocate_zeros, reallocate, free
LIBRARY = compiled(FUNCTIONS)
HANDLER = Handler(b'freed_arrays', 1, None, tuple(LIBRARY.address(each) for each in FUNCTIONS))
NAME = b'mem_handler'


def set_handler():
    """Allocate the arrays of this thread so."""
    make, get = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCapsule_GetPointer
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    core = getattr(np, '_core', None) or np.core
    table = ctypes.cast(
        get(core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p)
    )
    use = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[SET_HANDLER])
    use(make(ctypes.addressof(HANDLER), NAME, None))


def pytest_configure(config):
    run = threading.Thread.run

    def run_with_handler(thread):
        set_handler()
        run(thread)

    threading.Thread.run = run_with_handler
    set_handler()
