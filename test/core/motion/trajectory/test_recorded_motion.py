# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectories from recorded motions: near the motion, smooth, from rest to rest, within limits."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.motion.trajectory import smooth_motion
from screw_dynamics_ros.core.motion.trajectory.feasible_motion import POSITION_TOLERANCE
from screw_dynamics_ros.core.motion.trajectory.joint_path import JointPath
from screw_dynamics_ros.core.motion.trajectory.recorded_motion import LIMIT_TOLERANCE
from support.robots import urdf_path

BOUNDED = (
    urdf_path('planar_2r')
    .read_text()
    .replace('continuous', 'revolute')
    .replace('<limit ', '<limit lower="-1" upper="1" ')
)
REST = 0.5  # s before and after, with points every 0.1 s


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(BOUNDED)


def led(t):
    """Return a motion by hand, from rest to rest within 4 s."""
    s = np.clip(t, 0.0, 4.0)[:, None]
    return np.array([0.6, -0.4]) * np.sin(np.pi * s / 4.0) ** 2 * np.cos([2.0, 3.0] * s)


def test_the_path_of_a_controller_is_near_the_motion(robot):
    """Recorded with noise and irregular stamps; the path between few points is smooth."""
    random = np.random.default_rng(3)
    t = np.sort(random.uniform(0.0, 4.0, 1600))
    t[[0, -1]] = 0.0, 4.0
    motion = smooth_motion(robot, 100.0 + t, led(t) + random.normal(0.0, 1e-3, (1600, 2)))
    assert len(motion.time) == 51
    np.testing.assert_allclose(np.diff(motion.time), 0.1)
    path = JointPath(motion.time, motion.q, motion.v, motion.a)
    fine = np.linspace(0.0, 5.0, 5001)
    q, v, a = path.samples(fine)
    assert np.abs(q - led(fine - REST)).max() < 3e-3
    exact = np.gradient(led(fine - REST), fine, axis=0)
    assert np.abs(v - exact)[150:-150].max() < 0.05
    assert np.abs(np.diff(a, axis=0)).max() < 0.3  # it has no steps
    for end in (0, -1):
        np.testing.assert_allclose(motion.v[end], 0.0, atol=1e-12)
        np.testing.assert_allclose(motion.a[end], 0.0, atol=1e-9)


def test_a_motion_that_does_not_begin_at_rest_is_rounded(robot):
    t = np.arange(0.0, 2.0, 0.005)
    motion = smooth_motion(robot, t, 0.3 * np.stack([t, -t], axis=1))
    assert np.abs(motion.v).max() < 0.45
    np.testing.assert_allclose(motion.v[[0, -1]], 0.0, atol=1e-12)
    np.testing.assert_allclose(motion.q[-1], 0.3 * np.array([t[-1], -t[-1]]))


def test_joints_that_were_pressed_against_their_stops_stay_at_the_limit(robot):
    t = np.arange(0.0, 3.0, 0.01)
    q = np.stack([np.minimum(1.5 * np.sin(t) ** 2, 1.0 + 0.5 * LIMIT_TOLERANCE), 0.0 * t], axis=1)
    motion = smooth_motion(robot, t, q)
    path = JointPath(motion.time, motion.q, motion.v, motion.a)
    q_between, _, _ = path.samples(np.linspace(0.0, path.end, 4001))
    assert q_between[:, 0].max() < 1.0 + POSITION_TOLERANCE
    at_limit = np.isclose(motion.q[:, 0], 1.0, rtol=0.0, atol=1e-9)
    assert at_limit.sum() >= 5
    assert np.abs(motion.v[at_limit, 0]).max() < 1e-6
    with pytest.raises(
        ArgumentError, match=r"'joint1' beyond its limits at 0.97 s: 1.* is not in \[-1, 1"
    ):
        smooth_motion(robot, t, q + [LIMIT_TOLERANCE, 0.0])


def test_recordings_that_are_no_motion_are_refused(robot):
    t = np.arange(0.0, 2.0, 0.05)
    q = led(t)
    smooth_motion(robot, t + 0.13 * (t > 1.0), q)
    late = t + 0.3 * (t > 1.0)
    with pytest.raises(ArgumentError, match=r'has none for 0.35 s after 1 s'):
        smooth_motion(robot, late, q)
    with pytest.raises(ArgumentError, match=r'at least every 0\.2 s'):
        smooth_motion(robot, t[:2], q[:2])
    with pytest.raises(ArgumentError, match='must increase'):
        smooth_motion(robot, t[::-1], q)
    q[3, 1] = np.nan
    with pytest.raises(ArgumentError, match=r'q\[3, 1\] is nan'):
        smooth_motion(robot, t, q)
