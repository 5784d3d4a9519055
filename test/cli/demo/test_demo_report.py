# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The push, the recording and the report of the demo, on made-up messages."""

from __future__ import annotations

import copy
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli.demo import command as demo
from screw_dynamics_ros.cli.demo.recording import (
    STAMPED,
    DemoRecording,
    Push,
    Series,
    singular_values,
)
from screw_dynamics_ros.cli.demo.report import (
    DemoComparison,
    DemoReport,
    as_text,
    make_report,
    mean,
    percentile,
    rate,
    save,
    worst,
)
from screw_dynamics_ros.core import Robot
from support.demo_runs import PANDA, PERIOD, PUSH, TOOL, make_recording


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(PANDA)


@pytest.fixture(scope='module')
def perfect(robot: Robot) -> DemoRecording:
    return make_recording(robot)


def test_push_rises_stays_and_falls():
    assert PUSH.strength([0.0, 2.0, 2.25, 2.5, 4.0, 5.5, 5.75, 6.0, 9.0]) == pytest.approx(
        [0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0]
    )


def test_push_is_continuous_with_its_rate():
    time_ = np.linspace(1.5, 6.5, 5001)
    slope = np.gradient(PUSH.strength(time_), time_)
    assert np.abs(slope).max() < 1.6 / PUSH.ramp
    assert np.abs(np.gradient(slope, time_)).max() < 6.1 / PUSH.ramp**2


def test_phases_are_those_of_what_acts():
    """Steady and absent after a second of states in which it was so; absent from the beginning."""
    force = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0]
    acting = np.outer(force, [0.0, 0.0, 0.0, 3.0, 4.0, 0.0])
    steady, absent = PUSH.phases(acting, 0.5)
    assert np.flatnonzero(steady).tolist() == [4, 5]
    assert np.flatnonzero(absent).tolist() == [0, 1, 8, 12]


def test_phases_without_a_push():
    for count in (0, 3):
        steady, absent = PUSH.phases(np.zeros((count, 6)), 0.5)
        assert not steady.any()
        assert absent.all()


def test_series_gives_all_messages():
    series = Series(2, lambda text: (int(text), (float(text), -float(text))))
    for k in range(4):
        series.add(10 + k, str(k))
        assert len(series.values()) == k + 1
    assert len(series) == 4
    assert series.stamps().tolist() == [0, 1, 2, 3]
    assert series.arrivals().tolist() == [10, 11, 12, 13]
    assert series.values().tolist() == [[0.0, 0.0], [1.0, -1.0], [2.0, -2.0], [3.0, -3.0]]
    assert series.last_stamp == 3


def test_series_reads_only_once():
    read: list[int] = []

    def decode(message: int) -> tuple[int, tuple[float]]:
        read.append(message)
        return message, (0.0,)

    series = Series(1, decode)
    for k in range(5):
        series.add(k, k)
    assert series.last_stamp == 4
    assert read == [4]
    series.values()
    series.stamps()
    assert read == [4, 0, 1, 2, 3, 4]


def test_series_without_messages():
    series = Series(3, lambda message: message)
    assert series.values().shape == (0, 3)
    assert series.stamps().shape == series.arrivals().shape == (0,)
    assert series.last_stamp == 0


def test_latency_runs_to_the_last_stamped_output(perfect: DemoRecording):
    index, since_arrival, since_stamp = perfect.latency()
    assert len(index) == len(perfect.series['joint_states'])
    assert since_arrival == pytest.approx(np.full(len(index), 0.0010))
    assert since_stamp == pytest.approx(np.full(len(index), 0.0012))


def test_latency_is_exact_in_nanoseconds(perfect: DemoRecording):
    """Stamps since 1970 have more digits than floating point numbers."""
    recording, shift = copy.deepcopy(perfect), 1_700_000_000_000_000_001
    for series in recording.series.values():
        series._all = series.stamps() + shift, series.values()
        series._arrivals = (series.arrivals() + shift).tolist()
    for one, other in zip(recording.latency(), perfect.latency()):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize('lost', STAMPED)
def test_latency_leaves_out_incomplete_sets(robot: Robot, lost: str):
    recording = make_recording(
        robot, 1.0, lambda name, k, values: None if name == lost and k in (3, 7) else values
    )
    index, since_arrival, _ = recording.latency()
    assert sorted(set(range(50)) - set(index.tolist())) == [3, 7]
    assert len(since_arrival) == 48


def test_together_pairs_messages_by_stamp(robot: Robot):
    recording = make_recording(
        robot,
        0.2,
        lambda name, k, values: (
            None if (name == 'wrench' and k == 2) or (name == 'gravity' and k == 5) else values
        ),
    )
    seconds, wrench, gravity = recording.together('wrench', 'gravity')
    assert seconds == pytest.approx([0.0, 0.02, 0.06, 0.08, 0.12, 0.14, 0.16, 0.18])
    assert len(wrench) == len(gravity) == 8
    assert gravity[2] == pytest.approx(recording.series['gravity'].values()[3])


def test_tool_pose_is_that_of_the_model(robot: Robot, perfect: DemoRecording):
    position, rotation = perfect.tool_pose(perfect.series['tf'].values())
    q = perfect.series['joint_states'].values()[:, : robot.nq]
    expected = robot.link_pose(q, TOOL)
    assert np.abs(position - expected[:, :3, 3]).max() < 1e-14
    assert np.abs(rotation.as_matrix() - expected[:, :3, :3]).max() < 1e-14


def test_singular_values_do_not_depend_on_the_order_of_rows(perfect: DemoRecording):
    rows = perfect.series['jacobian'].values()[:5]
    swapped = np.roll(rows.reshape(5, 6, -1), 3, axis=1).reshape(5, -1)
    assert singular_values(rows).shape == (5, 6)
    assert singular_values(rows) == pytest.approx(singular_values(swapped))


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


REPORT = DemoReport(
    duration=12.25,
    joint_states=2450,
    rates={'joint_states': 200.0, 'wrench': 199.5},
    latency={
        'median since arrival': 1.25,
        'p99 since arrival': 2.5,
        'median since stamp': 3.75,
        'p99 since stamp': 5.5,
    },
    comparisons=(
        DemoComparison('force', 0.125, 0.25, 'N'),
        DemoComparison('equal', 0.25, 0.25, 'N m'),
        DemoComparison('moment', 0.5, 0.25, 'N m'),
        DemoComparison('nothing', math.nan, 0.25, '%'),
    ),
    remarks=('no Pinocchio',),
)


def test_numbers_of_the_text():
    """Counts, rates, latencies, and the conclusion of each comparison; NaN fails."""
    lines = as_text(REPORT).splitlines()
    assert max(map(len, lines)) <= 79
    assert lines[0] == '2450 joint states in 12.2 s'
    cells = [line.split() for line in lines]
    for name, value in REPORT.rates.items():
        assert [name, f'{value:.1f}'] in cells
    (arrival,) = (line for line in lines if 'from the arrival' in line)
    (stamp,) = (line for line in lines if 'from its stamp' in line)
    assert arrival.split()[-2:] == ['1.25', '2.50']
    assert stamp.split()[-2:] == ['3.75', '5.50']
    found = [row for row in cells if row and row[0] in ('PASS', 'FAIL')]
    assert [row[:2] for row in found] == [
        ['PASS', 'force'], ['PASS', 'equal'], ['FAIL', 'moment'], ['FAIL', 'nothing'],
    ]  # fmt: skip
    for row, each in zip(found, REPORT.comparisons):
        assert float(row[2]) == pytest.approx(each.value, rel=0.05, nan_ok=True)
        assert float(row[3]) == each.limit
        assert ' '.join(row[4:]) == each.unit
    assert cells[-1] == ['no', 'Pinocchio']
    assert REPORT.failures == ['moment', 'nothing']


def test_saved_report(tmp_path):
    path = tmp_path / 'new' / 'report.json'
    save(REPORT, path, {'robot': 'panda'})
    found = json.loads(path.read_text())
    assert (found['robot'], found['passed'], found['duration']) == ('panda', False, 12.25)
    assert [each['passed'] for each in found['comparisons']] == [True, True, False, False]
    assert found['comparisons'][3]['value'] is None
    assert found['comparisons'][2]['value'] == 0.5
    assert found['latency'] == REPORT.latency
    assert found['remarks'] == ['no Pinocchio']
