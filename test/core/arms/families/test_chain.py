# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Serial chains: the pose of the tool from joint screws alone."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError, UnknownNameError
from screw_dynamics_ros.core.lie import screws
from support import arm_321
from support.robots import joint, links, robot, urdf_path

ROUND_OFF = 1e-12


@pytest.mark.parametrize(('name', 'link'), [('panda', 'panda_leftfinger'), ('tiago', 'wrist_ft')])
def test_pose_and_jacobian_are_those_of_the_robot(name, link):
    """Product of exponentials equals product of segments, prismatic joints included (C-096)."""
    arm = Robot.from_urdf(urdf_path(name), backend='reference')
    link = next(each for each in arm.link_names if each.startswith(link))
    chain = SerialChain.of(arm.tree, link)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = arm.random_configuration(rng)
        own = q[chain.places]
        np.testing.assert_allclose(chain.pose(own), arm.link_pose(q, link), atol=ROUND_OFF)
        J = arm.jacobian(q, link, 'spatial')
        columns = [arm.joint_coordinates(name)[1].start for name in chain.joint_names]
        np.testing.assert_allclose(chain.jacobian(own), J[:, columns], atol=ROUND_OFF)


def test_limits_and_stacks():
    arm = Robot.from_urdf(urdf_path('panda'), backend='reference')
    chain = SerialChain.of(arm.tree, 'panda_link7')
    np.testing.assert_array_equal(chain.lower, arm.limits.lower[:7])
    np.testing.assert_array_equal(chain.upper, arm.limits.upper[:7])
    q = np.random.default_rng(1).normal(size=(3, 2, 7))
    poses = chain.pose(q)
    assert poses.shape == (3, 2, 4, 4)
    np.testing.assert_allclose(poses[2, 1], chain.pose(q[2, 1]), atol=ROUND_OFF)


def test_defaults():
    chain = SerialChain(('slide',), [[0, 0, 0, 1, 0, 0]], np.eye(4))
    assert len(chain) == 1
    assert chain.turns == (False,)
    assert (chain.lower, chain.upper, chain.places) == ([-np.inf], [np.inf], [0])


def test_an_empty_chain_stays_at_home():
    arm = arm_321.arm(backend='reference')
    chain = SerialChain.of(arm.tree, 'base')
    np.testing.assert_array_equal(chain.pose([]), np.eye(4))


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'screws': [[0, 0, 1, 0, 0]]}, r'screws .* shape \(1, 6\)'),
        ({'home': np.eye(3)}, r'home .* shape \(4, 4\)'),
        ({'lower': [0.0, 0.0]}, r'lower .* shape \(1,\)'),
        ({'screws': [[0, 0, 1, 0, 0, 0.1]]}, "joint 'a': .* neither a revolute nor a prismatic"),
        ({'screws': [[0, 0, 2, 0, 0, 0]]}, "joint 'a'"),
        ({'screws': [[0, 0, np.nan, 0, 0, 0]]}, "joint 'a'"),
    ],
)
def test_bad_chains(fields, message):
    good = {'joint_names': ('a',), 'screws': [screws.unit_screw([0, 0, 1])], 'home': np.eye(4)}
    SerialChain(**good)
    with pytest.raises(ArgumentError, match=message):
        SerialChain(**good | fields)


def test_what_is_no_serial_chain():
    arm = arm_321.arm(backend='reference')
    with pytest.raises(UnknownNameError, match='no link named'):
        SerialChain.of(arm.tree, 'hand')
    floating = Robot(arm_321.description(), floating_base=True, backend='reference')
    with pytest.raises(DescriptionError, match=r'floating base .* 6 freedoms'):
        SerialChain.of(floating.tree, 'tool')
    chain = SerialChain.of(arm.tree, 'tool')
    with pytest.raises(ArgumentError, match='q must have shape'):
        chain.pose(np.zeros(5))
    mimic = robot(
        links('a b c'),
        joint('first', 'a', 'b'),
        joint('second', 'b', 'c', '<mimic joint="first" multiplier="-1"/>'),
    )
    coupled = Robot.from_urdf(mimic, backend='reference')
    with pytest.raises(DescriptionError, match=r"'second'.* mimics"):
        SerialChain.of(coupled.tree, 'c')
    assert len(SerialChain.of(coupled.tree, 'b')) == 1
