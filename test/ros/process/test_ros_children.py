# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Child processes: reported when they die, ended in every case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from screw_dynamics_ros.ros.process import children as processes
from screw_dynamics_ros.ros.process.children import Children, free_domain
from support.paths import ROOT
from support.processes import is_running, wait_for

DEADLINE = 300.0  # s; only a failing test waits that long


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Return a function that makes a module children can run."""
    monkeypatch.setenv(
        'PYTHONPATH',
        os.pathsep.join([str(tmp_path), *os.environ.get('PYTHONPATH', '').split(os.pathsep)]),
    )

    def make(name: str, code: str) -> str:
        (tmp_path / f'{name}.py').write_text(code)
        return name

    return make


def test_child_that_dies_is_reported_with_its_last_output(
    modules: Callable[[str, str], str], tmp_path: Path
):
    code = (
        'import pathlib, sys, time\n'
        f'while not pathlib.Path({str(tmp_path / "now")!r}).exists(): time.sleep(0.01)\n'
        'print("a reason"); sys.exit(7)'
    )
    name = modules('short_lived', code)
    with Children() as children:
        children.start('driver', name, [])
        children.check()
        (tmp_path / 'now').touch()
        wait_for(lambda: not is_running(children.pids()['driver']), DEADLINE)
        with pytest.raises(ChildProcessError, match=r'(?s)driver exited with status 7.*a reason'):
            children.check()


def test_children_end_with_the_block(
    modules: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(processes, 'SHUTDOWN_TIMEOUTS_S', ((signal.SIGINT, DEADLINE),))
    name = modules('patient', 'import signal; signal.pause()')
    pids: dict[str, int] = {}

    def crash() -> None:
        with Children() as children:
            children.start('a', name, [])
            children.start('b', name, [])
            pids.update(children.pids())
            assert all(map(is_running, pids.values()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crash()
    assert len(pids) == 2
    assert not any(map(is_running, pids.values()))


def test_child_that_does_not_listen_is_killed(
    modules: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        processes,
        'SHUTDOWN_TIMEOUTS_S',
        ((signal.SIGINT, 0.1), (signal.SIGTERM, 0.1), (signal.SIGKILL, DEADLINE)),
    )
    name = modules(
        'stubborn',
        'import signal\n'
        'for s in (signal.SIGINT, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)\n'
        'print("deaf")\nsignal.pause()',
    )
    with Children() as children:
        children.start('stubborn', name, [])
        wait_for(lambda: children.output('stubborn') == ['deaf'], DEADLINE)
        pid = children.pids()['stubborn']
    assert not is_running(pid)


def test_children_end_with_a_killed_parent(modules: Callable[[str, str], str]):
    name = modules('orphan', 'import signal; signal.pause()')
    parent = modules(
        'killed',
        f"""
import signal
from screw_dynamics_ros.ros.process.children import Children
with Children() as children:
    children.start('orphan', {name!r}, [])
    print(children.pids()['orphan'], flush=True)
    signal.pause()
""",
    )
    with subprocess.Popen(
        [sys.executable, '-m', parent], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert is_running(pid)
        process.kill()
    wait_for(lambda: not is_running(pid), DEADLINE)


def test_free_domain_is_one_that_is_safe_to_use():
    assert 0 < free_domain() <= 101
    assert free_domain(55, 55) == 55
