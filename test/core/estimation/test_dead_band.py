# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Soft dead bands: zero inside, continuous at the edge, the direction of vectors kept."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.estimation.dead_band import dead_band, dead_band_of_size
from screw_dynamics_ros.core.lie import so3
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from support.robots import urdf_path


def test_elements():
    x = np.linspace(-5.0, 5.0, 1001)
    y = dead_band(x, 1.5)
    np.testing.assert_allclose(y, np.sign(x) * np.maximum(np.abs(x) - 1.5, 0.0), atol=1e-15)
    assert np.abs(np.diff(y)).max() < 0.0101  # no jump
    assert dead_band(x, 0.0).tolist() == x.tolist()
    assert np.isnan(dead_band(np.array([np.nan]), 1.0)).all()


def test_vectors_keep_their_direction_in_any_axes():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, R, width = rng.normal(size=3), so3.exp(rng.normal(size=3)), rng.uniform(0.1, 2.0)
        y, length = dead_band_of_size(x, width), np.linalg.norm(x)
        np.testing.assert_allclose(y, x * max(length - width, 0.0) / length, atol=1e-15)
        np.testing.assert_allclose(dead_band_of_size(R @ x, width), R @ y, atol=1e-14)
    assert dead_band_of_size(np.zeros(3), 0.0).tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(dead_band_of_size(x, 0.0), x, rtol=1e-15)


@pytest.mark.parametrize('backend', ['native', 'python'])
def test_recorded(backend):
    if backend == 'native':
        pytest.importorskip('llvmlite')
    robot = Robot.from_urdf(urdf_path('planar_2r'), backend=backend)
    outputs = [
        Formula(f.__name__, ('x', 'width'), lambda x, width, f=f: f(x, width[0]))
        for f in (dead_band, dead_band_of_size)
    ]
    kernel = robot.fuse(*outputs, parameters={'x': 3, 'width': 1})
    for x in ([0.5, -2.0, 3.0], [0.0, 0.0, 0.0], [0.1, 0.1, 0.1]):
        x, width = np.array(x), np.array([1.0])
        for found, f in zip(kernel(x, width), (dead_band, dead_band_of_size)):
            np.testing.assert_allclose(found, f(x, 1.0), atol=1e-15)
