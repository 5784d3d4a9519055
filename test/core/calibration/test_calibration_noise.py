# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Calibration of robot descriptions: noise, confidence, outliers, validation, refusals (C-017)."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation
from scipy.stats import chi2, norm, t

from screw_dynamics_ros.core.calibration.measurements import (
    MeasuredDistances,
    MeasuredPoints,
    MeasuredPoses,
)
from screw_dynamics_ros.core.calibration.robot_calibration import (
    RobotCalibration,
    calibrate_robot,
)
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.lie import se3
from support.calibration import (
    POSES,
    ROBOT,
    arm,
    configurations,
    displaced,
    errors_of,
    noisy,
    poses,
    with_displacements,
)
from support.models import random_pose
from support.robots import one_joint

# --- C-017: noise, confidence, another solver -----------------------------------------------------


def test_confidence_is_what_it_says():
    """C-017: the 95 % ellipsoid holds the truth in about 95 of 100 cases, as do intervals."""
    nominal, link = arm('UR5')
    truth = displaced(nominal, link, 1e-3, seed=1)
    q = configurations(nominal, 30)
    exact = poses(truth, link, q)
    inside, singles, misfits = [], [], []
    for seed in range(20):
        measured = MeasuredPoses(noisy(exact, seed, 2e-4, 1e-4), 2e-4, 1e-4)
        result = calibrate_robot(nominal, link, q, measured, estimate=ROBOT)
        assert result.success
        expected = errors_of(nominal, truth, result.parameters)
        error = result.values - expected
        inside.append(error @ np.linalg.solve(result.covariance, error) < chi2.ppf(0.95, 30))
        low, high = result.intervals(0.95).T
        singles.append(np.mean((low < expected) & (expected < high)))
        misfits.append(result.misfit)
    assert sum(inside) >= 17  # 16 or less happens once in 400 times
    assert abs(np.mean(singles) - 0.95) < 0.03
    assert abs(np.mean(misfits) - 1.0) < 0.05
    by_residuals = result.intervals(from_residuals=True)
    ratio = np.diff(by_residuals, axis=1) / np.diff(result.intervals(), axis=1)
    np.testing.assert_allclose(ratio, result.misfit, rtol=0.02)


@pytest.mark.parametrize('misfit', [0.5, 1.0, 3.0])
def test_intervals_by_residuals_scale_the_measurements_and_not_the_prior(misfit):
    """Precisions add: that of the measurements is divided by the square of the misfit."""
    rng, count = np.random.default_rng(0), 4
    factor = rng.normal(size=(9, count))
    measured, prior = factor.T @ factor, np.array([0.3, 2.0, 0.5, np.inf])
    values, freedom = rng.normal(size=count), 5.0
    result = RobotCalibration(**dict.fromkeys(each.name for each in fields(RobotCalibration)) | {
        'values': values, 'covariance': np.linalg.inv(measured + np.diag(prior**-2.0)),
        'prior': prior, 'misfit': misfit, 'degrees_of_freedom': freedom,
    })  # fmt: skip
    deviations = np.sqrt(np.diag(np.linalg.inv(measured / misfit**2 + np.diag(prior**-2.0))))
    for probability in (0.5, 0.95):
        half = deviations * t.ppf(0.5 + probability / 2, freedom)
        found = result.intervals(probability, from_residuals=True)
        np.testing.assert_allclose(found, np.stack([values - half, values + half], axis=1))
        half = result.deviations * norm.ppf(0.5 + probability / 2)
        found = result.intervals(probability)
        np.testing.assert_allclose(found, np.stack([values - half, values + half], axis=1))
    np.testing.assert_array_equal(result.intervals(), found)
    for probability in (0.0, 1.0):
        with pytest.raises(ArgumentError, match=f'probability = {probability} must be between'):
            result.intervals(probability)
    few = replace(result, degrees_of_freedom=0.99)
    with pytest.raises(ArgumentError, match='no residuals left'):
        few.intervals(from_residuals=True)
    assert np.isfinite(replace(few, degrees_of_freedom=1.0).intervals(from_residuals=True)).all()


def test_same_minimum_as_another_solver():
    """C-017: scipy's trust region on central differences, with residuals of its own."""
    nominal, link = arm('UR5')
    q = configurations(nominal, 20)
    measured = noisy(poses(displaced(nominal, link, 1e-3, 1), link, q), 3, 1e-3, 5e-4)
    known = ('shoulder_pan_joint', 'shoulder_lift_joint', 'wrist_3_joint')  # the others take time
    seen = MeasuredPoses(measured, 1e-3, 5e-4)
    result = calibrate_robot(nominal, link, q, seen, estimate=('axes',), fixed=known)

    def residuals(P):
        moved = {}
        for name, x in zip(result.parameters, P):
            owner, _, part = name.partition('.')
            place = ('rx', 'ry', 'rz', 'x', 'y', 'z').index(part)
            moved.setdefault(owner, np.zeros(6))[place] = x
        T = poses(with_displacements(nominal, moved), link, q)
        D = np.linalg.inv(T) @ measured
        turn = Rotation.from_matrix(D[:, :3, :3]).as_rotvec()
        e = se3.log(D)
        np.testing.assert_allclose(e[:, :3], turn, atol=1e-12)
        return (e / np.repeat([1e-3, 5e-4], 3)).ravel()

    other = least_squares(residuals, np.zeros(12), '3-point', xtol=1e-14, ftol=1e-14, gtol=1e-12)
    np.testing.assert_allclose(result.values, other.x, rtol=0, atol=1e-8)
    assert np.sum(residuals(result.values) ** 2) <= 2 * other.cost * (1 + 1e-9)


def test_outliers_are_named():
    """C-017: three grossly wrong poses of 60 would spoil the fit; they are found, no others."""
    nominal, link = arm('Panda')
    truth = displaced(nominal, link, 1e-3, seed=1)
    q = configurations(nominal, 60)
    seen = noisy(poses(truth, link, q), 1, 2e-4, 1e-4)
    wrong = (4, 17, 42)
    for k in wrong:
        seen[k, :3, 3] += [0.05, -0.02, 0.01 * k]
    measured = MeasuredPoses(seen, 2e-4, 1e-4)
    plain = calibrate_robot(nominal, link, q, measured, estimate=ROBOT)
    robust = calibrate_robot(nominal, link, q, measured, estimate=ROBOT, robust=True)
    assert plain.misfit > 10
    assert robust.outliers == wrong
    assert robust.misfit == pytest.approx(1.0, abs=0.15)
    expected = errors_of(nominal, truth, robust.parameters)
    error, spoilt = (np.linalg.norm(r.values - expected) for r in (robust, plain))
    assert error < 0.1 * spoilt
    clean = np.setdiff1d(np.arange(60), wrong)
    alone = calibrate_robot(nominal, link, q[clean], measured.part(clean), estimate=ROBOT)
    np.testing.assert_allclose(robust.values, alone.values, rtol=0, atol=1e-9)


def test_held_out_measurements_are_not_fitted():
    """C-017: validation poses have residuals like noise, and do not change the result."""
    nominal, link = arm('UR5')
    truth = displaced(nominal, link, 1e-3, seed=1)
    q = configurations(nominal)
    seen = noisy(poses(truth, link, q), 1, 2e-4, 1e-4)
    held_out = range(0, POSES, 5)
    spoilt = seen.copy()
    spoilt[0] = np.eye(4)
    results = [
        calibrate_robot(
            nominal, link, q, MeasuredPoses(C, 2e-4, 1e-4), estimate=ROBOT,
            held_out=held_out,
        )
        for C in (seen, spoilt)
    ]  # fmt: skip
    np.testing.assert_array_equal(results[0].values, results[1].values)
    assert results[0].held_out == tuple(held_out)
    assert len(results[0].used) == 40
    rms = np.sqrt(np.mean(results[0].residuals_after[list(held_out), 3:] ** 2))
    before = np.sqrt(np.mean(results[0].residuals_before[list(held_out), 3:] ** 2))
    assert rms < 2e-4 < 1e-3 < before


def test_fixed_parameters_stay():
    """C-017: parameters known are not estimated, by their own name or by that of their owner."""
    nominal, link = arm('UR5')
    q = configurations(nominal)
    measured = MeasuredPoses(poses(displaced(nominal, link, 1e-3, 1), link, q), 1e-4, 1e-4)
    result = calibrate_robot(
        nominal, link, q, measured, estimate=ROBOT, fixed=('elbow_joint', 'tool.x')
    )
    assert len(result.parameters) == 30 - 5
    assert 'elbow_joint' not in result.origins
    with pytest.raises(UnknownNameError, match=r"no parameter 'elbow'.*elbow_joint\.rx"):
        calibrate_robot(nominal, link, q, measured, fixed=('elbow',))


# --- refusals -------------------------------------------------------------------------------------


def test_what_calibration_refuses():
    nominal, link = arm('UR5')
    q = configurations(nominal, 8)
    C = poses(nominal, link, q)
    good = MeasuredPoses(C, 1e-4, 1e-4)
    with pytest.raises(UnknownNameError, match="no link 'hand'"):
        calibrate_robot(nominal, 'hand', q, good)
    with pytest.raises(UnknownNameError, match='give several of axes, offsets'):
        calibrate_robot(nominal, link, q, good, estimate=('axis',))
    nan = q.copy()
    nan[3, 2] = np.nan
    for arguments, options, message in [
        ((link, q[:5], good), {}, '8 measured poses, but q has shape'),
        ((link, nan, good), {}, r'q\[3\] holds numbers'),
        ((link, q[:, :5], good), {}, r'q must have shape \(N, 6\)'),
        ((link, q[:3], good.part([0, 1, 2])), {}, '3 poses give 18 equations for 36'),
        ((link, q, good), {'held_out': [8]}, 'none is number 8'),
        ((link, q, good), {'estimate': ('tool', 'target')}, 'one hides the other'),
        (('wrist_3_link', q, good), {'estimate': ('tool',)}, "no fixed joint carries link 'wrist"),
        (('base_link', q, good), {'estimate': ('axes',)}, 'no joint moves link'),
        ((link, q, good), {'target': np.ones((4, 4))}, 'target: not a rigid motion'),
        ((link, q, good), {'cutoff': 0.0}, 'cutoff must be a finite positive number'),
        ((link, q, good), {'largest_deviation': 0.0}, 'largest_deviation must be a finite pos'),
        ((link, q, good), {'tolerance': 0.0}, 'tolerance must be a finite positive number'),
        ((link, q, good), {'max_iterations': 0}, 'max_iterations must be a finite positive'),
        ((link, q, good), {'prior': (0.0, 1.0)}, 'prior must be a finite positive number'),
        ((link, q, good), {'prior': (1.0, 0.0)}, 'prior must be a finite positive number'),
        ((link, q, good), {'held_out': [-1]}, 'none is number -1'),
        ((link, np.tile(q[0], (8, 1)), MeasuredPoses(C[[0] * 8], 1, 1)), {}, 'two different axes'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            calibrate_robot(nominal, *arguments, **options)
    still = read_urdf(one_joint('<axis xyz="0 0 1"/>', 'continuous'))
    points = MeasuredPoints(np.zeros((4, 3)), 1e-4)
    with pytest.raises(ArgumentError, match=r'do not depend on j\.offset'):
        calibrate_robot(still, 'b', np.zeros((4, 1)), points, estimate=('offsets',))
    planar = read_urdf(one_joint('<axis xyz="0 0 1"/>', 'planar'))
    with pytest.raises(ArgumentError, match="joint 'j' on the way to link 'b' is planar"):
        calibrate_robot(planar, 'b', np.zeros((4, 3)), points, estimate=('axes',))
    slashed = read_urdf(one_joint('<axis xyz="0 0 1"/>', 'continuous').replace('"j"', '"left/j"'))
    turned = MeasuredPoints(np.array([[1.0, 0, 0], [0, 1.0, 0], [-1.0, 0, 0], [0, -1.0, 0]]), 1e-4)
    quarters = 0.5 * np.pi * np.arange(4.0)[:, None] + 0.01
    known = np.eye(4) + np.eye(4, k=3)
    found = calibrate_robot(slashed, 'b', quarters, turned, estimate=('offsets',), target=known)
    assert dict(zip(found.parameters, found.values)) == {'left/j.offset': pytest.approx(-0.01)}
    named = read_urdf(one_joint('<axis xyz="0 0 1"/>', 'continuous').replace('"j"', '"base"'))
    with pytest.raises(ArgumentError, match="joint 'base' has the name of other parameters"):
        calibrate_robot(named, 'b', np.zeros((4, 1)), points, estimate=('axes',))


def test_what_measurements_refuse():
    C = np.broadcast_to(np.eye(4), (3, 4, 4)).copy()
    for make, message in [
        (lambda: MeasuredPoses(C[0], 1, 1), r'poses must have shape \(N, 4, 4\), got \(4, 4\)'),
        (lambda: MeasuredPoses(2 * C, 1, 1), 'not a rigid motion'),
        (lambda: MeasuredPoses(C, 0, 1), 'rotation_deviation must be'),
        (lambda: MeasuredPoses(C, 1, np.nan), 'position_deviation must be'),
        (lambda: MeasuredPoints([[0, 0, np.inf]], 1), r'points\[0\] holds numbers'),
        (lambda: MeasuredPoints([0, 0, 0], 1), r'points must have shape \(N, 3\)'),
        (
            lambda: MeasuredDistances([1, -1], [0, 0, 0], 1),
            r'distances\[1\] = -1 m: distances are positive',
        ),
        (lambda: MeasuredDistances([1], [0, 0], 1), r'center must have shape \(3,\)'),
    ]:
        with pytest.raises(ArgumentError, match=message):
            make()


def test_most_measurements_wrong():
    """Where measurements do not agree at all, the fit says so instead of choosing a few."""
    nominal, link = arm('UR5')
    q = configurations(nominal, 12)
    rng = np.random.default_rng(0)
    measured = MeasuredPoses(np.stack([random_pose(rng) for _ in q]), 1e-4, 1e-4)
    result = calibrate_robot(nominal, link, q, measured, estimate=('offsets',), robust=True)
    assert not result.success or result.misfit > 100


def test_outlier_that_alone_moved_a_joint():
    """C-017: a parameter that only outliers show is held; too large numbers are refused."""
    nominal, link = arm('UR5')
    truth = displaced(nominal, link, 1e-3, seed=1)
    q = configurations(nominal)
    q[1:, 2] = 0.4  # the elbow moves in one measurement only, and that one is wrong
    C = poses(truth, link, q)
    C[0, :3, 3] += 0.2
    seen = MeasuredPoses(C, 1e-4, 1e-4)
    result = calibrate_robot(nominal, link, q, seen, estimate=ROBOT, robust=True)
    assert result.outliers == (0,)
    assert result.success
    held = {next(iter(combination)) for combination in result.held}
    assert any('elbow' in name for name in held)
    assert not held & set(result.parameters)
    assert np.abs(result.residuals_after[1:]).max() < 1e-11
    far = MeasuredPoints(np.full((50, 3), 1e308) * np.sign(q[:, :3]), 1e-4)
    with pytest.raises(ArgumentError, match='the corrections diverge'):
        calibrate_robot(nominal, link, q, far, estimate=ROBOT)
