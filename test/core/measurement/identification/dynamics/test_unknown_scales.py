# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scales of efforts that no joint has in N m, against simulated arms whose scales are known."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import yaml

from screw_dynamics_ros.cli.identify.output_files import parameter_file
from screw_dynamics_ros.cli.identify.report import lines
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


def currents(arm, motion, armature, effort_noise=1e-3, time=12.0):
    """Return what drivers with `SCALES` report of the nominal arm with rotors and friction."""
    sizes = armature * np.array([5.0, 7.0, 1.6, 0.3, 0.4, 0.35])
    drives = {
        joint: Drive(armature=size, damping=3.0, coulomb=3.0, smoothing=SMOOTHING)
        for joint, size in zip(arm.joint_names, sizes)
    }
    recording = computed(
        Robot(arm.description, drives=drives), motion, time=time, effort_noise=effort_noise
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


@pytest.mark.parametrize('unit', [1.0, 1000.0])
def test_a_scale_that_the_motion_does_not_determine(arm, motion, unit):
    """Noise covers the small inertia beyond the last joint: its torque is friction only."""
    recording = currents(arm, motion, 1.0, np.array([1e-3] * 5 + [3.0]))
    recording = replace(recording, tau=recording.tau * unit)
    result = identify_recordings(arm, [recording], OPTIONS)
    last = arm.joint_names[-1]
    assert np.isnan(result.effort_scale).tolist() == [False] * 5 + [True]
    assert np.isnan(result.effort_offset[-1])
    assert np.isinf(result.scale_deviation[-1])
    assert unit * result.effort_scale[:5] == pytest.approx(SCALES[:5], rel=0.02)
    identified = dict(zip(result.parameters, result.identified.tolist()))
    assert not identified[f'{last}/coulomb'] | identified[f'{last}/damping']
    assert identified[f'{arm.joint_names[-2]}/coulomb']
    assert result.drives[last] == arm.drives[last]
    parameters = yaml.safe_load(parameter_file(result))['/**']['ros__parameters']
    assert parameters['effort_joints'] == list(arm.joint_names[:-1])
    assert list(parameters['drives']) == parameters['effort_joints']
    assert re.search('wrist_3_joint +not determined', '\n'.join(lines(result)))
