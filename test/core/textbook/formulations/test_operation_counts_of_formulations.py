# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""doc/theory/formulations.md: its functions exist, and what formulations cost is measured.

Operations are counted as in `tools/page_tables/operation_counts.py`, of programs as they are
recorded. Run as a script, this file prints the table of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from screw_dynamics_ros.core.dynamics.coriolis import coriolis_matrix
from screw_dynamics_ros.core.dynamics.forward_dynamics import forward_dynamics
from screw_dynamics_ros.core.dynamics.inverse_dynamics import inverse_dynamics
from screw_dynamics_ros.core.dynamics.mass_matrix import mass_matrix
from screw_dynamics_ros.core.kinematics.jacobians import jacobian
from screw_dynamics_ros.core.textbook import formulations
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from support.doc_pages import missing_functions, named_functions
from support.paths import DOC
from support.poe_models import REPRESENTATIONS
from support.tools import load_tool

PAGE = DOC / 'theory' / 'formulations.md'

COUNTS = load_tool('page_tables.operation_counts')
chain = COUNTS.chain


def counted(tree: Tree, function: Callable[..., object], names: Sequence[str]) -> tuple[int, int]:
    """Return multiplications and additions of function(tree, ...) with the inputs named."""
    return COUNTS.counts(COUNTS.recorded(tree, function, names, gravity_along_z=True))


MOTION, FORCES = ('q', 'v', 'a', 'gravity'), ('q', 'v', 'tau', 'gravity')

Row = tuple[str, Callable[..., object], tuple[str, ...]]

INVERSE_DYNAMICS: list[Row] = [
    *(
        (
            f'`recursive_inverse_dynamics`, {name}',
            lambda *x, name=name: formulations.recursive_inverse_dynamics(*x, None, name),
            MOTION,
        )
        for name in REPRESENTATIONS
    ),
    ('`projected_torques`, body', formulations.projected_torques, MOTION),
    ('`kane_torques`', formulations.kane_torques, MOTION),
    ('`articulated_torques`', formulations.articulated_torques.articulated_torques, MOTION),
    ('`inverse_dynamics.inverse_dynamics`', inverse_dynamics, MOTION),
]

OTHER_FUNCTIONS: list[Row] = [
    ('`formulations.mass_matrix`, body', formulations.mass_matrix, ('q',)),
    ('`mass_matrix.mass_matrix`', mass_matrix, ('q',)),
    ('`formulations.coriolis_matrix`, body', formulations.coriolis_matrix, ('q', 'v')),
    ('`coriolis.coriolis_matrix`', coriolis_matrix, ('q', 'v')),
    ('`momentum_form`', formulations.momentum_form, FORCES),
    ('`forward_dynamics.forward_dynamics`', forward_dynamics, FORCES),
    ('`factors`, hybrid: all $J$', lambda t, q: formulations.factors(t, q, 'hybrid').jacobian, 'q'),
    (
        '`jacobians.jacobian` of the last link',
        lambda tree, q: jacobian(tree, q, tree.bodies[-1].name),
        'q',
    ),
]

ROBOTS = ('RX-90', 'Puma 560', 'iiwa')


def lines(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Return a table row for each function, with 'multiplications / additions' of each robot."""
    result = []
    for label, function, inputs in rows:
        cells = ['{} / {}'.format(*counted(chain(name), function, inputs)) for name in names]
        result.append(f'| {label} | ' + ' | '.join(cells) + ' |')
    return result


def header(first: str, names: Sequence[str]) -> list[str]:
    """Return the first two lines of a table."""
    return [f'| {first} | ' + ' | '.join(names) + ' |', '|---|' + '---|' * len(names)]


def formulations_table() -> str:
    """Return the table of all formulations."""
    return '\n'.join(
        [
            *header('inverse dynamics', ROBOTS),
            *lines(INVERSE_DYNAMICS, ROBOTS),
            '| **other functions** | | | |',
            *lines(OTHER_FUNCTIONS, ROBOTS),
        ]
    )


def test_the_page_shows_what_is_measured():
    assert formulations_table() in PAGE.read_text(), (
        'run `PYTHONPATH=test python test/core/textbook/formulations/'
        'test_operation_counts_of_formulations.py` and put its output '
        'into doc/theory/formulations.md'
    )


def test_functions_named_exist():
    assert len(named_functions(PAGE)) >= 8
    assert not missing_functions(PAGE)


def test_every_formulation_is_on_the_page():
    page = PAGE.read_text()
    assert not [name for name in formulations.__all__ if name not in page]


if __name__ == '__main__':
    print(formulations_table())
