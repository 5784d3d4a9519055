# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A process of its own for what takes long: it answers, may die, and outlives nobody."""

import os
import pickle
import posix
import re
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.process import worker as module
from screw_dynamics_ros.ros.process import worker as workers
from screw_dynamics_ros.ros.process.worker import NICENESS, Worker, WorkerError
from support.processes import is_running, wait_for

DEADLINE = 300.0  # s; only a failing test waits that long


def hang(path):
    """Never end, once there is a file that tells that the call has begun."""
    Path(path).touch()
    signal.pause()


@pytest.fixture
def in_call(worker, tmp_path):
    """Return a function that calls another one in the middle of a call that has no end."""

    def run(act):
        begun = tmp_path / 'begun'

        def watch():
            wait_for(begun.exists, DEADLINE)
            act()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            worker.call(hang, str(begun))
        finally:
            thread.join()

    return run


@pytest.fixture
def worker(monkeypatch):
    monkeypatch.setattr(
        workers, 'EXIT_TIMEOUT_S', DEADLINE
    )  # nobody is killed for being slow to end
    made = Worker('tries')
    yield made
    made.end()


def report(worker):
    status = Status('worker')
    worker.report(status, 'try again')
    return status


def test_it_is_another_process_that_goes_after_this_one(worker):
    assert worker.pid is None
    assert worker.call(os.getpid) == worker.pid != os.getpid()
    assert worker.call(os.getpid) == worker.pid
    assert worker.call(os.nice, 0) == min(os.nice(0) + NICENESS, 19)
    assert worker.call(os.sched_getscheduler, 0) == os.SCHED_OTHER
    assert report(worker).level == Level.OK


def fill(size):
    """Use memory."""
    return len(bytearray(size))


def compute():
    """Compute for a second at most, then for ever."""
    module.MAX_CPU_TIME_S = 1
    module.limit_time()
    while True:
        pass


def test_a_call_can_exhaust_its_process_and_nothing_else(worker):
    """Memory: the call fails. Time of a processor: the process ends, and another one answers."""
    pid = worker.call(os.getpid)
    assert worker.call(fill, 10**8) == 10**8
    with pytest.raises(WorkerError, match='MemoryError'):
        worker.call(fill, 2 * module.MAX_MEMORY_BYTES)
    assert worker.call(os.getpid) == pid
    with pytest.raises(WorkerError, match='SIGXCPU'):
        worker.call(compute)
    assert worker.call(os.getpid) != pid
    assert report(worker).level == Level.WARN


def test_limits_beyond_what_the_process_has(monkeypatch):
    """All of its memory counts, not only what of it is in use; and the time of its processor."""
    limits = {}
    monkeypatch.setattr(resource, 'setrlimit', limits.__setitem__)
    module.limit_memory()
    module.limit_time()
    (kilobytes,) = re.findall(r'VmSize:\s*(\d+) kB', Path('/proc/self/status').read_text())
    soft, hard = limits[resource.RLIMIT_AS]
    assert soft - module.MAX_MEMORY_BYTES == pytest.approx(1024 * int(kilobytes), rel=0.01)
    assert hard == resource.getrlimit(resource.RLIMIT_AS)[1]
    soft, hard = limits[resource.RLIMIT_CPU]
    used = resource.getrusage(resource.RUSAGE_SELF)
    assert soft - module.MAX_CPU_TIME_S == pytest.approx(used.ru_utime + used.ru_stime, abs=2)
    assert hard == resource.getrlimit(resource.RLIMIT_CPU)[1]


def test_it_has_nothing_of_this_process_but_its_pipes(worker, tmp_path):
    with (tmp_path / 'open').open('w'):
        files = worker.call(os.listdir, '/proc/self/fd')
    targets = [worker.call(readlink, f'/proc/self/fd/{number}') for number in files]
    assert not [target for target in targets if target and str(tmp_path) in target]
    assert not [target for target in targets if target and target.startswith('socket')]


def readlink(path):
    try:
        return os.readlink(path)
    except OSError:
        return None


def test_exceptions_are_told_and_the_process_stays(worker):
    pid = worker.call(os.getpid)
    with pytest.raises(WorkerError, match='ZeroDivisionError: '):
        worker.call(divmod, 1, 0)
    with pytest.raises(WorkerError, match='pickle'):
        worker.call(open, os.devnull)  # what it returns cannot be sent
    with pytest.raises(AttributeError, match='lambda'):
        worker.call(lambda: None)
    assert worker.call(os.getpid) == pid


def test_what_is_printed_is_no_answer(worker):
    assert worker.call(print, 'x' * 100_000) is None
    assert worker.call(os.write, 1, b'x') == 1
    assert worker.call(len, 'abc') == 3


def test_large_arguments_and_results(worker):
    data = bytes(range(256)) * 40_000
    assert worker.call(bytes.upper, data) == data.upper()


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
def test_killed_in_the_middle_of_a_call(worker, in_call, monkeypatch, number):
    """The caller learns how it ended; the next call starts another process."""
    now = [0.0]
    monkeypatch.setattr(workers, 'time', SimpleNamespace(monotonic=lambda: now[-1]))
    pid = worker.call(os.getpid)
    with pytest.raises(WorkerError, match=f'that tries was ended by signal {int(number)}'):
        in_call(lambda: os.kill(pid, number))
    status = report(worker)
    assert (status.level, status.values) == (Level.WARN, {'processes that died': '1'})
    assert 'try again' in status.summary
    assert worker.call(os.getpid) != pid
    now.append(workers.DEATH_HOLD_S)
    assert report(worker).level == Level.WARN
    now.append(workers.DEATH_HOLD_S + 0.1)
    assert report(worker).level == Level.OK
    assert not is_running(pid)


def test_killed_between_two_calls(worker):
    """Only the diagnostics report it."""
    pid = worker.call(os.getpid)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert worker.call(os.getpid) != pid
    assert report(worker).values == {'processes that died': '1'}


def test_exit_and_memory(worker):
    """Functions that end the process, or want more memory than there is."""
    with pytest.raises(WorkerError, match='exit status 3'):
        worker.call(posix._exit, 3)  # not os._exit, which coverage replaces
    with pytest.raises(WorkerError, match='MemoryError'):
        worker.call(bytearray, 2**62)
    assert worker.call(len, 'ab') == 2


def test_interrupts_of_the_terminal_are_for_the_parent(worker):
    pid = worker.call(os.getpid)
    os.kill(pid, signal.SIGINT)
    assert worker.call(os.getpid) == pid


def test_ended_in_the_middle_of_a_call(worker, in_call):
    """From another thread; twice; and no other process is started."""
    pid = worker.call(os.getpid)
    with pytest.raises(WorkerError, match='ended'):
        in_call(worker.end)
    assert not is_running(pid)
    worker.end()
    with pytest.raises(WorkerError, match='ended'):
        worker.call(os.getpid)
    assert worker.pid is None


@pytest.mark.parametrize(
    ('status', 'text'),
    [
        (0, 'ended with exit status 0'),
        (3, 'ended with exit status 3'),
        (-9, 'was ended by signal 9 (SIGKILL)'),
        (-signal.SIGRTMIN - 3, f'was ended by signal {signal.SIGRTMIN + 3}'),
    ],
)
def test_how_a_process_ended(status, text):
    assert workers.cause_of_end(status) == text


def test_results_and_exceptions_as_they_are_sent():
    """In this process, as in the other one."""

    def result(*task):
        return pickle.loads(module.result_of(pickle.dumps(task)))

    assert result(divmod, (7, 2)) == (True, (3, 1))
    assert result(divmod, (7, 0)) == (
        False,
        'ZeroDivisionError: integer division or modulo by zero',
    )
    is_done, text = result(threading.Lock, ())
    assert not is_done
    assert text.startswith('TypeError: cannot pickle')


def test_calls_of_several_threads_take_turns(worker):
    results = []

    def call(k):
        results.append((k, worker.call(divmod, k, 7)))

    threads = [threading.Thread(target=call, args=(k,)) for k in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(k, divmod(k, 7)) for k in range(50)]


PARENT = """
import os, signal, sys, threading
from pathlib import Path
from ros.process.test_ros_worker import hang
from screw_dynamics_ros.ros.process.worker import Worker
from support.processes import wait_for
worker, begun = Worker('outlives'), Path(sys.argv[1])
print(worker.call(os.getpid), flush=True)
threading.Thread(target=worker.call, args=(hang, begun), daemon=True).start()
wait_for(begun.exists, 300.0)
print('begun', flush=True)
if sys.argv[2] == 'killed':
    signal.pause()
"""


@pytest.mark.parametrize('how', ['killed', 'ends'])
def test_it_does_not_outlive_its_parent(how, tmp_path):
    """Whatever it is doing, and however that ends."""
    parent = subprocess.Popen(
        [sys.executable, '-c', PARENT, str(tmp_path / 'begun'), how],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
    )
    pid = int(parent.stdout.readline())
    assert parent.stdout.readline() == 'begun\n'
    if how == 'killed':
        assert is_running(pid)
        parent.kill()
    assert parent.wait(DEADLINE) == (-signal.SIGKILL if how == 'killed' else 0)
    parent.stdout.close()
    wait_for(lambda: not is_running(pid), DEADLINE)


def test_a_process_that_cannot_be_started_is_told(worker, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, 'executable', str(tmp_path / 'nowhere'))
    with pytest.raises(WorkerError, match='could not be started'):
        worker.call(os.getpid)
    monkeypatch.undo()
    assert worker.call(len, 'a') == 1
