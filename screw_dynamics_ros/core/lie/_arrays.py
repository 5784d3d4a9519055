# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Argument checks and the small-angle switch shared by the modules of the Lie layer."""

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arguments import float_array
from ..errors import ArgumentError, UnknownNameError
from ..linear import is_constant
from ..reproducible import sine_cosine, total
from ..types import Array

# Below this angle (rad) the coefficient functions are summed as series: their closed forms divide
# differences of nearly equal numbers by powers of the angle.
SERIES_LIMIT = 0.5
SERIES_TERMS = 8

SINC = [(-1) ** n / factorial(2 * n + 1) for n in range(SERIES_TERMS)]  # sin t / t

# Largest entry of R^T R - I, and of a pose's last row minus (0, 0, 0, 1), accepted from a caller.
RIGID_TOLERANCE = 1e-6

# dexp is singular at every multiple of 2 pi but 0; dexp_inv refuses angles closer than this (rad).
SINGULAR_MARGIN = 1e-7


def as_stack(function: str, name: str, value: npt.ArrayLike, *shape: int | str) -> Array:
    """Return `value` as an array with trailing axes `shape`: float64 unless it holds objects.

    A string in `shape` matches any length. Raises ArgumentError with the function, the argument and
    its actual shape or type.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged nesting
        raise ArgumentError(
            f'{function}: {name} must be an array {_pattern(shape)}: {error}'
        ) from error
    if array.dtype.kind not in 'biufO':
        raise ArgumentError(f'{function}: {name} must hold real numbers, got dtype {array.dtype}')
    found = array.shape[max(array.ndim - len(shape), 0) :]
    # usually equal; otherwise compare the lengths one by one
    if found != shape and (
        len(found) != len(shape)
        or any(isinstance(n, int) and n != m for n, m in zip(shape, found, strict=True))
    ):
        raise ArgumentError(
            f'{function}: {name} must have shape {_pattern(shape)}, got {array.shape}'
        )
    return array if array.dtype.kind == 'O' else array.astype(np.float64, copy=False)


def _pattern(shape: tuple[int | str, ...]) -> str:
    return '(' + ', '.join(['...', *map(str, shape)]) + ')'


def as_float_stack(function: str, name: str, value: npt.ArrayLike, *shape: int | str) -> Array:
    """Return `value` as `as_stack` does, but as float64: for maps that branch on values."""
    array = as_stack(function, name, value, *shape)
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f'{function}: {name} must hold numbers because the map branches on them ({error}); '
            'symbolic or traced values need a branch-free form such as se3.exp_unit_screw'
        ) from error


def as_recordable_stack(function: str, name: str, value: npt.ArrayLike, *shape: int | str) -> Array:
    """Return `value` as `as_float_stack` does, but keep recorded scalars, for `by_angle`."""
    array = as_stack(function, name, value, *shape)
    if array.dtype == object and any(hasattr(x, 'clamped') for x in array.flat):
        return array
    return as_float_stack(function, name, array, *shape)


def cosine_sine(angle: Array) -> tuple[Array, Array]:
    """Return cosines and sines of angles [rad]: numbers, recorded scalars, or Python floats.

    For Python floats in object arrays, the results are equal on every processor.
    """
    if angle.dtype != object:
        return np.asarray(np.cos(angle)), np.asarray(np.sin(angle))
    cosine, sine = np.frompyfunc(_cosine_sine, 1, 2)(angle)
    return np.asarray(cosine, dtype=object), np.asarray(sine, dtype=object)


def _cosine_sine(x: Any) -> tuple[Any, Any]:
    return sine_cosine(x)[::-1] if is_constant(x) else (np.cos(x), np.sin(x))


def length(x: Array) -> Array:
    """Return the lengths (...) of vectors (..., n), numbers or recorded scalars."""
    squares = x * x
    return np.asarray(np.sqrt(total(squares[..., k] for k in range(x.shape[-1]))))


def check_rotation(function: str, R: Array) -> None:
    """Raise ArgumentError unless every R is orthogonal with determinant +1; NaN passes."""
    with np.errstate(invalid='ignore', over='ignore'):
        error = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-2, -1))
        determinant = np.asarray(np.linalg.det(R))
        bad = (error > RIGID_TOLERANCE) | (determinant < 0)
    if bad.any():
        i = np.unravel_index(np.argmax(bad), bad.shape)
        raise ArgumentError(
            f'{function}: not a rotation matrix{_at(i)}: |R^T R - I| = {error[i]:.3g}, '
            f'det R = {determinant[i]:.6g}; orthonormalize it first'
        )


def check_pose(function: str, C: Array) -> None:
    """Raise ArgumentError unless every C is [[R, r], [0, 1]] with a rotation R; NaN passes."""
    error = np.abs(C[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(axis=-1)
    if (error > RIGID_TOLERANCE).any():
        i = np.unravel_index(np.argmax(error > RIGID_TOLERANCE), error.shape)
        raise ArgumentError(
            f'{function}: not a rigid motion{_at(i)}: last row {C[i][3]} instead of (0, 0, 0, 1)'
        )
    check_rotation(function, C[..., :3, :3])


def finite_pose(name: str, value: npt.ArrayLike) -> Array:
    """Return one finite pose (4, 4) as float64; raises ArgumentError for invalid ones."""
    C = float_array(name, value)
    if C.shape != (4, 4) or not np.isfinite(C).all():
        raise ArgumentError(f'{name} must be a finite (4, 4) matrix, got {C.tolist()}')
    check_pose(name, C)
    return C


def in_body_axes(function: str, axes: str) -> bool:
    """Return whether `axes` is 'body', not 'reference'; raises UnknownNameError for others."""
    if axes not in ('reference', 'body'):
        raise UnknownNameError(f"{function}: axes must be 'reference' or 'body', got {axes!r}")
    return axes == 'body'


def check_regular_angle(function: str, theta: Array) -> None:
    """Raise ArgumentError where dexp is singular, at angles 2 pi k, k = 1, 2, ...; NaN passes.

    Recorded angles, whose values are unknown, pass as well.
    """
    if theta.dtype == object:
        return
    with np.errstate(invalid='ignore'):
        turns = np.round(theta / (2 * np.pi))
        bad = (turns >= 1) & (np.abs(theta - 2 * np.pi * turns) < SINGULAR_MARGIN)
    if bad.any():
        i = np.unravel_index(np.argmax(bad), bad.shape)
        raise ArgumentError(
            f'{function}: dexp has no inverse at rotation angle {theta[i]:.9g} rad{_at(i)} '
            '(a multiple of 2 pi); use a smaller step, or log, whose angles stay within pi'
        )


def by_angle(theta: Array, series: Sequence[float], closed_form: Callable[[Array], Array]) -> Array:
    """Value of an even function of the angle: sum series[k] theta^2k if small, else closed form.

    Recorded angles cannot be compared and are clamped instead: the result is the series at the
    angle clamped from above plus the closed form at the angle clamped from below, minus the common
    value at the limit.
    """
    if theta.dtype == object:
        low, high = _clamped(theta, -np.inf, SERIES_LIMIT), _clamped(theta, SERIES_LIMIT, np.inf)
        at_limit = _power_series(series, np.full((), SERIES_LIMIT**2))
        return (_power_series(series, low**2) - at_limit) + closed_form(high)
    small = theta < SERIES_LIMIT
    if not small.any():
        return closed_form(theta)
    value = _power_series(series, np.where(small, theta, 0.0) ** 2)
    if small.all():
        return value
    return np.where(small, value, closed_form(np.where(small, 1.0, theta)))


def _power_series(coefficients: Sequence[float], x: Array) -> Array:
    value = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value


def _clamped(theta: Array, lower: float, upper: float) -> Array:
    return np.frompyfunc(lambda x: x.clamped(lower, upper), 1, 1)(theta)


def _at(index: tuple[Any, ...]) -> str:
    """Return ' at index (...)' for a member of a stack, '' for a single matrix."""
    return f' at index {tuple(int(i) for i in index)}' if index else ''
