# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies for the tests of `RigidBody`, random ones and that of golden cases 11 and 12."""

import numpy as np
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.lie import se3, so3
from support.models import random_inertia

N = 1000
G11 = RigidBody(2.0, np.zeros(3), np.diag([0.1, 0.2, 0.3])).moved(
    se3.pose(so3.exp([0, 0, np.pi / 6]), [0.1, -0.2, 0.3])
)
G12_V = np.array([1, 2, 3, 0.1, 0.2, 0.3])
G12_MATERIAL = np.array([0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
G12_W = np.array([-1.2837468245, -0.2866281292, 1.4259038106, 0.34, 9.48, -3.26])


def close(actual, desired, tolerance=1e-12):
    np.testing.assert_allclose(actual, desired, rtol=0, atol=tolerance)


def random_body(seed):
    inertia = random_inertia(np.random.default_rng(seed))
    return RigidBody(inertia.mass, inertia.com, inertia.matrix)


def random_pose(seed):
    rng = np.random.default_rng(seed)
    R = Rotation.from_quat(rng.normal(size=4)).as_matrix()
    return se3.pose(R, rng.normal(size=3))


def cloud(seed, count=30):
    """Masses and positions of particles."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1, count), rng.normal(size=(count, 3))


def skew(x):
    return so3.hat(x)
