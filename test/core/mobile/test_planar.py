# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SE(2): group, transforms, embeddings into SE(3), center of rotation and line of force."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.mobile import planar

SEEDS = pytest.mark.parametrize('seed', range(3))


def random_pose(rng):
    return np.concatenate([rng.uniform(-3, 3, 1), rng.normal(size=2)])


@SEEDS
def test_transforms_keep_power(seed):
    """S_t^T D3 S_w = D3 with the book's order of wrenches, and S_w as in E-45 (C-129)."""
    rng = np.random.default_rng(seed)
    phi, x, y = pose = random_pose(rng)
    c, s = np.cos(phi), np.sin(phi)
    D3 = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(planar.FORCE_LAST, D3)
    S_t = planar.twist_transform(pose)
    S_w = D3.T @ planar.wrench_transform(pose) @ D3
    np.testing.assert_allclose(S_t, [[1, 0, 0], [y, c, -s], [-x, s, c]], atol=1e-12)
    np.testing.assert_allclose(
        S_w, [[c, -s, 0], [s, c, 0], [x * s - y * c, x * c + y * s, 1]], atol=1e-12
    )
    np.testing.assert_allclose(S_t.T @ D3 @ S_w, D3, atol=1e-12)


@SEEDS
def test_embedding_agrees_with_space(seed):
    """Poses, exponential, adjoint, bracket and wrenches are those of SE(3) (C-129)."""
    rng = np.random.default_rng(seed)
    a, b, t = random_pose(rng), random_pose(rng), rng.normal(size=3)
    A, B, E = planar.to_space(a), planar.to_space(b), planar.EMBEDDING
    np.testing.assert_allclose(planar.to_space(planar.compose(a, b)), A @ B, atol=1e-12)
    np.testing.assert_allclose(planar.to_space(planar.inverse(a)), np.linalg.inv(A), atol=1e-12)
    np.testing.assert_allclose(planar.to_space(planar.exp(t)), se3.exp(E @ t), atol=1e-12)
    np.testing.assert_allclose(se3.Ad(A) @ E, E @ planar.twist_transform(a), atol=1e-12)
    np.testing.assert_allclose(se3.ad(E @ t) @ E, E @ planar.ad(t), atol=1e-12)
    np.testing.assert_allclose(se3.dexp(-E @ t) @ E, E @ planar.dexp(t), atol=1e-12)
    w = rng.normal(size=3)
    assert screws.power(E @ w, E @ t) == pytest.approx(w @ t, abs=1e-12)
    np.testing.assert_allclose(planar.from_space(A), a, atol=1e-12)
    np.testing.assert_allclose(planar.coordinates(planar.matrix(a)), a, atol=1e-12)


@pytest.mark.parametrize('omega', [0.0, 1e-12, 1e-6, 9.9e-3, 1.01e-2, 1.0, -3.0])
def test_exp_log_and_their_derivative(omega):
    """Through the straight line without a step (C-135)."""
    t, dt = np.array([omega, 0.7, -0.2]), 1e-6 * np.array([0.3, -0.5, 0.8])
    np.testing.assert_allclose(planar.log(planar.exp(t)), t, atol=1e-12)
    change = planar.log(planar.compose(planar.inverse(planar.exp(t)), planar.exp(t + dt)))
    np.testing.assert_allclose(change, planar.dexp(t) @ dt, atol=1e-11)


@SEEDS
def test_center_of_rotation_stands_still(seed):
    """The velocity of the center is zero (C-130); a translation has none."""
    rng = np.random.default_rng(seed)
    omega, vx, vy = t = rng.normal(size=3)
    x, y = planar.center_of_rotation(t)
    np.testing.assert_allclose([vx - omega * y, vy + omega * x], 0.0, atol=1e-12)
    assert planar.center_of_rotation([0.0, vx, vy]) is None


@SEEDS
def test_no_moment_about_the_line_of_force(seed):
    """p x f = m for its points (C-130); a couple has no line."""
    rng = np.random.default_rng(seed)
    m, fx, fy = w = rng.normal(size=3)
    point, direction = planar.line_of_force(w)
    for distance in (-1.0, 0.0, 2.0):
        x, y = point + distance * direction
        assert x * fy - y * fx == pytest.approx(m, abs=1e-12)
    assert point @ direction == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(direction, np.array([fx, fy]) / np.hypot(fx, fy))
    assert planar.line_of_force([1.0, 0.0, 0.0]) is None


def test_stacks_are_computed_row_by_row():
    rng = np.random.default_rng(3)
    x, t = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    for function in (planar.exp, planar.log, planar.inverse, planar.matrix, planar.to_space):
        np.testing.assert_allclose(function(t), [function(row) for row in t], atol=1e-14)
    rows = [planar.compose(*pair) for pair in zip(x, t)]
    np.testing.assert_allclose(planar.compose(x, t), rows, atol=1e-14)


def test_what_is_not_in_the_plane_is_refused():
    tilted = se3.exp([0.1, 0, 0, 0, 0, 0])
    with pytest.raises(ArgumentError, match='plane z = 0'):
        planar.from_space(tilted)
    with pytest.raises(ArgumentError, match='rotates about z'):
        planar.plane_twist([0, 0, 1, 0, 0, 0.1])
    with pytest.raises(ArgumentError, match='finite'):
        planar.exp([np.nan, 0, 0])
    with pytest.raises(ArgumentError, match='shape'):
        planar.compose([0, 0], [0, 0, 0])
