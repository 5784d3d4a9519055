# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which gains of efforts are estimated, recordings with loads, and checks without a fit."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    JointRecording,
    KnownLoad,
    identify_recordings,
)
from screw_dynamics_ros.core.identification.model_check import DRIFT, check_model
from support.simulated_recording import SMOOTHING, computed, late, some_motion

PLANAR = 'urdf/planar_2r.urdf'
DRIVES = {
    'joint1': Drive(armature=0.3, damping=0.5, coulomb=1.0, smoothing=SMOOTHING),
    'joint2': Drive(armature=0.1, damping=0.2, coulomb=0.4, smoothing=SMOOTHING),
}
OPTIONS = IdentificationOptions(model=EffortModel(smoothing=SMOOTHING))
LOAD = RigidBody(0.8, [0.1, 0.05, 0.0], np.diag([1e-3, 1e-3, 2e-3]))


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(PLANAR, gravity=(0, -9.81, 0), drives=DRIVES, backend='python')


@pytest.fixture(scope='module')
def clean(arm):
    return computed(arm, some_motion(2), 12.0, effort_noise=0.02)


@pytest.fixture(scope='module')
def carried(arm):
    return computed(arm, some_motion(2, seed=4), 12.0, {'link2': LOAD}, effort_noise=0.02)


def scaled(recording, *gains):
    return replace(recording, tau=recording.tau * np.array(gains))


# --- gains ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('scale', 'gains', 'expected'),
    [
        ('auto', (1.0, 0.1), (1.0, 10.0)),
        ('auto', (0.1, -0.1), (10.0, -10.0)),
        ('known', (1.0, 0.1), (1.0, 1.0)),
        ('known', (1.0, -1.0), (1.0, 1.0)),
        (('joint2',), (1.0, -0.8), (1.0, -1.25)),
        (('joint1', 'joint2'), (0.5, 0.8), (2.0, 1.25)),
        ((), (1.0, -1.0), (1.0, -1.0)),
    ],
)
def test_scales(arm, clean, scale, gains, expected):
    """Estimated where asked for, or far from torques; signs are found unless all is known."""
    options = replace(OPTIONS, scale=scale)
    found = identify_recordings(arm, [scaled(clean, *gains)], options)
    assert found.effort_scale == pytest.approx(expected, rel=0.03)
    free = found.scale_deviation > 0.0
    assert free.tolist() == [scale not in ('known', ()) and abs(x) != 1.0 for x in expected]
    texts = [each for each in found.findings if 'scale of no joint' in each.message]
    assert len(texts) == free.all()


def test_a_joint_that_certainly_reports_torques_is_not_scaled(arm, clean):
    """`auto` gives it a scale of exactly 1, though most other joints report currents."""
    found = identify_recordings(arm, [scaled(clean, 1.0, 0.2)], OPTIONS)
    assert found.effort_scale[0] == 1.0
    low, high = found.scale_intervals()[1]
    assert low < 5.0 < high


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_a_link_that_is_much_lighter_than_its_description_is_no_scale(arm, clean, sign):
    """By nominal masses joint 2 has a third of its torque; joint 1 shows that it has all of it."""
    description = arm.description
    light = next(each for each in description.links if each.name == 'link2')
    body = light.inertia
    heavy = replace(light, inertia=RigidBody(3.0 * body.mass, body.com, 3.0 * body.matrix))
    links = [heavy if each is light else each for each in description.links]
    nominal = Robot(
        type(description).from_parts('heavy', links, description.joints),
        gravity=(0, -9.81, 0), backend='python',
    )  # fmt: skip
    found = identify_recordings(nominal, [scaled(clean, 1.0, sign)], OPTIONS)
    assert found.checks[1].gain == pytest.approx(sign / 3.0, rel=0.05)
    assert [each.is_scaled for each in found.checks] == [False, True]
    assert found.effort_scale.tolist() == [1.0, sign]
    assert found.scale_deviation.tolist() == [0.0, 0.0]


@pytest.mark.parametrize('gain', [1.0, 0.1])
def test_a_payload_that_is_estimated_is_no_scale(arm, gain):
    """It multiplies the efforts of the joints that carry it; small efforts are no payload."""
    heavy = RigidBody(4.0, [0.3, 0.05, 0.0], np.diag([1e-2, 1e-2, 2e-2]))
    recording = computed(arm, some_motion(2, seed=4), 12.0, {'link2': heavy}, effort_noise=0.02)
    model = replace(OPTIONS.model, payload_link='link2')
    given = replace(scaled(recording, 1.0, gain), payloads={})
    found = identify_recordings(arm, [given], replace(OPTIONS, model=model))
    assert [each.is_scaled for each in found.checks] == [True, False]
    assert found.effort_scale == pytest.approx([1.0, 1.0 / gain], rel=0.02)
    assert found.payload.mass == pytest.approx(4.0, rel=0.1)
    assert not [each for each in found.findings if 'nominal torques' in each.message]


def test_a_scale_that_is_that_of_torques_is_no_finding(arm, clean):
    options = replace(OPTIONS, scale=('joint2',))
    found = identify_recordings(arm, [clean], options)
    assert found.scale_deviation[1] > 0.0
    assert not [each for each in found.findings if 'are not torques' in each.message]


# --- loads ----------------------------------------------------------------------------------------


def test_a_load_of_known_mass_is_identified(arm, clean, carried):
    """Its center of mass and moment of inertia; the torques of the links remain."""
    given = replace(carried, payloads={}, load=KnownLoad('link2', 0.8))
    found = identify_recordings(arm, [clean, given], OPTIONS)
    assert found.load.mass == pytest.approx(0.8, rel=1e-4)
    np.testing.assert_allclose(found.load.com[:2], LOAD.com[:2], atol=0.01)
    assert not any(each.subject == 'load' for each in found.findings)
    assert found.torques.recording.max() == 1


@pytest.mark.parametrize('wrong', [0.0, 0.16])
def test_a_center_of_mass_that_the_recordings_contradict(arm, clean, carried, wrong):
    """Of a load whose mass determines scales: errors of held-out efforts decrease without it."""
    com = (LOAD.com[0] + wrong, LOAD.com[1], 0.0)
    given = replace(carried, payloads={}, load=KnownLoad('link2', 0.8, com))
    runs = [scaled(each, 0.1, 0.2) for each in (clean, given)]
    options = replace(OPTIONS, scale=arm.joint_names)
    found = identify_recordings(arm, runs, options)
    if wrong:
        first = identify_recordings(arm, runs, replace(options, alternatives=False))
        assert not [each for each in first.findings if 'its center of mass' in each.message]
        np.testing.assert_array_equal(first.values, found.values)
    texts = [each for each in found.findings if 'its center of mass' in each.message]
    assert len(texts) == (wrong > 0.0)
    for each in texts:
        assert 'given as (0.260, 0.050, 0.000) m; with (0.1' in each.message
        assert 'LINK KG' in each.remedy


@pytest.mark.parametrize(('mass', 'disagrees'), [(0.8, False), (4.0, True)])
def test_recordings_with_a_wrong_payload_disagree(arm, clean, carried, mass, disagrees):
    """One model for both has larger residuals than one for each, by the factors that are named."""
    given = replace(carried, payloads={'link2': replace_mass(LOAD, mass)})
    found = identify_recordings(arm, [clean, given], OPTIONS)
    texts = [each.message for each in found.findings if each.subject == 'load']
    assert len(texts) == disagrees
    for text in texts:
        factors = [float(x) for x in re.findall(r'joint[12] ([0-9.e+]+) times', text)]
        assert len(factors) == 2
        assert min(factors) > 1.2


def replace_mass(body, mass):
    return RigidBody(mass, body.com, body.matrix)


# --- a model and recordings, without a fit --------------------------------------------------------


def test_a_model_that_is_right(arm, clean, carried):
    """R2 is nearly 1, residuals are the filtered noise; payloads of recordings are included."""
    found = check_model(arm, [clean, carried])
    assert (found.R2 > 0.999).all()
    assert found.unexplained == ()
    assert found.findings == ()
    assert found.joint_names == ('joint1', 'joint2')
    assert found.moves.tolist() == [True, True]
    measured = found.torques.measured
    e = measured - found.torques.identified
    np.testing.assert_allclose(found.torque, np.sqrt(np.mean(measured**2, axis=0)))
    np.testing.assert_allclose(found.residual, np.sqrt(np.mean(e**2, axis=0)))
    np.testing.assert_allclose(found.offset, e.mean(axis=0))
    np.testing.assert_allclose(found.R2, 1.0 - np.mean(e**2, axis=0) / np.var(measured, axis=0))
    assert (found.residual < 0.02).all()
    torques = found.torques
    assert np.unique(torques.recording).tolist() == np.unique(torques.part).tolist() == [0, 1]
    assert np.isnan(torques.nominal).all()
    assert not torques.held_out.any()
    bare = replace(carried, payloads={})
    without = check_model(arm, [bare])
    assert (without.residual > 3.0 * found.residual).all()
    given = check_model(arm, [bare], payloads={'link2': LOAD})
    assert (given.R2 > 0.999).all()


def test_a_model_that_is_wrong(arm, clean):
    """Joints whose efforts it does not explain, and offsets beyond a tenth, are named."""
    other = replace(clean, tau=clean.tau * [1.0, -1.0])
    found = check_model(arm, [other])
    assert found.unexplained == ('joint2',)
    assert {each.subject for each in found.findings} == {'joint joint2'}
    assert 'on recorded data' in found.findings[0].message
    size = np.sqrt(np.mean(clean.tau[:, 0] ** 2))
    shifted = check_model(arm, [replace(clean, tau=clean.tau + [0.15 * size, 0.0])])
    below = replace(clean, tau=clean.tau + [0.09 * size, 0.0])
    assert check_model(arm, [below]).findings == ()
    poor, finding = shifted.findings
    assert poor.message.startswith('the model explains only a part of its efforts')
    assert finding.subject == 'joint joint1'
    numbers = [float(x) for x in re.findall(r'-?\d+\.?\d*', finding.message)]
    assert numbers == pytest.approx([shifted.offset[0], shifted.torque[0]], rel=1e-2)
    assert finding.remedy == f'add {-shifted.offset[0]:.4g} to effort_offset'
    assert shifted.offset[0] == pytest.approx(0.15 * size, rel=0.02)


def test_at_rest_gravity_and_offsets_are_compared(arm, clean):
    """What friction may carry is no fault of an offset; nothing is said about other terms."""
    q = np.tile([0.4, -0.7], (len(clean.t), 1))
    tau = arm.gravity_torques(q)
    still = JointRecording(clean.t, q, None, tau)
    found = check_model(arm, [still])
    assert not found.moves.any()
    assert found.unexplained == ()
    np.testing.assert_allclose(found.residual, 0.0, atol=1e-9)
    (finding,) = found.findings
    assert (finding.severity, finding.subject) == ('info', 'recordings')
    assert 'gravity and offsets of efforts' in finding.message
    level = 0.1 * np.abs(tau[0]) + [arm.drives[name].stiction for name in arm.joint_names]
    (_,) = check_model(arm, [replace(still, tau=tau + 0.9 * level)]).findings
    _, *off = check_model(arm, [replace(still, tau=tau + [1.4 * level[0], 0.0])]).findings
    assert [each.subject for each in off] == ['joint joint1']


# --- drift ----------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def stated(arm, clean):
    return check_model(arm, [clean]).half_widths


def drifts(found):
    return [each for each in found.findings if 'has drifted' in each.message]


def changed(arm, **factors):
    """Return another recording of the arm with other drives of joint 1."""
    first = DRIVES['joint1']
    others = {name: factor * getattr(first, name) for name, factor in factors.items()}
    drives = DRIVES | {'joint1': replace(first, **others)}
    other = Robot.from_urdf(PLANAR, gravity=(0, -9.81, 0), drives=drives, backend='python')
    return computed(other, some_motion(2, seed=5), 12.0, effort_noise=0.02, seed=1)


def test_changes_are_those_of_efforts_without_noise(arm):
    """Each is exact: twice the friction and 0.9 of all efforts, with an offset."""
    run = computed(arm, some_motion(2), 12.0)
    f = arm.friction_torques(run.v)
    found = check_model(arm, [replace(run, tau=0.9 * (run.tau + f) - [0.25, 0.0])])
    expected = [[-0.1, 0.8, 0.25], [-0.1, 0.8, 0.0]]
    np.testing.assert_allclose(found.changes, expected, atol=2e-4)
    assert (found.half_widths < 5e-4).all()


def test_an_arm_as_it_was_has_not_drifted(arm, stated):
    again = changed(arm)
    found = check_model(arm, [again], stated=stated)
    assert found.findings == ()
    assert (found.half_widths < 0.05).all()
    assert (np.abs(found.changes) < DRIFT * np.hypot(found.half_widths, stated)).all()


def test_friction_has_drifted(arm, stated):
    """By half of it; without stated intervals, or with wider ones, nothing is known about drift."""
    run = changed(arm, damping=1.5, coulomb=1.5)
    found = check_model(arm, [run], stated=stated)
    (finding,) = drifts(found)
    assert (finding.severity, finding.subject) == ('warning', 'joint joint1')
    change, half = map(float, re.search(r'friction by (\S+) \+- (\S+) %', finding.message).groups())
    assert half > 0.0
    assert abs(change - 50.0) < half
    assert 'identify again' in finding.remedy
    for wider in (None, stated + [0.0, 0.5, 0.0], np.full((2, 3), np.nan)):
        assert drifts(check_model(arm, [run], stated=wider)) == []
    # a change that hardly matters is no finding
    slight = changed(arm, damping=1.03, coulomb=1.03)
    found = check_model(arm, [slight], stated=0.0 * stated)
    assert found.changes[0, 1] > DRIFT * found.half_widths[0, 1]
    assert drifts(found) == []


@pytest.mark.parametrize('what', ['scale', 'offset'])
def test_efforts_have_drifted(arm, stated, what):
    """A scale of a motor that is warm, an offset of a sensor; of one joint each."""
    run = changed(arm)
    size = np.sqrt(np.mean(run.tau**2, axis=0))
    tau = run.tau * [1.0, 1.15] if what == 'scale' else run.tau - [0.0, 0.08 * size[1]]
    (finding,) = drifts(check_model(arm, [replace(run, tau=tau)], stated=stated))
    assert finding.subject == 'joint joint2'
    change, half = map(float, re.search(rf'{what} by (\S+) \+- (\S+)', finding.message).groups())
    assert abs(change - (15.0 if what == 'scale' else 0.08 * size[1])) < half


def test_efforts_that_are_not_explained_have_not_drifted(arm, clean, stated):
    """Another sign is another fault; joints without efforts or motion have no changes."""
    found = check_model(arm, [replace(clean, tau=clean.tau * [-1.0, np.nan])], stated=stated)
    assert found.unexplained == ('joint1',)
    assert drifts(found) == []
    assert np.isnan(found.changes).all(axis=1).tolist() == [False, True]
    still = replace(clean, q=clean.q * [1.0, 0.0], v=None)
    assert np.isnan(check_model(arm, [still]).changes).all(axis=1).tolist() == [False, True]


def test_changes_that_a_motion_does_not_separate_are_unknown(clean):
    """Friction, of a model without friction."""
    plain = Robot.from_urdf(PLANAR, gravity=(0, -9.81, 0), backend='python')
    found = check_model(plain, [computed(plain, some_motion(2), 12.0, effort_noise=0.02)])
    assert np.isnan(found.changes).tolist() == [[False, True, False]] * 2


def test_an_offset_at_rest_has_drifted(arm, clean, stated):
    """Beyond dry friction and the interval that is stated, though below a tenth of the torque."""
    q = np.tile([0.4, -0.7], (len(clean.t), 1))
    tau = arm.gravity_torques(q)
    limit = DRIFT * stated[0, 2] + DRIVES['joint1'].stiction
    assert limit < 0.1 * np.abs(tau[0, 0]) + DRIVES['joint1'].stiction
    for share, count in ((0.98, 0), (1.02, 1)):
        run = JointRecording(clean.t, q, None, tau + [share * limit, 0.0])
        _, *found = check_model(arm, [run], stated=stated).findings
        assert [each.subject for each in found] == ['joint joint1'] * count


# --- efforts and motors ---------------------------------------------------------------------------


def test_joints_without_efforts_and_delays(arm, clean):
    tau = clean.tau * [1.0, np.nan]
    found = check_model(arm, [replace(clean, tau=tau)])
    assert np.isnan(found.R2).tolist() == [False, True]
    assert np.isnan(found.torques.identified).any(axis=0).tolist() == [False, True]
    assert found.unexplained == ()
    behind = late(clean, 0.05)
    errors = [check_model(arm, [behind], delay=each).residual for each in (0.0, 0.05, -0.05)]
    assert (errors[1] < 0.1 * errors[0]).all()
    assert (errors[2] > errors[0]).all()


def test_coupled_motors_are_included(arm, clean):
    """Motor 2 turns with both joints: tau = C^T tau_m."""
    drives = DRIVES | {'joint2': replace(DRIVES['joint2'], coupled_joints=('joint1',),
                                         coupling_ratios=(1.0,))}  # fmt: skip
    coupled = Robot.from_urdf(PLANAR, gravity=(0, -9.81, 0), drives=drives, backend='python')
    motors = np.stack([clean.tau[:, 0] - clean.tau[:, 1], clean.tau[:, 1]], axis=1)
    assert (check_model(coupled, [replace(clean, tau=motors)]).R2 > 0.999).all()


def test_checks_refuse_what_identification_refuses(arm, clean):
    short = replace(clean, **{name: getattr(clean, name)[:200] for name in ('t', 'q', 'v', 'tau')})
    with pytest.raises(ArgumentError, match=r'a cutoff of 4 Hz needs at least 1.87 s'):
        check_model(arm, [short], cutoff=4.0)
    assert check_model(arm, [clean], cutoff=3.0).cutoff == 3.0
    wrong = replace(clean, v=2.0 * clean.v)
    with pytest.raises(ArgumentError, match='velocities differ'):
        check_model(arm, [wrong], measured_velocities=True)
    assert (check_model(arm, [wrong]).R2 > 0.999).all()  # they are not used
