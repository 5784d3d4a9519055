"""Arguments of the facade as float64 arrays, or an error that names the argument."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from screw_dynamics_ros.core.errors import ArgumentError

Array = NDArray[np.float64]


def float_array(name: str, value: ArrayLike) -> Array:
    """Return `value` as a C-contiguous float64 array; raises `ArgumentError`."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in 'fiubO':
            raise TypeError(f'dtype {array.dtype}')
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f'{name} must hold real numbers: {error}') from None


def vector(name: str, size: int, value: ArrayLike) -> Array:
    """Return `value` as a float64 array of shape (size,); raises `ArgumentError`."""
    array = float_array(name, value)
    if array.shape != (size,):
        raise ArgumentError(f'{name} must have shape ({size},), got {array.shape}')
    return array
