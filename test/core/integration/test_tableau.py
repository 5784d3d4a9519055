# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tableaus: order conditions from rooted trees, embedded pairs, refusals.

Spec IDs: I-25.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import RK23, RK45

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.integration import (
    BOGACKI_SHAMPINE,
    DORMAND_PRINCE,
    EMBEDDED,
    EULER,
    TABLEAUS,
    Tableau,
)
from screw_dynamics_ros.core.integration.tableau import (
    HEUN_3,
    density,
    len_of,
    rooted_trees,
    violated,
    weights,
)


def typed_conditions(A: np.ndarray, b: np.ndarray) -> list[list[float]]:
    """Return what Butcher's conditions of order 1, 2, 3, 4 miss, written out by hand."""
    c = A.sum(axis=1)
    return [
        [b.sum() - 1],
        [b @ c - 1 / 2],
        [b @ c**2 - 1 / 3, b @ A @ c - 1 / 6],
        [
            b @ c**3 - 1 / 4,
            (b * c) @ A @ c - 1 / 8,
            b @ A @ c**2 - 1 / 12,
            b @ A @ A @ c - 1 / 24,
        ],
    ]


METHODS = [(tableau, tableau.b, tableau.order) for tableau in TABLEAUS] + [
    (tableau, tableau.b_hat, tableau.order_hat) for tableau in EMBEDDED
]


@pytest.mark.parametrize(('tableau', 'b', 'order'), METHODS, ids=str)
def test_order_conditions(tableau, b, order):
    """I-25: each method meets the conditions of its order, and not those of the next one."""
    assert violated(tableau.A, b, order) is None
    assert violated(tableau.A, b, order + 1) is not None
    missed = [np.abs(condition).max() for condition in typed_conditions(tableau.A, b)]
    assert max(missed[:order]) < 1e-15
    assert all(defect > 1e-3 for defect in missed[order : order + 1])
    np.testing.assert_allclose(tableau.c, tableau.A.sum(axis=1))


def test_rooted_trees():
    """I-25: the numbers of rooted trees (OEIS A000081), each tree once, with its vertices."""
    counts = [1, 1, 2, 4, 9, 20, 48, 115, 286]
    for vertices, count in enumerate(counts, 1):
        trees = rooted_trees(vertices)
        assert len(trees) == len(set(trees)) == count
        assert {len_of(tree) for tree in trees} == {vertices}


def test_conditions_of_trees_are_those_by_hand():
    """I-25: for arbitrary coefficients, tree by tree."""
    rng = np.random.default_rng(0)
    A, b = np.tril(rng.uniform(-1, 1, (5, 5)), -1), rng.uniform(-1, 1, 5)
    for vertices, expected in enumerate(typed_conditions(A, b), 1):
        found = [b @ weights(A, tree) - 1 / density(tree) for tree in rooted_trees(vertices)]
        np.testing.assert_allclose(sorted(found), sorted(expected), rtol=1e-13)


@pytest.mark.parametrize(
    ('tableau', 'method'), [(BOGACKI_SHAMPINE, RK23), (DORMAND_PRINCE, RK45)], ids=str
)
def test_pairs_of_scipy(tableau, method):
    """I-25: the pairs are those of scipy, which writes the last stage apart."""
    np.testing.assert_array_equal(tableau.A[:-1, : method.A.shape[1]], method.A)
    np.testing.assert_array_equal(tableau.A[-1, :-1], method.B)
    np.testing.assert_allclose(np.abs(tableau.b - tableau.b_hat), np.abs(method.E), atol=1e-16)


@pytest.mark.parametrize(
    ('tableau', 'condition'),
    [
        (EULER, r'b \. c is 0, not 1/2'),
        (HEUN_3, r'b \. \(A \(A c\)\) is 0, not 1/24'),
        (BOGACKI_SHAMPINE, r'b \. \(A \(A c\)\) is 0, not 1/24'),
    ],
)
def test_too_high_an_order_is_refused(tableau, condition):
    """I-25: the message has the first condition that fails."""
    with pytest.raises(ArgumentError, match=f'mine: not of order {tableau.order + 1}: {condition}'):
        Tableau('mine', tableau.order + 1, tableau.A, tableau.b)
    assert Tableau('mine', 1, tableau.A, tableau.b).order == 1


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        ({'b_hat': [1, 0]}, 'b_hat and order_hat are required together'),
        ({'order_hat': 1}, 'b_hat and order_hat are required together'),
        ({'b_hat': [1, 0], 'order_hat': 2}, r'not of order 2: b_hat \. c is 0, not 1/2'),
        ({'b_hat': [1, 0, 0], 'order_hat': 1}, r'b_hat must be \(2,\) like b'),
        ({'b_hat': [0.5, 0.5], 'order_hat': 1}, 'and differ from it'),
        ({'order': 0}, 'order of b must be an integer >= 1, got 0'),
        ({'order': 2.0}, 'order of b must be an integer >= 1, got 2.0'),
    ],
)
def test_bad_pairs(options, reason):
    with pytest.raises(ArgumentError, match=f'mine: .*{reason}'):
        Tableau('mine', **{'order': 2, 'A': [[0, 0], [1, 0]], 'b': [0.5, 0.5], **options})


@pytest.mark.parametrize(
    ('A', 'b', 'reason'),
    [
        ([[0.5]], [1.0], 'the method is implicit'),
        ([[0, 1], [0, 0]], [0.5, 0.5], 'entries on or above its diagonal'),
        ([[0, 0], [1, 0]], [0.5, 0.4], r'not of order 1: b \. 1 is 0\.9, not 1'),
        ([[0, 0], [1, 0]], [0.5, float('nan')], r'b \. 1 is nan, not 1'),
        ([[0]], [0.5, 0.5], r'got \(1, 1\) and \(2,\)'),
        ([], [], r'must be \(s, s\)'),
    ],
)
def test_bad_tableaus(A, b, reason):
    with pytest.raises(ArgumentError, match=f'mine: .*{reason}'):
        Tableau('mine', 1, A, b)


def test_names_have_both_orders_of_pairs():
    assert repr(DORMAND_PRINCE) == "Tableau('Dormand-Prince', order=5(4), 7 stages)"
    assert repr(EULER) == "Tableau('Euler', order=1, 1 stages)"
