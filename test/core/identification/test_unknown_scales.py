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
from screw_dynamics_ros.cli.identify.report import drives
from screw_dynamics_ros.core import ArgumentError, Drive, Robot, UnknownNameError
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    KnownLoad,
    identify_recordings,
)
from screw_dynamics_ros.core.identification.unknowns import GROUPS
from support.robots import urdf_path
from support.simulated_recording import SMOOTHING, computed, some_motion, true_robot

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


def currents(arm, motion, armature, effort_noise=1e-3, payloads=None):
    """Return what drivers with `SCALES` report of the nominal arm with rotors and friction."""
    sizes = armature * np.array([5.0, 7.0, 1.6, 0.3, 0.4, 0.35])
    drives = {
        joint: Drive(armature=size, damping=3.0, coulomb=3.0, smoothing=SMOOTHING)
        for joint, size in zip(arm.joint_names, sizes)
    }
    robot = Robot(arm.description, drives=drives)
    recording = computed(robot, motion, 12.0, payloads, effort_noise=effort_noise)
    return replace(recording, tau=recording.tau / SCALES, payloads={})


@pytest.mark.parametrize(('armature', 'held'), [(0.0, ()), (1.0, ()), (1.0, ('inertia',))])
def test_rotors_do_not_bias_the_scales(arm, motion, armature, held):
    """Reflected rotor inertias are in no URDF; inertias grouped with them tell no scale."""
    model = replace(MODEL, estimate=[group for group in GROUPS if group not in held])
    recording = currents(arm, motion, armature)
    result = identify_recordings(arm, [recording], replace(OPTIONS, model=model))
    assert result.effort_scale == pytest.approx(SCALES, rel=0.05)
    low, high = result.scale_intervals().T
    assert np.all((low < SCALES) & (high > SCALES))


def test_intervals_contain_the_error_of_nominal_masses(arm, motion):
    """The masses of an arm have one common error for all of its scales, and other errors."""
    covered, by_noise = [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        heavy = with_masses(arm, rng.normal(1.0, 0.125))
        recording = currents(true_robot(heavy, rng, np.zeros(6)).robot, motion, 1.0)
        result = identify_recordings(arm, [recording], OPTIONS)
        low, high = result.scale_intervals().T
        covered += ((low < SCALES) & (high > SCALES)).tolist()
        error = np.abs(result.effort_scale / SCALES - 1.0)
        share = result.scale_deviation / result.effort_scale
        by_noise += (error < 1.96 * np.sqrt(np.maximum(share**2 - 0.125**2, 0.0))).tolist()
    assert sum(covered) >= 11
    assert sum(by_noise) < 6


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
    assert re.search('wrist_3_joint: not determined', '\n'.join(drives(result).lines))


BODY = RigidBody(2.8, [0.03, 0.16, 0.03], np.diag([0.01, 0.02, 0.015]))


@pytest.fixture(scope='module')
def recordings(arm, motion):
    """Return the currents of an arm without and with a load, 1.4 times heavier than its URDF."""
    heavy = with_masses(arm, 1.4)
    return [currents(heavy, motion, 1.0, 0.02, load) for load in ({}, {'tool0': BODY})]


def with_masses(arm, factor):
    """Return the arm with all masses and inertias times a factor."""
    links = [
        each if each.inertia is None else replace(each, inertia=heavier(each.inertia, factor))
        for each in arm.description.links
    ]
    return Robot(type(arm.description).from_parts('heavy', links, arm.description.joints))


def heavier(inertia, factor):
    return RigidBody(factor * inertia.mass, inertia.com, factor * inertia.matrix)


def about_load(result):
    return [str(finding) for finding in result.findings if finding.subject == 'load']


def test_a_load_of_known_mass_fixes_the_scales(arm, recordings):
    """Nominal masses are wrong; the center of mass and the inertia of the load are estimated."""
    free, loaded = recordings
    result = identify_recordings(
        arm, [free, replace(loaded, load=KnownLoad('tool0', BODY.mass))], OPTIONS
    )
    low, high = result.scale_intervals().T
    assert np.all((low < SCALES) & (high > SCALES))
    assert np.all(high - low < 0.5 * SCALES)
    assert result.load.mass == pytest.approx(BODY.mass)
    assert result.load.com == pytest.approx(BODY.com, abs=0.01)
    assert not about_load(result)


def test_a_load_that_is_elsewhere_is_a_finding(arm, recordings):
    free, loaded = recordings
    load = KnownLoad('tool0', BODY.mass, (0.0, 0.0, 0.05))
    result = identify_recordings(arm, [free, replace(loaded, load=load)], OPTIONS)
    assert result.load.com == pytest.approx(load.com, abs=1e-3)
    disagree, center = about_load(result)
    assert 'without disagree' in disagree
    assert 'center of mass is given as (0.000, 0.000, 0.050) m' in center


def test_loads_that_cannot_be(arm, recordings):
    free, loaded = recordings
    with pytest.raises(UnknownNameError, match="no link 'hand'"):
        identify_recordings(arm, [replace(free, load=KnownLoad('hand', 1.0))], OPTIONS)
    with pytest.raises(ArgumentError, match='mass'):
        identify_recordings(arm, [replace(free, load=KnownLoad('tool0', -1.0))], OPTIONS)
    loads = [replace(loaded, load=KnownLoad('tool0', mass)) for mass in (1.0, 2.0)]
    with pytest.raises(ArgumentError, match='2 different loads'):
        identify_recordings(arm, loads, OPTIONS)


@pytest.fixture(scope='module')
def torques(arm, motion):
    """Return torques of an arm whose links differ from the description by some 15 %."""
    truth = true_robot(arm, np.random.default_rng(0), np.zeros(6)).robot
    return computed(truth, motion, 12.0, effort_noise=0.2)


@pytest.mark.parametrize(('joints', 'gain'), [([1], 1.6), ([3, 4], 0.625)])
def test_a_share_of_the_torque_of_some_joints(arm, torques, joints, gain):
    """Other joints show what masses they move: a factor below two is certain, too."""
    gains = np.ones(6)
    gains[joints] = gain
    result = identify_recordings(arm, [replace(torques, tau=torques.tau * gains)], OPTIONS)
    assert result.effort_scale == pytest.approx(1.0 / gains, rel=0.06)
    assert (result.scale_deviation > 0.0).tolist() == (gains != 1.0).tolist()
    assert len(result.findings) == len(joints)
    assert all('are not torques' in str(each) for each in result.findings)


@pytest.mark.parametrize('gain', [1.0, 0.57])
def test_the_same_share_of_all_torques(arm, torques, gain):
    """Light links or a driver: it is a finding, the scale remains that of torques."""
    result = identify_recordings(arm, [replace(torques, tau=torques.tau * gain)], OPTIONS)
    assert result.effort_scale.tolist() == [1.0] * 6
    about = [str(each) for each in result.findings if each.subject == 'efforts']
    shares = [float(re.search('alike, ([0-9.]+) times', text)[1]) for text in about]
    assert shares == ([pytest.approx(gain, rel=0.2)] if gain < 1.0 else [])
