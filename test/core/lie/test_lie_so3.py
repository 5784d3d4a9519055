# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SO(3): exp, log up to pi, dexp (K-01, K-02; I-02, I-05, I-07)."""

from math import pi

import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import so3
from support.lie import (
    ANGLES,
    PROPERTY,
    close,
    cross_matrix,
    derivative,
    dexp_reference,
    directions,
    exp_reference,
    rotation_vectors,
    rotations,
    vectors,
)

TOLERANCE = 1e-12
AXES = [
    np.array(e) / np.linalg.norm(e)
    for e in (
        [1, 0, 0],
        [0, -1, 0],
        [0, 0, 1],
        [1, 2, 2],
        [-3, 1, 1e-6],
        [1, -1, 0],
        [0.3, -0.2, 0.5],
    )
]


# --- hat, vee, bracket -----------------------------------------------------------------------


@PROPERTY
@given(vectors(), vectors())
def test_hat_is_the_cross_product(x, y):
    """K-01: x~ y = x × y, vee inverts hat, the matrix commutator is the bracket."""
    close(so3.hat(x) @ y, np.cross(x, y))
    close(so3.vee(so3.hat(x)), x, 0)
    X, Y = so3.hat(x), so3.hat(y)
    close(so3.vee(X @ Y - Y @ X), so3.ad(x) @ y)


def test_vee_takes_the_antisymmetric_part():
    """A finite difference of rotations is antisymmetric only up to noise."""
    symmetric = np.arange(9.0).reshape(3, 3) + np.arange(9.0).reshape(3, 3).T
    close(so3.vee(so3.hat([1, 2, 3]) + symmetric), [1, 2, 3])


# --- exp -------------------------------------------------------------------------------------


@pytest.mark.parametrize('angle', [*ANGLES, 2 * pi - 1e-9, 2 * pi, 10.0, 50.0])
def test_exp_at_delicate_angles(angle):
    """K-02, I-05: equal to the matrix exponential, orthogonal, determinant 1."""
    for e in AXES:
        R = so3.exp(angle * e)
        if angle <= 10:
            close(R, exp_reference(cross_matrix(angle * e)), 2e-15)
        close(R, Rotation.from_rotvec(angle * e).as_matrix(), 2e-14)
        close(R @ R.T, np.eye(3), 5e-15)
        close(np.linalg.det(R), 1.0, 5e-15)


@PROPERTY
@given(rotation_vectors(2 * pi))
def test_exp_against_scipy(x):
    """K-02: scipy.linalg.expm."""
    close(so3.exp(x), expm(cross_matrix(x)))


def test_exp_with_the_printed_denominator_fails():
    """X1: (9) of DETC2013-12151 prints |omega| where |omega|^2 belongs."""
    x = np.array([0.3, -0.2, 0.5])
    t, X = np.linalg.norm(x), cross_matrix(x)
    printed = np.eye(3) + np.sin(t) / t * X + (1 - np.cos(t)) / t * X @ X
    assert np.abs(printed - expm(X)).max() > 0.05
    assert np.abs(printed @ printed.T - np.eye(3)).max() > 0.01
    close(so3.exp(x), expm(X))


def test_exp_golden_value():
    """doc/spec/muller_terze.md: rotation part of the golden value."""
    close(
        so3.exp([0.3, -0.2, 0.5]),
        [
            [0.859533898558663, -0.497991537002922, -0.114916953936367],
            [0.439867632958231, 0.835315605206709, -0.329794337692255],
            [0.260226714048094, 0.232921164284437, 0.937032437284918],
        ],
    )


@PROPERTY
@given(directions(), rotation_vectors(2 * pi).map(np.linalg.norm))
def test_exp_unit_axis(e, angle):
    """K-02: the branch-free form of joints is the same map."""
    close(so3.exp_unit_axis(e, angle), so3.exp(angle * e), 2e-15)


# --- group -----------------------------------------------------------------------------------


@PROPERTY
@given(rotations(), rotations(), rotations(), vectors())
def test_group_axioms(R1, R2, R3, x):
    """K-02: associativity, inverse, identity; Ad is a homomorphism and R x~ R^T = (R x)~."""
    close(so3.compose(so3.compose(R1, R2), R3), so3.compose(R1, so3.compose(R2, R3)))
    close(so3.compose(R1, so3.inverse(R1)), np.eye(3))
    close(so3.compose(R1, np.eye(3)), R1)
    close(so3.Ad(so3.compose(R1, R2)), so3.Ad(R1) @ so3.Ad(R2))
    close(R1 @ so3.hat(x) @ R1.T, so3.hat(so3.Ad(R1) @ x))
    close(so3.exp(so3.Ad(R1) @ x), R1 @ so3.exp(x) @ R1.T)


@PROPERTY
@given(rotations(), rotations(), rotations())
def test_distance_is_a_bi_invariant_metric(R1, R2, R3):
    """B-053: metric axioms and invariance from both sides."""
    d = so3.distance(R1, R2)
    assert 0 <= d <= pi + 1e-15
    close(so3.distance(R1, R1), 0)
    close(d, so3.distance(R2, R1))
    close(d, so3.distance(R3 @ R1, R3 @ R2))
    close(d, so3.distance(R1 @ R3, R2 @ R3))
    assert d <= so3.distance(R1, R3) + so3.distance(R3, R2) + TOLERANCE


# --- log -------------------------------------------------------------------------------------


@pytest.mark.parametrize('angle', [a for a in ANGLES if a < pi])
def test_log_inverts_exp(angle):
    """K-02, B-051: to 1e-12 up to pi - 1e-9, and relatively so for the small angles."""
    for e in AXES:
        x = angle * e
        close(so3.log(so3.exp(x)), x)
        if angle > 1e-290:
            close(so3.log(so3.exp(x)) / angle, e)


@PROPERTY
@given(rotation_vectors(pi - 1e-9))
def test_log_inverts_exp_anywhere(x):
    """K-02: log exp = 1 for angles below pi."""
    close(so3.log(so3.exp(x)), x)


@PROPERTY
@given(rotations())
def test_exp_inverts_log(R):
    """K-02: exp log = 1 for every rotation, half turns included."""
    x = so3.log(R)
    assert np.linalg.norm(x) <= pi + 1e-15
    close(so3.exp(x), R)


@pytest.mark.parametrize('e', AXES)
def test_log_of_half_turns(e):
    """K-02, B-051: at pi exactly the axis is found up to its sign."""
    for R in (2 * np.outer(e, e) - np.eye(3), so3.exp(pi * e)):
        x = so3.log(R)
        close(np.linalg.norm(x), pi)
        close(np.outer(x, x), pi**2 * np.outer(e, e), 1e-11)
        close(so3.exp(x), R)


@pytest.mark.parametrize('e', AXES)
def test_log_next_to_the_half_turn_keeps_the_side(e):
    """K-02: from pi - 1e-9 to pi + 1e-9 the rotation vector jumps from e to -e."""
    close(so3.log(so3.exp((pi - 1e-9) * e)), (pi - 1e-9) * e)
    close(so3.log(so3.exp((pi + 1e-9) * e)), -(pi - 1e-9) * e)


def test_log_of_full_turns_is_zero():
    """K-02: angle 2 pi is the identity."""
    for e in AXES:
        close(so3.log(so3.exp(2 * pi * e)), np.zeros(3))


def test_textbook_logarithm_fails_where_this_one_holds():
    """B-051: arccos and R - R^T lose the axis near 0 and near pi."""
    for angle in (1e-9, pi - 1e-9):
        x = angle * AXES[3]
        R = so3.exp(x)
        t = np.arccos((np.trace(R) - 1) / 2)
        with np.errstate(divide='ignore', invalid='ignore'):
            textbook = t / (2 * np.sin(t)) * so3.vee(R - R.T) * 2
        assert not np.allclose(textbook, x, rtol=1e-9, atol=0)
        close(so3.log(R), x)


def test_log_tolerates_round_off_but_not_other_matrices():
    """A rotation printed with eight digits still has a logarithm."""
    x = np.array([0.3, -0.2, 0.5])
    close(so3.log(so3.exp(x).round(8)), x, 2e-8)
    for bad in (2 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.zeros((3, 3)), so3.exp(x).round(3)):
        with pytest.raises(ArgumentError, match=r'so3\.log: not a rotation matrix'):
            so3.log(bad)


# --- dexp ------------------------------------------------------------------------------------


@pytest.mark.parametrize('angle', [*ANGLES, 2 * pi])
def test_dexp_at_delicate_angles(angle):
    """I-07, K-05: equal to the sum of x~^k / (k + 1)!, on both sides of the series limit."""
    for e in AXES:
        close(so3.dexp(angle * e), dexp_reference(cross_matrix(angle * e)), 2e-15)


@pytest.mark.parametrize('angle', [a for a in ANGLES if a <= 6])
def test_dexp_inv_at_delicate_angles(angle):
    """I-07: the inverse of the sum of x~^k / (k + 1)!, relative 1e-14."""
    for e in AXES:
        reference = np.linalg.inv(dexp_reference(cross_matrix(angle * e)))
        close(so3.dexp_inv(angle * e), reference, 1e-14 * np.abs(reference).max())


@PROPERTY
@given(rotation_vectors(6.0))
def test_dexp_inv_inverts_dexp(x):
    """I-07: dexp dexp_inv = 1 from both sides, for angles 0 to 6."""
    close(so3.dexp(x) @ so3.dexp_inv(x), np.eye(3))
    close(so3.dexp_inv(x) @ so3.dexp(x), np.eye(3))


@PROPERTY
@given(rotation_vectors(6.0), vectors())
def test_dexp_is_the_trivialised_derivative(x, rate):
    """I-07, I-09: Rdot R^T = (dexp_x xdot)~, R^T Rdot = (dexp_-x xdot)~."""
    R, R_dot = expm(cross_matrix(x)), derivative(lambda t: so3.exp(x + t * rate), 0.0)
    close(R_dot @ R.T, cross_matrix(so3.dexp(x) @ rate), 1e-9)
    close(R.T @ R_dot, cross_matrix(so3.dexp(-x) @ rate), 1e-9)
    assert np.allclose(so3.dexp(-x), so3.dexp(x).T, rtol=0, atol=1e-14)


def test_dexp_inv_golden_value():
    """doc/spec/muller_terze.md, (11): the first three components of the golden value."""
    close(
        so3.dexp_inv([0.3, -0.2, 0.5]) @ [1, 2, 3],
        [1.803354637281867, 2.112779430671453, 2.563098989899461],
    )
    close(
        so3.dexp_inv([-0.3, 0.2, -0.5]) @ [1, 2, 3],
        [0.203354637281867, 1.712779430671453, 3.363098989899461],
    )


@pytest.mark.parametrize('angle', [2 * pi, 2 * pi - 1e-9, 2 * pi + 1e-9, 4 * pi])
def test_dexp_inv_refuses_its_singularities(angle):
    """I-10: full turns have no inverse; the message names the angle and the member of the stack."""
    stack = np.zeros((4, 3))
    stack[2] = angle * AXES[3]
    with pytest.raises(ArgumentError, match=r'so3\.dexp_inv: .* at index \(2,\)'):
        so3.dexp_inv(stack)
    with pytest.raises(ArgumentError, match=rf'at rotation angle {angle:.9g}'):
        so3.dexp_inv(stack[2])


# --- arguments -------------------------------------------------------------------------------


def test_nan_in_nan_out():
    """NaN raises nothing and leaves nothing that looks like a number."""
    for k in range(3):
        x = np.array([0.1, 0.2, 0.3])
        x[k] = np.nan
        for function in (so3.exp, so3.dexp, so3.dexp_inv):
            assert np.isnan(function(x)).all()
    for i, j in np.ndindex(3, 3):
        R = so3.exp([0.1, 0.2, 0.3])
        R[i, j] = np.nan
        assert np.isnan(so3.log(R)).all()
