# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The printed and the saved report of the demo, read back."""

from __future__ import annotations

import json
import math

import pytest

from screw_dynamics_ros.cli.demo.report import DemoComparison, DemoReport, as_text, save

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
