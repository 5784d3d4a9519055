# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Goals for the controller, against SciPy's splines and Pinocchio; without ROS running."""

import numpy as np
import pytest

pytest.importorskip('control_msgs.action')
pytest.importorskip('pinocchio')

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.serialization import deserialize_message, serialize_message
from scipy.interpolate import CubicSpline
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.nodes.services.requests import RequestContext, pickled
from screw_dynamics_ros.nodes.trajectory.goal_preparation import (
    INVALID_GOAL,
    INVALID_JOINTS,
    OLD_HEADER_TIMESTAMP,
    SUCCESSFUL,
    Settings,
    prepare,
    scale_tolerances,
)
from screw_dynamics_ros.ros.joint_states.requested_state import JointState
from screw_dynamics_ros.ros.messages.trajectories import duration_stamp, set_duration
from support.planar_2r import LIMITED

S = 10**9
GRAVITY = np.array([0.0, -9.81, 0.0])
JOINTS = ('joint1', 'joint2')
DEFAULTS = {
    'on_excess': 'slow',
    'effort_limit_factor': 1.0,
    'effort_share': 1.0,
    'compensated_terms': (),
    'scale_tolerances': True,
    'resolution': 0.05,
    'start_tolerance': 0.05,
}
TIMES, POINTS = (0.5, 1.0, 2.0), np.array([[0.1, -0.2], [0.4, 0.1], [0.2, 0.3]])
MEASURED = JointState(np.array([0.3, -0.1]), np.array([0.4, -0.5]), np.zeros(2), np.zeros(2), 5 * S)


def goal(times=TIMES, q=POINTS, names=JOINTS, v=None, stamp=0):
    """Return a goal that ends at rest."""
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, S)
    for k, time in enumerate(times):
        point = JointTrajectoryPoint(positions=list(map(float, q[k])))
        if v is not None:
            point.velocities = list(map(float, v[k]))
        set_duration(point.time_from_start, time)
        message.points.append(point)
    return FollowJointTrajectory.Goal(trajectory=message)


def prepared(message, measured=None, payloads=None, now=0, urdf=LIMITED, **settings):
    """Return the goal for the controller, the code and the text."""
    robot = Robot.from_urdf(urdf, backend='reference')
    situation = RequestContext(pickled(robot), GRAVITY, '', measured, payloads or {}, urdf)
    made = prepare(situation, Settings(**{**DEFAULTS, **settings}), serialize_message(message), now)
    found = deserialize_message(made.data, FollowJointTrajectory.Goal) if made.data else None
    return found, made.code, made.text


def arrays(message):
    """Return times, positions, velocities, accelerations and efforts of the points."""
    points = message.trajectory.points
    rows = ('positions', 'velocities', 'accelerations', 'effort')
    return (
        np.array([duration_stamp(point.time_from_start) / S for point in points]),
        *(np.array([getattr(point, field) for point in points]) for field in rows),
    )


def efforts_of(q, v, a, mass=0.0):
    """Return the torques of Pinocchio, with a mass at the origin of the last link."""
    robot = Robot.from_urdf(LIMITED, gravity=GRAVITY, backend='reference')
    oracle = Pinocchio(LIMITED, robot)
    if mass:
        oracle.carry('tip', mass, np.zeros(3), np.zeros((3, 3)))
    return np.array([oracle.inverse_dynamics(*each) for each in zip(q, v, a)])


def test_a_path_from_the_measured_state():
    """The spline begins there with the measured velocity; the goal begins at its first point."""
    found, code, text = prepared(goal(), MEASURED)
    assert (code, text) == (SUCCESSFUL, '')
    t, q, v, a, efforts = arrays(found)
    assert (t[0], t[-1]) == (0.5, 2.0)
    assert np.diff(t).max() < 0.0501
    ends = (1, MEASURED.v), (1, np.zeros(2))
    spline = CubicSpline([0.0, *TIMES], np.vstack([MEASURED.q, POINTS]), bc_type=ends)
    for rows, order in ((q, 0), (v, 1), (a, 2)):
        np.testing.assert_allclose(rows[:-1], spline(t, order)[:-1], atol=1e-6)
    np.testing.assert_allclose([q[-1], v[-1], a[-1]], [POINTS[-1], [0, 0], [0, 0]], atol=1e-9)
    np.testing.assert_allclose(efforts, efforts_of(q, v, a), atol=1e-6)


def test_a_path_from_a_measured_state_without_velocity():
    state = JointState(MEASURED.q, np.full(2, np.nan), np.zeros(2), np.zeros(2), S, False)
    t, q, *_ = arrays(prepared(goal(), state)[0])
    ends = (1, np.zeros(2)), (1, np.zeros(2))
    spline = CubicSpline([0.0, *TIMES], np.vstack([state.q, POINTS]), bc_type=ends)
    np.testing.assert_allclose(q, spline(t), atol=1e-6)


@pytest.mark.parametrize(('measured', 'first'), [(None, 0.5), (MEASURED, 0.0)])
def test_a_path_from_its_first_point(measured, first):
    """Without a measured state, or with a point for the start, from rest."""
    times = (first, 1.0, 2.0)
    t, q, *_ = arrays(prepared(goal(times), measured, start_tolerance=0.0)[0])
    assert t[0] == first
    spline = CubicSpline(times, POINTS, bc_type=((1, np.zeros(2)), (1, np.zeros(2))))
    np.testing.assert_allclose(q, spline(t), atol=1e-6)


NOW, START = 1000 * S, (0.0, 1.0, 2.0)


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (goal(START), "'joint1' would step by -0.2 from 0.3 to 0.1"),
        (goal(START, POINTS + [0.2, 0.0]), "'joint2' would step by -0.1 from -0.1 to -0.2"),
        (goal(START, POINTS + [0.249, 0.051]), ''),
        (goal(START[:2], [[-0.3], [0.3]], ('joint2',)), "'joint2' would step by -0.2"),
        (goal(stamp=NOW), ''),  # time to move there
        (goal(START, POINTS + [0.2, 0.1], stamp=NOW - S), "'joint1' would step by 0.3"),
        (goal(START, POINTS - [0.1, 0.2], stamp=NOW - S), ''),  # begins at its second point
        (goal(START, stamp=NOW + S), ''),
        (goal(START, stamp=NOW + S // 1000), "'joint1' would step by -0.2"),
    ],
)
@pytest.mark.parametrize('on_excess', ['slow', 'pass'])
def test_a_step_at_the_start_is_refused(message, reason, on_excess):
    found, code, text = prepared(message, MEASURED, now=NOW, on_excess=on_excess)
    assert code == (INVALID_GOAL if reason else SUCCESSFUL)
    assert (found is None) == bool(reason)
    assert reason in text
    if reason:
        assert 'more than start_tolerance 0.05; begin at the measured state, or' in text
    assert prepared(message, MEASURED, now=NOW, start_tolerance=0.0)[1] == SUCCESSFUL
    if list(JOINTS) == message.trajectory.joint_names:
        assert prepared(message, None, now=NOW)[1] == SUCCESSFUL  # nobody knows


def test_whole_turns_of_a_continuous_joint_are_no_step():
    urdf = LIMITED.replace('type="revolute"', 'type="continuous"')
    assert urdf != LIMITED
    turned = POINTS - POINTS[0] + MEASURED.q + [4.0 * np.pi, -2.0 * np.pi]
    assert prepared(goal(START, turned), MEASURED, urdf=urdf)[1] == SUCCESSFUL
    _, code, text = prepared(goal(START, turned + [np.pi, 0.0]), MEASURED, urdf=urdf)
    assert code == INVALID_GOAL
    assert "joint 'joint1' would step by" in text


def test_joints_that_are_not_named_rest_where_they_were_measured():
    """Only the named joint goes to the controller, with the efforts of both in motion."""
    message = goal(q=POINTS[:, 1:], names=('joint2',))
    found, code, _ = prepared(message, MEASURED)
    assert code == SUCCESSFUL
    assert found.trajectory.joint_names == ['joint2']
    _, q, v, a, efforts = arrays(found)
    whole = np.zeros((3, len(q), 2))
    whole[0, :, 0] = MEASURED.q[0]
    whole[:, :, 1:] = q, v, a
    np.testing.assert_allclose(efforts, efforts_of(*whole)[:, 1:], atol=1e-6)
    _, code, text = prepared(message)
    assert code == INVALID_GOAL
    assert 'the trajectory does not name joint1, and no current measured state' in text


def test_a_payload_is_carried():
    body = RigidBody(0.5, np.zeros(3), np.zeros((3, 3)))
    _, q, v, a, efforts = arrays(prepared(goal(), payloads={'tip': body, 'nose': body})[0])
    np.testing.assert_allclose(efforts, efforts_of(q, v, a, 0.5), atol=1e-6)


def test_a_share_of_the_efforts_in_part():
    _, _, _, _, whole = arrays(prepared(goal())[0])
    _, _, _, _, half = arrays(prepared(goal(), effort_share=0.5)[0])
    np.testing.assert_allclose(half, 0.5 * whole)
    found, _, _ = prepared(goal(), effort_share=0.0)
    assert all(not len(point.effort) for point in found.trajectory.points)
    assert all(len(point.velocities) == 2 for point in found.trajectory.points)


@pytest.mark.parametrize(('late', 'code'), [(0, SUCCESSFUL), (1, OLD_HEADER_TIMESTAMP)])
def test_a_goal_that_has_ended(late, code):
    """One that ends now is not late; without a stamp it begins when it arrives."""
    end = 7 * S + 2 * S
    found = prepared(goal(stamp=7 * S), now=end + late)
    assert found[1] == code
    if code:
        assert 'the trajectory ended 0.000 s ago; correct header.stamp' in found[2]
    assert prepared(goal(), now=end + late)[1] == SUCCESSFUL


@pytest.mark.parametrize('kind', ['path_tolerance', 'goal_tolerance'])
@pytest.mark.parametrize('field', ['position', 'velocity', 'acceleration'])
def test_tolerances_are_numbers(kind, field):
    message = goal()
    tolerances = [JointTolerance(name='joint1'), JointTolerance(name='joint2')]
    setattr(message, kind, tolerances)
    assert prepared(message)[1] == SUCCESSFUL
    setattr(tolerances[1], field, float('inf'))
    setattr(message, kind, tolerances)
    found, code, text = prepared(message)
    assert (found, code) == (None, INVALID_GOAL)
    assert text == f"{kind} of joint 'joint2': {field} is inf"


def test_tolerances_of_a_slower_goal():
    """Rates and accelerations of path and goal, positions not; 0 and -1 have meanings."""
    message = goal()
    set_duration(message.goal_time_tolerance, 1.5)
    for kind in ('path_tolerance', 'goal_tolerance'):
        rows = [
            JointTolerance(name='joint1', position=0.1, velocity=0.4, acceleration=0.8),
            JointTolerance(name='joint2', position=-1.0, velocity=-1.0, acceleration=-1.0),
            JointTolerance(name='joint2'),
        ]
        setattr(message, kind, rows)
    scale_tolerances(message, 2.0)
    assert duration_stamp(message.goal_time_tolerance) == 3 * S
    for rows in (message.path_tolerance, message.goal_tolerance):
        assert [(row.position, row.velocity, row.acceleration) for row in rows] == [
            (0.1, 0.2, 0.2),
            (-1.0, -1.0, -1.0),
            (0.0, 0.0, 0.0),
        ]


def test_a_goal_beyond_limits():
    """Slowed down, sent as it is with the reason, or refused."""
    message = goal((0.0, 0.5), ((0, 0), (2.0, 0.0)))
    message.path_tolerance = [JointTolerance(name='joint1', velocity=0.4)]
    slow, code, text = prepared(message)
    assert code == SUCCESSFUL
    ratio = arrays(slow)[0][-1] / 0.5
    assert text.startswith(f'slowed down, takes {ratio:.3g} times as long: ')
    assert slow.path_tolerance[0].velocity == pytest.approx(0.4 / ratio)
    assert prepared(message, scale_tolerances=False)[0].path_tolerance[0].velocity == 0.4
    same, code, text = prepared(message, on_excess='pass')
    assert code == SUCCESSFUL
    assert arrays(same)[0][-1] == 0.5
    assert text.startswith('sent although beyond limits: ')
    assert same.path_tolerance[0].velocity == 0.4
    found, code, text = prepared(message, on_excess='refuse')
    assert (found, code) == (None, INVALID_GOAL)
    assert "joint 'joint1'" in text


def test_reasons_of_refusals_have_codes():
    _, code, text = prepared(goal(names=('joint1', 'nose')))
    assert code == INVALID_JOINTS
    assert "'nose'" in text
    _, code, text = prepared(goal((-0.5, 1.0, 2.0)))
    assert code == INVALID_GOAL
    assert text == 'time_from_start of the trajectory begins at -0.5 s'
    _, code, text = prepared(goal(names=('joint1', 'x' * 5000)))
    assert len(text) <= 1010


def test_limits_of_acceleration_of_the_description_and_of_parameters():
    """Of URDF 1.2; parameters take precedence. Jerk is unlimited for goals."""
    described = LIMITED.replace('<robot ', '<robot version="1.2" ').replace(
        '<limit ', '<limit acceleration="1.5" deceleration="1.2" jerk="1e-3" '
    )
    times, q = (0.0, 0.5, 1.0), np.array([[0.0, 0.0], [0.15, 0.1], [0.3, 0.2]])
    free = np.abs(arrays(prepared(goal(times, q))[0])[3]).max(axis=0)
    assert free[0] > 1.5
    slow = np.abs(arrays(prepared(goal(times, q), urdf=described)[0])[3])
    assert slow.max() < 1.2 * 1.01
    own = {'joint1': 1.0}
    found, _, text = prepared(goal(times, q), urdf=described, acceleration_limits=own)
    assert np.abs(arrays(found)[3][:, 0]).max() < 1.01
    assert 'acceleration of joint' in text
