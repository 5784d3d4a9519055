# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions on memory for typed functions: numbers in bytes, copies, addresses, local arrays.

Numbers in bytes are little-endian, at any offset [bytes].

>>> data = bytearray(12)
>>> write_f64(data, 3, 0.1)
>>> read_f64(data, 3)
0.1
"""

from __future__ import annotations

import struct
from typing import Any, NoReturn

import numpy as np

from ...errors import ArgumentError
from .functions import Bytes, Floats, Ints

_FORMATS: Any = [struct.Struct(f'<{code}') for code in 'Iiqd']
_U32, _I32, _I64, _F64 = _FORMATS


def read_u32(data: Bytes, offset: int) -> int:
    """Return an unsigned integer of 4 bytes."""
    return _U32.unpack_from(data, offset)[0]


def read_i32(data: Bytes, offset: int) -> int:
    """Return an integer of 4 bytes."""
    return _I32.unpack_from(data, offset)[0]


def read_i64(data: Bytes, offset: int) -> int:
    """Return an integer of 8 bytes."""
    return _I64.unpack_from(data, offset)[0]


def read_f64(data: Bytes, offset: int) -> float:
    """Return a float of 8 bytes."""
    return _F64.unpack_from(data, offset)[0]


def write_u32(data: Bytes, offset: int, value: int) -> None:
    """Store the low 4 bytes of an integer."""
    _U32.pack_into(data, offset, value & 0xFFFFFFFF)


def write_i64(data: Bytes, offset: int, value: int) -> None:
    """Store an integer of 8 bytes."""
    _I64.pack_into(data, offset, value)


def write_f64(data: Bytes, offset: int, value: float) -> None:
    """Store a float of 8 bytes."""
    _F64.pack_into(data, offset, value)


def copy_bytes(target: Any, source: Any, count: int) -> None:
    """Copy `count` bytes from an array to another, of any type; they may overlap."""
    arrays: Any = [np.asarray(array).view(np.uint8) for array in (target, source)]
    to, of = memoryview(arrays[0]), memoryview(arrays[1])
    if not 0 <= count <= min(len(to), len(of)):
        raise ArgumentError(f'copy_bytes: cannot copy {count} of {len(of)} bytes into {len(to)}')
    to[:count] = of[:count]


def ints_at(address: int) -> Ints:
    """Return the integers at an address; in compiled code only."""
    _refuse('ints_at')


def floats_at(address: int) -> Floats:
    """Return the floats at an address; in compiled code only."""
    _refuse('floats_at')


def bytes_at(address: int) -> Bytes:
    """Return the bytes at an address; in compiled code only."""
    _refuse('bytes_at')


def local_ints(count: int) -> Ints:
    """Return memory for a constant number of integers, until the function returns.

    It is the same at each execution of this call, and contains any values at first.
    """
    return memoryview(np.zeros(count, dtype=np.int64))  # type: ignore[arg-type,return-value]


def _refuse(name: str) -> NoReturn:
    raise ArgumentError(f'{name} exists in compiled code only: Python passes arrays')
