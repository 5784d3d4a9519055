# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What families share: robots that differ from a model, their chain and their description."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.arms.families.family import index_of_signs
from screw_dynamics_ros.core.arms.families.prismatic_families import Scara
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.description import Limits
from screw_dynamics_ros.core.lie import se3

LENGTHS = (0.4, 0.5, 0.45, 0.1)
SIGN = np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
OFFSET = np.array([0.3, -0.2, 0.5, 0.0, 1.0, -0.7])
BASE, TOOL = se3.exp([0.2, -0.3, 0.5, 1.0, 2.0, 3.0]), se3.exp([0.1, 0.7, -0.4, 0.1, 0.0, 0.2])
Q = np.array([0.4, -0.6, 0.8, 0.2, -0.5, 1.1])


@pytest.fixture(scope='module')
def arm():
    return ThreeTwoOne(*LENGTHS, sign=SIGN, offset=OFFSET, base=BASE, tool=TOOL)


def test_a_robot_is_its_model_elsewhere(arm):
    """C = base C_model(sign q + offset) tool, and back."""
    model = ThreeTwoOne(*LENGTHS)
    q_model = SIGN * Q + OFFSET
    np.testing.assert_allclose(arm.to_model(Q), q_model)
    np.testing.assert_allclose(arm.to_robot(q_model), Q)
    inner = model.chain().pose(q_model)
    np.testing.assert_allclose(arm.chain().pose(Q), BASE @ inner @ TOOL, atol=1e-12)
    np.testing.assert_allclose(arm.pose_in_model(BASE @ inner @ TOOL), inner, atol=1e-12)
    np.testing.assert_array_equal(model.sign, np.ones(6))
    np.testing.assert_array_equal(model.offset, np.zeros(6))
    np.testing.assert_array_equal(model.base, np.eye(4))
    np.testing.assert_array_equal(model.tool, np.eye(4))
    with pytest.raises(ValueError, match='read-only'):
        arm.offset[0] = 1.0


def test_joints_of_its_chain(arm):
    plain = arm.chain()
    assert plain.joint_names == tuple(f'joint{k}' for k in range(1, 7))
    assert np.isinf([plain.lower, plain.upper]).all()
    names, limit = tuple('abcdef'), np.arange(1.0, 7.0)
    named = arm.chain(names, -limit, limit + 1.0)
    assert named.joint_names == names
    np.testing.assert_array_equal(named.lower, -limit)
    np.testing.assert_array_equal(named.upper, limit + 1.0)


@pytest.mark.parametrize('family', ['321', 'scara'])
def test_its_description_moves_as_its_chain(arm, family):
    """As a robot; the origin of each link is on the axis of its joint."""
    made = arm if family == '321' else Scara(0.4, 0.3, base=BASE, tool=TOOL)
    limits = {'joint1': Limits(-1.0, 2.0, 3.0, 4.0)}
    description = made.description('left', limits=limits)
    assert description.name == 'left'
    assert made.description().name == 'arm'
    n = len(made.sign)
    names = [link.name for link in description.links]
    assert names[:n] == ['base', *(f'link{k}' for k in range(1, n))]
    assert names[-1] == 'tool'
    robot = Robot(description, backend='reference')
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-1.0, 2.0)
    np.testing.assert_allclose(robot.link_pose(Q[:n], 'tool'), made.chain().pose(Q[:n]), atol=1e-12)
    for k, X in enumerate(made.chain().screws[:-1], start=1):
        C = robot.link_pose(np.zeros(n), f'link{k}')
        np.testing.assert_allclose(C[:3, :3], np.eye(3), atol=1e-12)
        np.testing.assert_allclose(np.cross(C[:3, 3], X[:3]), X[3:] * X[:3].any(), atol=1e-12)


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: ThreeTwoOne(np.nan, 0.5, 0.4, 0.1), 'ThreeTwoOne: l1 must be finite, got nan'),
        (lambda: ThreeTwoOne('long', 0.5, 0.4, 0.1), "l1 must be finite, got 'long'"),
        (lambda: ThreeTwoOne(0.4, 0.0, 0.4, 0.1), r'l2 must be positive, got 0.0: an arm without'),
        (lambda: ThreeTwoOne(*LENGTHS, sign=np.full(6, 2.0)), 'sign must hold 1 and -1 only'),
        (lambda: ThreeTwoOne(*LENGTHS, sign=np.ones(5)), r'sign must hold .* shape \(6,\)'),
        (lambda: ThreeTwoOne(*LENGTHS, offset=np.full(6, np.inf)), 'offset must hold finite'),
        (lambda: ThreeTwoOne(*LENGTHS, base=np.eye(3)), r'base must hold .* shape \(4, 4\)'),
        (lambda: ThreeTwoOne(*LENGTHS, tool=np.full((4, 4), np.nan)), 'tool must hold finite'),
    ],
)
def test_what_no_arm_of_the_family_has(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_branches_by_signs():
    """Zero counts as positive."""
    sides = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
    assert [index_of_signs(sides, x) for x in ((0.0, 2.0), (3.0, -1e-9), (-1.0, 0.0))] == [0, 1, 2]
