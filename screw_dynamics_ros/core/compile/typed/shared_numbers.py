# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Memory that Python and compiled code share: records with addresses, and attributes of objects.

An object with shared attributes has the arrays `words` (int64) and `reals` (float64), of which each
attribute is one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from screw_dynamics_ros.core.compile.typed.external import address_of
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.types import Array


class SharedRecord(np.ndarray[Any, np.dtype[np.int64]]):
    """An int64 array of numbers and addresses, which owns all to which it points; zero at first.

    Only `point` writes addresses. A target lives as long as the record points to it, and the
    targets of a target that is a record live as long as that one.

    Parameters
    ----------
    *shape : int
    """

    _targets: dict[Any, Any]

    def __new__(cls, *shape: int) -> SharedRecord:
        """Return a record of this shape."""
        record = super().__new__(cls, shape, np.int64)  # with its own memory: views keep all of it
        record.fill(0)
        record._targets = {}
        return record

    def point(self, place: int | tuple[int, int], target: Any) -> None:
        """Write the address of a target, 0 for None, and keep the target instead of the last one.

        Parameters
        ----------
        place : int or tuple of int
            Index of the word.
        target : array, memoryview, object with `address`, or None
            Its memory must be contiguous. An object owns the memory at its address.

        Raises
        ------
        ArgumentError
            The target is an array whose memory is not contiguous.
        """
        if target is self._targets.get(place):
            return
        if isinstance(target, np.ndarray | memoryview):
            if not np.asarray(target).flags.c_contiguous:
                raise ArgumentError('compiled code needs contiguous arrays')
            self[place] = address_of(target)
        else:
            self[place] = 0 if target is None else target.address
        self._targets[place] = target

    def target(self, place: int | tuple[int, int]) -> Any:
        """Return the target to which the record points, None if there is none."""
        return self._targets.get(place)

    def copied(self) -> SharedRecord:
        """Return another record with the same numbers and targets."""
        record = SharedRecord(*self.shape)
        record[...], record._targets = self, self._targets.copy()
        return record


def pointers(targets: Sequence[Any]) -> SharedRecord:
    """Return a record with the addresses of targets."""
    record = SharedRecord(len(targets))
    for k, target in enumerate(targets):
        record.point(k, target)
    return record


class SharedNumbers:
    """The memory of shared attributes.

    Attributes
    ----------
    words : SharedRecord
    reals : array of float64
        Always the same arrays.
    """

    def __init__(self, words: int, reals: int) -> None:
        self.words = SharedRecord(words)
        self.reals: Array = np.zeros(reals)
        # Elements of memory views are numbers of Python, those of arrays are slow.
        self.word_view: Any = self.words.data
        self.real_view: Any = self.reals.data

    def detach(self) -> None:
        """Use separate memory from now on, after this object has been copied."""
        self.words, self.reals = self.words.copied(), self.reals.copy()
        self.word_view, self.real_view = self.words.data, self.reals.data


class Word:
    """An integer attribute of `SharedNumbers`."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __get__(self, owner: Any, kind: type) -> int:
        return owner.word_view[self.place]

    def __set__(self, owner: Any, value: int) -> None:
        owner.word_view[self.place] = value


class Flag(Word):
    """A boolean attribute of `SharedNumbers`."""

    def __get__(self, owner: Any, kind: type) -> bool:
        return owner.word_view[self.place] != 0


class Real:
    """A float attribute of `SharedNumbers`."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __get__(self, owner: Any, kind: type) -> float:
        return owner.real_view[self.place]

    def __set__(self, owner: Any, value: float) -> None:
        owner.real_view[self.place] = value
