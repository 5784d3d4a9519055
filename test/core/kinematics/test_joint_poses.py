# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Coordinates of planar and floating joints against the kinematics of a robot that has them."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.description import Joint, Link, RobotDescription
from screw_dynamics_ros.core.kinematics.joint_poses import (
    FreeCoordinates,
    PlanarCoordinates,
    free_coordinates,
    write_planar,
)
from screw_dynamics_ros.core.lie import se3

AXES = [np.eye(3)[2], -np.eye(3)[0], np.array([0.6, 0.0, 0.8]), np.array([1.0, 2.0, -2.0]) / 3.0]


@pytest.mark.parametrize('axis', AXES, ids=str)
def test_planar_joint(axis):
    rng = np.random.default_rng(5)
    origin = se3.exp(rng.normal(size=6))
    joint = Joint('slide', 'planar', 'table', 'puck', origin, axis)
    description = RobotDescription.from_parts('puck', [Link('table'), Link('puck')], [joint])
    compare(Robot(description), PlanarCoordinates(axis), origin, rng.normal(size=3))


@pytest.mark.parametrize('kind', ['floating', 'ball'])
def test_joint_with_a_quaternion(kind):
    rng = np.random.default_rng(6)
    origin = se3.exp(rng.normal(size=6))
    joint = Joint('fly', kind, 'table', 'puck', origin, np.eye(3)[0])
    description = RobotDescription.from_parts('puck', [Link('table'), Link('puck')], [joint])
    robot = Robot(description)
    coordinates = FreeCoordinates(joint.kind.group)
    compare(robot, coordinates, origin, robot.random_configuration(rng))


def compare(robot, coordinates, origin, q):
    v = np.random.default_rng(7).normal(size=robot.nv)
    pose, twist = coordinates.motion(q, v)
    np.testing.assert_allclose(origin @ pose, robot.link_pose(q, 'puck'), atol=1e-14)
    np.testing.assert_allclose(twist, robot.jacobian(q, 'puck', 'body') @ v, atol=1e-14)
    coordinates.check(pose)
    C, V = coordinates.aligned(pose, twist)
    found, rates = np.zeros((2, 3))
    if robot.nq == 3:
        write_planar(free_coordinates(C), V, found, rates)
    else:
        found, rates = free_coordinates(C)[-robot.nq :], V[: robot.nv]
    np.testing.assert_allclose(robot.link_pose(found, 'puck'), origin @ pose, atol=1e-14)
    np.testing.assert_allclose(rates, v, atol=1e-14)


@pytest.mark.parametrize('axis', AXES, ids=str)
def test_poses_outside_of_the_plane_are_refused(axis):
    coordinates = PlanarCoordinates(axis)
    pose, _ = coordinates.motion(np.array([1.0, 2.0, 3.0]), np.zeros(3))
    above = pose.copy()
    above[:3, 3] += 0.002 * axis
    across = np.cross(axis, [0.3, 0.4, 0.1])
    tilted = pose @ se3.exp([*(0.002 * across / np.linalg.norm(across)), 0.0, 0.0, 0.0])
    for each in (above, tilted):
        with pytest.raises(ArgumentError, match=r'leaves the plane of the joint by 0\.002'):
            coordinates.check(each)
