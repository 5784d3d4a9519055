# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cross-validation of calibrations, and priors of the errors of a robot (C-017)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from screw_dynamics_ros.core.calibration.chain_errors import ChainErrors
from screw_dynamics_ros.core.calibration.measurements import (
    MeasuredPoints,
    MeasuredPoses,
)
from screw_dynamics_ros.core.calibration.robot_calibration import calibrate_robot
from screw_dynamics_ros.core.calibration.validation import Validation, cross_validate
from screw_dynamics_ros.core.errors import ArgumentError
from support.calibration import ROBOT, arm, configurations, displaced, noisy, poses

INSTRUMENT = np.repeat([2e-3, 1e-3], 3)  # rad, m


def validated(size, noise, count, **options):
    """Return the validation, and rms of nominal and calibrated robot for exact other poses [m]."""
    nominal, link = arm('UR5')
    truth = displaced(nominal, link, size, seed=1)
    q, other = configurations(nominal, count), configurations(nominal, 100, seed=8)
    seen = MeasuredPoses(noisy(poses(truth, link, q), 2, 2 * noise, noise), 2 * noise, noise)

    def fit(held_out):
        return calibrate_robot(nominal, link, q, seen, estimate=ROBOT, held_out=held_out, **options)

    exact = poses(truth, link, other)[:, :3, 3]
    errors = [
        np.sqrt(np.mean((poses(d, link, other)[:, :3, 3] - exact) ** 2))
        for d in (nominal, fit(()).description)
    ]
    return cross_validate(fit, q, range(count)), errors


def test_many_good_poses_improve():
    """C-017: cross-validation finds what exact poses that were never measured confirm."""
    validation, (before, after) = validated(size=1e-3, noise=1e-4, count=50)
    assert validation.improved
    assert after < 0.2 * before
    assert validation.nominal.shape == validation.calibrated.shape == (50, 6)
    # Noise and the uncertainty of the fit: somewhat above the deviations of the instrument.
    weighted = validation.calibrated / np.repeat([2e-4, 1e-4], 3)
    assert 1.0 < np.sqrt(np.mean(weighted**2)) < 1.3


def test_few_noisy_poses_do_not():
    """C-017: a fit to them predicts others worse; a prior of the size of the errors helps."""
    validation, (before, after) = validated(size=1e-4, noise=2e-3, count=10)
    assert not validation.improved
    assert after > 2 * before
    assert (validation.calibrated**2).sum() > (validation.nominal**2).sum()
    _, (before, after) = validated(size=1e-4, noise=2e-3, count=10, prior=(1e-4, 1e-4))
    assert after < 1.2 * before


def test_prior_between_nominal_and_free():
    """C-017: a small prior leaves the robot as it is, a large one changes no result."""
    nominal, link = arm('UR5')
    q = configurations(nominal, 20)
    seen = MeasuredPoses(noisy(poses(displaced(nominal, link, 1e-3, 1), link, q), 3, 2e-4, 1e-4),
                         2e-4, 1e-4)  # fmt: skip
    free, large, small = (
        calibrate_robot(nominal, link, q, seen, estimate=ROBOT, prior=prior)
        for prior in (None, (1e3, 1e3), (1e-9, 1e-9))
    )
    np.testing.assert_allclose(large.values, free.values, rtol=0, atol=1e-10)
    np.testing.assert_allclose(large.covariance, free.covariance, rtol=1e-6, atol=1e-16)
    assert large.degrees_of_freedom == pytest.approx(free.degrees_of_freedom)
    for by_residuals in (False, True):
        np.testing.assert_allclose(
            large.intervals(from_residuals=by_residuals),
            free.intervals(from_residuals=by_residuals),
            atol=1e-9,
        )
    assert np.abs(small.values).max() < 1e-10
    np.testing.assert_allclose(small.deviations, 1e-9, rtol=1e-3)
    assert small.degrees_of_freedom == pytest.approx(120, abs=1e-3)
    # Wrong deviations of the instrument do not make the prior any wider.
    assert np.abs(small.intervals(from_residuals=True)).max() < 3e-9


def test_posterior_is_that_of_another_solver():
    """C-017: by SciPy; joints of each kind and scales have the deviation of their kind."""
    nominal, link = arm('UR5')
    rotation, length = 5e-4, 2e-3
    groups = ('axes', 'scales', 'target')
    q = configurations(nominal, 4)  # 12 equations for 33 parameters
    seen = MeasuredPoints(poses(displaced(nominal, link, 1e-3, 1), link, q)[:, :3, 3], 1e-3)
    result = calibrate_robot(
        nominal, link, q, seen, estimate=groups, prior=(rotation, length), target=np.eye(4)
    )
    assert result.success
    assert not result.held
    model = ChainErrors(nominal, link, groups, of_target=('x', 'y', 'z'))
    assert result.parameters == model.names
    prior = np.array([
        np.inf if name.startswith('target') else length if name[-1] in 'xyz' and name[-2] == '.'
        else rotation for name in model.names
    ])  # fmt: skip
    np.testing.assert_array_equal(result.prior, prior)

    def residuals(x):
        return np.concatenate([(seen.residuals(model.pose(q, x * 1e-3)) / 1e-3).ravel(),
                               x * 1e-3 / prior])  # fmt: skip

    other = least_squares(
        residuals, np.zeros(len(prior)), jac='3-point', xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    np.testing.assert_allclose(result.values, other.x * 1e-3, rtol=0, atol=1e-9)
    expected = np.linalg.inv(other.jac.T @ other.jac) * 1e-6
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-3, atol=1e-9)


def test_a_pose_is_held_out_as_a_whole():
    """C-017: all measurements in one configuration are in one fold; unused rows in none."""
    q = np.repeat(np.arange(7.0)[:, None], 2, axis=1)
    q = np.concatenate([q, q + 1e-9, [[50.0, 50.0]]])
    seen = []

    class Result:
        success = True
        residuals_before = 2.0 + np.arange(45.0).reshape(15, 3)
        residuals_after = np.ones((15, 3))

    def fit(held_out):
        seen.append(sorted(held_out))
        return Result

    validation = cross_validate(fit, q, range(14), folds=5)
    assert seen == [[0, 5, 7, 12, 14], [1, 6, 8, 13, 14], [2, 9, 14], [3, 10, 14], [4, 11, 14]]
    assert validation.poses.tolist() == [*range(7), *range(7)]
    np.testing.assert_array_equal(validation.nominal, Result.residuals_before[:14])
    assert validation.improved
    seen.clear()
    assert cross_validate(fit, q, [0, 1, 7], folds=5).folds == len(seen) == 2
    with pytest.raises(ArgumentError, match='takes two poses of the robot or more, not 1'):
        cross_validate(fit, q, [0, 7])


def test_folds_that_cannot_be_fitted():
    """C-017: the fold and the reason are named."""
    q = np.arange(5.0)[:, None]

    class Result:
        success, message = False, 'corrections still above 1'

    def refused(held_out):
        raise ArgumentError('too few')

    for fit, message in (
        (lambda held_out: Result, 'without fold 1 of 5: corrections still above 1'),
        (refused, 'without fold 1 of 5: too few'),
    ):
        with pytest.raises(ArgumentError, match=message):
            cross_validate(fit, q, range(5))


@pytest.mark.parametrize(
    ('before', 'after', 'improved'),
    [
        (2.0, 1.0, True),
        (1.0, 1.0, False),
        (1.0, [0.1, 0.1, 0.1, 1.1, 1.1, 1.1], False),  # angles better, distances worse
        (1.0, [1.1, 1.1, 1.1, 0.1, 0.1, 0.1], False),  # angles of all poses worse
        (1.0, [[2.0] * 3 + [0.1] * 3] + [[1.0] * 3 + [0.1] * 3] * 9, True),  # of one pose
        ([[1.0] * 6] * 9 + [[3.0] * 6], [[1.0] * 6] * 10, False),  # better by one pose of ten
    ],
)
def test_improvement(before, after, improved):
    """C-017: distances fall by two standard errors, and angles do not rise by more than one."""
    before, after = (np.broadcast_to(x, (10, 6)) * INSTRUMENT for x in (before, after))
    assert Validation(5, before, after, np.arange(10)).improved == improved
