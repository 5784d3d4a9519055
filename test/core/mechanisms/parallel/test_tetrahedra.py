# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed forms: tetrahedra, the eight poses of a 321 platform, Delta, velocities of points."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.mechanisms.parallel import ParallelRobot, example_mechanisms
from screw_dynamics_ros.core.mechanisms.parallel.tetrahedra import (
    apex,
    apex_velocity,
    pose_from_points,
    poses_of_321,
    poses_of_delta,
    rods_of_321,
    twist_from_points,
)
from support.parallel_robots import moved

POSE_321 = se3.pose(so3.exp(0.3 * np.array([1, -1, 2]) / np.sqrt(6)), [0.05, 0.02, 0.7])
LEGS_321 = [0.832406151, 0.874585616, 0.894930165, 0.878039632, 1.169452453, 1.136477556]


def test_eight_poses_of_the_golden_321_platform():
    """C-121, golden 8.5: the legs to nine digits, and eight real solutions with their labels."""
    mechanism = example_mechanisms.three_two_one()
    robot = ParallelRobot(mechanism, 'reference')
    q = robot.inverse_position(POSE_321)
    assert q == pytest.approx(LEGS_321, abs=5e-10)
    found = poses_of_321(mechanism, mechanism.base_pivots, q)
    assert len({pose.label for pose in found}) == 8
    for _, pose in found:
        assert np.allclose(robot.inverse_position(pose), q, atol=1e-12)
    positions = np.array([pose for _, pose in found])
    distances = np.abs(positions[:, None] - positions[None]).max(axis=(2, 3))
    assert distances[~np.eye(8, dtype=bool)].min() > 1e-2
    (label,) = [label for label, pose in found if np.allclose(pose, POSE_321, atol=1e-12)]
    assert label == '3-up/2-up/1-up'


def test_order_of_legs_does_not_matter():
    """C-121: the pivots are found by how many rods they have."""
    mechanism = example_mechanisms.three_two_one()
    legs = [mechanism.legs[k] for k in (5, 0, 3, 1, 4, 2)]
    shuffled = type(mechanism)('shuffled', tuple(legs), mechanism.home)
    q = ParallelRobot(shuffled, 'reference').inverse_position(POSE_321)
    found = poses_of_321(shuffled, shuffled.base_pivots, q)
    assert len(found) == 8
    assert min(np.abs(pose - POSE_321).max() for _, pose in found) < 1e-12
    with pytest.raises(ArgumentError, match='stewart_gough is a 6-6 platform'):
        rods_of_321(example_mechanisms.stewart_gough())


def test_lengths_that_contradict_each_other_have_no_pose():
    mechanism = example_mechanisms.three_two_one()
    short = np.array(LEGS_321)
    short[0] = 0.1
    assert poses_of_321(mechanism, mechanism.base_pivots, short) == []
    with pytest.raises(ArgumentError, match='contradict'):
        apex(np.eye(3), [0.1, 0.1, 0.1])
    with pytest.raises(ArgumentError, match='lie on a line'):
        apex([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [1.0, 1.0, 1.0])


def test_delta_by_three_spheres():
    """C-114: both poses, of which Newton's method finds the one near home."""
    mechanism = example_mechanisms.delta()
    robot = ParallelRobot(mechanism, 'reference')
    pose = moved(mechanism.home, np.zeros(3), [0.05, -0.03, -0.04])
    q = robot.inverse_position(pose)
    elbows = np.concatenate([leg.elbows(x) for leg, x in zip(mechanism.legs, q)])
    above, below = poses_of_delta(mechanism, elbows, np.full(6, 0.55))
    assert np.allclose(below.pose, pose, atol=1e-14)
    assert above.pose[2, 3] > 0.0
    assert np.allclose(robot.forward_position(q), below.pose, atol=1e-12)
    with pytest.raises(ArgumentError, match='not a delta'):
        poses_of_delta(example_mechanisms.hexa(), elbows, np.full(6, 0.55))


def test_velocity_of_an_apex():
    """C-124: finite differences, and the sum of what each edge gives alone (8.25) to (8.28)."""
    random, h = np.random.default_rng(1), 1e-6
    points = random.normal(size=(3, 3))
    lengths = np.linalg.norm(points - [0.3, 0.2, 2.0], axis=1)
    rates, velocities = random.normal(size=3), random.normal(size=(3, 3))
    top = np.array([0.3, 0.2, 2.0])
    side = 'up' if np.allclose(apex(points, lengths), [0.3, 0.2, 2.0]) else 'down'
    later, earlier = (apex(points + s * velocities, lengths + s * rates, side) for s in (h, -h))
    v = apex_velocity(top, points, rates, velocities)
    assert np.allclose(v, (later - earlier) / (2 * h), atol=1e-8)
    alone = [
        apex_velocity(top, points, rates * row, velocities * row[:, None]) for row in np.eye(3)
    ]
    assert np.allclose(v, np.sum(alone, axis=0))
    with pytest.raises(ArgumentError, match='flat'):
        apex_velocity(points.mean(axis=0), points, rates)


def test_twist_from_velocities_of_three_points():
    """C-124: v_j = v + omega × r_j; a line does not tell the rotation about it."""
    random = np.random.default_rng(2)
    points, t = random.normal(size=(3, 3)), random.normal(size=6)
    velocities = t[3:] + np.cross(t[:3], points - [1.0, 2.0, 3.0])
    assert np.allclose(twist_from_points(points, velocities, [1.0, 2.0, 3.0]), t)
    with pytest.raises(ArgumentError, match='line'):
        twist_from_points(np.outer([0, 1, 2], [1.0, 1.0, 1.0]), velocities, np.zeros(3))


def test_pose_from_points():
    pivots = np.random.default_rng(3).normal(size=(3, 3))
    tops = POSE_321[:3, 3] + pivots @ POSE_321[:3, :3].T
    assert np.allclose(pose_from_points(tops, pivots), POSE_321, atol=1e-14)
