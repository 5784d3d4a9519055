# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Real-time priority: had where it is permitted, explained where it is not."""

import os
import subprocess
import sys

import pytest

from screw_dynamics_ros.ros.process import scheduling

CHILD = """
import os, threading
from screw_dynamics_ros.ros.process.scheduling import use_ordinary_time, use_real_time
done = threading.Event()
threads = [threading.Thread(target=done.wait) for _ in range(3)]
for thread in threads:
    thread.start()
fault = use_real_time(7)
policies = [os.sched_getscheduler(int(t)) for t in os.listdir('/proc/self/task')]
use_ordinary_time()
policies.append(os.sched_getscheduler(0))
done.set()
print(bool(fault), *policies)
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='Linux has these calls')
def test_all_threads_or_a_reason():
    output = subprocess.run(
        [sys.executable, '-c', CHILD], capture_output=True, text=True, check=True
    ).stdout.split()
    fault, *policies = output
    expected = os.SCHED_OTHER if fault == 'True' else os.SCHED_FIFO
    assert policies == [str(expected)] * 4 + [str(os.SCHED_OTHER)]


LOCKED = """
import re
from pathlib import Path
from screw_dynamics_ros.ros.process.scheduling import lock_memory
fault = lock_memory()
locked = re.search(r'VmLck:\\s+(\\d+) kB', Path('/proc/self/status').read_text())[1]
print(locked, fault)
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='Linux has this call')
@pytest.mark.parametrize('limit', ['unlimited', '0'])
def test_memory_is_locked_or_a_reason_given(limit):
    """Without the right to lock, also as root."""
    drop = ['setpriv', '--bounding-set=-ipc_lock', '--inh-caps=-ipc_lock'] if limit == '0' else []
    command = f'ulimit -l {limit} && exec "$0" "$@"'
    child = [sys.executable, '-c', LOCKED]
    done = subprocess.run(
        ['sh', '-c', command, *drop, *child], capture_output=True, text=True, check=False
    )
    if done.returncode and not done.stdout:
        pytest.skip(f'the limit cannot be set here: {done.stderr}')
    locked, _, fault = done.stdout.strip().partition(' ')
    assert (int(locked) > 10_000) == (fault == '')
    assert not fault or 'memlock' in fault


@pytest.mark.parametrize(
    ('error', 'says'),
    [
        (PermissionError(1, 'Operation not permitted'), 'rtprio of 7'),
        (OSError(22, 'Invalid argument'), 'Invalid argument'),
    ],
)
def test_refusals_say_what_helps(monkeypatch, error, says):
    def refuse(*_):
        raise error

    monkeypatch.setattr(os, 'sched_setscheduler', refuse, raising=False)
    fault = scheduling.use_real_time(7)
    assert says in fault
    assert 'realtime_priority to 0' in fault
    scheduling.use_ordinary_time()  # refused as well, which changes nothing
