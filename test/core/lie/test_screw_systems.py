# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Systems of screws and the matrices of screw transformations (B-026 to B-032, B-076 to B-080)."""

import numpy as np
import pytest
from scipy.linalg import null_space, subspace_angles

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import screw_systems, screws, se3
from support.lie import apply, close
from support.models import random_configuration, random_description

N = 1000
DELTA = np.block([[np.zeros((3, 3)), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])


def random_poses(seed, count=N):
    return se3.exp(np.random.default_rng(seed).normal(size=(count, 6)))


# --- systems ---------------------------------------------------------------------------------


@pytest.mark.parametrize('count', range(8))
def test_reciprocal_basis(count):
    """B-027: A^T Delta B = 0, dimension 6 - rank, the null space of (Delta A)^T of scipy."""
    A = np.random.default_rng(count).normal(size=(6, count))
    B = screw_systems.reciprocal_screws(A)
    assert B.shape == (6, max(6 - count, 0))
    close(A.T @ DELTA @ B, np.zeros((count, B.shape[1])))
    assert screw_systems.rank(A) == min(count, 6)
    close(B.T @ B, np.eye(B.shape[1]))
    if 0 < count < 6:
        close(subspace_angles(B, null_space((DELTA @ A).T)), 0, 1e-7)
        product = screws.reciprocal_product(A.T[:, None], B.T[None])
        close(product, np.zeros((count, 6 - count)))


def test_rank_of_dependent_screws():
    """B-027: three lines in one plane through one point have rank 2, four of a plane rank 3."""
    pencil = screws.unit_screw([[1, 0, 0], [0, 1, 0], [1, 1, 0]], [1, 2, 3]).T
    assert screw_systems.rank(pencil) == 2
    assert screw_systems.reciprocal_screws(pencil).shape == (6, 4)
    plane = screws.unit_screw(
        [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, -2, 0]], [[0, 1, 0], [1, 0, 0], [3, 2, 0], [5, 5, 0]]
    ).T
    assert screw_systems.rank(plane) == 3
    assert screw_systems.rank(plane + 1e-6 * np.eye(6)[:, :4]) == 4
    assert screw_systems.rank(plane + 1e-6 * np.eye(6)[:, :4], tolerance=1e-4) == 3


@pytest.mark.parametrize('scale', [1e-9, 1.0, 1e9])
def test_rank_is_relative(scale):
    """B-027: of all screws larger or smaller by one factor."""
    A = np.random.default_rng(19).normal(size=(6, 3))
    A = scale * np.column_stack([A, A @ [1, 2, 3], 1e-6 * np.eye(6)[0]])
    assert screw_systems.rank(A) == 4
    assert screw_systems.reciprocal_screws(A).shape == (6, 2)
    assert screw_systems.same_system(A, A / scale)
    assert not screw_systems.same_system(A, A[:, :3])


def test_reciprocal_systems_do_not_depend_on_frame_or_length():
    """B-026, B-077, B-079: moved along they stay reciprocal; units change the basis only."""
    A = np.random.default_rng(20).normal(size=(6, 4))
    C = random_poses(21, 1)[0]
    Ad = se3.Ad(C)
    W = screw_systems.reciprocal_wrenches(A)
    moved = screw_systems.reciprocal_wrenches(Ad @ A)
    close(subspace_angles(np.linalg.inv(Ad).T @ W, moved), 0, 1e-7)
    for length in (1e-3, 0.2, 1000.0):
        other = screw_systems.reciprocal_wrenches(A, length)
        close(A.T @ other, np.zeros((4, 2)), 1e-9 * length + 1e-12)
        assert screw_systems.same_system(W, other)
    close(W.T @ W, np.eye(2))


def test_scara_bears_moments_about_x_and_y():
    """B-077, B-102: without joint torque; a fifth freedom less is a wrench more."""
    e = [[0, 0, 1]] * 2
    columns = [
        *screws.unit_screw(e, [[0, 0, 0], [0.4, 0.3, 0]]),
        *screws.unit_screw(e[:1], [[0.9, 0.1, 0]], 0),
        *screws.unit_screw(e[:1], pitch=np.inf),
    ]
    J = np.array(columns).T
    W = screw_systems.reciprocal_wrenches(J)
    assert W.shape == (6, 2)
    assert screw_systems.same_system(W, np.eye(6)[:, :2])
    close(J.T @ W, np.zeros((4, 2)))
    assert screw_systems.same_system(screw_systems.reciprocal_twists(W), J)
    five = np.hstack([J, np.eye(6)[:, :1]])
    assert screw_systems.reciprocal_wrenches(five).shape == (6, 1)


def test_double_complement():
    """B-102: of any system of screws, in either order, with any length."""
    for count in range(7):
        A = np.random.default_rng(count).normal(size=(6, count))
        W = screw_systems.reciprocal_wrenches(A, length=0.3)
        assert screw_systems.same_system(screw_systems.reciprocal_twists(W, length=2.0), A)
        X = screw_systems.reciprocal_screws(A)
        assert screw_systems.same_system(screw_systems.reciprocal_screws(X), A)


def test_power_of_joints_and_end_effector():
    """B-076, B-077: tau . qdot = W . V with tau = J^T W; a borne wrench takes no torque."""
    robot = Robot(random_description(3, joints=5, chain=True), backend='reference')
    rng = np.random.default_rng(22)
    q, v, W = random_configuration(robot, rng), rng.normal(size=robot.nv), rng.normal(size=6)
    for name in screws.REPRESENTATIONS:
        J = robot.jacobian(q, 'link5', name)
        close((J.T @ W) @ v, screws.power(W, robot.velocity(q, v, 'link5', name)))
        borne = screw_systems.reciprocal_wrenches(J)
        assert borne.shape == (6, 1)
        close(J.T @ borne, np.zeros((5, 1)))


def test_power_needs_the_right_order():
    """(4.25), (4.28): t^T F of a wrench stored force first is not the power; t^T Delta F is."""
    C, V, W = random_poses(23), *np.random.default_rng(24).normal(size=(2, N, 6))
    F = screws.swap(W)
    power = np.sum(W[:, :3] * V[:, :3] + W[:, 3:] * V[:, 3:], axis=1)
    close(screws.power(W, V), power)
    close(np.sum(V * apply(DELTA, F), axis=1), power)
    assert np.abs(np.sum(V * F, axis=1) - power).max() > 1
    moved = screws.power(screws.transform_wrench(C, W), screws.transform_twist(C, V))
    close(moved, power, 1e-11)


def test_bad_systems_are_refused():
    """Stacks, NaN and invalid lengths."""
    for bad, message in (
        (np.zeros((2, 6, 3)), 'one system'),
        (np.full((6, 2), np.nan), 'NaN'),
        (np.zeros((5, 2)), r'twists .* got \(5, 2\)'),
    ):
        with pytest.raises(ArgumentError, match=message):
            screw_systems.reciprocal_wrenches(bad)
    with pytest.raises(ArgumentError, match='length must be a positive'):
        screw_systems.rank(np.eye(6), length=0.0)


# --- matrices of transformations -------------------------------------------------------------


def test_screw_transformation():
    """B-030: S_ac = S_ab S_bc, determinant 1; G4; the axis moves as a line."""
    A, B = random_poses(25), random_poses(26)
    close(se3.Ad(A @ B), se3.Ad(A) @ se3.Ad(B))
    close(np.linalg.det(se3.Ad(A)), 1, 1e-11)
    golden = se3.pose([[0, -1, 0], [1, 0, 0], [0, 0, 1]], [1, 2, 3])
    close(se3.Ad(golden) @ [0, 0, 1, 0, -1, 0.5], [0, 0, 1, 3, -1, 0.5])
    e, p, h = *np.random.default_rng(27).normal(size=(2, N, 3)), np.linspace(-2, 2, N)
    R, r = A[:, :3, :3], A[:, :3, 3]
    moved = screws.unit_screw(apply(R, e), apply(R, p) + r, h)
    close(screws.transform_twist(A, screws.unit_screw(e, p, h)), moved, 1e-11)


def test_spatial_transpose():
    """B-031, (2.28)-(2.32): S^S = S^-1, (X^S)^S = X, (X Y)^S = Y^S X^S, blocks."""
    S = se3.Ad(random_poses(28))
    close(screws.spatial_transpose(S) @ S, np.broadcast_to(np.eye(6), S.shape))
    close(screws.spatial_transpose(S), np.linalg.inv(S))
    X, Y = np.random.default_rng(29).normal(size=(2, N, 6, 6))
    T = screws.spatial_transpose
    close(T(X), DELTA @ np.swapaxes(X, -1, -2) @ DELTA, 0)
    close(T(T(X)), X, 0)
    close(T(X @ Y), T(Y) @ T(X))
    A, B, C, D = (X[0][i : i + 3, j : j + 3] for i in (0, 3) for j in (0, 3))
    close(T(X[0]), np.block([[D.T, B.T], [C.T, A.T]]), 0)


def test_dual_map():
    """B-031, B-070: Delta S Delta = S^-T maps wrenches (moment, force)."""
    C, W = random_poses(30), np.random.default_rng(31).normal(size=(N, 6))
    S = se3.Ad(C)
    close(DELTA @ S @ DELTA, np.swapaxes(np.linalg.inv(S), -1, -2))
    close(apply(DELTA @ S @ DELTA, W), screws.transform_wrench(C, W))


def test_infinitesimal_screw_transformation():
    """B-032, (2.33): the error is of second order."""
    t = np.random.default_rng(32).uniform(-1, 1, (N, 6))
    errors = [
        np.abs(screws.infinitesimal_transform(h * t) - se3.Ad(se3.exp(h * t))).max()
        for h in (1e-2, 5e-3)
    ]
    assert 3.9 < errors[0] / errors[1] < 4.1


def test_motor_product_without_its_first_row_fails():
    """B-028, (2.20): as printed a vector of three; the angular part d1 × d2 is lost."""
    X, Y, Z = np.random.default_rng(33).normal(size=(3, N, 6))
    whole = screws.motor_product(X, Y)
    close(whole, apply(se3.ad(X), Y))
    printed = np.cross(X[:, 3:], Y[:, :3]) - np.cross(Y[:, 3:], X[:, :3])
    close(whole[:, 3:], printed)
    close(whole[:, :3], np.cross(X[:, :3], Y[:, :3]))

    def half(X, Y):
        return np.concatenate([np.zeros_like(X[:, :3]), screws.motor_product(X, Y)[:, 3:]], axis=1)

    def jacobi(f):
        return f(X, f(Y, Z)) + f(Y, f(Z, X)) + f(Z, f(X, Y))

    close(jacobi(screws.motor_product), 0, 1e-11)
    assert np.abs(jacobi(half)).max() > 1


def test_pitch_as_printed_fails():
    """(2.14): p d = m holds for lines through the origin; p d = v, the part of m along d."""
    d, p, h = np.array([0, 0, 2.0]), np.array([1.0, 0, 0]), 0.5
    m = np.cross(p, d) + h * d
    axis = screws.screw_axis(np.concatenate([d, m]))
    close([axis.pitch, *axis.point], [h, *p])
    assert np.abs(axis.pitch * d - m).max() > 1
    close(axis.pitch * d, m - np.cross(p, d))


@pytest.mark.parametrize('kind', ['twist', 'wrench'])
def test_one_code_for_twists_and_wrenches(kind):
    """B-073, B-080: axis, transformation, reciprocity of one serve the other, halves exchanged."""
    rng = np.random.default_rng(34)
    C, X, Y = random_poses(35), *rng.normal(size=(2, N, 6))
    if kind == 'twist':
        given, axis_of, transform = X, screws.screw_axis, screws.transform_twist
    else:
        given, axis_of, transform = screws.swap(X), screws.wrench_axis, screws.transform_wrench
    axis, moved = axis_of(given), axis_of(transform(C, given))
    for a, b in zip(axis, screws.screw_axis(X), strict=True):
        close(a, b)
    scale = 1 + np.abs(axis.pitch) + np.linalg.norm(axis.point, axis=1)
    close((moved.pitch - axis.pitch) / scale, 0, 1e-11)
    close(moved.magnitude, axis.magnitude)
    close(moved.direction, apply(C[:, :3, :3], axis.direction))
    product = screws.reciprocal_product(X, Y)
    dual = screws.power(screws.swap(X), Y) if kind == 'twist' else screws.power(given, Y)
    close(dual, product)
    close(
        screws.reciprocal_product(screws.transform_twist(C, X), screws.transform_twist(C, Y)),
        product,
        1e-11,
    )
