# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cross-validation: whether a calibration predicts measurements that were not fitted.

The poses of the robot are divided into folds. Each fold is predicted twice by what the others
determine: by the nominal robot, with base and target fitted, and by the calibrated one. A fit of
many parameters to few noisy measurements always explains these better, and predicts others worse.

Source: Hastie, Tibshirani and Friedman 2009, *The elements of statistical learning*, section 7.10:
cross-validation, and the rule to prefer the simpler model within one standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.measurement.identification.robot_calibration import RobotCalibration
from screw_dynamics_ros.core.types import Array

FOLDS = 5

#: Configurations that agree to this are one pose, which is held out as a whole [rad, m].
SAME_POSE = 1e-2


@dataclass(frozen=True, eq=False)
class Validation:
    """Residuals of measurements that were not fitted.

    Attributes
    ----------
    folds : int
    nominal, calibrated : (N, d) arrays
        Residuals, predicted by the nominal robot and by the calibrated one [rad, m].
    deviations : (d,) array
        Standard deviations of the instrument [rad, m].
    poses : (N,) array of int
        The pose of the robot that each measurement belongs to.
    """

    folds: int
    nominal: Array
    calibrated: Array
    deviations: Array
    poses: Array

    @property
    def improved(self) -> bool:
        """Whether the calibrated robot predicts better.

        Neither angles nor distances are predicted worse, and the sum of the squares of all weighted
        residuals falls by more than its standard error.
        """
        gain = np.sum((self.nominal**2 - self.calibrated**2) / self.deviations**2, axis=1)
        of_pose = np.bincount(self.poses, gain)
        error = np.sqrt(len(of_pose)) * np.std(of_pose, ddof=1)
        return not worse(self.nominal, self.calibrated) and bool(of_pose.sum() > error)


def worse(before: Array, after: Array) -> bool:
    """Return whether residuals (N, d) are larger, the angles or the distances of them.

    >>> worse(np.array([[3.0, 4.0, 0.0]]), np.array([[0.0, 0.0, 5.1]]))
    True
    """
    parts = (slice(3), slice(3, None)) if before.shape[1] == 6 else (slice(None),)
    return any(np.sum(after[:, part] ** 2) > np.sum(before[:, part] ** 2) for part in parts)


def cross_validate(
    fit: Callable[[Sequence[int]], RobotCalibration],
    q: Array,
    deviations: Array,
    rows: Sequence[int],
    folds: int = FOLDS,
) -> Validation:
    """Return how well measurements are predicted by the others.

    Parameters
    ----------
    fit : callable
        Returns the calibration for measurements to hold out: `calibrate_robot` with `held_out`.
    q : (N, nq) array
        Configurations of all measurements [rad, m].
    deviations : (d,) array
        Standard deviations of the instrument [rad, m].
    rows : sequence of int
        The measurements to use; others are held out of all fits.
    folds : int
        As many as poses at most.

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
    nominal, calibrated = (np.empty((len(used), len(deviations))) for _ in range(2))
    for fold in range(folds):
        chosen = pose % folds == fold
        held_out = used[chosen]
        try:
            result = fit([*held_out.tolist(), *others])
        except ArgumentError as error:
            raise ArgumentError(f'without fold {fold + 1} of {folds}: {error}') from error
        if not result.success:
            raise ArgumentError(f'without fold {fold + 1} of {folds}: {result.message}')
        nominal[chosen] = result.residuals_before[held_out]
        calibrated[chosen] = result.residuals_after[held_out]
    return Validation(folds, nominal, calibrated, deviations, pose)
