# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""doc/theory/dynamics.md, doc/spec/coverage_dynamics.md: examples run, names exist."""

import doctest

import pytest

from support.doc_pages import (
    ROOT,
    absent,
    missing_functions,
    missing_tests,
    named_functions,
    named_tests,
    rows_of,
)

PAGES = [ROOT / 'doc' / name for name in ('theory/dynamics.md', 'spec/coverage_dynamics.md')]
CONSTRAINED = ROOT / 'doc' / 'theory' / 'constrained_dynamics.md'
DERIVATIVES = ROOT / 'doc' / 'theory' / 'dynamics_derivatives.md'  # test_pages runs its examples

#: IDs the table must have.
REQUIRED = [f'D-{k}' for k in range(17, 46)] + [f'C-0{k}' for k in range(50, 87)]


def test_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(PAGES[0]), module_relative=False)
    assert results.attempted >= 25
    assert results.failed == 0


ALL_PAGES = [*PAGES, CONSTRAINED, DERIVATIVES]


@pytest.mark.parametrize('page', ALL_PAGES, ids=lambda page: page.name)
def test_functions_named_exist(page):
    assert len(named_functions(page)) > (15 if page in PAGES else 5)
    assert not missing_functions(page)


def test_tests_named_exist():
    assert len(named_tests(PAGES[1])) > 10
    assert not missing_tests(PAGES[1])


def test_every_id_has_a_row():
    rows = rows_of(PAGES[1], 'DC')
    assert not absent(REQUIRED, rows)
    assert len(rows) == len(set(rows))
