# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Points, vectors, directions, planes (B-011 to B-014, B-016, B-033)."""

from math import pi

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import points, se3, so3
from support.lie import close

N = 1000


def random_rotations(seed):
    return Rotation.from_quat(np.random.default_rng(seed).normal(size=(N, 4))).as_matrix()


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def poses(rng):
    R = random_rotations(1)
    return R, rng.normal(size=(N, 3)), se3.pose(R, rng.normal(size=(N, 3)))


def test_points_move_and_vectors_only_turn(rng, poses):
    """B-011, B-033: homogeneous coordinates C (p, 1) and C (v, 0); scipy turns the vector."""
    R, _, C = poses
    x = rng.normal(size=(N, 3))
    turned = Rotation.from_matrix(R).apply(x)
    close(points.transform_vector(C, x), turned)
    close(points.transform_point(C, x), turned + C[:, :3, 3])
    for last, function in ((1.0, points.transform_point), (0.0, points.transform_vector)):
        homogeneous = np.column_stack([x, np.full(N, last)])
        moved = (C @ homogeneous[..., None])[..., 0]
        close(function(C, x), moved[:, :3])
        close(moved[:, 3], last)


def test_vectors_add_and_points_do_not(rng, poses):
    """B-012: R (v1 + v2) = R v1 + R v2; C (p1 + p2) is not C p1 + C p2; q - p is a vector."""
    _, _, C = poses
    x, y = rng.normal(size=(2, N, 3))
    V, P = points.transform_vector, points.transform_point
    close(V(C, x + y), V(C, x) + V(C, y))
    close(P(C, y) - P(C, x), V(C, y - x))
    assert np.abs(P(C, x + y) - P(C, x) - P(C, y)).max(axis=1).min() > 1e-3


def test_distance(rng, poses):
    """B-013; the same in every frame; (2.2) as printed is its square."""
    _, _, C = poses
    x, y = rng.normal(size=(2, N, 3))
    T = points.transform_point
    close(points.distance(T(C, x), T(C, y)), np.sqrt(np.sum((x - y) ** 2, axis=1)))
    p, q = np.array([1.0, 1.0, 1.0]), np.array([2.0, 3.0, 3.0])
    close(points.distance(p, q), 3, 0)
    printed = np.sum((q - p) ** 2)
    assert abs(printed - 3) > 5


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-9, 1e-4, 1.0, pi / 2, 3.0, pi - 1e-9, pi])
def test_angle_keeps_its_digits(angle, rng):
    """B-013, (2.4): to 1e-15 from 0 to pi, for vectors of any length."""
    R = random_rotations(2)
    a, b = R[:, :, 0], np.cos(angle) * R[:, :, 0] + np.sin(angle) * R[:, :, 1]
    sizes = 10 ** rng.uniform(-200, 150, (2, N, 1))
    close(points.angle(sizes[0] * a, sizes[1] * b), angle, 1e-15)


def test_angle_by_the_arc_cosine_fails():
    """B-013, (2.4): 1e-9 is returned as 1e-9, where arccos(e1 . e2) is 0."""
    a, b = np.array([1.0, 0, 0]), np.array([1.0, 1e-9, 0])
    assert points.angle(a, b) == 1e-9
    assert np.arccos(a @ b) == 0
    assert points.angle([1, 0, 0], [0, 1, 0]) == pi / 2


def test_hat_of_a_turned_vector(rng, poses):
    """B-014: vee([m]) = m, [m]^T = -[m], R [m] R^T = [R m], [m] y = m × y."""
    R, _, _ = poses
    m, y = rng.normal(size=(2, N, 3))
    close(so3.vee(so3.hat(m)), m, 0)
    close(np.swapaxes(so3.hat(m), -1, -2), -so3.hat(m), 0)
    close(R @ so3.hat(m) @ np.swapaxes(R, -1, -2), so3.hat((R @ m[..., None])[..., 0]))
    close((so3.hat(m) @ y[..., None])[..., 0], np.cross(m, y))


def test_plane_distance(rng):
    """B-016: signed, whichever point of the plane is given, however long its normal is."""
    close(points.plane_distance([1, 1, 5], [0, 0, 2], [0, 0, 1]), 3)
    close(points.plane_distance([1, 1, 5], [9, -9, 2], [0, 0, -4]), -3)
    R = random_rotations(3)
    p, in_plane, height = rng.normal(size=(N, 3)), rng.normal(size=(N, 2, 1)), rng.normal(size=N)
    inside = p + (R[:, :, :2] @ in_plane)[..., 0]
    above = p + height[:, None] * R[:, :, 2]
    close(points.plane_distance(above, inside, 7 * R[:, :, 2]), height)


def test_bad_input():
    with pytest.raises(ArgumentError, match=r'points\.angle: b is \(0, 0, 0\)'):
        points.angle([1, 0, 0], [[0, 0, 1], [0, 0, 0]])
