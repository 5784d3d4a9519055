# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pages of robot geometry and kinematics, and their table of IDs: complete, and names exist."""

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

TABLE = ROOT / 'doc' / 'spec' / 'coverage_kinematics.md'
KINEMATICS = ROOT / 'doc' / 'theory' / 'kinematics.md'
PAGES = [ROOT / 'doc' / 'theory' / 'robot_geometry.md', KINEMATICS, TABLE]

#: Every ID the tables must have.
REQUIRED = (
    [f'K-{k}' for k in range(10, 40)]
    + [f'D-{k:02}' for k in range(4, 17)]
    + [f'B-00{k}' for k in range(1, 10)]
    + [f'B-{k}' for k in range(107, 137)]
)


def test_examples_run():
    results = doctest.testfile(str(PAGES[0]), module_relative=False)
    assert results.attempted >= 10
    assert results.failed == 0


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_functions_named_exist(page):
    assert len(named_functions(page)) > 10
    assert not missing_functions(page)


def test_tests_named_exist():
    assert len(named_tests(TABLE)) > 10
    assert not missing_tests(TABLE)


def test_every_id_has_a_row():
    rows = rows_of(TABLE, 'KDB')
    assert not absent(REQUIRED, rows)
    assert len(rows) == len(set(rows))


def test_the_vocabulary_is_that_of_the_sources():
    """D-46: section 5 has the names [K] and [D] relate their own to."""
    page = KINEMATICS.read_text()
    section = page[page.index('## 5. Vocabulary') :]
    names = (
        'Featherstone, Rodriguez, Jain, Kreutz, Lilly, Orin, Angeles, Bremer, Kane, Maisser, Liu, '
        'Brockett, Gupta, Park, Legnani, Anderson, Bae, Haug, Hollerbach, Vukobratović, Fijany, '
        'Naudet, Borri, Bottasso, Bauchau, Shabana, Waldron, Whitney, Sheth, left-invariant, '
        'right-invariant, fixed-pole, velocity state, natural orthogonal complement'
    )
    assert not [name for name in names.split(', ') if name not in section]
