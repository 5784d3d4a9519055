# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks in the background: one after the other in one thread, and the newest counts."""

import random
import threading
import time

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.ros.process import latest as module
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.latest import Latest
from support.processes import wait_for

DEADLINE = 300.0  # s; only a failing test waits that long
TASKS = 1500  # of the test with random timing


class Gated:
    """Tasks that wait until they may go on."""

    def __init__(self):
        self.begun, self.threads, self._gate = [], set(), threading.Semaphore(0)

    def task(self, name):
        def run():
            self.begun.append(name)
            self.threads.add(threading.get_ident())
            assert self._gate.acquire(timeout=DEADLINE)
            return name

        return run

    def release(self, count=1):
        self._gate.release(count)


def test_the_outcome_is_handed_out_once_and_made_in_another_thread():
    latest = Latest('test')
    assert (latest.poll(), latest.is_busy) == (None, False)
    latest.ask(threading.get_ident)
    assert wait_for(latest.poll) != threading.get_ident()
    assert (latest.poll(), latest.is_busy) == (None, False)


def test_it_says_when_there_is_an_outcome():
    latest, seen, begun = Latest('test'), [], threading.Event()
    latest.ready = lambda: seen.append(latest.poll())
    latest.ask(lambda: None)
    wait_for(lambda: not latest.is_busy)
    latest.ask(lambda: 'one')
    wait_for(lambda: seen)
    latest.ready = lambda: begun.set() or 1 / 0  # a fault does not end the thread
    latest.ask(lambda: 'two')
    assert begun.wait(DEADLINE)
    assert (seen, latest.poll()) == (['one'], 'two')
    latest.ask(lambda: 'three')
    assert wait_for(latest.poll) == 'three'


def test_of_the_tasks_that_wait_only_the_newest_is_done():
    latest, gated = Latest('test'), Gated()
    latest.ask(gated.task('first'))
    wait_for(lambda: gated.begun)
    for name in ('second', 'third', 'last'):
        latest.ask(gated.task(name))
    gated.release()
    wait_for(lambda: len(gated.begun) == 2)
    assert latest.poll() is None  # of the first one, which was dropped
    assert latest.is_busy
    gated.release()
    assert wait_for(latest.poll) == 'last'
    assert gated.begun == ['first', 'last']
    assert len(gated.threads) == 1


def test_an_outcome_that_was_not_fetched_is_dropped_for_a_new_task():
    latest, gated = Latest('test'), Gated()
    latest.ask(lambda: 'old')
    wait_for(lambda: latest.outcome)
    latest.ask(gated.task('new'))
    assert latest.poll() is None
    gated.release()
    assert wait_for(latest.poll) == 'new'


def test_what_is_canceled_is_not_busy_and_has_no_outcome():
    latest, gated = Latest('test'), Gated()
    latest.ask(gated.task('first'))
    wait_for(lambda: gated.begun)
    latest.ask(gated.task('waiting'))
    latest.cancel()
    assert not latest.is_busy
    latest.ask(lambda: 'next')
    gated.release()
    assert wait_for(latest.poll) == 'next'
    assert gated.begun == ['first']


def test_an_error_is_a_fault_and_the_thread_goes_on():
    latest = Latest('a test of the background')
    latest.ask(lambda: 1 / 0)
    wait_for(lambda: not latest.is_busy)
    assert latest.poll() is None
    assert 'ZeroDivisionError' in ' '.join(FAULTS.status().values.values())
    latest.ask(lambda: 'good')
    assert wait_for(latest.poll) == 'good'


@pytest.mark.parametrize('error', [SystemExit, KeyboardInterrupt])
def test_no_exception_ends_the_thread_for_good(error):
    def fail():
        raise error('of the test')

    latest = Latest('a test of the background')
    latest.ask(fail)
    latest.ask(lambda: 'good')
    assert wait_for(latest.poll) == 'good'
    latest.ask(fail)
    wait_for(lambda: not latest.is_busy)
    latest.ask(lambda: 'again')
    assert wait_for(latest.poll) == 'again'


def test_a_thread_that_cannot_be_started_is_started_for_the_next_task(monkeypatch):
    def fail(thread):
        raise RuntimeError("can't start new thread")

    latest = Latest('test')
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, 'start', fail)
        with pytest.raises(RuntimeError):
            latest.ask(lambda: 'lost')
    assert not latest.is_busy
    latest.ask(lambda: 'good')
    assert wait_for(latest.poll) == 'good'


class HesitantCondition(threading.Condition):
    """Threads often go on late after releasing the lock, so that decisions without it fail."""

    chance = random.Random(7)

    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        if self.chance.random() < 0.5:
            time.sleep(self.chance.uniform(0.0, 3e-4))


def test_no_task_is_lost_while_the_thread_ends(monkeypatch):
    """Tasks come at any time around the end of the idle thread; the newest is always done."""
    monkeypatch.setattr(module, 'IDLE_TIMEOUT_S', 2e-4)
    monkeypatch.setattr(threading, 'Condition', HesitantCondition)
    latest, threads, done, chance = Latest('test'), set(), [], random.Random(8)
    for k in range(TASKS):

        def task(k=k):
            threads.add(threading.current_thread())
            done.append(k)
            return k

        if chance.random() < 0.2:
            latest.ask(lambda: 'replaced')
        if chance.random() < 0.1:
            latest.cancel()
        latest.ask(task)
        end = time.monotonic() + 20.0
        while (found := latest.poll()) is None:
            assert time.monotonic() < end, f'task {k} is lost; is busy: {latest.is_busy}'
            time.sleep(0.0)
        assert found == k
        time.sleep(chance.uniform(0.0, 4e-4))
    assert done == list(range(TASKS))
    assert 0.02 * TASKS < len(threads) < 0.98 * TASKS  # some tasks met an idle thread, some none
