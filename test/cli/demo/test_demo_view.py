# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The live view of the demo, on made-up recordings."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import numpy as np
import pytest

from screw_dynamics_ros.cli.demo import view as demo_view
from screw_dynamics_ros.cli.demo.recording import DemoRecording
from screw_dynamics_ros.cli.demo.view import Screen, cut, lines, one_line, progress, take_snapshot
from screw_dynamics_ros.core import Robot
from support.demo_runs import PANDA, PERIOD, PUSH, TOOL, make_recording


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(PANDA)


@pytest.fixture(scope='module')
def perfect(robot: Robot) -> DemoRecording:
    return make_recording(robot)


@pytest.mark.parametrize('width', [10, 20, 40, 79, 120, 300])
@pytest.mark.parametrize('messages', [0, 5, 250])
def test_view_fits(robot: Robot, width: int, messages: int):
    recording = make_recording(robot, messages * PERIOD)
    view = lines(take_snapshot(recording, PUSH, 3.0, 8.0), width, 'title ' * 10)
    assert max(len(''.join(text for text, _ in line)) for line in view) <= width
    assert len(view) < 24 or width < 79


def test_narrow_view_cuts_no_number_in_two(robot: Robot, perfect: DemoRecording):
    def numbers(width: int) -> list[list[str]]:
        view = lines(take_snapshot(perfect, PUSH, 3.0, 8.0), width)
        return [''.join(text for text, _ in line)[13:].split() for line in view[4:14]]

    wide = numbers(120)
    for width in range(20, 79):
        for narrow, whole in zip(numbers(width), wide):
            assert narrow == whole[: len(narrow)]


def test_view_shows_the_latest_numbers(robot: Robot, perfect: DemoRecording):
    recording = make_recording(robot, 5.0)
    view = '\n'.join(
        ''.join(text for text, _ in line)
        for line in lines(take_snapshot(recording, PUSH, 5.0, 8.0), 79)
    )
    q = recording.series['joint_states'].values(1)[0][: robot.nq]
    assert ''.join(f'{value:10.4f}' for value in robot.link_pose(q, TOOL)[:3, 3]) in view
    assert ''.join(f'{value:8.3f}' for value in robot.gravity_torques(q)[1:4]) in view
    assert re.search(r'y +-5\.00 +-5\.00', view)
    assert not re.search(r'-0\.0+(\s|$)', view)
    assert 'joint1  joint2' in view
    assert 'latency 1.00 ms' in view


def test_the_bar_of_progress_marks_the_push():
    """Two of eight seconds are over; the push lasts from 2 to 6 s."""
    snapshot = SimpleNamespace(time=2.5, duration=8.0, push=(2.0, 6.0))
    assert progress(snapshot, 16) == [('━━━━', 'bar'), ('━───────', 'push'), ('────', 'bar')]
    snapshot.time = 9.0
    assert progress(snapshot, 4) == [('━━', 'bar'), ('━━━━━━', 'push'), ('━━', 'bar')]
    snapshot.push = (0.0, 8.0)
    assert progress(snapshot, 12) == [('━' * 12, 'push')]


def test_latency_is_the_median(perfect: DemoRecording, monkeypatch: pytest.MonkeyPatch):
    latencies = 1e-3 * np.arange(101.0)
    monkeypatch.setattr(perfect, 'latency', lambda last: (np.arange(101), latencies, latencies))
    assert take_snapshot(perfect, PUSH, 3.0, 8.0).latency == pytest.approx(0.05)


def test_force_bar_shows_estimate_and_applied_force():
    line = demo_view.force_bar('x', applied=5.0, estimated=-10.0, scale=10.0, width=60)
    text = ''.join(piece for piece, _ in line)[37:]
    half = len(text) // 2
    assert text[:half] == '█' * half
    assert text[half] == '│'
    assert text[half + 1 :].index('┃') == round(half / 2) - 1


def test_cut_counts_columns_not_escape_sequences():
    assert cut([('abc', 'good'), ('def', '')], 4) == [('abc', 'good'), ('d', '')]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = 'utf-8'

    def isatty(self) -> bool:
        return True


def test_screen_redraws_in_place(perfect: DemoRecording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setenv('COLUMNS', '70')
    monkeypatch.setenv('LINES', '12')
    monkeypatch.delenv('NO_COLOR', raising=False)
    stream = Terminal()
    with Screen(stream, 'title') as screen:
        for seconds in (1.0, 1.1):
            screen.draw(take_snapshot(perfect, PUSH, seconds, 8.0))
    text = stream.getvalue()
    assert text.startswith('\033[?25l')
    assert text.endswith('\033[?25h')
    assert text.count('\n') == 22
    assert text.count('\033[11A') == 1
    visible = re.sub(r'\033\[[0-9;?]*[A-Za-z]|\r', '', text)
    assert max(map(len, visible.split('\n'))) <= 69


def test_screen_without_unicode_and_colour(perfect: DemoRecording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setenv('NO_COLOR', '1')
    stream = Terminal()
    stream.encoding = 'ascii'  # type: ignore[misc]
    Screen(stream, 'title').draw(take_snapshot(perfect, PUSH, 1.0, 8.0))
    stream.getvalue().encode('ascii')
    assert '\033[1m' not in stream.getvalue()


def test_screen_elsewhere_prints_a_line_each_second(perfect: DemoRecording):
    stream = io.StringIO()
    with Screen(stream, 'title') as screen:
        for k in range(31):
            screen.draw(take_snapshot(perfect, PUSH, 0.1 * k + 0.05, 8.0))
    assert len(stream.getvalue().splitlines()) == 4
    assert '\033' not in stream.getvalue()
    assert stream.getvalue().splitlines()[0] == one_line(take_snapshot(perfect, PUSH, 0.05, 8.0))
