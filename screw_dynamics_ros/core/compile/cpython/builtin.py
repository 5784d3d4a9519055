# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Builtin functions in front of compiled kernels: no Python from the arguments to the result.

A call through ctypes takes longer than an inverse dynamics; one of these takes 0.1 us in total.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ...types import Array
from ..typed.library import TypedLibrary, compiled
from . import call as code
from .layout import GRAVITY, OUT, c_api, vectorcall

METH_FASTCALL, METH_KEYWORDS = 0x80, 0x02

Shape = tuple[int, ...]


class CallTable:
    """Arguments of a builtin function, and the kernels that it calls, by its string options.

    Kernels can be added while functions use the table.

    Parameters
    ----------
    inputs : sequence of (size, address)
        An address other than 0 is that of an array (3,) which is not an argument, but can be
        replaced by the keyword `gravity`.
    shapes : sequence of shapes
        Shapes of the outputs for one sample.
    result : int
        `SEVERAL`: a tuple of arrays; `ALONE`: an array, or a float for (); `IN_PLACE`: the outputs
        are further arguments, and None is returned.
    uniform : sequence of bool, optional
        Which inputs always have shape (size,).
    keywords : bool
        Whether the function has the keywords `out` and, with an address, `gravity`.
    options : int
        Number of string options after the arrays: 0, 1 or 2.
    default : str, optional
        Default of the last option.
    """

    def __init__(
        self,
        inputs: Sequence[tuple[int, int]],
        shapes: Sequence[Shape],
        result: int,
        uniform: Sequence[bool] = (),
        keywords: bool = True,
        options: int = 0,
        default: str | None = None,
    ) -> None:
        self._default, self._unpacked = default, result == code.ALONE
        self._by_first: dict[str, int] = {}
        self._by_second: dict[str, dict[str, int]] = {}
        self._records: dict[tuple[str, ...], Array] = {}
        self._kept: list[object] = []
        self.words = words = np.zeros(code.FIRST, dtype=np.int64)
        words[code.ARRAY], words[code.FLOAT64] = id(np.ndarray), id(np.dtype(np.float64))
        words[code.NONE], words[code.TUPLE] = id(None), id(tuple)
        words[code.OUT], words[code.GRAVITY] = id(OUT), id(GRAVITY)
        words[code.INPUTS], words[code.OUTPUTS] = len(inputs), len(shapes)
        arrays = sum(not address for _, address in inputs)
        words[code.ARRAYS] = arrays + len(shapes) * (result == code.IN_PLACE)
        words[code.RESULT], words[code.KEYWORDS] = result, keywords
        words[code.OPTIONS] = options
        words[code.HAS_GRAVITY] = any(address for _, address in inputs)
        words[code.FIRST_OUTPUT] = code.FIRST + code.INPUT * len(inputs)
        words[code.BY_FIRST], words[code.BY_SECOND] = id(self._by_first), id(self._by_second)
        same = uniform or [False] * len(inputs)
        rows: list[tuple[int, ...]] = [
            (size, address, each) for (size, address), each in zip(inputs, same)
        ]
        rows += [
            (len(shape), *shape, *[0] * (code.MOST_AXES - len(shape)), 8 * prod(shape))
            for shape in shapes
        ]
        self.words = np.concatenate([words, *rows]).astype(np.int64)

    @staticmethod
    def fits(inputs: Sequence[tuple[int, int]], shapes: Sequence[Shape]) -> bool:
        """Return whether machine code supports this number of inputs, outputs and axes."""
        return (
            len(inputs) + len(shapes) <= code.MOST_ARRAYS
            and all(len(shape) <= code.MOST_AXES for shape in shapes)
            and all(size == code.GRAVITY_SIZE for size, address in inputs if address)
        )

    def has(self, options: tuple[str, ...], stacked: bool) -> bool:
        """Return whether there is a kernel for some options, for one sample or for stacks."""
        record = self._records.get(options)
        return record is not None and bool(record[code.STACKED if stacked else code.SINGLE])

    def add_single(self, options: tuple[str, ...], address: int) -> None:
        """Add a function of an array of addresses; it stays loaded."""
        self._record(options)[code.SINGLE] = address

    def add_stacked(
        self,
        options: tuple[str, ...],
        address: int,
        limits: tuple[int, int, int],
        new: Callable[[int], Sequence[Array]],
    ) -> None:
        """Add a kernel of `stack_loop`; it stays loaded.

        `limits` are three numbers of samples: the longest stack for which it is called, the longest
        for which it keeps the GIL, and the longest whose results NumPy allocates; `new` allocates
        those of longer stacks.
        """

        def result(samples: int) -> Any:
            outputs = tuple(new(samples))
            return outputs[0] if self._unpacked else outputs

        self._kept.append(result)
        record = self._record(options)
        record[code.LONGEST : code.RECORD] = *limits, id(result)
        record[code.STACKED] = address

    def _record(self, options: tuple[str, ...]) -> Array:
        """Return the record of the kernels for some options."""
        if options not in self._records:
            record = self._records[options] = np.zeros(code.RECORD, dtype=np.int64)
            address = record.ctypes.data
            for given in (options, options[:-1]) if self._default in options[-1:] else (options,):
                if len(given) == 2:
                    self._by_second.setdefault(given[1], {})[given[0]] = address
                elif given:
                    self._by_first[given[0]] = address
                else:
                    self.words[code.ONLY] = address
        return self._records[options]


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ('name', ctypes.c_char_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('doc', ctypes.c_char_p),
    ]


class _Self(np.ndarray[Any, Any]):
    """Words of the table of a builtin function, as its `__self__`.

    It holds no reference to anything that could refer back to the function, so that the garbage
    collector never clears it before the function.
    """

    definition: _MethodDef
    owner: Any
    kept: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a builtin function as the method that it implements."""
        if self.owner is None:
            raise TypeError('compiled code cannot be pickled')
        return itself, (self.owner,)


def itself(x: Any) -> Any:
    """Return x."""
    return x


@cache
def library() -> TypedLibrary:
    """Return the machine code of all builtin functions."""
    return compiled([code.call], c_api(), inline=True)


def builtin_function(
    name: str, doc: str, table: CallTable, fallback: Callable[..., Any], kept: object
) -> Callable[..., Any]:
    """Return a builtin function in front of compiled kernels.

    Parameters
    ----------
    name, doc : str
    table : CallTable
        Of this function alone.
    fallback : callable
        Called with arguments that do not match: a bound method or a partial function, which must
        not refer to the returned function, not even indirectly.
    kept : object
        Kept alive.
    """
    words = table.words
    words[code.FALLBACK], words[code.FALLBACK_CODE] = id(fallback), vectorcall(fallback)
    entry = library()
    it = words.view(_Self)
    it.definition = _MethodDef(
        name.encode(), entry.address(code.call), METH_FASTCALL | METH_KEYWORDS, doc.encode()
    )
    it.owner, it.kept = getattr(fallback, '__self__', None), (fallback, table, kept, entry)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    function: Callable[..., Any] = new(ctypes.addressof(it.definition), it, None)
    return function
