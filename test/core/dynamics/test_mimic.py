# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mimic joints are exact everywhere: chains, multipliers, offsets, any order in the tree.

All functions are compared with Pinocchio's dense reduced equations in `test_pinocchio.py`, and with
Lagrange's equations in `test_dynamics.py`; here they are compared by hand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Mimic, RobotDescription, read_urdf
from support.models import mimicking, random_description, without_mimic


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    assert np.shape(actual) == np.shape(expected)
    error = np.linalg.norm(np.subtract(actual, expected))
    assert error <= 1e-10 * max(np.linalg.norm(expected), 1e-2)


def following(description: RobotDescription, **mimics: Mimic) -> RobotDescription:
    """Return the description with some joints made mimic joints."""
    return RobotDescription.from_parts(
        description.name,
        description.links,
        [replace(joint, mimic=mimics.get(joint.name, joint.mimic)) for joint in description.joints],
    )


def test_the_factory_makes_the_hard_cases():
    """Chains of mimic joints, masters later in the tree, continuous joints on both sides, signs."""
    joints = [{joint.name: joint for joint in mimicking(seed).joints} for seed in range(4)]
    pairs = [
        (tree[j.mimic.joint], j, list(tree)) for tree in joints for j in tree.values() if j.mimic
    ]
    assert any(master.mimic for master, _, _ in pairs)
    assert any(order.index(master.name) > order.index(slave.name) for master, slave, order in pairs)
    assert any(master.type == 'continuous' for master, _, _ in pairs)
    assert any(slave.type == 'continuous' for _, slave, _ in pairs)
    assert any(master.type != slave.type for master, slave, _ in pairs)
    assert any(slave.mimic.multiplier < 0 for _, slave, _ in pairs)


def test_multiplier_zero_holds_the_joint_still():
    description = following(
        random_description(1, 4, ('revolute',), chain=True), joint3=Mimic('joint1', 0.0, 0.6)
    )
    robot = Robot(description, backend='reference')
    free = Robot(without_mimic(description), backend='reference')
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 3))

    def full(x: np.ndarray, third: float) -> np.ndarray:
        return np.array([x[0], x[1], third, x[2]])

    close(robot.link_poses(q), free.link_poses(full(q, 0.6)))
    tau = free.inverse_dynamics(full(q, 0.6), full(v, 0), full(a, 0))[[0, 1, 3]]
    close(robot.inverse_dynamics(q, v, a), tau)
    close(robot.forward_dynamics(q, v, tau), a)


def test_a_continuous_master_turned_around_and_a_mimic_of_half_its_angle():
    """q is not reduced by 2 pi: half of a full turn more is half a turn of the follower (K-35)."""
    description = following(
        random_description(2, 2, ('continuous',), chain=True), joint2=Mimic('joint1', 0.5, 0.0)
    )
    robot = Robot(description, backend='reference')
    free = Robot(without_mimic(description), backend='reference')
    once = robot.link_poses([1.0 + 2 * np.pi])
    np.testing.assert_allclose(once, free.link_poses([1.0, 0.5 + np.pi]), atol=1e-14)
    assert np.abs(once - robot.link_poses([1.0])).max() > 0.1


def test_same_gripper_with_a_negative_multiplier():
    """Two fingers that close on each other: the same force at both does twice the work."""
    text = """<robot name="gripper"><link name="palm"/>
      <link name="left"><inertial><mass value="0.1"/>
        <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="right"><inertial><mass value="0.1"/>
        <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="l" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
        <limit lower="0" upper="0.04" effort="20" velocity="1"/></joint>
      <joint name="r" type="prismatic"><parent link="palm"/><child link="right"/><axis xyz="0 1 0"/>
        <limit lower="-0.04" upper="0" effort="20" velocity="1"/>
        <mimic joint="l" multiplier="-1"/></joint>
    </robot>"""
    robot = Robot(read_urdf(text), backend='reference')
    squeeze = {'left': [0, 0, 0, 0, -3.0, 0], 'right': [0, 0, 0, 0, 3.0, 0]}
    np.testing.assert_allclose(robot.mass_matrix([0.01]), [[0.2]], rtol=1e-14)
    np.testing.assert_allclose(robot.inverse_dynamics([0.01], [0], [0], squeeze), [6.0], rtol=1e-14)
    np.testing.assert_allclose(
        robot.forward_dynamics([0.01], [0], [6.0], squeeze), [0.0], rtol=0, atol=1e-13
    )
    np.testing.assert_allclose(robot.forward_dynamics([0.01], [0], [1.0]), [5.0], rtol=1e-14)
