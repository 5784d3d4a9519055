# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses between measurements and after them, against the matrix exponential."""

import numpy as np
import pytest
from scipy.linalg import expm

from screw_dynamics_ros.core.kinematics import pose_history
from screw_dynamics_ros.core.kinematics.pose_history import PoseHistory

MS = 10**6
TWIST = np.array([0.3, -0.7, 1.1, 0.5, 0.2, -0.4])


def hat(X):
    x, y, z, *v = X
    return np.vstack([np.column_stack([[[0, -z, y], [z, 0, -x], [-y, x, 0]], v]), np.zeros(4)])


START = expm(hat([0.2, 0.4, -0.1, 1.0, 2.0, 3.0]))


def pose_at(stamp):
    """Return the pose of a body with a constant body twist."""
    return START @ expm(hat(TWIST) * stamp * 1e-9)


@pytest.mark.parametrize('has_twist', [True, False])
@pytest.mark.parametrize(
    ('stamp', 'age'), [(-130, 0.03), (0, 0.0), (37, 0.037), (160, 0.04), (200, 0.0), (290, 0.09)]
)
def test_a_constant_twist_is_followed(stamp, age, has_twist):
    history = PoseHistory()
    for k in (-100 * MS, 0, 100 * MS, 200 * MS):
        assert history.add(k, pose_at(k), TWIST if has_twist else None)
    motion = history.at(stamp * MS)
    assert motion.age == pytest.approx(age)
    if stamp < -100 and not has_twist:
        assert (motion.twist == 0.0).all()  # that of the first one is not known
        return
    np.testing.assert_allclose(motion.pose, pose_at(stamp * MS), atol=1e-13)
    np.testing.assert_allclose(motion.twist, TWIST, atol=1e-12)


def test_components_of_the_twist_change_at_a_constant_rate():
    history = PoseHistory()
    history.add(0, np.eye(4), np.zeros(6))
    history.add(100 * MS, np.eye(4), TWIST)
    np.testing.assert_allclose(history.at(25 * MS).twist, 0.25 * TWIST)
    np.testing.assert_allclose(history.at(150 * MS).twist, TWIST)


def test_only_newer_measurements_count_and_their_number_is_bounded(monkeypatch):
    monkeypatch.setattr(pose_history, 'LENGTH', 3)
    history = PoseHistory()
    assert history.at(0) is None
    assert (history.newest, history.last_pose.tolist()) == (None, np.eye(4).tolist())
    for k in range(5):
        assert history.add(k * MS, pose_at(k * MS))
    for late in (4 * MS, 3 * MS):
        assert not history.add(late, np.eye(4))
    assert history.newest == 4 * MS
    np.testing.assert_array_equal(history.last_pose, pose_at(4 * MS))
    assert history.at(0).age == pytest.approx(0.002)  # the oldest that is kept is at 2 ms
    history.clear()
    assert history.at(4 * MS) is None
