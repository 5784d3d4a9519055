# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Entries of a file as a YAML parser returns them: mappings, names and numbers, checked."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ..arguments import is_number
from ..errors import DescriptionError
from ..types import Array
from .xml_document import short

MAX_NUMBER = 1e12  # absolute value, in any unit: squares and cubes of larger ones overflow
MAX_QUOTED_LENGTH = 100  # characters of a wrong entry in an error


def check_keys(where: str, entry: Any, needed: set[str], allowed: set[str]) -> None:
    """Raise `DescriptionError` unless `entry` is a mapping with these keys."""
    optional = [f'optional {", ".join(sorted(allowed))}'] if allowed else []
    known = ', '.join([*sorted(needed), *optional])
    if not isinstance(entry, dict):
        raise DescriptionError(f'{where} must be a mapping with the keys {known}')
    missing, unknown = needed - set(entry), set(entry) - needed - allowed
    if missing or unknown:
        what = (
            f'lacks {min(missing)!r}'
            if missing
            else f'has an unknown key {quoted(min(unknown, key=str))}'
        )
        raise DescriptionError(f'{where} {what}; keys are {known}')


def name_of(where: str, value: Any) -> str:
    """Return a name; raises `DescriptionError` unless it is a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise DescriptionError(
            f'{where} must be a name, in quotes if it looks like something else, got '
            f'{quoted(value)}'
        )
    return value


def number_of(where: str, value: Any) -> float:
    """Return a finite number; raises `DescriptionError`."""
    return float(numbers_of(where, value, ()))


def numbers_of(where: str, value: Any, shape: tuple[int, ...] | None = None) -> Array:
    """Return a finite number, or those of a list or of lists, of any shape if none is given.

    Raises `DescriptionError`, also for texts, truth values, and more than `MAX_NUMBER`.
    """
    array = np.array(np.nan)
    if all(is_number(each) and not isinstance(each, bool) for each in flat(value)):
        with suppress(ValueError, OverflowError):  # ragged lists, integers of 309 and more digits
            array = np.asarray(value, dtype=float)
    is_small = bool((np.abs(array) <= MAX_NUMBER).all())
    if not is_small or (shape is not None and array.shape != shape):
        count = f'{shape[0]} ' if shape else ''
        wanted = 'a finite number' if shape == () else f'{count}finite numbers'
        raise DescriptionError(
            f'{where} must be {wanted} of at most {MAX_NUMBER:g}, got {quoted(value)}'
        )
    return array


def flat(value: Any) -> list[Any]:
    """Return the elements of lists in lists."""
    return [x for each in value for x in flat(each)] if isinstance(value, list) else [value]


def quoted(value: Any) -> str:
    """Return a wrong entry for an error, shortened."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more than 4300 digits
        text = 'an integer of thousands of digits'
    return short(text, MAX_QUOTED_LENGTH)
