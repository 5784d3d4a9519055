# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Path tracking is checked first, by counts from the literature; then it judges our solutions."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import homotopy_6r as homotopy
from support.all_solutions import Subject, agrees
from support.arm_configurations import (
    beside_the_border,
    determinants,
    random_configurations,
    singular,
)
from support.arms import arm

#: Pose of the tool of Manseur and Doty's arm with 16 real solutions, six digits as printed
#: (Manocha, Canny 1994, IEEE Trans. Robotics and Automation 10 (5), table 1).
MANSEUR_DOTY_POSE = np.array(
    [
        [-0.760117, -0.641689, 0.102262, -1.140175],
        [0.133333, 0.0, 0.991071, 0.0],
        [-0.635950, 0.766965, 0.085558, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
)


def test_a_general_loop_has_sixteen_solutions() -> None:
    """Primrose's bound, 16, reached: distinct regular solutions of one loop of random shape."""
    shape, x = homotopy.general_loop()
    error, derivatives = homotopy.equations(x, np.broadcast_to(shape, (16, 6, 5)))
    assert np.abs(error).max() < 1e-10
    assert np.linalg.cond(derivatives[:, :, :6]).max() < 1e6
    apart = np.abs(homotopy.wrapped(x[:, None] - x)).max(axis=2) + np.eye(16)
    assert apart.min() > 1e-3


def test_derivatives_of_the_loop() -> None:
    """Central differences in every angle and length, at a closed loop."""
    shape, x = homotopy.general_loop()
    x, shape, h = x[:1], shape[None], 1e-6
    derivatives = homotopy.equations(x, shape)[1][0]
    changes = [(k, None) for k in range(6)]
    changes += [(None, (k, place)) for place in (3, 4) for k in range(6)]
    changes += [(None, (k, place)) for k in range(6) for place in (0, 1, 2)]
    for column, (angle, entry) in zip(derivatives.T, changes):
        dx, change = np.zeros((1, 6)), np.zeros((1, 6, 5))
        if angle is not None:
            dx[0, angle] = h
        else:
            change[(0, *entry)] = h
        after, before = (
            homotopy.equations(x + sign * dx, shape + sign * change)[0][0] for sign in (1, -1)
        )
        assert np.allclose((after - before) / (2 * h), column, rtol=0, atol=1e-7)


def test_the_arm_with_sixteen_real_solutions() -> None:
    """C-103: Manseur and Doty 1989; we find as many as path tracking."""
    judged, pose = arm('Manseur-Doty arm'), MANSEUR_DOTY_POSE.copy()
    U, _, V = np.linalg.svd(pose[:3, :3])
    pose[:3, :3] = U @ V
    (ends,) = homotopy.all_solutions(*judged.axes(), pose[None])
    robot = judged.robot('reference')
    assert ends.complete
    assert len(ends.q) == 16
    assert max(np.abs(robot.link_pose(q, judged.tool) - pose).max() for q in ends.q) < 1e-12
    ours = robot.all_inverse_kinematics(pose, judged.tool)
    assert ours.complete
    assert len(ours.q) == 16


def test_an_arm_with_eight_solutions() -> None:
    """The other eight paths end at infinity; the configuration the pose was made of is found."""
    judged = arm('PUMA 560')
    robot = judged.robot('reference')
    q = np.array([[0.4, -1.1, 1.3, -0.7, 0.9, 0.2], [-2.0, 0.3, -0.8, 1.9, -1.2, 2.5]])
    poses = np.array([robot.link_pose(each, judged.tool) for each in q])
    for each, pose, ends in zip(q, poses, homotopy.all_solutions(*judged.axes(), poses)):
        assert ends.complete
        assert ends.infinite == 8
        assert len(ends.q) + 2 * ends.pairs == 8
        assert np.abs(homotopy.wrapped(ends.q - each + 0j)).max(axis=1).min() < 1e-10
        assert max(np.abs(robot.link_pose(x, judged.tool) - pose).max() for x in ends.q) < 1e-12


def test_a_pose_out_of_reach_has_no_real_solution() -> None:
    """All solutions there are in conjugate pairs."""
    judged = arm('UR5')
    pose = judged.robot('reference').link_pose([0.4, -1.1, 1.3, -0.7, 0.9, 0.2], judged.tool)
    pose[:3, 3] *= 3.0
    (ends,) = homotopy.all_solutions(*judged.axes(), pose[None])
    assert ends.complete
    assert len(ends.q) == 0
    assert ends.pairs == 4


@pytest.mark.parametrize('name', ['Kinova JACO2 j2n6s300'])
def test_the_solutions_are_those_of_path_tracking(name: str) -> None:
    """C-103: of random poses, and of poses to both sides of where two solutions meet."""
    subject = Subject(arm(name))
    q, edge = random_configurations(subject, 2, seed=5), singular(subject, 1, seed=5)
    assert np.abs(determinants(subject, edge)).max() < 1e-12
    inside, outside = beside_the_border(subject, edge)
    q = np.vstack([q, edge, edge])
    poses = np.vstack([subject.robot.link_pose(q[:2], subject.arm.tool), inside, outside])
    expected = subject.expected(poses, q)
    decided = [case for case in zip(q, poses, expected) if case[2] is not None]
    assert len(decided) >= 3
    assert all(agrees(subject, *case) for case in decided)
