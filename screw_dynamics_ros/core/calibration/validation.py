# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cross-validation: whether a calibration predicts measurements that were not fitted.

The poses of the robot are divided into folds. Each fold is predicted from the others twice: by the
nominal robot with fitted base and target, and by the calibrated robot. A fit of many parameters to
few noisy measurements always explains these better, but may predict others worse (overfitting).

Source: Hastie, Tibshirani and Friedman 2009, *The elements of statistical learning*, section 7.10:
cross-validation, and the simpler model unless the other is better by more than standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..types import Array
from .robot_calibration import RobotCalibration

FOLDS = 5

ANGLES, DISTANCES = slice(3), slice(-3, None)  # of residuals

#: Configurations within this tolerance are one pose, which is held out as a whole [rad, m].
SAME_POSE = 1e-2


@dataclass(frozen=True, eq=False)
class Validation:
    """Residuals of measurements that were not fitted.

    Attributes
    ----------
    folds : int
    nominal, calibrated : (N, d) arrays
        Residuals, predicted by the nominal robot and by the calibrated one [rad, m].
    poses : (N,) array of int
        The pose of the robot that each measurement belongs to.
    """

    folds: int
    nominal: Array
    calibrated: Array
    poses: Array

    @property
    def improved(self) -> bool:
        """Whether the calibrated robot predicts better.

        The sum of squared distances must decrease by more than two standard errors, and that of
        angles must not increase by more than one.
        """
        gain, error = self._gain(DISTANCES)
        if self.nominal.shape[1] < 6:
            return gain > 2.0 * error
        turned, turned_error = self._gain(ANGLES)
        return gain > 2.0 * error and turned >= -turned_error

    def _gain(self, part: slice) -> tuple[float, float]:
        """Return the decrease of the sum of squares, and its standard error."""
        gain = np.sum(self.nominal[:, part] ** 2 - self.calibrated[:, part] ** 2, axis=1)
        of_pose = np.bincount(self.poses, gain)
        return float(of_pose.sum()), float(np.sqrt(len(of_pose)) * np.std(of_pose, ddof=1))


def validated(
    fit: Callable[[Sequence[int]], RobotCalibration],
    q: Array,
    result: RobotCalibration,
    folds: int = FOLDS,
) -> Validation | str:
    """Return the cross-validation of the used measurements, or why it is not possible."""
    try:
        return cross_validate(fit, q, result.used, folds)
    except ArgumentError as error:
        return str(error)


def objection(result: RobotCalibration, validation: Validation | str) -> str:
    """Return why a corrected description should not be used, empty if it should."""
    held_out = list(result.held_out)
    before, after = (
        np.linalg.norm(e[held_out, DISTANCES])
        for e in (result.residuals_before, result.residuals_after)
    )
    if isinstance(validation, str):
        return f'it is unknown whether the corrected robot is better: {validation}'
    if not validation.improved:
        return 'the corrected robot does not improve the prediction of poses in cross-validation'
    if after > before:
        return 'the corrected robot has larger residuals at the held-out poses'
    return ''


def cross_validate(
    fit: Callable[[Sequence[int]], RobotCalibration],
    q: Array,
    rows: Sequence[int],
    folds: int = FOLDS,
) -> Validation:
    """Return the cross-validated residuals of measurements.

    Parameters
    ----------
    fit : callable
        Returns the calibration for measurements to hold out: `calibrate_robot` with `held_out`.
    q : (N, nq) array
        Configurations of all measurements [rad, m].
    rows : sequence of int
        The measurements to use; others are held out of all fits.
    folds : int
        Number of folds, at most that of poses.

    Raises
    ------
    ArgumentError
        One pose, and the remaining measurements of a fold are too few, or their fit does not
        converge.
    """
    used = np.asarray(rows)
    _, first, pose = np.unique(
        np.round(q[used] / SAME_POSE), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(np.argsort(first))  # in the order of measurement
    pose = order[pose.reshape(-1)]
    folds = min(folds, len(first))
    if folds < 2:
        raise ArgumentError(f'cross-validation takes two poses of the robot or more, not {folds}')
    others = sorted(set(range(len(q))) - set(rows))
    nominal: list[Array] = []
    calibrated: list[Array] = []
    for fold in range(folds):
        chosen = pose % folds == fold
        held_out = used[chosen]
        try:
            result = fit([*held_out.tolist(), *others])
        except ArgumentError as error:
            raise ArgumentError(f'without fold {fold + 1} of {folds}: {error}') from error
        if not result.success:
            raise ArgumentError(f'without fold {fold + 1} of {folds}: {result.message}')
        nominal.append(result.residuals_before[held_out])
        calibrated.append(result.residuals_after[held_out])
    # From the order of the folds back to that of the rows.
    back = np.argsort(np.argsort(pose % folds, kind='stable'))
    return Validation(folds, np.concatenate(nominal)[back], np.concatenate(calibrated)[back], pose)
