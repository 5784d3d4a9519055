# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Intervals of arms whose friction is not that of the model."""

import numpy as np

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    JointRecording,
    identify_recordings,
)
from screw_dynamics_ros.core.identification.recording import KnownLoad
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


def test_intervals_hold_first_moments_where_a_load_repeats_the_motion():
    """Of currents: 29 of 34, if errors of the two recordings are taken for independent."""
    nominal = Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'))
    load = RigidBody(2.0, [0.05, -0.02, 0.08], np.diag([0.012, 0.011, 0.014]))
    gains = np.linspace(0.06, 0.2, nominal.nv)
    options = IdentificationOptions(
        EffortModel(smoothing=SMOOTHING), scale=nominal.joint_names, held_out=0.0
    )
    inside = []
    for seed in range(6, 12):
        runs = []
        for carried, known in (({}, None), ({'tool0': load}, KnownLoad('tool0', load.mass))):
            arm = FrictionalArm(nominal, seed, 10.0, None, carried)
            run = arm.recording(20.0)
            runs.append(JointRecording(run.t, run.q, None, run.tau * gains, load=known))
        result = identify_recordings(nominal, runs, options)
        true = np.array([arm.truth.of(group) for group in result.groups])
        low, high = result.intervals().T
        links = [not x.startswith('load/') and '/m' in x for x in result.parameters]
        inside += ((low <= true) & (true <= high))[links & result.identified].tolist()
    assert len(inside) > 25
    assert np.mean(inside) > 0.93
