# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Another link as the root of the tree (B-115)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rerooting import rerooted
from screw_dynamics_ros.core.errors import DescriptionError, UnknownNameError
from support.models import random_configuration, random_description

KINDS = ('revolute', 'prismatic', 'continuous', 'fixed')


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('root', ['link3', 'link7', 'link9'])
def test_relative_poses_do_not_depend_on_the_root(seed, root):
    """B-115, with mimic joints among those that turn round."""
    description = random_description(seed, 9, KINDS, mimic=2)
    robot = Robot(description, backend='reference')
    other = Robot(rerooted(description, root), backend='reference')
    q = random_configuration(robot, np.random.default_rng(seed))
    assert sorted(robot.joint_names) == sorted(other.joint_names)
    q_other = q[[robot.joint_names.index(name) for name in other.joint_names]]
    reference = np.linalg.inv(robot.link_pose(q, root))
    np.testing.assert_array_equal(other.link_pose(q_other, root), np.eye(4))
    for link in robot.link_names:
        np.testing.assert_allclose(
            other.link_pose(q_other, link), reference @ robot.link_pose(q, link), rtol=0, atol=5e-15
        )


def test_free_dynamics_does_not_depend_on_the_root():
    """B-115: the same kinetic energy whichever link counts as the base."""
    description = random_description(1, 5, ('revolute', 'prismatic'), chain=True)
    robot = Robot(description, backend='reference', floating_base=True)
    other = Robot(rerooted(description, 'link3'), backend='reference', floating_base=True)
    rng = np.random.default_rng(1)
    q, v = random_configuration(robot, rng), rng.uniform(-1, 1, robot.nv)
    C, V = robot.link_pose(q, 'link3'), robot.velocity(q, v, 'link3', 'body')
    from scipy.spatial.transform import Rotation

    order = [robot.joint_names.index(name) for name in other.joint_names]
    q_other = np.concatenate([C[:3, 3], Rotation.from_matrix(C[:3, :3]).as_quat(), q[7:][order]])
    v_other = np.concatenate([V, v[6:][order]])
    np.testing.assert_allclose(
        other.kinetic_energy(q_other, v_other), robot.kinetic_energy(q, v), rtol=1e-13
    )


def test_the_old_root_gives_the_same_robot():
    description = random_description(0, 4)
    again = rerooted(description, description.root)
    assert again.links == description.links
    assert again.joints == description.joints


def test_what_is_refused():
    with pytest.raises(UnknownNameError, match="no link named 'nowhere'"):
        rerooted(random_description(0, 3), 'nowhere')
    with pytest.raises(DescriptionError, match="'joint1' between 'link0' and 'link1' is planar"):
        rerooted(random_description(0, 1, ('planar',)), 'link1')
