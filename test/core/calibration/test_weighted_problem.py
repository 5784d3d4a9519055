# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Frames from measured points, beside SciPy's."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.calibration.weighted_problem import register_points
from screw_dynamics_ros.core.errors import ArgumentError


def test_points_in_a_plane_with_noise_give_a_rotation():
    """Noise beside the plane makes a reflection fit better in about half of the sets."""
    rng, reflected = np.random.default_rng(4), 0
    for _ in range(20):
        points = np.column_stack([rng.normal(size=(5, 2)), np.zeros(5)])
        turn = Rotation.random(random_state=rng)
        points[:, 2] = 0.02 * rng.normal(size=5)
        measured = turn.apply(points * [1, 1, -1]) + 0.01 * rng.normal(size=(5, 3)) + [1, 2, 3]
        C = register_points(points, measured)
        p, m = points - points.mean(axis=0), measured - measured.mean(axis=0)
        reflected += np.linalg.det(m.T @ p) < 0.0
        expected, _ = Rotation.align_vectors(m, p)
        np.testing.assert_allclose(C[:3, :3], expected.as_matrix(), atol=1e-9)
        np.testing.assert_allclose(
            C[:3, 3], measured.mean(axis=0) - C[:3, :3] @ points.mean(axis=0), atol=1e-12
        )
    assert reflected > 3


def test_points_on_a_line_are_refused():
    points = np.outer(np.arange(4.0), [1.0, 2.0, 3.0])
    with pytest.raises(ArgumentError, match='on one line'):
        register_points(points, points)
