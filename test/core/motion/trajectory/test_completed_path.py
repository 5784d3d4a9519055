# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Paths through points without velocities or accelerations, beside interpolants of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline

from screw_dynamics_ros.core.motion.trajectory.joint_path import completed_path, refined


@pytest.fixture
def points():
    """Return times, positions, velocities and accelerations of two joints."""
    rng = np.random.default_rng(0)
    return np.array([1.0, 1.3, 2.1, 4.0]), *rng.normal(size=(3, 4, 2))


def test_given_velocities_and_accelerations_are_those_of_the_path(points):
    t, q, v, a = points
    at = np.linspace(1.0, 4.0, 50)
    cubic = CubicHermiteSpline(t, q, v)
    quintic = BPoly.from_derivatives(t, np.stack([q, v, a], axis=1))
    for path, expected in (
        (completed_path(t, q, v, None, np.ones(2)), cubic),
        (completed_path(t, q, v, a, np.ones(2)), quintic),
    ):
        found = path.samples(at)
        for order in (0, 1):
            np.testing.assert_allclose(found[order], expected.derivative(order)(at), atol=1e-9)


def test_missing_velocities_make_accelerations_continuous(points):
    """From the velocity at the start to rest at the end; accelerations alone do not count."""
    t, q, _, a = points
    start = np.array([0.7, -0.2])
    path = completed_path(t, q, None, None, start)
    found = path.samples(t)
    np.testing.assert_allclose(found[0], q, atol=1e-12)
    np.testing.assert_allclose(found[1][[0, -1]], [start, [0.0, 0.0]], atol=1e-12)
    before = path.samples(t[1:-1] - 1e-9)[2]
    np.testing.assert_allclose(before, found[2][1:-1], atol=1e-6)
    np.testing.assert_array_equal(completed_path(t, q, None, a, start).samples(t), found)


@pytest.mark.parametrize('velocity', [None, np.ones((1, 2))])
def test_one_point_is_a_path_that_stands_still(velocity):
    q = np.array([[0.3, -0.4]])
    path = completed_path(np.array([2.0]), q, velocity, None, np.ones(2))
    for t in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(path.state(t), [q[0], np.zeros(2), np.zeros(2)])


@pytest.mark.parametrize(
    ('longest', 'most', 'counts'),
    [
        (0.5, 1000, [2, 1, 4]),  # 2 s are four halves, in spite of rounding
        (0.499, 1000, [3, 1, 5]),
        (9.0, 1000, [1, 1, 1]),
        (0.01, 6, [2, 1, 4]),  # 3.1 s / 6 are the longest steps then
    ],
)
def test_times_between_points(longest, most, counts):
    time = np.array([5.0, 6.0, 6.1, 8.1])
    found = refined(time, longest, most)
    expected = np.concatenate(
        [[5.0], *(np.linspace(a, b, n + 1)[1:] for a, b, n in zip(time, time[1:], counts))]
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert set(time) <= set(found)


def test_one_time_has_nothing_between():
    assert refined(np.array([3.0]), 0.1, 10).tolist() == [3.0]
