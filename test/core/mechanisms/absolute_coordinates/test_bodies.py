# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies and joints that cannot be: each refusal names the one at fault."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.description.body_inertia import Inertia
from screw_dynamics_ros.core.errors import ArgumentError, InertiaError, UnknownNameError
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    GROUND,
    REVOLUTE,
    SE3,
    AbsoluteBody,
    AbsoluteSystem,
    ConstraintJoint,
    frame,
)

BODY = AbsoluteBody('a', Inertia(2.0, np.array([0.1, -0.2, 0.3]), np.diag([0.2, 0.3, 0.4])))
OTHER = AbsoluteBody('b', BODY.inertia)


def test_mass_matrix_is_that_of_points() -> None:
    """Six points in pairs about the center of mass, of half a kilogram each."""
    com = np.array([0.1, -0.2, 0.3])
    arms = np.array([[0.4, 0.1, -0.3], [0.5, 0.0, 0.2], [0.0, 0.1, 1.0]])
    arms = np.concatenate([arms, -arms])
    expected = np.zeros((6, 6))
    for x, y, z in com + arms:  # velocity v + omega x p
        jacobian = np.block([np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]]), np.eye(3)])
        expected += 0.5 * jacobian.T @ jacobian
    about_com = sum(0.5 * (r @ r * np.eye(3) - np.outer(r, r)) for r in arms)
    body = AbsoluteBody('body', Inertia(3.0, com, about_com))
    assert body.group == SE3
    np.testing.assert_allclose(body.mass_matrix, expected, atol=1e-15)


@pytest.mark.parametrize(
    ('make', 'error', 'message'),
    [
        (lambda: AbsoluteBody(GROUND, BODY.inertia), ArgumentError, "cannot be named 'ground'"),
        (
            lambda: AbsoluteBody('c', Inertia(1.0, np.zeros(3), np.diag([1.0, -1.0, 1.0]))),
            InertiaError,
            r"body 'c' .* moments \[-1\.",
        ),
        (lambda: ConstraintJoint('j', 'revolute', GROUND, 'a'), ArgumentError, "'j': pair must be"),
        (
            lambda: ConstraintJoint('j', REVOLUTE, GROUND, 'a', np.eye(3)),
            ArgumentError,
            r"joint 'j': parent_frame must be a finite pose \(4, 4\)",
        ),
        (
            lambda: ConstraintJoint('j', REVOLUTE, GROUND, 'a', np.eye(4), np.full((4, 4), np.nan)),
            ArgumentError,
            "joint 'j': child_frame must be a finite pose",
        ),
        (
            lambda: ConstraintJoint('j', REVOLUTE, GROUND, 'a', child_frame=-np.eye(4)),
            ArgumentError,
            "joint 'j': child_frame",
        ),
        (
            lambda: AbsoluteSystem([BODY, OTHER], 2 * [ConstraintJoint('j', REVOLUTE, 'a', 'b')]),
            ArgumentError,
            "two joints are named 'j'",
        ),
        (
            lambda: AbsoluteSystem([BODY, OTHER], [ConstraintJoint('j', REVOLUTE, 'a', 'c')]),
            UnknownNameError,
            "joint 'j' leads to 'c', which is no body; there are ground, a, b",
        ),
        (
            lambda: AbsoluteSystem([BODY, OTHER], configuration=[*6 * [0], 1, *6 * [0], 1.00001]),
            ArgumentError,
            "pose of 'b' is not finite, or its quaternion",
        ),
        (
            lambda: AbsoluteSystem([BODY, OTHER], configuration=[*6 * [0], 1, np.inf, *5 * [0], 1]),
            ArgumentError,
            "pose of 'b' is not finite",
        ),
        (
            lambda: AbsoluteSystem([BODY, OTHER], configuration=[*3 * [0], np.nan, *9 * [0], 1]),
            ArgumentError,
            "pose of 'a' is not finite",
        ),
        (lambda: AbsoluteSystem([BODY], configuration=[0, 0, 1]), ArgumentError, r'shape \(7,\)'),
        (lambda: AbsoluteSystem([BODY], gravity=[9.81]), ArgumentError, r'gravity must .*\(3,\)'),
        (lambda: frame([0, 0]), ArgumentError, 'a frame needs a position and an axis'),
        (lambda: frame(axis=[1, 0]), ArgumentError, 'a frame needs a position and an axis'),
        (lambda: frame(axis=[np.nan, 0, 1]), ArgumentError, 'a frame needs a position and an axis'),
    ],
)
def test_refused(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()


def test_nearly_unit_quaternions_are_accepted() -> None:
    """Numbers of files: to 1e-6."""
    q = np.array([0, 0, 0, 0, 0, 0, 1 + 9e-7])
    np.testing.assert_array_equal(AbsoluteSystem([BODY], configuration=q).configuration, q)


@pytest.mark.parametrize('axis', [[0, 0, 5], [0, 0, -2], [1, 2, -3], [0, 1e-3, 0]])
def test_frame_along_an_axis(axis) -> None:
    """The third column is the unit vector; the frame is right-handed and stands at the position."""
    F = frame([1, 2, 3], axis)
    np.testing.assert_allclose(F[:3, 2], np.array(axis) / np.linalg.norm(axis), atol=1e-15)
    np.testing.assert_allclose(F[:3, :3].T @ F[:3, :3], np.eye(3), atol=1e-15)
    assert np.linalg.det(F[:3, :3]) > 0.0
    np.testing.assert_array_equal(F[:3, 3], [1, 2, 3])
