# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Multipliers of constraints where ranks, mobilities and conflicts are near their thresholds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from screw_dynamics_ros.core.constraints.forces import (
    FEASIBILITY_TOLERANCE,
    IMMOVABLE_TOLERANCE,
    RANK_TOLERANCE,
    ConstraintForces,
    constraint_forces,
)


def solved(
    W: np.ndarray, drift: np.ndarray, wanted: np.ndarray, mobility: np.ndarray | None = None
) -> ConstraintForces:
    """Return the forces of one sample, after a comparison with those of a stack."""
    mobility = np.diag(W).copy() if mobility is None else mobility
    alone = constraint_forces(W, drift, wanted, mobility)
    stack = constraint_forces(
        np.stack([np.eye(len(W)), W]),
        np.stack([0 * drift, drift]),
        wanted,
        np.stack([mobility] * 2),
    )
    for name in ('multipliers', 'error', 'rank', 'conflicting'):
        found, other = getattr(alone, name), getattr(stack, name)[1]
        np.testing.assert_allclose(found, other, rtol=1e-6, atol=1e-10, err_msg=name)
    return alone


@pytest.mark.parametrize(
    ('least', 'rank'), [(0.5, 1), (2.0, 2), (1e4, 2), (1e8, 2), (0.5 / RANK_TOLERANCE, 2)]
)
@pytest.mark.parametrize('units', [1.0, 1e3])
def test_rank_of_two_directions_that_nearly_depend(least, rank, units):
    """Eigenvalues e and 2 - e of the scaled matrix, e in units of the tolerance for two rows."""
    e = least * 2.0 * RANK_TOLERANCE
    D = np.diag([1.0, units])
    W = D @ np.array([[1.0, 1.0 - e], [1.0 - e, 1.0]]) @ D
    found = solved(W, np.zeros(2), D @ [1.0, 1.0])
    assert found.rank == rank
    np.testing.assert_allclose(found.multipliers, 1.0 / (2.0 - e) / np.diag(D), rtol=1e-6)
    np.testing.assert_allclose(found.error, 0.0, atol=1e-12 * units)
    assert not found.conflicting.any()


@pytest.mark.parametrize('count', [0, 1, 3])
@pytest.mark.parametrize('e', [1e-7, 1e-9, 1e-10])
def test_nearly_dependent_directions_do_not_contradict_each_other(e, count):
    """What joint accelerations give can be wanted, however large its multipliers are."""
    rng = np.random.default_rng(3)
    unilateral = np.arange(5) < count
    for _ in range(5):
        J = rng.normal(size=(5, 8))
        J[4] = J[3] + e**0.5 * J[4]
        W, r = J @ J.T, J @ rng.normal(size=8)
        found = constraint_forces(W, -r, np.zeros(5), np.diag(W), unilateral if count else None)
        assert not found.conflicting.any()
        error = np.where(unilateral & (found.multipliers == 0.0), 0.0, W @ found.multipliers - r)
        np.testing.assert_allclose(error, 0.0, atol=1e-8)


@pytest.mark.parametrize(('share', 'conflicts'), [(0.5, False), (2.0, True)])
@pytest.mark.parametrize('size', [0.0, 1.0, 1e3])
def test_contradictions_are_relative_to_the_accelerations(size, share, conflicts):
    """Of two equal directions wanted with a difference: half of it is missing in each."""
    difference = share * FEASIBILITY_TOLERANCE * (1e-3 + size)
    W, drift = np.ones((2, 2)), np.full(2, size)
    found = solved(W, drift, np.array([difference, -difference]))
    np.testing.assert_allclose(found.error, [-difference, difference], rtol=1e-6)
    assert found.conflicting.tolist() == [conflicts] * 2
    np.testing.assert_allclose(found.multipliers, -0.5 * size, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(('share', 'moves'), [(0.5, False), (2.0, True)])
def test_directions_that_do_not_move(share, moves):
    inertia = share * IMMOVABLE_TOLERANCE
    found = solved(np.diag([1.0, inertia]), np.zeros(2), np.array([3.0, 2.0]), np.ones(2))
    assert found.rank == 1 + moves
    assert found.multipliers[0] == pytest.approx(3.0)
    assert found.multipliers[1] == pytest.approx(2.0 / inertia if moves else 0.0)
    np.testing.assert_allclose(found.error, [0.0, 0.0 if moves else -2.0], atol=1e-9)
    assert found.conflicting.tolist() == [False, not moves]


@pytest.mark.parametrize('seed', range(4))
def test_unilateral_directions_against_all_choices(seed):
    """The active ones have no error, the others push nothing and part; one bilateral row."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(4, 6)) * 10.0 ** rng.integers(-2, 3, 4)[:, None]
    W, r = J @ J.T, J @ rng.normal(size=6)
    unilateral = np.array([True, False, True, True])
    answers = []
    for choice in product([False, True], repeat=3):
        active = ~unilateral
        active[unilateral] = choice
        x = np.zeros(4)
        x[active] = np.linalg.solve(W[np.ix_(active, active)], r[active])
        y = W @ x - r
        if (x[unilateral] >= 0.0).all() and (y[unilateral] >= -1e-9 * np.abs(r).max()).all():
            answers.append(x)
    (expected,) = answers
    found = constraint_forces(W, -r, np.zeros(4), np.diag(W), unilateral)
    np.testing.assert_allclose(found.multipliers, expected, rtol=1e-7, atol=1e-9)
    assert not found.conflicting.any()
    np.testing.assert_allclose(found.error / np.sqrt(np.diag(W)), 0.0, atol=1e-9)


def test_unknown_samples_are_nan_alone():
    W, r = np.stack([np.eye(2)] * 3), np.ones((3, 2))
    W[1, 0, 0], r[2, 1] = np.nan, np.inf
    found = constraint_forces(W, np.zeros((3, 2)), r, np.ones((3, 2)))
    np.testing.assert_array_equal(
        np.isnan(found.multipliers), [[False] * 2, [True] * 2, [True] * 2]
    )
    np.testing.assert_array_equal(np.isnan(found.error), np.isnan(found.multipliers))
    assert not found.conflicting.any()
    np.testing.assert_allclose(found.multipliers[0], 1.0)
