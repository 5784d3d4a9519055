# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A process that crashes leaves a trace: a node, and a worker of the tests."""

import os
import subprocess
import sys

import pytest

from support.paths import ROOT

CRASHING_NODE = """
import os, signal
from types import SimpleNamespace
from screw_dynamics_ros import entry
def crash(name): os.kill(os.getpid(), signal.SIGSEGV)
entry.import_module = lambda _: SimpleNamespace(run=crash)
entry.run_node('kinematics')
"""

#: As rclpy does in each EventsExecutor, then a fault of compiled code.
CRASHING_TEST = """
import faulthandler, os, signal
def test_that_crashes():
    faulthandler.enable()
    os.kill(os.getpid(), signal.SIGSEGV)
def test_of_another_worker():
    pass
"""


def run(*arguments, **variables):
    """Run Python without the variables that this process has for its own nodes."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(('PYTEST', 'PYTHONFAULT', 'SCREW_DYNAMICS'))
    }
    path = os.pathsep.join([str(ROOT), str(ROOT / 'test')])
    return subprocess.run(
        [sys.executable, *arguments],
        env={**environment, 'PYTHONPATH': path, **variables},
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_a_node_shows_where_it_crashed():
    found = run('-c', CRASHING_NODE)
    assert found.returncode < 0
    assert 'Fatal Python error: Segmentation fault' in found.stderr
    assert 'in crash' in found.stderr


def test_a_node_without_stderr_starts():
    """As those of some launchers."""
    text = CRASHING_NODE.replace('entry.run_node', 'import sys; sys.stderr = None; entry.run_node')
    assert run('-c', text).returncode < 0


@pytest.mark.parametrize('options', [('-n', '2', '--max-worker-restart', '0'), ()])
def test_a_process_of_the_tests_shows_where_it_crashed(tmp_path, options):
    if options:
        pytest.importorskip('xdist')
    (tmp_path / 'test_crash.py').write_text(CRASHING_TEST)
    plugins = '-p', 'conftest', '-p', 'no:cacheprovider'
    found = run('-m', 'pytest', '-q', *plugins, *options, f'--rootdir={tmp_path}', str(tmp_path))
    assert found.returncode
    _, _, trace = (found.stdout if options else found.stderr).partition('Fatal Python error: ')
    assert trace.startswith('Segmentation fault')
    assert 'in test_that_crashes' in trace


def test_a_worker_that_is_ended_from_outside_shows_where_it_was(tmp_path):
    pytest.importorskip('xdist')
    (tmp_path / 'test_crash.py').write_text(CRASHING_TEST.replace('SIGSEGV', 'SIGTERM'))
    options = (
        '-q',
        '-n',
        '2',
        '--max-worker-restart',
        '0',
        '-p',
        'conftest',
        '-p',
        'no:cacheprovider',
    )
    found = run('-m', 'pytest', *options, f'--rootdir={tmp_path}', str(tmp_path))
    _, _, trace = found.stdout.partition('crash of worker gw')
    assert 'in test_that_crashes' in trace
