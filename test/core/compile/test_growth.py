# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How programs grow with the robot: operations of chains up to 40 joints.

Spec IDs: B-004, D-27, D-38, D-39, D-42, D-45 (linear), D-40, D-43 (as the number of their results).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.program.tracing import Recorder, program
from screw_dynamics_ros.core.robot.functions import FUNCTIONS, as_tuple, input_size
from screw_dynamics_ros.core.tree.multibody_tree import Tree, build_tree
from support.models import random_description

ON_FREE_BASES = ('spatial_momenta', 'spatial_momentum_dynamics')
RANDOM_CHAIN = {'seed': 5, 'kinds': ('revolute',), 'chain': True}


def operations(name: str, joints: int) -> int:
    """Return the operations of a function for a chain of joints with arbitrary axes."""
    description, floating = random_description(joints=joints, **RANDOM_CHAIN), name in ON_FREE_BASES
    tree: Tree = build_tree(description, floating_base=floating)
    function = FUNCTIONS[name]
    recorder = Recorder()
    inputs = [(name, input_size(tree, name)) for name in function.inputs]
    evaluate: Callable[..., object] = function.evaluate
    outputs = evaluate(tree, *(recorder.inputs(*given) for given in inputs))
    return program(recorder, inputs, as_tuple(outputs)).operation_count


@pytest.mark.parametrize(
    'name',
    [
        'inverse_dynamics',
        'forward_dynamics',
        'inverse_dynamics_rates',
        'total_momentum',
        'center_of_mass_velocity',
        'kinetic_energy',
        *ON_FREE_BASES,
    ],
)
def test_linear(name):
    """Each further joint costs the same up to 40 joints (but for operations shared by chance)."""
    counts = np.array([operations(name, n) for n in (8, 16, 40)])
    first, last = np.diff(counts) / [8, 24]
    assert last == pytest.approx(first, rel=2e-3)
    assert first > 10


@pytest.mark.parametrize(
    'name', ['inverse_dynamics_derivatives', 'regressor', 'mass_matrix', 'coriolis_matrix']
)
def test_quadratic(name):
    """n^2 results of bounded cost each: third differences vanish (as above)."""
    counts = np.array([operations(name, n) for n in (8, 16, 24, 32)])
    assert np.diff(counts, 2)[0] > 0
    assert abs(np.diff(counts, 3)[0]) < 3e-3 * counts[-1]


def test_cubic():
    """D-40: n^3 second derivatives of bounded cost each: fourth differences vanish (as above)."""
    counts = np.array(
        [operations('inverse_dynamics_second_derivatives', n) for n in (2, 4, 6, 8, 10)]
    )
    assert np.diff(counts, 3)[0] > 0
    assert abs(np.diff(counts, 4)[0]) < 3e-3 * counts[-1]
