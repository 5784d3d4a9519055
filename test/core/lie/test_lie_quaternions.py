# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Unit quaternions (B-051, B-054 to B-056), scalar last."""

from math import pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import quaternions as quat
from screw_dynamics_ros.core.lie import so3
from support.lie import (
    PROPERTY,
    directions,
    quaternions,
    rotation_of,
    rotation_vectors,
    rotations,
    vectors,
)

TOLERANCE = 1e-14


def close(actual, desired, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, desired, rtol=0, atol=tolerance)


def test_golden_values():
    """G7, G8, G9 of doc/spec/golden_numbers.md."""
    R = [
        [0.3980680463, -0.9166462858, -0.0360751621],
        [0.7821080382, 0.3596694365, -0.5088663017],
        [0.4794255386, 0.1743487403, 0.8600893382],
    ]
    q = [0.2111334125, -0.1593047802, 0.5249647263, 0.8089849846]
    close(quat.from_matrix(R), q, 1e-9)
    close(quat.to_matrix(q), R, 1e-9)
    q = [0.1882141578, 0.3764283156, 0.3764283156, 0.8253356149]
    close(quat.exp(np.array([0.4, 0.8, 0.8])), q, 1e-10)
    close(quat.exp_unit_axis(np.array([1, 2, 2]) / 3, 1.2), q, 1e-10)
    p, q = [0.1, 0.2, 0.3, sqrt(0.86)], [-0.4, 0.1, 0.2, sqrt(0.79)]
    close(quat.product(p, q), [-0.2720627956, 0.1305000733, 0.5421182024, 0.7842572414], 1e-10)


@PROPERTY
@given(quaternions(), quaternions(), quaternions(), vectors())
def test_algebra(p, q, r, x):
    """B-055, B-056: associative, multiplicative norm, R(p q) = R(p) R(q), p x p* = R x."""
    close(quat.product(quat.product(p, q), r), quat.product(p, quat.product(q, r)))
    close(quat.product(p, quat.conjugate(p)), [0, 0, 0, 1])
    close(np.linalg.norm(quat.product(p, q)), 1)
    close(quat.to_matrix(quat.product(p, q)), quat.to_matrix(p) @ quat.to_matrix(q))
    rotated = quat.product(quat.product(p, [*x, 0]), quat.conjugate(p))
    close(rotated, [*(quat.to_matrix(p) @ x), 0])


@PROPERTY
@given(quaternions(), st.floats(0.5, 2.0))
def test_to_matrix(q, length):
    """B-054: against an independent construction and scipy; any length; q and -q alike."""
    close(quat.to_matrix(q), rotation_of(q))
    close(quat.to_matrix(q), Rotation.from_quat(q).as_matrix())
    close(quat.to_matrix(length * q), quat.to_matrix(q))
    close(quat.to_matrix(-q), quat.to_matrix(q), 0)


@PROPERTY
@given(rotations())
def test_from_matrix(R):
    """B-054: unit length, w >= 0, the rotation comes back, half turns included."""
    q = quat.from_matrix(R)
    close(np.linalg.norm(q), 1)
    assert q[3] >= 0
    close(quat.to_matrix(q), R)


@PROPERTY
@given(rotation_vectors(2 * pi))
def test_exp_and_log(x):
    """B-054: the rotation of exp(x) is so3.exp(x); log picks the vector of length at most pi."""
    q = quat.exp(x)
    close(quat.to_matrix(q), so3.exp(x))
    y = quat.log(q)
    assert np.linalg.norm(y) <= pi + 1e-15
    close(so3.exp(y), so3.exp(x))
    close(quat.log(-q), y, 0 if q[3] else 2 * pi)
    if np.linalg.norm(x) < pi:
        close(y, x)
        if 0 < np.linalg.norm(x) < 1e-3:
            close(y / np.linalg.norm(x), x / np.linalg.norm(x))


@PROPERTY
@given(directions(), st.floats(-10, 10))
def test_exp_unit_axis(e, angle):
    """B-054: the branch-free form of joints."""
    close(quat.exp_unit_axis(e, angle), quat.exp(angle * e))


def test_edges():
    """Zero quaternion, not a rotation."""
    assert np.isnan(quat.to_matrix(np.zeros(4))).all()
    assert np.isnan(quat.log(np.zeros(4))).all()
    close(quat.log([1e-200, 0, 0, 1]), [2e-200, 0, 0], 0)
    assert np.isnan(quat.log([0, np.nan, 0, 1])).all()
    assert np.isnan(quat.from_matrix(np.full((3, 3), np.nan))).all()
    with pytest.raises(ArgumentError, match=r'quaternions\.from_matrix: not a rotation matrix'):
        quat.from_matrix(np.diag([1.0, -1.0, 1.0]))
