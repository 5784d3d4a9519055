# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses of parallel robots for tests."""

import numpy as np

from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.mechanisms.parallel.legs import UPS
from screw_dynamics_ros.core.mechanisms.parallel.mechanism import Mechanism, is_delta

#: The pose of the golden numbers 8.4.
GOLDEN = se3.pose(so3.exp(0.2 * np.array([1, 2, 3]) / np.sqrt(14)), [0.05, -0.03, 0.6])

#: The legs of the golden numbers 8.4 there.
GOLDEN_LEGS = [0.67593838, 0.698265778, 0.757770207, 0.682220877, 0.702204393, 0.6220111]


def moved(pose, turn, shift):
    """Return a pose turned about its own origin, and shifted, in the axes of the base."""
    return se3.pose(so3.exp(turn) @ pose[:3, :3], pose[:3, 3] + shift)


def random_pose(mechanism, random, turn=0.35, shift=0.08):
    """Return a pose about home; that of a Delta is not turned."""
    x = random.uniform(-1.0, 1.0, (2, 3))
    return moved(mechanism.home, turn * x[0] * (not is_delta(mechanism)), shift * x[1])


def with_seventh_leg(mechanism):
    """Return a platform with one leg more."""
    extra = UPS(name='leg_7', base=[0.1, 0.0, 0.0], platform=[0.0, 0.1, 0.0])
    return Mechanism('seven', (*mechanism.legs, extra), mechanism.home)


def unit(x):
    return x / np.linalg.norm(x)
