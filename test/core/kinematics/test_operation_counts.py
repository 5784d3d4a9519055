# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the four representations cost: operations of programs, and as the papers count.

Spec ID: K-38, as far as kinematics goes; the backward pass belongs to the
dynamics. Run as a script, this file prints the table of doc/theory/kinematics.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.program.tracing import Program, Recorder, program
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.kinematics import twist_recursions as recursions
from screw_dynamics_ros.core.kinematics.higher_order import acceleration
from screw_dynamics_ros.core.kinematics.robot_geometry import tree_of
from screw_dynamics_ros.core.kinematics.twist_recursions import body_motions
from screw_dynamics_ros.core.tree.multibody_tree import Tree, build_tree
from support.models import random_description
from support.operation_counts import Counter
from support.paths import DOC
from support.poe_models import REPRESENTATIONS, random_geometry
from support.robots import urdf_path

PAGE = DOC / 'theory' / 'kinematics.md'

ORDERS = {1: 'twist', 2: '+ acceleration', 3: '+ jerk', 4: '+ snap'}

ROBOTS: dict[str, Callable[[], Tree]] = {
    'Panda, frames on the axes': lambda: build_tree(read_urdf(urdf_path('panda'))),
    '10R, frames on the axes': lambda: build_tree(
        random_description(1, 10, ('revolute',), chain=True)
    ),
    '6R, frames anywhere': lambda: tree_of(random_geometry(0, 6, 'R', chain=True)),
}


def operation_count(tree: Tree, representation: str, orders: int) -> int:
    """Return the operations of `twist_program`."""
    return twist_program(tree, representation, orders).operation_count


def twist_program(tree: Tree, representation: str, orders: int) -> Program:
    """Return a program for the twists of all bodies and `orders` - 1 derivatives."""
    recorder = Recorder()
    inputs = [('q', tree.nq), *((f'rate{k}', tree.nv) for k in range(orders))]
    q, *rates = (recorder.inputs(name, size) for name, size in inputs)
    motions = body_motions(tree, q, rates, representation)
    return program(recorder, inputs, [np.stack(motion.V) for motion in motions])


def table() -> str:
    """Return the rows of the table in doc/theory/kinematics.md."""
    lines = [
        '| robot | twists of all bodies | ' + ' | '.join(f'`{r}`' for r in REPRESENTATIONS) + ' |',
        '|---|---|' + '---|' * len(REPRESENTATIONS),
    ]
    for name, make in ROBOTS.items():
        tree = make()
        for order, label in ORDERS.items():
            counts = [
                operation_count(tree, representation, order) for representation in REPRESENTATIONS
            ]
            cells = [f'**{count}**' if count == min(counts) else str(count) for count in counts]
            lines.append(f'| {name} | {label} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def test_the_page_shows_what_is_measured():
    assert table() in PAGE.read_text(), (
        'run `PYTHONPATH=test python test/core/kinematics/test_operation_counts.py` and put its '
        'output into doc/theory/kinematics.md'
    )


def test_claims():
    """Stelzle et al.: body frames on the axes make `body` cheapest; it is, at every order.

    [K], [D]: `spatial` is cheapest for pure kinematics, also for jerk and snap; measured, that
    holds for frames anywhere and snap only.
    """
    on_axes, anywhere = (
        ROBOTS[name]() for name in ('10R, frames on the axes', '6R, frames anywhere')
    )
    for order in ORDERS:
        costs = {name: operation_count(on_axes, name, order) for name in REPRESENTATIONS}
        assert min(costs, key=costs.__getitem__) == 'body'
    costs = {name: operation_count(anywhere, name, 4) for name in REPRESENTATIONS}
    assert min(costs, key=costs.__getitem__) == 'spatial'
    costs = {name: operation_count(anywhere, name, 1) for name in REPRESENTATIONS}
    assert min(costs, key=costs.__getitem__) == 'body'


@pytest.mark.parametrize('representation', ['spatial', 'hybrid', 'mixed'])
def test_converting_the_body_fixed_acceleration_is_cheaper(representation):
    """`higher_order` converts at the end instead of running the recursion of the representation."""
    tree = ROBOTS['Panda, frames on the axes']()
    recorder = Recorder()
    inputs = [('q', tree.nq), ('v', tree.nv), ('a', tree.nv)]
    q, v, a = (recorder.inputs(name, size) for name, size in inputs)
    hand = tree.frame('panda_hand').body
    outputs = (
        acceleration(tree, q, v, a, 'panda_hand', representation),
        body_motions(tree, q, [v, a], representation)[hand].V[1],
    )
    converted, direct = (program(recorder, inputs, [output]).operation_count for output in outputs)
    assert converted < direct


@pytest.mark.parametrize('representation', REPRESENTATIONS)
def test_linear_growth(representation):
    """B-004: all recursions are O(n): each further joint of a chain costs the same.

    Signs are left out: whether one of an output takes an operation depends on the constants.
    """
    counts = [
        sum(
            op[0] not in ('input', 'neg')
            for op in twist_program(tree, representation, 2).operations
        )
        for tree in (tree_of(random_geometry(0, n, 'R', chain=True)) for n in (3, 5, 7, 9))
    ]
    steps = np.diff(counts)
    assert len(set(steps.tolist())) == 1
    assert steps[0] > 0


@pytest.mark.parametrize('n', [1, 4, 7])
def test_counts_of_the_papers(n, monkeypatch):
    """K-38, the forward pass: twists and accelerations of a chain of n joints.

    The spatial recursion has n brackets instead of n - 1: [V_1, J_1] = 0 is not left out.
    """
    tree = tree_of(random_geometry(2, n, 'R', chain=True))
    rates = list(np.random.default_rng(0).uniform(-1, 1, (2, n)))
    q = np.random.default_rng(1).uniform(-1, 1, n)

    def count(representation: str, *operations: tuple[object, str]) -> list[int]:
        with monkeypatch.context() as patch:
            counters = [Counter(patch, place, name) for place, name in operations]
            body_motions(tree, q, rates, representation)
            return [len(counter) for counter in counters]

    assert count('body', (recursions, 'to_body'), (recursions, 'bracket')) == [2 * (n - 1), n - 1]
    assert count('spatial', (recursions, 'to_root'), (recursions, 'bracket')) == [n, n]
    rotations, turned, transports = count(
        'hybrid',
        (recursions, 'rotated_screws'),
        (recursions, 'turned'),
        (recursions.HybridMotion, 'transported'),
    )
    assert (rotations, turned) == (n, n)
    assert transports == 3 * (n - 1)  # 2 n - 2 translations of a twist, n - 1 brackets with r'


def test_table_is_well_formed():
    rows = table().splitlines()
    assert len(rows) == 2 + len(ROBOTS) * len(ORDERS)
    assert all(len(re.findall(r'\|', row)) == 7 for row in rows)


if __name__ == '__main__':
    print(table())
