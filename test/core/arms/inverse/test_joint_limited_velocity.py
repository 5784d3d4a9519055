# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint limits in inverse velocity kinematics (C-044): optimal, and never violated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.inverse.bounded_velocity import joint_limited_velocity
from screw_dynamics_ros.core.arms.inverse.velocity import inverse_velocity
from screw_dynamics_ros.core.arms.inverse.velocity_bounds import (
    Bounds,
    JointBounds,
    stopping_velocity,
)
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import AdaptiveDamping
from screw_dynamics_ros.core.tree.multibody_tree import JointLimits
from support.models import random_description
from support.robots import urdf_path

TOOL, DT = 'panda_hand_tcp', 0.01


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('panda'), backend='reference')


@pytest.fixture
def rng():
    return np.random.default_rng(6)


def within(n, size=1.0):
    return Bounds(np.full(n, -size), np.full(n, size), tuple(f'j{k}' for k in range(n)))


# --- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize('shape', [(6, 7), (6, 6), (6, 3), (3, 9)])
def test_optimality_conditions(rng, shape):
    """C-044: KKT to 1e-8, checked here from the definition; scipy's SLSQP finds nothing better."""
    m, n = shape
    A, B = rng.normal(size=(m, m)), rng.normal(size=(n, n))
    C, M, damping = A @ A.T + np.eye(m), B @ B.T + np.eye(n), 0.05
    for _ in range(10):
        J, t, v_0 = rng.normal(size=(m, n)), 3 * rng.normal(size=m), rng.normal(size=n)
        lower, upper = -rng.uniform(0, 1, n), rng.uniform(0, 1, n)
        found = joint_limited_velocity(
            J,
            t,
            Bounds(lower, upper, within(n).names),
            joint_metric=M,
            task_metric=C,
            damping=damping,
            secondary=v_0,
        )
        v = found.v
        assert (lower <= v).all()
        assert (v <= upper).all()
        g = -J.T @ C @ (t - J @ v) + damping**2 * M @ (v - v_0)
        free = (lower < v) & (v < upper)
        assert np.abs(g[free]).max(initial=0.0) < 1e-8
        assert (g[v == lower] > -1e-8).all()
        assert (g[v == upper] < 1e-8).all()
        assert set(found.active) == {f'j{k}' for k in np.flatnonzero(~free)}

        def cost(x, J=J, t=t, v_0=v_0):
            return (t - J @ x) @ C @ (t - J @ x) + damping**2 * (x - v_0) @ M @ (x - v_0)

        other = minimize(
            cost,
            np.clip(v_0, lower, upper),
            bounds=list(zip(lower, upper)),
            method='SLSQP',
            options={'ftol': 1e-14, 'maxiter': 300},
        ).x
        assert cost(v) <= cost(other) * (1 + 1e-9)


def test_without_active_bounds_it_is_damped_least_squares(rng):
    """C-044: equal to C-041; and with the least damping to the pseudo-inverse."""
    J, t, M = rng.normal(size=(6, 8)), rng.normal(size=6), np.diag(rng.uniform(1, 2, 8))
    free = within(8, np.inf)
    found = joint_limited_velocity(J, t, free, joint_metric=M, damping=0.3)
    np.testing.assert_allclose(
        found.v, inverse_velocity(J, t, joint_metric=M, damping=0.3).v, atol=1e-12
    )
    least = joint_limited_velocity(J, t, free, joint_metric=M)
    np.testing.assert_allclose(least.v, inverse_velocity(J, t, joint_metric=M).v, atol=1e-9)
    assert least.success
    assert (least.active, least.message) == ((), 'reached')
    adaptive = AdaptiveDamping(0.2, 100.0)
    found = joint_limited_velocity(J, t, free, damping=adaptive)
    np.testing.assert_allclose(found.v, inverse_velocity(J, t, damping=adaptive).v, atol=1e-12)


def test_other_joints_compensate(robot, rng):
    """A joint at its bound does not spoil the task while the others can do it."""
    q = 0.5 * (robot.limits.lower + robot.limits.upper) + 0.01
    twist = robot.velocity(q, 0.5 * robot.limits.velocity * rng.uniform(-1, 1, 8), TOOL)
    plain = robot.inverse_velocity(q, twist, TOOL).v
    k = int(np.argmax(np.abs(plain)))
    low, high = np.full(8, -np.inf), np.full(8, np.inf)
    low[k], high[k] = -0.5 * abs(plain[k]), 0.5 * abs(plain[k])
    J = robot.jacobian(q, TOOL)
    found = joint_limited_velocity(J, twist, Bounds(low, high, robot.joint_names))
    assert found.success
    assert found.active == (robot.joint_names[k],)
    np.testing.assert_allclose(J @ found.v, twist, atol=1e-7)
    clipped = np.clip(plain, low, high)
    assert np.abs(J @ clipped - twist).max() > 1e-2  # what clipping does


def test_fixed_joints_and_equal_bounds(rng):
    """Bounds may coincide: the joint then moves as they say."""
    J, t = rng.normal(size=(3, 4)), rng.normal(size=3)
    lower, upper = np.array([0.2, -9, -9, 0.0]), np.array([0.2, 9, 9, 0.0])
    found = joint_limited_velocity(J, t, Bounds(lower, upper, within(4).names), damping=1e-3)
    assert found.v[0] == 0.2
    assert found.v[3] == 0.0
    rest = np.linalg.lstsq(J[:, 1:3], t - 0.2 * J[:, 0], rcond=None)[0]
    np.testing.assert_allclose(found.v[1:3], rest, atol=1e-4)
    all_fixed = joint_limited_velocity(J, t, Bounds(upper, upper, within(4).names))
    np.testing.assert_array_equal(all_fixed.v, upper)


def test_residual_and_reason(robot):
    """Too fast a twist is said, with the joints at their bounds."""
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    found = robot.joint_limited_velocity(q, [0, 0, 0, 50.0, 0, 0], TOOL, DT)
    assert not found.success
    assert found.active
    assert 'is left because these joints are at their bounds' in found.message
    assert all(name in found.message for name in found.active)
    assert found.optimality < 1e-8
    assert (np.abs(found.v) <= robot.limits.velocity).all()
    residual = [0, 0, 0, 50.0, 0, 0] - robot.velocity(q, found.v, TOOL)
    np.testing.assert_allclose(found.residual, residual, atol=1e-9)


# --- bounds ---------------------------------------------------------------------------------------


def braking_distance(v, a, dt):
    """Return how far a joint moves that changes its velocity by at most a dt in each sample."""
    distance = 0.0
    while v > 0:
        distance += v * dt
        v -= a * dt
    return distance


@given(distance=st.floats(0.0, 10.0), a=st.floats(0.1, 100.0), dt=st.floats(1e-3, 0.1))
@settings(max_examples=100, derandomize=True)
def test_stopping_velocity_is_the_largest_one_that_stops(distance, a, dt):
    v = float(stopping_velocity(np.array([distance]), np.array([a]), dt)[0])
    if v < a * dt * 1e4:
        assert braking_distance(v, a, dt) == pytest.approx(distance, abs=1e-9, rel=1e-9)
        if distance > 1e-6:
            assert braking_distance(1.001 * v, a, dt) > distance


def test_stopping_velocity_limits():
    """d / dt without a limit of acceleration, nearly sqrt(2 a d) far away, infinite without end."""
    inf, one = np.array([np.inf]), np.array([1.0])
    assert stopping_velocity(one, inf, 0.1) == 10.0
    assert stopping_velocity(one, one, 1e-4)[0] == pytest.approx(np.sqrt(2), rel=1e-4)
    assert stopping_velocity(inf, one, 0.1)[0] == np.inf
    assert stopping_velocity(inf, inf, 0.1)[0] == np.inf


@given(seed=st.integers(0, 10_000), a=st.floats(0.5, 50.0))
@settings(max_examples=40, derandomize=True)
def test_limits_are_never_violated(robot, seed, a):
    """C-044: whatever is asked for, position, velocity and acceleration limits hold in each sample.

    From rest within the range there is never a conflict either.
    """
    rng, limits = np.random.default_rng(seed), JointBounds(robot.tree, DT, a)
    lower, upper, fastest = robot.limits.lower, robot.limits.upper, robot.limits.velocity
    q, v = rng.uniform(lower, upper), np.zeros(8)
    for _ in range(60):
        bounds = limits.at(q, v)
        assert bounds.conflicts == ()
        assert (bounds.lower <= bounds.upper).all()
        wanted = 10 * rng.normal(size=8) if rng.random() < 0.3 else np.sign(rng.normal(size=8)) * 99
        new = np.clip(wanted, bounds.lower, bounds.upper)
        assert (np.abs(new - v) <= a * DT * (1 + 1e-9)).all()
        assert (np.abs(new) <= fastest * (1 + 1e-12)).all()
        q, v = q + new * DT, new
        assert (q >= lower - 1e-12).all()
        assert (q <= upper + 1e-12).all()


def test_bound_of_continuous_time_leads_into_a_conflict():
    """sqrt(2 a d), the bound of continuous time, cannot be kept in samples."""
    a, d = 10.0, 0.5
    v = np.sqrt(2 * a * d)
    later = d - v * DT
    assert np.sqrt(2 * a * later) < v - a * DT - 1e-4  # more braking than there is
    v = stopping_velocity(np.array([d]), np.array([a]), DT)[0]
    assert stopping_velocity(np.array([d - v * DT]), np.array([a]), DT)[0] >= v - a * DT - 1e-12


def test_conflicts_are_said(robot):
    """A joint beyond its range comes back; one that is too fast brakes as hard as it may."""
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    q = middle.copy()
    q[1] = robot.limits.upper[1] + 0.001
    found = robot.joint_limited_velocity(q, np.zeros(6), TOOL, DT)
    assert not found.success
    assert found.conflicts[0].startswith('panda_joint2 is outside of its range')
    assert found.v[1] == pytest.approx(-0.1)
    q[1] = robot.limits.upper[1] + 1.0
    far = robot.joint_limited_velocity(q, np.zeros(6), TOOL, DT)
    assert far.v[1] == pytest.approx(-robot.limits.velocity[1])

    q = middle.copy()
    q[1] = robot.limits.upper[1] - 0.01
    v = np.zeros(8)
    v[1] = 2.0
    found = robot.joint_limited_velocity(
        q, np.zeros(6), TOOL, DT, previous=v, acceleration_limit=5.0
    )
    assert not found.success
    assert found.conflicts == (
        'panda_joint2 cannot change its velocity 2 fast enough to respect its limits',
    )
    assert found.v[1] == pytest.approx(2.0 - 5.0 * DT)


@pytest.mark.parametrize('side', [-1, 1])
def test_a_joint_returns_no_faster_than_it_can_stop(side):
    """Back into a narrow range from either side, without leaving it on the other."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    free = np.full(2, np.inf)
    narrow = JointLimits(np.array([-0.01, -3.0]), np.array([0.01, 3.0]), 5 + np.zeros(2), free)
    bounds = JointBounds(robot.tree, DT, 2.0, narrow)
    q, v = np.array([side * 0.5, 0.0]), np.zeros(2)
    for _ in range(200):
        now = bounds.at(q, v)
        assert (now.lower <= now.upper).all()
        v = np.array([now.upper[0] if side > 0 else now.lower[0], 0.0])  # as slow as allowed
        q = q + v * DT
        assert q[0] * side > -0.01 - 1e-12
    assert abs(q[0]) <= 0.01 + 1e-12


def test_free_bodies_balls_and_continuous_joints_have_no_bounds():
    robot = Robot.from_urdf(urdf_path('planar_2r'), floating_base=True, backend='reference')
    q = np.zeros(robot.nq)
    q[6] = 1.0
    bounds = JointBounds(robot.tree, DT).at(q)
    assert np.isinf(bounds.lower[:6]).all()
    assert bounds.names == ('base',) * 6 + robot.joint_names
    robot = Robot(random_description(4, 4, ('ball', 'revolute')), backend='reference')
    bounds = JointBounds(robot.tree, DT).at(robot.neutral())
    kinds = {joint.name: joint.kind for joint in robot.description.joints}
    is_ball = [kinds[name].has_quaternion for name in bounds.names]
    assert sorted(is_ball) == 2 * [False] + 6 * [True]
    np.testing.assert_array_equal(np.isinf(bounds.lower), is_ball)


# --- accelerations --------------------------------------------------------------------------------


def test_acceleration(robot, rng):
    """Accelerations reach the task if they may, and lead to velocities within their bounds."""
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    v = 0.3 * rng.normal(size=8) * [1, 1, 1, 1, 1, 1, 1, 0]
    A = np.array([0.1, -0.2, 0.3, 0.5, -0.4, 0.2])
    found = robot.joint_limited_acceleration(q, v, A, TOOL, DT)
    assert found.success
    np.testing.assert_allclose(robot.acceleration(q, v, found.v, TOOL), A, atol=1e-6)
    for _ in range(20):
        found = robot.joint_limited_acceleration(
            q, v, 1000 * rng.normal(size=6), TOOL, DT, acceleration_limit=8.0
        )
        assert not found.success
        assert (np.abs(found.v) <= 8.0 + 1e-9).all()
        v = v + found.v * DT
        q = q + v * DT
        assert (np.abs(v) <= robot.limits.velocity + 1e-9).all()
        assert (q <= robot.limits.upper + 1e-9).all()
        assert (q >= robot.limits.lower - 1e-9).all()


# --- what is refused ------------------------------------------------------------------------------


def test_what_is_refused(robot):
    q, zero = 0.5 * (robot.limits.lower + robot.limits.upper), np.zeros(6)
    for dt in (0.0, -1.0, np.nan):
        with pytest.raises(ArgumentError, match='sampling time dt must be a finite positive'):
            robot.joint_limited_velocity(q, zero, TOOL, dt)
    with pytest.raises(ArgumentError, match='limits of acceleration must be positive'):
        robot.joint_limited_velocity(q, zero, TOOL, DT, acceleration_limit=0.0)
    with pytest.raises(ArgumentError, match='limits of acceleration must be'):
        robot.joint_limited_velocity(q, zero, TOOL, DT, acceleration_limit=np.ones(3))
    with pytest.raises(ArgumentError, match=r'previous velocity must have shape \(8,\)'):
        robot.joint_limited_velocity(q, zero, TOOL, DT, previous=np.zeros(3))
    with pytest.raises(ArgumentError, match='damping must be a finite positive number, got 0'):
        robot.joint_limited_velocity(q, zero, TOOL, DT, damping=0.0)
    with pytest.raises(ArgumentError, match='task metric is singular'):
        robot.joint_limited_velocity(q, zero, TOOL, DT, task_metric=np.zeros(6))
    with pytest.raises(ArgumentError, match='twist holds NaN'):
        robot.joint_limited_velocity(q, zero * np.nan, TOOL, DT)
    with pytest.raises(UnknownNameError, match="no link named 'tool'"):
        robot.joint_limited_velocity(q, zero, 'tool', DT)
    with pytest.raises(ArgumentError, match='bounds are for 3 joint rates, J has 2'):
        joint_limited_velocity(np.eye(2), np.zeros(2), within(3))
