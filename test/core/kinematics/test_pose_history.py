# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses between measurements and after them, against the matrix exponential."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.kinematics import pose_history
from screw_dynamics_ros.core.kinematics.pose_history import PoseHistory, find_motion, rest

MS = 10**6
TWIST = np.array([0.3, -0.7, 1.1, 0.5, 0.2, -0.4])


def hat(X):
    x, y, z, *v = X
    return np.vstack([np.column_stack([[[0, -z, y], [z, 0, -x], [-y, x, 0]], v]), np.zeros(4)])


START = expm(hat([0.2, 0.4, -0.1, 1.0, 2.0, 3.0]))


def pose_at(stamp):
    """Return the pose of a body with a constant body twist."""
    return START @ expm(hat(TWIST) * stamp * 1e-9)


def motion(history, stamp):
    """Return pose (4, 4), twist and age at a time."""
    find_motion(history, stamp)
    p, q = np.split(history.pose, [3])
    assert q[3] >= 0.0
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_quat(q).as_matrix(), p
    return pose, history.twist.copy(), history.age


@pytest.mark.parametrize('has_twist', [True, False])
@pytest.mark.parametrize(
    ('stamp', 'age'), [(-130, 0.03), (0, 0.0), (37, 0.037), (160, 0.04), (200, 0.0), (290, 0.09)]
)
def test_a_constant_twist_is_followed(stamp, age, has_twist):
    history = PoseHistory()
    for k in (-100 * MS, 0, 100 * MS, 200 * MS):
        assert history.add(k, pose_at(k), TWIST if has_twist else None)
    pose, twist, found = motion(history, stamp * MS)
    assert found == pytest.approx(age)
    if stamp < -100 and not has_twist:
        assert (twist == 0.0).all()  # that of the first one is not known
        return
    np.testing.assert_allclose(pose, pose_at(stamp * MS), atol=1e-13)
    np.testing.assert_allclose(twist, TWIST, atol=1e-12)


def test_components_of_the_twist_change_at_a_constant_rate():
    history = PoseHistory()
    history.add(0, np.eye(4), np.zeros(6))
    history.add(100 * MS, np.eye(4), TWIST)
    np.testing.assert_allclose(motion(history, 25 * MS)[1], 0.25 * TWIST)
    np.testing.assert_allclose(motion(history, 150 * MS)[1], TWIST)


def test_only_newer_measurements_count_and_their_number_is_bounded(monkeypatch):
    monkeypatch.setattr(pose_history, 'LENGTH', 3)
    history = PoseHistory()
    find_motion(history, 0)
    assert (history.newest, history.age) == (None, np.inf)
    for k in range(5):
        assert history.add(k * MS, pose_at(k * MS))
    for late in (4 * MS, 3 * MS):
        assert not history.add(late, np.eye(4))
    assert history.newest == 4 * MS
    assert motion(history, 0)[2] == pytest.approx(0.002)  # the oldest that is kept is at 2 ms
    for stamp in (2.5, 3.0, 3.9):
        np.testing.assert_allclose(
            motion(history, round(stamp * MS))[0], pose_at(stamp * MS), atol=1e-13
        )
    rest(history)
    np.testing.assert_allclose(history.pose[:3], pose_at(4 * MS)[:3, 3])
    assert not history.twist.any()
    history.clear()
    find_motion(history, 4 * MS)
    assert history.age == np.inf


@pytest.mark.parametrize('angle', [0.0, 1e-200, 1e-9, 1e-3, 1.0, 3.0])
def test_any_angle_between_two_poses_and_beyond(angle):
    """Against the matrix exponential."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        C, axis = np.eye(4), rng.normal(size=3)
        C[:3, :3], C[:3, 3] = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
        screw = np.concatenate([angle * axis / np.linalg.norm(axis), rng.normal(size=3)])
        history = PoseHistory()
        history.add(0, C, screw)
        history.add(1000 * MS, C @ expm(hat(screw)), screw)
        for t in (*rng.uniform(0.0, 1.0, 3), -3.0, 1.0, 4.0):
            pose, twist, _ = motion(history, round(t * 1000) * MS)
            expected = C @ expm(hat(0.001 * round(t * 1000) * screw))
            np.testing.assert_allclose(pose, expected, atol=1e-12)
            np.testing.assert_allclose(twist, screw, atol=1e-12)
