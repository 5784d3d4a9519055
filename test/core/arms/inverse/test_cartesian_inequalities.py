# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inequalities of Cartesian directions in inverse velocity kinematics (C-044)."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.arms.inverse import inequalities
from screw_dynamics_ros.core.arms.inverse.bounded_velocity import joint_limited_velocity
from screw_dynamics_ros.core.arms.inverse.inequalities import Inequalities, TwistLimit
from screw_dynamics_ros.core.arms.inverse.velocity import inverse_velocity
from screw_dynamics_ros.core.arms.inverse.velocity_bounds import Bounds
from support.robots import urdf_path

TOOL = 'panda_hand_tcp'
UP = [[0, 0, 0, 0, 0, 1.0]]


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'), backend='reference')


def rows(A, b):
    return Inequalities(np.asarray(A), np.asarray(b), tuple(f'row{k}' for k in range(len(b))))


def problem(rng, m, n, k):
    """Return a random problem that has a solution: J, V, bounds, rows."""
    J, V = rng.normal(size=(m, n)), 3.0 * rng.normal(size=m)
    inside = rng.uniform(-0.5, 0.5, n)
    names = tuple(f'j{i}' for i in range(n))
    bounds = Bounds(inside - rng.uniform(0, 1, n), inside + rng.uniform(0, 1, n), names)
    A = rng.normal(size=(k, n))
    return J, V, bounds, rows(A, A @ inside + rng.uniform(0, 0.3, k))


@pytest.mark.parametrize(('m', 'n', 'k'), [(6, 7, 4), (6, 6, 12), (3, 9, 20), (6, 3, 5)])
@pytest.mark.parametrize('damping', [None, 0.05])
def test_optimality_conditions_with_rows(m, n, k, damping):
    """C-044: KKT to 1e-8 from their definition, with a linear program for the multipliers."""
    rng = np.random.default_rng(m + n + k)
    acted = 0
    for _ in range(10):
        J, V, bounds, limit = problem(rng, m, n, k)
        found = joint_limited_velocity(J, V, bounds, damping=damping, inequalities=limit)
        v = found.v
        assert found.optimality < 1e-8
        assert (bounds.lower <= v).all()
        assert (v <= bounds.upper).all()
        assert (limit.A @ v <= limit.b + 1e-11).all()
        if damping is None:
            continue
        G = np.concatenate([np.eye(n), -np.eye(n), limit.A])
        h = np.concatenate([bounds.upper, -bounds.lower, limit.b])
        touched = G @ v > h - 1e-9
        g = J.T @ (J @ v - V) + damping**2 * v
        columns = np.concatenate([G[touched].T, np.eye(n), -np.eye(n)], axis=1)
        cost = np.concatenate([np.zeros(touched.sum()), np.ones(2 * n)])
        assert linprog(cost, A_eq=columns, b_eq=-g).fun < 1e-8
        acted += any(name.startswith('row') for name in found.active)
    assert damping is None or acted > 3


def test_nothing_better_is_found():
    """C-044: scipy's SLSQP, another method, ends at the same cost."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        J, V, bounds, limit = problem(rng, 6, 7, 6)
        v = joint_limited_velocity(J, V, bounds, damping=0.1, inequalities=limit).v

        def cost(x, J=J, V=V):
            return (V - J @ x) @ (V - J @ x) + 0.01 * x @ x

        gap = {
            'type': 'ineq',
            'fun': lambda x, rows=limit: rows.b - rows.A @ x,
            'jac': lambda x, rows=limit: -rows.A,
        }
        other = minimize(
            cost,
            v + 0.01,
            method='SLSQP',
            bounds=list(zip(bounds.lower, bounds.upper)),
            constraints=[gap],
            options={'ftol': 1e-15, 'maxiter': 500},
        )
        assert cost(v) <= other.fun * (1 + 1e-8)


def test_rows_that_do_not_act_change_nothing(robot):
    """C-044: equal to damped least squares (C-041) if no bound and no row acts."""
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    V = np.array([0.02, 0, 0.01, 0.03, 0, 0.01])
    limits = [TwistLimit(TOOL, np.eye(6), 1.0, -1.0)]
    found = robot.joint_limited_velocity(q, V, TOOL, dt=0.01, damping=0.2, limits=limits)
    plain = robot.inverse_velocity(q, V, TOOL, damping=0.2)
    np.testing.assert_allclose(found.v, plain.v, atol=1e-12)
    assert found.active == ()


def test_a_speed_limit_of_a_direction(robot):
    """C-044: the hand may rise with 0.1 m/s only; the rest of its twist is kept."""
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    V = np.array([0, 0, 0.1, 0.1, 0, 0.3])
    limits = [TwistLimit(TOOL, UP, 0.1, name='rise')]
    found = robot.joint_limited_velocity(q, V, TOOL, dt=0.01, limits=limits)
    twist = robot.velocity(q, found.v, TOOL)
    np.testing.assert_allclose(twist, [0, 0, 0.1, 0.1, 0, 0.1], atol=1e-9)
    assert found.active == ('rise',)
    assert not found.success
    assert 'rise' in found.message


def test_a_prescribed_component_of_another_link(robot):
    """C-044: lower = upper is an equation; the elbow stays in its plane while the hand moves."""
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    q[:7] += 0.3
    V = np.array([0, 0, 0.02, 0.02, 0.05, 0.0])
    keep = TwistLimit('panda_link4', [[0, 0, 0, 0, 1.0, 0]], 0.0, 0.0)
    free = robot.joint_limited_velocity(q, V, TOOL, dt=0.01)
    held = robot.joint_limited_velocity(q, V, TOOL, dt=0.01, limits=[keep])
    assert abs(robot.velocity(q, free.v, 'panda_link4')[4]) > 1e-3
    assert abs(robot.velocity(q, held.v, 'panda_link4')[4]) < 1e-12
    assert held.success
    np.testing.assert_allclose(robot.velocity(q, held.v, TOOL), V, atol=1e-7)


def test_a_wall_is_never_passed(robot):
    """C-044: speed towards a wall at most distance / dt: it is touched, not passed."""
    q, dt = 0.5 * (robot.limits.lower + robot.limits.upper), 0.02
    height = robot.link_pose(q, TOOL)[2, 3]
    wall = height + 0.05
    for _ in range(40):
        gap = wall - robot.link_pose(q, TOOL)[2, 3]
        limits = [TwistLimit(TOOL, UP, gap / dt * 0.5)]
        found = robot.joint_limited_velocity(q, [0, 0, 0, 0, 0, 0.3], TOOL, dt, limits=limits)
        q = robot.integrate(q, found.v * dt)
        assert robot.link_pose(q, TOOL)[2, 3] < wall
    assert wall - robot.link_pose(q, TOOL)[2, 3] < 1e-4


def test_contradictions_are_named_and_bounds_are_kept():
    """C-044: rows give way to bounds, least in the sense of least squares, and say so."""
    bounds = Bounds(np.array([-1.0, -1.0]), np.array([1.0, 1.0]), ('a', 'b'))
    contradiction = rows([[-1.0, -1.0]], [-3.0])  # a + b >= 3
    found = joint_limited_velocity([[1.0, -1.0]], [0.5], bounds, inequalities=contradiction)
    np.testing.assert_allclose(found.v, [1.0, 1.0], atol=1e-6)
    assert (np.abs(found.v) <= 1.0).all()
    assert not found.success
    assert found.conflicts == ("the limit 'row0' cannot be respected: it is missed by 1",)
    three = Bounds(-np.ones(3), np.ones(3), ('a', 'b', 'c'))
    found = joint_limited_velocity(
        [[0.0, 0.0, 1.0]], [0.5], three, inequalities=rows([[-1.0, -1.0, 0.0]], [-3.0])
    )
    np.testing.assert_allclose(found.v, [1.0, 1.0, 0.5], atol=1e-6)  # the task is still served
    opposed = rows([[1.0, 0.0], [-1.0, 0.0]], [-0.2, -0.2])  # a <= -0.2 and a >= 0.2
    found = joint_limited_velocity([[1.0, 0.0]], [0.5], bounds, inequalities=opposed)
    assert abs(found.v[0]) < 1e-6
    assert len(found.conflicts) == 2


def test_wrong_sets_of_acting_rows_are_mended(monkeypatch):
    """C-044: rows that pull are let go, rows that are missed are added."""
    rng = np.random.default_rng(8)
    mended = 0
    for _ in range(40):
        A, b, G = rng.normal(size=(8, 6)), 3 * rng.normal(size=8), rng.normal(size=(9, 6))
        h = rng.uniform(0, 0.3, 9)
        expected, _ = inequalities.least_distance(A, b, G, h)
        with monkeypatch.context() as patch:
            patch.setattr(inequalities, 'acting_rows', lambda *_: rng.random(9) < 0.4)
            found = inequalities.least_distance(A, b, G, h)
        if found is not None:  # the search may run in a circle, from a set that is far off
            np.testing.assert_allclose(found[0], expected, atol=1e-9)
            mended += 1
    assert mended > 20


def test_degenerate_corners():
    """C-044: more rows meet at the optimum than can be independent."""
    rng = np.random.default_rng(9)
    free = Bounds(np.full(3, -np.inf), np.full(3, np.inf), ('a', 'b', 'c'))
    for _ in range(30):
        A = rng.normal(size=(8, 3))
        A[:, 2] = np.abs(A[:, 2]) + 1.0
        limit = rows(A, A @ [0.2, -0.1, 0.3])  # all meet in one point
        found = joint_limited_velocity(
            np.eye(3), [0.2, -0.1, 5.0], free, damping=1e-3, inequalities=limit
        )
        assert found.optimality < 1e-8
        assert (limit.A @ found.v <= limit.b + 1e-11).all()


def test_without_finite_bounds():
    free = Bounds(np.full(2, -np.inf), np.full(2, np.inf), ('a', 'b'))
    found = joint_limited_velocity(
        np.eye(2), [3.0, 1.0], free, inequalities=rows([[1.0, 1.0]], [1.0])
    )
    np.testing.assert_allclose(found.v, [1.5, -0.5], atol=1e-9)
    plain = inverse_velocity(np.eye(2), [3.0, 1.0]).v
    np.testing.assert_allclose(plain, [3.0, 1.0])


def test_refusals(robot):
    q = robot.neutral()
    bounds = Bounds(np.full(2, -1.0), np.full(2, 1.0), ('a', 'b'))
    with pytest.raises(ArgumentError, match='need rows'):
        joint_limited_velocity(np.eye(2), [1, 1], bounds, inequalities=rows(np.eye(3), np.ones(3)))
    with pytest.raises(ArgumentError, match='NaN'):
        joint_limited_velocity(
            np.eye(2), [1, 1], bounds, inequalities=rows(np.eye(2), [np.nan, 0.0])
        )
    for limit, message in [
        (TwistLimit(TOOL, np.eye(3)), 'must have shape'),
        (TwistLimit(TOOL, UP, 0.0, 1.0), 'lower > upper'),
        (TwistLimit(TOOL, UP, np.nan), 'must be one number'),
        ('up', 'TwistLimit objects'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            robot.joint_limited_velocity(q, np.zeros(6), TOOL, 0.01, limits=[limit])
