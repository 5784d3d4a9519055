# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The threads of the compiled loop end in order."""

import os
import sys
import threading
from types import SimpleNamespace

import pytest

if not sys.platform.startswith('linux'):
    pytest.skip('the loop is for Linux', allow_module_level=True)

from screw_dynamics_ros.nodes.hosting.compiled_loop import CompiledLoop
from screw_dynamics_ros.ros.data_path.loop import STOPPED
from screw_dynamics_ros.ros.data_path.records import LoopRecord

DEADLINE_S = 60.0  # only a failing test waits that long


def test_snapshots_of_the_last_states_are_passed_on():
    """Those that the loop takes after the request to end, too; then nothing is open."""
    passed, faults = threading.Semaphore(0), []
    record = LoopRecord()
    pipeline = SimpleNamespace(
        observe_history=lambda: None,
        arm=lambda _: None,
        pass_snapshots=passed.release,
        tables=SimpleNamespace(loop=record, release=lambda: None),
    )

    def run(loop):
        while not loop.stop:
            pass
        try:
            for _ in range(2):
                os.eventfd_write(loop.wakeup, 1)
                if not passed.acquire(timeout=DEADLINE_S):
                    faults.append('a snapshot is lost')
        except OSError as error:
            faults.append(str(error))
        return STOPPED

    taken = SimpleNamespace(has_info=True, close=lambda: None)
    made = CompiledLoop(pipeline, SimpleNamespace(run=run), taken, lambda: None)
    made.start()
    (passing,) = (each for each in threading.enumerate() if each.name == 'snapshots')
    made.stop()
    passing.join(DEADLINE_S)
    assert faults == []
    assert not passing.is_alive()
