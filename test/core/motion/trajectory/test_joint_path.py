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
