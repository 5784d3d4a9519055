# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Statistics, comparisons and conclusion of the demo, on made-up recordings."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli.demo import command as demo
from screw_dynamics_ros.cli.demo.recording import STAMPED, DemoRecording, Push
from screw_dynamics_ros.cli.demo.report import make_report, mean, percentile, rate, worst
from screw_dynamics_ros.core import Robot
from support.demo_runs import PANDA, PERIOD, PUSH, TOOL, make_recording


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(PANDA)


@pytest.fixture(scope='module')
def perfect(robot: Robot) -> DemoRecording:
    return make_recording(robot)


def test_statistics():
    assert rate([0, 10_000_000, 20_000_000]) == pytest.approx(100.0)
    assert percentile([1.0, 2.0, 9.0], 50) == 2.0
    assert mean([-1.0, 3.0]) == 1.0
    assert worst([[1.0, -4.0], [2.0, 3.0]]) == 4.0
    for nothing in (rate([]), rate([5]), rate([5, 5]), percentile([], 50), mean([]), worst([])):
        assert math.isnan(nothing)


def test_perfect_run_passes(perfect: DemoRecording):
    report = make_report(perfect, PUSH, PANDA, TOOL)
    assert report.failures == []
    assert report.rates['joint_states'] == pytest.approx(1.0 / PERIOD)
    assert report.latency['median since arrival'] == pytest.approx(1.0)
    assert report.latency['p99 since stamp'] == pytest.approx(1.2)


@pytest.mark.parametrize('error', [0.0, 1e-12])
def test_the_model_state_has_the_numbers_of_the_topics(robot: Robot, error: float):
    recording = make_recording(robot)
    stamps = recording.series['gravity'].stamps().tolist()
    numbers = np.concatenate([recording.series[name].values() for name in STAMPED], axis=1)
    numbers[-1, 0] += error
    for stamp, row in zip(stamps, numbers):
        recording.series['model_state'].add(stamp, (stamp, row))
    failures = make_report(recording, PUSH, PANDA, TOOL).failures
    assert failures == (['~/model_state - topics, worst'] if error else [])


def test_percentiles_of_latencies(perfect: DemoRecording, monkeypatch: pytest.MonkeyPatch):
    latencies = 1e-3 * np.arange(101.0)
    monkeypatch.setattr(perfect, 'latency', lambda: (np.arange(101), latencies, 2.0 * latencies))
    assert make_report(perfect, PUSH, PANDA, TOOL).latency == pytest.approx(
        {
            'median since arrival': 50.0,
            'p99 since arrival': 99.0,
            'median since stamp': 100.0,
            'p99 since stamp': 198.0,
        }
    )


def failures(recording: DemoRecording, push: Push = PUSH) -> str:
    return '; '.join(make_report(recording, push, PANDA, TOOL).failures)


@pytest.mark.parametrize('axis', [0, 1, 2])
def test_another_force_fails(perfect: DemoRecording, axis: int):
    force = list(PUSH.force)
    force[axis] += 0.5
    assert failures(perfect, Push((force[0], force[1], force[2]), PUSH.start, PUSH.end)) == (
        f'force {"xyz"[axis]} of {force[axis]:g} N, mean error'
    )


@pytest.mark.parametrize(
    ('name', 'column', 'by', 'at', 'failed'),
    [
        ('wrench', 1, 2.0, 4.0, 'force y of -5 N, worst error'),
        ('wrench', 4, 1.0, 4.0, 'moment of 0 N m, worst error'),
        ('wrench', 4, math.nan, 4.0, 'moment of 0 N m, mean error; moment of 0 N m, worst error'),
        ('wrench', 2, 2.0, 1.0, 'force without push, worst'),
        ('wrench', 2, 2.0, 2.2, ''),  # on the ramp
        ('feedforward', 3, 1.0, 1.5, 'feedforward - torque, worst (panda_joint4)'),
        ('feedforward', 7, math.nan, 1.5, 'feedforward - torque, worst (panda_finger_joint1)'),
        ('joint_states', 17, 1.0, 1.5, 'feedforward - torque, worst (panda_joint2)'),
    ],
)
def test_one_wrong_number_fails(
    robot: Robot, name: str, column: int, by: float, at: float, failed: str
):
    def spoil(series: str, k: int, values: np.ndarray) -> np.ndarray:
        if series == name and k == round(at / PERIOD):
            values = values.copy()
            values[column] += by
        return values

    assert failures(make_recording(robot, edit=spoil)) == failed


@pytest.mark.parametrize(
    ('name', 'column', 'failed'),
    [
        ('tf', 0, 'tool position against Pinocchio'),
        ('gravity', 2, 'gravity against Pinocchio'),
        ('coriolis', 2, 'Coriolis against Pinocchio'),
    ],
)
def test_deviation_from_pinocchio_fails(robot: Robot, name: str, column: int, failed: str):
    pytest.importorskip('pinocchio')

    def spoil(series: str, k: int, values: np.ndarray) -> np.ndarray:
        return values + 1e-6 * (np.arange(len(values)) == column) * (series == name and k == 9)

    assert failures(make_recording(robot, edit=spoil)) == failed


def test_without_pinocchio_the_rest_is_compared(
    perfect: DemoRecording, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, 'pinocchio', None)
    report = make_report(perfect, PUSH, PANDA, TOOL)
    assert report.failures == []
    assert 'Pinocchio' in report.remarks[0]


def test_lost_messages_fail(robot: Robot):
    recording = make_recording(
        robot, edit=lambda name, k, values: None if name == 'gravity' and k % 15 == 0 else values
    )
    assert failures(recording) == 'joint states without all outputs'


@pytest.mark.parametrize('silent', ['joint_states', *STAMPED])
def test_silence_is_no_success(robot: Robot, silent: str):
    recording = make_recording(
        robot, edit=lambda name, k, values: None if name == silent else values
    )
    assert 'joint states without all outputs' in failures(recording)


def test_run_too_short_for_a_steady_push_fails(robot: Robot):
    assert 'force x of 8 N, mean error' in failures(make_recording(robot, 3.0))


# --- conclusion -----------------------------------------------------------------------------------


def test_conclusion_of_a_good_run(
    perfect: DemoRecording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip('matplotlib')
    assert demo.conclude(perfect, PUSH, PANDA, tmp_path / 'new') == 0
    text = capsys.readouterr().out
    assert 'FAIL' not in text
    assert 'PASSED' in text
    assert max(map(len, text.replace(str(tmp_path), '').splitlines())) < 80
    assert (tmp_path / 'new/demo.png').read_bytes()[:8] == b'\x89PNG\r\n\x1a\n'
    contents = json.loads((tmp_path / 'new/demo.json').read_text())
    assert contents['passed'] is True
    assert contents['joint_states'] == 400


def test_conclusion_of_a_bad_run(
    perfect: DemoRecording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    other = Push((8.0, 5.0, 12.0), PUSH.start, PUSH.end)
    assert demo.conclude(perfect, other, PANDA, tmp_path) == 1
    text = capsys.readouterr().out
    assert re.search(r'FAIL +force y of 5 N, mean error +10', text)
    assert 'FAILED: force y of 5 N, mean error; force y of 5 N, worst error' in text
    contents = json.loads((tmp_path / 'demo.json').read_text())
    assert contents['passed'] is False
    assert [c['name'] for c in contents['comparisons'] if not c['passed']] == [
        'force y of 5 N, mean error',
        'force y of 5 N, worst error',
    ]


def test_conclusion_without_any_message(
    robot: Robot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    empty = DemoRecording(robot.joint_names, 'panda_link0', TOOL, [None], start=0)
    assert demo.conclude(empty, PUSH, PANDA, tmp_path) == 1
    assert 'NaN' not in (tmp_path / 'demo.json').read_text()


def test_conclusion_without_matplotlib(
    perfect: DemoRecording,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    assert demo.conclude(perfect, PUSH, PANDA, tmp_path) == 0
    assert 'no picture: matplotlib is not installed' in capsys.readouterr().out


def test_conclusion_where_nothing_can_be_saved(
    perfect: DemoRecording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / 'results').write_text('a file')
    assert demo.conclude(perfect, PUSH, PANDA, tmp_path / 'results') == 0
    assert 'not saved' in capsys.readouterr().out
