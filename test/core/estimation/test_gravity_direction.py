# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Directions of free fall, and how a vector of gravity turns."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.estimation.gravity_direction import (
    down_by_force,
    down_by_orientation,
    turn_gravity,
    turn_towards,
)
from screw_dynamics_ros.core.lie import quaternions, so3

DOWN = np.array([0.0, 0.0, -1.0])


def turned(start, end, share):
    vector = start.copy()
    turn_towards(vector, end, share)
    return vector


def test_orientation_and_force_agree():
    rng = np.random.default_rng(1)
    for _ in range(10):
        R = so3.exp(rng.normal(size=3))
        down = R.T @ DOWN
        np.testing.assert_allclose(
            down_by_orientation(quaternions.from_matrix(R)), down, atol=1e-12
        )
        np.testing.assert_allclose(down_by_force(-9.81 * down, np.zeros(3), 9.81), down, atol=1e-12)


@pytest.mark.parametrize('quaternion', [np.zeros(4), np.full(4, np.nan), np.full(4, 2.0)])
def test_no_unit_quaternion(quaternion):
    assert down_by_orientation(quaternion) is None


@pytest.mark.parametrize(
    ('force', 'rate'),
    [
        ([0.0, 0.0, 0.0], [0.0] * 3),
        ([0.0, 0.0, 1.0], [0.0] * 3),  # in g
        ([0.0, 0.0, 9.81], [0.0, 0.2, 0.0]),
        ([np.nan] * 3, [0.0] * 3),
        ([0.0, 0.0, 9.81], [np.nan] * 3),
        ([np.inf, 0.0, 9.81], [0.0] * 3),
    ],
)
def test_no_rest(force, rate):
    assert down_by_force(np.array(force), np.array(rate), 9.81) is None


def test_gravity_turns_without_steps():
    gravity, target = np.array([0.0, 0.0, -9.81]), 9.81 * np.array([0.6, 0.0, -0.8])
    before = gravity.copy()
    for _ in range(5000):
        assert turn_gravity(gravity, target, 1.0, 0.002) or np.array_equal(gravity, target)
        assert np.linalg.norm(gravity - before) < 0.1  # 2 pi 0.002 s of the distance
        assert np.linalg.norm(gravity) == pytest.approx(9.81)
        before = gravity.copy()
    np.testing.assert_array_equal(gravity, target)
    assert not turn_gravity(gravity, target, 1.0, 1.0)


def test_the_opposite_direction_and_no_gravity():
    gravity = np.array([0.0, 0.0, -9.81])
    for _ in range(3000):
        turn_gravity(gravity, -DOWN * 9.81, 1.0, 0.01)
        assert np.isfinite(gravity).all()
    np.testing.assert_allclose(gravity, -DOWN * 9.81)
    for _ in range(6000):
        turn_gravity(gravity, np.zeros(3), 1.0, 0.01)
    np.testing.assert_allclose(gravity, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ('norm', 'is_unit'), [(0.989, False), (0.991, True), (1.009, True), (1.011, False)]
)
def test_quaternions_within_a_hundredth_of_unit_norm(norm, is_unit):
    R = so3.exp(np.array([0.4, -0.3, 0.2]))
    down = down_by_orientation(norm * quaternions.from_matrix(R))
    if is_unit:
        np.testing.assert_allclose(down, R.T @ DOWN, atol=0.03)
    else:
        assert down is None


@pytest.mark.parametrize(
    ('size', 'rate', 'is_at_rest'),
    [
        (0.951, 0.0, True), (0.949, 0.0, False), (1.049, 0.0, True), (1.051, 0.0, False),
        (1.0, -0.049, True), (1.0, -0.051, False), (1.0, 0.051, False),
    ],
)  # fmt: skip
def test_rest_within_a_twentieth_of_gravity_and_rate(size, rate, is_at_rest):
    force = size * 9.81 * np.array([0.6, 0.0, 0.8])
    down = down_by_force(force, np.array([0.0, rate, 0.0]), 9.81)
    if is_at_rest:
        np.testing.assert_allclose(down, [-0.6, 0.0, -0.8])
    else:
        assert down is None


def test_the_angle_to_the_target_decays_by_the_filter():
    """Angle and magnitude by e^(-2 pi f h); at most 0.1 s at once, and no time runs back."""
    gravity = np.array([0.0, 0.0, -8.0])
    target = 10.0 * np.array([np.sin(0.9), 0.0, -np.cos(0.9)])
    left = 1.0
    for elapsed, h in ((0.03, 0.03), (0.01, 0.01), (-0.02, 0.0), (0.04, 0.04), (3.94, 0.1)):
        assert turn_gravity(gravity, target, 2.0, elapsed)
        left *= np.exp(-4.0 * np.pi * h)
        assert np.linalg.norm(gravity) == pytest.approx(10.0 - 2.0 * left)
        angle = np.arctan2(gravity[0], -gravity[2])
        assert angle == pytest.approx(0.9 * (1.0 - left))
        assert gravity[1] == 0.0
    turn_gravity(gravity, target, 2.0, 0.0)
    assert np.linalg.norm(gravity) == pytest.approx(10.0 - 2.0 * left)
    gravity[:] = target + [5e-9, 0.0, 0.0]  # within a billionth of the largest element
    assert turn_gravity(gravity, target, 2.0, 0.0)
    assert gravity.tolist() == target.tolist()
    assert not turn_gravity(gravity, target, 2.0, 0.1)


def test_vectors_are_turned_in_their_plane():
    """Against interpolation of rotations; opposite ones by half a turn, and from zero straight."""
    rng = np.random.default_rng(0)
    for share in (0.0, 0.3, 1.0):
        start, end = rng.normal(size=(2, 3))
        sizes = np.linalg.norm(start), np.linalg.norm(end)
        axis = np.cross(start, end)
        angle = np.arccos(start @ end / np.prod(sizes))
        R = Rotation.from_rotvec(share * angle * axis / np.linalg.norm(axis))
        size = (1.0 - share) * sizes[0] + share * sizes[1]
        np.testing.assert_allclose(turned(start, end, share), size * R.apply(start) / sizes[0])
        for a, b in ((np.zeros(3), end), (start, np.zeros(3))):
            np.testing.assert_allclose(turned(a, b, share), (1.0 - share) * a + share * b)
    for x in np.eye(3):
        assert np.linalg.norm(turned(2.0 * x, -3.0 * x, 0.5)) == pytest.approx(2.5)
        half = turned(x, -x, 0.5)
        assert np.linalg.norm(half) == pytest.approx(1.0)
        assert half @ x == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('sizes', [(0.01, 9.81), (9.81, 0.01)])
@pytest.mark.parametrize(('angle', 'has_plane'), [(2e-9, True), (5e-10, False)])
def test_nearly_opposite_vectors_have_a_plane_from_a_billionth_of_a_radian(sizes, angle, has_plane):
    """Whatever their lengths; below, the first one turns to the axis that it has least of."""
    start = sizes[0] * np.array([0.8, 0.0, 0.6])
    end = -sizes[1] * np.array([0.8, angle, 0.6])
    expected = [0.0, -1.0 if has_plane else 1.0, 0.0]
    half = turned(start, end, 0.5)
    np.testing.assert_allclose(half, np.mean(sizes) * np.array(expected), atol=1e-6)


@pytest.mark.parametrize('order', [1, -1])
def test_vectors_up_to_a_billionth_have_no_direction(order):
    for size in (0.9e-9, 1.1e-9):
        vectors = (np.array([size, 0.0, 0.0]), np.array([0.0, 3.0, 0.0]))[::order]
        middle = turned(*vectors, 0.5)
        straight = np.mean(vectors, axis=0)
        assert (np.abs(middle - straight).max() < 1e-12) == (size < 1e-9)


def test_a_slow_filter_never_runs_ahead():
    """A frequency of zero keeps the vector."""
    gravity = np.array([0.0, 0.0, -8.0])
    assert turn_gravity(gravity, np.array([0.0, 5.0, 0.0]), 0.0, 1.0)
    np.testing.assert_allclose(gravity, [0.0, 0.0, -8.0])
