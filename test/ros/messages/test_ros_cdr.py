# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Places of numbers and stamps in serialized messages, against struct and by hand."""

import struct

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.messages.cdr import (
    MAX_STAMP,
    MIN_STAMP,
    align,
    find_all,
    number_offsets,
    packed,
    runs,
    stamp_of_clock,
)


@pytest.mark.parametrize(
    ('stamp', 'expected'),
    [
        (0, (0, 0)),
        (1, (0, 1)),
        (-1, (-1, 999_999_999)),
        (1_700_000_000_123_456_789, (1_700_000_000, 123_456_789)),
        (MAX_STAMP, (2**31 - 1, 999_999_999)),
        (MAX_STAMP + 1, (2**31 - 1, 999_999_999)),
        (MIN_STAMP, (-(2**31), 0)),
        (MIN_STAMP - 1, (-(2**31), 0)),
    ],
)
def test_stamps(stamp, expected):
    assert struct.unpack('<iI', packed(stamp)) == expected


@pytest.mark.parametrize('time', [0, -1, 946_684_800 * 10**9, MAX_STAMP, MIN_STAMP])
def test_times_that_stamps_can_represent(time):
    assert stamp_of_clock(time) == time


@pytest.mark.parametrize('after', [1, 10**9, 10 * 365 * 86_400 * 10**9 + 7])
def test_times_after_2038_are_stamped_as_32_bits_of_seconds(after):
    sec, nanosec = divmod(MAX_STAMP + after, 10**9)
    wrapped = struct.unpack('<i', struct.pack('<I', sec))[0]
    assert stamp_of_clock(MAX_STAMP + after) == wrapped * 10**9 + nanosec


def test_alignment_from_the_end_of_the_encapsulation():
    """Which has four bytes."""
    assert [align(offset, 4) for offset in range(4, 10)] == [4, 8, 8, 8, 8, 12]
    assert [align(offset, 8) for offset in (4, 5, 11, 12, 13)] == [4, 12, 12, 12, 20]
    assert [align(offset, 1) for offset in (4, 5)] == [4, 5]


def test_places_of_a_pattern():
    assert find_all(b'abcabcab', b'ab') == [0, 3, 6]
    assert find_all(b'aaaa', b'aa') == [0, 2]
    assert find_all(b'aaaa', b'b') == []


def test_places_of_numbers():
    """Each behind the one before, in multiples of their size."""
    one, two = (np.array(x).tobytes() for x in (1.5, 2.5))
    numbers = np.array([1.5, 2.5, 1.5])
    assert number_offsets(b'1234' + one + bytes(8) + two + one, numbers) == [4, 20, 28]
    assert number_offsets(b'', np.zeros(0)) == []
    for data in (one + two, one + b'1' + two + one, two + one + one):
        with pytest.raises(ScrewDynamicsError, match='does not store float64 in the usual way'):
            number_offsets(data, numbers)


@pytest.mark.parametrize(
    ('offsets', 'expected'),
    [
        ([], []),
        ([12], [(0, 1)]),
        ([12, 20, 28], [(0, 3)]),
        ([12, 20, 40, 48, 12], [(0, 2), (2, 4), (4, 5)]),
        ([20, 12, 4], [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_ranges_without_gaps(offsets, expected):
    assert runs(offsets) == expected
