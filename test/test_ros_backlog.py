"""Which joint states are passed over: none after a pause, the oldest in an overload."""

import pytest

from screw_dynamics_ros.ros.backlog import PATIENCE, STRICT, Backlog

WORK, GLANCE = 2e-3, 2e-5  # s to answer a state, to pass it over


class Queue:
    """A driver and a process that takes states out of a queue, in simulated time."""

    def __init__(self, period, work=WORK, offset=0.0):
        self.backlog = Backlog()
        self.period, self.work, self.offset = period, work, offset
        self.now = self.next = 0.0  # s; `next` is the stamp of the state to take next
        self.ages = []

    def run(self, until):
        """Take states until a time; note the true ages of those that are answered, at the end."""
        while self.now < until:
            self.now = max(self.now, self.next)
            passed = self.backlog.passes_over(self.now + self.offset - self.next, self.now)
            self.now += GLANCE if passed else self.work
            if not passed:
                self.ages.append(self.now - self.next)
            self.next += self.period
            self.backlog.done(self.now)


@pytest.mark.parametrize('pause', [0.05, 0.5, 5.0])
def test_after_a_pause_all_are_answered(pause):
    queue = Queue(4e-3)
    queue.run(3.0)
    queue.now += min(pause, 1.0)  # what waits is worked off within PATIENCE
    queue.next = max(queue.next, queue.now - 0.4)
    queue.run(8.0)
    assert queue.backlog.passed_over == 0
    assert queue.ages[-1] == pytest.approx(WORK)


@pytest.mark.parametrize('rate', [0.1, 0.5, 3.0])
def test_a_replay_at_another_rate(rate):
    """Stamps and clock drift apart, while the process has nothing to do most of the time."""
    queue = Queue(5e-3, work=5e-4)
    for _ in range(2000):
        queue.run(queue.next + queue.period)
        queue.offset += queue.period * (1.0 / rate - 1.0)
    assert queue.backlog.passed_over == 0


@pytest.mark.parametrize('offset', [0.0, -7.0, 1e6])
def test_in_an_overload_the_newest_are_answered(offset):
    queue = Queue(WORK / 2, offset=offset)
    queue.run(30.0)
    assert queue.backlog.passed_over > 1000
    settled = queue.ages[len(queue.ages) // 2:]
    assert max(settled) < STRICT + 2 * WORK
    assert len(queue.ages) > 0.4 * 30.0 / WORK


@pytest.mark.parametrize('period', [1e-2, 3e-3, 2.2e-4])
@pytest.mark.parametrize('step', [1.0, -1.0, 3600.0])
def test_a_clock_that_is_set(period, step):
    """A step makes all states look late; they are answered again before long."""
    queue = Queue(period, work=1e-4)
    queue.run(2.0)
    queue.offset += step
    queue.run(8.0)
    assert queue.backlog.passed_over * period <= 1.1 * PATIENCE
    answered = len(queue.ages)
    before = queue.backlog.passed_over
    queue.run(9.0)
    assert queue.backlog.passed_over == before
    assert len(queue.ages) > answered


def test_pairs_after_an_overload():
    """Two messages at once, ten times a second, are no overload, whatever their stamps say."""
    queue = Queue(WORK / 2)
    queue.run(5.0)
    before = queue.backlog.passed_over
    while queue.backlog.passed_over == before:  # until the middle of passing over
        queue.run(queue.now + GLANCE)
    before = queue.backlog.passed_over
    answered = len(queue.ages)
    queue.next, queue.work, queue.offset = queue.now + 0.1, 2e-4, 0.05
    for k in range(200):
        queue.period = 0.1 if k % 2 else 5e-4
        queue.run(queue.next + 1e-9)
    assert queue.backlog.passed_over == before
    assert len(queue.ages) == answered + 200
