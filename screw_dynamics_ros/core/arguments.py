# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arguments of the facade as float64 arrays, or an error that names the argument."""

from __future__ import annotations

import math
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from .errors import ArgumentError
from .types import Array


def float_array(name: str, value: ArrayLike) -> Array:
    """Return `value` as a C-contiguous float64 array; raises `ArgumentError`."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in 'fiubO':
            raise TypeError(f'dtype {array.dtype}')
        if array.dtype.kind == 'O' and any(x is None for x in array.flat):  # NumPy makes it NaN
            raise TypeError('found None')
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f'{name} must hold real numbers: {error}') from None


def is_matrix(value: object) -> TypeGuard[Array]:
    """Return whether `value` is a float64 array (4, 4): then there is nothing to convert."""
    return type(value) is np.ndarray and value.shape == (4, 4) and value.dtype == np.float64


def vector(name: str, size: int, value: ArrayLike) -> Array:
    """Return `value` as a float64 array of shape (size,); raises `ArgumentError`."""
    array = float_array(name, value)
    if array.shape != (size,):
        raise ArgumentError(f'{name} must have shape ({size},), got {array.shape}')
    return array


def is_number(value: object) -> TypeGuard[float]:
    """Return whether `value` is one real number, of Python or NumPy; NaN is one."""
    return isinstance(value, (int, float, np.integer, np.floating))


def check_number(name: str, value: object, *, positive: bool = False) -> None:
    """Raise `ArgumentError` unless `value` is a finite number, at least 0 or `positive`."""
    if type(value) is float and 0.0 < value < math.inf:
        return  # nearly always
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:
        number = math.inf
    if not (0.0 <= number < math.inf and (number or not positive)):
        raise ArgumentError(
            f'{name} must be a finite {"positive number" if positive else "number >= 0"}, '
            f'got {value!r}'
        )


def check_count(name: str, value: object) -> None:
    """Raise `ArgumentError` unless `value` is a whole number, at least 0."""
    if not isinstance(value, (int, np.integer)) or value < 0:
        raise ArgumentError(f'{name} must be a whole number >= 0, got {value!r}')


def are_vectors(*arguments: ArrayLike) -> bool:
    """Return whether all are vectors; if not they are stacks, or refused as such."""
    try:
        return all(np.ndim(argument) == 1 for argument in arguments)
    except ValueError:  # ragged
        return False
