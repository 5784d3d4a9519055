# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts along a recorded motion, by the flag of external torques of `wrench_estimator`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.typed.functions import Floats, Ints, typed
from ..compile.typed.records import Record
from ..estimation.contact_flag import ContactFlag, set_thresholds_of_state
from ..estimation.threshold_flag import NO_STRETCH, advance_flag
from ..types import Array


class RecordedContact(NamedTuple):
    """An interval in which the flag is raised.

    Attributes
    ----------
    begin, end : int
        Stamps of its first and last sample [ns].
    torques, thresholds : (n,) arrays
        Of each joint the largest external torque beyond its threshold, 0 for joints without one,
        and the threshold at that sample [N m, N].
    """

    begin: int
    end: int
    torques: Array
    thresholds: Array


class ContactFinder(Record):
    """Finds contacts in consecutive blocks of samples.

    Parameters
    ----------
    flag : ContactFlag
        Of n joints.
    places : (n,) array of int
        Indices of these joints in the external torques.

    Attributes
    ----------
    signals : (n,) array
        External torques of the joints in the current sample [N m, N].
    torques : array
        External torques of the current sample [N m, N].
    count : int
        Number of contacts that have ended in the block; the next one may have begun.
    bounds : (m, 2) array of int
        Begin and end of each contact [ns].
    peaks : (m, 2, n) array
        Torques and thresholds of each contact.
    samples : int
        Number of samples with external torques.
    is_continued : bool
        Whether the last sample had them.
    """

    flag: ContactFlag
    places: Ints
    signals: Floats
    torques: Floats
    count: int
    bounds: Ints
    peaks: Floats
    samples: int
    is_continued: bool

    def __init__(self, flag: ContactFlag, places: NDArray[np.intp]) -> None:
        self.flag, self.places = flag, places.astype(np.int64)
        self.signals = np.zeros(len(places))
        self._ended = list[RecordedContact]()
        self.start(0)

    def start(self, samples: int) -> None:
        """Prepare a block of samples; a contact that has not ended is continued."""
        bounds = np.zeros((samples // 2 + 2, 2), dtype=np.int64)
        peaks = np.zeros((len(bounds), 2, len(self.places)))
        self._ended += self._rows(self.count)
        if self.flag.is_raised:
            bounds[0], peaks[0] = self._bounds[self.count], self._peaks[self.count]
        self.count, self.bounds, self.peaks = 0, bounds, peaks
        # Fields of records are vectors.
        self._bounds: NDArray[np.int64] = bounds
        self._peaks: Array = peaks

    def _rows(self, end: int) -> list[RecordedContact]:
        return [RecordedContact(*self._bounds[k].tolist(), *self._peaks[k]) for k in range(end)]

    @property
    def found(self) -> list[RecordedContact]:
        """All contacts so far, also one that has not ended."""
        return self._ended + self._rows(self.count + self.flag.is_raised)


@typed
def find_contact(finder: ContactFinder, stamp: int, elapsed: int) -> None:
    """Pass the torques of a sample to the flag."""
    flag = finder.flag
    n = len(finder.places)
    for j in range(n):
        finder.signals[j] = finder.torques[finder.places[j]]
    offset = flag.offset
    if offset is not None:
        set_thresholds_of_state(flag, offset)
    was_raised = flag.is_raised
    advance_flag(flag, finder.signals, elapsed if finder.is_continued else 0)
    finder.is_continued = True
    finder.samples += 1
    k = finder.count
    if flag.is_raised:
        if not was_raised:
            finder.bounds[2 * k] = stamp
        finder.bounds[2 * k + 1] = stamp
        torques = finder.peaks[2 * n * k :]
        for j in range(n):
            if flag.above[j] != NO_STRETCH and abs(finder.signals[j]) > abs(torques[j]):
                torques[j] = finder.signals[j]
                torques[n + j] = flag.upper[j]
    elif was_raised:
        finder.count = k + 1
