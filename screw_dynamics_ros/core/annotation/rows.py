# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vectors of all samples of a motion, for typed functions that process sample by sample."""

from __future__ import annotations

from ..compile.typed.functions import Floats, typed
from ..compile.typed.memory import copy_bytes
from ..compile.typed.records import Record
from ..estimation.observers.steps import are_finite, are_positive
from ..types import Array


class SampleRows(Record):
    """A vector (n,) of each of N samples.

    Attributes
    ----------
    numbers : (n,) array
        Of the current sample.
    rows : (N n,) array
        Of all samples.
    pivots : array or None
        Numbers that are positive where results are valid.
    """

    numbers: Floats
    rows: Floats
    pivots: Floats | None

    def __init__(self, numbers: Array, pivots: Array | None = None) -> None:
        self.numbers, self.pivots = numbers, pivots


@typed
def read_row(each: SampleRows, k: int) -> None:
    """Set the numbers of a sample."""
    n = len(each.numbers)
    copy_bytes(each.numbers, each.rows[k * n :], 8 * n)


@typed
def store_row(each: SampleRows, k: int) -> None:
    """Store the numbers of a sample."""
    n = len(each.numbers)
    copy_bytes(each.rows[k * n :], each.numbers, 8 * n)


@typed
def store_valid_row(each: SampleRows, k: int) -> None:
    """Store the numbers of a sample if they are valid and finite."""
    if each.pivots is not None and not are_positive(each.pivots, len(each.pivots)):
        return
    if are_finite(each.numbers, len(each.numbers)):
        store_row(each, k)
