# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The service `filter_twist`, without ROS running (C-024, C-046)."""

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._filter_twist')

from geometry_msgs.msg import TwistStamped, Vector3, WrenchStamped
from sensor_msgs.msg import JointState

from screw_dynamics_msgs.srv import FilterTwist
from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.nodes.services.inverse_kinematics import filter_twist
from screw_dynamics_ros.nodes.services.requests import RequestContext, pickled, service_model
from support.robots import urdf_path

TOOL, ROOT = 'panda_hand_tcp', 'panda_link0'
Q = np.array([0.2, -0.4, 0.3, -2.0, 0.1, 1.8, 0.6, 0.02])


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda').read_text(), backend='reference')


def twist_message(frame, numbers):
    """Return (omega, v) as TwistStamped."""
    message = TwistStamped()
    message.header.frame_id = frame
    message.twist.angular, message.twist.linear = xyz(numbers[:3]), xyz(numbers[3:])
    return message


def wrench_message(frame, numbers):
    """Return (m, f) as WrenchStamped."""
    message = WrenchStamped()
    message.header.frame_id = frame
    message.wrench.torque, message.wrench.force = xyz(numbers[:3]), xyz(numbers[3:])
    return message


def xyz(numbers):
    x, y, z = map(float, numbers)
    return Vector3(x=x, y=y, z=z)


def numbers_of(twist):
    a, v = twist.angular, twist.linear
    return np.array([a.x, a.y, a.z, v.x, v.y, v.z])


def ask(robot, twist, wrenches, **fields):
    request = FilterTwist.Request(
        twist=twist,
        wrenches=wrenches,
        **{
            'length': 0.5,
            'joint_state': JointState(name=list(robot.joint_names), position=Q.tolist()),
            **fields,
        },
    )
    response = FilterTwist.Response()
    situation = RequestContext(pickled(robot), robot.gravity, 'left_', None)
    filter_twist(service_model(situation), request, response)
    return response


def test_the_metric_decides(panda):
    """A force beside the origin: the minimum of 0.25 omega^2 + v^2 of what is removed."""
    command = [0.0, 0.0, 0.0, 0.2, 0.0, -0.1]
    push = [0.0, -0.3, 0.0, 0.0, 0.0, 1.0]  # a force along z at x = 0.3
    answer = ask(panda, twist_message(TOOL, command), [wrench_message(TOOL, push)])
    weight = np.array([0.25, 0.25, 0.25, 1.0, 1.0, 1.0])
    w = np.array(push)
    removed = (w @ command) / (w @ (w / weight)) * w / weight
    np.testing.assert_allclose(numbers_of(answer.removed), removed, atol=1e-14)
    np.testing.assert_allclose(numbers_of(answer.twist.twist), command - removed, atol=1e-14)
    assert answer.twist.header.frame_id == TOOL
    assert list(answer.pushing) == [True]


def test_a_contact_that_only_pushes(panda):
    table = [wrench_message(TOOL, [0, 0, 0, 0, 0, 1])]
    for speed, allowed, acts in ((-0.1, 0.0, True), (0.1, 0.1, False)):
        command = twist_message(TOOL, [0, 0, 0.3, 0.2, 0, speed])
        answer = ask(panda, command, table, unilateral=True)
        np.testing.assert_allclose(
            numbers_of(answer.twist.twist), [0, 0, 0.3, 0.2, 0, allowed], atol=1e-14
        )
        assert list(answer.pushing) == [acts]


def test_wrenches_in_other_frames(panda):
    """The allowed twist does no work on a wrench, whichever frames the two are in."""
    wrench, command = np.array([0.1, 0.2, -0.3, 1.0, 0.5, 2.0]), [0.3, -0.2, 0.1, 0.2, 0.1, -0.4]
    for frame in (f'left_{TOOL}', TOOL, ''):
        for other in ('', 'panda_link4', TOOL):
            answer = ask(panda, twist_message(frame, command), [wrench_message(other, wrench)])
            link, own = frame.removeprefix('left_') or ROOT, other or ROOT
            to_own = se3.inverse(panda.link_pose(Q, own)) @ panda.link_pose(Q, link)
            assert wrench @ se3.Ad(to_own) @ numbers_of(answer.twist.twist) == pytest.approx(
                0.0, abs=1e-13
            )
            assert abs(wrench @ se3.Ad(to_own) @ command) > 0.05


def test_one_frame_needs_no_joints(panda):
    """Only frames apart need the joints; without a measured state that is reported."""
    command, push = twist_message(TOOL, [0, 0, 0, 0, 0, -1]), [0, 0, 0, 0, 0, 1]
    unknown = {'joint_state': JointState()}
    answer = ask(panda, command, [wrench_message(TOOL, push)], **unknown)
    np.testing.assert_array_equal(numbers_of(answer.twist.twist), np.zeros(6))
    with pytest.raises(ArgumentError, match='joint_state does not name panda_joint1'):
        ask(panda, command, [wrench_message('', push)], **unknown)


PUSH = [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ('fields', 'reason'),
    [
        ({'length': 0.0}, 'length must be between 0.001 and'),
        ({'length': 1e200}, 'length must be between 0.001 and'),
        ({'length': float('nan')}, 'length must be between 0.001 and'),
        ({'wrenches': []}, 'wrenches is empty.*or a policy'),
        ({'wrenches': [wrench_message('', np.zeros(6))]}, r'wrenches\[0\] must be .* not zero'),
        ({'wrenches': [wrench_message('', [np.nan] * 6)]}, r'wrenches\[0\] must be finite'),
        ({'wrenches': [wrench_message('map', PUSH)]}, r"wrenches\[0\]: frame_id: .* no link 'map'"),
        ({'twist': twist_message('map', PUSH)}, "twist: frame_id: .* no link 'map'"),
        ({'twist': twist_message('', [np.inf] * 6)}, 'the twist'),
    ],
)
def test_requests_that_cannot_be_answered(panda, fields, reason):
    fields = {'twist': twist_message('', PUSH), 'wrenches': [wrench_message('', PUSH)], **fields}
    with pytest.raises((ArgumentError, UnknownNameError), match=reason):
        ask(panda, fields.pop('twist'), fields.pop('wrenches'), **fields)


# --- policies near singularities ------------------------------------------------------------------

SCALE, STOP, DEVIATE = (
    FilterTwist.Request.SCALE,
    FilterTwist.Request.STOP,
    FilterTwist.Request.DEVIATE,
)
ALIGNED = np.array([0.2, 0.3, 0.3, -0.08, 0.1, 1.5, 0.6, 0.02])  # elbow next to its end, nearly out


def follow(robot, command, q=Q, wrenches=(), **fields):
    """Return the answer about a twist of the hand, for a period of 10 ms."""
    state = JointState(name=list(robot.joint_names), position=list(q))
    options = {'length': 0.3, 'period': 0.01, 'joint_state': state, **fields}
    return ask(robot, twist_message(TOOL, command), list(wrenches), **options)


def test_a_twist_that_the_joints_can_follow_is_followed(panda):
    """C-024: by all policies, with rates that make it."""
    command = np.array([0.1, -0.05, 0.02, 0.05, 0.02, -0.03])
    policies = [
        {'policy': SCALE},
        {'policy': STOP, 'stop': 1e-4, 'slow': 1e-3},
        {'policy': DEVIATE, 'slow': 1e-3, 'damping': 1e-3},
    ]
    for fields in policies:
        answer = follow(panda, command, **fields)
        assert (answer.state, answer.scale, list(answer.limiting)) == ('followed', 1.0, [])
        np.testing.assert_allclose(numbers_of(answer.twist.twist), command, atol=1e-5)
        assert list(answer.rates.name) == list(panda.joint_names)
        made = panda.jacobian(Q, TOOL, 'body') @ answer.rates.velocity
        np.testing.assert_allclose(made, numbers_of(answer.twist.twist), atol=1e-12)
        assert not numbers_of(answer.removed).any()


def test_policies_where_joints_are_too_slow(panda):
    """C-024: SCALE keeps the path, DEVIATE the speed as far as it goes; limits always hold."""
    command = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 3.0])
    scaled = follow(panda, command, ALIGNED, policy=SCALE)
    assert scaled.state == 'slowed'
    assert 0.0 < scaled.scale < 1.0
    assert scaled.limiting
    assert scaled.limiting[0] in scaled.message
    path = scaled.scale * command
    np.testing.assert_allclose(numbers_of(scaled.twist.twist), path, atol=1e-6)
    deviated = follow(panda, command, ALIGNED, policy=DEVIATE, slow=0.3, damping=0.1)
    assert deviated.state == 'deviated'
    assert deviated.scale == 1.0
    assert np.abs(numbers_of(deviated.twist.twist) - command).max() > 0.01
    for answer in (scaled, deviated):
        assert (np.abs(answer.rates.velocity) <= panda.limits.velocity * (1 + 1e-12)).all()
        q = ALIGNED + 0.01 * np.array(answer.rates.velocity)
        assert (q <= panda.limits.upper + 1e-9).all()
        assert (q >= panda.limits.lower - 1e-9).all()


def test_the_policy_stop(panda):
    """C-024: slower in proportion to the singular value, and at rest from `stop` on."""
    command = np.array([0.0, 0.0, 0.0, 0.02, 0.0, 0.0])
    sigma = follow(panda, command, policy=SCALE).smallest_singular_value
    weight = np.diag([0.3, 0.3, 0.3, 1.0, 1.0, 1.0])
    own = np.linalg.svd(weight @ panda.jacobian(Q, TOOL, 'body'), compute_uv=False)[-1]
    assert sigma == pytest.approx(own, rel=1e-9)
    scales = set()
    for sign in (1.0, -1.0):  # towards the singularity, and away from it
        half = follow(panda, sign * command, policy=STOP, stop=0.5 * sigma, slow=1.5 * sigma)
        scales.add((round(half.scale, 9), half.state))
    assert scales == {(0.5, 'slowed'), (1.0, 'followed')}
    rest = [
        follow(panda, sign * command, policy=STOP, stop=1.1 * sigma, slow=2.0 * sigma).state
        for sign in (1.0, -1.0)
    ]
    assert sorted(rest) == ['followed', 'stopped']


def test_the_contact_comes_before_the_policy(panda):
    """What is left along the path works no more against the wrenches than before (C-046)."""
    command = np.array([0.0, 0.0, 0.0, 3.0, 0.0, -1.0])
    normal = wrench_message(TOOL, PUSH)
    answer = follow(panda, command, wrenches=[normal], policy=SCALE, unilateral=True)
    assert 0.0 < answer.scale < 1.0
    assert list(answer.pushing) == [True]
    np.testing.assert_allclose(numbers_of(answer.removed), [0, 0, 0, 0, 0, -1.0], atol=1e-12)
    np.testing.assert_allclose(
        numbers_of(answer.twist.twist), answer.scale * np.array([0, 0, 0, 3.0, 0, 0]), atol=1e-6
    )


@pytest.mark.parametrize(
    ('fields', 'reason'),
    [
        ({'policy': 9}, r'policy 9 does not exist; use NO_POLICY \(0\), SCALE \(1\)'),
        ({'policy': STOP, 'stop': 0.2, 'slow': 0.1}, 'needs stop < slow'),
        ({'policy': STOP}, 'singular value of rest'),
        ({'policy': STOP, 'stop': float('nan'), 'slow': 0.1}, 'singular value of rest'),
        ({'policy': DEVIATE, 'slow': 0.1}, 'largest of the adaptive damping'),
        ({'policy': DEVIATE, 'damping': 0.1}, 'threshold of the adaptive damping'),
        ({'policy': SCALE, 'period': 0.0}, 'sampling time dt'),
        ({'policy': SCALE, 'period': float('nan')}, 'sampling time dt'),
        ({'policy': SCALE, 'joint_state': JointState()}, 'does not name panda_joint1'),
    ],
)
def test_policies_that_cannot_be_followed(panda, fields, reason):
    with pytest.raises(ArgumentError, match=reason):
        follow(panda, PUSH, **fields)


def test_policies_need_a_moving_link_and_leave_contacts_alone(panda):
    contact = [wrench_message(TOOL, PUSH)]
    with pytest.raises(ArgumentError, match='DEVIATE leaves the path'):
        follow(panda, PUSH, wrenches=contact, policy=DEVIATE, slow=0.1, damping=0.1)
    with pytest.raises(ArgumentError, match="no joint moves the link 'panda_link0'"):
        ask(panda, twist_message('', PUSH), [], policy=SCALE, period=0.01)
