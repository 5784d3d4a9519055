# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inertias in other axes: the short way for turns about an axis of coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from oracles.program_interpreter import run
from screw_dynamics_ros.core.compile.program.tracing import Program, Recorder, program
from screw_dynamics_ros.core.dynamics.spatial_inertia import rotated, transported_matrix
from screw_dynamics_ros.core.lie.se3 import Ad, inverse, pose
from screw_dynamics_ros.core.linear import lasting_axis

#: The 24 rotations that turn axes of coordinates into one another.
ALIGNED = Rotation.create_group('O').as_matrix().round() + 0.0
OBLIQUE = Rotation.from_euler('xyz', [0.3, -0.5, 0.7]).as_matrix()


def turn(axis: int, c: object, s: object) -> np.ndarray:
    """Return the rotation about an axis of coordinates by an angle with this cosine and sine."""
    R = np.zeros((3, 3), dtype=object)
    k, l = (axis + 1) % 3, (axis + 2) % 3  # noqa: E741
    R[axis, axis] = 1.0
    R[k, k] = R[l, l] = c
    R[k, l], R[l, k] = -s, s
    return R


def recorded(before: np.ndarray, axis: int, after: np.ndarray, way) -> Program:
    """Return the program of way(R, A) for R = before turn(axis) after."""
    recorder = Recorder()
    c, s = recorder.inputs('turn', 2)
    A = recorder.inputs('A', 9).reshape(3, 3)
    R = before @ turn(axis, c, s) @ after
    return program(recorder, [('turn', 2), ('A', 9)], [way(R, A)])


@pytest.mark.parametrize(
    ('before', 'after'),
    [
        *((aligned, np.eye(3)) for aligned in ALIGNED),
        *((np.eye(3), aligned) for aligned in ALIGNED),
    ],
)
def test_turn_about_an_axis_of_coordinates(before, after):
    A = np.random.default_rng(0).normal(size=(3, 3))
    cosine, sine = np.cos(0.7), np.sin(0.7)
    for axis in range(3):
        short = recorded(before, axis, after, rotated)
        R = (before @ turn(axis, cosine, sine) @ after).astype(float)
        (result,) = run(short, turn=[cosine, sine], A=A.ravel())
        np.testing.assert_allclose(result, R @ A @ R.T, atol=1e-14)
        products = recorded(before, axis, after, lambda R, A: R @ A @ R.T)
        assert short.operation_count < 0.7 * products.operation_count


def test_other_rotations_are_products():
    """Those about other axes, and constant ones, which must not leave a rounding error."""
    A = np.random.default_rng(1).normal(size=(3, 3))
    recorder = Recorder()
    c, s = recorder.inputs('turn', 2)
    assert lasting_axis(OBLIQUE @ turn(2, c, s)) is None
    assert lasting_axis(turn(0, c, s) @ turn(1, c, s)) is None
    for R in (*ALIGNED, OBLIQUE):
        assert lasting_axis(R.astype(object)) is None
        np.testing.assert_array_equal(rotated(R, A), R @ A @ R.T)


@pytest.mark.parametrize('R', [OBLIQUE, *ALIGNED[:3]])
def test_transported_matrix_is_the_congruence_by_the_adjoint(R):
    C = pose(R, [0.3, -0.2, 0.5])
    half = np.random.default_rng(2).normal(size=(6, 6))
    P = half @ half.T
    expected = Ad(inverse(C)).T @ P @ Ad(inverse(C))
    np.testing.assert_allclose(transported_matrix(C, P), expected, atol=1e-13)
