# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Force kinematics against virtual work, dynamics and Pinocchio.

Spec IDs: C-013, C-106, C-107 with the errata E-35 and E-54, of which the printed
forms fail here.
"""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.inverse.force import forward_force, partial_wrenches
from screw_dynamics_ros.core.estimation import contact_wrench
from screw_dynamics_ros.core.lie import screws
from support import arm_321
from support.models import random_configuration, random_description, random_wrenches
from support.robots import urdf_path

D_ = np.roll(np.eye(6), 3, axis=0)


@pytest.fixture(scope='module')
def arm():
    return arm_321.arm(backend='reference')


@pytest.fixture
def rng():
    return np.random.default_rng(1)


# --- inverse --------------------------------------------------------------------------------------


@pytest.mark.parametrize('backend', ['native', 'reference'])
@pytest.mark.parametrize('floating_base', [False, True])
def test_recursion_equals_transposed_jacobians(backend, floating_base, rng):
    """C-106: the inward recursion over a tree with mimic joints is -sum J^T w."""
    robot = Robot(random_description(8, 9, mimic=2), floating_base=floating_base, backend=backend)
    q, wrenches = random_configuration(robot, rng), random_wrenches(robot, rng, 3)
    expected = -sum(robot.jacobian(q, link, 'body').T @ w for link, w in wrenches.items())
    np.testing.assert_allclose(robot.inverse_force(q, wrenches), expected, atol=1e-10)
    np.testing.assert_array_equal(robot.inverse_force(q), np.zeros(robot.nv))


def test_virtual_work(rng):
    """C-106: tau . v + sum w . V = 0 for every v; E-54: with the printed sign it is not."""
    robot = Robot(random_description(8, 9), backend='reference')
    q, wrenches = random_configuration(robot, rng), random_wrenches(robot, rng, 3)
    tau = robot.inverse_force(q, wrenches)
    for v in rng.normal(size=(5, robot.nv)):
        work = sum(w @ robot.velocity(q, v, link, 'body') for link, w in wrenches.items())
        assert tau @ v + work == pytest.approx(0.0, abs=1e-10)
        assert abs(-tau @ v + work) > 1e-3


def test_a_robot_held_does_not_move(rng):
    """E-54: with tau = g - J^T w a robot on which w acts stays at rest; with + J^T w it moves.

    The book's (7.41) says tau = J^T w for the wrench "that acts on the end-effector".
    """
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    q, zero = rng.uniform(robot.limits.lower, robot.limits.upper), np.zeros(robot.nv)
    w = {'panda_hand_tcp': rng.normal(size=6)}
    g, held = robot.gravity_torques(q), robot.inverse_force(q, w)
    np.testing.assert_allclose(robot.forward_dynamics(q, zero, g + held, w), 0.0, atol=1e-8)
    assert np.abs(robot.forward_dynamics(q, zero, g - held, w)).max() > 1.0


def test_golden_torques(arm):
    """C-106: the robot exerts (1, 2, 3; .1, .2, .3), force first, at the base origin."""
    J = arm.jacobian(arm_321.Q, 'tool', 'spatial')
    exerted = D_ @ arm_321.FORCE_FIRST
    np.testing.assert_allclose(J.T @ exerted, arm_321.TAU, atol=1e-8)
    # the same by the facade: the environment pushes back, in the frame of the tool
    C = arm.link_pose(arm_321.Q, 'tool')
    back = -screws.inverse_transform_wrench(C, exerted)
    np.testing.assert_allclose(arm.inverse_force(arm_321.Q, {'tool': back}), arm_321.TAU, atol=1e-8)


def test_stacks(rng):
    robot = Robot.from_urdf(urdf_path('panda'))
    q, w = rng.normal(size=(4, robot.nq)), rng.normal(size=(4, 6))
    tau = robot.inverse_force(q, {'panda_hand': w})
    assert tau.shape == (4, robot.nv)
    np.testing.assert_allclose(tau[2], robot.inverse_force(q[2], {'panda_hand': w[2]}), atol=1e-12)


# --- forward --------------------------------------------------------------------------------------


def test_six_joints(arm, rng):
    """C-107: torques of a wrench give that wrench back."""
    for _ in range(10):
        q, w = rng.uniform(-2, 2, 6), rng.normal(size=6)
        tau = arm.inverse_force(q, {'tool': w})
        found = arm.forward_force(q, tau, 'tool')
        assert found.success
        assert found.undetermined.shape == (6, 0)
        np.testing.assert_allclose(found.wrench, w, atol=1e-9 / found.singular_values[-1])


def test_partial_wrenches(arm):
    """C-107: J^T G = 1; G tau exerts the golden wrench.

    E-35: J D_ G = 1, as printed, does not hold, only J^T D_ G = 1 with the force first.
    """
    J = arm.jacobian(arm_321.Q, 'tool', 'spatial')
    G = partial_wrenches(J)
    np.testing.assert_allclose(J.T @ G, np.eye(6), atol=1e-12)
    force_first = D_ @ G
    np.testing.assert_allclose(J.T @ D_ @ force_first, np.eye(6), atol=1e-12)
    assert not np.allclose(J @ D_ @ force_first, np.eye(6), atol=1e-2)
    np.testing.assert_allclose(force_first @ arm_321.TAU, arm_321.FORCE_FIRST, atol=1e-7)
    held = forward_force(J, arm_321.TAU)
    np.testing.assert_allclose(held.wrench, -G @ arm_321.TAU, atol=1e-10)


def test_wrench_of_a_measurement(arm, rng):
    """C-107, E-54: w_ext from measured torques while it acts, zero when only gravity does.

    With the opposite sign, w = G (tau - g), it would be the wrench on the environment.
    """
    q, w, zero = arm_321.Q, rng.normal(size=6), np.zeros(6)
    measured = arm.inverse_dynamics(q, zero, zero, {'tool': w})
    g = arm.gravity_torques(q)
    found = arm.forward_force(q, measured - g, 'tool').wrench
    np.testing.assert_allclose(found, w, atol=1e-9)
    assert not np.allclose(-found, w)
    np.testing.assert_allclose(arm.forward_force(q, g - g, 'tool').wrench, 0.0, atol=1e-9)
    # the estimator of the wrench node is the same static relation
    J = arm.jacobian(q, 'tool', 'body')
    np.testing.assert_allclose(contact_wrench(J, g - measured), found, atol=1e-8)


def test_other_than_six_joints_is_refused():
    """C-013: not well defined; the error says how many joints there are and what to do."""
    panda = Robot.from_urdf(urdf_path('panda'), backend='reference')
    with pytest.raises(ArgumentError, match=r'6 joints that move them, and 7 do.*least_squares'):
        panda.forward_force(np.zeros(8), np.zeros(8), 'panda_link8')
    planar = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    with pytest.raises(ArgumentError, match='and 2 do'):
        planar.forward_force(np.zeros(2), np.zeros(2), 'tip')
    with pytest.raises(ArgumentError, match=r'2 link\(s\) is defined for 12 joints'):
        panda.forward_force(np.zeros(8), np.zeros(8), ('panda_hand', 'panda_link8'))


def test_more_joints_by_least_squares(rng):
    """C-107: the part of the torques that moves the arm on itself is balanced by no wrench."""
    robot, link = Robot.from_urdf(urdf_path('panda'), backend='reference'), 'panda_link8'
    q, w = rng.uniform(robot.limits.lower, robot.limits.upper), rng.normal(size=6)
    tau = robot.inverse_force(q, {link: w})
    found = robot.forward_force(q, tau, link, least_squares=True)
    assert found.success
    np.testing.assert_allclose(found.wrench, w, atol=1e-8)
    J = robot.jacobian(q, link, 'body')
    other = rng.normal(size=8)
    metric = np.diag(rng.uniform(0.5, 2.0, 8))
    found = robot.forward_force(q, other, link, least_squares=True, torque_metric=metric)
    assert not found.success
    assert 'no wrench on these links balances' in found.message
    np.testing.assert_allclose(J @ metric @ found.residual, 0.0, atol=1e-9)


def test_fewer_joints_by_least_squares(rng):
    """C-107: the smallest wrench, and all that may be added: what the structure bears."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend='reference')
    q, tau, length = np.array([0.3, 0.9]), np.array([1.0, 2.0]), 0.4
    found = robot.forward_force(q, tau, 'tip', least_squares=True, length=length)
    assert not found.success
    assert found.rank == 2
    assert '4 of 6 directions' in found.message
    J = robot.jacobian(q, 'tip', 'body')
    np.testing.assert_allclose(J.T @ found.wrench, -tau, atol=1e-12)
    np.testing.assert_allclose(J.T @ found.undetermined, 0.0, atol=1e-12)
    sizes = np.array([length] * 3 + [1.0] * 3)
    shortest = -np.linalg.pinv(J.T * sizes) @ tau * sizes
    np.testing.assert_allclose(found.wrench, shortest, atol=1e-12)


def test_singular_configuration(arm):
    """C-107: stretched, the arm bears a force along itself without torque: not determined."""
    q = np.array([0.3, 0.4, 0.0, -0.5, 0.6, 1.1])
    found = arm.forward_force(q, np.ones(6), 'tool')
    assert not found.success
    assert found.rank == 5
    assert 'no joint supports 1 of 6 directions' in found.message
    tau = arm.inverse_force(q, {'tool': found.undetermined[:, 0]})
    np.testing.assert_allclose(tau, 0.0, atol=1e-12)


def test_several_links(rng):
    """A free body with an arm of six joints: twelve freedoms for the wrenches on both ends."""
    robot = Robot(
        random_description(2, 6, kinds=('revolute',), chain=True),
        backend='reference',
        floating_base=True,
    )
    links = robot.link_names[0], robot.link_names[-1]
    q, w = random_configuration(robot, rng), rng.normal(size=(2, 6))
    tau = robot.inverse_force(q, dict(zip(links, w)))
    found = robot.forward_force(q, tau, links)
    assert found.success
    np.testing.assert_allclose(found.wrench, w, atol=1e-8)


def test_what_is_refused(arm):
    zero = np.zeros(6)
    with pytest.raises(UnknownNameError, match="no link named 'hand'"):
        arm.inverse_force(zero, {'hand': zero})
    with pytest.raises(UnknownNameError, match="no link named 'hand'"):
        arm.forward_force(zero, zero, 'hand')
    with pytest.raises(ArgumentError, match='external wrench on tool must have shape'):
        arm.inverse_force(zero, {'tool': np.zeros(3)})
    with pytest.raises(ArgumentError, match=r'tau must have shape \(6,\)'):
        arm.forward_force(zero, np.zeros(5), 'tool')
    with pytest.raises(ArgumentError, match='tau holds NaN'):
        arm.forward_force(zero, np.full(6, np.nan), 'tool')
    with pytest.raises(ArgumentError, match='torque metric is singular'):
        arm.forward_force(arm_321.Q, zero, 'tool', torque_metric=np.zeros(6))
    with pytest.raises(ArgumentError, match='characteristic length must be'):
        arm.forward_force(arm_321.Q, zero, 'tool', length=-1.0)
    with pytest.raises(ArgumentError, match='six rows for each link'):
        forward_force(np.eye(5), np.zeros(5))
    with pytest.raises(ArgumentError, match='need six joints'):
        partial_wrenches(np.zeros((6, 7)))
    with pytest.raises(ArgumentError, match='Jacobian is singular'):
        partial_wrenches(arm.jacobian(zero, 'tool'))
