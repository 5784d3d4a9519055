# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arguments of all functions of the Lie layer: messages name them; limits of what is accepted."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from math import pi

import numpy as np
import pytest
from scipy.linalg import expm

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import (
    _arrays,
    euler,
    orientations,
    points,
    poses,
    quaternions,
    screw_systems,
    screws,
    se3,
    so3,
    so3xr3,
)

MODULES = {
    module.__name__.rpartition('.')[2]: module
    for module in (
        euler, orientations, points, poses, quaternions, screw_systems, screws, se3, so3, so3xr3
    )
}  # fmt: skip

#: Functions and shapes of their arguments: '0' a number, '4' a quaternion, '44' a pose.
CALLS = """
so3.hat 3; so3.vee 33; so3.ad 3; so3.Ad 33; so3.compose 33 33; so3.inverse 33; so3.exp 3;
so3.log 33; so3.dexp 3; so3.dexp_inv 3; so3.distance 33 33; so3.exp_unit_axis 3 0;
se3.hat 6; se3.vee 44; se3.ad 6; se3.Ad 44; se3.Ad_R 33; se3.Ad_r 3; se3.pose 33 3;
se3.compose 44 44; se3.inverse 44; se3.exp 6; se3.log 44; se3.dexp 6; se3.dexp_inv 6;
se3.unit_screw_terms 6; se3.exp_unit_screw 6 0; so3xr3.compose 44 44; so3xr3.inverse 44;
so3xr3.exp 6; so3xr3.log 44; so3xr3.dexp 6; so3xr3.dexp_inv 6; so3xr3.Ad 44; so3xr3.ad 6;
quaternions.product 4 4; quaternions.conjugate 4; quaternions.to_matrix 4;
quaternions.from_matrix 33; quaternions.exp 3; quaternions.log 4; quaternions.exp_unit_axis 3 0;
quaternions.left_matrix 4; quaternions.right_matrix 4; quaternions.rotate 4 3;
quaternions.rate 4 3; quaternions.angular_velocity 4 4; quaternions.slerp 4 4 0;
quaternions.continuous 34; screws.unit_screw 3 3 0; screws.screw_axis 6; screws.wrench_axis 6;
screws.chasles 44; screws.swap 6; screws.reciprocal_product 6 6; screws.power 6 6;
screws.motor_product 6 6; screws.dual_motor_product 6 6; screws.transform_twist 44 6;
screws.inverse_transform_twist 44 6; screws.transform_wrench 44 6;
screws.inverse_transform_wrench 44 6; screws.infinitesimal_transform 6;
screws.spatial_transpose 66; screws.general_twist 6 44 33; screws.relative_twist 6 6 44;
screws.conversion_matrix 44 body hybrid; screws.convert_twist 6 44 body spatial;
screws.convert_jacobian 62 44 body mixed; screws.convert_wrench 6 44 body spatial;
euler.to_matrix xyz 3; euler.from_matrix xyz 33 3; euler.second_solution xyz 3;
euler.normalize xyz 3; euler.rate_matrix xyz 3; euler.inverse_rate_matrix xyz 3;
euler.angular_velocity xyz 3 3; euler.rates xyz 3 3; poses.change_frame 44 44;
poses.displace 44 44; poses.residual 44 44; poses.to_displacement xyz 44 6;
poses.from_displacement xyz 6; poses.to_second_kind 44; poses.from_second_kind 6;
poses.infinitesimal_displacement 6; poses.infinitesimal_twist 44; poses.twist 44 44;
poses.rate 44 6; points.transform_point 44 3; points.transform_vector 44 3;
points.distance 3 3; points.angle 3 3; points.plane_distance 3 3 3;
orientations.from_axis_angle 3 0; orientations.to_axis_angle 33; orientations.nearest_rotation 33;
orientations.angular_velocity 33 33; orientations.rotation_rate 33 3;
orientations.infinitesimal_rotation 3; orientations.gripper_frame 3 3; screw_systems.rank 62;
screw_systems.reciprocal_screws 62; screw_systems.reciprocal_wrenches 62;
screw_systems.reciprocal_twists 62; screw_systems.same_system 62 62
"""

VALUES = {
    '0': np.float64(0.5),
    '3': np.array([0.6, 0.0, 0.8]),
    '4': np.array([0.0, 0.6, 0.0, 0.8]),
    '6': np.array([0.0, 0.6, 0.8, 0.1, 0.2, 0.3]),
    **{shape: np.eye(*map(int, shape)) for shape in ('33', '34', '44', '62', '66')},
}


@pytest.mark.parametrize('call', [' '.join(each.split()) for each in CALLS.split(';')])
def test_messages_name_a_function_and_its_argument(call):
    """Of each array of each function: another shape, and what holds no numbers."""
    name, *shapes = call.split()
    module, _, function = name.partition('.')
    good = [VALUES.get(shape, shape) for shape in shapes]
    for k, value in enumerate(good):
        if isinstance(value, str):
            continue
        for bad in (np.full(value.shape, 'a'), np.zeros((7,) * value.ndim)):
            if bad.shape == () and bad.dtype == float:
                continue  # a number
            with pytest.raises(ArgumentError) as refused:
                getattr(MODULES[module], function)(*good[:k], bad, *good[k + 1 :])
            said = re.match(r'(\w+)\.(\w+): (\w+) must (have shape|hold real)', str(refused.value))
            assert said, str(refused.value)
            named = getattr(MODULES[said[1]], said[2])
            assert said[3] in inspect.signature(named).parameters


def test_no_rectangular_arrays():
    with pytest.raises(ArgumentError, match=r'^f: x must be an array \(\.\.\., 3, n\): .*inhomog'):
        _arrays.as_stack('f', 'x', [[1.0], [1.0, 2.0]], 3, 'n')


def test_stacks():
    """Trailing axes of the shape, letters for any length; float64, or objects as they are."""
    for value, shape in (
        (np.zeros((2, 3, 6)), (6,)), (np.zeros((6, 5)), (6, 'n')), (np.zeros((6, 0)), (6, 'n')),
        (1.0, ()), (np.zeros((2, 2)), ()),
    ):  # fmt: skip
        assert _arrays.as_stack('f', 'x', value, *shape) is value or np.ndim(value) == 0
    assert _arrays.as_stack('f', 'x', [1, True, 2]).dtype == np.float64
    assert _arrays.as_stack('f', 'x', np.ones(3, np.float32), 3).dtype == np.float64
    objects = np.array([Fraction(1, 2), 1.0])
    assert _arrays.as_stack('f', 'x', objects, 2) is objects
    assert _arrays.as_float_stack('f', 'x', objects, 2).tolist() == [0.5, 1.0]
    assert _arrays.as_recordable_stack('f', 'x', objects, 2).dtype == np.float64
    for value, shape, text in (
        (np.zeros(5), (6, 'n'), r'\(\.\.\., 6, n\), got \(5,\)'),
        (np.zeros((5, 6)), (6, 'n'), r'\(\.\.\., 6, n\), got \(5, 6\)'),
        (np.zeros(()), (3,), r'\(\.\.\., 3\), got \(\)'),
    ):
        with pytest.raises(ArgumentError, match=f'^f: x must have shape {text}$'):
            _arrays.as_stack('f', 'x', value, *shape)
    with pytest.raises(ArgumentError, match=r'^f: x must hold numbers .*\(.*\); .*se3\.exp_unit'):
        _arrays.as_float_stack('f', 'x', np.array([object()]), 1)


def test_tolerance_of_rotations_and_poses():
    """1e-6 in R^T R and the last row, no reflection; the message has the place in a stack."""
    sheared, reflected = np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0])
    for entry, place in ((1.02e-6, (0, 1)), (1.02e-6, (3, 1)), (1.02e-6, (3, 3))):
        C = np.eye(4)
        C[place] += entry
        with pytest.raises(ArgumentError, match=r'^f: not a r'):
            _arrays.check_pose('f', C)
        with pytest.raises(ArgumentError, match=r'^f: not a r.* at index \(1, 0\): '):
            _arrays.check_pose('f', np.stack([[np.eye(4)], [C], [C]]))
        C[place] -= 0.04e-6
        _arrays.check_pose('f', C)
    sheared[0, 1] = 0.5
    with pytest.raises(ArgumentError, match=r'not a rotation matrix: \|R\^T R - I\| = 0\.5, det'):
        _arrays.check_rotation('f', sheared[:3, :3])
    with pytest.raises(ArgumentError, match=r'\| = 0, det R = -1; orthonormalize it'):
        _arrays.check_rotation('f', reflected[:3, :3])
    unknown = np.full((2, 4, 4), np.nan)
    _arrays.check_pose('f', unknown)
    unknown[1] = sheared
    with pytest.raises(ArgumentError, match=r'at index \(1,\)'):
        _arrays.check_pose('f', unknown)


def test_one_finite_pose():
    np.testing.assert_array_equal(_arrays.finite_pose('target', np.eye(4).tolist()), np.eye(4))
    infinite, scaled = np.eye(4), np.diag([2.0, 2.0, 2.0, 1.0])
    infinite[0, 3] = np.inf
    for bad, text in (
        (infinite, r'must be a finite \(4, 4\) matrix, got \[\[1\.0, 0\.0, 0\.0, inf\]'),
        (np.stack([np.eye(4)]), r'must be a finite \(4, 4\) matrix'),
        (np.eye(3), r'must be a finite \(4, 4\) matrix'),
        ('abc', 'must hold real numbers'),
    ):
        with pytest.raises(ArgumentError, match=f'^target {text}'):
            _arrays.finite_pose('target', bad)
    with pytest.raises(ArgumentError, match=r'^target: not a rotation matrix'):
        _arrays.finite_pose('target', scaled)


def test_names_of_axes():
    assert _arrays.in_body_axes('f', 'body') is True
    assert _arrays.in_body_axes('f', 'reference') is False
    with pytest.raises(UnknownNameError, match=r"^f: axes must be 'reference' or 'body', got 'x'"):
        _arrays.in_body_axes('f', 'x')


@pytest.mark.parametrize('turns', [1, 2, 5])
def test_angles_at_which_dexp_is_singular(turns):
    """Within 1e-7 rad of 2 pi, 4 pi and so on, but not of zero."""
    for sign in (-1.0, 1.0):
        angle = turns * 2.0 * pi
        _arrays.check_regular_angle('f', np.asarray(angle + sign * 1.02e-7))
        singular = angle + sign * 0.98e-7
        with pytest.raises(
            ArgumentError, match=rf'^f: .* angle {singular:.9g} rad at index \(1,\)'
        ):
            _arrays.check_regular_angle('f', np.array([1.0, singular, angle]))
    _arrays.check_regular_angle('f', np.array([0.0, 1e-9, np.nan, np.inf, 3.1]))


def test_angles_and_lengths_of_python_floats_are_reproducible():
    """Correctly rounded, as at 22, where the double nearest to sin(22) is known; and of numbers."""
    angles = np.array([22.0, 0.5], dtype=object)
    cosine, sine = _arrays.cosine_sine(angles)
    assert (cosine.dtype, sine.dtype) == (object, object)
    np.testing.assert_allclose(sine.astype(float), np.sin([22.0, 0.5]), rtol=1e-15)
    np.testing.assert_allclose(cosine.astype(float), np.cos([22.0, 0.5]), rtol=1e-15)
    cosine, sine = _arrays.cosine_sine(np.array([22.0, 0.5]))
    np.testing.assert_array_equal(cosine, np.cos([22.0, 0.5]))
    np.testing.assert_array_equal(sine, np.sin([22.0, 0.5]))
    np.testing.assert_allclose(_arrays.length(np.array([[3.0, 4.0, 12.0], [0, 0, 2]])), [13, 2])


def test_unit_screws_are_scaled_to_length_one():
    """A direction is of length 1 but for 1e-9, which the motion does not have."""
    X = np.array([0.0, 0.6, 0.8, 0.3, -0.2, 0.1])
    for scale in (1.0 + 0.99e-9, 1.0 - 0.99e-9):
        for screw in (X, np.array([0.0, 0.0, 0.0, 0.0, 0.6, 0.8])):
            np.testing.assert_allclose(
                se3.exp_unit_screw(scale * screw, 3.0), expm(3.0 * se3.hat(screw)), atol=2e-14
            )
    for scale in (1.0 + 1.01e-9, 1.0 - 1.01e-9):
        with pytest.raises(ArgumentError, match=r'se3\.exp_unit_screw: X must be a unit screw'):
            se3.unit_screw_terms(scale * X)
    with pytest.raises(ArgumentError, match=r'got \[0\.  0\.  0\.9'):  # the worst of a stack
        se3.unit_screw_terms([X, [0, 0, 0.9, 0, 0, 0], [0, 0, 0, 0, 0, 0.95]])


def test_where_a_nearest_rotation_is_not_unique():
    """The second singular value and the signed third cancel, relative to the first by 1e-9."""
    for gap, refused in ((0.98e-9, True), (1.02e-9, False)):
        M = np.diag([5.0, 1.0, -(1.0 - 5.0 * gap)])
        if refused:
            with pytest.raises(ArgumentError, match='several rotations are equally near'):
                orientations.nearest_rotation(M)
        else:
            np.testing.assert_allclose(orientations.nearest_rotation(M), np.eye(3), atol=1e-6)


def test_parallel_directions_of_a_gripper():
    for angle, refused in ((0.98e-9, True), (1.02e-9, False)):
        opening = [np.sin(angle), 0.0, np.cos(angle)]
        if refused:
            with pytest.raises(ArgumentError, match='opening and approach are parallel'):
                orientations.gripper_frame(opening, [0.0, 0.0, 3.0])
        else:
            R = orientations.gripper_frame(opening, [0.0, 0.0, 3.0])
            np.testing.assert_allclose(R, [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-6)


def test_ranks_have_a_relative_tolerance():
    """Of the largest singular value, 1e-9 unless another is given; zero has rank zero."""
    X = np.zeros((6, 3))
    X[3, 0], X[4, 1], X[5, 2] = 1e3, 1.02e-6, 0.98e-6
    assert screw_systems.rank(X) == 2
    assert screw_systems.rank(X, tolerance=0.9e-9) == 3
    assert screw_systems.rank(0.0 * X) == 0
    assert screw_systems.reciprocal_wrenches(X).shape == (6, 4)
    assert screw_systems.reciprocal_wrenches(X, 1.0, 2e-9).shape == (6, 5)
    assert screw_systems.reciprocal_twists(X, 1.0, 2e-9).shape == (6, 5)
    assert screw_systems.reciprocal_screws(X, 1.0, 0.9e-9).shape == (6, 3)
    assert not screw_systems.same_system(X, X[:, :2], tolerance=0.9e-9)
    assert screw_systems.same_system(X, X[:, :2])
    angular = np.zeros((6, 2))
    angular[0, 0], angular[3, 1] = 1.02e-6, 1e3  # in m only with a length
    assert screw_systems.rank(angular) == 2
    assert screw_systems.rank(angular, 0.9) == 1
    assert screw_systems.reciprocal_wrenches(angular, length=0.9).shape == (6, 5)
    assert screw_systems.reciprocal_twists(np.roll(angular, 3, axis=0), 0.9).shape == (6, 5)
    assert screw_systems.reciprocal_screws(angular, 0.9).shape == (6, 5)
    assert not screw_systems.same_system(angular, angular[:, 1:])
    assert screw_systems.same_system(angular, angular[:, 1:], 0.9)


def test_numbers_too_large_to_square_are_refused_as_matrices():
    """By the message, not by a warning of NumPy."""
    for size in (1e160, 1e300):
        with pytest.raises(ArgumentError, match=r'so3.log: not a rotation matrix: .* = inf'):
            so3.log(size * np.eye(3))
