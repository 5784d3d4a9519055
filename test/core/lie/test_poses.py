# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses and twists (B-010, B-029, B-034, B-059 to B-065, B-068, B-074, B-075)."""

from math import pi

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import euler, points, poses, screws, se3, so3
from screw_dynamics_ros.ros.messages.conversions import swap_linear_angular
from support.lie import apply, close, derivative
from support.robots import urdf_path

N = 1000
AXES = pytest.mark.parametrize('axes', ['reference', 'body'])
MOVING = pytest.mark.parametrize('sequence', euler.MOVING)


def random_poses(seed, count=N):
    """Poses with rotations that the code under test did not make."""
    C = np.zeros((count, 4, 4))
    rng = np.random.default_rng(seed)
    C[:, :3, :3] = Rotation.from_quat(rng.normal(size=(count, 4))).as_matrix()
    C[:, :3, 3] = rng.normal(size=(count, 3))
    C[:, 3, 3] = 1
    return C


# --- pose, composition, change of frame ------------------------------------------------------


def test_pose_of_a_point():
    """B-059: R p + r; a bad last row is rejected, and so is what does not rotate."""
    C, p = random_poses(1), np.random.default_rng(2).normal(size=(N, 3))
    R, r = C[:, :3, :3], C[:, :3, 3]
    close(points.transform_point(se3.pose(R, r), p), apply(R, p) + r)
    last_row = C[0].copy()
    last_row[3] = [0, 0, 0.1, 1]
    scaled = C[0] * [2, 2, 2, 1]
    for bad in (last_row, scaled):
        for refuse in (
            lambda x: poses.to_displacement('xyz', x),
            poses.to_second_kind,
            se3.log,
            lambda x: poses.residual(x, C[0]),
            lambda x: poses.residual(C[0], x),
        ):
            with pytest.raises(ArgumentError, match='not a r'):
                refuse(bad)


def test_inverse_and_composition():
    """B-060: C C^-1 = I; the chain of frames; (4.3) with other subscripts of R and p fails."""
    C = random_poses(3)
    close(se3.inverse(C), np.linalg.inv(C))
    close(se3.compose(C, se3.inverse(C)), np.broadcast_to(np.eye(4), C.shape))
    R, p = C[:, :3, :3], C[:, :3, 3]
    R_T = np.swapaxes(R, -1, -2)
    close(se3.inverse(C)[:, :3, 3], -apply(R_T, p))
    for wrong in (-apply(R, p), -p):
        assert np.abs(se3.inverse(C)[:, :3, 3] - wrong).max() > 1


@AXES
def test_displacement_and_change_of_frame(axes):
    """B-034: the same matrix moves the body or the frame; the inverse undoes either."""
    C, D = random_poses(5), random_poses(6)
    moved = poses.displace(C, D, axes)
    close(poses.displace(moved, se3.inverse(D), axes), C)
    seen = poses.change_frame(C, D, axes)
    close(poses.change_frame(seen, se3.inverse(D), axes), C)
    p = np.random.default_rng(7).normal(size=(N, 3))
    T = points.transform_point
    if axes == 'reference':
        close(T(moved, p), T(D, T(C, p)))  # the body goes along with D
        close(T(D, T(seen, p)), T(C, p))  # the body stays, its coordinates change
        close(seen, poses.displace(C, se3.inverse(D)))
    else:
        close(T(seen, p), T(C, T(D, p)))  # p is given in the new body frame
        close(moved, poses.displace(C, C @ D @ se3.inverse(C)))
        close(seen, moved)


def test_translation_and_rotation_commute_along_one_axis_only():
    """B-068: Tr(z) R(z) = R(z) Tr(z), Tr(x) R(z) != R(z) Tr(x)."""
    R = se3.pose(so3.exp([0, 0, 0.5]), np.zeros(3))
    along, across = (se3.pose(np.eye(3), r) for r in ([0, 0, 2], [2, 0, 0]))
    close(along @ R, R @ along, 1e-15)
    assert np.abs(across @ R - R @ across).max() > 0.5


def test_sums_of_poses_are_refused():
    """B-029: the sum or the mean of two poses is not a rigid motion, and raises an error."""
    C = random_poses(8)
    for mean in (C[0] + C[1], 0.5 * (C[0] + C[1])):
        with pytest.raises(ArgumentError, match='not a r'):
            se3.log(mean)


# --- the implicit equation -------------------------------------------------------------------


def test_residual_of_a_chain():
    """B-010: zero at the solution q = h(X) of the planar 2R arm, and not next to it."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    target = robot.link_pose([0.3, 0.5], 'tip')
    x, y = target[:2, 3]
    both = []
    for elbow in (1, -1):
        q2 = elbow * np.arccos((x * x + y * y - 1.25) / 1.0)
        both.append([np.arctan2(y, x) - np.arctan2(0.5 * np.sin(q2), 1 + 0.5 * np.cos(q2)), q2])
    close(both[0], [0.3, 0.5])
    close(poses.residual(robot.link_pose(both[0], 'tip'), target), np.zeros(6))
    other = robot.link_pose(both[1], 'tip')  # in the same place with another orientation
    close(other[:3, 3], target[:3, 3])
    angle = np.sum(both[0]) - np.sum(both[1])
    close(poses.residual(other, target)[:3], [0, 0, angle])
    for step in ([1e-3, 0], [0, 1e-3]):
        perturbed = robot.link_pose(both[0] + np.array(step), 'tip')
        assert 5e-4 < np.linalg.norm(poses.residual(perturbed, target)) < 5e-3


def test_residual_is_the_body_twist_to_the_target():
    """B-010: following it for unit time arrives; against scipy's expm."""
    C, target = random_poses(9), random_poses(10)
    X = poses.residual(C, target)
    for i in range(50):
        close(C[i] @ expm(se3.hat(X[i])), target[i], 1e-12)


# --- minimal coordinates ---------------------------------------------------------------------


@pytest.mark.parametrize('sequence', [*euler.MOVING, 'xyz'])
def test_finite_displacement(sequence):
    """B-061: round trip for all sets, position in the last three; gimbal lock is flagged."""
    C = random_poses(11)
    t = poses.to_displacement(sequence, C)
    close(poses.from_displacement(sequence, t.coordinates), C)
    close(t.coordinates[:, 3:], C[:, :3, 3], 0)
    assert not t.singular.any()
    b = 0.0 if sequence[0] == sequence[2] else pi / 2
    locked = poses.from_displacement(sequence, [0.3, b, 0.2, 1, 2, 3])
    t = poses.to_displacement(sequence, locked)
    assert t.singular
    close(poses.from_displacement(sequence, t.coordinates), locked)
    kept = poses.to_displacement(sequence, locked, previous=[0.3, b, 0.2, 9, 9, 9])
    close(kept.coordinates, [0.3, b, 0.2, 1, 2, 3])


@MOVING
def test_finite_displacements_do_not_add(sequence):
    """B-061: the sum of the six numbers is not the composition."""
    x, y = np.array([0.3, 0.5, 0.2, 1, 0, 0]), np.array([0.4, 0.6, -0.9, 0, 2, 0])
    composed = se3.compose(*(poses.from_displacement(sequence, t) for t in (x, y)))
    assert np.abs(poses.from_displacement(sequence, x + y) - composed).max() > 0.1


def test_canonical_coordinates():
    """B-075, (4.23), (4.24): both kinds come back; the second is six elementary exponentials."""
    C = random_poses(12)
    x = poses.to_second_kind(C)
    close(poses.from_second_kind(x.coordinates), C)
    close(se3.exp(se3.log(C)), C)
    product = np.broadcast_to(np.eye(4), C.shape)
    for k in range(6):
        product = product @ se3.exp(x.coordinates[:, k : k + 1] * np.eye(6)[k])
    close(product, C)
    close(x.coordinates[:, :3], Rotation.from_matrix(C[:, :3, :3]).as_euler('XYZ'))
    close(x.coordinates[:, 3:], apply(np.swapaxes(C[:, :3, :3], -1, -2), C[:, :3, 3]))
    assert poses.to_second_kind(poses.from_second_kind([0.1, pi / 2, 0.2, 1, 2, 3])).singular


# --- small differences -----------------------------------------------------------------------


def test_infinitesimal_displacement():
    """B-062: off by O(eps^2); products are sums but for that; the twist comes back."""
    t1, t2 = np.random.default_rng(13).uniform(-1, 1, (2, N, 6))
    D = poses.infinitesimal_displacement
    errors = [np.abs(D(h * t1) - se3.exp(h * t1)).max() for h in (1e-2, 5e-3)]
    assert 3.9 < errors[0] / errors[1] < 4.1
    errors = [np.abs(D(h * t1) @ D(h * t2) - D(h * (t1 + t2))).max() for h in (1e-2, 5e-3)]
    assert 3.9 < errors[0] / errors[1] < 4.1
    close(poses.infinitesimal_twist(D(t1)), t1, 4e-15)
    errors = [
        np.abs(poses.infinitesimal_twist(se3.exp(h * t1)) - h * t1).max() for h in (1e-2, 5e-3)
    ]
    assert 3.9 < errors[0] / errors[1] < 4.1


# --- twists ----------------------------------------------------------------------------------


def motion(t):
    """N rigid motions."""
    X = np.random.default_rng(14).uniform(-1, 1, (3, N, 6))
    return se3.exp(X[0] + t * X[1]) @ se3.exp(np.sin(t) * X[2])


def test_rate_of_a_pose():
    """B-063, (4.7)-(4.11): Cdot C^-1 = [[omega~, v0], [0, 0]], v0 = rdot - omega × r; and back."""
    C, C_dot = motion(0.4), derivative(motion, 0.4)
    V = poses.twist(C, C_dot, 'spatial')
    close(se3.hat(V), C_dot @ np.linalg.inv(C), 1e-9)
    close(V[:, 3:], C_dot[:, :3, 3] - np.cross(V[:, :3], C[:, :3, 3]), 1e-9)
    p = np.array([0.3, -0.2, 0.7, 1])  # of the body
    now = (C @ p)[:, :3]
    close((C_dot @ p)[:, :3], np.cross(V[:, :3], now) + V[:, 3:], 1e-9)
    for name in screws.REPRESENTATIONS:
        close(poses.rate(C, poses.twist(C, C_dot, name), name), C_dot, 1e-9)


def test_three_kinds_of_twist():
    """B-064, (4.12), (4.14): screw, pose and body-fixed twist, and their six conversions."""
    C, C_dot = motion(0.4), derivative(motion, 0.4)
    R, r = C[:, :3, :3], C[:, :3, 3]
    R_T, r_dot = np.swapaxes(R, -1, -2), C_dot[:, :3, 3]
    omega = so3.vee(C_dot[:, :3, :3] @ R_T)
    kinds = {
        'spatial': [omega, r_dot + np.cross(r, omega)],
        'hybrid': [omega, r_dot],
        'body': [apply(R_T, omega), apply(R_T, r_dot)],
    }
    kinds = {name: np.concatenate(halves, axis=1) for name, halves in kinds.items()}
    for name, V in kinds.items():
        close(poses.twist(C, C_dot, name), V, 1e-9)
        for other, W in kinds.items():
            close(screws.convert_twist(V, C, name, other), W)
    close(apply(se3.Ad(C), kinds['body']), kinds['spatial'])
    close(apply(se3.Ad_R(R), kinds['body']), kinds['hybrid'])
    close(apply(se3.Ad_r(r), kinds['hybrid']), kinds['spatial'])
    assert (
        np.abs(
            screws.screw_axis(kinds['hybrid']).point - screws.screw_axis(kinds['spatial']).point
        ).max()
        > 0.1
    )


def test_planar_arm_golden_value():
    """G15, B-064, B-084: pose and screw twists, Jacobian columns."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    q, v = [0.3, 0.5], [0.2, -0.1]
    close(robot.link_pose(q, 'tip')[:3, 3], [1.3036898438, 0.6541982521, 0], 1e-10)
    pose, screw = (robot.velocity(q, v, 'tip', name) for name in ('hybrid', 'spatial'))
    close(pose, [0, 0, 0.1, -0.0949718459, 0.2259026333, 0], 1e-10)
    close(screw, [0, 0, 0.1, -0.0295520207, 0.0955336489, 0], 1e-10)
    close(screws.convert_twist(pose, robot.link_pose(q, 'tip'), 'hybrid', 'spatial'), screw)
    J = robot.jacobian(q, 'tip', 'spatial')
    close(J.T, [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0.2955202067, -0.9553364891, 0]], 1e-10)
    J = robot.jacobian(q, 'tip', 'hybrid')
    close(J[3:].T, [[-0.6541982521, 1.3036898438, 0], [-0.3586780454, 0.3483533547, 0]], 1e-10)


def test_order_of_components():
    """B-065, (4.13), (4.21), (5.13): linear part first, as in geometry_msgs/Twist, and back."""
    C, V = random_poses(15), np.random.default_rng(16).normal(size=(N, 6))
    delta = np.block([[np.zeros((3, 3)), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
    swapped = screws.swap(V)
    close(swapped, np.column_stack([V[:, 3:], V[:, :3]]), 0)
    close(screws.swap(swapped), V, 0)
    close(apply(delta @ se3.Ad(C) @ delta, swapped), screws.swap(screws.transform_twist(C, V)))
    for twist in V[:5]:  # the one function at the border to ROS
        close(swap_linear_angular(swap_linear_angular(twist)), twist, 0)
        close(swap_linear_angular(twist), screws.swap(twist), 0)


def test_inverse_of_the_change_of_axes_as_printed_fails():
    """(4.17): P^-1 = diag(R^T, R^T); printed with R (B-066)."""
    R = random_poses(17)[0, :3, :3]
    close(se3.Ad_R(R.T) @ se3.Ad_R(R), np.eye(6))
    close(np.linalg.inv(se3.Ad_R(R)), se3.Ad_R(R).T)
    assert np.abs(se3.Ad_R(R) @ se3.Ad_R(R) - np.eye(6)).max() > 0.1


# --- tracing, stacks, bad input --------------------------------------------------------------


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (lambda: poses.displace(np.eye(4), np.eye(4), 'world'), UnknownNameError, "got 'world'"),
        (lambda: poses.change_frame(np.eye(3), np.eye(4)), ArgumentError, r'C2 .*|C1 .*\(3, 3\)'),
        (lambda: poses.twist(np.eye(4), np.eye(4), 'local'), UnknownNameError, 'choose from body'),
        (lambda: poses.from_displacement('ABC', np.zeros(6)), UnknownNameError, "set 'ABC'"),
        (
            lambda: poses.from_displacement('xyz', np.zeros(5)),
            ArgumentError,
            r'coordinates .*\(5,\)',
        ),
        (
            lambda: poses.to_displacement('xyz', np.eye(4), [0, 0]),
            ArgumentError,
            r'previous .*\(2,\)',
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    """Bad input: what is at fault, its value, the remedy."""
    with pytest.raises(error, match=message):
        call()
