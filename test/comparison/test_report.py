# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The report: each number and verdict, as text and as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from screw_dynamics_ros.comparison import report
from screw_dynamics_ros.comparison.explanation import Cause, Comparison
from screw_dynamics_ros.comparison.field_differences import FieldDifference
from screw_dynamics_ros.comparison.quantities import UNITS, Difference, Values
from screw_dynamics_ros.comparison.report import ProgramOutcome

TOLERANCE = 1e-6
MASS = FieldDifference('link arm', 'mass', '2', '2.5', lambda reading: reading)
LIMIT = FieldDifference('joint elbow', 'limit lower', '-1', '-2', lambda reading: reading)
CHANGED = {
    'mass': Difference(0.5, 0.25),
    'mass matrix': Difference(0.125, 0.3, 'elbow'),
    'forward dynamics': Difference(np.inf, np.inf),
}
SMALL = {'mass': Difference(1e-9, TOLERANCE), 'link orientations': Difference(2e-12, 1e-12, 'arm')}
CAUSE = Cause(MASS, CHANGED)


def comparison(differences, **fields) -> Comparison:
    return Comparison(differences, TOLERANCE, **fields)


OUTCOMES = {
    'agreeing': ProgramOutcome('Bullet', '3.2', comparison(SMALL, harmless=[LIMIT]), ['a note']),
    'explained': ProgramOutcome('ODE', '1', comparison(CHANGED, causes=[CAUSE])),
    'partly': ProgramOutcome('RBDL', '', comparison(CHANGED, causes=[CAUSE], explained=False)),
    'unexplained': ProgramOutcome(
        'KDL', '2', comparison(CHANGED, explained=False), printed=['hello', 'world']
    ),
    'refusing': ProgramOutcome('DART', refusal='is not installed', printed=['oh']),
}

VALUES = Values(
    {
        'mass': np.array([2.0, 2.0]),
        'mass matrix': np.array([[[0.5, -12.3456]], [[1.0, 2.0]]]),
        'link orientations': np.zeros((2, 1, 3, 3)),
    },
    ('arm',),
)

CHANGES = 'changes mass matrix by up to 0.125 kg m^2 (elbow), forward dynamics by up to inf rad/s^2'


@pytest.mark.parametrize(
    ('name', 'lines'),
    [
        (
            'agreeing',
            [
                'Bullet 3.2: agrees to 1e-06',
                '  note       joint elbow: limit lower: here -1, there -2',
                '  note       a note',
            ],
        ),
        (
            'explained',
            [
                'ODE 1: DIFFERS, as explained by:',
                f'  DIFFERENCE link arm: mass: here 2, there 2.5; {CHANGES}',
            ],
        ),
        (
            'partly',
            [
                'RBDL: DIFFERS, in part because of:',
                f'  DIFFERENCE link arm: mass: here 2, there 2.5; {CHANGES}',
            ],
        ),
        (
            'unexplained',
            [
                'KDL 2: DIFFERS, and no field of the description explains it: mass, mass matrix '
                '(elbow), forward dynamics',
                '  prints     hello',
                '  prints     world',
            ],
        ),
        ('refusing', ['DART: skipped: is not installed', '  prints     oh']),
    ],
)
def test_the_verdict_on_a_program(name, lines):
    assert list(report.findings(OUTCOMES[name])) == lines


def test_a_cause_without_effect_on_inertial_quantities():
    """Only its field is printed: the rest follows from others."""
    assert str(Cause(MASS, {'mass': Difference(0.5, 0.25)})) == str(MASS)


def test_agreement_includes_the_tolerance():
    """And names only what is above it as unexplained."""
    above = {**SMALL, 'mass matrix': Difference(1.0, 1.01 * TOLERANCE, 'elbow')}
    found = comparison(above, explained=False)
    assert comparison(SMALL).agrees
    assert not found.agrees
    assert report.verdict(found).endswith('explains it: mass matrix (elbow)')
    assert report.difference(found, 'mass matrix') == '1.0e+00*'
    assert report.difference(found, 'mass') == '1.0e-09 '


def test_the_table():
    """Programs that are compared have a column; a value that ours or theirs lack is shown."""
    lines = list(report.text('the head', VALUES, list(OUTCOMES.values())))
    assert lines[0] == 'the head'
    names = ['ours, at most', 'Bullet 3.2', 'ODE 1', 'RBDL', 'KDL 2']
    title, *rows = lines[1 : 2 + len(UNITS)]
    assert (
        title.split('  ')[-len(names) :] == names
        or title.split() == ' '.join(['unit', *names]).split()
    )
    ends = [title.index(name) + len(name) for name in names]
    cells = {}
    for row, (name, unit) in zip(rows, UNITS.items()):
        starts = [title.index('unit') + max(map(len, UNITS.values())), *ends]
        assert row[2:].startswith(name)
        assert row[title.index('unit') :].startswith(unit)
        cells[name] = [row[a:b].strip() for a, b in zip(starts, ends)]
    assert cells['mass'] == ['2', '1.0e-09', '5.0e-01*', '5.0e-01*', '5.0e-01*']
    assert cells['mass matrix'] == ['12.35', '-', '1.2e-01*', '1.2e-01*', '1.2e-01*']
    assert cells['link orientations'] == ['', '2.0e-12', '-', '-', '-']
    assert cells['forward dynamics'] == ['undefined', '-', 'inf*', 'inf*', 'inf*']
    assert lines[2 + len(UNITS) :] == [
        line for outcome in OUTCOMES.values() for line in report.findings(outcome)
    ]


def test_json():
    """Infinite numbers, which JSON does not have, are null."""
    text = report.as_json({'robot': 'r', 'states': 3}, list(OUTCOMES.values()))
    assert text.startswith('{\n  "robot": "r",\n  "states": 3,\n  "programs": [\n')
    data = json.loads(text)
    agreeing, explained, partly, unexplained, refusing = data['programs']
    assert refusing == {
        'name': 'DART', 'version': '', 'printed': ['oh'], 'left_out': 'is not installed',
    }  # fmt: skip
    assert agreeing == {
        'name': 'Bullet', 'version': '3.2', 'printed': [], 'agrees': True, 'explained': True,
        'differences': {
            'mass': {'unit': 'kg', 'absolute': 1e-9, 'relative': 1e-6, 'where': ''},
            'link orientations': {
                'unit': 'rad', 'absolute': 2e-12, 'relative': 1e-12, 'where': 'arm'},
        },
        'causes': [], 'notes': [str(LIMIT), 'a note'],
    }  # fmt: skip
    (cause,) = explained['causes']
    assert cause == {
        'subject': 'link arm', 'field': 'mass', 'ours': '2', 'theirs': '2.5',
        'changes': {'mass': 0.5, 'mass matrix': 0.125, 'forward dynamics': None},
    }  # fmt: skip
    assert not explained['agrees']
    assert explained['differences']['forward dynamics']['relative'] is None
    assert [each['explained'] for each in (explained, partly, unexplained)] == [True, False, False]
    assert unexplained['printed'] == ['hello', 'world']
