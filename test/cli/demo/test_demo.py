# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The demo as a whole, over DDS, and its command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from screw_dynamics_ros.cli.demo import command as demo
from support.paths import ROOT
from support.processes import is_running


@pytest.fixture
def start_demo(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts the demo in a process of its own."""
    pytest.importorskip('rclpy')
    pytest.importorskip('tf2_msgs.msg')
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [
                    sys.executable,
                    '-u',
                    '-m',
                    'screw_dynamics_ros',
                    'demo',
                    '--results',
                    str(tmp_path),
                    *arguments,
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=ROOT,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def read_until(process: subprocess.Popen[str], pattern: str) -> str:
    """Return the output up to a line that matches."""
    assert process.stdout is not None
    text = ''
    for line in process.stdout:
        text += line
        if re.search(pattern, line):
            return text
    raise AssertionError(f'{pattern!r} not found in\n{text}')


def pids_in(text: str) -> dict[str, int]:
    return {name: int(pid) for name, pid in re.findall(r'started (\w+), process (\d+)', text)}


def test_view_needs_viser(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    assert demo.parse(['--view']).view
    monkeypatch.setattr(demo, 'find_spec', lambda name: None)
    with pytest.raises(SystemExit):
        demo.parse(['--view'])
    assert 'pip install viser' in capsys.readouterr().err


def test_demo_passes(start_demo: Callable[..., subprocess.Popen[str]], tmp_path: Path):
    """However slow the machine is: its time is that of the robot."""
    process = start_demo('--duration', '6')
    text = process.communicate()[0]
    assert 'FAIL' not in text, text
    assert process.returncode == 0, text
    contents = json.loads((tmp_path / 'demo.json').read_text())
    assert contents['passed'] is True
    assert contents['joint_states'] >= 1200
    assert contents['latency']['median since stamp'] > contents['latency']['median since arrival']
    assert (tmp_path / 'demo.png').exists()
    assert set(pids_in(text)) == {'simulator', 'bringup'}
    assert not any(map(is_running, pids_in(text).values()))


def test_demo_is_interrupted(start_demo: Callable[..., subprocess.Popen[str]]):
    process = start_demo()
    pids = pids_in(read_until(process, 'started bringup'))
    process.send_signal(signal.SIGINT)
    text = process.communicate()[0]
    assert process.returncode == 130
    assert 'Traceback' not in text
    assert not any(map(is_running, pids.values()))


def test_demo_whose_driver_dies(start_demo: Callable[..., subprocess.Popen[str]]):
    process = start_demo()
    text = read_until(process, 'all outputs after')
    pids = pids_in(text)
    os.kill(pids['simulator'], signal.SIGKILL)
    text = process.communicate()[0]
    assert process.returncode == 2
    assert 'the process simulator was terminated by signal 9; its last output:' in text
    assert 'comparison' not in text
    assert not any(map(is_running, pids.values()))


@pytest.mark.parametrize('duration', ['5', '301', 'nan', 'long'])
def test_duration_is_checked(duration: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as error:
        demo.parse(['--duration', duration])
    assert error.value.code == 2
    assert duration in capsys.readouterr().err


@pytest.mark.parametrize('module', ['rclpy', 'tf2_msgs.msg'])
def test_without_ros_the_remedy_is_named(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip('rclpy')
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, 'screw_dynamics_ros.cli.demo.client', raising=False)
    assert demo.main(['--duration', '6']) == 2
    error = capsys.readouterr().err
    assert module in error
    assert 'make demo' in error


def test_other_arguments_are_not(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        demo.parse(['--duraton', '7'])
    assert '--duraton' in capsys.readouterr().err
