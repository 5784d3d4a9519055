"""A process of its own for what takes long: it answers, may die, and outlives nobody."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip('rclpy')

from screw_dynamics_ros.ros.diagnostics import Level, Status
from screw_dynamics_ros.ros.process.worker import NICENESS, Worker, WorkerError
from support.processes import is_running, wait_for


@pytest.fixture
def worker():
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
def test_killed_in_the_middle_of_a_call(worker, number):
    """The caller is told how it ended; the next call starts another process."""
    pid = worker.call(os.getpid)
    killer = threading.Timer(0.3, os.kill, (pid, number))
    killer.start()
    with pytest.raises(WorkerError, match=f'that tries was ended by signal {int(number)}'):
        worker.call(time.sleep, 60.0)
    status = report(worker)
    assert (status.level, status.values) == (Level.WARN, {'processes that died': '1'})
    assert 'try again' in status.summary
    assert worker.call(os.getpid) != pid
    assert report(worker).level == Level.WARN  # for a while
    assert not is_running(pid)


def test_killed_between_two_calls(worker):
    """Nobody is told but the diagnostics."""
    pid = worker.call(os.getpid)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert worker.call(os.getpid) != pid
    assert report(worker).values == {'processes that died': '1'}


def test_exit_and_memory(worker):
    """Functions that end the process, or want more memory than there is."""
    with pytest.raises(WorkerError, match='exit status 3'):
        worker.call(os._exit, 3)
    with pytest.raises(WorkerError, match='MemoryError'):
        worker.call(bytearray, 2**62)
    assert worker.call(len, 'ab') == 2


def test_interrupts_of_the_terminal_are_for_the_parent(worker):
    pid = worker.call(os.getpid)
    os.kill(pid, signal.SIGINT)
    assert worker.call(os.getpid) == pid


def test_ended_in_the_middle_of_a_call(worker):
    """From another thread; twice; and no other process is started."""
    pid = worker.call(os.getpid)
    threading.Timer(0.3, worker.end).start()
    begin = time.monotonic()
    with pytest.raises(WorkerError, match='ended'):
        worker.call(time.sleep, 60.0)
    assert time.monotonic() - begin < 30.0
    assert not is_running(pid)
    worker.end()
    with pytest.raises(WorkerError, match='ended'):
        worker.call(os.getpid)
    assert worker.pid is None


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
import os, sys, threading, time
from screw_dynamics_ros.ros.process.worker import Worker
worker = Worker('outlives')
print(worker.call(os.getpid), flush=True)
threading.Thread(target=worker.call, args=(time.sleep, 60.0), daemon=True).start()
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize('how', ['killed', 'ends'])
def test_it_does_not_outlive_its_parent(how):
    """Whatever it is doing, and however that ends."""
    parent = subprocess.Popen(
        [sys.executable, '-c', PARENT, '60' if how == 'killed' else '0.3'],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
    )
    pid = int(parent.stdout.readline())
    assert is_running(pid)
    if how == 'killed':
        parent.kill()
    assert parent.wait(20.0) == (-signal.SIGKILL if how == 'killed' else 0)
    parent.stdout.close()
    wait_for(lambda: not is_running(pid))


def test_a_process_that_cannot_be_started_is_told(worker, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, 'executable', str(tmp_path / 'nowhere'))
    with pytest.raises(WorkerError, match='could not be started'):
        worker.call(os.getpid)
    monkeypatch.undo()
    assert worker.call(len, 'a') == 1
