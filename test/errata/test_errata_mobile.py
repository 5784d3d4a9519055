# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Chapter 9 of the book: the corrected forms hold, the printed ones do not.

Errata E-44 to E-48 of doc/spec/bruyninckx_errata.md (C-129, C-131 to C-133, C-148). Twists
(omega, v_x, v_y), wrenches (f_x, f_y, m) as printed.
"""

import numpy as np
import pytest

from screw_dynamics_ros.core.mobile import planar, platforms

D3 = planar.FORCE_LAST
WRONG = 1e-2  # least deviation of a printed formula that counts as wrong
POSE = np.array([0.7, 0.4, -0.3])


def test_pose_is_a_homogeneous_matrix():
    """E-44: (9.2) is T, (3, 3), which takes points; a rotation matrix R of that name would not."""
    T = planar.matrix(POSE)
    point = planar.compose(POSE, [0.0, 1.0, 2.0])[1:]
    np.testing.assert_allclose((T @ [1.0, 2.0, 1.0])[:2], point, atol=1e-15)
    assert np.abs(planar.rotation(POSE[0]) @ [1.0, 2.0] - point).max() > WRONG


def test_transform_of_wrenches():
    """E-45: the printed third column 0 is singular and loses the moment."""
    phi, x, y = POSE
    c, s = np.cos(phi), np.sin(phi)
    S_t, S_w = planar.twist_transform(POSE), D3.T @ planar.wrench_transform(POSE) @ D3
    printed = np.array([[c, -s, 0], [s, c, 0], [x * s - y * c, x * c + y * s, 0]])
    np.testing.assert_allclose(S_t.T @ D3 @ S_w, D3, atol=1e-12)
    assert np.abs(S_t.T @ D3 @ printed - D3).max() > WRONG


def test_line_of_the_front_axle():
    """E-46: (9.11), (9.12), (9.16). The printed line meets the center, but slips differ."""
    wheelbase, sigma = 1.2, 0.35
    s, c = np.sin(sigma), np.cos(sigma)
    car = platforms.bicycle(wheelbase, 0.3)
    wrench = D3.T @ car.slip_matrix([sigma])[1]
    to_the_right = [s, -c, -wheelbase * c]
    np.testing.assert_allclose(-wrench, to_the_right, atol=1e-15)
    t = np.array([0.3, 1.0, 0.2])
    n = np.array([-s, c])  # across the front wheel, to its left
    slip = n @ [t[1], t[2] + t[0] * wheelbase]
    assert car.slip_matrix([sigma])[1] @ t == pytest.approx(slip, abs=1e-15)
    printed = D3 @ np.array([c, -s, -wheelbase * c])
    assert abs(abs(printed @ t) - abs(slip)) > WRONG


def test_angular_velocity_of_a_differential_drive():
    """E-47: (v_r - v_l) / d, not / 2d: seen by the points of contact."""
    d, right, left = 0.5, 0.8, 0.5
    omega, v, _ = platforms.differential_drive(d, 1.0).twist([right, left])
    assert v + omega * d / 2 == pytest.approx(right, abs=1e-12)
    assert abs(v + (right - left) / (2 * d) * d / 2 - right) > WRONG


def test_transform_of_a_car_to_its_center():
    """E-48: [[1, 0, 0], [0, 1, 0], [-r, 0, 1]], from the center of rotation at (0, r)."""
    r = 3.3
    S_w = D3.T @ planar.wrench_transform([0.0, 0.0, r]) @ D3
    np.testing.assert_allclose(S_w, [[1, 0, 0], [0, 1, 0], [-r, 0, 1]], atol=1e-15)
    c, s = np.cos(0.35), np.sin(0.35)
    printed = np.array([[1, 0, c], [0, -1, -s], [-r, 0, 1]])
    S_t = planar.twist_transform([0.0, 0.0, r])
    np.testing.assert_allclose(S_t.T @ D3 @ S_w, D3, atol=1e-15)
    assert np.abs(S_t.T @ D3 @ printed - D3).max() > WRONG
