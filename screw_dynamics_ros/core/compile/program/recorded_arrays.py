# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""NumPy functions on arrays of recorded scalars: comparisons, choices, minima, norms.

Recursions of this package need sums, products and trigonometric functions only, which NumPy applies
to arrays of `Scalar` internally. Functions of users choose between values, too:

>>> from screw_dynamics_ros.core.compile.program.tracing import Recorder
>>> recorder = Recorder()
>>> x = recorded(recorder.inputs('x', 3))
>>> y = np.where(x < 0.5, np.abs(x), np.minimum(x, 2.0) * np.linalg.norm(x))
>>> type(y).__name__, y.shape
('RecordedArray', (3,))

Both values of a choice are computed. Masks are the numbers 1 and 0. What cannot be recorded is
refused, also by functions that would return an array of objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

from ... import linear
from ...errors import NotRecordableError
from .tracing import Scalar

#: Functions of NumPy that work on arrays of objects.
PLAIN = frozenset(
    {
        'add',
        'subtract',
        'multiply',
        'divide',
        'true_divide',
        'negative',
        'positive',
        'power',
        'square',
        'sin',
        'cos',
        'sqrt',
        'rint',
        'arctan2',
        'matmul',
        'matvec',
        'vecmat',
        'vecdot',
    }
)


class RecordedArray(np.ndarray):
    """An array of recorded scalars and numbers."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a universal function of NumPy."""
        name = ufunc.__name__
        function = ufunc if name in PLAIN else ELEMENTWISE.get(name)
        if function is None or method not in ('__call__', 'reduce'):
            raise NotRecordableError(f'np.{name} cannot be recorded')
        if function is not ufunc:
            function = np.frompyfunc(function, ufunc.nin, 1)
        if options.get('out') is not None:
            options['out'] = tuple(map(plain, options['out']))
        if method == 'reduce':
            function = function.reduce
        return recorded(function(*map(plain, inputs), **options))

    def __array_function__(
        self, function: Any, types: Any, arguments: Iterable[Any], options: Mapping[str, Any]
    ) -> Any:
        """Apply another function of NumPy."""
        own = FUNCTIONS.get(function)
        if own is not None:
            return recorded(own(*map(plain, arguments), **options))
        if function.__module__ == 'numpy.linalg':
            raise NotRecordableError(
                f'np.linalg.{function.__name__} cannot be recorded; '
                'core.law.solve_positive_definite can'
            )
        given = {name: plain(value) for name, value in options.items()}
        return recorded(function(*map(plain, arguments), **given))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set elements; masks that are recorded cannot choose them."""
        if isinstance(key, RecordedArray | Scalar):
            raise NotRecordableError('a recorded mask cannot choose elements: use np.where')
        super().__setitem__(key, value)

    def __getitem__(self, key: Any) -> Any:
        """Return elements; one element is an array () again, for the functions of NumPy."""
        if isinstance(key, RecordedArray | Scalar):
            raise NotRecordableError('a recorded number cannot be an index: use np.where')
        return recorded(super().__getitem__(key))

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the first dimension."""
        return (self[k] for k in range(len(self)))


def recorded(value: Any) -> Any:
    """Return scalars and arrays of objects as `RecordedArray`, also in tuples; others as is."""
    if isinstance(value, tuple):
        return tuple(map(recorded, value))
    if isinstance(value, Scalar):
        array = np.empty((), dtype=object)
        array[()] = value
        return array.view(RecordedArray)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.view(RecordedArray)
    return value


def plain(value: Any) -> Any:
    """Return recorded arrays as plain ones, () as scalars, also in lists and tuples."""
    if isinstance(value, RecordedArray):
        array = value.view(np.ndarray)
        return array if array.ndim else array[()]
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return value


# --- elements -------------------------------------------------------------------------------------


def choice(mask: Any, x: Any, y: Any) -> Any:
    """Return x where a mask is not 0, else y."""
    if isinstance(mask, Scalar):
        return mask.recorder.choice(mask, x, y)
    return x if mask else y


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller one, NaN if one of them is."""
    if not isinstance(x, Scalar):
        x, y = y, x
    if not isinstance(x, Scalar):
        return np.minimum(x, y)
    if not isinstance(y, Scalar):
        return x.clamped(-np.inf, float(y))
    return choice(x < y, x, choice(y <= x, y, x + y))


def maximum(x: Any, y: Any) -> Any:
    """Return the larger one, NaN if one of them is."""
    return -minimum(-x, -y)


def clip(x: Any, lower: Any, upper: Any) -> Any:
    """Return x between two bounds; None is no bound."""
    x = x if lower is None else maximum(x, lower)
    return x if upper is None else minimum(x, upper)


def sign(x: Any) -> Any:
    """Return -1, 0 or 1, NaN for NaN."""
    return choice(x > 0.0, 1.0, choice(x < 0.0, -1.0, x)) if isinstance(x, Scalar) else np.sign(x)


def both(x: Any, y: Any) -> Any:
    """Return whether two masks are not 0."""
    return choice(x, choice(y, 1.0, 0.0), 0.0)


def either(x: Any, y: Any) -> Any:
    """Return whether one of two masks is not 0."""
    return choice(x, 1.0, choice(y, 1.0, 0.0))


def opposite(x: Any) -> Any:
    """Return whether a mask is 0."""
    return choice(x, 0.0, 1.0)


#: What replaces universal functions, by their names.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    'less': lambda x, y: x < y,
    'less_equal': lambda x, y: x <= y,
    'greater': lambda x, y: x > y,
    'greater_equal': lambda x, y: x >= y,
    'minimum': minimum,
    'maximum': maximum,
    'clip': clip,
    'absolute': abs,
    'fabs': abs,
    'sign': sign,
    'logical_and': both,
    'logical_or': either,
    'logical_not': opposite,
    'bitwise_and': both,
    'bitwise_or': either,
    'invert': opposite,
}


# --- arrays ---------------------------------------------------------------------------------------


def norm(x: Any, ord: object = None, axis: int | None = None) -> Any:
    """Return the Euclidean norm."""
    if ord not in (None, 2) or (ord == 2 and np.ndim(x) > 1):
        raise NotRecordableError('only the Euclidean norm of vectors can be recorded')
    return np.sqrt(np.sum(x * x, axis=axis))


def cross(x: Any, y: Any) -> Any:
    """Return x × y of vectors (..., 3)."""
    return linear.cross(np.asarray(x), np.asarray(y))


def solve_positive_definite(A: Any, b: Any) -> Any:
    """Return `linear.solve_positive_definite` of arrays that may be recorded."""
    return recorded(linear.solve_positive_definite(plain(A), plain(b)))


def where(mask: Any, x: Any, y: Any) -> Any:
    """Return the elements of x where a mask is not 0, else those of y."""
    return np.frompyfunc(choice, 3, 1)(mask, x, y)


def clipped(x: Any, lower: Any = None, upper: Any = None, **bounds: Any) -> Any:
    """Return x between two bounds."""
    lower, upper = bounds.pop('a_min', lower), bounds.pop('a_max', upper)
    lower, upper = bounds.pop('min', lower), bounds.pop('max', upper)
    if bounds:
        raise NotRecordableError(f'np.clip with {", ".join(bounds)} cannot be recorded')
    return np.frompyfunc(clip, 3, 1)(x, lower, upper)


def extreme(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return np.max or np.min of all elements."""

    def found(x: Any) -> Any:
        return reduce(function, np.ravel(x))

    return found


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: where,
    np.clip: clipped,
    np.cross: cross,
    np.linalg.norm: norm,
    np.max: extreme(maximum),
    np.min: extreme(minimum),
}
