# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`inverse_kinematics` with the methods ALL and NEAREST, without ROS running (C-101)."""

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._filter_twist')

from sensor_msgs.msg import JointState

from screw_dynamics_msgs.srv import InverseKinematics
from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.description.robot_description import Limits
from screw_dynamics_ros.nodes.services.inverse_kinematics import inverse_kinematics
from screw_dynamics_ros.nodes.services.requests import RequestContext, pickled, service_model
from support.messages import pose_message
from support.robots import urdf_path

ALL, NEAREST = InverseKinematics.Request.ALL, InverseKinematics.Request.NEAREST
TURN = 2 * np.pi
TOOL = 'panda_hand_tcp'


def situation(robot):
    return RequestContext(pickled(robot), robot.gravity, 'left_', None)


def arm(limits=None):
    """A 321 arm, joints 1, 4 and 6 without limits unless they are given."""
    own = {f'joint{k}': Limits(-3.0, 3.0) for k in (2, 3, 5)}
    model = ThreeTwoOne(l1=0.4, l2=0.5, l3=0.45, l6=0.1, elbow_offset=0.05)
    return Robot(model.description('arm', limits={**own, **(limits or {})}), backend='reference')


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda').read_text(), backend='reference')


def ask(robot, C, seed, frames=('tool',), **fields):
    """Return the answer to a request for pose C of the first of the frames."""
    request = InverseKinematics.Request(
        joint_state=JointState(name=list(robot.joint_names), position=seed.tolist()),
        frames=list(frames),
        targets=[pose_message(C)] * len(frames),
        **{'method': ALL, **fields},
    )
    response = InverseKinematics.Response()
    inverse_kinematics(service_model(situation(robot)), request, response)
    return response


def positions(response):
    return np.array([list(each.position) for each in response.solutions])


Q = np.array([0.3, 0.4, 0.7, -0.5, 0.6, 1.1])


def test_requests_are_numeric_unless_they_say_otherwise():
    """Clients from before there was a choice get what they got."""
    request = InverseKinematics.Request()
    assert request.method == request.NUMERIC == 0


def test_all_eight_the_nearest_first():
    robot = arm()
    C = robot.link_pose(Q, 'tool')
    answer = ask(robot, C, Q + 0.05)
    assert answer.success
    assert answer.complete
    assert answer.message == '321: 8 of at most 8 solutions'
    q = positions(answer)
    assert len(q) == len(set(answer.labels)) == 8
    for each in q:
        np.testing.assert_allclose(robot.link_pose(each, 'tool'), C, atol=1e-12)
    np.testing.assert_allclose(q[0], Q, atol=1e-9)
    away = np.abs(q - Q - 0.05).max(axis=1)
    assert (np.diff(away) >= 0.0).all()
    assert answer.labels[0] == 'forward, up, no flip'
    assert answer.solution == answer.solutions[0]
    assert answer.residual == answer.residuals[0] <= 1e-12
    assert len(answer.discarded) == 0
    assert tuple(answer.solution.name) == robot.joint_names


def test_joints_without_limits_turn_to_the_start():
    """No joint unwinds by multiples of 2 pi that the start has made."""
    robot = arm()
    seed = Q + TURN * np.array([3, 0, 0, -2, 0, 1])
    for method in (ALL, NEAREST):
        answer = ask(robot, robot.link_pose(Q, 'tool'), seed, method=method)
        np.testing.assert_allclose(answer.solution.position, seed, atol=1e-9)
    for q in positions(ask(robot, robot.link_pose(Q, 'tool'), seed, images=True)):
        assert (np.abs(q - seed)[[0, 3, 5]] <= np.pi + 1e-9).all()


def test_joints_that_have_turned_too_often():
    """Where angles have no digits left the solution is exact and not next to the start."""
    robot = arm()
    C = robot.link_pose(Q, 'tool')
    for turned in (1e9, -1e300):
        answer = ask(robot, C, Q + turned * np.array([1, 0, 0, 0, 0, 1]))
        for q in positions(answer):
            assert (np.abs(q) < 1e4 + 4.0).all()
            np.testing.assert_allclose(robot.link_pose(q, 'tool'), C, atol=1e-10)


def test_images_and_limits():
    """Every image that a brute search finds, and NEAREST is the nearest of them."""
    robot = arm({'joint4': Limits(-TURN, TURN), 'joint6': Limits(-8.0, 3.0)})
    C = robot.link_pose(Q, 'tool')
    seed = Q + [0.1, 0.2, -0.1, -5.0, 0.1, -4.0]
    several = positions(ask(robot, C, seed, images=True))
    expected = [
        each + TURN * np.array([0, 0, 0, m - 2, 0, n - 2])
        for each in robot.all_inverse_kinematics(C, 'tool', respect_limits=False).q
        for m, n in np.ndindex(5, 5)
    ]
    expected = [q for q in expected if abs(q[3]) <= TURN and -8.0 <= q[5] <= 3.0]
    assert len(several) == len(expected) > 16
    once = positions(ask(robot, C, seed))
    assert len(once) == 8
    best = ask(robot, C, seed, method=NEAREST)
    nearest = np.array(best.solution.position)
    away = [np.abs(q - seed).max() for q in several]
    np.testing.assert_allclose(nearest, several[0], atol=1e-9)
    np.testing.assert_allclose(nearest, once[0], atol=1e-9)
    assert np.abs(nearest - seed).max() == pytest.approx(min(away), abs=1e-9)
    assert list(best.labels) == [ask(robot, C, seed).labels[0]]


def test_solutions_outside_the_limits_are_told():
    limits = {f'joint{k}': Limits(-1.5, 1.5) for k in range(1, 7)}
    robot = arm(limits)
    answer = ask(robot, robot.link_pose(Q, 'tool'), Q, method=NEAREST)
    assert answer.success
    assert len(answer.solutions) == 0
    assert len(answer.labels) == len(answer.residuals) == 1
    free = robot.all_inverse_kinematics(robot.link_pose(Q, 'tool'), 'tool', respect_limits=False)
    assert len(answer.discarded) == (np.abs(free.q) > 1.5).any(axis=1).sum() == 6
    assert all('is outside its limits -1.5000 to 1.5000' in text for text in answer.discarded)
    labels = [text.partition(': ')[0] for text in answer.discarded]
    assert len(set(labels)) == 6
    assert set(labels) < set(free.labels) - set(answer.labels)


def test_out_of_reach():
    """The certificate says that there is none; nothing that could be mistaken for a solution."""
    robot, C = arm(), np.eye(4)
    C[0, 3] = 3.0
    for method in (ALL, NEAREST):
        answer = ask(robot, C, Q, method=method)
        assert not answer.success
        assert answer.message.startswith('no solution within the joint limits: 321: 0 of at most 8')
        assert len(answer.discarded) == 8
        assert all('out of reach' in text for text in answer.discarded)
        assert answer.residual == np.inf
        assert len(answer.solutions) == len(answer.solution.name) == len(answer.labels) == 0


def test_a_joint_is_held(panda):
    """Where the request says, or where it is; other joints are as in the start."""
    q = np.array([0.2, -0.4, 0.3, -2.0, 0.1, 1.8, 0.6, 0.02])
    C = panda.link_pose(q, TOOL)
    held = JointState(name=['panda_joint7'])
    seed = q + [0.1, -0.1, 0.1, 0.1, -0.1, 0.1, 0.0, 0.0]
    answer = ask(panda, C, seed, [TOOL], locked=held)
    assert answer.success, answer.message
    np.testing.assert_allclose(answer.solution.position, q, atol=1e-9)
    held.position = [0.9]
    for each in positions(ask(panda, C, seed, [TOOL], locked=held)):
        assert each[6] == 0.9
        assert each[7] == 0.02
        np.testing.assert_allclose(panda.link_pose(each, TOOL), C, atol=1e-12)


def test_a_joint_that_is_held_does_not_turn():
    """Not by multiples of 2 pi to where it is in the start either."""
    robot = arm()
    held = JointState(name=['joint6'], position=[Q[5] + TURN])
    answer = ask(robot, robot.link_pose(Q, 'tool'), Q, locked=held)
    assert len(answer.solutions) >= 1
    for q in positions(answer):
        assert q[5] == Q[5] + TURN
    np.testing.assert_allclose(answer.solution.position[:5], Q[:5], atol=1e-8)


ONE_JOINT = JointState(name=['panda_joint7'])


@pytest.mark.parametrize(
    ('fields', 'reason'),
    [
        ({'method': 7}, r'method 7 does not exist; use NUMERIC \(0\), ALL \(1\) or NEAREST'),
        ({'frames': [TOOL, 'panda_link4']}, 'solve for one link, got 2 frames'),
        ({'method': 0, 'locked': ONE_JOINT}, 'need the method ALL or NEAREST'),
        ({'method': 0, 'swivel': [0.1]}, 'need the method ALL or NEAREST'),
        ({}, '7 joints are more than a pose needs: lock all but six of panda_joint1'),
        ({'frames': ['panda_link0']}, 'no joint carries the link'),
        ({'locked': ONE_JOINT, 'swivel': [0.1]}, 'belongs to S-R-S arms'),
        ({'locked': ONE_JOINT, 'swivel': [np.nan]}, 'swivel angles must be finite'),
        ({'locked': JointState(name=['knee'])}, "joint 'knee', which does not move the link"),
        ({'locked': JointState(name=['panda_joint7'] * 2)}, 'contains a joint twice'),
        (
            {'locked': JointState(name=['panda_joint7'], position=[0.0, 1.0])},
            'locked has 2 positions for 1 names',
        ),
        (
            {'locked': JointState(name=['panda_joint7'], position=[np.inf])},
            "position of joint 'panda_joint7' is inf",
        ),
        (
            {'locked': JointState(name=[f'panda_joint{k}' for k in range(1, 8)])},
            'all joints that carry the link are locked',
        ),
    ],
)
def test_requests_that_cannot_be_answered(panda, fields, reason):
    with pytest.raises((ArgumentError, UnknownNameError), match=reason):
        ask(panda, np.eye(4), panda.neutral(), **{'frames': [TOOL], **fields})
