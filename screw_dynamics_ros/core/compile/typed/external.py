# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""C functions that typed functions call, by name or by address.

>>> labs = External('labs', ('i64',), 'i64')
>>> labs(-3)
3
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...errors import ArgumentError

#: Types of C: addresses are `int`, or arrays; `i32` is an `int` of which 32 bits are passed.
C_TYPES: dict[str, Any] = {
    'i32': ctypes.c_int32,
    'i64': ctypes.c_int64,
    'address': ctypes.c_size_t,
    'double': ctypes.c_double,
    'void': None,
}


@dataclass(frozen=True)
class Signature:
    """Types of a C function; called with its address, then its arguments.

    Parameters
    ----------
    arguments : tuple of str
        Of `C_TYPES`.
    result : str
        Of `C_TYPES`.
    """

    arguments: tuple[str, ...]
    result: str

    def __post_init__(self) -> None:
        for type_ in (*self.arguments, self.result):
            if type_ not in C_TYPES:
                raise ArgumentError(f'no C type {type_!r}; choose one of {", ".join(C_TYPES)}')
        if 'void' in self.arguments:
            raise ArgumentError('an argument of a C function cannot be void')

    def __call__(self, function: Any, *arguments: Any) -> Any:
        """Call the function at an address, or of an object with `address`, from Python.

        An object that can be called is called itself.
        """
        if callable(function):
            return function(*arguments)
        given = [
            address_of(a) if isinstance(a, np.ndarray | memoryview) else getattr(a, 'address', a)
            for a in arguments
        ]
        address = getattr(function, 'address', function)
        return prototype(self.arguments, self.result)(address)(*given)


@dataclass(frozen=True)
class External:
    """A C function with a name.

    Its address is that in `externals` of `library.compiled`, otherwise that of the function in
    the libraries of the process.

    Parameters
    ----------
    name : str
    arguments : tuple of str
        Of `C_TYPES`.
    result : str
        Of `C_TYPES`.
    python : callable, optional
        What Python calls instead.
    """

    name: str
    arguments: tuple[str, ...]
    result: str
    python: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        _ = self.signature

    @property
    def signature(self) -> Signature:
        """The types without the name."""
        return Signature(self.arguments, self.result)

    def __call__(self, *arguments: Any) -> Any:
        """Call the function of the process, from Python."""
        if self.python is not None:
            return self.python(*arguments)
        return self.signature(address_in_process(self.name), *arguments)


#: Calls a function without arguments and result.
call_address = Signature((), 'void')
#: Calls a function of an integer that returns an `int` of C.
call_address_1 = Signature(('i64',), 'i32')


@cache
def prototype(arguments: tuple[str, ...], result: str) -> Any:
    """Return the class of functions of ctypes."""
    return ctypes.CFUNCTYPE(C_TYPES[result], *(C_TYPES[argument] for argument in arguments))


@cache
def address_in_process(name: str) -> int:
    """Return the address of a function in the libraries of the process.

    Raises
    ------
    ArgumentError
        There is no such function.
    """
    try:
        function = getattr(ctypes.CDLL(None), name)
    except AttributeError:
        raise ArgumentError(
            f'no C function {name!r} in the libraries of this process: pass its address in '
            '`externals`'
        ) from None
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def address_of(array: Any) -> int:
    """Return the address of the first element of an array."""
    return np.asarray(array).ctypes.data
