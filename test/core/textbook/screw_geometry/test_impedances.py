# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Impedances, admittances and weighted norms (B-078, B-079, B-105, B-106)."""

import numpy as np
import pytest

from screw_dynamics_ros.core.dynamics.spatial_inertia import transported_matrix
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.textbook.screw_geometry import impedances
from support.lie import apply, close, trace, untrace

N = 1000


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def C(rng):
    return se3.exp(rng.normal(size=(N, 6)))


def stiffnesses(rng):
    """Symmetric positive definite matrices."""
    A = rng.normal(size=(N, 6, 6))
    return A @ np.swapaxes(A, -1, -2) + 0.1 * np.eye(6)


def test_energy_and_wrench_do_not_depend_on_the_frame(rng, C):
    """B-105, (4.90): K_f = S_if^T K S_if with S_if = Ad_C^-1; the wrench follows along."""
    K, t = stiffnesses(rng), rng.normal(size=(N, 6))
    K_f, t_f = impedances.transform_impedance(C, K), screws.transform_twist(C, t)
    close(screws.power(apply(K_f, t_f), t_f), screws.power(apply(K, t), t), 1e-9)
    close(apply(K_f, t_f), screws.transform_wrench(C, apply(K, t)), 1e-9)
    S = np.linalg.inv(se3.Ad(C))
    close(K_f, np.swapaxes(S, -1, -2) @ K @ S, 1e-9)
    close(impedances.transform_impedance(se3.inverse(C), K_f), K, 1e-8)
    close(K_f[3], transported_matrix(C[3], K[3]), 1e-10)  # what the recursions use


def test_spring_of_a_joint(C):
    """B-009: 100 N m/rad about an axis anywhere, turned by 0.01 rad, give 1 N m about it."""
    spring = np.diag([0, 0, 100.0, 0, 0, 0])
    K = impedances.transform_impedance(C, spring)
    turn = screws.transform_twist(C, np.array([0, 0, 0.01, 0, 0, 0]))
    axis = screws.transform_twist(C, np.array([0, 0, 1.0, 0, 0, 0]))
    close(screws.power(apply(K, turn), axis), np.ones(N), 1e-12)
    elsewhere = screws.transform_twist(C, np.array([0.3, 0.1, 0, 0.2, 0.4, 0.5]))
    close(apply(K, elsewhere), np.zeros((N, 6)), 1e-9)  # only this turn stretches it


def test_compliance(rng, C):
    """B-106: the inverse of stiffness, C_f = S_fi C S_fi^T."""
    K = stiffnesses(rng)
    A = np.linalg.inv(K)
    A_f = impedances.transform_admittance(C, A)
    product = A_f @ impedances.transform_impedance(C, K)
    size = np.abs(A_f).max(axis=(1, 2), keepdims=True) * np.abs(K).max(axis=(1, 2), keepdims=True)
    close(product / size, np.eye(6) / size, 1e-12)
    W = rng.normal(size=(N, 6))
    moved = screws.transform_twist(C, apply(A, W))
    scale = np.abs(A).max(axis=(1, 2))[:, None]
    close(apply(A_f, screws.transform_wrench(C, W)) / scale, moved / scale, 1e-10)


def test_stiffness_is_not_compliance():
    """Section 4.13.1: F = Delta K t; printed with C, whose units are the reciprocal ones."""
    spring = np.diag([0, 0, 0, 100.0, 100, 100]) + np.diag([5.0, 5, 5, 0, 0, 0])
    stretch = np.array([0, 0, 0, 0.01, 0, 0])
    close(spring @ stretch, [0, 0, 0, 1, 0, 0])
    assert np.abs(np.linalg.inv(spring) @ stretch - spring @ stretch).max() > 0.9


def test_weighted_norm(rng, C):
    """B-078: the same in every frame when the weight is transformed like an impedance."""
    W, t = stiffnesses(rng), rng.normal(size=(N, 6))
    norm = impedances.weighted_norm(t, W)
    close(norm**2, np.einsum('ni,nij,nj->n', t, W, t), 1e-10)
    moved = impedances.weighted_norm(
        screws.transform_twist(C, t), impedances.transform_impedance(C, W)
    )
    close(moved, norm, 1e-9)
    plain = np.linalg.norm(screws.transform_twist(C, t), axis=1) - np.linalg.norm(t, axis=1)
    assert np.abs(plain).max() > 1  # without a weight it is not
    close(impedances.weighted_norm(3 * t, W), 3 * norm, 1e-12 * 100)


def test_norm_without_the_root_fails():
    """(4.29): printed t^T W t; it does not scale like a norm."""
    t, W = np.array([0, 0, 2.0, 0, 0, 1]), np.diag([0.25, 0.25, 0.25, 1, 1, 1])
    close(impedances.weighted_norm(t, W), np.sqrt(2.0))
    printed = t @ W @ t
    assert abs(printed - impedances.weighted_norm(t, W)) > 0.5
    assert abs((3 * t) @ W @ (3 * t) - 3 * printed) > 1


def test_units_need_a_weight():
    """B-079: from m to mm the weighted norm stays, the plain one does not."""
    t = np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.7])
    W = np.diag([0.2, 0.2, 0.3, 1, 1, 2.0])
    W[0, 4] = W[4, 0] = 0.1
    millimeters = np.diag([1, 1, 1, 1000.0, 1000, 1000])
    inverse = np.linalg.inv(millimeters)
    close(
        impedances.weighted_norm(millimeters @ t, inverse @ W @ inverse),
        impedances.weighted_norm(t, W),
    )
    assert np.linalg.norm(millimeters @ t) > 100 * np.linalg.norm(t)


def test_a_norm_has_no_default_weight():
    """B-078: there is no distance of poses or size of twists without saying what it means."""
    with pytest.raises(TypeError, match='weight'):
        impedances.weighted_norm(np.ones(6))


@pytest.mark.parametrize(
    ('weight', 'message'),
    [
        (np.diag([1, 1, 1, 1, 1, 0]), 'has the eigenvalue 0'),
        (np.diag([1, 1, -2, 1, 1, 1]), 'has the eigenvalue -2'),
        (np.triu(np.ones((6, 6))) + 5 * np.eye(6), 'differs from its transpose by 1'),
        (1e6 * (np.eye(6) + 1e-6 * np.triu(np.ones((6, 6)))), 'differs from its transpose by 1'),
        (
            np.stack([np.eye(6), np.triu(np.ones((6, 6))) + 5 * np.eye(6)]),
            'differs from its transpose',
        ),
        (np.eye(5), r'weight .* got \(5, 5\)'),
    ],
)
def test_bad_weights_are_refused(weight, message):
    """B-078: singular, indefinite, asymmetric."""
    with pytest.raises(ArgumentError, match=message):
        impedances.weighted_norm(np.ones(6), weight)


def test_rounding_in_a_weight_is_no_asymmetry():
    """B-078: relative to its largest entry."""
    W = 1e6 * np.eye(6)
    W[0, 1] = 1e-6
    close(impedances.weighted_norm(np.eye(6)[3], W), 1000)


def test_nan_and_traced_scalars(rng, C):
    """NaN in gives NaN out; the transformations are free of branches."""
    assert np.isnan(impedances.weighted_norm([np.nan, 0, 0, 0, 0, 0], np.eye(6)))
    assert np.isnan(impedances.weighted_norm(np.ones(6), np.full((6, 6), np.nan)))
    K = stiffnesses(rng)[0]
    for function in (impedances.transform_impedance, impedances.transform_admittance):
        close(untrace(function(trace(C[0]), trace(K))), function(C[0], K), 1e-12)
