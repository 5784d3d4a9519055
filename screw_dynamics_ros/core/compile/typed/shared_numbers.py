# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Attributes whose values compiled code reads and writes, too.

An object with such attributes has the arrays `words` (int64) and `reals` (float64), of which each
attribute is one element.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from screw_dynamics_ros.core.types import Array


class SharedNumbers:
    """The memory of shared attributes.

    Attributes
    ----------
    words : array of int64
    reals : array of float64
        Always the same arrays.
    """

    def __init__(self, words: int, reals: int) -> None:
        self.words: NDArray[np.int64] = np.zeros(words, dtype=np.int64)
        self.reals: Array = np.zeros(reals)
        # Elements of memory views are numbers of Python, those of arrays are slow.
        self.word_view: Any = self.words.data
        self.real_view: Any = self.reals.data

    def detach(self) -> None:
        """Use separate memory from now on, after this object has been copied."""
        self.words, self.reals = self.words.copy(), self.reals.copy()
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
