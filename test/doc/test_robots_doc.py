# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""doc/spec/coverage_robots.md: complete, and names exist."""

from support.doc_pages import (
    ROOT,
    absent,
    missing_functions,
    missing_tests,
    named_functions,
    named_tests,
    rows_of,
)

TABLE = ROOT / 'doc' / 'spec' / 'coverage_robots.md'
OTHER = ROOT / 'doc' / 'spec' / 'coverage_inverse_kinematics.md'


def test_functions_and_tests_named_exist():
    assert len(named_functions(TABLE)) > 60
    assert len(named_tests(TABLE)) > 100
    assert not missing_functions(TABLE)
    assert not missing_tests(TABLE)


def test_every_id_has_a_row():
    """C-006 to C-049 and C-087 to C-142, here or in the table of inverse problems."""
    rows = rows_of(TABLE, 'C')
    assert len(rows) == len(set(rows))
    wanted = [f'C-{k:03}' for k in (*range(6, 50), *range(87, 143))]
    assert not absent(wanted, [*rows, *rows_of(OTHER, 'C')])
