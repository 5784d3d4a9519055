# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Constraints on motion (B-102 to B-104)."""

import numpy as np
import pytest

from screw_dynamics_ros.core.constraints.contact_models import (
    Constraint,
    free_motions,
    limit_reactions,
)
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import screw_systems, screws
from support.lie import close


def rank(A):
    return np.linalg.matrix_rank(A, tol=1e-9)


# --- one body --------------------------------------------------------------------------------


@pytest.mark.parametrize('freedom', range(7))
def test_allowed_twists_or_borne_wrenches(freedom):
    """B-102: given either, the other is reciprocal to it, and the dimensions add to six."""
    A = np.random.default_rng(freedom).normal(size=(6, freedom))
    by_twists = Constraint.allowing(A)
    by_wrenches = Constraint.bearing(by_twists.wrenches)
    for constraint in (by_twists, by_wrenches):
        assert constraint.freedom == freedom
        assert constraint.twists.shape[1] + rank(constraint.wrenches) == 6
        close(constraint.wrenches.T @ constraint.twists, np.zeros((6 - freedom, freedom)))
        assert screw_systems.same_system(constraint.twists, A)
        close(constraint.violation((A @ np.ones(freedom))[None]), np.zeros((1, 6 - freedom)), 1e-11)


def test_complement_of_the_complement():
    """B-102: twists, wrenches, and twists again span the same."""
    A = np.random.default_rng(8).normal(size=(6, 3))
    A[:, 2] = A[:, 0] - 2 * A[:, 1]
    again = Constraint.bearing(Constraint.allowing(A).wrenches).twists
    assert again.shape == (6, 2)
    assert screw_systems.same_system(again, A)


def test_joints():
    """B-102: the five wrenches of a hinge do no work on it; a spherical joint bears forces."""
    hinge = screws.unit_screw([1, 2, 2], [0.1, 0.2, 0.3])
    constraint = Constraint.allowing(hinge[:, None])
    close(screws.power(constraint.wrenches.T, 3 * hinge), np.zeros(5))
    spherical = Constraint.allowing(screws.unit_screw(np.eye(3), [0.1, 0.2, 0.3]).T)
    force = np.array([1.0, -2, 0.5])
    through_center = np.concatenate([np.cross([0.1, 0.2, 0.3], force), force])
    assert rank(np.column_stack([spherical.wrenches, through_center])) == 3
    assert rank(np.column_stack([spherical.wrenches, through_center + np.eye(6)[0]])) == 4


def test_vertex_on_face():
    """B-103: holonomic and unilateral: only motion into the face is against it."""
    n, p = np.array([0, 0, 1.0]), np.array([0.3, 0.1, 0])
    contact = Constraint.bearing(np.concatenate([np.cross(p, n), n])[:, None], unilateral=True)
    assert contact.freedom == 5
    assert contact.holonomic
    assert contact.unilateral
    rolling = screws.unit_screw([1, 0, 0], p)  # about an axis through the vertex
    dipping = screws.unit_screw([1, 0, 0], p + [0, 1, 0])
    for V, expected in (
        (rolling, 0),
        ([0, 0, 0, 5, 0, 0], 0),
        ([0, 0, 0, 0, 0, 2], 0),
        ([0, 0, 0, 0, 0, -2], -2),
        (dipping, -1),
    ):
        close(contact.violation(V), [expected])
    glued = Constraint.bearing(contact.wrenches)
    close(glued.violation([0, 0, 0, 0, 0, 2]), [2])


def test_rolling_wheel_is_not_holonomic():
    """B-103: it bears a force across, at every moment, and yet reaches a place beside it.

    The bracket of its two motions, roll and turn, is a sideways motion, which is neither.
    """
    roll, turn = np.array([0, 0, 0, 1.0, 0, 0]), np.array([0, 0, 1.0, 0, 0, 0])
    planar = np.eye(6)[:, [0, 1, 5]]  # the plane bears these
    wheel = Constraint.bearing(np.column_stack([planar, np.eye(6)[:, 4]]), holonomic=False)
    assert wheel.freedom == 2
    assert not wheel.holonomic
    close(wheel.violation([roll, turn]), np.zeros((2, 4)))
    sideways = screws.motor_product(turn, roll)
    assert np.abs(wheel.violation(sideways)).max() > 0.9
    q = np.zeros(3)  # park: a small square of motions ends beside the start
    for v, w in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        for _ in range(100):
            q = q + 1e-3 * np.array([v * np.cos(q[2]), v * np.sin(q[2]), w])
    assert abs(q[1]) > 5e-3


def test_bad_constraints_are_refused():
    """Bad input: shapes, NaN."""
    with pytest.raises(ArgumentError, match=r'Constraint\.bearing: wrenches .* got \(6,\)'):
        Constraint.bearing(np.ones(6))
    with pytest.raises(ArgumentError, match='NaN'):
        Constraint.allowing(np.full((6, 1), np.nan))
    with pytest.raises(ArgumentError, match=r'V .* got \(3,\)'):
        Constraint.allowing(np.eye(6)[:, :1]).violation(np.ones(3))


# --- joint limits ----------------------------------------------------------------------------


def test_limits_act_only_when_pushed_into():
    """B-103: at the limit or beyond, against a torque into it; then they bear all of it."""
    lower, upper = [-1.0, -1.0, -np.inf], [1.0, 1.0, np.inf]
    cases = [
        ([1, 1, 1], [5, -5, 5], [-5, 0, 0]),
        ([-1, -1.1, -1], [5, -5, -5], [0, 5, 0]),
        ([0.999, 1.2, 1e9], [5, 5, 5], [0, -5, 0]),
        ([1, -1, 0], [1e-9, -1e-9, 0], [-1e-9, 1e-9, 0]),
    ]
    for q, tau, expected in cases:
        close(limit_reactions(q, tau, lower, upper), expected, 0)
    q, tau, expected = (np.array(x) for x in zip(*cases, strict=True))
    close(limit_reactions(q, tau, lower, upper), expected, 0)
    close(limit_reactions(q, tau, lower, upper, tolerance=0.01)[2], [-5, -5, 0], 0)
    reaction = limit_reactions(q, tau, lower, upper)
    assert (reaction * tau <= 0).all()
    assert np.isnan(limit_reactions([np.nan], [1.0], [-1.0], [1.0])).all()
    with pytest.raises(ArgumentError, match=r'lower\[1\] = 2 is above upper\[1\] = 1'):
        limit_reactions([0, 0], [0, 0], [0, 2], [1, 1])


# --- Pfaffian constraints --------------------------------------------------------------------


@pytest.mark.parametrize(('n', 'm'), [(3, 1), (5, 2), (6, 6), (4, 6), (4, 0)])
def test_ideal_constraint_forces_do_no_work(n, m):
    """B-104, (4.91): tau_c = A lambda has no power on any v with A^T v = 0."""
    rng = np.random.default_rng(n + m)
    A = rng.normal(size=(n, m))
    V = free_motions(A)
    assert V.shape == (n, n - min(n, m))
    close(A.T @ V, np.zeros((m, V.shape[1])))
    close(V.T @ V, np.eye(V.shape[1]))
    close((A @ rng.normal(size=m)) @ V, np.zeros(V.shape[1]))


def test_redundant_constraints():
    """B-104: columns that depend on each other constrain once."""
    a = np.array([[1.0], [2], [3]])
    assert free_motions(np.hstack([a, -2 * a])).shape == (3, 2)
    assert free_motions(np.zeros((3, 2))).shape == (3, 3)
    with pytest.raises(ArgumentError, match='finite matrix'):
        free_motions([[np.nan]])


def test_printed_condition_on_constraint_forces_fails():
    """(4.92): printed A^T tau_c = 0; the force of a wheel, A lambda, does not satisfy it."""
    heading = 0.3
    A = np.array([[-np.sin(heading)], [np.cos(heading)], [0]])
    sideways = A @ [7.0]
    close(free_motions(A).T @ sideways, np.zeros(2))
    assert np.abs(A.T @ sideways) > 6
    satisfying = free_motions(A) @ [1.0, 0]  # which pushes along a free motion, and so does work
    close(A.T @ satisfying, [0])
    assert np.abs(free_motions(A).T @ satisfying).max() > 0.9


def test_d_alembert():
    """B-104, 4.13.3: applied and inertial forces of a bead on a hoop do no virtual work.

    Of the pendulum's closed form, r = (sin u, -cos u), u'' = -g sin u.
    """
    m, g, u, u_dot = 2.0, 9.81, 0.7, 1.3
    u_ddot = -g * np.sin(u)
    r = np.array([np.sin(u), -np.cos(u)])
    tangent = np.array([np.cos(u), np.sin(u)])
    a = u_ddot * tangent - u_dot**2 * r
    A = r[:, None]  # r . v = 0
    free = free_motions(A)
    effective = np.array([0, -m * g]) - m * a
    close(free.T @ effective, [0])
    reaction, *_ = np.linalg.lstsq(A, -effective, rcond=None)
    close(reaction, [-m * (g * np.cos(u) + u_dot**2)])
