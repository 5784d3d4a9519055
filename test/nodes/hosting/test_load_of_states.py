# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Counts and times of joint states, since the last report and in total."""

import math

import pytest

from screw_dynamics_ros.nodes.hosting.load import Load
from screw_dynamics_ros.ros.data_path.records import count_served


@pytest.fixture
def load():
    return Load()


def test_rates_and_times_are_those_since_the_last_report(load):
    begin = load.started
    assert load.last_arrival == begin
    for k in range(1, 9):
        load.arrived(begin + 0.25 * k)
    for duration in (1e-4, 3e-4, 2e-4):
        count_served(load, duration)
    assert load.take(begin + 2.0) == {
        'rate [Hz]': '4.0',
        'processing mean [us]': '200.0',
        'processing longest [us]': '300.0',
    }
    assert load.last_arrival == begin + 2.0
    load.arrived(begin + 2.5)
    assert load.take(begin + 2.5) == {'rate [Hz]': '2.0'}
    assert load.take(begin + 2.5) == {'rate [Hz]': '0.0'}
    count_served(load, 5e-5)
    assert load.take(begin + 3.5)['processing longest [us]'] == '50.0'
    assert load.arrivals == 9


@pytest.mark.parametrize(('arrived', 'lost', 'loses'), [(9, 1, False), (8, 1, True), (0, 1, True)])
def test_a_tenth_may_be_lost(load, arrived, lost, loses):
    load.arrivals, load.lost = 100, 50  # before
    load.take(load.started + 1.0)
    for _ in range(arrived):
        load.arrived(load.started + 1.5)
    load.lost += lost
    load.take(load.started + 2.0)
    assert load.loses == loses
    load.arrived(load.started + 2.5)
    load.take(load.started + 3.0)
    assert not load.loses


def test_incidents_are_counted_with_the_time_of_the_last(load):
    assert load.last_late == load.last_overflow == load.last_unreadable == -math.inf
    assert (load.late, load.overflows, load.lost, load.delay) == (0, 0, 0, 0.0)
    assert not load.loses
    load.was_late(10.0, 0.3)
    load.was_late(11.0, 0.1)
    assert (load.late, load.last_late, load.delay) == (2, 11.0, 0.1)
    load.overflowed(12.0)
    load.overflowed(13.0)
    assert (load.overflows, load.last_overflow) == (2, 13.0)
    load.unreadable(14.0, ValueError('no message'))
    assert (load.last_unreadable, load.unreadable_reason) == (14.0, 'no message')
