# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Policies near singularities (C-024): limits hold, and what is done is what is said."""

import numpy as np
import pytest

from screw_dynamics_ros.core import AdaptiveDamping, ArgumentError, Robot
from screw_dynamics_ros.core.arms.inverse.singularity_policies import (
    Deviate,
    ScaleSpeed,
    SingularityStatus,
    Stop,
    guarded_velocity,
)
from screw_dynamics_ros.core.arms.inverse.velocity_bounds import Bounds
from support import arm_321
from support.planar_2r import planar_2r
from support.robots import urdf_path

#: Names, and the largest joint rate of the 321 arm [rad/s].
NAMES, FAST = tuple(f'joint{k}' for k in range(1, 7)), 1.5
LIMITS = Bounds(np.full(6, -FAST), np.full(6, FAST), NAMES)
DT = 0.02

POLICIES = [ScaleSpeed(), Stop(0.02, 0.1), Deviate(AdaptiveDamping(0.1, 0.05))]


@pytest.fixture(scope='module')
def arm():
    return arm_321.arm(backend='reference')


def along_a_line(arm, policy, offset, steps=60):
    """Move the wrist of the 321 arm on a line past q5 = 0, `offset` away; return the states.

    At q5 = 0 the forearm and the hand are aligned: the rotation about their common normal is lost.
    """
    q = np.array([0.3, 0.4, 0.9, 0.0, 0.35, 0.2])
    q[3] = offset
    twist = np.zeros(6)
    J = arm.jacobian(q, 'tool')
    twist[:] = J @ [0, 0, 0, 0, -1.0, 0]  # straight towards q5 = 0
    twist[3:] = 0.0
    states = []
    for _ in range(steps):
        status = guarded_velocity(arm, q, twist, 'tool', LIMITS, policy)
        q = q + DT * status.v
        states.append(status)
    return q, states


@pytest.mark.parametrize('policy', POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize('offset', [0.0, 0.03, 0.3])
def test_limits_hold_through_the_wrist_singularity(arm, policy, offset):
    """C-024: rates never exceed, what is executed is what is reported."""
    _, states = along_a_line(arm, policy, offset)
    for status in states:
        assert (np.abs(status.v) <= FAST).all()
        gap = status.executed - status.scale * status.commanded
        np.testing.assert_allclose(status.deviation, gap, atol=1e-12)
        assert 0.0 <= status.scale <= 1.0
        assert status.message
        if not isinstance(policy, Deviate):
            assert np.abs(status.deviation).max() < 1e-6
        elif status.state == 'followed':
            assert np.abs(status.deviation).max() < 1e-5
    assert min(status.smallest for status in states) < 0.1


def test_undamped_rates_would_exceed(arm):
    """What the policies are for: near q5 = 0 joints 4 and 6 would have to be far too fast."""
    fastest = 0.0
    _, states = along_a_line(arm, ScaleSpeed(), 0.03)
    for status in states:
        if status.scale:
            fastest = max(fastest, np.abs(status.v).max() / status.scale)
    assert fastest > 2 * FAST
    assert {status.state for status in states} >= {'followed', 'slowed'}
    assert any(status.limiting and status.limiting[0] in ('joint4', 'joint6') for status in states)


def test_scale_is_the_formula(arm):
    """C-024: s = min(1, min qdot_max / |qdot|)."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        q, twist = rng.uniform(-2, 2, 6), rng.normal(size=6)
        v = np.linalg.solve(arm.jacobian(q, 'tool'), twist)
        status = guarded_velocity(arm, q, twist, 'tool', LIMITS, ScaleSpeed(0.0))
        scale = min(1.0, (FAST / np.abs(v)).min())
        assert status.scale == pytest.approx(scale, rel=1e-6)
        np.testing.assert_allclose(status.v, scale * v, rtol=1e-5, atol=1e-9)
        slow = [NAMES[k] for k in np.flatnonzero(np.abs(v) >= np.abs(v).max() * (1 - 1e-12))]
        assert status.limiting == (tuple(slow) if scale < 1.0 else ())


def test_stop_stops_and_can_be_left():
    """C-024: at rest before the singularity, at full speed away from it."""
    robot = Robot(planar_2r(), backend='reference')
    policy, limits = Stop(0.1, 0.3), Bounds(np.full(2, -9.0), np.full(2, 9.0), ('j1', 'j2'))
    q = np.array([0.0, 0.8])

    def status(speed):
        tip = robot.link_pose(q, 'tip')[:2, 3]
        outward = speed * tip / np.linalg.norm(tip)
        rows = [3, 4]
        return policy.follow(
            SingularityStatus(
                robot.jacobian(q, 'tip')[rows],
                outward,
                limits,
                lambda: robot.jacobian_partials(q, 'tip')[rows],
            )
        )

    for _ in range(150):
        q = q + 0.05 * status(0.5).v
    at_end = status(0.5)
    assert at_end.smallest == pytest.approx(0.1, abs=0.01)
    assert at_end.scale < 0.05
    assert 'singular value' in at_end.message
    back = status(-0.5)
    assert (back.scale, back.state) == (1.0, 'followed')
    assert np.abs(back.deviation).max() < 1e-9


def test_lost_directions_stop_the_scaled_motion():
    """C-024: no scale keeps a direction that is lost; deviating serves the rest."""
    robot = Robot(planar_2r(), backend='reference')
    J = robot.jacobian(np.zeros(2), 'tip')[[3, 4]]
    limits = Bounds(np.full(2, -9.0), np.full(2, 9.0), ('j1', 'j2'))
    situation = SingularityStatus(J, np.array([0.3, 0.4]), limits)
    stopped = ScaleSpeed().follow(situation)
    assert (stopped.state, stopped.scale) == ('stopped', 0.0)
    assert '0.3 of the twist is in a direction that is lost' in stopped.message
    assert not stopped.v.any()
    deviated = Deviate(1e-3).follow(situation)
    np.testing.assert_allclose(deviated.executed, [0.0, 0.4], atol=1e-6)
    np.testing.assert_allclose(deviated.deviation, [-0.3, 0.0], atol=1e-6)
    assert deviated.state == 'deviated'


def test_braking_comes_before_the_path():
    """A joint that must keep some speed for one more sample does, and the deviation shows it."""
    bounds = Bounds(np.array([0.2, -1.0]), np.array([0.5, 1.0]), ('a', 'b'), ('a cannot stop',))
    status = ScaleSpeed().follow(SingularityStatus(np.eye(2), np.array([-1.0, 0.5]), bounds))
    assert (status.v == [0.2, 0.0]).all()
    assert status.scale == 0.0
    np.testing.assert_allclose(status.deviation, [0.2, 0.0])
    assert status.message.startswith('a cannot stop')


@pytest.mark.parametrize('policy', POLICIES, ids=lambda policy: type(policy).__name__)
def test_closed_loop_with_a_policy(policy):
    """C-024, C-048: a target beyond the reach; limits hold, the status says what happens."""
    robot, tool = Robot.from_urdf(urdf_path('panda'), backend='reference'), 'panda_hand_tcp'
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    loop = robot.closed_loop(tool, q, dt=0.02, gain=10.0, policy=policy)
    target = robot.link_pose(q, tool)
    target[0, 3] += 0.03
    for _ in range(80):
        step = loop.step(target)
        assert (np.abs(step.v) <= robot.limits.velocity).all()
        assert (step.status.state == 'followed') is step.success
    assert np.abs(step.error).max() < 1e-5
    target[0, 3] = 2.0
    for _ in range(60):
        step = loop.step(target)
        assert (np.abs(step.v) <= robot.limits.velocity).all()
        assert np.isfinite(step.q).all()
    assert not step.success
    assert step.status.message == step.message
    assert robot.closed_loop(tool, q, dt=0.02).step(target).status is None


def test_by_robot():
    """The limits are those of the description, positions included."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    status = robot.guarded_velocity(
        q, [0, 0, 0, 5.0, 0, 0], 'panda_hand_tcp', 0.01, ScaleSpeed(), representation='body'
    )
    assert (np.abs(status.v) <= robot.limits.velocity).all()
    assert status.state == 'slowed'
    np.testing.assert_allclose(
        robot.velocity(q, status.v, 'panda_hand_tcp', 'body'),
        [0, 0, 0, 5.0 * status.scale, 0, 0],
        atol=1e-6,
    )


def test_refusals(arm):
    q = np.zeros(6)

    def closed_loop(policy):
        return arm.closed_loop('tool', q, dt=0.02, policy=policy)

    for make, message in [
        (lambda: Stop(0.2, 0.1), 'stop < slow'),
        (lambda: Stop(0.0, 0.1), 'of rest'),
        (lambda: Deviate(0.0), 'damping'),
        (lambda: ScaleSpeed(-1.0), 'slowest'),
        (lambda: SingularityStatus(np.eye(6), np.zeros(5), LIMITS), 'the twist must have shape'),
        (lambda: SingularityStatus(np.eye(2), np.zeros(2), LIMITS), '6 joint rates, J has 2'),
        (lambda: closed_loop('stop'), r"policy must be ScaleSpeed\(\).*got 'stop'"),
        (lambda: closed_loop(ScaleSpeed), 'policy must be'),
        (lambda: arm.guarded_velocity(q, np.zeros(6), 'tool', 0.01, None), 'policy must be'),
        (lambda: SingularityStatus(np.eye(6) * np.nan, np.zeros(6), LIMITS), 'NaN'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            make()
