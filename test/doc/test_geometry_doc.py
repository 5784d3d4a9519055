# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coverage of geometry: complete, and names exist."""

import ast
import re
from functools import cache

import pytest

from screw_dynamics_ros.core import Robot, lie
from screw_dynamics_ros.core.constraints import contact_models as constraints
from screw_dynamics_ros.core.description import rigid_body
from screw_dynamics_ros.core.textbook.screw_geometry import accelerations, impedances, lines
from screw_dynamics_ros.ros.messages import conversions
from support.paths import ROOT

TABLE = (ROOT / 'doc' / 'spec' / 'coverage_geometry.md').read_text()
ERRATA = sorted((ROOT / 'doc' / 'spec').glob('*_errata.md'))
HOMES = {
    **{name: getattr(lie, name) for name in lie.__all__},
    'accelerations': accelerations,
    'impedances': impedances,
    'lines': lines,
    'Robot': Robot,
    'RigidBody': rigid_body.RigidBody,
    'rigid_body': rigid_body,
    'constraints': constraints,
    'conversions': conversions,
}


def rows():
    """ID, functions and tests of each row."""
    for line in TABLE.splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if re.fullmatch(r'B-\d{3}', cells[0]) and len(cells) == 4:
            functions, tests = (re.findall(r'`([^`]+)`', cell) for cell in cells[2:])
            yield cells[0], functions, tests


@cache
def docstrings():
    """Docstrings of all tests by name; several files may use one name."""
    found = {}
    for path in sorted((ROOT / 'test').rglob('test_*.py')):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith('test_'):
                found.setdefault(node.name, []).append(ast.get_docstring(node) or '')
    return found


def cited(text):
    """IDs in a docstring; 'B-042 to B-047' are six."""
    ids = {int(number) for number in re.findall(r'B-(\d{3})', text)}
    for first, last in re.findall(r'B-(\d{3}) to B-(\d{3})', text):
        ids |= set(range(int(first), int(last) + 1))
    return {f'B-{number:03}' for number in ids}


def test_every_id_has_a_row():
    assert [name for name, _, _ in rows()] == [f'B-{n:03}' for n in range(10, 107)]
    assert all(functions and tests for _, functions, tests in rows())


def test_functions_named_exist():
    for _, functions, _ in rows():
        for name in functions:
            home, attribute = name.split('.')
            assert hasattr(HOMES[home], attribute), name


def test_tests_named_cite_their_id():
    wrong = [
        (name, test)
        for name, _, tests in rows()
        for test in tests
        if not any(name in cited(text) for text in docstrings().get(test, []))
    ]
    assert not wrong


@pytest.mark.parametrize('page', ERRATA, ids=lambda page: page.name)
def test_errata_are_tested(page):
    named = set(re.findall(r'`(test_\w+)`', page.read_text()))
    assert len(named) > 20
    assert not named - set(docstrings())
