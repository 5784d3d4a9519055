# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A moving tool of particles at a force-torque sensor: their forces are second differences."""

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.estimation.moved_tool import (
    MAX_DEVIATION,
    MIN_SINGULAR_VALUE,
    _determines,
    _estimate,
    _fit,
    _is_certain,
    identify_moved_tool,
    tool_regressor,
)
from screw_dynamics_ros.core.estimation.tool_identification import (
    MIN_MASS_SIGMAS,
    NoToolError,
    TooFewPosesError,
)
from screw_dynamics_ros.core.identification.recording import JointRecording
from support.models import random_description

LINK, GRAVITY = 'link3', np.array([0.4, -0.3, -9.7])
MASSES = np.array([0.4, 0.7, 0.2, 0.5])
PLACES = np.array([[0.2, 0.1, 0.1], [-0.1, 0.0, 0.25], [0.0, 0.2, 0.05], [0.1, -0.2, 0.2]])
BIAS = np.array([0.2, -0.1, 0.05, 3.0, -2.0, 8.0])
UPPER = np.triu_indices(3)
NOISE = np.array([0.015, 0.015, 0.03, 0.2, 0.2, 0.45])  # N m, N


def truth():
    """Return mass, center of mass and inertia about it, (10,)."""
    com = MASSES @ PLACES / MASSES.sum()
    r = PLACES - com
    second = np.einsum('p,pi,pj->ij', MASSES, r, r)
    return np.array([MASSES.sum(), *com, *(np.trace(second) * np.eye(3) - second)[UPPER]])


def parameters():
    """Return mass, first moments, and moments about the origin xx, xy, yy, xz, yz, zz, (10,)."""
    second = np.einsum('p,pi,pj->ij', MASSES, PLACES, PLACES)
    about = np.trace(second) * np.eye(3) - second
    return np.array(
        [MASSES.sum(), *(MASSES @ PLACES), *about[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
    )


@pytest.fixture(scope='module')
def robot():
    return Robot(random_description(4, 3, ('revolute',), chain=True), gravity=GRAVITY)


def recording(robot, seconds, speed=1.0, start=0.0):
    """Return a motion with the exact wrench of the tool on the robot, and its bias."""

    def q(t):
        return np.stack([np.sin(speed * w * t + w) for w in (1.3, 1.7, 2.3)], axis=-1)

    def places(t):
        C = robot.link_pose(q(t), LINK)
        return np.einsum('kij,pj->kpi', C[:, :3, :3], PLACES) + C[:, None, :3, 3]

    t, h = np.arange(start, start + seconds, 0.01), 1e-4
    a = (places(t + h) - 2.0 * places(t) + places(t - h)) / h**2
    R = robot.link_pose(q(t), LINK)[:, :3, :3]
    forces = np.einsum('kij,kpi->kpj', R, MASSES[:, None] * (GRAVITY - a))
    wrench = np.hstack([np.cross(PLACES, forces).sum(axis=1), forces.sum(axis=1)])
    return JointRecording(t, q(t), None, wrench + BIAS)


@pytest.fixture(scope='module')
def moved(robot):
    return recording(robot, 12.0)


def with_noise(given, seed):
    noise = NOISE * np.random.default_rng(seed).normal(size=given.tau.shape)
    return replace(given, tau=given.tau + noise)


def test_regressor_against_particles():
    """Forces and moments of moving particles about the origin of the frame."""
    rng = np.random.default_rng(0)
    omega, domega, acceleration = rng.normal(size=(3, 5, 3))
    Y = tool_regressor(omega, domega, acceleration)
    assert Y.shape == (5, 6, 10)
    for k in range(5):
        w = omega[k]
        a = acceleration[k] + np.cross(domega[k], PLACES) + np.cross(w, np.cross(w, PLACES))
        forces = MASSES[:, None] * a
        expected = [*np.cross(PLACES, forces).sum(axis=0), *forces.sum(axis=0)]
        np.testing.assert_allclose(Y[k] @ parameters(), expected, atol=1e-12)


def test_exact_wrenches_give_the_tool(robot, moved):
    found = identify_moved_tool(robot, LINK, [moved])
    body = np.array([found.mass, *found.com, *found.inertia])
    np.testing.assert_allclose(body, truth(), atol=2e-4)
    np.testing.assert_allclose(found.bias, BIAS, atol=1e-3)
    assert found.mass_deviation < 1e-3
    assert max(found.force_residual, found.moment_residual) < 2e-3
    # of wrenches without their means
    sizes = moved.tau.std(axis=0)
    assert found.moment == pytest.approx(np.sqrt(np.mean(sizes[:3] ** 2)), rel=0.1)
    assert found.force == pytest.approx(np.sqrt(np.mean(sizes[3:] ** 2)), rel=0.1)


def test_deviations_are_those_of_the_errors(robot, moved):
    """Of forces and moments with noise of different size; two recordings have smaller ones."""
    ratios = []
    for seed in range(12):
        found = identify_moved_tool(robot, LINK, [with_noise(moved, seed)], 6.0)
        values = [found.mass, *found.com, *found.inertia, *found.bias]
        deviations = [
            found.mass_deviation,
            *found.com_deviation,
            *found.inertia_deviation,
            *found.bias_deviation,
        ]
        ratios.append((np.array(values) - [*truth(), *BIAS]) / deviations)
    assert 0.6 < np.sqrt(np.mean(np.square(ratios))) < 1.3
    assert np.abs(ratios).max() < 4.0
    assert found.cutoff == 6.0
    # a filter of 6 Hz keeps 12 % of the power of white noise at 100 Hz
    for residual, noise in ((found.moment_residual, NOISE[:3]), (found.force_residual, NOISE[3:])):
        assert residual == pytest.approx(np.sqrt(0.12 * np.mean(noise**2)), rel=0.15)
    later = with_noise(recording(robot, 12.0, start=20.0), 99)
    both = identify_moved_tool(robot, LINK, [with_noise(moved, 11), later], 6.0)
    assert both.instants == 2 * found.instants
    assert both.mass_deviation == pytest.approx(found.mass_deviation / np.sqrt(2.0), rel=0.25)


def test_slow_motion_does_not_determine_the_inertia(robot):
    """Mass, center of mass and bias are those of gravity."""
    found = identify_moved_tool(
        robot, LINK, [with_noise(recording(robot, 40.0, speed=0.03), 0)], 1.0
    )
    assert found.inertia is None
    assert found.inertia_deviation is None
    assert abs(found.mass - truth()[0]) < 4.0 * found.mass_deviation < 0.05
    assert (np.abs(found.com - truth()[1:4]) < 4.0 * found.com_deviation).all()
    assert (np.abs(found.bias - BIAS) < 4.0 * found.bias_deviation).all()
    assert (found.bias_deviation > 0.0).all()


def test_what_is_no_tool(robot, moved):
    nothing = replace(moved, tau=BIAS + 0.0 * moved.tau)
    with pytest.raises(NoToolError, match='no tool, or sign of the sensor or gravity are wrong'):
        identify_moved_tool(robot, LINK, [with_noise(nothing, 1)], 6.0)
    with pytest.raises(NoToolError, match=r'the mass is -1\.8'):
        identify_moved_tool(robot, LINK, [replace(moved, tau=-moved.tau)], 6.0)
    still = replace(moved, q=0.0 * moved.q)
    with pytest.raises(TooFewPosesError):
        identify_moved_tool(robot, LINK, [still], 6.0)
    short = JointRecording(moved.t[:50], moved.q[:50], None, moved.tau[:50])
    with pytest.raises(ArgumentError, match='too short for a cutoff of 6 Hz'):
        identify_moved_tool(robot, LINK, [short], 6.0)


# --- least squares --------------------------------------------------------------------------------


def test_fit_weights_forces_and_moments_by_their_residuals():
    """As weighted least squares with the true deviations; covariance for white residuals."""
    rng, x = np.random.default_rng(1), np.array([1.0, -2.0, 0.5])
    Y = rng.normal(size=(4000, 6, 3)) * [1.0, 10.0, 0.1]
    sigma = np.array([0.01] * 3 + [1.0] * 3)
    w = Y @ x + sigma * rng.normal(size=(4000, 6))
    found, C, residual = _fit(Y, w, np.zeros(4000, dtype=np.int64))
    A, b = (Y / sigma[:, None]).reshape(-1, 3), (w / sigma).ravel()
    np.testing.assert_allclose(found, np.linalg.lstsq(A, b, rcond=None)[0], rtol=1e-4)
    np.testing.assert_allclose(residual, w - Y @ found, atol=1e-12)
    # autocorrelation times of white residuals are 1, and a margin
    assert 1.0 < C[0, 0] / np.linalg.inv(A.T @ A)[0, 0] < 1.3
    repeated = np.repeat(np.arange(500), 8)  # correlated over eight samples
    w = (Y @ x) + sigma * rng.normal(size=(500, 6))[repeated]
    slow = _fit(Y, w, np.zeros(4000, dtype=np.int64))[1]
    assert 5.0 < slow[0, 0] / C[0, 0] < 14.0


def test_exact_residuals_have_bounded_weights():
    rng = np.random.default_rng(2)
    Y = rng.normal(size=(50, 6, 2))
    x, C, _ = _fit(Y, Y @ [1.0, 2.0], np.zeros(50, dtype=np.int64))
    np.testing.assert_allclose(x, [1.0, 2.0])
    assert np.isfinite(C).all()


@pytest.mark.parametrize('factor', [0.5, 2.0])
def test_what_determines_all_parameters(factor):
    """Relative singular values, and sizes of columns, above 1e-6."""
    assert MIN_SINGULAR_VALUE == 1e-6
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(20, 6, 3))
    small = factor * 1e-6
    assert _determines(Y)
    assert _determines(Y * [1.0, small, 1.0]) == (factor > 1.0)
    near = Y.copy()
    near[..., 1] = near[..., 0] + 2.0 * small * np.linalg.norm(near[..., 0]) / np.sqrt(
        near[..., 0].size
    ) * rng.normal(size=near[..., 0].shape)
    assert _determines(near) == (factor > 1.0)


def test_the_estimate_has_the_order_of_bodies():
    found = _estimate(np.append(parameters(), BIAS), np.diag(np.arange(16.0) ** 2))
    np.testing.assert_allclose([found.mass, *found.center_of_mass, *found.inertia], truth())
    assert np.diag(found.covariance)[4:].tolist() == [16.0, 25.0, 49.0, 36.0, 64.0, 81.0]


@pytest.mark.parametrize('factor', [0.99, 1.01])
def test_an_inertia_is_certain_by_its_largest_moment(factor):
    """Its deviation is below 30 %; others may be larger."""
    assert (MAX_DEVIATION, MIN_MASS_SIGMAS) == (0.3, 3.0)
    theta = parameters()
    assert np.argmax(np.abs(truth()[4:])) == 5  # zz
    variances = np.zeros(16)
    variances[9] = (factor * 0.3 * truth()[9]) ** 2
    variances[5] = 1e6  # xy
    assert _is_certain(_estimate(theta, np.diag(variances))) == (factor < 1.0)
