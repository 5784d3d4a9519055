# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse problems: examples run, what is named exists, every ID has a row."""

import doctest
import re

from screw_dynamics_ros.core import Robot
from support.doc_pages import (
    ROOT,
    absent,
    missing_functions,
    missing_tests,
    named_functions,
    named_tests,
    rows_of,
)

PAGE = ROOT / 'doc' / 'theory' / 'inverse_kinematics.md'
TABLE = ROOT / 'doc' / 'spec' / 'coverage_inverse_kinematics.md'

REQUIRED = [
    f'C-{k:03}'
    for k in (
        *range(1, 6),
        12,
        13,
        20,
        21,
        22,
        26,
        27,
        *range(41, 46),
        48,
        49,
        50,
        96,
        98,
        100,
        102,
        104,
        106,
        107,
        109,
    )
]


def test_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted >= 20
    assert results.failed == 0


def test_functions_named_exist():
    for page in (PAGE, TABLE):
        assert len(named_functions(page)) > 15
        assert not missing_functions(page)
    facade = set(re.findall(r'`robot\.(\w+)', PAGE.read_text()))
    assert len(facade) > 10
    assert not [name for name in sorted(facade) if not hasattr(Robot, name)]


def test_tests_named_exist():
    assert len(named_tests(TABLE)) > 40
    assert not missing_tests(TABLE)


def test_every_id_has_a_row_and_a_test_that_cites_it():
    rows = rows_of(TABLE, 'C')
    assert not absent(REQUIRED, rows)
    assert len(rows) == len(set(rows))
