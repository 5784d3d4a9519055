"""doc/formulations.md: its functions exist, and what formulations cost is measured.

Operations are counted as in OpenSYMORO: multiplications and additions of straight-line programs,
without sines, signs and what no result needs; inertias are general, gravity is one symbol along the
axis of the base. Run as a script, this file prints the tables of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from screw_dynamics_ros.core import formulations
from screw_dynamics_ros.core.compile.program.tracing import Recorder, program
from screw_dynamics_ros.core.dynamics.coriolis import coriolis_matrix
from screw_dynamics_ros.core.dynamics.forward_dynamics import forward_dynamics
from screw_dynamics_ros.core.dynamics.inverse_dynamics import inverse_dynamics
from screw_dynamics_ros.core.dynamics.mass_matrix import mass_matrix
from screw_dynamics_ros.core.dynamics.regrouped_tree import regrouped
from screw_dynamics_ros.core.geometry.product_of_exponentials import BodyScrews
from screw_dynamics_ros.core.geometry.robot_geometry import tree_of
from screw_dynamics_ros.core.kinematics.jacobians import jacobian
from screw_dynamics_ros.core.tree.multibody_tree import Tree
from support.doc_pages import missing_functions, named_functions
from support.paths import DOC
from support.poe_models import REPRESENTATIONS, random_inertias

PAGE = DOC / 'formulations.md'

MULTIPLICATIONS, ADDITIONS = ('mul', 'scale', 'reciprocal'), ('add', 'sub', 'shift')

#: Modified Denavit-Hartenberg tables: alpha in quarter turns, a and d in m, for each joint.
TABLES = {
    'RX-90': [(0, 0, 0), (1, 0, 0), (0, 0.45, 0), (-1, 0, 0.45), (1, 0, 0), (-1, 0, 0)],
    'Puma 560': [
        (0, 0, 0),
        (-1, 0, 0.2435),
        (0, 0.4318, -0.0934),
        (-1, -0.0203, 0.4331),
        (1, 0, 0),
        (-1, 0, 0),
    ],
    'iiwa': [
        (0, 0, 0),
        (-1, 0, 0),
        (1, 0, 0.42),
        (1, 0, 0),
        (-1, 0, 0.4),
        (-1, 0, 0),
        (1, 0, 0),
    ],
    'general 6R': [(0.2 + 0.1 * i, 0.2 + 0.01 * i, 0.3 - 0.02 * i) for i in range(6)],
    'general 7R': [(0.2 + 0.1 * i, 0.2 + 0.01 * i, 0.3 - 0.02 * i) for i in range(7)],
}

#: What others need for inverse dynamics: multiplications, additions; source in the page.
OTHERS = {
    'OpenSYMORO': [(331, 282), (363, 313), (397, 337), None, None],
    'OpenSYMORO, base parameters': [(287, 226), (315, 253), (343, 271), None, None],
    'Khalil and Kleinfinger, bound': [None, None, None]
    + [(92 * n - 127, 81 * n - 117) for n in (6, 7)],
}


@cache
def chain(name: str) -> Tree:
    """Return one of the robots with frames on the joint axes and random physical inertias."""
    rows = TABLES[name]
    B = []
    for quarters, a, d in rows:
        c, s = np.cos(quarters * np.pi / 2), np.sin(quarters * np.pi / 2)
        if isinstance(quarters, int):
            c, s = round(c), round(s)
        C = np.eye(4)
        C[1:3, 1:3], C[:3, 3] = [[c, -s], [s, c]], (a, -s * d, c * d)
        B.append(C)
    n = len(rows)
    return tree_of(BodyScrews(B, [[0, 0, 1, 0, 0, 0]] * n), inertias=random_inertias(0, n))


def counted(tree: Tree, function: Callable[..., object], names: Sequence[str]) -> tuple[int, int]:
    """Return multiplications and additions of function(tree, ...) with the inputs named."""
    recorder = Recorder()
    inputs = [(name, 1 if name == 'gravity' else tree.nv) for name in names]
    values = [recorder.inputs(*each) for each in inputs]
    if 'gravity' in names:
        values[-1] = np.array([0.0, 0.0, values[-1][0]], dtype=object)
    result = function(tree, *values)
    outputs = result if isinstance(result, tuple) else (result,)
    kinds = [operation[0] for operation in program(recorder, inputs, outputs).operations]
    return sum(k in MULTIPLICATIONS for k in kinds), sum(k in ADDITIONS for k in kinds)


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


def comparison() -> str:
    """Return the table of inverse dynamics here and elsewhere."""
    result = header('inverse dynamics', tuple(TABLES))
    for label, counts in OTHERS.items():
        cells = ['' if c is None else '{} / {}'.format(*c) for c in counts]
        result.append(f'| {label} | ' + ' | '.join(cells) + ' |')
    result += lines([('here, `inverse_dynamics`', inverse_dynamics, MOTION)], tuple(TABLES))
    smaller = lambda tree, *x: inverse_dynamics(regrouped(tree), *x)  # noqa: E731
    result += lines([('here, of `regrouped` trees', smaller, MOTION)], tuple(TABLES))
    return '\n'.join(result)


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
    page = PAGE.read_text()
    for table in (comparison(), formulations_table()):
        assert table in page, (
            'run `PYTHONPATH=test python '
            'test/core/formulations/test_operation_counts_of_formulations.py` and put its output '
            'into doc/formulations.md'
        )


def test_functions_named_exist():
    assert len(named_functions(PAGE)) >= 8
    assert not missing_functions(PAGE)


def test_every_formulation_is_on_the_page():
    page = PAGE.read_text()
    assert not [name for name in formulations.__all__ if name not in page]


def test_fewer_operations_than_opensymoro():
    """On the same robots, with and without base parameters: in all, operations of both kinds."""
    plain, base = OTHERS['OpenSYMORO'], OTHERS['OpenSYMORO, base parameters']
    for name, theirs, theirs_base in zip(ROBOTS, plain, base):
        assert sum(counted(chain(name), inverse_dynamics, MOTION)) < sum(theirs)
        assert sum(counted(regrouped(chain(name)), inverse_dynamics, MOTION)) < sum(theirs_base)


def test_regrouping_changes_no_torque():
    """What is counted as fewer operations computes the same."""
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 6))
    tree, g = chain('Puma 560'), np.array([0.0, 0.0, -9.81])
    Q = inverse_dynamics(regrouped(tree), q, v, a, g)
    np.testing.assert_allclose(Q, inverse_dynamics(tree, q, v, a, g), atol=1e-12)


if __name__ == '__main__':
    print(comparison(), formulations_table(), sep='\n\n')
