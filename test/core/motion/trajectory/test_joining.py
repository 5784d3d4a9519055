# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Paths joined to a motion, against SciPy's splines and differences of their samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.motion.trajectory.feasible_motion import (
    ExceededLimitError,
    significant,
)
from screw_dynamics_ros.core.motion.trajectory.joining import joined
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath, completed_path
from screw_dynamics_ros.core.motion.trajectory.limits import LimitExcess
from screw_dynamics_ros.core.motion.trajectory.motion import sampled_motion
from support.planar_2r import LIMITED

RESOLUTION = 0.01
TIME = np.arange(0.0, 1.01, 0.05)
WAVE = np.stack([np.sin(2.0 * TIME), 0.3 - 0.5 * TIME**2], axis=1)
REST = np.zeros(2)


def anything(times, rows):
    return []


def join(state, path, start=0.0, exceeded=anything, shortest=0.1):
    found = joined(state, path, start, exceeded, shortest=shortest, resolution=RESOLUTION)
    return found, *found.samples(RESOLUTION)


def within(robot, acceleration, jerk):
    """Return a function that finds what exceeds the limits."""
    limits = robot.limits.effort, np.full(2, acceleration), np.full(2, jerk)

    def exceeded(times, rows):
        return significant(robot, sampled_motion(robot, times, *rows), None, True, *limits)

    return exceeded


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(LIMITED, gravity=(0.0, -9.81, 0.0), backend='reference')


def test_a_path_is_followed_after_the_way_to_it():
    """The points of the spline through positions, from which the way deviates before only."""
    state = np.array([0.2, 0.1]), np.array([1.0, -1.0]), np.array([3.0, 0.0])
    found, times, (q, v, a) = join(state, completed_path(TIME, WAVE), 0.234)
    assert (times[0], found.entry, found.slowness) == (0.234, 0.334, 1.0)
    for rows, wanted in zip((q, v, a), state):
        np.testing.assert_allclose(rows[0], wanted, atol=1e-12)
    follows = (times >= found.entry) & (times <= found.braking_start)
    assert times[follows][-1] == pytest.approx(0.9)
    spline = CubicSpline(TIME, WAVE)
    for order, rows in enumerate((q, v, a)):
        np.testing.assert_allclose(rows[follows], spline(times[follows], order), atol=1e-9)
    np.testing.assert_allclose([q[-1], v[-1], a[-1]], [WAVE[-1], REST, REST], atol=1e-9)


def test_given_velocities_and_accelerations_are_those_of_the_path():
    v, a = np.ones((3, 1)), np.array([[0.0], [1.0], [0.0]])
    q = np.array([[0.0], [0.5], [1.0]])
    path = completed_path(np.array([0.0, 0.5, 1.0]), q, v, a)
    _, times, rows = join((q[0], v[0], a[0]), path)
    k = int(np.searchsorted(times, 0.5))
    assert [float(row[k, 0]) for row in rows] == [0.5, 1.0, 1.0]


@pytest.mark.parametrize('start', [0.0, 3.0])
def test_one_point_is_reached_at_rest(start):
    """Before its time or after it."""
    path = completed_path(np.array([2.0]), np.array([[1.0, -1.0]]))
    _, times, rows = join((REST, REST, REST), path, start)
    assert times[-1] == pytest.approx(max(2.0, start + 0.1))
    np.testing.assert_allclose([row[-1] for row in rows], [[1.0, -1.0], REST, REST], atol=1e-12)


def test_a_path_that_ends_at_rest_is_not_slowed_down_there():
    path = JointPath([0.0, 1.0], [[0.0], [1.0]], [[0.0], [0.0]])
    zero = np.zeros(1)
    _, times, (q, _, _) = join((zero, zero, zero), path)
    assert times[-1] == 1.0
    np.testing.assert_allclose(q[times > 0.1], path.samples(times[times > 0.1])[0], atol=1e-12)


def states(low, high):
    return st.lists(st.floats(low, high), min_size=2, max_size=2).map(np.array)


@settings(max_examples=8, derandomize=True)
@given(
    q=states(-0.3, 0.3),
    v=states(-0.3, 0.3),
    points=st.lists(states(-0.6, 0.6), min_size=1, max_size=8),
    spacing=st.floats(0.02, 0.4),
    start=st.floats(0.0, 1.0),
    with_jerk=st.booleans(),
)
def test_limits_are_kept_and_nothing_steps(robot, q, v, points, spacing, start, with_jerk):
    """Position, velocity and acceleration are the integrals of what the samples say."""
    path = completed_path(spacing * np.arange(len(points)), np.array(points))
    acceleration, jerk = 5.0, 60.0 if with_jerk else np.inf
    state = q, v, np.zeros(2)
    try:
        _, times, rows = join(state, path, start, within(robot, acceleration, jerk))
    except ExceededLimitError:
        return  # a spline between points may leave the limits of position
    q, v, a = rows
    assert (np.diff(times) > 0.0).all()
    np.testing.assert_allclose([q[0], v[0], a[0]], state, atol=1e-9)
    np.testing.assert_allclose([q[-1], v[-1], a[-1]], [points[-1], REST, REST], atol=1e-7)
    assert (np.abs(v) <= 1.0011 * robot.limits.velocity).all()
    assert (np.abs(a) <= 1.0011 * acceleration).all()
    h = np.diff(times)[:, None]
    assert (np.abs(np.diff(a, axis=0)) <= 1.0011 * jerk * h).all()
    efforts = robot.inverse_dynamics(q, v, a)
    assert (np.abs(efforts) <= 1.0011 * robot.limits.effort).all()
    mean = 0.5 * (v[1:] + v[:-1])
    np.testing.assert_allclose(np.diff(q, axis=0), h * mean, atol=h.max() ** 2 * acceleration)
    mean = 0.5 * (a[1:] + a[:-1])
    largest = np.abs(np.diff(a, axis=0)).max(initial=0.0)
    np.testing.assert_allclose(np.diff(v, axis=0), h * mean, atol=h.max() * largest + 1e-9)


def test_what_is_too_fast_takes_longer(robot):
    """Four times the velocity limit: slowed down; the end is reached nevertheless."""
    q = np.outer(TIME, 4.0 * robot.limits.velocity)
    q *= 0.5 / q.max()
    path = completed_path(TIME / 20.0, q)
    start = (q[0], REST, REST)
    _, times, (_, v, _) = join(start, path, 0.0, within(robot, 20.0, np.inf))
    assert times[-1] > 2.0 * path.end
    assert (np.abs(v) <= 1.0011 * robot.limits.velocity).all()


def test_more_time_does_not_help_beyond_limits_of_position(robot):
    path = completed_path(TIME, WAVE + 10.0)
    with pytest.raises(ExceededLimitError, match='position of joint'):
        join((REST, REST, REST), path, 0.0, within(robot, 20.0, np.inf))


def test_what_is_never_within_limits_is_refused():
    def always(times, rows):
        return [LimitExcess('arm', 'effort', 0.0, 2.0, 1.0, 2.0, 1.0)]

    with pytest.raises(ExceededLimitError, match='cannot be joined'):
        join((REST, REST, REST), completed_path(TIME, WAVE), 0.0, always)
