# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of Python that compiled code calls while it holds the lock of states."""

import pytest

pytest.importorskip('llvmlite')

from screw_dynamics_ros.core.compile.typed.external import Signature
from screw_dynamics_ros.core.compile.typed.functions import typed
from screw_dynamics_ros.core.compile.typed.library import calls
from screw_dynamics_ros.core.compile.typed.records import Opaque, Record
from screw_dynamics_ros.ros.process.faults import FAULTS
from screw_dynamics_ros.ros.process.python_function import PythonFunction
from screw_dynamics_ros.ros.process.state_lock import STATE_LOCK

function = Signature(('address', 'address'), 'i64')


class Caller(Record):
    """Calls a function."""

    called: Opaque


@typed
def call(caller: Caller) -> int:
    """Return the result of the function, twice."""
    return 2 * function(caller.called, caller, caller)


def called(python, is_compiled):
    caller = Caller()
    caller.called = python
    return (calls(call)[0] if is_compiled else call)(caller)


@pytest.mark.parametrize('is_compiled', [True, False])
def test_results_and_errors(is_compiled):
    assert called(PythonFunction('three', lambda: 3), is_compiled) == 6
    assert called(PythonFunction('nothing', lambda: None), is_compiled) == 0

    def fail():
        raise FloatingPointError('too large')

    assert called(PythonFunction('a failing step', fail, failed=7), is_compiled) == 14
    assert 'too large' in FAULTS.status().values['a failing step']


def test_a_section_of_python_inside_changes_nothing_of_the_loop(monkeypatch):
    """Compiled code is in the middle of a state: its tables must not be replaced now."""
    seen = []
    monkeypatch.setattr(STATE_LOCK, 'before', [lambda: seen.append('before')])
    monkeypatch.setattr(STATE_LOCK, 'after', [lambda: seen.append('after')])

    def section():
        with STATE_LOCK:
            seen.append('inside')

    STATE_LOCK._mutex.acquire()  # as compiled code does
    called(PythonFunction('a section', section), True)
    STATE_LOCK._mutex.release()
    assert seen == ['inside']
    section()
    assert seen == ['inside', 'before', 'inside', 'after']
