# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which poses determine a tool at a force-torque sensor, and its least squares."""

import numpy as np
import pytest

from screw_dynamics_ros.core.estimation.tool_identification import (
    MIN_MASS_SIGMAS,
    MIN_SPREAD,
    NoToolError,
    TooFewPosesError,
    check_orientations,
    fit,
    identify_tool,
)


def directions(first, second, size=9.81):
    """Return g (4, 3) whose unit vectors have these spreads along two axes, RMS."""
    x, y = np.sqrt(2.0) * first, np.sqrt(2.0) * second
    u = np.array([[x, 0.0], [-x, 0.0], [0.0, y], [0.0, -y]])
    return size * np.column_stack([u, -np.sqrt(1.0 - (u**2).sum(axis=1))])


@pytest.mark.parametrize('size', [9.81, 1.6])
def test_gravity_must_spread_by_a_tenth_in_two_directions(size):
    assert MIN_SPREAD == 0.1
    check_orientations(directions(0.3, 0.101, size))
    with pytest.raises(TooFewPosesError, match='all 4 poses to gravity differ in one direction'):
        check_orientations(directions(0.3, 0.099, size))
    with pytest.raises(TooFewPosesError, match='all 4 poses have nearly the same orientation'):
        check_orientations(directions(0.099, 0.05, size))


def test_three_poses_with_gravity_are_needed():
    g = directions(0.5, 0.4)
    check_orientations(g[[0, 1, 2]])
    with pytest.raises(TooFewPosesError, match='2 poses recorded, and at least 3'):
        check_orientations(g[:2])
    g[1] = 0.0
    with pytest.raises(TooFewPosesError, match='without gravity'):
        check_orientations(g)


def test_fit_is_ordinary_least_squares():
    """Covariance by the variance of the residuals, with degrees of freedom."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(9, 4)), rng.normal(size=9)
    x, C, rms = fit(A, b)
    np.testing.assert_allclose(x, np.linalg.pinv(A) @ b)
    left = b - A @ x
    np.testing.assert_allclose(C, left @ left / 5.0 * np.linalg.inv(A.T @ A))
    assert rms == pytest.approx(np.sqrt(np.mean(left**2)))


@pytest.mark.parametrize(('factor', 'is_tool'), [(1.01, True), (0.99, False)])
def test_a_mass_is_three_deviations_above_zero(factor, is_tool):
    """Also of negative masses, which are wrong signs."""
    g, rng = directions(0.5, 0.4), np.random.default_rng(1)
    noise = rng.normal(size=(4, 3))
    A = np.column_stack([g.ravel(), np.tile(np.eye(3), (4, 1))])
    noise -= (A @ np.linalg.pinv(A) @ noise.ravel()).reshape(4, 3)  # nothing but residuals
    deviation = fit(A, noise.ravel())[1][0, 0] ** 0.5
    mass = factor * MIN_MASS_SIGMAS * deviation
    W = np.hstack([np.cross([0.1, 0.0, 0.0], mass * g), mass * g + noise])
    if is_tool:
        tool = identify_tool(g, W)
        assert tool.mass == pytest.approx(mass)
        assert tool.mass_deviation == pytest.approx(mass / (3.0 * factor))
    else:
        with pytest.raises(NoToolError, match='there is no tool'):
            identify_tool(g, W)
    W[:, 3:] = -mass * g + noise
    with pytest.raises(NoToolError, match='sign of the' if is_tool else 'there is no tool'):
        identify_tool(g, W)
    assert MIN_MASS_SIGMAS == 3.0
