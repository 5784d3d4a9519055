# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rates of orientation coordinates: 24 Euler sets, quaternions, rotation vectors.

Spec IDs: B-125 with B-047, B-048, B-057 (part), erratum of (5.24) and (3.41).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.kinematics.jacobians import (
    ORIENTATIONS,
    analytical_jacobian,
    euler_axes,
    orientation_rate_matrix,
)
from screw_dynamics_ros.core.kinematics.poe import link_pose
from screw_dynamics_ros.core.lie import euler, quaternions, so3
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.models import random_configuration, random_description
from support.poe_models import derivatives
from support.robots import urdf_path

EULER = [*euler.MOVING, *euler.FIXED]


def coordinates(C: np.ndarray, orientation: str, near: np.ndarray | None) -> np.ndarray:
    """Return (phi, r) by scipy, on the branch of `near`."""
    rotation = Rotation.from_matrix(C[:3, :3])
    if orientation == 'quaternion':
        phi = rotation.as_quat()
        reference = quaternions.from_matrix(C[:3, :3]) if near is None else near[:4]
        phi = phi * np.sign(phi @ reference)
    elif orientation == 'rotation_vector':
        phi = rotation.as_rotvec()
    else:
        phi = rotation.as_euler(orientation)
        if near is not None:  # no jumps by full turns
            phi = near[:3] + np.remainder(phi - near[:3] + np.pi, 2 * np.pi) - np.pi
    return np.concatenate([phi, C[:3, 3]])


@pytest.mark.parametrize('orientation', ORIENTATIONS)
def test_against_differences(orientation):
    """B-125, B-048: J_a e_j is the derivative of (phi, r) by q_j, for a tree with a mimic joint."""
    description = random_description(5, 7, mimic=1)
    tree = build_tree(description)
    link = description.links[-1].name
    q = np.random.default_rng(5).uniform(-1, 1, tree.nq)
    J = analytical_jacobian(tree, q, link, orientation)
    here = coordinates(link_pose(tree, q, link), orientation, None)
    assert J.shape == (7 if orientation == 'quaternion' else 6, tree.nv)
    for j, e in enumerate(np.eye(tree.nv)):
        expected = derivatives(
            lambda t, e=e: coordinates(
                link_pose(tree, q + 0.1 * float(t) * e, link), orientation, here
            ).astype(np.longdouble),
            1,
        )[1]
        np.testing.assert_allclose(J[:, j], 10 * expected.astype(float), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('sequence', EULER)
def test_rate_matrices_without_angles(sequence):
    """B-048: the inverse from the axes of rotation equals that from the angles, for all 24 sets."""
    for R in Rotation.from_quat(np.random.default_rng(1).normal(size=(20, 4))).as_matrix():
        angles = euler.from_matrix(sequence, R).angles
        E = euler.rate_matrix(sequence, angles)
        np.testing.assert_allclose(
            orientation_rate_matrix(R, sequence) @ E, np.eye(3), rtol=0, atol=1e-9
        )
        *_, determinant = euler_axes(R, sequence)
        np.testing.assert_allclose(abs(determinant), abs(np.linalg.det(E)), rtol=0, atol=1e-12)


def test_printed_inverse_of_the_zxz_rates_fails():
    """Erratum of (3.41): row 2 is (cos a, sin a, 0), printed (cos a, sin a / sin b, 0)."""
    a, b, c = 0.3, 0.7, -0.4
    R = euler.to_matrix('ZXZ', [a, b, c])
    found = orientation_rate_matrix(R, 'ZXZ')
    np.testing.assert_allclose(found[1], [np.cos(a), np.sin(a), 0], atol=1e-14)
    assert abs(found[1, 1] - np.sin(a) / np.sin(b)) > 0.1


@pytest.mark.parametrize('sequence', EULER)
def test_gimbal_lock_is_refused(sequence):
    """B-047, B-007: the error names link, set and remedy; near it all is finite."""
    middle = 0.0 if sequence[0].upper() == sequence[2].upper() else np.pi / 2
    R = euler.to_matrix(sequence, [0.3, middle, 0.2])
    with pytest.raises(ArgumentError, match=f'{sequence} are singular here .*use another set'):
        orientation_rate_matrix(R, sequence)
    R = euler.to_matrix(sequence, [0.3, middle + 1e-5, 0.2])
    assert np.isfinite(orientation_rate_matrix(R, sequence)).all()


def test_lock_of_a_robot_names_the_link():
    tree = build_tree(read_urdf(urdf_path('ur5_robot')))
    with pytest.raises(ArgumentError, match="link 'base_link': Euler angles ZXZ are singular"):
        analytical_jacobian(tree, np.zeros(6), 'base_link', 'ZXZ')
    assert np.isfinite(analytical_jacobian(tree, np.zeros(6), 'base_link', 'quaternion')).all()


def test_other_coordinates():
    """B-057: p' = (omega, 0) p / 2 keeps the norm; the rotation vector has dexp^-1."""
    R = so3.exp([0.4, -1.0, 2.0])
    p = quaternions.from_matrix(R)
    E = orientation_rate_matrix(R, 'quaternion')
    np.testing.assert_allclose(p @ E, 0.0, atol=1e-15)
    omega = np.array([0.3, 0.2, -0.5])
    np.testing.assert_allclose(E @ omega, quaternions.rate(p, omega), atol=1e-15)
    np.testing.assert_allclose(
        orientation_rate_matrix(R, 'rotation_vector'), so3.dexp_inv([0.4, -1.0, 2.0]), atol=1e-13
    )


def test_roll_pitch_yaw_is_the_default():
    tree = build_tree(random_description(0, 4))
    q = np.random.default_rng(0).uniform(-1, 1, 4)
    np.testing.assert_array_equal(
        analytical_jacobian(tree, q, 'link4'), analytical_jacobian(tree, q, 'link4', 'xyz')
    )


@pytest.mark.parametrize('sequence', ['xyz', 'ZXZ', 'YZX', 'zyz'])
@pytest.mark.parametrize('backend', ['python', 'native'])
def test_euler_rates_compile(sequence, backend):
    """One text for the reference and the compiled function."""
    if backend == 'native':
        pytest.importorskip('llvmlite')
    tree = build_tree(random_description(2, 5))
    kernel = make_kernel(
        KernelSpecification(
            f'analytical {sequence}',
            (('q', tree.nq),),
            lambda q: (analytical_jacobian(tree, q, 'link5', sequence),),
        ),
        backend,
    )
    q = np.random.default_rng(2).uniform(-1, 1, tree.nq)
    np.testing.assert_allclose(
        kernel.single([q])[0], analytical_jacobian(tree, q, 'link5', sequence), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize('backend', ['native', 'python', 'reference'])
def test_robot(backend):
    """Any coordinates, those that branch too; one sample, stacks, and fused if they do not."""
    if backend == 'native':
        pytest.importorskip('llvmlite')
    robot, tree = (make(random_description(2, 5, mimic=1)) for make in (Robot, build_tree))
    robot = Robot(robot.description, backend=backend)
    q = np.random.default_rng(2).uniform(-1, 1, (3, tree.nq))
    for orientation in ('xyz', 'ZXZ', 'quaternion', 'rotation_vector'):
        expected = [analytical_jacobian(tree, x, 'link5', orientation) for x in q]
        for _ in range(2):
            J = robot.analytical_jacobian(q[0], 'link5', orientation)
            np.testing.assert_allclose(J, expected[0], atol=1e-12)
        np.testing.assert_allclose(
            robot.analytical_jacobian(q, 'link5', orientation), expected, atol=1e-12
        )
    for _ in range(2):  # the second time in compiled code, which looks the options up
        np.testing.assert_array_equal(
            robot.analytical_jacobian(q[0], 'link5'),
            robot.analytical_jacobian(q[0], 'link5', 'xyz'),
        )
    fused = robot.fuse(('analytical_jacobian', 'link5', 'zyz'))(q[0])[0]
    np.testing.assert_allclose(fused, robot.analytical_jacobian(q[0], 'link5', 'zyz'), atol=1e-12)
    if backend != 'reference':
        with pytest.raises(ArgumentError, match=r"'quaternion'\) cannot be compiled"):
            robot.fuse(('analytical_jacobian', 'link5', 'quaternion'))
    with pytest.raises(UnknownNameError, match="no orientation coordinates named 'body'"):
        robot.analytical_jacobian(q[0], 'link5', 'body')


def test_free_base():
    description = random_description(1, 4)
    robot = Robot(description, floating_base=True, backend='reference')
    tree = build_tree(description, floating_base=True)
    q = random_configuration(robot, np.random.default_rng(1))
    J = analytical_jacobian(tree, q, 'link4', 'XYZ')
    R = robot.link_pose(q, 'link4')[:3, :3]
    np.testing.assert_allclose(
        orientation_rate_matrix(R, 'XYZ') @ robot.jacobian(q, 'link4')[:3], J[:3], atol=1e-13
    )


def test_what_is_refused():
    tree = build_tree(random_description(0, 2))
    with pytest.raises(UnknownNameError, match="no orientation coordinates named 'XXY'"):
        analytical_jacobian(tree, np.ones(2), 'link2', 'XXY')
    with pytest.raises(UnknownNameError, match="no link named 'x'"):
        analytical_jacobian(tree, np.ones(2), 'x')
