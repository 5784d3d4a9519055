# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Orientations of messages: tf_transformations, or what it is made of, beside SciPy."""

import subprocess
import sys
import types

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point, Pose, Quaternion
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.ros.messages import conversions
from screw_dynamics_ros.ros.messages.conversions import matrix, pose, quaternion

HALF_TURNS = [Rotation.from_rotvec(np.pi * np.array(axis)) for axis in np.eye(3)]
ROTATIONS = [
    Rotation.identity(),
    *HALF_TURNS,
    Rotation.from_rotvec([1e-9, 0.0, 0.0]),
    Rotation.from_rotvec(np.array([0.6, 0.0, 0.8]) * (np.pi - 1e-7)),
    *Rotation.random(30, random_state=7),
]


def transformation(rotation, position=(1.0, -2.0, 3.0)):
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = rotation.as_matrix(), position
    return result


def assert_same(q, rotation):
    """q and -q are the same rotation; at half turns either is right."""
    expected = rotation.as_quat()
    assert q[3] >= -1e-15
    assert min(np.abs(q - expected).max(), np.abs(q + expected).max()) < 2e-15


@pytest.mark.parametrize('rotation', ROTATIONS)
def test_poses_of_messages(rotation):
    numbers = pose(transformation(rotation))
    np.testing.assert_array_equal(numbers[:3], [1.0, -2.0, 3.0])
    assert_same(numbers[3:], rotation)
    assert_same(quaternion(rotation.as_matrix()), rotation)


@pytest.mark.parametrize('rotation', ROTATIONS)
@pytest.mark.parametrize('norm', [1.0, 1.005, -1.0])
def test_matrices_of_messages(rotation, norm):
    x, y, z, w = (norm * rotation.as_quat()).tolist()
    message = Pose(position=Point(x=1.0, y=-2.0, z=3.0), orientation=Quaternion(x=x, y=y, z=z, w=w))
    np.testing.assert_allclose(matrix(message, 'it'), transformation(rotation), atol=2e-15)


@pytest.mark.parametrize(
    ('position', 'orientation', 'reason'),
    [
        ((np.nan, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0), 'position'),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), 'norm 0'),
        ((0.0, 0.0, 0.0), (0.0, 0.0, np.inf, 1.0), 'norm'),
        ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0), 'norm 1.41421'),
    ],
)
def test_what_is_no_pose_is_refused_by_name(position, orientation, reason):
    message = Pose(
        position=Point(**dict(zip('xyz', position))),
        orientation=Quaternion(**dict(zip('xyzw', orientation))),
    )
    with pytest.raises(ArgumentError, match=f'target of tool.*{reason}'):
        matrix(message, 'target of tool')


def test_tf_transformations_is_used_where_it_is(monkeypatch):
    stand_in = types.ModuleType('tf_transformations')
    stand_in.quaternion_from_matrix, stand_in.quaternion_matrix = object(), object()
    monkeypatch.setitem(sys.modules, 'tf_transformations', stand_in)
    assert conversions._find() == (stand_in.quaternion_from_matrix, stand_in.quaternion_matrix)


@pytest.mark.parametrize(
    ('module', 'text'),
    [
        (None, 'ros-$ROS_DISTRO-tf-transformations'),  # neither it nor transforms3d
        ("raise AttributeError('numpy has no float')", 'pip install --upgrade transforms3d'),
    ],
)
def test_a_node_without_it_says_in_one_line_what_to_install(tmp_path, module, text):
    (tmp_path / 'transforms3d.py').write_text("raise ModuleNotFoundError('No transforms3d')")
    (tmp_path / 'tf_transformations.py').write_text(
        module or "raise ModuleNotFoundError('No tf_transformations')"
    )
    ran = subprocess.run(
        [
            sys.executable,
            '-c',
            f'import sys; sys.path.insert(0, {str(tmp_path)!r})\n'
            'from screw_dynamics_ros import entry; entry.kinematics()',
        ],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith('[FATAL] [kinematics]: ')
    assert text in line
