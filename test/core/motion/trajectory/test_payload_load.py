# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Torques that hold payloads, against the recursive Newton-Euler equations, and their limits."""

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.motion.trajectory.payload_capacity import (
    POSES,
    check_payload,
    holding_torques,
    payload_load,
)
from support.robots import example_robots, robot_id, urdf_path

NAMES = ('panda.', 'ur5_robot', 'tiago_no_hand', 'solo12', 'xarm7', 'talos_left_arm')
SOME = [path for path in example_robots() if any(name in str(path) for name in NAMES)]


def point(mass, com=(0.0, 0.0, 0.0)):
    return RigidBody(mass, com, np.zeros((3, 3)))


@pytest.mark.parametrize('path', SOME, ids=robot_id)
def test_torques_are_those_of_the_inverse_dynamics(path):
    robot = Robot.from_urdf(path, gravity=[1.0, -2.0, -9.0], backend='reference')
    bodies = {robot.link_names[k]: point(1.0 + k, [0.1, -0.2, 0.3 * k]) for k in (-1, 1, 0)}
    q = robot.random_configuration(0, POSES)
    rest = np.zeros(robot.nv)
    some = [robot.payload_torques(each, rest, rest, bodies) for each in q]
    expected = np.abs(some).max(axis=0)
    np.testing.assert_allclose(holding_torques(robot, bodies), expected, atol=1e-10)


@pytest.mark.parametrize(('link', 'payload'), [('wrist_3_link', 5.0)])
def test_the_rated_payload_of_an_arm_causes_no_alarm(link, payload):
    path = next(path for path in example_robots() if 'ur5_robot' in str(path))
    robot = Robot.from_urdf(path, backend='reference')
    check_payload(robot, link, point(payload, [0.0, 0.0, 0.05]))
    assert payload_load(robot, {link: point(payload, [0.0, 0.0, 0.05])}).share < 0.5


def test_limits_that_are_none_refuse_nothing():
    """No limit, zero, and placeholders with which the robot cannot hold itself."""
    text = urdf_path('planar_2r').read_text()
    for effort in (None, '0', '0.01'):
        described = text
        for given in ('effort="100"', 'effort="50"'):
            described = described.replace(given, '' if effort is None else f'effort="{effort}"')
        robot = Robot.from_urdf(described, gravity=[0.0, -9.81, 0.0], backend='reference')
        check_payload(robot, 'tip', point(1e5))
        assert payload_load(robot, {'tip': point(1e5)}).joint == ''
    robot = Robot.from_urdf(text, gravity=[0.0, 0.0, 0.0], backend='reference')
    check_payload(robot, 'tip', point(1e5))
    robot.gravity = [0.0, -9.81, 0.0]
    with pytest.raises(ArgumentError, match='N m of joint'):
        check_payload(robot, 'tip', point(1e5))
