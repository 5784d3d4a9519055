# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pages of integration and simulation, and their table of IDs: complete, and names exist."""

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

NAMES = ('integration', 'structure_preserving_integration', 'simulation')
TABLE = ROOT / 'doc' / 'spec' / 'coverage_integration.md'
PAGES = [TABLE, *(ROOT / 'doc' / 'theory' / f'{name}.md' for name in NAMES)]  # see test_pages.py


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_functions_and_tests_named_exist(page):
    assert len(named_functions(page)) > 5 or page != TABLE
    assert len(named_tests(page)) > 10 or page != TABLE
    assert not missing_functions(page)
    assert not missing_tests(page)


def test_every_id_has_a_row():
    rows = rows_of(TABLE, 'I')
    assert not absent([f'I-{k:02}' for k in range(1, 49)], rows)
    assert len(rows) == len(set(rows))
