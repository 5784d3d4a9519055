# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""S-R-S arms: swivel angle, singularities (C-094)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.spherical_shoulder_elbow_wrist import (
    NEAR_AXIS,
    SphericalShoulderElbowWrist,
)
from screw_dynamics_ros.core.lie import screws, se3
from support.reachable_poses import iiwa
from support.serial_families import difference, pose_errors

ARM = SphericalShoulderElbowWrist(l1=0.36, upper=0.42, lower=0.4, l7=0.126)
CHAIN = ARM.chain()
Q = np.array([0.3, 0.4, 0.7, 0.5, 0.6, 1.1, -0.2])

#: As in the Barrett WAM: axis 4 is beside the axes 3 and 5.
WAM = SphericalShoulderElbowWrist(
    l1=0.0, upper=0.55, lower=0.3, l7=0.06, upper_offset=0.045, lower_offset=-0.045
)


def elbow(arm, q):
    """Return the point of the elbow axis that is in the plane of shoulder and wrist."""
    chain = arm.chain()
    center = np.array([0.0, 0.0, arm.l1])
    point = center + [arm.upper_offset, 0.0, arm.upper]
    screws, moving = chain.screws, np.append(point, 1.0)
    shoulder = SerialChain(('a', 'b', 'c'), screws[:3], np.eye(4))
    return (shoulder.pose(q[:3]) @ moving)[:3]


@pytest.mark.parametrize('arm', [ARM, WAM], ids=['iiwa', 'WAM'])
def test_all_branches_over_the_swivel(arm):
    """C-094: for each swivel angle eight solutions with the same elbow: the circle is covered."""
    chain = arm.chain()
    C = chain.pose(Q)
    center = np.array([0.0, 0.0, arm.l1])
    wrist = (C @ [0, 0, -arm.l7, 1])[:3]
    line = (wrist - center) / np.linalg.norm(wrist - center)
    for swivel in np.linspace(-np.pi, np.pi, 9)[1:]:
        solutions = arm.branches(C, swivel)
        assert pose_errors(chain, solutions, C).max() < 1e-12
        for index, q in enumerate(solutions):
            assert arm.branch_of(q) == index
            assert np.abs(np.exp(1j * arm.swivel_of(q)) - np.exp(1j * swivel)) < 1e-9
            out = elbow(arm, q) - center
            out -= line * (line @ out)
            up = np.array([0.0, 0.0, 1.0]) - line * line[2]
            angle = np.arctan2(line @ np.cross(up, out), up @ out)
            assert np.abs(np.exp(1j * angle) - np.exp(1j * swivel)) < 1e-9


def test_zero_swivel_is_the_highest_elbow():
    C = CHAIN.pose(Q)
    heights = [elbow(ARM, ARM.branches(C, s)[0])[2] for s in np.linspace(-3, 3, 31)]
    assert np.argmax(heights) == 15


@pytest.mark.parametrize('away', [0.0, 1e-8, 1e-4])
def test_wrist_above_the_shoulder(away):
    """Where axis 1 is no reference, the x-axis is: no solution is lost, none is a guess."""
    q = np.array([0.3, 0.0, 0.7, 0.5, 0.6, 1.1, -0.2])
    # q2 that puts the wrist center on axis 1, at an angle `away`
    q[1] = np.arctan2(0.4 * np.sin(q[3]), 0.42 + 0.4 * np.cos(q[3])) + away
    q[2] = 0.0
    C = CHAIN.pose(q)
    solutions = ARM.branches(C, ARM.swivel_of(q))
    assert pose_errors(CHAIN, solutions, C).max() < 1e-9
    own = difference(CHAIN, solutions[ARM.branch_of(q)], q)
    np.testing.assert_allclose(own, 0.0, atol=1e-6)
    assert NEAR_AXIS < 1e-4


def test_stretched_arm():
    """With q4 = 0 the elbow is on the line: every swivel angle gives the same pose."""
    q = np.array([0.3, 0.4, 0.7, 0.0, 0.6, 1.1, -0.2])
    C = CHAIN.pose(q)
    for swivel in (-1.0, 0.0, 2.0):
        # The elbow angle goes with the root of the rounding of the reach.
        assert pose_errors(CHAIN, ARM.branches(C, swivel), C).max() < 1e-7


RIGHT = np.pi / 2


@pytest.mark.parametrize('arm', [ARM, WAM], ids=['iiwa', 'WAM'])
@pytest.mark.parametrize(
    ('q', 'names'),
    [
        ([0.3, 0.4, 0.7, 0.0, 0.6, 1.1, -0.2], ('arm extended',)),
        ([0.3, 0.0, RIGHT, 0.5, 0.6, 1.1, -0.2], ('shoulder',)),
        ([0.3, np.pi, -RIGHT, 0.5, 0.6, 1.1, -0.2], ('shoulder',)),
        ([0.3, 0.4, 0.7, 0.5, RIGHT, 0.0, -0.2], ('wrist',)),
        ([0.3, 0.4, 0.7, 0.5, -RIGHT, 0.0, -0.2], ('wrist',)),
        ([0.3, 0.0, 0.7, 0.5, 0.6, 0.0, -0.2], ('shoulder and wrist',)),
        ([0.3, 0.0, 0.7, 0.5, 0.6, 1.1, -0.2], ()),  # q2 = 0 alone is regular
        ([0.3, 0.4, 0.7, 0.5, 0.6, 0.0, -0.2], ()),
        (Q, ()),
    ],
)
def test_singularities(arm, q, names):
    """C-094: the list of 3.17, with offsets of the elbow, too; rank 5 there, 6 elsewhere."""
    q = np.array(q)
    if names == ('arm extended',):
        q[3] += np.arctan2(arm.lower_offset, arm.lower) - np.arctan2(arm.upper_offset, arm.upper)
    assert arm.singularities(q) == names
    rank = np.linalg.matrix_rank(arm.chain().jacobian(q), tol=1e-9)
    assert rank == (5 if names else 6)


def test_an_elbow_beside_the_plane_of_the_arm_is_no_s_r_s():
    """The wrist center goes around the elbow axis in a plane: that must hold the shoulder, too."""
    aside = CHAIN.screws.copy()
    shift = se3.pose(np.eye(3), [0.0, 0.01, 0.0])
    aside[4:] = screws.transform_twist(shift, aside[4:])
    chain = SerialChain(CHAIN.joint_names, aside, shift @ CHAIN.home)
    assert SphericalShoulderElbowWrist.recognized(CHAIN) is not None
    assert SphericalShoulderElbowWrist.recognized(chain) is None


def test_of_a_robot():
    """C-087, C-095: the KUKA LBR iiwa 14 is one, with the dimensions of its data sheet."""
    robot = Robot(iiwa(), backend='reference')
    arm = SphericalShoulderElbowWrist.recognized(SerialChain.of(robot.tree, 'link7'))
    np.testing.assert_allclose(
        [arm.l1, arm.upper, arm.lower, abs(arm.l7)], [0.36, 0.42, 0.4, 0.126], atol=1e-12
    )
    C = robot.link_pose(Q, 'link7')
    solutions = arm.branches(C, arm.swivel_of(Q))
    for q in solutions:
        np.testing.assert_allclose(robot.link_pose(q, 'link7'), C, atol=1e-12)
    np.testing.assert_allclose(solutions[arm.branch_of(Q)], Q, atol=1e-9)
