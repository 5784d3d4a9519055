# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Paths between the points of trajectories, beside polynomials written out."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath

TIME = [1.0, 2.0, 4.0]
Q = [[0.0, 1.0], [1.0, 1.0], [5.0, 0.0]]


def sampled(path, times):
    return tuple(np.array(values) for values in zip(*(path.at(t) for t in times)))


def test_positions_alone_are_joined_by_lines():
    q, v = sampled(JointPath(TIME, Q), [1.25, 3.0])
    np.testing.assert_allclose(q, [[0.25, 1.0], [3.0, 0.5]])
    np.testing.assert_allclose(v, [[1.0, 0.0], [2.0, -0.5]])


@pytest.mark.parametrize('order', [3, 5])
def test_a_polynomial_is_repeated(order):
    """Cubic through positions and velocities, quintic with accelerations: exact for either."""
    rng = np.random.default_rng(order)
    p = [np.polynomial.Polynomial(c) for c in rng.normal(size=(2, order + 1))]
    rows = [
        np.array([[each.deriv(k)(t) if k else each(t) for each in p] for t in TIME])
        for k in range((order + 1) // 2)
    ]
    times = np.linspace(1.001, 3.999, 17)
    q, v = sampled(JointPath(TIME, *rows), times)
    np.testing.assert_allclose(q, np.array([each(times) for each in p]).T, atol=1e-11)
    np.testing.assert_allclose(v, np.array([each.deriv()(times) for each in p]).T, atol=1e-10)


def test_it_stands_still_before_and_afterwards():
    path = JointPath(TIME, Q, np.ones((3, 2)))
    for t, expected in ((-5.0, Q[0]), (1.0, Q[0]), (4.0, Q[-1]), (99.0, Q[-1])):
        q, v = path.at(t)
        np.testing.assert_array_equal(q, expected)
        np.testing.assert_array_equal(v, 0.0)


def test_one_point_is_a_place():
    q, v = JointPath([0.5], [[3.0]]).at(0.2)
    assert (q.tolist(), v.tolist()) == ([3.0], [0.0])


def test_some_of_the_joints():
    path = JointPath(TIME, Q, np.ones((3, 2)))
    part = path.of([1])
    for t in (1.5, 2.5, 9.0):
        np.testing.assert_array_equal(part.at(t), np.array(path.at(t))[:, [1]])


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        (([], np.zeros((0, 2))), 'at least one point'),
        (([0.0, 1.0], [[0.0], [np.nan]]), 'finite'),
        (([0.0, 0.0], [[0.0], [1.0]]), 'must increase'),
        (([0.0, 1.0], [[0.0, 1.0]]), r'q has shape \(1, 2\) for 2 points'),
        (([0.0], [[0.0]], [[1.0, 2.0]]), 'v has shape'),
        (([0.0], [[0.0]], None, [[1.0]]), 'accelerations without velocities'),
    ],
)
def test_what_is_no_path(arguments, reason):
    with pytest.raises(ArgumentError, match=reason):
        JointPath(*arguments)


@pytest.mark.parametrize('count', [1, 2, 3])
def test_states_and_samples_have_the_rates_of_their_polynomials(count):
    """Linear, cubic and quintic pieces by the coefficients of NumPy's Hermite conditions."""
    rng = np.random.default_rng(count)
    rows = [rng.normal(size=(3, 2)) for _ in range(count)]
    path = JointPath(TIME, *rows)
    inner = [1.3, 2.0, 2.5, 3.9]
    for t in inner:
        k = 0 if t < 2.0 else 1
        h = TIME[k + 1] - TIME[k]
        powers = np.arange(2 * count)
        conditions, values = [], []
        for end, s in ((k, 0.0), (k + 1, h)):
            for order, row in enumerate(rows):
                factors = [
                    np.prod(n - np.arange(order)) * s ** max(n - order, 0) * (n >= order)
                    for n in powers
                ]
                conditions.append(factors)
                values.append(row[end])
        c = np.linalg.solve(np.array(conditions, dtype=float), np.array(values))
        s = t - TIME[k]
        expected = (
            sum(c[n] * s**n for n in powers),
            sum(n * c[n] * s ** (n - 1) for n in powers[1:]),
            sum(n * (n - 1) * c[n] * s ** (n - 2) for n in powers[2:]) + 0 * c[0],
        )
        np.testing.assert_allclose(path.state(t), expected, atol=1e-10)
    np.testing.assert_allclose(
        np.swapaxes(path.samples(np.array(inner)), 0, 1), [path.state(t) for t in inner], atol=1e-12
    )
    q, *rates = path.samples(np.array([TIME[0], TIME[-1]]))
    np.testing.assert_allclose(q, rows[0][[0, -1]], atol=1e-12)
    for found, given in zip(rates, rows[1:]):  # as given, not at rest
        np.testing.assert_allclose(found, given[[0, -1]], atol=1e-10)


def test_a_point_in_front():
    path = JointPath(TIME, Q, np.ones((3, 2)))
    longer = path.after(0.5, np.array([7.0, 8.0]), np.array([2.0, 3.0]), np.zeros(2))
    assert (longer.start, longer.end) == (0.5, path.end)
    np.testing.assert_array_equal(longer.times, [0.5, *TIME])
    np.testing.assert_array_equal(longer.samples(np.array([0.5]))[:2], [[[7.0, 8.0]], [[2.0, 3.0]]])
    np.testing.assert_allclose(longer.state(1.5), path.state(1.5))
    alone = JointPath([0.5], [[3.0]], [[2.0]])
    q, v, a = alone.samples(np.array([0.0, 9.0]))
    assert (q.tolist(), v.tolist(), a.tolist()) == ([[3.0]] * 2, [[0.0]] * 2, [[0.0]] * 2)
    state = path.state(99.0)[0]
    state += 1.0  # a copy
    np.testing.assert_array_equal(path.state(99.0)[0], Q[-1])
