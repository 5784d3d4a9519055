# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies in geometry_msgs/Inertia, with the largest numbers from both sides, and poses."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Inertia, Pose

from screw_dynamics_ros.core import ArgumentError
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.errors import NotFiniteError
from screw_dynamics_ros.ros.messages.conversions import matrix, read_inertia, write_inertia

MOMENTS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


def inertia(mass=2.0, com=(0.1, 0.2, 0.3), moments=(2.0, 0.1, 0.2, 3.0, 0.3, 4.0)):
    message = Inertia(m=mass, **dict(zip(MOMENTS, moments)))
    message.com.x, message.com.y, message.com.z = com
    return message


def test_each_number_has_its_field():
    body = read_inertia(inertia(), 'link')
    assert (body.mass, body.com.tolist()) == (2.0, [0.1, 0.2, 0.3])
    expected = [[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]]
    np.testing.assert_array_equal(body.matrix, expected)
    message = Inertia()
    write_inertia(message, RigidBody(2.0, [0.1, 0.2, 0.3], np.array(expected)))
    assert message == inertia()


@pytest.mark.parametrize(
    ('good', 'bad', 'message'),
    [
        ({'mass': 1e6}, {'mass': 1.001e6}, r'body: m is 1.001e\+06; the largest .* is 1e\+06'),
        ({'com': (0.0, -1e3, 0.0)}, {'com': (0.0, 0.0, -1001.0)},
         'body: com is 0, 0, -1001; the largest allowed value is 1000'),
        ({'moments': (1e9, 0.0, 0.0, 1e9, 0.0, 1e9)},
         {'moments': (1.001e9, 0.0, 0.0, 1e9, 0.0, 1e9)},
         r'body: inertia is 1.001e\+09, 0, .* the largest allowed value is 1e\+09'),
    ],
)  # fmt: skip
def test_the_largest_numbers(good, bad, message):
    read_inertia(inertia(**good), 'body')
    with pytest.raises(ArgumentError, match=message):
        read_inertia(inertia(**bad), 'body')


@pytest.mark.parametrize(
    ('wrong', 'field'),
    [
        ({'mass': np.nan}, 'm'),
        ({'com': (0.0, np.inf, 0.0)}, 'com'),
        ({'moments': (1.0, 0.0, 0.0, 1.0, np.nan, 1.0)}, 'inertia'),
    ],
)
def test_numbers_that_are_not_finite(wrong, field):
    with pytest.raises(NotFiniteError, match=f'body: {field} is .*; it must be finite'):
        read_inertia(inertia(**wrong), 'body')


@pytest.mark.parametrize(
    ('norm', 'is_taken'), [(0.989, False), (0.991, True), (1.009, True), (1.011, False)]
)
def test_norms_of_quaternions(norm, is_taken):
    """Within a hundredth they are due to rounding, and the matrix is a rotation."""
    message = Pose()
    message.orientation.z = message.orientation.w = norm * np.sqrt(0.5)
    message.position.x = 3.0
    if not is_taken:
        with pytest.raises(ArgumentError, match=f'p: the orientation .* has norm {norm}'):
            matrix(message, 'p')
        return
    expected = [[0, -1, 0, 3], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(matrix(message, 'p'), expected, atol=1e-12)
