# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Least squares of the tool beyond a force-torque sensor, against SciPy's fit of a line."""

import numpy as np
import pytest
from scipy.stats import linregress

from screw_dynamics_ros.core.measurement.estimation.tool_identification import fit


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
