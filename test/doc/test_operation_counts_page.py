# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Claims of doc/reference/operation_counts.md; test_generated_pages compares its tables."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.program_interpreter import run
from screw_dynamics_ros.core.compile.kernels import KernelSpecification
from screw_dynamics_ros.core.compile.program.factoring import factored
from screw_dynamics_ros.core.dynamics.inverse_dynamics import inverse_dynamics
from screw_dynamics_ros.core.dynamics.massless_joints import regrouped
from support.tools import load_tool

TOOL = load_tool('page_tables.operation_counts')


def compiled(name: str):
    """Return the program of inverse dynamics of a chain with base parameters."""
    tree = regrouped(TOOL.chain(name))
    return factored(TOOL.recorded(tree, inverse_dynamics, TOOL.MOTION, gravity_along_z=True))


@pytest.mark.parametrize('source', TOOL.OTHERS)
def test_at_or_under_every_published_count(source):
    """Multiplications and additions, each by itself."""
    for name, published in zip(TOOL.CHAINS, TOOL.OTHERS[source]):
        if published is not None:
            ours = TOOL.counts(compiled(name))
            assert ours[0] <= published[0]
            assert ours[1] <= published[1]


def test_general_chains(monkeypatch):
    """86 n - 101 multiplications and 74 n - 98 additions."""
    for n in (3, 4, 8):
        rows = [(0.2 + 0.07 * i, 0.2 + 0.01 * i, 0.3 - 0.02 * i) for i in range(n)]
        monkeypatch.setitem(TOOL.CHAINS, f'{n}R', rows)
        assert TOOL.counts(compiled(f'{n}R')) == (86 * n - 101, 74 * n - 98)


def test_what_is_counted_is_what_is_compiled():
    """`Robot` compiles the records of kernel specifications."""
    tree = regrouped(TOOL.chain('Puma 560'))

    def build(q, v, a, gravity):
        along_z = np.array([0.0, 0.0, gravity[0]], dtype=object)
        return (inverse_dynamics(tree, q, v, a, along_z),)

    inputs = tuple((name, 1 if name == 'gravity' else tree.nv) for name in TOOL.MOTION)
    record = KernelSpecification('inverse dynamics', inputs, build).record()
    assert record == compiled('Puma 560')


@pytest.mark.parametrize('name', TOOL.CHAINS)
def test_it_computes_the_torques(name):
    """The counted programs against the recursion on numbers, with all inertial parameters."""
    tree, rng = TOOL.chain(name), np.random.default_rng(0)
    q, v, a = rng.uniform(-1.0, 1.0, (3, tree.nv))
    torques = run(compiled(name), q=q, v=v, a=a, gravity=np.array([-9.81]))[0]
    expected = inverse_dynamics(tree, q, v, a, np.array([0.0, 0.0, -9.81]))
    np.testing.assert_allclose(torques, expected, rtol=1e-12, atol=1e-12)
