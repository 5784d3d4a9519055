# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Paths that replace one another: stamps, the way to the first point, and what is measured."""

import numpy as np

from screw_dynamics_ros.core.motion.trajectory.joint_path import (
    JointPath,
    PathSequence,
    TimedPath,
    begin_waiting,
    clear,
    write_motion_at,
)

Q, V = np.array([5.0, 6.0]), np.array([0.5, -0.5])


def path(*points, start=0, joints=(0,), velocities=None):
    """Return a path from (time, position) of its joints."""
    q = np.array([[x] * len(joints) for _, x in points], dtype=float)
    v = None if velocities is None else np.full_like(q, velocities)
    return TimedPath(np.array(joints), JointPath([t for t, _ in points], q, v), start)


def motion(arm, stamp):
    """Return positions, velocities and accelerations at a stamp, (3, k)."""
    write_motion_at(arm, stamp)
    size = arm.current.path.size
    return arm.motion[: 3 * size].reshape(3, size)


def test_stamps():
    """It begins at its start, to the nanosecond, and ends where its last point is."""
    arm, first = PathSequence(), path((0.0, 1.0), (0.5, 2.0), start=10**9)
    assert first.end == 1_500_000_000
    assert arm.current is None
    assert not begin_waiting(arm, 0, Q, V)
    arm.add(first)
    assert arm.waiting is first
    assert not begin_waiting(arm, 10**9 - 1, Q, V)
    assert arm.current is None
    assert begin_waiting(arm, 10**9, Q, V)
    assert (arm.current, arm.waiting) == (first, None)
    assert motion(arm, 1_250_000_000).tolist() == [[1.5], [2.0], [0.0]]
    assert motion(arm, 99 * 10**9)[0].tolist() == [2.0]
    assert not begin_waiting(arm, 2 * 10**9, Q, V)


def test_the_newest_of_those_that_wait():
    arm = PathSequence()
    arm.add(path((0.0, 1.0), start=5))
    arm.add(path((0.0, 7.0), start=9))
    assert not begin_waiting(arm, 5, Q, V)
    assert begin_waiting(arm, 9, Q, V)
    assert motion(arm, 9)[0].tolist() == [7.0]
    arm.add(path((0.0, 8.0), start=20))
    clear(arm)
    assert (arm.current, arm.waiting) == (None, None)
    assert not begin_waiting(arm, 30, Q, V)
    assert arm.current is None


def test_the_way_to_the_first_point():
    """From the measured position and velocity, of the joints of the path, by a cubic."""
    arm = PathSequence()
    arm.add(path((2.0, 9.0), start=0, joints=(1,), velocities=0.0))
    begin_waiting(arm, 0, Q, V)
    assert arm.current.joints.tolist() == [1]
    assert motion(arm, 0)[:2].tolist() == [[6.0], [0.0]]
    cubic = JointPath([0.0, 2.0], [[6.0], [9.0]], [[-0.5], [0.0]])
    np.testing.assert_allclose(motion(arm, 10**9), cubic.state(1.0))


def test_accelerations_of_the_path_before():
    """A quintic begins with what the quintic before it has at that time."""
    arm = PathSequence()
    before = JointPath([0.0, 2.0], [[0.0], [2.0]], [[0.0], [1.0]], [[0.0], [3.0]])
    arm.add(TimedPath(np.array([0]), before, 0))
    begin_waiting(arm, 0, Q, V)
    after = JointPath([1.0], [[4.0]], [[0.0]], [[0.0]])
    arm.add(TimedPath(np.array([0]), after, 10**9))
    begin_waiting(arm, 10**9, Q, V)
    wanted = JointPath(
        [0.0, 1.0], *(np.array([x, y]) for x, y in zip(before.state(1.0), ([4.0], [0.0], [0.0])))
    )
    for t in (0.25, 0.75):
        found = motion(arm, 10**9 + round(t * 1e9))
        np.testing.assert_allclose(found, wanted.state(t), atol=1e-12)
