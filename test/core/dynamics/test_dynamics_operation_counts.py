# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What inverse dynamics costs in the four representations: operations, and as the paper counts.

Spec IDs: K-38, D-25 to D-28. Run as a script, this file prints the table
of doc/theory/dynamics.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.program.tracing import Recorder, program
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.dynamics import newton_euler
from screw_dynamics_ros.core.dynamics.inverse_dynamics import inverse_dynamics
from screw_dynamics_ros.core.dynamics.massless_joints import regrouped
from screw_dynamics_ros.core.kinematics import twist_recursions as recursions
from screw_dynamics_ros.core.kinematics.robot_geometry import tree_of
from screw_dynamics_ros.core.reproducible import reproducible
from screw_dynamics_ros.core.textbook.formulations.recursive_newton_euler import (
    recursive_inverse_dynamics,
)
from screw_dynamics_ros.core.tree.multibody_tree import Tree, build_tree
from support.models import random_description
from support.operation_counts import Counter
from support.paths import DOC
from support.poe_models import REPRESENTATIONS, random_geometry, random_inertias
from support.robots import urdf_path

PAGE = DOC / 'theory' / 'dynamics.md'


def anywhere(joints: int = 6) -> Tree:
    """Return a chain whose frames are anywhere in the bodies."""
    geometry = random_geometry(0, joints, 'R', chain=True)
    return tree_of(geometry, inertias=random_inertias(0, joints))


ROBOTS: dict[str, Callable[[], Tree]] = {
    'Panda': lambda: build_tree(read_urdf(urdf_path('panda'))),
    'Panda, regrouped': lambda: regrouped(ROBOTS['Panda']()),
    '10R': lambda: build_tree(random_description(1, 10, ('revolute',), chain=True)),
    '10R, regrouped': lambda: regrouped(ROBOTS['10R']()),
    '6R, frames anywhere': anywhere,
}


def operation_count(tree: Tree, representation: str | None) -> int:
    """Return the operations of inverse dynamics, the compiled recursion for None."""
    recorder = Recorder()
    inputs = [('q', tree.nq), ('v', tree.nv), ('a', tree.nv), ('gravity', 3)]
    vectors = [recorder.inputs(name, size) for name, size in inputs]
    Q = (
        inverse_dynamics(tree, *vectors)
        if representation is None
        else recursive_inverse_dynamics(tree, *vectors, None, representation)
    )
    return program(recorder, inputs, [Q]).operation_count


def table() -> str:
    """Return the table of doc/theory/dynamics.md."""
    lines = [
        '| robot | '
        + ' | '.join(f'`{name}`' for name in REPRESENTATIONS)
        + ' | `inverse_dynamics` |',
        '|---|' + '---|' * (len(REPRESENTATIONS) + 1),
    ]
    for name, make in ROBOTS.items():
        tree = reproducible(make())
        counts = [operation_count(tree, r) for r in (*REPRESENTATIONS, None)]
        cells = [f'**{count}**' if count == min(counts) else str(count) for count in counts]
        lines.append(f'| {name} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def test_the_page_shows_what_is_measured():
    assert table() in PAGE.read_text(), (
        'run `PYTHONPATH=test python test/core/dynamics/test_dynamics_operation_counts.py` and put '
        'its output into doc/theory/dynamics.md'
    )


def test_claims():
    """K-38: all O(n); body-fixed with frames on the axes beats spatial (Stelzle et al.)."""
    tree = ROBOTS['10R']()
    assert operation_count(tree, 'body') < 0.7 * operation_count(tree, 'spatial')
    for name in ('Panda', '6R, frames anywhere'):
        counts = {r: operation_count(ROBOTS[name](), r) for r in (*REPRESENTATIONS, None)}
        assert min(counts, key=counts.__getitem__) is None, 'the compiled recursion is the cheapest'


@pytest.mark.parametrize('representation', REPRESENTATIONS)
def test_linear_growth(representation):
    """K-38, [D] section 4: each further joint of a chain costs the same."""
    steps = np.diff([operation_count(anywhere(n), representation) for n in (3, 5, 7, 9)])
    assert len(set(steps.tolist())) == 1


@pytest.mark.parametrize('n', [1, 4, 7])
def test_counts_of_the_paper(n, monkeypatch):
    """K-38: transformations, brackets and inertia transformations, both passes.

    The spatial recursion has 2 n brackets, not 2 n - 1: [V_1, J_1] = 0 is not left out.
    """
    tree = anywhere(n)
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, n))

    def count(representation: str, *operations: tuple[object, str]) -> list[int]:
        with monkeypatch.context() as patch:
            counters = [Counter(patch, place, name) for place, name in operations]
            recursive_inverse_dynamics(tree, q, v, a, None, None, representation)
            return [len(counter) for counter in counters]

    of_wrenches, of_inertias = (newton_euler, 'ad'), (newton_euler, 'transported')
    twists, wrenches, brackets, newton, inertias = count(
        'body',
        (recursions, 'to_body'),
        (recursions, 'transform_wrench'),
        (recursions, 'bracket'),
        of_wrenches,
        of_inertias,
    )
    assert twists + wrenches == 3 * (n - 1)
    assert brackets + newton == 2 * n - 1
    assert inertias == 0

    screws, brackets, newton, inertias = count(
        'spatial', (recursions, 'to_root'), (recursions, 'bracket'), of_wrenches, of_inertias
    )
    assert (screws, brackets + newton, inertias) == (n, 2 * n, n)

    motion = recursions.HybridMotion
    rotations, turned, transports, wrenches, inertias = count(
        'hybrid',
        (recursions, 'rotated_screws'),
        (recursions, 'turned'),
        (motion, 'transported'),
        (motion, 'handed_down'),
        (newton_euler, 'symmetric'),
    )
    assert (rotations, turned, inertias) == (n, n, n)
    # 3 n - 3 translations (two thirds forward) and n - 1 brackets with r'
    assert transports + wrenches == 3 * (n - 1) + (n - 1)


if __name__ == '__main__':
    print(table())
