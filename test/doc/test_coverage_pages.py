# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of IDs, and the pages of their subjects: complete, and what they name exists."""

import re

import pytest

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

SPEC, THEORY = ROOT / 'doc' / 'spec', ROOT / 'doc' / 'theory'
OF_INVERSE = (
    *range(1, 6), 12, 13, 20, 21, 22, *range(26, 30), *range(41, 46), 48, 49, 50, 96, 98, 100, 102,
    104, 106, 107, 109,
)  # fmt: skip
IN_BOTH = 12, 13, 44, 96, 98, 102, 106, 107  # of these, also rows of robots
#: IDs that each table must have.
REQUIRED = {
    'dynamics': [f'D-{k}' for k in range(17, 46)] + [f'C-{k:03}' for k in range(50, 87)],
    'kinematics': [f'K-{k}' for k in range(10, 40)]
    + [f'D-{k:02}' for k in range(4, 17)]
    + [f'B-{k:03}' for k in (*range(1, 10), *range(107, 137))],
    'integration': [f'I-{k:02}' for k in range(1, 49)],
    'inverse_kinematics': [f'C-{k:03}' for k in OF_INVERSE],
    'robots': [
        f'C-{k:03}' for k in (*range(6, 50), *range(87, 143)) if k not in OF_INVERSE or k in IN_BOTH
    ],
}
TABLES = [SPEC / f'coverage_{name}.md' for name in REQUIRED]
#: Pages, with the least numbers of functions and tests that they name.
PAGES = {
    **dict.fromkeys(TABLES, (30, 11)),
    SPEC / 'coverage_inverse_kinematics.md': (30, 41),
    SPEC / 'coverage_robots.md': (61, 101),
    THEORY / 'dynamics.md': (16, 0),
    THEORY / 'constrained_dynamics.md': (6, 0),
    THEORY / 'dynamics_derivatives.md': (6, 0),
    THEORY / 'robot_geometry.md': (11, 0),
    THEORY / 'kinematics.md': (11, 0),
    THEORY / 'integration.md': (0, 0),
    THEORY / 'structure_preserving_integration.md': (0, 0),
    THEORY / 'simulation.md': (0, 0),
    THEORY / 'inverse_kinematics.md': (16, 0),
}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_functions_and_tests_named_exist(page):
    functions, tests = PAGES[page]
    assert len(named_functions(page)) >= functions
    assert len(named_tests(page)) >= tests
    assert not missing_functions(page)
    assert not missing_tests(page)


@pytest.mark.parametrize(('name', 'required'), REQUIRED.items())
def test_every_id_has_a_row(name, required):
    letters = {each[0] for each in required}
    rows = rows_of(SPEC / f'coverage_{name}.md', ''.join(letters))
    assert not absent(required, rows)
    assert len(rows) == len(set(rows))


def test_methods_of_robots_that_are_named_exist():
    text = (THEORY / 'inverse_kinematics.md').read_text()
    facade = set(re.findall(r'`robot\.(\w+)', text))
    assert len(facade) > 10
    assert not [name for name in sorted(facade) if not hasattr(Robot, name)]


def test_the_vocabulary_is_that_of_the_sources():
    """D-46: section 5 has the names [K] and [D] relate their own to."""
    page = (THEORY / 'kinematics.md').read_text()
    section = page[page.index('## 5. Vocabulary') :]
    names = (
        'Featherstone, Rodriguez, Jain, Kreutz, Lilly, Orin, Angeles, Bremer, Kane, Maisser, Liu, '
        'Brockett, Gupta, Park, Legnani, Anderson, Bae, Haug, Hollerbach, Vukobratović, Fijany, '
        'Naudet, Borri, Bottasso, Bauchau, Shabana, Waldron, Whitney, Sheth, left-invariant, '
        'right-invariant, fixed-pole, velocity state, natural orthogonal complement'
    )
    assert not [name for name in names.split(', ') if name not in section]
