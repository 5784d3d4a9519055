"""Work that can wait is done after joint states, one piece after each, or when there are none."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.ros import spare_time
from screw_dynamics_ros.ros.spare_time import IDLE, SPARING, SpareTime


@pytest.fixture
def done():
    return []


@pytest.fixture
def clock(monkeypatch):
    """Return the times the module sees, the last of them being now."""
    now = [100.0]
    monkeypatch.setattr(spare_time, 'time', SimpleNamespace(monotonic=lambda: now[-1]))
    return now


def piece(done, name):
    return lambda: done.append(name)


def test_one_piece_after_each_state(done):
    spare = SpareTime(None)
    spare.add('drawing', [piece(done, 'twist'), piece(done, 'ellipsoid')])
    spare.add('measure', [piece(done, 'measure')])
    for count, waiting in ((1, True), (2, False), (3, False), (3, False)):
        spare.use(until=0.0, behind=False)
        assert len(done) == count
        assert spare.has('drawing') is waiting
    assert done == ['twist', 'ellipsoid', 'measure']


def test_more_of_them_while_there_is_time(done, clock):
    spare = SpareTime(None)
    spare.add('drawing', [piece(done, i) for i in range(5)])
    spare.add('slow', [lambda: clock.append(100.3), piece(done, 'late')])
    spare.use(until=100.2, behind=False)
    assert done == [0, 1, 2, 3, 4]


def test_states_that_are_behind_go_first(done, clock):
    """But not for ever."""
    spare = SpareTime(None)
    spare.add('drawing', [piece(done, i) for i in range(4)])
    spare.use(until=0.0, behind=True)  # the last piece is long ago
    assert done == [0]
    for _ in range(4):
        clock.append(clock[-1] + 0.2 * SPARING)
        spare.use(until=math.inf, behind=True)
    assert done == [0]
    clock.append(clock[-1] + 0.4 * SPARING)
    spare.use(until=0.0, behind=True)
    assert done == [0, 1]
    spare.use(until=0.0, behind=False)
    assert done == [0, 1, 2]


def test_pieces_are_dropped_by_their_owner(done):
    spare = SpareTime(None)
    one, other = object(), object()
    spare.add(one, [piece(done, 1), piece(done, 2)])
    spare.add(other, [piece(done, 3)])
    spare.drop([one])
    assert not spare.has(one)
    spare.use(until=math.inf, behind=False)
    assert done == [3]


def test_timers_wait_for_the_next_state(done, clock, monkeypatch):
    timers = []
    monkeypatch.setattr(spare_time, 'every', lambda node, period, callback: timers.append(callback))
    spare = SpareTime(None)
    spare.every(0.1, piece(done, 'status'))
    (tick,) = timers
    tick()
    assert done == ['status']  # no state has come
    spare.use(until=math.inf, behind=False)
    for _ in range(2):
        tick()
    assert done == ['status']
    spare.use(until=math.inf, behind=False)
    assert done == ['status', 'status']  # once
    spare.add('drawing', [piece(done, 'drawing')])
    tick()
    clock.append(clock[-1] + 2 * IDLE)
    tick()  # no state comes any more: all that waits, and what is due now
    assert done[2:] == ['drawing', 'status', 'status']
