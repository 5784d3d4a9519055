# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Directions of free fall, and how a vector of gravity turns."""

import numpy as np
import pytest

from screw_dynamics_ros.core.lie import quaternions, so3
from screw_dynamics_ros.core.measurement.estimation.gravity_direction import (
    TurningGravity,
    down_by_force,
    down_by_orientation,
)

DOWN = np.array([0.0, 0.0, -1.0])


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
    turning, before = TurningGravity(gravity), gravity.copy()
    turning.restart(0.0)
    for k in range(1, 5000):
        assert turning.turn(target, 1.0, 0.002 * k) or np.array_equal(gravity, target)
        assert np.linalg.norm(gravity - before) < 0.1  # 2 pi 0.002 s of the distance
        assert np.linalg.norm(gravity) == pytest.approx(9.81)
        before = gravity.copy()
    np.testing.assert_array_equal(gravity, target)
    assert not turning.turn(target, 1.0, 11.0)


def test_the_opposite_direction_and_no_gravity():
    gravity = np.array([0.0, 0.0, -9.81])
    turning = TurningGravity(gravity)
    turning.restart(0.0)
    for k in range(1, 3000):
        turning.turn(-DOWN * 9.81, 1.0, 0.01 * k)
        assert np.isfinite(gravity).all()
    np.testing.assert_allclose(gravity, -DOWN * 9.81)
    for k in range(3000, 9000):
        turning.turn(np.zeros(3), 1.0, 0.01 * k)
    np.testing.assert_allclose(gravity, 0.0, atol=1e-6)
