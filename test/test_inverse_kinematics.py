"""Inverse position kinematics: every answer is checked by forward kinematics (C-043, C-100)."""

import numpy as np
import pytest
from models import random_description
from robots import urdf_path

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError

ROBOTS = [
    ('panda', 'panda_hand_tcp'),
    ('ur_description/urdf/ur5_robot', 'tool0'),
]


def reachable(robot: Robot, link: str, count: int) -> np.ndarray:
    lower = np.maximum(robot.limits.lower, -np.pi)
    upper = np.minimum(robot.limits.upper, np.pi)
    q = np.random.default_rng(0).uniform(lower, upper, (count, robot.nq))
    return robot.link_pose(q, link)


@pytest.mark.parametrize(('name', 'link'), ROBOTS)
def test_reachable_poses_are_reached_within_limits(name, link):
    """At least 99.5 % of random reachable poses, to 1e-9, joints within limits; none is wrong."""
    robot = Robot.from_urdf(urdf_path(name))
    solved = 0
    targets = reachable(robot, link, 200)
    for target in targets:
        result = robot.inverse_kinematics(target, link)
        solved += result.success
        assert result.success == (result.residual <= 1e-9)
        assert (result.q >= robot.limits.lower).all()
        assert (result.q <= robot.limits.upper).all()
        if result.success:
            np.testing.assert_allclose(robot.link_pose(result.q, link), target, atol=2e-9)
    assert solved >= 0.995 * len(targets)


@pytest.mark.parametrize('backend', ['native', 'python', 'reference'])
def test_backends_take_the_same_steps(backend):
    robot = Robot.from_urdf(urdf_path('panda'), backend=backend)
    q = 0.5 * (robot.limits.lower + robot.limits.upper)
    target = robot.link_pose(q + 0.1, 'panda_link8')
    result = robot.inverse_kinematics(target, 'panda_link8', q)
    assert result.success
    assert result.message == 'solved'
    expected = Robot.from_urdf(urdf_path('panda')).inverse_kinematics(target, 'panda_link8', q)
    np.testing.assert_allclose(result.q, expected.q, atol=1e-9)
    assert result.iterations == expected.iterations


def test_several_tips_of_a_tree():
    robot = Robot(random_description(3, 14))
    tips = robot.link_names[-1], robot.link_names[len(robot.link_names) // 2]
    q = np.random.default_rng(1).uniform(-1, 1, robot.nq)
    targets = np.stack([robot.link_pose(q, tip) for tip in tips])
    result = robot.inverse_kinematics(targets, tips, q + 0.05, respect_limits=False)
    assert result.success
    for tip, target in zip(tips, targets):
        np.testing.assert_allclose(robot.link_pose(result.q, tip), target, atol=2e-9)


def test_a_floating_base_moves_to_the_target():
    robot = Robot.from_urdf(urdf_path('planar_2r'), floating_base=True)
    target = np.eye(4)
    target[:3, 3] = 1.0, 2.0, 3.0
    result = robot.inverse_kinematics(target, robot.link_names[-1])
    assert result.success
    assert np.linalg.norm(result.q[3:7]) == pytest.approx(1.0)


def test_out_of_reach_is_said():
    robot = Robot.from_urdf(urdf_path('panda'))
    target = np.eye(4)
    target[0, 3] = 3.0
    result = robot.inverse_kinematics(target, 'panda_link8', restarts=5)
    assert not result.success
    assert result.residual > 1.0
    assert 'out of reach' in result.message


def test_the_same_call_returns_the_same_answer():
    robot = Robot.from_urdf(urdf_path('panda'))
    target = reachable(robot, 'panda_link8', 1)[0]
    first, second = (robot.inverse_kinematics(target, 'panda_link8') for _ in range(2))
    np.testing.assert_array_equal(first.q, second.q)


@pytest.mark.parametrize(('target', 'message'), [
    (2 * np.eye(4), 'not a rigid motion'),
    (np.diag([1.0, 1.0, -1.0, 1.0]), 'not a rigid motion'),
    (np.full((4, 4), np.nan), 'not a rigid motion'),
    (np.eye(3), r'shape \(4, 4\)'),
    ('pose', 'target must hold real numbers'),
])
def test_wrong_targets(target, message):
    robot = Robot.from_urdf(urdf_path('planar_2r'))
    with pytest.raises(ArgumentError, match=message):
        robot.inverse_kinematics(target, 'tip')


def test_wrong_links_and_starts():
    robot = Robot.from_urdf(urdf_path('planar_2r'))
    with pytest.raises(UnknownNameError, match='no link named'):
        robot.inverse_kinematics(np.eye(4), 'elbow')
    with pytest.raises(ArgumentError, match='q0 must have shape'):
        robot.inverse_kinematics(np.eye(4), 'tip', [0.0])
