# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Intervals of arms whose friction is not that of the model."""

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    identify_recordings,
)
from support.robots import urdf_path
from support.unmodeled_friction import SMOOTHING, FrictionalArm


def test_intervals_hold_the_truth_behind_friction_that_the_model_does_not_have():
    """With errors taken for noise, correlated in time, 87 of 100 do, and 69 of 100 armatures."""
    nominal = Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'))
    options = IdentificationOptions(model=EffortModel(smoothing=SMOOTHING), scale='known')
    inside, armatures = [], []
    for seed in range(4):
        arm = FrictionalArm(nominal, seed)
        result = identify_recordings(nominal, [arm.recording(20.0)], options)
        true = np.array([arm.truth.of(group) for group in result.groups])
        low, high = result.intervals().T
        holds = (low <= true) & (true <= high) & result.identified
        inside += holds[result.identified].tolist()
        kinds = np.array([name.endswith('/armature') for name in result.parameters])
        armatures += holds[kinds & result.identified].tolist()
    assert 0.9 < np.mean(inside) < 0.99
    assert np.mean(armatures) > 0.8
