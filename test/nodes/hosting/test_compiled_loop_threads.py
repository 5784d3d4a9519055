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


def test_nothing_is_written_to_a_descriptor_that_is_closed(monkeypatch):
    """A snapshot is still passed on while the loop is stopped; its number may be reused then."""
    may_go_on, is_reading = threading.Event(), threading.Event()
    pipeline = SimpleNamespace(
        observe_history=lambda: None,
        arm=lambda _: None,
        pass_snapshots=lambda: may_go_on.wait(DEADLINE_S),
        tables=SimpleNamespace(loop=LoopRecord(), release=lambda: None),
    )
    read, write = os.eventfd_read, os.eventfd_write

    def run(loop):
        write(loop.wakeup, 1)
        while not loop.stop:
            pass
        return STOPPED

    def noted_read(descriptor):
        if may_go_on.is_set():
            is_reading.set()
        return read(descriptor)

    def late_write(descriptor, value):
        may_go_on.set()
        while passing.is_alive() and not is_reading.is_set():
            passing.join(0.001)
        write(descriptor, value)

    taken = SimpleNamespace(has_info=True, close=lambda: None)
    made = CompiledLoop(pipeline, SimpleNamespace(run=run), taken, lambda: None)
    monkeypatch.setattr(os, 'eventfd_read', noted_read)
    monkeypatch.setattr(os, 'eventfd_write', late_write)
    made.start()
    (passing,) = (each for each in threading.enumerate() if each.name == 'snapshots')
    made.stop()
    passing.join(DEADLINE_S)
    assert not passing.is_alive()
