# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What differs is named by its field, and explained if all fields together make up for it.

Links that a program merges wrongly: each known fault is named, an unknown one by its body.

The merged bodies are made here as a program with that fault would make them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.comparison.explanation import FAULTS, Trial, compare, merging_faults
from screw_dynamics_ros.comparison.field_differences import FieldDifference
from screw_dynamics_ros.comparison.mujoco_peer import MuJoCoPeer, importable
from screw_dynamics_ros.comparison.peer import ModelSource
from screw_dynamics_ros.comparison.quantities import Difference, Scale, our_values, random_states
from screw_dynamics_ros.comparison.reading import (
    DescriptionReading,
    combined,
    inertia_of,
    rigid_bodies,
    subtracted,
)
from screw_dynamics_ros.core.description import Inertia, read_urdf
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.lie import se3, so3
from support.models import random_description, random_inertia, random_pose
from support.peer_programs import (
    EACH_PEER,
    GRAVITY,
    SOUND,
    compared,
    peer_of,
    tool_robot,
    with_camera,
)
from support.robots import urdf_path

TURN = so3.exp(np.array([0.2, -0.1, 0.3]))
SAME = 1e-7


def change_link(name: str, change: Callable[[Inertia], Inertia]):
    def apply(reading: DescriptionReading) -> DescriptionReading:
        link = reading.link(name)
        return reading.with_link(replace(link, inertia=change(inertia_of(link))))

    return apply


def change_joint(name: str, **changes):
    return lambda reading: reading.with_joint(
        replace(reading.joint(name), **{key: f(reading.joint(name)) for key, f in changes.items()})
    )


def turned(each):
    return se3.pose(TURN @ each.origin[:3, :3], each.origin[:3, 3])


def moved(each):
    return se3.pose(each.origin[:3, :3], each.origin[:3, 3] + [0.01, 0.0, -0.02])


#: (subject, field, change of the copy that the other programs read)
CHANGES = [
    (
        'link panda_link4',
        'mass',
        change_link('panda_link4', lambda body: replace(body, mass=body.mass * 1.01)),
    ),
    (
        'link panda_link6',
        'inertial origin xyz',
        change_link('panda_link6', lambda body: replace(body, com=body.com + [0, 0.002, 0])),
    ),
    (
        'link panda_link2',
        'inertia',
        change_link('panda_link2', lambda body: replace(body, matrix=1.1 * body.matrix)),
    ),
    (
        'link panda_link3',
        'inertial origin rpy',
        change_link('panda_link3', lambda b: replace(b, matrix=TURN @ b.matrix @ TURN.T)),
    ),
    (  # fixed to link 7: the programs merge it
        'link panda_hand',
        'mass',
        change_link('panda_hand', lambda body: replace(body, mass=body.mass + 0.3)),
    ),
    ('link panda_hand', 'inertial', change_link('panda_hand', lambda _: inertia_of_nothing())),
    ('joint panda_joint5', 'origin xyz', change_joint('panda_joint5', origin=moved)),
    ('joint panda_joint2', 'origin rpy', change_joint('panda_joint2', origin=turned)),
    ('joint panda_hand_joint', 'origin rpy', change_joint('panda_hand_joint', origin=turned)),
    (
        'joint panda_joint6',
        'axis',
        change_joint('panda_joint6', axis=lambda each: TURN @ each.axis),
    ),
]


def inertia_of_nothing() -> Inertia:
    return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))


@EACH_PEER
@pytest.mark.parametrize(('subject', 'field', 'change'), CHANGES, ids=lambda x: str(x)[:30])
def test_the_changed_field_is_named(subject, field, change, module):
    ours = read_urdf(urdf_path('panda'))
    copy = change(DescriptionReading(ours)).description
    result = compared(peer_of(module, write_urdf(copy), ours))
    assert not result.agrees
    assert result.explained
    causes = [(cause.difference.subject, cause.difference.field) for cause in result.causes]
    assert causes == [(subject, field)]
    assert result.causes[0].effects


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
@pytest.mark.parametrize('seed', range(2))
def test_several_changed_fields_are_named(seed, module):
    """Any two of them at once, the one with the larger effect first."""
    rng = np.random.default_rng(seed)
    first, second = (CHANGES[k] for k in rng.choice(len(CHANGES), 2, replace=False))
    ours = read_urdf(urdf_path('panda'))
    copy = second[2](first[2](DescriptionReading(ours))).description
    result = compared(peer_of(module, write_urdf(copy), ours))
    assert result.explained
    causes = [(cause.difference.subject, cause.difference.field) for cause in result.causes]
    if first[0] == second[0] == 'link panda_hand':
        assert causes == [('link panda_hand', 'inertial')]
        return
    assert sorted(causes) == sorted([first[:2], second[:2]])
    effects = [max(e.relative for e in cause.effects.values()) for cause in result.causes]
    assert effects == sorted(effects, reverse=True)


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
def test_damping_is_a_cause_and_limits_are_not(module):
    """Damping changes forward dynamics; a limit and Coulomb friction change no quantity."""
    ours = read_urdf(urdf_path('panda'))
    copy = change_joint(
        'panda_joint3',
        damping=lambda _: 0.5,
        friction=lambda _: 0.25,
        limits=lambda each: replace(each.limits, lower=-1.5),
    )(DescriptionReading(ours)).description
    result = compared(peer_of(module, write_urdf(copy), ours))
    assert result.explained
    (cause,) = result.causes
    assert str(cause.difference) == 'joint panda_joint3: dynamics damping: here 0, there 0.5'
    assert set(cause.effects) == {'forward dynamics'}
    harmless = {(each.subject, each.field) for each in result.harmless}
    assert ('joint panda_joint3', 'limit lower') in harmless
    assert ('joint panda_joint3', 'dynamics friction') in harmless


def test_armature_of_an_mjcf_is_named(tmp_path):
    """What a URDF cannot say. Links that were merged before, and six digits, are no difference."""
    mujoco = pytest.importorskip('mujoco', SOUND)
    text = urdf_path('panda').read_text(encoding='utf-8')
    spec = mujoco.MjSpec.from_string(importable(text))
    spec.joint('panda_joint4').armature = 0.1
    file = tmp_path / 'panda.xml'
    spec.compile()
    file.write_text(spec.to_xml())
    result = compared(peer_of('mujoco', text, read_urdf(text), mjcf=str(file)), tolerance=1e-4)
    assert result.explained
    causes = [(cause.difference.subject, cause.difference.field) for cause in result.causes]
    assert causes == [('joint panda_joint4', 'armature')]


def test_fixed_joint_with_rotation_in_the_installed_mujoco():
    """Some versions lose its rotation, or that of an inertial; then it is named, else all agree.

    MuJoCo 3.3.7 merges the tool wrongly (#2982) and with 3.12.0 drops the rpy of an <inertial>
    (#3559); 4.0.0 does neither.
    """
    pytest.importorskip('mujoco')
    text = tool_robot()
    result = compared(MuJoCoPeer(ModelSource(text, read_urdf(text), read_urdf(text), GRAVITY)))
    named = {(cause.difference.subject, cause.difference.field) for cause in result.causes}
    assert result.explained
    assert named <= {('joint mount', 'origin rpy'), ('link tool', 'inertial origin rpy')}
    assert result.agrees == (not named)


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
def test_fixed_joint_without_its_rotation(module):
    """What such a program would do: the rotation of the fixed joint is left out of its copy."""
    result = compared(peer_of(module, tool_robot(fixed=''), read_urdf(tool_robot())))
    assert result.explained
    (cause,) = result.causes
    assert cause.difference.subject == 'joint mount'
    assert cause.difference.field == 'origin rpy'
    assert cause.difference.ours == '0.5 0.6 0.7'
    assert cause.difference.theirs == '0 0 0'


@EACH_PEER
@pytest.mark.parametrize('here', [True, False], ids=['here', 'there'])
def test_a_link_that_only_one_file_has_is_named(here, module):
    """Such as a camera that the description of a simulator lacks, or has."""
    ours, theirs = tool_robot(), with_camera(tool_robot())
    if here:
        ours, theirs = theirs, ours
    result = compared(peer_of(module, theirs, read_urdf(ours), tip='slide' if not here else ''))
    if module == 'PyKDL':  # it branches off the chain
        assert result.agrees
        return
    assert result.explained
    (cause,) = result.causes
    assert (cause.difference.subject, cause.difference.field) == ('link camera', 'inertial')
    absent = cause.difference.theirs if here else cause.difference.ours
    assert absent == 'no such link'
    assert '0.4 kg at 0 0.1 0 m' in str(cause.difference)


def heavier(share: float) -> str:
    """Return the arm with a tool that is heavier by a share."""
    return tool_robot().replace('<mass value="2.0"/>', f'<mass value="{2.0 * (1.0 + share)!r}"/>')


@pytest.mark.parametrize(('share', 'is_alike'), [(0.9e-5, True), (1.1e-5, False)])
def test_fields_that_are_read_alike(share, is_alike):
    """To a tenth of the tolerance, below which no quantity differs by its tolerance."""
    result = compared(peer_of('pinocchio', heavier(share), read_urdf(tool_robot())), 1e-4)
    assert result.agrees
    assert result.explained
    assert [each.subject for each in result.harmless] == ([] if is_alike else ['link tool'])


def test_effects_are_the_largest_in_the_first_states():
    """Of three states, in our functions, with the value of the program alone."""
    ours, theirs = (read_urdf(text) for text in (tool_robot(), heavier(0.25)))
    states = random_states(DescriptionReading(ours), 6, 3, GRAVITY)
    result = compare(peer_of('pinocchio', heavier(0.25), ours), states, 1e-6)
    (cause,) = result.causes
    here, there = (DescriptionReading(each).robot(GRAVITY, 'reference') for each in (ours, theirs))
    apart = np.array([here.gravity_torques(q) - there.gravity_torques(q) for q in states.q])
    effect, difference = cause.effects['gravity torques'], result.differences['gravity torques']
    column = here.joint_names.index(effect.where)
    assert effect.absolute == pytest.approx(np.abs(apart[:3, column]).max())
    assert difference.absolute == pytest.approx(np.abs(apart[:, column]).max())
    assert effect.absolute <= difference.absolute
    assert 'link positions' not in cause.effects
    printed = f'changes mass matrix by up to {cause.effects["mass matrix"].absolute:.3g} kg m^2 ('
    assert printed in str(cause)


def test_values_that_no_robot_has():
    """What would be refused as a description is a cause, of unknown size."""
    ours = DescriptionReading(read_urdf(tool_robot()))
    states = random_states(ours, 2, 0, GRAVITY)
    mine = our_values(ours, states)
    trial = Trial(Scale.of(mine, ('elbow', 'push'), states), states, 1e-6, mine, mine)
    broken = ours.with_joint(replace(ours.joint('push'), damping=-1.0))
    assert trial.effects(broken) == {'mass matrix': Difference(np.inf, np.inf)}
    assert trial.effects(ours) == {}
    damped = FieldDifference('joint push', 'damping', '0', '-1', lambda _: broken)
    assert not trial.is_explained(ours, [damped])
    assert trial.is_explained(ours, [])
    other = replace(trial, theirs=our_values(ours, random_states(ours, 2, 1, GRAVITY)))
    assert not other.is_explained(ours, [])


def fixed_pairs(seed: int) -> tuple[DescriptionReading, list[str]]:
    """Return a random tree with some fixed joints below moving ones, and their names."""
    reading = DescriptionReading(random_description(seed, 8, chain=True))
    names = ['joint3', 'joint4', 'joint7']
    for name in names:
        reading = reading.with_joint(replace(reading.joint(name), type='fixed'))
    return reading, names


@pytest.mark.parametrize('seed', range(2))
def test_a_sum_of_the_parts_is_no_fault(seed):
    """The same sums by `RigidBody`, which has another formula."""
    reading, _ = fixed_pairs(seed)
    bodies = rigid_bodies(reading.description)
    assert not list(merging_faults(reading, bodies, SAME))
    links = {link.name: link.inertia for link in reading.description.links}
    third, fourth = reading.joint('joint3').origin, reading.joint('joint4').origin
    parts = [(np.eye(4), 'link2'), (third, 'link3'), (third @ fourth, 'link4')]
    first, *rest = (
        RigidBody(links[name].mass, links[name].com, links[name].matrix).moved(pose)
        for pose, name in parts
    )
    whole = sum(rest, first)
    assert bodies['link2'].mass == pytest.approx(whole.mass)
    np.testing.assert_allclose(bodies['link2'].com, whole.com, atol=1e-12)
    np.testing.assert_allclose(bodies['link2'].matrix, whole.matrix, atol=1e-12)


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.dropped.replace(' ', '_'))
@pytest.mark.parametrize('name', ['joint4', 'joint7'])
def test_a_known_fault_is_named(name, fault):
    reading, _ = fixed_pairs(1)
    joint = reading.joint(name)
    wrong = rigid_bodies(fault.change(reading, joint).description)
    (found,) = merging_faults(reading, wrong, SAME)
    subject = f'link {joint.child}' if fault.field == 'inertial' else f'joint {name}'
    assert (found.subject, found.field) == (subject, fault.field)
    assert f'when link {joint.child} is merged into link ' in found.theirs
    put_in = rigid_bodies(found.change(reading).description)
    for head, body in wrong.items():
        np.testing.assert_allclose(put_in[head].matrix, body.matrix, atol=1e-12)


def test_what_the_faults_do():
    """Center of mass and inertia of the child as if the axes of both links were parallel."""
    reading, _ = fixed_pairs(1)
    head, child = (inertia_of(reading.link(name)) for name in ('link6', 'link7'))
    origin = reading.joint('joint7').origin
    R, r = origin[:3, :3], origin[:3, 3]

    def whole(com, matrix):
        mass = head.mass + child.mass
        c = (head.mass * head.com + child.mass * com) / mass
        about = sum(
            m * (d @ d * np.eye(3) - np.outer(d, d))
            for m, d in ((head.mass, head.com - c), (child.mass, com - c))
        )
        return Inertia(mass, c, head.matrix + matrix + about)

    turned = R @ child.matrix @ R.T
    expected = {
        'dropped': whole(child.com + r, child.matrix),
        'dropped for center of mass and inertia': whole(child.com + r, child.matrix),
        'dropped for the inertia': whole(R @ child.com + r, child.matrix),
    }
    right = rigid_bodies(reading.description)['link6']
    np.testing.assert_allclose(right.matrix, whole(R @ child.com + r, turned).matrix, atol=1e-12)
    for fault in FAULTS[:3]:
        changed = fault.change(reading, reading.joint('joint7')).description
        made = rigid_bodies(changed)['link6']
        np.testing.assert_allclose(made.com, expected[fault.dropped].com, atol=1e-12)
        np.testing.assert_allclose(made.matrix, expected[fault.dropped].matrix, atol=1e-12)


def test_an_unknown_fault_is_named_by_its_body():
    """The turned fixed joints of the body are suspected, and its values put in."""
    reading, _ = fixed_pairs(2)
    wrong = dict(rigid_bodies(reading.description))
    wrong['link6'] = replace(wrong['link6'], com=wrong['link6'].com + [0.01, 0.0, 0.0])
    (found,) = merging_faults(reading, wrong, SAME)
    assert (found.subject, found.field) == ('joint joint7', 'origin rpy')
    assert found.ours.startswith('inertial origin xyz ')
    assert found.theirs.endswith(' of the body that it makes of link link6 and link link7')
    put_in = rigid_bodies(found.change(reading).description)['link6']
    np.testing.assert_allclose(put_in.com, wrong['link6'].com, atol=1e-12)
    np.testing.assert_allclose(put_in.matrix, wrong['link6'].matrix, atol=1e-12)


def test_a_part_can_be_taken_off_again():
    rng = np.random.default_rng(0)
    pose, own, part = random_pose(rng), random_inertia(rng), random_inertia(rng)
    whole = combined([(np.eye(4), own), (pose, part)])
    rest = subtracted(whole, [(pose, part)])
    assert rest.mass == pytest.approx(own.mass)
    np.testing.assert_allclose(rest.com, own.com, atol=1e-12)
    np.testing.assert_allclose(rest.matrix, own.matrix, atol=1e-12)
