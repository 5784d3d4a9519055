# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Object layouts and C functions of CPython and NumPy that compiled code uses.

Only the public C API, and layouts on which its inline functions and macros rely, are used. They are
verified at first use.
"""

from __future__ import annotations

import ctypes
import logging
import platform
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

PYARRAY_EMPTY = 184  # index in NumPy's C API table, the same in NumPy 1 and 2
C_CONTIGUOUS_AND_ALIGNED, WRITEABLE = 0x0101, 0x0400

# PyArrayObject: the object header, then data, nd, dimensions, strides, base, descr, flags.
HEADER = object.__basicsize__  # longer in free-threaded Python
TYPE, DATA, ND, DIMENSIONS, DESCR, FLAGS = (
    HEADER - 8,
    HEADER,
    HEADER + 8,
    HEADER + 16,
    HEADER + 40,
    HEADER + 48,
)

# PyTupleObject: the object header, the number of items, fields of some versions, the items.
TUPLE_SIZE, TUPLE_ITEMS = HEADER, tuple.__basicsize__
#: Keywords of calls, compared by address: CPython interns keywords in source code.
OUT, GRAVITY = sys.intern('out'), sys.intern('gravity')


@cache
def c_api() -> Mapping[str, int]:
    """Return the addresses of the C functions an entry point calls."""
    core = getattr(np, '_core', None) or np.core
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(
        get(core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p)
    )
    names = (
        'PyFloat_FromDouble',
        'Py_IncRef',
        'Py_DecRef',
        'PyTuple_New',
        'PyTuple_SetItem',
        'PyDict_GetItem',
        'PyLong_AsVoidPtr',
        'PyLong_FromLongLong',
        'PyObject_Call',
        'PyEval_SaveThread',
        'PyEval_RestoreThread',
    )
    addresses = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in names
    }
    return {**addresses, 'PyArray_Empty': table[PYARRAY_EMPTY]}


def vectorcall(function: Callable[..., Any]) -> int:
    """Return the vectorcall address of a callable, as the inline PyVectorcall_Function does.

    `PyObject_Vectorcall` itself is not exported by CPython 3.10.
    """
    # PyVarObject header, tp_name, tp_basicsize, tp_itemsize, tp_dealloc, tp_vectorcall_offset
    offset = ctypes.c_ssize_t.from_address(id(type(function)) + HEADER + 8 + 4 * 8).value
    address = ctypes.c_void_p.from_address(id(function) + offset).value if offset > 0 else None
    if address is None:
        raise TypeError(f'{function!r} cannot be called from compiled code')
    return address


@cache
def is_usable() -> bool:
    """Return whether this Python and this NumPy have the layout that entry points require.

    Tested once by reading a known array and creating another one. A failure is logged, and
    functions are then called through Python: slower, with the same results.
    """
    fault = layout_fault()
    if fault:
        logging.getLogger('screw_dynamics_ros').warning(
            'compiled functions are called through Python (slower): %s (Python %s, NumPy %s)',
            fault,
            platform.python_version(),
            np.__version__,
        )
    return not fault


def layout_fault() -> str:
    """Return the difference from the expected layout, '' without one."""
    sample = np.zeros((2, 3))
    expected = {
        'type': (ctypes.c_ssize_t, TYPE, id(np.ndarray)),
        'data': (ctypes.c_ssize_t, DATA, sample.ctypes.data),
        'number of axes': (ctypes.c_int, ND, 2),
        'element type': (ctypes.c_ssize_t, DESCR, id(np.dtype(np.float64))),
    }
    for what, (kind, offset, value) in expected.items():
        if kind.from_address(id(sample) + offset).value != value:
            return f'the {what} of an array is not where it was expected'
    dimensions = ctypes.c_ssize_t.from_address(id(sample) + DIMENSIONS).value
    if dimensions != ctypes.cast(sample.ctypes.shape, ctypes.c_void_p).value and list(
        (ctypes.c_ssize_t * 2).from_address(dimensions)
    ) != [2, 3]:
        return 'the shape of an array is not where it was expected'
    flags = ctypes.c_int.from_address(id(sample) + FLAGS).value
    if flags & (C_CONTIGUOUS_AND_ALIGNED | WRITEABLE) != C_CONTIGUOUS_AND_ALIGNED | WRITEABLE:
        return 'the flags of an array are not where they were expected'
    pair = ('first', 'second')
    words = [ctypes.c_ssize_t.from_address(id(pair) + n).value for n in (TUPLE_SIZE, TUPLE_ITEMS)]
    if words != [2, id(pair[0])]:
        return 'the items of a tuple are not where they were expected'
    try:
        make = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int
        )(c_api()['PyArray_Empty'])
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(np.dtype(np.float64)))  # steals a reference
        made = make(2, (ctypes.c_ssize_t * 2)(2, 3), np.dtype(np.float64), 0)
        vectorcall(sample.sum)
    except Exception as error:  # any failure: calls through Python remain
        return f'{type(error).__name__}: {error}'
    if type(made) is not np.ndarray or made.shape != (2, 3) or made.dtype != np.float64:
        return 'NumPy makes other arrays than expected'
    return ''
