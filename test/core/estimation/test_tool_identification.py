# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Least squares of the tool beyond a force-torque sensor, against SciPy's fit of a line."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import linregress

from screw_dynamics_ros.core.estimation.tool_identification import fit, identify_tool


def test_values_covariance_and_residuals_of_a_line():
    rng = np.random.default_rng(7)
    t = np.linspace(0.0, 3.0, 40)
    b = 2.0 - 0.7 * t + 0.05 * rng.normal(size=40)
    x, covariance, rms = fit(np.stack([np.ones(40), t], axis=1), b)
    line = linregress(t, b)
    np.testing.assert_allclose(x, [line.intercept, line.slope], rtol=1e-12)
    deviations = np.sqrt(covariance.diagonal())
    np.testing.assert_allclose(deviations, [line.intercept_stderr, line.stderr], rtol=1e-9)
    assert rms == pytest.approx(np.std(b - line.intercept - line.slope * t), rel=1e-9)


@pytest.mark.parametrize('seed', range(20))
def test_a_sensor_that_is_mounted_with_small_errors_is_used(seed):
    """Rotated by 3 degrees, with scale errors of 2 %, noise and a small mass: no other axes."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(12, 3))
    g = 9.81 * u / np.linalg.norm(u, axis=1)[:, None]
    axes = Rotation.from_rotvec(np.radians(3.0) * u[0] / np.linalg.norm(u[0])).as_matrix()
    axes = axes * rng.uniform(0.98, 1.02, 3)
    mass, noise = rng.uniform(0.2, 3.0), 0.02
    forces = mass * g @ axes.T + [3.0, -2.0, 8.0] + noise * rng.normal(size=(12, 3))
    found = identify_tool(g, np.hstack([np.cross([0.0, 0.0, 0.1 * mass], g), forces]))
    assert found.mass == pytest.approx(mass, rel=0.1)
