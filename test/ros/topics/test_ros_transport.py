# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Delays of messages by the clock of the sender, which may differ from the one here."""

import pytest

from screw_dynamics_ros.ros.topics.transport import (
    CLOCK_RESET_TIME_S,
    MAX_GAP,
    SequenceGaps,
    TransportDelay,
)

LIMIT = 0.02
SECOND = 10**9
START = 1_700_000_000 * SECOND


def delays(offset, under_way, period=0.002):
    """Return the delays of messages of a sender whose clock is `offset` s behind."""
    delay, found = TransportDelay(), []
    for k, late in enumerate(under_way):
        sent = START + round(k * period * SECOND)
        found.append(delay.of(sent, sent + round((late + offset) * SECOND), LIMIT))
    return found


@pytest.mark.parametrize('offset', [0.0, 3.0, -0.5])
def test_what_exceeds_the_quickest_message_counts(offset):
    found = delays(offset, [0.0002, 0.0003, 0.0102, 0.0002])
    assert found == pytest.approx([0.0, 0.0001, 0.01, 0.0], abs=3e-5)


def test_a_sender_that_does_not_tell():
    assert TransportDelay().of(0, START, LIMIT) == 0.0


def test_after_a_long_pause_the_messages_of_before_are_late():
    """However long it was: the clocks have not been set meanwhile."""
    delay = TransportDelay()
    assert delay.of(START, START + 100_000, LIMIT) == 0.0
    resumed = START + 60 * SECOND
    for k in range(5):
        sent = resumed - round((10 - 2 * k) * 0.01 * SECOND)
        assert delay.of(sent, resumed, LIMIT) > 0.95 * (resumed - sent) / SECOND - 0.07
    assert delay.of(resumed, resumed + 100_000, LIMIT) < LIMIT


def test_a_sender_whose_clock_was_set_back_is_heard_again():
    delay, step = TransportDelay(), round(0.002 * SECOND)
    for k in range(100):
        assert delay.of(START + k * step, START + k * step, LIMIT) == 0.0
    late = []
    for k in range(100, 1000):
        now = START + k * step
        late.append(delay.of(now - 3 * SECOND, now, LIMIT) > LIMIT)
    assert late.count(True) == pytest.approx(CLOCK_RESET_TIME_S / 0.002, abs=3)
    assert not late[-1]


def test_clocks_that_drift_apart():
    """At 500 parts in a million, which is more than clocks do."""
    delay, step = TransportDelay(), round(0.01 * SECOND)
    for k in range(20_000):
        sent = START + k * step
        assert delay.of(sent, sent + round(5e-4 * k * step), LIMIT) < 1e-3


@pytest.mark.parametrize(
    ('numbers', 'missing'),
    [
        ([7, 8, 9, 10], [0, 0, 0, 0]),  # the first one that is heard need not be the first one
        ([1, 2, 6, 7], [0, 0, 3, 0]),
        ([90, 91, 1, 3], [0, 0, 0, 1]),  # the driver has been started again
        ([1, 2, 4 + MAX_GAP, 5 + MAX_GAP], [0, 0, 0, 0]),  # another driver
        ([1, None, 5], [0, 0, 3]),
        ([None, 0], [0, 0]),  # a middleware that does not count
    ],
)
def test_messages_that_did_not_come(numbers, missing):
    gaps = SequenceGaps()
    assert [gaps.before(number, True) for number in numbers] == missing


def test_numbers_of_several_publishers_tell_nothing():
    gaps = SequenceGaps()
    assert [gaps.before(number, False) for number in (1, 500, 2, 501)] == [0] * 4
    assert [gaps.before(number, True) for number in (502, 504)] == [0, 1]


def test_the_quickest_message_ages_with_the_largest_drift():
    """By a thousandth of the time since the last one: so slow a clock is not seen as a delay."""
    delay = TransportDelay()
    assert delay.of(START, START, LIMIT) == 0.0
    now = START
    for seconds, late, expected in ((10, 15.0, 0.005), (10, 26.0, 0.006), (1, 21.5, 0.0005)):
        now += seconds * SECOND
        sent = now - round(late * 1e6)
        assert delay.of(sent, now, 1.0) == pytest.approx(expected, abs=2e-6)


def test_messages_must_be_late_for_a_second_before_the_clock_is_taken_to_be_set_back():
    delay = TransportDelay()
    delay.of(START, START, LIMIT)
    late = [
        delay.of(START + t, START + t + 3 * SECOND // 10, LIMIT) > LIMIT
        for t in range(0, 3 * SECOND, 3 * SECOND // 10)
    ]
    assert late == [True] * 4 + [False] * 6
    delay = TransportDelay()
    delay.of(START, START, LIMIT)
    for t in range(0, 5 * SECOND, SECOND // 2):  # one in time between late ones
        now = START + t
        assert delay.of(now - SECOND // 2, now, LIMIT) > LIMIT
        assert delay.of(now, now + 1000, LIMIT) < LIMIT
