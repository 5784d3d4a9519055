# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motions brought within the limits: beside the dynamics at their samples, and closed forms."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.motion.trajectory import (
    feasible_motion,
    feedforward_efforts,
    sampled_motion,
    with_efforts,
)
from screw_dynamics_ros.core.motion.trajectory.feasible_motion import ExceededLimitError
from screw_dynamics_ros.core.motion.trajectory.joint_path import (
    JointPath,
    PathSequence,
    TimedPath,
    begin_waiting,
    completed_path,
    refined,
    write_motion_at,
)
from screw_dynamics_ros.core.motion.trajectory.required_efforts import held_at_end
from support.robots import urdf_path

#: An arm in a vertical plane, held by its motors with a little to spare.
ARM = (
    urdf_path('planar_2r')
    .read_text()
    .replace('continuous', 'revolute')
    .replace('<limit ', '<limit lower="-3" upper="3" ')
)


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(ARM, gravity=(0, -9.81, 0))


def swing(robot, duration, size=0.5):
    """Return a motion there and back, along the clamped spline."""
    middle = np.array([-1.5, 0.3])
    turn = middle + size
    time = np.array([0.0, 0.5, 1.0]) * duration
    path = completed_path(time, np.stack([middle, turn, middle]), None, None, np.zeros(robot.nv))
    times = refined(time, 0.01, 2000)
    return sampled_motion(robot, times, *path.samples(times))


def test_a_motion_within_the_limits_stays_as_it_is(robot):
    motion = swing(robot, 4.0)
    feasible = feasible_motion(robot, motion)
    assert feasible.motion is motion
    assert (feasible.slowness, feasible.reason, feasible.exceeded) == (1.0, '', [])


@pytest.mark.parametrize(('duration', 'factor'), [(0.75, 1.0), (0.6, 0.8), (0.5, 1.0)])
def test_a_fast_motion_is_slowed_down_along_its_path(robot, duration, factor):
    motion = swing(robot, duration)
    feasible = feasible_motion(robot, motion, effort_limit_factor=factor)
    slow = feasible.motion
    np.testing.assert_array_equal(slow.q, motion.q)
    efforts = robot.drive_torques(slow.q, slow.v, slow.a)
    assert (np.abs(efforts) <= factor * robot.limits.effort * 1.002).all()
    assert (np.abs(slow.v) <= robot.limits.velocity * 1.002).all()
    assert feasible.slowness == pytest.approx(np.ptp(slow.time) / duration)
    assert feasible.slowness > 1.001
    # rates are those of the slower run: by differences along the new time
    inner = np.gradient(slow.q, slow.time, axis=0)[2:-2]
    np.testing.assert_allclose(inner, slow.v[2:-2], atol=0.05)


def test_refusals_name_joint_time_value_and_limit(robot):
    with pytest.raises(ExceededLimitError, match=r"of joint 'joint\d' beyond its limit"):
        feasible_motion(robot, swing(robot, 0.6), on_excess='refuse')
    with pytest.raises(ExceededLimitError, match="position of joint 'joint2'"):
        feasible_motion(robot, swing(robot, 40.0, 2.9))
    with pytest.raises(ExceededLimitError, match='no speed is slow enough'):
        feasible_motion(robot, swing(robot, 4.0), effort_limit_factor=0.1)


def test_a_motion_that_starts_too_fast_is_refused(robot):
    """The velocity that the robot has already cannot be taken back."""
    motion = swing(robot, 0.6)
    k = int(np.argmax(np.abs(motion.v[:, 0])))
    part = sampled_motion(
        robot, *(values[k:] for values in (motion.time, motion.q, motion.v, motion.a))
    )
    with pytest.raises(ExceededLimitError, match='where the robot moves already'):
        feasible_motion(robot, part, effort_limit_factor=0.4)


def test_passed_on_as_it_is(robot):
    motion = swing(robot, 0.6)
    feasible = feasible_motion(robot, motion, on_excess='pass')
    assert feasible.motion is motion
    assert feasible.exceeded


def test_a_measured_start_may_be_beyond_a_limit(robot):
    q = np.tile([-1.5, 0.0], (3, 1))
    q[0, 1] = robot.limits.upper[1] + 0.01
    rest = np.zeros((3, robot.nv))
    motion = sampled_motion(robot, [0.0, 1.0, 2.0], q, rest, rest)
    assert not feasible_motion(robot, motion, is_measured=True).exceeded
    with pytest.raises(ExceededLimitError, match='position'):
        feasible_motion(robot, motion)


@pytest.mark.parametrize('term', ['gravity', 'coriolis', 'friction', 'inertia'])
def test_terms_add_up_to_all_efforts(robot, term):
    motion = swing(robot, 2.0)
    everything = with_efforts(robot, motion).efforts
    others = {'gravity', 'coriolis', 'friction', 'inertia'} - {term}
    alone = feedforward_efforts(robot, motion, compensated=others)
    without = feedforward_efforts(robot, motion, compensated={term})
    np.testing.assert_allclose(alone + without, everything, atol=1e-9)
    assert not feedforward_efforts(robot, motion, compensated=others | {term}).round(9).any()


def test_the_end_of_a_motion_is_held(robot):
    motion = swing(robot, 2.0)
    assert np.abs(motion.a[-1]).max() > 0.1
    efforts = feedforward_efforts(robot, held_at_end(motion))
    np.testing.assert_allclose(efforts[-1], robot.gravity_torques(motion.q[-1]), atol=1e-9)
    moving = sampled_motion(robot, motion.time[:9], motion.q[:9], motion.v[:9], motion.a[:9])
    assert held_at_end(moving) is moving


def test_joints_that_the_path_before_did_not_move_start_where_they_are_measured():
    arm = PathSequence()
    arm.add(TimedPath(np.array([0]), JointPath([0.0, 2.0], [[0.0], [2.0]]), 0))
    begin_waiting(arm, 0, np.array([9.0, 9.0]), np.zeros(2))
    arm.add(TimedPath(np.array([0, 1]), JointPath([1.0], [[0.0, 0.0]]), 10**9))
    begin_waiting(arm, 10**9, np.array([9.0, 9.0]), np.zeros(2))
    write_motion_at(arm, 10**9)
    assert arm.motion[:2].tolist() == [1.0, 9.0]
