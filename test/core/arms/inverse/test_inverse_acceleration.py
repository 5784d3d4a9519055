# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse acceleration kinematics against differences and Pinocchio (C-109)."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.arms.inverse.weighted_inverse import WeightedInverse
from screw_dynamics_ros.core.lie import screws
from support import arm_321
from support.robots import urdf_path

REPRESENTATIONS = ['body', 'spatial', 'hybrid', 'mixed']


@pytest.fixture(scope='module')
def robot():
    return arm_321.arm(backend='reference')


@pytest.fixture
def rng():
    return np.random.default_rng(2)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
def test_forward_and_inverse(robot, rng, representation):
    """C-109: q'' = J^-1 (t' - J' q'), J' by central differences to 1e-6."""
    q, v, a = rng.normal(size=(3, 6))
    A = robot.acceleration(q, v, a, 'tool', representation)
    found = robot.inverse_acceleration(q, v, A, 'tool', representation)
    assert found.success
    np.testing.assert_allclose(found.a, a, atol=1e-9)
    h = 1e-6
    J = robot.jacobian(q, 'tool', representation)
    later, before = (robot.jacobian(q + s * v, 'tool', representation) for s in (h, -h))
    dJ = (later - before) / (2 * h)
    np.testing.assert_allclose(
        dJ, robot.jacobian_derivative(q, v, 'tool', representation), atol=1e-6
    )
    np.testing.assert_allclose(np.linalg.solve(J, A - dJ @ v), a, atol=1e-6 * np.linalg.cond(J))
    # without the bias it is wrong
    assert np.abs(np.linalg.solve(J, A) - a).max() > 1e-2


def test_columns_move_with_their_segment(robot, rng):
    """C-109: in the root frame J_i' = t_i x J_i, t_i the twist of segment i."""
    q, v = rng.normal(size=(2, 6))
    J = robot.jacobian(q, 'tool', 'spatial')
    columns = [
        screws.motor_product(robot.velocity(q, v, f'link{i + 1}', 'spatial'), J[:, i])
        for i in range(6)
    ]
    np.testing.assert_allclose(
        np.transpose(columns), robot.jacobian_derivative(q, v, 'tool', 'spatial'), atol=1e-12
    )


def test_options_of_a_redundant_arm(rng):
    """C-109 with C-026, C-027, C-041: metric, null space and damping act on accelerations."""
    robot, tool = Robot.from_urdf(urdf_path('panda'), backend='reference'), 'panda_hand_tcp'
    q, v = rng.uniform(robot.limits.lower, robot.limits.upper), rng.normal(size=robot.nv)
    A, a_0, M = rng.normal(size=6), rng.normal(size=robot.nv), robot.mass_matrix(q)
    found = robot.inverse_acceleration(q, v, A, tool, joint_metric=M, secondary=a_0)
    np.testing.assert_allclose(robot.acceleration(q, v, found.a, tool), A, atol=1e-9)
    Z = WeightedInverse(robot.jacobian(q, tool), M).null_space
    np.testing.assert_allclose(Z.T @ M @ (found.a - a_0), 0.0, atol=1e-9)
    damped = robot.inverse_acceleration(q, v, A, tool, damping=0.3)
    assert not damped.success
    J = robot.jacobian(q, tool)
    np.testing.assert_allclose(J.T @ damped.residual, 0.09 * damped.a, atol=1e-9)


def test_against_pinocchio(rng):
    pin = pytest.importorskip('pinocchio')
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    model = pin.buildModelFromUrdf(str(urdf_path('panda')), mimic=True)
    data, frame = model.createData(), model.getFrameId('panda_hand_tcp')
    q, v = rng.uniform(robot.limits.lower, robot.limits.upper), rng.normal(size=robot.nv)
    A = rng.normal(size=6)
    a = robot.inverse_acceleration(q, v, A, 'panda_hand_tcp').a
    pin.forwardKinematics(model, data, q, v, a)
    classical = pin.getFrameClassicalAcceleration(
        model, data, frame, pin.LOCAL_WORLD_ALIGNED
    ).vector
    np.testing.assert_allclose(np.roll(classical, 3), A, atol=1e-9)  # linear part first


def test_what_is_refused(robot):
    zero = np.zeros(6)
    with pytest.raises(ArgumentError, match=r'acceleration must have shape \(6,\)'):
        robot.inverse_acceleration(zero, zero, np.zeros(3), 'tool')
    with pytest.raises(ArgumentError, match='v holds NaN'):
        robot.inverse_acceleration(zero, np.full(6, np.nan), zero, 'tool')
    with pytest.raises(ArgumentError, match=r'v must have shape \(6,\)'):
        robot.inverse_acceleration(zero, np.zeros(5), zero, 'tool')
    with pytest.raises(ArgumentError, match='joint metric is singular'):
        robot.inverse_acceleration(zero, zero, zero, 'tool', joint_metric=np.zeros(6))
    found = robot.inverse_acceleration(zero, zero, np.arange(6.0), 'tool')  # upright: singular
    assert not found.success
    assert 'directions of the task' in found.message
