# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse position kinematics: every answer is checked by forward kinematics (C-043, C-100)."""

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.inverse.position import freedom_within_limits, newton_step
from screw_dynamics_ros.core.description import Joint, Limits, Link, Mimic, RobotDescription
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support import arm_321
from support.models import random_description
from support.reachable_poses import ROBOTS, TIPS, distance, four_arms, iiwa, reachable_poses
from support.robots import urdf_path

PANDA, TCP = urdf_path('panda'), 'panda_hand_tcp'


def check(robot, result, links, targets, *, limits=True):
    """Check that an answer is what it says."""
    assert result.success == (result.residual <= 1e-9) == (result.message == 'solved')
    if limits:
        scalars = [robot.joint_coordinates(joint)[0] for joint in robot.joint_names]
        for place, lower, upper in zip(scalars, robot.limits.lower, robot.limits.upper):
            assert (lower <= result.q[place]).all()
            assert (result.q[place] <= upper).all()
    reached = [distance(robot.link_pose(result.q, link), C) for link, C in zip(links, targets)]
    assert max(reached) <= 2e-9 if result.success else max(reached) > 1e-10


# --- reachable poses ------------------------------------------------------------------------------


@pytest.mark.parametrize(('name', 'describe', 'links'), ROBOTS, ids=[name for name, *_ in ROBOTS])
def test_reachable_poses_are_reached_within_limits(name, describe, links):
    """B-003: 99.5 % of random reachable poses, to 1e-9, joints within limits; none is wrong."""
    robot = Robot(describe())
    targets = reachable_poses(robot, links, 50)
    solved = 0
    for target in targets:
        result = robot.inverse_kinematics(target, links)
        check(robot, result, links, target)
        solved += result.success
    assert solved >= 0.995 * len(targets)


def test_golden_arm():
    """C-100: golden 8.1 from q + 0.2 in at most seven Newton steps."""
    tree, q = build_tree(arm_321.description()), arm_321.Q + 0.2
    for _ in range(7):
        q = newton_step(tree, q, [arm_321.POSE_EXACT], ['tool'], 0.03)
    np.testing.assert_allclose(q, arm_321.Q, atol=1e-9)


@pytest.mark.parametrize('backend', ['native', 'python', 'reference'])
def test_backends_take_the_same_steps(backend):
    robot = Robot.from_urdf(PANDA, backend=backend)
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    target = robot.link_pose(q + 0.1, 'panda_link8')
    result = robot.inverse_kinematics(target, 'panda_link8', q)
    assert result.success
    assert result.message == 'solved'
    expected = Robot.from_urdf(PANDA).inverse_kinematics(target, 'panda_link8', q)
    np.testing.assert_allclose(result.q, expected.q, atol=1e-9)
    assert result.iterations == expected.iterations


@pytest.mark.parametrize(
    ('kinds', 'floating_base'),
    [
        (('revolute', 'continuous', 'prismatic', 'planar'), True),
        (('revolute', 'floating'), False),
        (('revolute', 'ball'), False),
    ],
)
def test_several_tips_of_a_tree(kinds, floating_base):
    """Any joints, with mimic joints among them, on a fixed or a free base."""
    description = random_description(3, 9, kinds, mimic=2)
    robot = Robot(description, floating_base=floating_base)
    inner = {joint.parent for joint in description.joints}
    tips = [link for link in robot.link_names if link not in inner][:3]
    middle = robot.inverse_kinematics(np.eye(4), robot.link_names[0], restarts=0).q
    q = middle.copy()
    for joint in robot.joint_names:
        place = robot.joint_coordinates(joint)[0]
        if place.stop - place.start == 1:
            q[place] += np.random.default_rng(place.start).uniform(-0.5, 0.5)
    targets = np.stack([robot.link_pose(q, tip) for tip in tips])
    result = robot.inverse_kinematics(targets, tips)
    assert result.success
    check(robot, result, tips, targets)


def test_mimic_joints_stay_coupled():
    """The second joint follows the first: the elbow of an arm whose tip can only turn in place."""
    x, z = np.eye(3)[0], np.eye(3)[2]
    ahead = se3.pose(np.eye(3), x)
    joints = [
        Joint('shoulder', 'revolute', 'base', 'upper', np.eye(4), z, Limits(-1.0, 1.0)),
        Joint('elbow', 'continuous', 'upper', 'fore', ahead, z, mimic=Mimic('shoulder', -2.0)),
        Joint('wrist', 'fixed', 'fore', 'hand', ahead, z),
    ]
    links = [Link(name) for name in ('base', 'upper', 'fore', 'hand')]
    robot = Robot(RobotDescription.from_parts('scissors', links, joints))
    target = se3.pose(so3.exp(-0.7 * z), 2.0 * np.cos(0.7) * x)
    assert robot.inverse_kinematics(target, 'hand').q == pytest.approx([0.7], abs=1e-9)
    target[1, 3] = 1e-3  # off the only line the hand can run on
    result = robot.inverse_kinematics(target, 'hand')
    assert not result.success
    assert result.residual == pytest.approx(1e-3, rel=1e-3)


def test_a_floating_base_moves_to_the_target():
    robot = Robot.from_urdf(urdf_path('planar_2r'), floating_base=True)
    target = se3.pose(so3.exp([0.3, -2.0, 1.0]), [1.0, 2.0, 3.0])
    result = robot.inverse_kinematics(target, robot.link_names[-1])
    assert result.success
    check(robot, result, robot.link_names[-1:], [target])
    assert np.linalg.norm(result.q[3:7]) == pytest.approx(1.0)
    start = robot.inverse_kinematics(target, robot.link_names[-1], max_iterations=0, restarts=0)
    np.testing.assert_array_equal(start.q[:7], [0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(start.q[7:], np.zeros(2))


def test_the_same_call_returns_the_same_answer():
    robot = Robot.from_urdf(PANDA)
    target = reachable_poses(robot, (TCP,), 1)[0]
    first, second = (robot.inverse_kinematics(target, (TCP,)) for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)


# --- limits ---------------------------------------------------------------------------------------


def test_freedom_within_limits():
    """C-043: a joint at its limit leaves the step to the others, unless it comes back from it."""
    robot = four_arms()
    free = [
        replace(joint, type='continuous', limits=Limits()) if joint.name == 'yaw' else joint
        for joint in robot.joints
    ]
    tree = build_tree(RobotDescription.from_parts('tree', robot.links, free))
    q, upper = np.zeros(tree.nq), tree.limits.upper
    q[1:5] = upper[1:5]
    q[4] -= 0.1
    g = np.zeros(tree.nv)
    g[:5] = 100.0, 0.3, -0.3, 0.0, 0.4
    share = freedom_within_limits(tree, q, g)
    np.testing.assert_allclose(share[:5], [1.0, 0.0, 1.0, 0.0, 0.25])
    moved = newton_step(tree, q, [np.eye(4)] * 4, TIPS, 0.03)
    assert (moved >= tree.limits.lower).all()
    assert (moved <= tree.limits.upper).all()


def test_a_pose_beyond_the_limits_is_not_reached():
    """A chain of three joints reaches a pose in one way only; if that is barred, it says so."""
    robot = Robot(random_description(5, 3, ('revolute',), chain=True))  # limits -2 to 2
    q = np.array([0.5, 2.2, -1.0])
    target, link = robot.link_pose(q, 'link3'), 'link3'
    result = robot.inverse_kinematics(target, link, q)
    assert not result.success
    check(robot, result, [link], [target])
    assert 'within the joint limits' in result.message
    beyond = robot.inverse_kinematics(target, link, respect_limits=False)
    assert beyond.success
    check(robot, beyond, [link], [target], limits=False)


def test_a_start_beyond_the_limits():
    robot = Robot.from_urdf(PANDA)
    target = reachable_poses(robot, (TCP,), 1)[0, 0]
    result = robot.inverse_kinematics(target, TCP, np.full(robot.nq, 50.0))
    assert result.success
    check(robot, result, [TCP], [target])


# --- poses that cannot be reached -----------------------------------------------------------------


def test_out_of_reach_is_said():
    robot = Robot.from_urdf(PANDA)
    target = np.eye(4)
    target[0, 3] = 3.0
    result = robot.inverse_kinematics(target, 'panda_link8', restarts=5)
    assert not result.success
    assert result.residual > 1.0
    assert 'out of reach' in result.message


def test_tips_that_cannot_be_reached_together_are_not():
    robot = Robot(iiwa())
    links = ('link7', 'link6')  # neighbors, 0.126 m apart
    q = np.full(robot.nq, 0.5)
    targets = np.stack([robot.link_pose(q, 'link7'), robot.link_pose(-q, 'link6')])
    for link, target in zip(links, targets):
        assert robot.inverse_kinematics(target, link).success
    result = robot.inverse_kinematics(targets, links, restarts=5)
    assert not result.success
    check(robot, result, links, targets)


def test_exactly_half_a_turn_is_not_taken_for_no_turn():
    """The error of the Newton step has no direction there; the residual is not zero."""
    joint = Joint('turn', 'continuous', 'base', 'disc', np.eye(4), np.eye(3)[2])
    robot = Robot(RobotDescription.from_parts('disc', [Link('base'), Link('disc')], [joint]))
    target = np.diag([-1.0, -1.0, 1.0, 1.0])
    stuck = robot.inverse_kinematics(target, 'disc', [0.0], restarts=0)
    assert not stuck.success
    assert stuck.residual == pytest.approx(2.0)
    result = robot.inverse_kinematics(target, 'disc', [0.0])
    assert result.success
    check(robot, result, ['disc'], [target])


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('target', 'message'),
    [
        (2 * np.eye(4), 'not a rigid motion'),
        (np.diag([1.0, 1.0, -1.0, 1.0]), 'not a rigid motion'),
        (np.full((4, 4), np.nan), 'not a rigid motion'),
        (np.full((4, 4), np.inf), 'not a rigid motion'),
        (se3.pose(np.eye(3), [0.1, np.nan, 0.0]), 'its position must be finite'),
        (se3.pose(np.eye(3), [0.1, np.inf, 0.0]), 'its position must be finite'),
        (np.eye(3), r'shape \(4, 4\)'),
        ('pose', 'target must hold real numbers'),
    ],
)
def test_wrong_targets(target, message):
    robot = Robot.from_urdf(urdf_path('planar_2r'))
    with pytest.raises(ArgumentError, match=message):
        robot.inverse_kinematics(target, 'tip')


def test_the_wrong_one_of_several_targets_is_named():
    robot = Robot(four_arms())
    targets = np.tile(np.eye(4), (4, 1, 1))
    targets[2, 0, 0] = np.nan
    with pytest.raises(ArgumentError, match="target for 'arm3_link7' is not a rigid motion"):
        robot.inverse_kinematics(targets, TIPS)
    with pytest.raises(ArgumentError, match=r'shape \(4, 4, 4\), got \(3, 4, 4\)'):
        robot.inverse_kinematics(targets[:3], TIPS)


def test_wrong_links_and_starts():
    robot = Robot.from_urdf(urdf_path('planar_2r'))
    with pytest.raises(UnknownNameError, match='no link named'):
        robot.inverse_kinematics(np.eye(4), 'elbow')
    with pytest.raises(ArgumentError, match='at least one link'):
        robot.inverse_kinematics(np.zeros((0, 4, 4)), [])
    with pytest.raises(ArgumentError, match='q0 must have shape'):
        robot.inverse_kinematics(np.eye(4), 'tip', [0.0])
    with pytest.raises(ArgumentError, match='q0 must hold finite numbers'):
        robot.inverse_kinematics(np.eye(4), 'tip', [0.0, np.nan])
