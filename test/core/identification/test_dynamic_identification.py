# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identification of dynamics against simulated arms and closed forms whose truth is known."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import physical_findings
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    identify_dynamics,
    identify_recordings,
)
from screw_dynamics_ros.core.identification.effort_fit import (
    autocorrelation_times,
)
from screw_dynamics_ros.core.identification.unknowns import Unknowns
from screw_dynamics_ros.core.simulation.joint_sensor import SensorFaults
from support.paths import URDF
from support.robots import UNIT_INERTIA, one_joint, urdf_path
from support.simulated_recording import (
    SMOOTHING,
    computed,
    simulated_recording,
    some_motion,
    true_robot,
)

GRAVITY = (0.0, -9.81, 0.0)
MODEL = EffortModel(smoothing=SMOOTHING)
OPTIONS = IdentificationOptions(model=MODEL)


@pytest.fixture(scope='module')
def nominal():
    return Robot.from_urdf('urdf/planar_2r.urdf', gravity=GRAVITY)


@pytest.fixture(scope='module')
def truth(nominal):
    """Return a double pendulum with other masses, friction and rotors."""
    links = [
        replace(
            link,
            inertia=RigidBody(1.3 * link.inertia.mass, 0.9 * link.inertia.com, 0.05 * np.eye(3)),
        )
        if link.inertia is not None
        else link
        for link in nominal.description.links
    ]
    drives = {
        'joint1': Drive(armature=0.3, damping=0.5, coulomb=1.0, smoothing=SMOOTHING),
        'joint2': Drive(armature=0.1, damping=0.2, coulomb=0.4, smoothing=SMOOTHING),
    }
    description = replace_links(nominal.description, links)
    return Robot(description, gravity=GRAVITY, drives=drives)


def replace_links(description, links):
    return type(description).from_parts(description.name, links, description.joints)


@pytest.fixture(scope='module')
def motion():
    return some_motion(2)


@pytest.fixture(scope='module')
def clean(truth, motion):
    return computed(truth, motion)


def same_torques(result, truth, motion, rel):
    """Whether the identified robot needs the torques of the true one, elsewhere too."""
    found = Robot(result.description, gravity=GRAVITY, drives=result.drives)
    other = some_motion(2, seed=8)
    q, v, a = other.at(np.linspace(0, 10, 100))
    expected = truth.inverse_dynamics(q, v, a)
    return np.abs(found.inverse_dynamics(q, v, a) - expected).max() < rel * np.abs(expected).max()


def test_without_noise_the_truth_is_found(nominal, truth, clean, motion):
    result = identify_recordings(nominal, [clean], OPTIONS)
    assert result.success
    assert result.identified.all()
    assert same_torques(result, truth, motion, 2e-3)
    for joint, drive in truth.drives.items():
        assert result.drives[joint].coulomb == pytest.approx(drive.coulomb, rel=0.01)
        assert result.drives[joint].damping == pytest.approx(drive.damping, rel=0.01)
    armature = result.parameters.index('joint2/armature')
    assert result.physical[armature] == pytest.approx(0.1, rel=0.01)
    assert not result.findings


def test_the_stribeck_curve(nominal, truth, motion):
    drives = {
        joint: replace(drive, breakaway=1.5 * drive.coulomb, stribeck_speed=0.2)
        for joint, drive in truth.drives.items()
    }
    robot = Robot(truth.description, gravity=GRAVITY, drives=drives)
    model = replace(MODEL, stribeck_speed=0.2)
    result = identify_recordings(
        nominal, [computed(robot, motion)], IdentificationOptions(model=model)
    )
    for joint, drive in drives.items():
        assert result.drives[joint].breakaway == pytest.approx(drive.breakaway, rel=0.02)
        assert result.drives[joint].stribeck_speed == 0.2


def test_a_payload_on_a_known_robot(truth, motion):
    load = RigidBody(0.8, [0.1, 0.05, 0.0], np.diag([1e-3, 1e-3, 2e-3]))
    recording = computed(truth, motion, payloads={'link2': load}, effort_noise=0.02)
    model = replace(MODEL, payload_link='link2')
    result = identify_recordings(
        truth, [replace(recording, payloads={})], IdentificationOptions(model=model)
    )
    assert result.payload.mass == pytest.approx(0.8, rel=0.05)
    assert np.allclose(result.payload.com[:2], load.com[:2], atol=0.02)
    assert result.description.links[1].inertia.mass == pytest.approx(2.6)


def test_unphysical_numbers_do_not_get_into_the_description(nominal, motion):
    """Point masses seen with noise: base parameters need not be of bodies, the result is."""
    for seed in range(3):
        recording = computed(nominal, motion, effort_noise=0.5, seed=seed)
        result = identify_recordings(nominal, [recording], OPTIONS)
        severities = {finding.severity for finding in physical_findings(result.description)}
        assert severities == {'info'}
        assert min(min(d.armature, d.coulomb, d.damping) for d in result.drives.values()) >= 0.0


def test_impossible_inertias_of_links_that_do_not_move_are_mended(clean):
    ones = re.sub('"[01]"', '"1e-6"', UNIT_INERTIA)
    wrong = f'<link name="base"><inertial><mass value="1"/>{ones}</inertial>'
    text = (URDF / 'planar_2r.urdf').read_text().replace('<link name="base">', wrong)
    robot = Robot.from_urdf(text, gravity=GRAVITY)
    assert 'error' in {finding.severity for finding in physical_findings(robot.description)}
    result = identify_recordings(robot, [clean], OPTIONS)
    assert {finding.severity for finding in physical_findings(result.description)} == {'info'}


# --- the driver -----------------------------------------------------------------------------------


def test_signs_and_offsets(nominal, clean):
    wrong = replace(clean, tau=clean.tau * [1.0, -1.0] - [4.0, 0.0])
    result = identify_recordings(nominal, [wrong], OPTIONS)
    assert result.effort_scale.tolist() == [1.0, -1.0]
    assert result.effort_offset[0] == pytest.approx(4.0, abs=0.02)
    texts = [str(finding) for finding in result.findings]
    assert len(texts) == 2
    assert 'joint joint2: efforts have the other sign' in texts[0]
    assert 'joint joint1: efforts are off by -4' in texts[1]


@pytest.mark.parametrize('scale', ['auto', ('joint2',)])
def test_a_joint_that_reports_currents(nominal, truth, motion, scale):
    recording = computed(truth, motion, effort_noise=0.02)
    wrong = replace(recording, tau=recording.tau / [1.0, 12.0])
    result = identify_recordings(nominal, [wrong], replace(OPTIONS, scale=scale))
    low, high = result.scale_intervals()[1]
    assert low < 12.0 < high
    assert high - low < 0.5
    assert ['are not torques' in str(finding) for finding in result.findings] == [True]
    assert result.effort_scale[0] == 1.0


def test_all_joints_report_currents_and_only_ratios_are_known(nominal, truth, motion):
    recording = computed(truth, motion, effort_noise=0.02)
    results = [
        identify_recordings(nominal, [replace(recording, tau=recording.tau / factor)], OPTIONS)
        for factor in (12.0, 24.0)
    ]
    for result in results:
        assert 'the scale of no joint is known' in str(result.findings[-1])
        assert result.effort_scale[0] == pytest.approx(result.effort_scale[1], rel=0.05)
    assert results[1].effort_scale == pytest.approx(2 * results[0].effort_scale, rel=1e-3)
    assert results[0].effort_scale[0] != pytest.approx(12.0, rel=0.05)  # the masses were others


def test_nominal_masses_fix_the_scale_of_all_joints(nominal, truth, motion):
    """A robot 1.3 times as heavy throughout seems to have efforts 1.3 times as large."""
    links = [
        link if link.inertia is None else replace(link, inertia=heavier(link.inertia, 1.3))
        for link in nominal.description.links
    ]
    heavy = Robot(replace_links(nominal.description, links), gravity=GRAVITY, drives=truth.drives)
    recording = computed(heavy, motion, effort_noise=0.02)
    wrong = replace(recording, tau=recording.tau / 12.0)
    result = identify_recordings(nominal, [wrong], replace(OPTIONS, scale=heavy.joint_names))
    assert result.effort_scale == pytest.approx([12.0 / 1.3] * 2, rel=0.02)
    assert result.scale_deviation == pytest.approx(0.125 * result.effort_scale, rel=0.05)


def heavier(inertia, factor):
    return RigidBody(factor * inertia.mass, inertia.com, factor * inertia.matrix)


def test_a_known_payload_fixes_the_scale(nominal, truth, motion):
    load = {'link2': RigidBody(0.8, [0.1, 0.05, 0.0], np.zeros((3, 3)))}
    recordings = [
        replace(each, tau=each.tau / 12.0)
        for each in (
            computed(truth, motion, effort_noise=0.02),
            computed(truth, motion, payloads=load, effort_noise=0.02, seed=1),
        )
    ]
    result = identify_recordings(nominal, recordings, OPTIONS)
    assert not any('the scale of no joint' in str(finding) for finding in result.findings)
    intervals = result.scale_intervals()
    assert np.all((intervals[:, 0] < 12.0) & (intervals[:, 1] > 12.0))
    assert np.all(np.ptp(intervals, axis=1) < 1.0)


# --- what motions do not tell ---------------------------------------------------------------------


def test_a_joint_that_stands_still(nominal, truth, motion):
    still = replace(motion, a=motion.a * [[1], [0]], b=motion.b * [[1], [0]])
    result = identify_recordings(nominal, [computed(truth, still)], OPTIONS)
    assert 'joint joint2: never moved' in str(result.findings[-1])
    assert result.drives['joint2'] == nominal.drives['joint2']
    assert not any(name.startswith('joint2/d') for name in result.parameters)


def test_a_joint_that_never_reverses(nominal, truth):
    t = np.arange(0, 20, 0.005)
    q = np.stack([0.5 * np.sin(1.1 * t), 0.6 * t + 0.3 * np.sin(t)], axis=1)
    v = np.stack([0.55 * np.cos(1.1 * t), 0.6 + 0.3 * np.cos(t)], axis=1)
    a = np.stack([-0.605 * np.sin(1.1 * t), -0.3 * np.sin(t)], axis=1)
    tau = truth.inverse_dynamics(q, v, a) + 0.05 * np.random.default_rng(0).normal(size=q.shape)
    result = identify_dynamics(nominal, t, q, v, tau, OPTIONS)
    assert 'joint joint2: never reversed' in str(result.findings[-1])
    pair = next(each for each in result.held if 'joint2/coulomb' in each)
    assert set(pair) >= {'joint2/coulomb', 'joint2/offset'}
    assert not result.identified[result.parameters.index('joint2/offset')]


def test_a_joint_without_efforts(nominal, clean):
    tau = clean.tau.copy()
    tau[:, 0] = np.nan
    result = identify_recordings(nominal, [replace(clean, tau=tau)], OPTIONS)
    assert 'joint joint1: no efforts were recorded' in str(result.findings[0])
    assert np.isnan(result.errors()[1][0])
    assert result.drives['joint1'] == nominal.drives['joint1']


def test_one_joint_alone():
    text = one_joint('<axis xyz="0 1 0"/>', 'continuous').replace(
        '<link name="b"/>',
        '<link name="b"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>',
    )
    robot = Robot.from_urdf(text, backend='python')
    heavy = Robot.from_urdf(text.replace('value="2"', 'value="3"'), backend='python')
    result = identify_recordings(robot, [computed(heavy, some_motion(1))], OPTIONS)
    found = dict(zip(result.parameters, result.values))
    assert found['b/mx'] == pytest.approx(0.9, rel=1e-3)


def test_efforts_in_one_of_two_recordings_only(nominal, clean):
    tau = clean.tau.copy()
    tau[:, 1] = np.nan
    result = identify_recordings(nominal, [clean, replace(clean, tau=tau)], OPTIONS)
    assert 'joint joint2: no efforts were recorded' in str(result.findings[0])
    assert result.drives['joint1'].coulomb == pytest.approx(1.0, rel=0.01)


def test_held_masses_that_fix_the_scale_are_named(nominal, truth, motion):
    recording = computed(truth, motion, effort_noise=0.02)
    options = replace(
        OPTIONS, model=replace(MODEL, estimate=('friction', 'armature', 'offset')), scale=JOINTS
    )
    wrong = replace(recording, tau=recording.tau / 12.0)
    result = identify_recordings(truth, [wrong], options)
    assert 'the scale of no joint is known' in str(result.findings[-1])
    assert result.effort_scale == pytest.approx([12.0, 12.0], rel=0.02)


JOINTS = ('joint1', 'joint2')


def test_friction_of_mimic_joints_is_found_at_the_joint_they_follow():
    text = (URDF / 'gripper_tree.urdf').read_text()
    text = re.sub('(<axis [^>]*/>)', r'\1<dynamics damping="0.5" friction="0.8"/>', text)
    truth = Robot.from_urdf(text, friction=True)
    nominal = Robot.from_urdf(text)
    motion = some_motion(truth.nv, speed=0.8)
    result = identify_recordings(nominal, [computed(truth, motion)])
    found = Robot(result.description, drives=result.drives)
    q, v, a = some_motion(truth.nv, seed=8, speed=0.8).at(np.linspace(0, 10, 50))
    expected = truth.inverse_dynamics(q, v, a)
    errors = np.abs(found.inverse_dynamics(q, v, a) - expected).max(axis=0)
    assert np.all(errors < 0.01 * np.abs(expected).max(axis=0))


# --- how well ------------------------------------------------------------------------------------


def test_residuals_that_are_correlated_count_less(nominal, truth, motion):
    plain = computed(truth, motion, effort_noise=0.3)
    rng = np.random.default_rng(0)
    slow = np.cumsum(rng.normal(size=(len(plain.t), 2)), axis=0)
    slow = 0.1 * (slow - slow.mean(axis=0)) / slow.std(axis=0)
    results = [
        identify_recordings(nominal, [each], OPTIONS)
        for each in (plain, replace(plain, tau=plain.tau + slow))
    ]
    white, correlated = (result.correlation for result in results)
    assert np.all(correlated > 2 * white)
    assert np.all(autocorrelation_times(rng.normal(size=(500, 2)), np.zeros(500, int)) < 1.5)


def test_contacts_count_less_if_robust(nominal, truth, motion):
    recording = computed(truth, motion, effort_noise=0.05)
    tau = recording.tau.copy()
    pushed = (recording.t > 6.0) & (recording.t < 6.6)
    tau[pushed] += [8.0, 5.0]
    plain, robust = (
        identify_recordings(nominal, [replace(recording, tau=tau)], replace(OPTIONS, robust=choice))
        for choice in (False, True)
    )
    expected = unknown_truth(plain, nominal, truth)
    assert np.abs(robust.values - expected).sum() < 0.5 * np.abs(plain.values - expected).sum()


def unknown_truth(result, nominal, truth):
    """Return the true base parameters of a result."""
    values = dict(zip(Unknowns(truth, MODEL).names, Unknowns(truth, MODEL).nominal))
    return np.array([sum(x * values[name] for name, x in each.items()) for each in result.groups])


def test_a_simulated_pendulum():
    """In the loop of a servo; benchmarks/identification.py counts a hundred arms."""
    limited = Robot.from_urdf(BODIES, gravity=GRAVITY)
    offsets = np.array([0.3, -0.2])
    truth = true_robot(limited, np.random.default_rng(2), offsets)
    recording = simulated_recording(truth, limited, some_motion(2), 12.0, QUIET, offsets, 2)
    result = identify_recordings(limited, [recording], OPTIONS)
    low, high = result.intervals().T
    true = np.array([truth.of(group) for group in result.groups])
    inside = ((low <= true) & (true <= high))[result.identified]
    assert result.identified.sum() >= 12
    assert inside.mean() >= 0.9
    _, identified, before = result.errors()
    assert np.all(identified < before / 5)


BODIES = (
    (URDF / 'planar_2r.urdf')
    .read_text()
    .replace('iyy="0"', 'iyy="0.02"')
    .replace('ixx="0"', 'ixx="0.02"')
    .replace('izz="0"', 'izz="0.02"')
)
QUIET = SensorFaults(position_noise=(2e-5,), velocity_noise=(2e-3,), effort_noise=(0.1,))


def test_an_arm_with_noise_of_all_sensors():
    arm = Robot.from_urdf(urdf_path('ur_description/urdf/ur5_robot'))
    rng = np.random.default_rng(1)
    offsets = rng.uniform(-0.01, 0.01, arm.nv) * arm.limits.effort
    truth = true_robot(arm, rng, offsets)
    motion = some_motion(6, seed=5, speed=1.5)
    motion = replace(motion, center=np.array([0.0, -1.5, 0.5, -0.5, 0.5, 0.0]))
    exact = computed(truth.robot, motion)
    recording = replace(
        exact,
        q=exact.q + rng.normal(size=exact.q.shape) * 2e-5,
        v=None,
        tau=exact.tau - offsets + rng.normal(size=exact.q.shape) * 0.002 * arm.limits.effort,
    )
    result = identify_recordings(arm, [recording], OPTIONS)
    low, high = result.intervals().T
    true = np.array([truth.of(group) for group in result.groups])
    inside = ((low <= true) & (true <= high))[result.identified]
    assert result.identified.sum() > 45
    assert inside.mean() >= 0.9
    _, identified, before = result.errors()
    assert np.all(identified < before / 10)
    assert {x.severity for x in physical_findings(result.description)} == {'info'}
