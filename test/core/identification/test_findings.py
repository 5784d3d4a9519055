# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults of recordings, and results that mean nothing, are named with a remedy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    identify_recordings,
)
from support.paths import URDF
from support.simulated_recording import SMOOTHING, computed, some_motion

DRIVES = {
    'joint1': Drive(damping=0.5, coulomb=1.0, smoothing=SMOOTHING),
    'joint2': Drive(damping=0.2, coulomb=0.4, smoothing=SMOOTHING),
}
OPTIONS = IdentificationOptions(model=EffortModel(smoothing=SMOOTHING))
SLIDE = """
<robot name="lift"><link name="a"/>
  <link name="b"><inertial><mass value="20"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lift" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="500" velocity="2"/></joint></robot>"""


@pytest.fixture(scope='module')
def arm():
    text = (URDF / 'planar_2r.urdf').read_text()
    return Robot.from_urdf(text, gravity=(0, -9.81, 0), drives=DRIVES)


@pytest.fixture(scope='module')
def clean(arm):
    return computed(arm, some_motion(2), effort_noise=0.02)


def findings(robot, recording, **options):
    result = identify_recordings(robot, [recording], replace(OPTIONS, **options))
    return [str(finding) for finding in result.findings]


def changed(x, sample, joint, value):
    x = x.copy()
    x[sample, joint] = value
    return x


def test_nothing_is_found_in_a_good_recording(arm, clean):
    assert findings(arm, clean) == []


def test_single_spikes_are_left_out(arm, clean):
    expected = identify_recordings(arm, [clean], OPTIONS)
    for field, number, some in (('tau', 1e6, 'one effort'), ('q', 2.5, 'one position')):
        wrong = changed(getattr(clean, field), 700, 1, number)
        result = identify_recordings(arm, [replace(clean, **{field: wrong}, v=None)], OPTIONS)
        (finding,) = result.findings
        assert finding.subject == 'joint joint2'
        assert f'{some} far from' in finding.message
        assert f'{number:.4g} at {clean.t[700]:.6g} s' in finding.message
        assert np.allclose(result.values, expected.values, atol=0.02)


def test_signals_that_jump_often_have_no_single_spikes(arm, clean):
    """Efforts of zero in each twentieth sample are a fault that remains visible."""
    tau = clean.tau.copy()
    tau[::20] = 0.0
    assert not any('skipped' in text for text in findings(arm, replace(clean, tau=tau)))


@pytest.mark.parametrize(
    ('kind', 'factor', 'units'),
    [('revolute', np.degrees(1.0), ('degrees', 'rad')), ('prismatic', 1000.0, ('mm', 'm'))],
)
def test_other_units_of_positions_are_recognized(kind, factor, units):
    text = SLIDE.replace('prismatic', kind)
    robot = Robot.from_urdf(text, backend='python')
    record = replace(computed(robot, some_motion(1)), v=None)
    assert not any('limits' in each for each in findings(robot, record))
    (first, *_) = findings(robot, replace(record, q=factor * record.q))
    assert 'beyond the limits' in first
    assert f'seem to be in {units[0]} (convert them, {units[1]} are expected)' in first
    (first, *_) = findings(robot, replace(record, q=record.q + 1e5))
    assert 'no result can be right' in first


def test_milliseconds_are_refused(arm, clean):
    with pytest.raises(ArgumentError, match='are the stamps in seconds'):
        findings(arm, replace(clean, t=1e3 * clean.t))


def test_wrong_velocities_matter_only_if_they_are_used(arm, clean):
    expected = identify_recordings(arm, [clean], OPTIONS)
    wrong = replace(clean, v=np.degrees(clean.v) * [0, 1])
    result = identify_recordings(arm, [wrong], OPTIONS)
    assert [str(each).partition(' (')[0] for each in result.findings] == [
        'joint joint1: the velocities are zero while the positions change',
        'joint joint2: the velocities are in deg/s',
    ]
    assert np.array_equal(result.values, expected.values)
    with pytest.raises(ArgumentError, match=r'joints joint1, joint2: .* leave them out'):
        identify_recordings(arm, [wrong], replace(OPTIONS, measured_velocities=True))


def test_efforts_that_the_model_does_not_explain(arm, clean):
    """A disturbance that is no function of the state; then efforts of another motion."""
    disturbance = 0.4 * np.std(clean.tau[:, 1]) * np.sin(4.1 * clean.t)
    disturbed = replace(clean, tau=clean.tau + disturbance[:, None] * [0, 1])
    (text,) = [each for each in findings(arm, disturbed, scale='known') if 'R2' in each]
    assert text.startswith('joint joint2: the model explains only a part')
    other = computed(arm, some_motion(2, seed=8), effort_noise=0.02).tau
    strange = replace(clean, tau=np.stack([clean.tau[:, 0], other[:, 1]], axis=1))
    texts = findings(arm, strange, scale='known')
    assert any('a constant explains its efforts better than the model: R2 -' in x for x in texts)


def test_a_payload_that_is_not_there(arm, clean):
    model = replace(OPTIONS.model, payload_link='link2')
    none = identify_recordings(arm, [clean], replace(OPTIONS, model=model))
    assert none.payload is None
    assert 'smaller than its uncertainty' in str(none.findings[0])
    load = {'link2': RigidBody(0.8, [0.1, 0.05, 0.0], np.zeros((3, 3)))}
    q, v, a = some_motion(2).at(clean.t)
    carried = replace(clean, tau=clean.tau + arm.payload_torques(q, v, a, load))
    some = identify_recordings(arm, [carried], replace(OPTIONS, model=model))
    assert some.payload is not None
    assert some.payload.mass == pytest.approx(0.8, rel=0.1)


def test_mass_and_offset_of_a_vertical_slide():
    robot = Robot.from_urdf(SLIDE, backend='python')
    record = computed(robot, some_motion(1))
    light = replace(record, tau=record.tau - 100.0)
    texts = findings(robot, light, scale='known')
    (text,) = [each for each in texts if 'mass' in each]
    assert text.startswith('joint lift: the mass that is lifted and the offset')
    assert '20 kg described' in text
    model = replace(OPTIONS.model, estimate=('armature', 'friction', 'inertia'))
    texts = findings(robot, light, scale='known', model=model)
    assert any('total mass: of moving links' in each for each in texts)
