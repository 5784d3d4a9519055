# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Orientations and unit quaternions (B-035 to B-041, B-050 to B-058)."""

from math import pi, sqrt

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm, polar
from scipy.spatial.transform import Rotation, Slerp

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import euler, orientations, se3, so3
from screw_dynamics_ros.core.lie import quaternions as quat
from support.lie import apply, close, derivative

N = 1000
AXES = pytest.mark.parametrize('axes', ['reference', 'body'])
G8 = np.array(
    [
        [0.4332068929, -0.4796611139, 0.7630576674],
        [0.7630576674, 0.645754308, -0.0272831418],
        [-0.4796611139, 0.5940762489, 0.645754308],
    ]
)


def random_rotations(seed, count=N):
    return Rotation.from_quat(np.random.default_rng(seed).normal(size=(count, 4))).as_matrix()


def random_axes(seed, count=N):
    x = np.random.default_rng(seed).normal(size=(count, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


# --- rotation matrices -----------------------------------------------------------------------


def test_columns_are_the_axes_of_the_body():
    """B-035, (3.1): of {b} in {a}, entries are direction cosines; the transpose fails."""
    R = random_rotations(1)[0]
    axes_in_a = [apply(R, e) for e in np.eye(3)]
    close(np.column_stack(axes_in_a), R, 4e-15)
    cosines = [[e @ b for b in axes_in_a] for e in np.eye(3)]
    close(cosines, R)
    assert np.abs(np.array(cosines).T - R).max() > 0.1


def test_what_is_no_rotation_is_rejected():
    """B-035: determinant -1, and 1e-5 of skew."""
    for bad in (np.diag([1.0, 1, -1]), np.eye(3) + 1e-5 * np.ones((3, 3)), 2 * np.eye(3)):
        with pytest.raises(ArgumentError, match='not a rotation matrix'):
            orientations.to_axis_angle(bad)


@pytest.mark.parametrize('noise', [0.0, 1e-9, 1e-6, 0.1])
def test_nearest_rotation(noise):
    """B-035: of a matrix with noise; no rotation nearby is nearer; scipy's polar factor."""
    rng = np.random.default_rng(2)
    M = random_rotations(3) + noise * rng.uniform(-1, 1, (N, 3, 3))
    R = orientations.nearest_rotation(M)
    close(R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape), 1e-14)
    close(np.linalg.det(R), 1, 1e-14)
    close(R[:50], [polar(matrix)[0] for matrix in M[:50]], 1e-13)
    least = np.linalg.norm(R - M, axis=(1, 2))
    for size in (1e-5, 1e-2, 1.0):
        other = so3.exp(size * rng.normal(size=(N, 3))) @ R
        assert (np.linalg.norm(other - M, axis=(1, 2)) >= least - 1e-15).all()
    close(np.linalg.norm(R - M, axis=(1, 2)).max(), 0, 3 * noise + 1e-14)


def test_nearest_rotation_of_hopeless_matrices():
    """B-035: a reflected matrix has one while its axes are distinct; ranks 0 and 1 have many."""
    R = orientations.nearest_rotation(np.diag([3.0, 2, -1]))
    close(R, np.eye(3))
    for M in (np.zeros((3, 3)), np.ones((3, 3)), np.diag([3.0, 1, -1]), -np.eye(3)):
        with pytest.raises(ArgumentError, match='several rotations are equally near'):
            orientations.nearest_rotation(M)
    M = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    close(orientations.nearest_rotation(M)[0], np.eye(3))
    assert np.isnan(orientations.nearest_rotation(M)[1]).all()


def test_frame_rotations():
    """B-036: R(Z, pi/2) x = y and so on, by the right-hand rule; (3.3) entry by entry."""
    x, y, z = np.eye(3)
    for axis, a, b in (('Z', x, y), ('X', y, z), ('Y', z, x)):
        close(orientations.frame_rotation(axis, pi / 2) @ a, b, 4e-15)
    c, s = np.cos(0.4), np.sin(0.4)
    close(orientations.frame_rotation('X', 0.4), [[1, 0, 0], [0, c, -s], [0, s, c]], 1e-15)
    close(orientations.frame_rotation('Y', 0.4), [[c, 0, s], [0, 1, 0], [-s, 0, c]], 1e-15)
    close(orientations.frame_rotation('Z', 0.4), [[c, -s, 0], [s, c, 0], [0, 0, 1]], 1e-15)
    with pytest.raises(UnknownNameError, match="no axis 'z'"):
        orientations.frame_rotation('z', 0.1)


def test_inverse_and_composition():
    """B-037: example (3.12), (R1 R2)^-1 = R2^T R1^T, R(X, a)^-1 = R(X, -a); no commutation.

    B-029: a sum of rotation matrices means nothing, and is refused.
    """
    a, b = 0.7, 0.3
    R = so3.compose(orientations.frame_rotation('Z', a), orientations.frame_rotation('Y', -b))
    close(R[:, 0], [np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)])
    R1, R2 = random_rotations(4), random_rotations(5)
    close(so3.inverse(so3.compose(R1, R2)), so3.compose(so3.inverse(R2), so3.inverse(R1)))
    close(so3.inverse(R1), np.linalg.inv(R1))
    assert np.abs(R1 @ R2 - R2 @ R1).max(axis=(1, 2)).min() > 1e-3
    close(so3.inverse(orientations.frame_rotation('X', a)), orientations.frame_rotation('X', -a))
    with pytest.raises(ArgumentError, match='not a rotation matrix'):
        so3.log((R1 + R2)[0])


def test_gripper_frame():
    """B-038: n, o, a right-handed, a and the plane of o and a as given."""
    o, a = random_axes(6), random_axes(7)
    R = orientations.gripper_frame(3 * o, 0.2 * a)
    close(np.linalg.det(R), 1)
    close(R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape))
    close(R[:, :, 2], a)
    close(np.sum(R[:, :, 0] * o, axis=1), 0)
    assert (np.sum(R[:, :, 1] * o, axis=1) > 0).all()
    for opening in ([0, 0, 2], [0, 0, 0]):
        with pytest.raises(ArgumentError, match='gripper_frame: opening'):
            orientations.gripper_frame(opening, [0, 0, 1])


# --- rates -----------------------------------------------------------------------------------


@AXES
def test_angular_velocity_against_finite_differences(axes):
    """B-039, (3.15)-(3.20): of a motion R(t), in reference and body axes, and back."""
    X = np.random.default_rng(8).uniform(-1, 1, (3, N, 3))

    def R(t):
        return so3.exp(X[0] + t * X[1] + t * t * X[2])

    R_dot = derivative(R, 0.3)
    omega = orientations.angular_velocity(R(0.3), R_dot, axes)
    close(orientations.rotation_rate(R(0.3), omega, axes), R_dot, 1e-9)
    p = np.array([0.3, -0.2, 0.5])  # of the body: pdot = omega × p
    velocity = derivative(lambda t: apply(R(t), p), 0.3)
    reference = apply(R(0.3), omega) if axes == 'body' else omega
    close(velocity, np.cross(reference, apply(R(0.3), p)), 1e-9)


def test_exp_is_the_solution_with_its_initial_value():
    """B-040, (3.21): R(t) = exp(omega~ t) C with C = R(0), a rotation; printed C = exp(0) = I."""
    omega, C, t = np.array([0.3, -1.2, 0.8]), random_rotations(9)[0], 0.9

    def rate(_, R):
        return (so3.hat(omega) @ R.reshape(3, 3)).ravel()

    R = solve_ivp(rate, (0, t), C.ravel(), rtol=1e-12, atol=1e-12).y[:, -1].reshape(3, 3)
    close(so3.exp(t * omega) @ C, R, 1e-10)
    close(so3.exp(t * omega), expm(t * so3.hat(omega)), 1e-14)
    close(so3.log(so3.exp(t * omega)), t * omega, 1e-14)
    assert np.abs(so3.exp(t * omega) - R).max() > 0.1


def test_infinitesimal_rotation():
    """B-041: I + delta~ is off by O(delta^2), and a quarter of that for half the delta."""
    delta = random_axes(10)
    errors = [
        np.abs(orientations.infinitesimal_rotation(h * delta) - so3.exp(h * delta)).max()
        for h in (1e-2, 5e-3)
    ]
    assert 3.9 < errors[0] / errors[1] < 4.1
    close(so3.vee(orientations.infinitesimal_rotation(delta)), delta, 4e-15)


def test_infinitesimal_rotation_as_printed_fails():
    """(3.24): the entry (2, 3) is -delta_x; with + the error is of first order."""
    delta = np.array([1e-3, 2e-3, -1e-3])
    printed = orientations.infinitesimal_rotation(delta)
    assert np.abs(printed - so3.exp(delta)).max() < 1e-5
    printed[1, 2] = delta[0]
    assert np.abs(printed - so3.exp(delta)).max() > 1e-3


# --- axis and angle --------------------------------------------------------------------------


def test_axis_angle_golden_value():
    """G8, B-050, B-054."""
    e = np.array([1, 2, 2]) / 3
    close(orientations.from_axis_angle(7 * e, 1.2), G8, 1e-10)
    close(
        quat.from_matrix(orientations.from_axis_angle(e, 1.2)),
        [0.1882141578, 0.3764283156, 0.3764283156, 0.8253356149],
        1e-10,
    )
    turn = orientations.to_axis_angle(G8)
    close(turn.axis, e, 1e-9)
    close(turn.angle, 1.2, 1e-9)


def five_rotations(e, angle, alpha, beta):
    """(3.45): bring e to X, turn, and bring it back."""
    Z, Y, X = (lambda a, n=n: orientations.frame_rotation(n, a) for n in 'ZYX')
    return Z(-alpha) @ Y(-beta) @ X(angle) @ Y(beta) @ Z(alpha)


def test_axis_angle_as_five_rotations():
    """B-050: alpha = -atan2(e_y, e_x), beta = atan2(e_z, hypot(e_x, e_y)); R(-e, -t) = R(e, t)."""
    for e, angle in zip(random_axes(11, 50), np.linspace(-4, 4, 50), strict=True):
        alpha, beta = -np.arctan2(e[1], e[0]), np.arctan2(e[2], np.hypot(e[0], e[1]))
        R = orientations.from_axis_angle(e, angle)
        close(R, five_rotations(e, angle, alpha, beta), 1e-14)
        close(R, orientations.from_axis_angle(-e, -angle), 4e-15)
        close(R, expm(angle * so3.hat(e)), 1e-13)


def test_five_rotations_as_printed_fail():
    """Section 3.18.1: arctan(e_z / (e_x^2 + e_y^2)) without the root; arctan for atan2."""
    e = np.array([-2.0, 1, 2]) / 3
    R = orientations.from_axis_angle(e, 1.2)
    alpha, beta = -np.arctan2(e[1], e[0]), np.arctan2(e[2], np.hypot(e[0], e[1]))
    close(R, five_rotations(e, 1.2, alpha, beta))
    no_root = np.arctan(e[2] / (e[0] ** 2 + e[1] ** 2))
    assert np.abs(R - five_rotations(e, 1.2, alpha, no_root)).max() > 0.05
    no_quadrant = -np.arctan(e[1] / e[0])
    assert np.abs(R - five_rotations(e, 1.2, no_quadrant, beta)).max() > 0.5


@pytest.mark.parametrize('angle', [0.0, 1e-300, 1e-9, 1e-3, 1.0, 3.0, pi - 1e-9, pi - 1e-13, pi])
def test_axis_angle_from_zero_to_pi(angle):
    """B-007, B-051: rebuilt to rounding, axis known wherever it is, flags where it is not."""
    e = random_axes(12)
    R = orientations.from_axis_angle(e, np.full(N, angle))
    turn = orientations.to_axis_angle(R)
    close(orientations.from_axis_angle(turn.axis, turn.angle), R, 4e-15)
    close(turn.angle, angle, 4e-15)
    close(np.linalg.norm(turn.axis, axis=1), 1, 4e-15)
    close(turn.axis_free, angle < 1e-12)
    close(turn.sense_free, angle > pi - 1e-12)
    if 1e-4 < angle < pi - 1e-12:
        close(turn.axis, e, 1e-12)
    elif angle > 3:
        close(np.abs(np.sum(turn.axis * e, axis=1)), 1)
    if angle == 0:
        close(turn.axis, np.broadcast_to([0, 0, 1], e.shape), 0)
    if 1e-9 < angle < 3.1:
        close(turn.axis * turn.angle[:, None], Rotation.from_matrix(R).as_rotvec(), 1e-14)


def test_textbook_axis_and_angle_fail_where_these_hold():
    """B-051, (3.49), (3.50): arccos and the division by sin, near 0 and near pi."""
    e = np.array([1, 2, 2]) / 3
    for angle in (1e-9, pi - 1e-9):
        R = orientations.from_axis_angle(e, angle)
        printed = np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))
        assert abs(printed - angle) > 5e-10
        assert abs(orientations.to_axis_angle(R).angle - angle) < 1e-15
    axis = so3.vee(R - R.T) / np.sin(angle)
    assert np.abs(axis - e).max() > 1e-9
    close(orientations.to_axis_angle(R).axis, e, 4e-15)


def test_similarity_of_exponentials():
    """B-052, (3.51)-(3.53): exp(S^-1 A S) = S^-1 exp(A) S, for rotations and rigid motions."""
    rng = np.random.default_rng(13)
    S, x = random_rotations(14), rng.normal(size=(N, 3))
    S_inv = so3.inverse(S)
    close(S_inv @ so3.hat(x) @ S, so3.hat(apply(S_inv, x)))
    close(so3.exp(apply(S_inv, x)), S_inv @ so3.exp(x) @ S)
    C, X = se3.exp(rng.normal(size=(N, 6))), rng.normal(size=(N, 6))
    C_inv = se3.inverse(C)
    moved = se3.vee(C_inv @ se3.hat(X) @ C)
    close(moved, apply(se3.Ad(C_inv), X), 1e-11)
    close(se3.exp(moved), C_inv @ se3.exp(X) @ C, 1e-11)


def test_similarity_as_printed_fails():
    """(3.51): the second brace is the inverse of the first; printed it repeats R(X, t)."""
    X, Y, Y_inv = (so3.exp(x) for x in ([0.5, 0, 0], [0, 0.3, 0], [0, -0.3, 0]))
    R = Y @ X
    A = so3.exp([0.2, 0.4, -0.1])
    close(so3.log(R @ A @ so3.inverse(R)), R @ so3.log(A))
    printed = R @ A @ X @ Y_inv
    assert np.abs(so3.log(printed) - R @ so3.log(A)).max() > 0.1


# --- quaternions -----------------------------------------------------------------------------


def test_quaternions_of_all_other_coordinates():
    """B-054: matrix, axis and angle, Euler angles; G7; q and -q are one rotation."""
    R = random_rotations(15)
    q = quat.from_matrix(R)
    scipy = Rotation.from_matrix(R).as_quat()
    close(np.abs(np.sum(q * scipy, axis=1)), 1)
    turn = orientations.to_axis_angle(R)
    close(quat.exp(turn.angle[:, None] * turn.axis), q, 1e-14)
    close(quat.to_matrix(-q), R, 1e-14)
    angles = euler.from_matrix(euler.RPY, R).angles
    close(quat.from_matrix(euler.to_matrix(euler.RPY, angles)), q, 1e-14)
    close(
        quat.from_matrix(euler.to_matrix(euler.RPY, [0.2, -0.5, 1.1])),
        [0.2111334125, -0.1593047802, 0.5249647263, 0.8089849846],
        1e-10,
    )


def test_second_quaternion_as_printed_fails():
    """(3.54), text: the other quaternion of a rotation is (-q_v, -q); (-q_v, q) is the inverse."""
    q = quat.exp([0.4, 0.8, 0.8])
    close(quat.to_matrix(-q), quat.to_matrix(q), 0)
    printed = np.array([*-q[:3], q[3]])
    close(quat.to_matrix(printed), quat.to_matrix(q).T)
    assert np.abs(quat.to_matrix(printed) - quat.to_matrix(q)).max() > 0.5


def test_multiplication_matrices():
    """B-055, (3.57)-(3.63): i j = k and cyclic, i i = -1; Q_l and Q_r; G9."""
    i, j, k, one = np.eye(4)
    for a, b, c in ((i, j, k), (j, k, i), (k, i, j)):
        close(quat.product(a, b), c, 0)
        close(quat.product(b, a), -c, 0)
        close(quat.product(a, a), -one, 0)
    p, q = quat.from_matrix(random_rotations(16)), quat.from_matrix(random_rotations(17))
    L, R = quat.left_matrix(p), quat.right_matrix(q)
    close(apply(L, q), quat.product(p, q))
    close(apply(R, p), quat.product(p, q))
    for matrix in (L, R):
        close(np.swapaxes(matrix, -1, -2) @ matrix, np.broadcast_to(np.eye(4), matrix.shape))
    p, q = [0.1, 0.2, 0.3, sqrt(0.86)], [-0.4, 0.1, 0.2, sqrt(0.79)]
    expected = [-0.2720627956, 0.1305000733, 0.5421182024, 0.7842572414]
    close(quat.left_matrix(p) @ q, expected, 1e-10)
    close(quat.right_matrix(q) @ p, expected, 1e-10)


def test_rotated_vectors():
    """B-056, (3.64): q x q^-1 = Q_l Q_r^T x = R x."""
    R, x = random_rotations(18), np.random.default_rng(19).normal(size=(N, 3))
    q = quat.from_matrix(R)
    close(quat.rotate(q, x), apply(R, x))
    close(quat.rotate(q, x), Rotation.from_quat(q).apply(x))
    M = quat.left_matrix(q) @ np.swapaxes(quat.right_matrix(q), -1, -2)
    close(M[:, :3, :3], R)
    close(M[:, 3], np.broadcast_to([0, 0, 0, 1], (N, 4)))


def test_printed_entry_of_the_quaternion_matrix_fails():
    """(3.67), entry (1, 2): -2 (c s e_z - s^2 e_x e_y); printed with a plus."""
    e, half = np.array([1, 2, 2]) / 3, 0.6
    c, s = np.cos(half), np.sin(half)
    R = quat.to_matrix(quat.exp_unit_axis(e, 2 * half))
    close(R, G8, 1e-10)
    close(R[0, 1], -2 * (c * s * e[2] - s * s * e[0] * e[1]))
    printed = -2 * (c * s * e[2] + s * s * e[0] * e[1])
    assert abs(R[0, 1] - printed) > 0.1


@AXES
def test_quaternion_rates_against_finite_differences(axes):
    """B-057, (3.68), (3.69): of a motion q(t), and the angular velocity back; any length."""
    X = np.random.default_rng(20).uniform(-1, 1, (3, N, 3))

    def q(t):
        return quat.exp(X[0] + t * X[1] + t * t * X[2])

    R_dot = derivative(lambda t: quat.to_matrix(q(t)), 0.2)
    omega = orientations.angular_velocity(quat.to_matrix(q(0.2)), R_dot, axes)
    q_dot = derivative(q, 0.2)
    close(quat.rate(q(0.2), omega, axes), q_dot, 1e-9)
    close(quat.angular_velocity(q(0.2), q_dot, axes), omega, 1e-9)
    drifted = 3 * q_dot + 0.7 * q(0.2)  # the length changes too
    close(quat.angular_velocity(3 * q(0.2), drifted, axes), omega, 1e-9)


@AXES
def test_constant_angular_velocity_for_one_second(axes):
    """B-057: integrating gives exp(omega) before or behind, and keeps the norm."""
    omega, q0 = np.array([0.7, -2.0, 1.1]), quat.exp([0.3, 0.2, -0.9])
    end = solve_ivp(lambda _, q: quat.rate(q, omega, axes), (0, 1), q0, rtol=1e-12, atol=1e-12)
    q = end.y[:, -1]
    close(np.linalg.norm(end.y, axis=0), 1, 1e-10)
    turn = quat.exp(omega)
    close(q, quat.product(q0, turn) if axes == 'body' else quat.product(turn, q0), 1e-10)


def test_slerp_against_scipy():
    """B-058: on a random pair, in and out of stacks; constant rate; the middle is half way."""
    P, Q = random_rotations(21, 50), random_rotations(22, 50)
    t = np.linspace(0, 1, 11)
    p, q = quat.from_matrix(P), quat.from_matrix(Q)
    between = quat.slerp(p[:, None], q[:, None], t)
    assert between.shape == (50, 11, 4)
    for k in range(50):
        scipy = Slerp([0, 1], Rotation.from_matrix([P[k], Q[k]]))(t).as_matrix()
        close(quat.to_matrix(between[k]), scipy, 1e-13)
    total = so3.distance(P, Q)
    steps = so3.distance(*(quat.to_matrix(between[:, x]) for x in (slice(1, None), slice(-1))))
    close(steps, np.broadcast_to(total[:, None] / 10, steps.shape), 1e-13)
    close(so3.distance(P, quat.to_matrix(quat.slerp(p, q, 0.5))), total / 2, 1e-13)
    close(quat.slerp(p, q, 0), p, 4e-15)
    close(np.linalg.norm(quat.slerp(5 * p, q, 0.3), axis=1), 1, 4e-15)


def test_slerp_takes_the_short_way_whatever_the_signs():
    """B-058: q and -q give the same, with the sign of p; small angles and none at all."""
    p, q = quat.exp([0, 0, 0.1]), quat.exp([0, 0, 0.5])
    close(quat.slerp(p, -q, 0.5), quat.exp([0, 0, 0.3]))
    close(quat.slerp(-p, q, 0.5), -quat.exp([0, 0, 0.3]))
    close(quat.slerp(p, p, 0.3), p, 1e-15)
    close(quat.slerp(p, -p, 0.3), p, 1e-15)
    close(quat.slerp([0, 0, 0, 1], quat.exp([1e-9, 0, 0]), 0.5), quat.exp([5e-10, 0, 0]), 1e-24)
    half = quat.slerp([0, 0, 0, 1], [1, 0, 0, 0], 0.5)
    close(np.abs(half), [sqrt(0.5), 0, 0, sqrt(0.5)])


def test_signs_along_a_sequence():
    """B-058: no jump where the input flips, in stacks too; rotations stay."""
    t = np.linspace(0, 30, 400)
    smooth = quat.exp(t[:, None] * np.array([0.1, 0.2, 0.9]))
    signs = np.where(np.random.default_rng(23).uniform(size=400) < 0.5, -1.0, 1.0)
    signs[0] = 1
    jumping = signs[:, None] * smooth
    assert np.abs(np.diff(jumping, axis=0)).max() > 1
    close(quat.continuous(jumping), smooth, 0)
    steep = np.array([[0, 0, 0, 1], [0, 0, 0.999, 0.04]])  # nearly half a turn, and nearer this way
    close(quat.continuous(steep), steep, 0)
    close(quat.continuous(steep * [[1], [-1]]), steep, 0)
    canonical = quat.from_matrix(quat.to_matrix(smooth))  # w >= 0 flips it every turn
    assert np.abs(np.diff(canonical, axis=0)).max() > 1
    close(quat.continuous(canonical), smooth, 1e-14)
    close(quat.continuous(np.stack([jumping, -jumping]))[1], -smooth, 0)


# --- tracing, bad input ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (lambda: orientations.from_axis_angle([0, 0, 0], 1), ArgumentError, r'axis is \(0, 0, 0\)'),
        (
            lambda: orientations.nearest_rotation(np.eye(4)),
            ArgumentError,
            r'matrix .* got \(4, 4\)',
        ),
        (
            lambda: orientations.angular_velocity(np.eye(3), np.eye(3), 'x'),
            UnknownNameError,
            "got 'x'",
        ),
        (lambda: orientations.rotation_rate(np.eye(3), [1, 2]), ArgumentError, r'x .* got \(2,\)'),
        (lambda: quat.rate([0, 0, 0, 1], [1, 2, 3], 'spatial'), UnknownNameError, "got 'spatial'"),
        (lambda: quat.rotate([0, 0, 0, 1], [1, 2]), ArgumentError, r'rotate: x .* got \(2,\)'),
        (lambda: quat.continuous(np.ones(4)), ArgumentError, r'q .*n, 4\), got \(4,\)'),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    """Bad input: what is at fault, its value, the remedy."""
    with pytest.raises(error, match=message):
        call()
