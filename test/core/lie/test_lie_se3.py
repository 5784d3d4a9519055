# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SE(3) and SO(3) x R^3 (K-03, K-05, K-06, K-36, D-01, D-02, D-44; I-01 to I-11)."""

from math import pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3, so3, so3xr3
from support.lie import (
    ANGLES,
    PROPERTY,
    close,
    derivative,
    dexp_reference,
    directions,
    exp_reference,
    pose_of,
    poses,
    rotations,
    screw_matrix,
    screw_vector,
    twists,
    vectors,
)

TOLERANCE = 1e-12
GROUPS = pytest.mark.parametrize('group', [se3, so3xr3], ids=['se3', 'so3xr3'])
GOLDEN = np.array([0.3, -0.2, 0.5, 1, 2, -1])
SCREWS = [
    np.array(X, dtype=float)
    for X in (
        [0, 0, 1, 0, 0, 0],
        [0, 0.6, 0.8, 1, 2, -1],
        [-0.6, 0, 0.8, 0, 0, 0.5],
        [1 / 3, 2 / 3, 2 / 3, 3, -1, 2],
    )
]


def ad_by_brackets(X):
    """Matrix of Y -> vee(X^ Y^ - Y^ X^), column by column."""
    M = screw_matrix(X)
    N = [screw_matrix(e) for e in np.eye(6)]
    return np.stack([screw_vector(M @ n - n @ M) for n in N], axis=1)


# --- hat, vee, bracket -----------------------------------------------------------------------


@PROPERTY
@given(twists(), twists(), twists())
def test_bracket(X, Y, Z):
    """K-01, D-01, I-02, I-03: ad_X Y is the commutator; antisymmetry, Jacobi identity (E-28)."""
    close(se3.vee(se3.hat(X)), X, 0)
    close(se3.hat(X), screw_matrix(X), 0)
    close(se3.ad(X), ad_by_brackets(X), 0)
    close(se3.ad(X) @ Y, -se3.ad(Y) @ X)
    jacobi = [se3.ad(A) @ se3.ad(B) @ C for A, B, C in ((X, Y, Z), (Y, Z, X), (Z, X, Y))]
    close(sum(jacobi), np.zeros(6), 2e-12)


def test_motor_product_golden_value():
    """G5 of doc/spec/golden_numbers.md."""
    close(se3.ad([1, 2, 3, 4, 5, 6]) @ [-1, 0.5, 2, 0, 1, -3], [2.5, -5, 2.5, -2, -11, 8], 0)


# --- group -----------------------------------------------------------------------------------


@GROUPS
@PROPERTY
@given(C1=poses(), C2=poses(), C3=poses())
def test_group_axioms(group, C1, C2, C3):
    """K-03, K-36, I-01, I-11: associativity, identity, inverse."""
    e = np.eye(4)
    close(group.compose(group.compose(C1, C2), C3), group.compose(C1, group.compose(C2, C3)))
    close(group.compose(C1, group.inverse(C1)), e)
    close(group.compose(group.inverse(C1), C1), e)
    close(group.compose(C1, e), C1, 0)


@PROPERTY
@given(poses(), poses(), vectors())
def test_composition_of_frames(C_i, C_j, p):
    """K-03: points map as R p + r, C_ij = (R_i^T R_j, R_i^T (r_j - r_i)), C_i C_ij = C_j."""
    R, r = C_i[:3, :3], C_i[:3, 3]
    close(C_i @ [*p, 1], [*(R @ p + r), 1])
    close(se3.pose(R, r), C_i, 0)
    C_ij = se3.compose(se3.inverse(C_i), C_j)
    close(C_ij, pose_of(R.T @ C_j[:3, :3], R.T @ (C_j[:3, 3] - r)))
    close(se3.compose(C_i, C_ij), C_j)


@GROUPS
@PROPERTY
@given(C1=poses(), C2=poses(), X=twists(), Y=twists())
def test_adjoint(group, C1, C2, X, Y):
    """K-06, D-01, K-36: Ad is a homomorphism, keeps brackets, C exp(X) C^-1 = exp(Ad_C X)."""
    close(group.Ad(group.compose(C1, C2)), group.Ad(C1) @ group.Ad(C2))
    close(group.Ad(C1) @ group.ad(X) @ Y, group.ad(group.Ad(C1) @ X) @ group.Ad(C1) @ Y, 1e-11)
    conjugate = group.compose(group.compose(C1, group.exp(X)), group.inverse(C1))
    close(conjugate, group.exp(group.Ad(C1) @ X))


@GROUPS
@PROPERTY
@given(X=twists())
def test_exp_of_ad_is_Ad_of_exp(group, X):
    """D-01, K-36: exp(ad_X) = Ad(exp X)."""
    close(expm(group.ad(X)), group.Ad(group.exp(X)), 1e-11)
    close(exp_reference(group.ad(X)), group.Ad(group.exp(X)))


@PROPERTY
@given(poses(), twists())
def test_adjoint_by_conjugation(C, X):
    """K-06: Ad_C X = vee(C X^ C^-1) and the split Ad_C = Ad_r Ad_R."""
    close(se3.Ad(C) @ X, screw_vector(C @ screw_matrix(X) @ np.linalg.inv(C)))
    close(se3.Ad(C), se3.Ad_r(C[:3, 3]) @ se3.Ad_R(C[:3, :3]))
    close(np.linalg.inv(se3.Ad_r(C[:3, 3])), se3.Ad_r(-C[:3, 3]))
    close(np.linalg.det(se3.Ad(C)), 1)


def test_screw_transformation_golden_value():
    """G3, G4 of doc/spec/golden_numbers.md."""
    C = se3.pose(so3.exp([0, 0, pi / 2]), [1, 2, 3])
    close(se3.Ad(C) @ [0, 0, 1, 0, -1, 0.5], [0, 0, 1, 3, -1, 0.5])


# --- exp -------------------------------------------------------------------------------------


@pytest.mark.parametrize('angle', [*ANGLES, 2 * pi, 10.0])
def test_exp_at_delicate_angles(angle):
    """K-05, I-06: equal to the matrix exponential for axes through and off the origin."""
    for e in ([0, 0, 1], [1 / 3, -2 / 3, 2 / 3]):
        for eta in ([0, 0, 0], [1, 2, -1], [0, 0, 100]):
            X = np.array([*(angle * np.array(e)), *eta])
            close(se3.exp(X), exp_reference(screw_matrix(X)), 5e-15 * (1 + np.linalg.norm(eta)))


@PROPERTY
@given(twists(2 * pi))
def test_exp_against_scipy(X):
    """K-05, I-06: scipy.linalg.expm."""
    close(se3.exp(X), expm(screw_matrix(X)))


def test_exp_golden_values():
    """B-074: doc/spec/muller_terze.md and G10 of doc/spec/golden_numbers.md."""
    close(se3.exp(GOLDEN)[:3, 3], [0.520931346311478, 2.282834453565847, -0.599425026360548])
    close(
        se3.exp([0.1, -0.2, 0.3, 1, 2, 3]),
        [
            [0.9357548033, -0.3029327134, -0.1805400767, 0.3937271044],
            [0.2831649606, 0.9505806179, -0.1273345749, 1.9337984475],
            [0.210191706, 0.0680313164, 0.975290309, 3.1579565969],
            [0, 0, 0, 1],
        ],
        1e-10,
    )
    close(se3.exp([0, 0, pi / 2, 1, 0, 0.5])[:3, 3], [0.6366197724, 0.6366197724, 0.5], 1e-10)


def test_printed_exp_has_no_pure_translation():
    """X5: (8) divides by |omega|^2, without a case for omega = 0; the dexp form needs none."""

    def printed(X):
        w, v = X[:3], X[3:]
        with np.errstate(divide='ignore', invalid='ignore'):
            n = w @ w
            return (np.eye(3) - so3.exp(w)) @ np.cross(w, v) / n + (w @ v) / n * w

    close(printed(GOLDEN), se3.exp(GOLDEN)[:3, 3])
    translation = np.array([0.0, 0, 0, 1, 2, 3])
    assert np.isnan(printed(translation)).all()
    close(se3.exp(translation), pose_of(np.eye(3), [1, 2, 3]), 0)
    almost = np.array([1e-9, 0, 0, 1, 2, 3])
    reference = exp_reference(screw_matrix(almost))
    assert np.abs(printed(almost) - reference[:3, 3]).max() > 1e-9
    close(se3.exp(almost), reference, 1e-15)


@PROPERTY
@given(st.sampled_from(SCREWS), st.floats(-3, 3), st.floats(-3, 3))
def test_one_parameter_groups(X, a, b):
    """K-05: exp(a X) exp(b X) = exp((a + b) X), d/dq exp(q X) = X^ exp(q X) = exp(q X) X^."""
    close(se3.exp(a * X) @ se3.exp(b * X), se3.exp((a + b) * X))
    rate = derivative(lambda q: se3.exp(q * X), a)
    close(rate, screw_matrix(X) @ se3.exp(a * X), 1e-10)
    close(rate, se3.exp(a * X) @ screw_matrix(X), 1e-10)


# --- exp of a unit screw ---------------------------------------------------------------------


@PROPERTY
@given(directions(), vectors(), st.sampled_from([0, 0.1, -2, np.inf]), st.floats(-7, 7), poses())
def test_exp_unit_screw(e, p, h, q, B):
    """K-05, (85): revolute, helical and prismatic joints, and the folded form B exp(X q)."""
    X = np.concatenate([np.zeros(3), e] if np.isinf(h) else [e, np.cross(p, e) + h * e])
    close(se3.exp_unit_screw(X, q), expm(q * screw_matrix(X)), 2e-12)
    K = B @ se3.unit_screw_terms(X)
    close(K[0] + np.cos(q) * K[1] + np.sin(q) * K[2] + q * K[3], B @ se3.exp(q * X), 2e-12)
    if np.isfinite(h):  # (85) in its printed form
        R = so3.exp(q * e)
        close(se3.exp_unit_screw(X, q)[:3, 3], (np.eye(3) - R) @ p + h * q * e)


def test_exp_unit_screw_has_exact_structure():
    """A revolute joint gets no spurious pitch, an axis-aligned one no spurious entries."""
    e = np.array([0.6, 0, 0.8])
    for p in ([1, 2, 3], [0.1, 0.7, -0.3]):
        assert not se3.unit_screw_terms([*e, *np.cross(p, e)])[3].any()
    K = se3.unit_screw_terms([0, 0, 1, 0, 0, 0])
    assert np.count_nonzero(K[0]) == 2
    assert np.count_nonzero(K[1:]) == 4
    close(se3.exp_unit_screw([0, 0, 1, 0, -1, 0.5], 0.0), np.eye(4), 0)


@pytest.mark.parametrize('bad', [[0, 0, 2, 0, 0, 0], [0, 0, 0, 0, 0, 0.5], np.zeros(6)])
def test_exp_unit_screw_refuses_other_screws(bad):
    """Bad input: a screw that is not of unit length, named with its value."""
    with pytest.raises(ArgumentError, match=r'se3\.exp_unit_screw: X must be a unit screw.*got \['):
        se3.exp_unit_screw(bad, 0.3)
    with pytest.raises(ArgumentError, match=r'X must have shape \(\.\.\., 6\), got \(3,\)'):
        se3.exp_unit_screw([0, 0, 1], 0.3)


# --- log -------------------------------------------------------------------------------------


@GROUPS
@PROPERTY
@given(X=twists(pi - 1e-9), C=poses())
def test_log_and_exp(group, X, C):
    """K-05, K-36, B-074: log exp = 1 below pi, exp log = 1 everywhere."""
    close(group.log(group.exp(X)), X, 5e-12)
    close(group.exp(group.log(C)), C)
    assert np.linalg.norm(group.log(C)[:3]) <= pi + 1e-15


@pytest.mark.parametrize('angle', [a for a in ANGLES if a < pi])
def test_log_at_delicate_angles(angle):
    """K-05: log exp = 1 to 1e-12 from 0 to pi - 1e-9."""
    for e in ([0, 0, 1], [1 / 3, -2 / 3, 2 / 3]):
        X = np.array([*(angle * np.array(e)), 1, 2, -1])
        close(se3.log(se3.exp(X)), X)


def test_log_refuses_what_is_no_pose():
    """Bad input: wrong last row, not a rotation, wrong shape; NaN passes as NaN."""
    C = se3.exp(GOLDEN)
    bad = C.copy()
    bad[3] = [0, 0, 0.1, 1]
    with pytest.raises(ArgumentError, match=r'se3\.log: not a rigid motion: last row'):
        se3.log(bad)
    stack = np.stack([C, C, np.diag([1.0, 1, -1, 1])])
    with pytest.raises(ArgumentError, match=r'se3\.log: not a rotation matrix at index \(2,\)'):
        se3.log(stack)
    with pytest.raises(ArgumentError, match=r'so3xr3\.log: not a rotation'):
        so3xr3.log(stack)
    with pytest.raises(ArgumentError, match=r'se3\.log: C must have shape .* got \(3, 3\)'):
        se3.log(np.eye(3))
    bad = C.copy()
    bad[0, 1] = np.nan
    assert np.isnan(se3.log(bad)).all()
    bad = C.copy()
    bad[0, 3] = np.nan
    assert np.isnan(se3.log(bad)[3:]).all()


# --- dexp ------------------------------------------------------------------------------------


@pytest.mark.parametrize('angle', [*ANGLES, 2 * pi])
def test_dexp_at_delicate_angles(angle):
    """D-44, I-09: equal to the sum of ad^k / (k + 1)!, on both sides of the series limit."""
    for e in ([0, 0, 1], [1 / 3, -2 / 3, 2 / 3]):
        for eta in ([0, 0, 0], [1, 2, -1], [0, 0, 100]):
            X = np.array([*(angle * np.array(e)), *eta])
            close(se3.dexp(X), dexp_reference(ad_by_brackets(X)), 1e-14 * (1 + np.linalg.norm(eta)))


@pytest.mark.parametrize('angle', [a for a in ANGLES if a <= 6] + [1e-10])
def test_dexp_inv_at_delicate_angles(angle):
    """I-08: the inverse of the sum of ad^k / (k + 1)!, relative 2e-14 for angles 1e-10 to 6."""
    for e in ([0, 0, 1], [1 / 3, -2 / 3, 2 / 3]):
        X = np.array([*(angle * np.array(e)), 1, 2, -1])
        reference = np.linalg.inv(dexp_reference(ad_by_brackets(X)))
        close(se3.dexp_inv(X), reference, 2e-14 * np.abs(reference).max())


@GROUPS
@PROPERTY
@given(X=twists(5.5))
def test_dexp_inv_inverts_dexp(group, X):
    """I-07, I-08, I-11: dexp dexp_inv = 1 from both sides."""
    close(group.dexp(X) @ group.dexp_inv(X), np.eye(6), 5e-12)
    close(group.dexp_inv(X) @ group.dexp(X), np.eye(6), 5e-12)


@PROPERTY
@given(twists(), vectors(), vectors())
def test_dexp_is_the_trivialised_derivative(X, a, b):
    """I-09, D-44: Cdot C^-1 = dexp_X Xdot (spatial), C^-1 Cdot = dexp_-X Xdot (body twist)."""
    rate = np.concatenate([a, b])
    C, C_dot = se3.exp(X), derivative(lambda t: se3.exp(X + t * rate), 0.0)
    close(screw_vector(C_dot @ np.linalg.inv(C)), se3.dexp(X) @ rate, 1e-8)
    close(screw_vector(np.linalg.inv(C) @ C_dot), se3.dexp(-X) @ rate, 1e-8)
    close(se3.dexp(X), se3.Ad(C) @ se3.dexp(-X), 1e-11)


def test_golden_values_of_dexp_inv():
    """doc/spec/muller_terze.md: dexp_X^-1 and dexp_-X^-1 of (1, ..., 6)."""
    Y = np.arange(1.0, 7.0)
    close(
        se3.dexp_inv(GOLDEN) @ Y,
        [
            1.803354637281867,
            2.112779430671453,
            2.563098989899461,
            2.071338170174265,
            7.091302157578717,
            5.062088943476304,
        ],
    )
    close(
        se3.dexp_inv(-GOLDEN) @ Y,
        [
            0.203354637281867,
            1.712779430671453,
            3.363098989899461,
            6.371338170174266,
            3.291302157578717,
            7.362088943476304,
        ],
    )


def test_increments_belong_to_their_side():
    """E-31: V^b = dexp_-X Xdot goes with C0 exp X, V^s = dexp_X Xdot with exp(X) C0."""
    C0, rate = se3.exp([0.4, 0.1, -0.7, 0.3, 2, 1]), np.array([0.2, -1, 0.5, 1, 0.3, -0.4])
    right, left = C0 @ se3.exp(GOLDEN), se3.exp(GOLDEN) @ C0
    right_dot = derivative(lambda t: C0 @ se3.exp(GOLDEN + t * rate), 0.0)
    left_dot = derivative(lambda t: se3.exp(GOLDEN + t * rate) @ C0, 0.0)
    body, spatial = se3.dexp(-GOLDEN) @ rate, se3.dexp(GOLDEN) @ rate
    close(screw_vector(se3.inverse(right) @ right_dot), body, 1e-9)
    close(screw_vector(left_dot @ se3.inverse(left)), spatial, 1e-9)
    assert np.abs(screw_vector(right_dot @ se3.inverse(right)) - spatial).max() > 0.1
    assert np.abs(screw_vector(se3.inverse(left) @ left_dot) - body).max() > 0.1


def test_closed_form_of_dexp_inv_fails_at_small_angles():
    """(10) of DETC2013-12151 as it stands is useless at an angle of 1e-4, the series exact."""

    def printed(X):
        t, a = np.linalg.norm(X[:3]), se3.ad(X)
        c2 = 2 / t**2 + (t + 3 * np.sin(t)) / (4 * t * (np.cos(t) - 1))
        c4 = 1 / t**4 + (t + np.sin(t)) / (4 * t**3 * (np.cos(t) - 1))
        return np.eye(6) - a / 2 + c2 * a @ a + c4 * a @ a @ a @ a

    close(printed(4 * GOLDEN), se3.dexp_inv(4 * GOLDEN), 1e-12)
    X = np.array([0, 0.6e-4, 0.8e-4, 1, 2, -1])
    error = np.abs(printed(X) - np.linalg.inv(dexp_reference(ad_by_brackets(X)))).max()
    assert error > 1e-5
    close(se3.dexp_inv(X), np.linalg.inv(dexp_reference(ad_by_brackets(X))), 1e-13)


@GROUPS
def test_dexp_inv_refuses_full_turns(group):
    """I-10: singular at 2 pi."""
    with pytest.raises(ArgumentError, match=r'dexp_inv: dexp has no inverse at .* 6\.283'):
        group.dexp_inv([0, 0, 2 * pi, 1, 2, 3])


# --- rates of the adjoint maps ---------------------------------------------------------------


@PROPERTY
@given(twists(3.0), twists(3.0), vectors(1.0), vectors(1.0))
def test_rates_of_adjoint_matrices(X0, Y, a, b):
    """D-02: d/dt Ad_C = ad_Vs Ad_C = Ad_C ad_Vb, its inverse, Ad_r and Ad_R; Xdot = [V^s, X]."""
    rate = np.concatenate([a, b])

    def C(t):
        return se3.exp(X0 + t * rate)

    V_s, V_b = se3.dexp(X0) @ rate, se3.dexp(-X0) @ rate
    C0 = C(0)
    Ad, Ad_dot = se3.Ad(C0), derivative(lambda t: se3.Ad(C(t)), 0)
    close(Ad_dot, se3.ad(V_s) @ Ad, 1e-7)
    close(Ad_dot, Ad @ se3.ad(V_b), 1e-7)
    close(
        derivative(lambda t: se3.Ad(se3.inverse(C(t))), 0),
        -se3.ad(V_b) @ se3.Ad(se3.inverse(C0)),
        1e-7,
    )
    r_dot = derivative(lambda t: C(t)[:3, 3], 0)
    close(derivative(lambda t: se3.Ad_r(C(t)[:3, 3]), 0), se3.ad([0, 0, 0, *r_dot]), 1e-7)
    omega = [*V_s[:3], 0, 0, 0]
    Ad_R_dot = derivative(lambda t: se3.Ad_R(C(t)[:3, :3]), 0)
    close(Ad_R_dot, se3.ad(omega) @ se3.Ad_R(C0[:3, :3]), 1e-7)
    close(derivative(lambda t: se3.Ad(C(t)) @ Y, 0), se3.ad(V_s) @ Ad @ Y, 1e-6)


# --- SO(3) x R^3 -----------------------------------------------------------------------------


@PROPERTY
@given(poses(), poses(), twists(), twists())
def test_direct_product_acts_componentwise(C1, C2, X, Y):
    """K-36, I-11, (16)-(19): rotations as in SO(3), translations add."""
    product = so3xr3.compose(C1, C2)
    close(product, pose_of(C1[:3, :3] @ C2[:3, :3], C1[:3, 3] + C2[:3, 3]), 0)
    close(so3xr3.ad(X) @ Y, [*np.cross(X[:3], Y[:3]), 0, 0, 0])
    close(so3xr3.exp(X), pose_of(so3.exp(X[:3]), X[3:]), 0)
    close(so3xr3.dexp(X) @ Y, [*(so3.dexp(X[:3]) @ Y[:3]), *Y[3:]])
    close(so3xr3.dexp_inv(X) @ Y, [*(so3.dexp_inv(X[:3]) @ Y[:3]), *Y[3:]])


def test_direct_product_is_not_the_frame_transformation():
    """K-36: composing frames with it, or commuting screws, gives other poses."""
    C = se3.exp(GOLDEN)
    assert np.abs(so3xr3.compose(C, C) - C @ C).max() > 0.5
    assert np.abs(so3xr3.exp(GOLDEN) - C).max() > 0.2


@PROPERTY
@given(twists(3.0), vectors(), vectors())
def test_trivializations_of_the_direct_product(X, a, b):
    """K-36: right trivialization is the hybrid twist, left trivialization the mixed twist."""
    rate = np.concatenate([a, b])
    R, R_dot = so3.exp(X[:3]), derivative(lambda t: so3.exp(X[:3] + t * a), 0.0)
    close(so3xr3.dexp(X) @ rate, [*so3.vee(R_dot @ R.T), *b], 1e-9)
    close(so3xr3.dexp(-X) @ rate, [*so3.vee(R.T @ R_dot), *b], 1e-9)
    close(so3xr3.Ad(so3xr3.exp(X)) @ so3xr3.dexp(-X), so3xr3.dexp(X))


# --- stacks and arguments --------------------------------------------------------------------


@PROPERTY
@given(rotations())
def test_pose_broadcasts(R):
    """K-03: one rotation with a stack of positions."""
    r = np.arange(12.0).reshape(4, 3)
    close(se3.pose(R, r)[2], pose_of(R, r[2]), 0)
