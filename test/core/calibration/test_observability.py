# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The choice of configurations that tell most (C-017)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from screw_dynamics_ros.core.calibration.measurements import (
    MeasuredPoints,
    MeasuredPoses,
)
from screw_dynamics_ros.core.calibration.observability import (
    d_optimal,
    informative_configurations,
)
from screw_dynamics_ros.core.calibration.robot_calibration import calibrate_robot
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import ArgumentError
from support.robots import urdf_path

UR5 = read_urdf(urdf_path('ur_description/urdf/ur5_robot'))
ROBOT = ('axes', 'tool')


def poses(T):
    return MeasuredPoses(T, 2e-4, 1e-4)


def test_best_of_all_choices():
    """Exchange finds the largest determinant of all, where all can be tried."""
    for seed in range(5):
        A = np.random.default_rng(seed).normal(size=(9, 1, 3))

        def determinant(chosen, A=A):
            return np.linalg.det(np.einsum('ndi,ndj->ij', A[list(chosen)], A[list(chosen)]))

        best = max(itertools.combinations(range(9), 4), key=determinant)
        assert determinant(d_optimal(A, 4)) >= 0.95 * determinant(best)


@pytest.mark.parametrize('instrument', [poses, lambda T: MeasuredPoints(T[:, :3, 3], 1e-4)])
def test_fewer_poses_as_good_as_more(instrument):
    """C-017: 15 chosen of 200 leave smaller deviations than 15 at random do."""
    q = np.random.default_rng(1).uniform(-2, 2, (200, 6))
    design = informative_configurations(UR5, 'tool0', q, 15, instrument, estimate=ROBOT)
    assert len(set(design.chosen)) == 15
    assert design.index > 0.0
    assert design.condition < 100
    volumes = []
    for rows in (list(design.chosen), *(np.arange(15) + 15 * k for k in range(5))):
        T = np.tile(np.eye(4), (15, 1, 1))
        result = calibrate_robot(
            UR5, 'tool0', q[rows], instrument(T), estimate=ROBOT, max_iterations=1
        )
        volumes.append(np.linalg.slogdet(result.covariance)[1])
    assert volumes[0] < min(volumes[1:]) - 3.0


def test_refusals():
    q = np.random.default_rng(1).uniform(-2, 2, (20, 6))
    for count in (4, 21):
        with pytest.raises(ArgumentError, match=f'count = {count} of 20 candidates'):
            informative_configurations(UR5, 'tool0', q, count, poses, estimate=ROBOT)
    with pytest.raises(ArgumentError, match='count must be'):
        informative_configurations(UR5, 'tool0', q, 1.5, poses, estimate=ROBOT)
