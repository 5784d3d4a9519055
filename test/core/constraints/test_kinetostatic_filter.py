# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that keeps twists within a contact (C-046)."""

import numpy as np
import pytest
from scipy.optimize import minimize

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.arms.inverse.bounded_velocity import joint_limited_velocity
from screw_dynamics_ros.core.arms.inverse.task_priority import TaskLevel, task_priority
from screw_dynamics_ros.core.arms.inverse.velocity_bounds import Bounds
from screw_dynamics_ros.core.constraints.contact_models import Constraint
from screw_dynamics_ros.core.constraints.kinetostatic_filter import (
    filter_matrix,
    filter_twist,
    joint_rows,
)
from screw_dynamics_ros.core.textbook.constraints.contact_wrenches import edge_face
from support import arm_321
from support.contacts import CONTACTS


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def M(rng):
    A = rng.normal(size=(6, 6))
    return A @ A.T + np.eye(6)


@pytest.mark.parametrize('name', CONTACTS)
def test_filter_is_a_projection(name, M, rng):
    """C-046: reciprocal to 1e-12, idempotent, nearest in the metric."""
    contact, _ = CONTACTS[name]
    F = filter_matrix(contact, M)
    np.testing.assert_allclose(F @ F, F, atol=1e-12)
    assert np.abs(contact.wrenches.T @ F).max() < 1e-12
    np.testing.assert_allclose(F @ contact.twists, contact.twists, atol=1e-12)
    np.testing.assert_allclose(M @ F, (M @ F).T, atol=1e-10)  # orthogonal in M
    t = rng.normal(size=6)
    equation = Constraint.bearing(contact.wrenches)
    filtered = filter_twist(t, equation, M)
    np.testing.assert_allclose(filtered.twist, F @ t, atol=1e-12)
    np.testing.assert_allclose(filtered.twist + filtered.removed, t, atol=1e-15)


def test_the_formula_of_the_book(M, rng):
    """C-046: 1 - M^-1 Q^T (Q M^-1 Q^T)^-1 Q, where Q has full rank."""
    contact = CONTACTS['edge_face'][0]
    Q, M_inv = contact.wrenches.T, np.linalg.inv(M)
    book = np.eye(6) - M_inv @ Q.T @ np.linalg.inv(Q @ M_inv @ Q.T) @ Q
    np.testing.assert_allclose(filter_matrix(contact, M), book, atol=1e-12)
    assert np.abs(filter_matrix(contact, np.ones(6)) - book).max() > 1e-2  # the metric matters


@pytest.mark.parametrize('name', ['vertex_face', 'edge_face', 'face_face', 'edge_edge'])
def test_unilateral_contacts_let_parting_motions_pass(name, M, rng):
    """C-046: the nearest twist with Q t >= 0; scipy's SLSQP agrees."""
    contact, _ = CONTACTS[name]
    Q = contact.wrenches.T
    pushed = 0
    for _ in range(12):
        t = rng.normal(size=6)
        found = filter_twist(t, contact, M)
        assert (Q @ found.twist > -1e-11).all()
        assert not (contact.violation(found.twist) < -1e-11).any()
        other = minimize(
            lambda x, t=t: (x - t) @ M @ (x - t),
            np.zeros(6),
            jac=lambda x, t=t: 2 * M @ (x - t),
            method='SLSQP',
            constraints=[{'type': 'ineq', 'fun': lambda x: Q @ x, 'jac': lambda x: Q}],
            options={'ftol': 1e-14, 'maxiter': 200},
        ).x
        np.testing.assert_allclose(found.twist, other, atol=1e-5)
        if (Q @ t >= 0).all():
            np.testing.assert_allclose(found.twist, t, atol=1e-12)
            assert not found.pushing.any()
        else:
            assert found.pushing.any()
            pushed += 1
    assert pushed > 2


def test_a_twist_that_is_removed_altogether():
    """What is left is rounding of what was there, not of itself."""
    for name in ('vertex_face', 'edge_face', 'face_face'):
        contact, _ = CONTACTS[name]
        pressing = np.linalg.solve(np.diag(np.arange(1.0, 7.0)), -contact.wrenches[:, 0])
        found = filter_twist(pressing, contact, np.arange(1.0, 7.0))
        assert (contact.wrenches.T @ found.twist > -1e-14).all()
        if name == 'vertex_face':
            assert np.abs(found.twist).max() < 1e-15
    flat = edge_face([-0.1, 0, 0], [0.1, 0, 0], [0, 0, 1])
    found = filter_twist([0, 0.5, 0, 0.2, 0, -0.1], flat, [0.01, 0.01, 0.01, 1, 1, 1])
    np.testing.assert_allclose(found.twist, [0, 0, 0, 0.2, 0, 0], atol=1e-13)
    assert found.pushing.all()


def test_contact_as_rows_of_joint_rates(rng):
    """C-046: Q J v = 0 before the task, and Q J v >= 0 next to bounds."""
    arm = arm_321.arm(backend='reference')
    J = arm.jacobian(arm_321.Q, 'tool', 'body')
    contact = CONTACTS['edge_face'][0]
    t = rng.normal(size=6)
    equations = joint_rows(J, Constraint.bearing(contact.wrenches))
    found = task_priority([TaskLevel(equations, np.zeros(2)), TaskLevel(J, t)])
    assert np.abs(contact.wrenches.T @ J @ found.v).max() < 1e-12
    # six joints, a regular J: the same as the filtered twist
    np.testing.assert_allclose(
        J @ found.v,
        filter_twist(t, Constraint.bearing(contact.wrenches), np.ones(6)).twist,
        atol=1e-9,
    )
    wide = Bounds(np.full(6, -50.0), np.full(6, 50.0), arm.joint_names)
    rows = joint_rows(J, contact, 'table')
    limited = joint_limited_velocity(J, t, wide, inequalities=rows)
    np.testing.assert_allclose(J @ limited.v, filter_twist(t, contact, np.ones(6)).twist, atol=1e-6)


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: filter_twist(np.zeros(6), CONTACTS['vertex_face'][0], np.zeros(6)), 'metric'),
        (lambda: filter_matrix(CONTACTS['vertex_face'][0], np.zeros(6)), 'the twist metric is'),
        (lambda: filter_twist(np.ones(6) * np.nan, CONTACTS['vertex_face'][0], np.ones(6)), 'NaN'),
        (lambda: joint_rows(np.eye(3), CONTACTS['vertex_face'][0]), r'shape \(6, n\)'),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()
