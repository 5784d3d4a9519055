# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The trees of the examples have the equations in their docstrings."""

from __future__ import annotations

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.tree.examples import (
    floating_planar_arm,
    planar_arm,
    planar_arm_description,
)


def test_planar_arm():
    """Positions of the links, mass matrix, Coriolis and gravity torques."""
    robot = Robot(planar_arm_description(), gravity=(0.0, -9.81, 0.0), backend='reference')
    q, v = np.array([0.4, 1.1]), np.array([0.7, -0.9])
    c, s = np.cos(q[1]), np.sin(q[1])
    tip = [np.cos(q[0]) + np.cos(q.sum()), np.sin(q[0]) + np.sin(q.sum()), 0.0]
    np.testing.assert_allclose(robot.link_pose(q, 'tip')[:3, 3], tip)
    np.testing.assert_allclose(robot.mass_matrix(q), [[3 + 2 * c, 1 + c], [1 + c, 1]])
    np.testing.assert_allclose(
        robot.coriolis_torques(q, v), [-s * (2 * v[0] * v[1] + v[1] ** 2), s * v[0] ** 2]
    )
    elbow = 9.81 * np.cos(q.sum())
    np.testing.assert_allclose(robot.gravity_torques(q), [2 * 9.81 * np.cos(q[0]) + elbow, elbow])
    assert planar_arm().digest == robot.tree.digest


def test_floating_planar_arm():
    """The same arm behind a root link without mass."""
    tree, arm = floating_planar_arm(), planar_arm()
    assert (tree.nq, tree.nv) == (9, 8)
    assert [body.name for body in tree.bodies] == ['base', 'upper', 'lower']
    assert tree.bodies[0].m == 0.0
    for one, other in zip(tree.bodies[1:], arm.bodies):
        assert one.m == other.m == 1.0
        np.testing.assert_array_equal(one.h, other.h)
        np.testing.assert_array_equal(one.B, other.B)
