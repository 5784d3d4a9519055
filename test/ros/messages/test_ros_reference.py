# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""References are read by name, and refused as a whole if anything is wrong."""

import numpy as np
import pytest

pytest.importorskip('trajectory_msgs.msg')
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from screw_dynamics_ros.core.errors import ScrewDynamicsError
from screw_dynamics_ros.ros.messages.reference import read_reference

JOINTS = ('a', 'b', 'c')


def trajectory(names, **fields):
    return JointTrajectory(
        joint_names=list(names),
        points=[
            JointTrajectoryPoint(
                **{name: [float(x) for x in values] for name, values in fields.items()}
            ),
            JointTrajectoryPoint(positions=[99.0] * len(names)),
        ],
    )


def test_by_name():
    given, *rows = read_reference(
        trajectory('cab', positions=[3, 1, 2], velocities=[30, 10, 20], accelerations=[33, 11, 22]),
        JOINTS,
    )
    np.testing.assert_array_equal(rows, [[1, 2, 3], [10, 20, 30], [11, 22, 33]])
    assert given.all()


def test_some_joints_and_positions_only():
    read = read_reference(trajectory(['b', 'mimic'], positions=[2, 9]), JOINTS, known=['mimic'])
    np.testing.assert_array_equal(read, [[0, 1, 0], [0, 2, 0], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        (JointTrajectory(joint_names=['a']), 'no points'),
        (JointTrajectory(points=[JointTrajectoryPoint()]), 'names no joint'),
        (trajectory('abx', positions=[1, 2, 3]), "'x'"),
        (trajectory('aba', positions=[1, 2, 3]), "'a' twice"),
        (trajectory('abc', positions=[1, 2]), '2 positions for 3'),
        (trajectory('abc'), '0 positions for 3'),
        (trajectory('abc', positions=[1, 2, 3], velocities=[1]), '1 velocities for 3'),
        (trajectory('abc', positions=[1, 2, 3], accelerations=[1, 2, 3, 4]), '4 accelerations'),
        (trajectory('abc', positions=[1, float('nan'), 3]), "positions of joint 'b'"),
        (trajectory('abc', positions=[1, 2, 3], accelerations=[0, 0, float('inf')]), "joint 'c'"),
    ],
)
def test_refused(message, reason):
    with pytest.raises(ScrewDynamicsError, match=reason):
        read_reference(message, JOINTS)
