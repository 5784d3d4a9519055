# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The saddle-point problem: both solutions beside a dense one, and elimination without fill-in."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.mechanisms.absolute_coordinates.saddle_point import (
    SaddlePoint,
    elimination_order,
)

ROWS = 5  # of each joint


def tree(parents: list[int], seed: int) -> tuple[np.ndarray, int]:
    """Return the bodies (m, 2) of constraints in random order, and the number of bodies.

    Body k hangs on `parents[k]`, or on the ground if that is -1; names of bodies are shuffled.
    """
    rng, n = np.random.default_rng(seed), len(parents)
    label = np.append(rng.permutation(n), n)  # the last one is the ground
    ends = [[label[k], label[parent]] for k, parent in enumerate(parents)]
    return rng.permutation(np.repeat(ends, ROWS, axis=0)), n


def fill_in(bodies: np.ndarray, order: np.ndarray, n: int) -> int:
    """Return how many entries elimination from the last to the first adds."""
    moving = [set(row[row < n].tolist()) for row in bodies[order]]
    m = len(moving)
    near = [{j for j in range(m) if j != i and moving[i] & moving[j]} for i in range(m)]
    added = 0
    for k in reversed(range(m)):
        left = [j for j in near[k] if j < k]
        for i in left:
            for j in left:
                if i < j and j not in near[i]:
                    near[i].add(j)
                    near[j].add(i)
                    added += 1
    return added


@pytest.mark.parametrize(
    'parents',
    [[-1, 0, 1, 2, 3, 4, 5, 6], [-1, 0, 0, 1, 1, 2, 2, 5, 5, 7, -1, 10], [-1, 0, 0, 0, 0, 4, 5, 6]],
    ids=['chain', 'forest', 'star'],
)
def test_trees_are_eliminated_without_fill_in(parents):
    """The cost grows linearly with the number of bodies, whatever the order of the joints."""
    for seed in range(3):
        bodies, n = tree(parents, seed)
        order = elimination_order(bodies, n)
        np.testing.assert_array_equal(np.sort(order), np.arange(len(bodies)))
        assert fill_in(bodies, order, n) == 0
        assert fill_in(bodies, order[::-1], n) + fill_in(bodies, np.arange(len(bodies)), n) > 0


def test_against_a_dense_solution():
    """Of a chain with a constraint of four bodies, and of a single free body."""
    rng = np.random.default_rng(4)
    pairs, n = tree([-1, 0, 1, 2], 0)
    bodies = np.concatenate([pairs, np.full_like(pairs, n)], axis=1)[: 3 * ROWS]
    bodies = np.concatenate([bodies, [[0, 1, 2, 3]]])
    root = rng.normal(size=(n, 6, 6))
    M = root @ np.swapaxes(root, 1, 2) + np.eye(6)
    blocks, r, s = rng.normal(size=(len(bodies), 4, 6)), rng.normal(size=6 * n), rng.normal(size=16)
    J = np.zeros((len(bodies), n + 1, 6))
    for row, each, parts in zip(J, bodies, blocks):
        for body, part in zip(each, parts):
            row[body] += part
    J = J[:, :n].reshape(len(bodies), -1)
    whole = np.zeros((6 * n, 6 * n))
    for k in range(n):
        whole[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = M[k]
    K = np.block([[whole, J.T], [J, np.zeros((len(J), len(J)))]])
    expected = np.linalg.solve(K, np.append(r, s))
    problem = SaddlePoint(M, bodies)
    np.testing.assert_array_equal(problem.matrix(blocks).toarray(), J)
    for solve in (problem.solve, problem.solve_sparse):
        np.testing.assert_allclose(np.append(*solve(blocks, r, s)), expected, atol=1e-9)
    free = SaddlePoint(M[:1], np.zeros((0, 2), dtype=int))
    for solve in (free.solve, free.solve_sparse):
        x, mu = solve(np.zeros((0, 2, 6)), r[:6], np.zeros(0))
        np.testing.assert_allclose(M[0] @ x, r[:6], atol=1e-12)
        assert mu.shape == (0,)
