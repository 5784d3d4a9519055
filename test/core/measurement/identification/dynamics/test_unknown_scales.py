# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scales of efforts that no joint has in N m, against simulated arms whose scales are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.measurement.identification.dynamics import (
    EffortModel,
    IdentificationOptions,
    identify_recordings,
)
from screw_dynamics_ros.core.measurement.identification.dynamics.unknowns import GROUPS
from support.robots import urdf_path
from support.simulated_recording import SMOOTHING, computed, some_motion

SCALES = np.array([11.06, 12.28, 9.99, 10.08, 9.98, 10.12])
MODEL = EffortModel(smoothing=SMOOTHING)
OPTIONS = IdentificationOptions(model=MODEL, scale='auto')


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'))


@pytest.fixture(scope='module')
def motion():
    motion = some_motion(6, seed=5, speed=1.5)
    return replace(motion, center=np.array([0.0, -1.5, 0.5, -0.5, 0.5, 0.0]))


def currents(arm, motion, armature, friction=3.0, time=12.0):
    """Return what drivers with `SCALES` report of the nominal arm with rotors and friction."""
    sizes = armature * np.array([5.0, 7.0, 1.6, 0.3, 0.4, 0.35])
    drives = {
        joint: Drive(armature=size, damping=friction, coulomb=friction, smoothing=SMOOTHING)
        for joint, size in zip(arm.joint_names, sizes)
    }
    recording = computed(
        Robot(arm.description, drives=drives), motion, time=time, effort_noise=1e-3
    )
    return replace(recording, tau=recording.tau / SCALES)


@pytest.mark.parametrize(
    ('armature', 'held'), [(0.0, ()), (0.1, ()), (1.0, ()), (1.0, ('inertia',))]
)
def test_rotors_do_not_bias_the_scales(arm, motion, armature, held):
    """Reflected rotor inertias are in no URDF; inertias grouped with them tell no scale."""
    model = replace(MODEL, estimate=[group for group in GROUPS if group not in held])
    recording = currents(arm, motion, armature)
    result = identify_recordings(arm, [recording], replace(OPTIONS, model=model))
    low, high = result.scale_intervals().T
    assert np.all((low < SCALES) & (high > SCALES))
    assert np.all(high - low < 0.1 * SCALES)
