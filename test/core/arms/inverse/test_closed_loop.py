# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed-loop inverse kinematics of streams of targets (C-048, C-049)."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.inverse.closed_loop import CoincidentFrames
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.lie import screws, se3
from support import arm_321
from support.robots import urdf_path

DT = 1e-3


@pytest.fixture(scope='module')
def arm():
    return arm_321.arm(backend='python')


def moving_target(C, V, t):
    """Return where a target with body-fixed twist V is at time t."""
    return C @ se3.exp(V * t)


def test_error_decays_with_the_gain(arm):
    """C-048: e' = -K e: every component by (1 - K dt) a sample, to second order in dt."""
    for gain in (5.0, 50.0):
        loop = arm.closed_loop('tool', arm_321.Q, DT, gain=gain)
        target = arm.link_pose(arm_321.Q, 'tool') @ se3.exp([0.02, -0.03, 0.01, 0.01, 0.02, -0.015])
        first = loop.step(target).error[0]
        for _ in range(20):
            last = loop.step(target).error[0]
        np.testing.assert_allclose(last, (1 - gain * DT) ** 20 * first, rtol=0.04, atol=1e-5)


def test_error_reported_is_the_logarithm(arm):
    loop = arm.closed_loop('tool', arm_321.Q, DT)
    xi = np.array([0.3, -0.5, 0.2, 0.1, 0.05, -0.1])
    step = loop.step(arm.link_pose(arm_321.Q, 'tool') @ se3.exp(xi))
    np.testing.assert_allclose(step.error[0], xi, atol=1e-12)


@pytest.mark.parametrize('representation', ['body', 'spatial', 'hybrid', 'mixed'])
def test_feed_forward_leaves_no_lag(arm, representation):
    """C-048: with the twist of the target the lag is of order dt^2, without it V / K."""
    V, gain = np.array([0.2, -0.1, 0.3, 0.1, 0.05, -0.1]), 20.0
    start = arm.link_pose(arm_321.Q, 'tool')
    plain, fed = (arm.closed_loop('tool', arm_321.Q, DT, gain=gain) for _ in range(2))
    for k in range(160):
        C = moving_target(start, V, k * DT)
        ahead = screws.convert_twist(V, C, 'body', representation)
        lagging, exact = plain.step(C), fed.step(C, ahead, representation=representation)
    np.testing.assert_allclose(lagging.error[0], V / gain, rtol=0.05, atol=1e-3)
    assert np.abs(exact.error).max() < 1e-4


def test_feed_forward_belongs_to_the_target(arm):
    """C-048: while the target moves, its error decays along one screw, all components alike.

    With the book's t_d + K e, the twist of the target not transformed by the error, it does not.
    """
    V, xi = np.array([0.0, 0.0, 2.0, 0.5, 0.0, 0.0]), np.array([0.2, 0.3, -0.2, 0.1, -0.1, 0.05])
    gain, dt, steps = 10.0, 1e-3, 150
    start = arm.link_pose(arm_321.Q, 'tool') @ se3.exp(xi)
    loop = arm.closed_loop('tool', arm_321.Q, dt, gain=gain)
    printed, C = None, arm.link_pose(arm_321.Q, 'tool')
    for k in range(steps):
        target = moving_target(start, V, k * dt)
        error = loop.step(target, V, representation='body').error[0]
        printed = se3.log(se3.inverse(C) @ target)
        C = C @ se3.exp(dt * (V + gain * printed))
    expected = np.exp(-gain * (steps - 1) * dt) * xi
    np.testing.assert_allclose(error, expected, atol=2e-3)
    assert np.abs(printed - expected).max() > 1e-2


def test_limits_hold_while_the_target_runs_away():
    """C-048 with C-044: bounded, reported, and back on the target when that can be reached."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='python')
    tool = 'panda_hand_tcp'
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    loop = robot.closed_loop(tool, q, 0.01, gain=4.0, acceleration_limit=10.0)
    home = robot.link_pose(q, tool)
    away = home.copy()
    away[:3, 3] += [0.0, 0.2, 0.0]
    previous = np.zeros(robot.nv)
    reasons = set()
    for k in range(200):
        step = loop.step(away if k < 100 else home)
        reasons.add(step.success)
        assert (step.q >= robot.limits.lower - 1e-12).all()
        assert (step.q <= robot.limits.upper + 1e-12).all()
        assert (np.abs(step.v) <= robot.limits.velocity + 1e-9).all()
        assert (np.abs(step.v - previous) <= 10.0 * 0.01 + 1e-9).all()
        if k == 5:
            assert not step.success
            assert step.active
            assert 'at their bounds' in step.message
        previous = step.v
    for _ in range(120):
        step = loop.step(home)
    assert np.abs(step.error).max() < 1e-3
    assert reasons == {True, False}


def test_measured_configuration_closes_the_loop(arm):
    """From a measured q that does not follow exactly, the target is reached all the same."""
    loop = arm.closed_loop('tool', arm_321.Q, DT, gain=200.0)
    target = arm.link_pose(arm_321.Q + 0.1, 'tool')
    measured = arm_321.Q.copy()
    for _ in range(200):
        step = loop.step(target, q=measured)
        measured = measured + 0.7 * (step.q - measured)  # a sluggish robot
    np.testing.assert_allclose(arm.link_pose(measured, 'tool'), target, atol=1e-6)


def test_a_measured_joint_out_of_its_range_comes_back_gently():
    """C-044: at its velocity limit, said in the message; the command does not jump to the limit."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='python')
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    q[1] = robot.limits.upper[1] + 0.5
    step = robot.closed_loop('panda_link8', q, 0.01).step(robot.link_pose(q, 'panda_link8'))
    assert not step.success
    assert 'panda_joint2 is outside of its range' in step.message
    np.testing.assert_allclose(step.q, q + 0.01 * step.v, atol=1e-12)
    assert step.v[1] == -robot.limits.velocity[1]


def test_through_a_singularity(arm):
    """C-048, C-041: a target that the wrist singularity bars is followed with bounded rates."""
    q = arm_321.Q * [1, 1, 1, 1, 0, 1]
    start = arm.link_pose(q, 'tool')
    loop = arm.closed_loop('tool', q, DT, gain=10.0, damping=0.05)
    J = arm.jacobian(q, 'link6')
    sideways = np.append(np.cross(J[:3, 3], J[:3, 4]), [0, 0, 0])
    sideways[:3] = start[:3, :3].T @ sideways[:3]
    for k in range(300):
        step = loop.step(start @ se3.exp(k * DT * sideways))
        assert np.abs(step.v).max() < 20.0
        assert np.isfinite(step.q).all()


def test_same_inputs_same_outputs(arm):
    """Bitwise deterministic, also after a reset."""
    target = arm.link_pose(arm_321.Q + 0.05, 'tool')
    loop = arm.closed_loop('tool', arm_321.Q, DT)
    first = [loop.step(target).q for _ in range(5)]
    loop.reset(arm_321.Q)
    second = [loop.step(target).q for _ in range(5)]
    np.testing.assert_array_equal(first, second)


def test_a_floating_base_and_two_links():
    robot = Robot.from_urdf(urdf_path('gripper_tree'), floating_base=True, backend='python')
    q = np.concatenate([[0.1, 0.2, 0.3, 0, 0, 0, 1], 0.01 * np.ones(robot.nq - 7)])
    links = robot.link_names[0], robot.link_names[-1]
    goal = q.copy()
    goal[:3] += [0.1, 0.0, -0.1]
    goal[3:7] = [0, 0, np.sin(0.2), np.cos(0.2)]
    targets = np.stack([robot.link_pose(goal, link) for link in links])
    loop = robot.closed_loop(links, q, 0.01, gain=20.0)
    for _ in range(100):
        step = loop.step(targets)
    assert step.error.shape == (2, 6)
    assert np.abs(step.error).max() < 1e-5
    for link, target in zip(links, targets):
        np.testing.assert_allclose(robot.link_pose(step.q, link), target, atol=1e-4)


def four_bar():
    """The four-bar of 8.6, cut open at the joint of coupler and rocker: crank 1, coupler 3.5,
    ground 4, rocker 3; every joint about z.
    """

    def pose(x):
        C = np.eye(4)
        C[0, 3] = x
        return C

    names = ['ground', 'crank', 'coupler', 'coupler_end', 'rocker', 'rocker_end']
    links = [Link(name, Inertia(1.0, np.array([0.1, 0, 0]), 0.1 * np.eye(3))) for name in names]
    z, limits = np.array([0.0, 0.0, 1.0]), Limits(-np.inf, np.inf, np.inf, np.inf)
    joints = [
        Joint('a', 'continuous', 'ground', 'crank', pose(0), z, limits),
        Joint('b', 'continuous', 'crank', 'coupler', pose(1.0), z, limits),
        Joint('end1', 'fixed', 'coupler', 'coupler_end', pose(3.5), z),
        Joint('c', 'continuous', 'ground', 'rocker', pose(4.0), z, limits),
        Joint('end2', 'fixed', 'rocker', 'rocker_end', pose(3.0), z),
    ]
    return Robot(RobotDescription.from_parts('four_bar', links, joints), backend='python')


def test_loops_stay_closed():
    """C-048: the closure of a four-bar stays below 1e-4 at 1 kHz while the crank turns; golden 8.6.

    Crank at 60 degrees; the coupler's angle is relative to the crank, the rocker's to the ground.
    """
    robot = four_bar()
    crank = np.deg2rad(60)
    q = np.array([crank, -0.418482424, 1.795774973])
    closure = CoincidentFrames('coupler_end', 'rocker_end', selection=np.eye(6)[3:])
    loop = robot.closed_loop('crank', q, DT, closures=[closure], gain=50.0)
    rate = np.array([0, 0, 2.0, 0, 0, 0])
    for k in range(300):
        angle = crank + 2.0 * k * DT
        target = se3.exp([0, 0, angle, 0, 0, 0])
        step = loop.step(target, rate)
        assert step.closure_error[0] < 1e-4
        assert np.abs(step.error).max() < 1e-3
        if k == 0:  # golden rates relative to the crank's
            golden = [1, -1.211457636, 0.147301188]
            np.testing.assert_allclose(step.v / step.v[0], golden, atol=1e-4)
    assert step.q[0] == pytest.approx(crank + 0.6, abs=1e-2)


def test_solver_profiles(arm):
    """C-049: control takes one step a sample; simulation iterates to its tolerance."""
    target = arm.link_pose(arm_321.Q + 0.1, 'tool')
    loop = arm.closed_loop('tool', arm_321.Q, 1.0, gain=1.0)  # K dt = 1: Newton's step
    sizes = [np.abs(loop.step(target).error).max() for _ in range(6)]
    assert sizes[0] > 0.05
    assert sizes[5] < 1e-10
    links = ('tool', 'link5')  # of two links there is no closed form
    targets = [arm.link_pose(arm_321.Q + 0.1, link) for link in links]
    for tolerance in (1e-3, 1e-12):
        found = arm.inverse_kinematics(targets, links, arm_321.Q, tolerance=tolerance)
        assert found.success
        assert found.residual <= tolerance
    few = arm.inverse_kinematics(targets, links, arm_321.Q + 2.0, max_iterations=4, restarts=0)
    assert few.iterations == 4
    assert not few.success


def test_what_is_refused(arm):
    for dt in (0.0, np.nan):
        with pytest.raises(ArgumentError, match='sampling time dt must be'):
            arm.closed_loop('tool', arm_321.Q, dt)
    with pytest.raises(ArgumentError, match=r'gain 2000 /s is unstable .* must be below 2000 /s'):
        arm.closed_loop('tool', arm_321.Q, DT, gain=2000.0)
    with pytest.raises(ArgumentError, match='closure_gain must be a finite positive'):
        arm.closed_loop('tool', arm_321.Q, DT, closure_gain=-1.0)
    with pytest.raises(UnknownNameError, match="no link named 'hand'"):
        arm.closed_loop('hand', arm_321.Q, DT)
    with pytest.raises(UnknownNameError, match="no link named 'hand'"):
        arm.closed_loop('tool', arm_321.Q, DT, closures=[CoincidentFrames('hand', 'tool')])
    with pytest.raises(ArgumentError, match='selection of the closure link1-tool must have shape'):
        arm.closed_loop(
            'tool', arm_321.Q, DT, closures=[CoincidentFrames('link1', 'tool', np.eye(3))]
        )
    with pytest.raises(ArgumentError, match='q holds NaN'):
        arm.closed_loop('tool', np.full(6, np.nan), DT)
    loop = arm.closed_loop('tool', arm_321.Q, DT)
    for target, message in (
        (2 * np.eye(4), 'not a rigid motion'),
        (np.diag([1.0, 1.0, -1.0, 1.0]), 'not a rotation'),
        (np.full((4, 4), np.nan), 'target holds NaN'),
        (np.eye(3), r'target must have shape \(4, 4\)'),
        (np.zeros((2, 4, 4)), r'target must have shape \(4, 4\)'),
    ):
        with pytest.raises(ArgumentError, match=message):
            loop.step(target)
    with pytest.raises(ArgumentError, match='twist holds NaN'):
        loop.step(np.eye(4), np.full(6, np.nan))
    with pytest.raises(UnknownNameError, match="unknown representation 'local'"):
        loop.step(np.eye(4), np.zeros(6), representation='local')
    np.testing.assert_array_equal(loop.q, arm_321.Q)  # as it was
