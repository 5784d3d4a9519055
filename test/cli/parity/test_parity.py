# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`parity`: agreement on real robots, fields that are named, refusals and exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli.parity import command
from screw_dynamics_ros.cli.parity.command import AGREE, DIFFER, UNUSABLE
from screw_dynamics_ros.comparison.explanation import Comparison, compare
from screw_dynamics_ros.comparison.kdl_peer import KDLPeer, last_link
from screw_dynamics_ros.comparison.mujoco_peer import MuJoCoPeer, importable
from screw_dynamics_ros.comparison.peer import ModelSource, Peer, RefusalError
from screw_dynamics_ros.comparison.pinocchio_peer import PinocchioPeer
from screw_dynamics_ros.comparison.quantities import random_states
from screw_dynamics_ros.comparison.reading import DescriptionReading, chain_to, inertia_of
from screw_dynamics_ros.core.description import Inertia, RobotDescription, read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.lie import se3, so3
from support.models import random_description
from support.robots import joint, links, robot, urdf_path

GRAVITY = np.array([0.3, -0.2, -9.0])
SOUND = '4.0'  # MuJoCo; before, it lost rotations of inertials and fixed joints
UNLIMITED = 1e3  # what is written for no limit
PEERS = {'mujoco': MuJoCoPeer, 'pinocchio': PinocchioPeer, 'PyKDL': KDLPeer}
EACH_PEER = pytest.mark.parametrize('module', PEERS)


def peer_of(module: str, text: str, description: RobotDescription, **options: str) -> Peer:
    """Return a program that reads a text, or skip the test if there is none that reads it right."""
    pytest.importorskip(module, SOUND if module == 'mujoco' else None)
    theirs = read_urdf(text, inertia_check='ignore')
    return PEERS[module](ModelSource(text, description, theirs, GRAVITY, **options))


def compared(peer: Peer, tolerance: float = 1e-6) -> Comparison:
    states = random_states(DescriptionReading(peer.subject), 2, 1, GRAVITY)
    return compare(peer, states, tolerance)


def run(*arguments: object) -> int:
    return command.main([str(argument) for argument in arguments])


# --- agreement ------------------------------------------------------------------------------------


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
@pytest.mark.parametrize('name', ['panda_description/urdf/panda', 'kinova', 'solo12', 'tiago_pro'])
def test_real_robots_agree(name, module):
    """An arm with mimic joints, one with continuous joints, a quadruped, a mobile robot."""
    text = urdf_path(name).read_text(encoding='utf-8')
    result = compared(peer_of(module, text, read_urdf(text)))
    assert result.agrees
    assert len(result.differences) == 10
    assert max(each.relative for each in result.differences.values()) < 1e-10


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
@pytest.mark.parametrize('mimic', [0, 3])
@pytest.mark.parametrize('seed', range(2))
def test_random_robots_agree(seed, mimic, module):
    """Trees with fixed joints, chains of mimic joints, viscous and Coulomb friction."""
    made = random_description(seed, 9, ('revolute', 'prismatic', 'fixed'), mimic=mimic)
    rng = np.random.default_rng(seed)
    joints = tuple(
        replace(each, damping=float(rng.uniform(0, 1)), friction=float(rng.uniform(0, 1)))
        for each in made.joints
    )
    description = replace(made, joints=joints)
    text = write_urdf(description, unlimited=UNLIMITED)
    result = compared(peer_of(module, text, description))
    assert result.agrees
    assert max(each.relative for each in result.differences.values()) < 1e-9


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
def test_all_links_are_read_back(module):
    """What a program has read is our description again, but for limits that it does not keep."""
    text = urdf_path('panda').read_text(encoding='utf-8')
    description = read_urdf(text)
    read = peer_of(module, text, description).read().reading.description
    for ours, theirs in zip(description.links, read.links):
        a, b = inertia_of(ours), inertia_of(theirs)
        assert a.mass == pytest.approx(b.mass, abs=1e-12)
        np.testing.assert_allclose(a.com, b.com, atol=1e-10)
        np.testing.assert_allclose(a.matrix, b.matrix, atol=1e-10)
    for ours, theirs in zip(description.joints, read.joints):
        np.testing.assert_allclose(ours.origin, theirs.origin, atol=1e-10)
        np.testing.assert_allclose(ours.axis, theirs.axis, atol=1e-10)
        assert ours.limits == theirs.limits


# --- what differs is named ------------------------------------------------------------------------

TURN = so3.exp(np.array([0.2, -0.1, 0.3]))


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
    result = compared(peer_of(module, write_urdf(copy, unlimited=UNLIMITED), ours))
    assert not result.agrees
    assert result.explained
    causes = [(cause.difference.subject, cause.difference.field) for cause in result.causes]
    assert causes == [(subject, field)]
    assert result.causes[0].effects


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
@pytest.mark.parametrize('seed', range(3))
def test_several_changed_fields_are_named(seed, module):
    """Any two of them at once, the one with the larger effect first."""
    rng = np.random.default_rng(seed)
    first, second = (CHANGES[k] for k in rng.choice(len(CHANGES), 2, replace=False))
    ours = read_urdf(urdf_path('panda'))
    copy = second[2](first[2](DescriptionReading(ours))).description
    result = compared(peer_of(module, write_urdf(copy, unlimited=UNLIMITED), ours))
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
    result = compared(peer_of(module, write_urdf(copy, unlimited=UNLIMITED), ours))
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


def tool_robot(inertial: str = 'rpy="0.4 -0.2 0.3"', fixed: str = 'rpy="0.5 0.6 0.7"') -> str:
    """Return an arm with a tool on a fixed joint with rotation, the case of mujoco#2982."""

    def body(name: str, mass: float, turn: str) -> str:
        return (
            f'<link name="{name}"><inertial><origin xyz="0.1 0.2 0.05" {turn}/>'
            f'<mass value="{mass}"/><inertia ixx="0.03" ixy="0.001" ixz="0" iyy="0.02" '
            'iyz="0.002" izz="0.025"/></inertial></link>'
        )

    return robot(
        links('base'),
        body('arm', 1.0, ''),
        body('tool', 2.0, inertial),
        body('slide', 0.5, ''),
        joint(
            'elbow', 'base', 'arm', '<axis xyz="0 1 1"/><origin rpy="0.3 0.2 0.1"/>', 'continuous'
        ),
        joint('mount', 'arm', 'tool', f'<origin xyz="0.5 0 0.1" {fixed}/>', 'fixed'),
        joint(
            'push',
            'tool',
            'slide',
            '<axis xyz="0 0 1"/><origin xyz="0 0.1 0"/>'
            '<limit lower="-0.1" upper="0.2" effort="10" velocity="1"/>',
            'prismatic',
        ),
    )


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


def test_other_compiler_options_are_named():
    """MuJoCo, configured to balance inertias, takes an impossible one and changes it."""
    text = tool_robot().replace('ixx="0.03"', 'ixx="0.09"', 1)
    with pytest.raises(RefusalError, match='inertia must satisfy A \\+ B >= C'):
        peer_of('mujoco', text, read_urdf(text))
    balanced = text.replace(
        '<robot name="r">', '<robot name="r"><mujoco><compiler balanceinertia="true"/></mujoco>'
    )
    result = compared(peer_of('mujoco', balanced, read_urdf(text)))
    assert result.explained
    assert [str(cause.difference)[:18] for cause in result.causes] == ['link arm: inertia:']


def test_shapes_that_would_have_a_mass_are_told():
    shape = '<collision><geometry><box size="1 1 1"/></geometry></collision>'
    text = tool_robot().replace('<link name="base"/>', f'<link name="base">{shape}</link>')
    (note,) = (n for n in peer_of('mujoco', text, read_urdf(text)).notes if 'inertiafromgeom' in n)
    assert note.startswith('link base: <inertial> is missing')


def test_warnings_of_mujoco_are_told(tmp_path, monkeypatch):
    """Once each, and no log file is left where the command runs."""
    monkeypatch.chdir(tmp_path)
    text = tool_robot().replace('lower="-0.1"', 'lower="0.2"')
    (note,) = (n for n in peer_of('mujoco', text, read_urdf(text)).notes if 'warns' in n)
    assert note == "warns: joint 'push' has equal lower and upper limits, limit ignored"
    assert not list(tmp_path.iterdir())


def with_camera(text: str) -> str:
    """Return an arm with a frame on its tool, and a camera on that."""
    camera = (
        '<link name="frame"/><link name="camera"><inertial><mass value="0.4"/>'
        '<origin xyz="0 0.1 0" rpy="0.5 0 0"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" '
        'iyz="0" izz="0.0015"/></inertial></link>'
    )
    for name, parent, child in (('a', 'tool', 'frame'), ('b', 'frame', 'camera')):
        camera += joint(name, parent, child, '<origin xyz="0 0 0.1" rpy="0 0.4 0"/>', 'fixed')
    return text.replace('</robot>', f'{camera}</robot>')


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


def test_another_structure_is_refused_by_name():
    ours = read_urdf(tool_robot())
    for module, other in (('mujoco', 'push'), ('pinocchio', 'push')):
        text = tool_robot().replace('"push"', '"pull"')
        with pytest.raises(RefusalError, match=f'has other joints: pull, {other}'):
            peer_of(module, text, ours)


# --- the chain of KDL -----------------------------------------------------------------------------


@pytest.mark.parametrize('name', ['panda_description/urdf/panda', 'kinova', 'solo12'])
def test_chains_agree_with_kdl(name):
    text = urdf_path(name).read_text(encoding='utf-8')
    result = compared(peer_of('PyKDL', text, read_urdf(text)))
    assert result.agrees
    assert len(result.differences) == 10
    assert max(each.relative for each in result.differences.values()) < 1e-10


def test_the_chain_with_most_joints_is_taken():
    tree = read_urdf(urdf_path('gripper_tree'))
    chain = chain_to(tree, last_link(tree))
    assert chain.links[0].name == tree.root
    assert chain.links[-1].name == last_link(tree)
    assert all(each.parent == link.name for each, link in zip(chain.joints, chain.links))


def test_masters_beside_the_chain_are_refused():
    pytest.importorskip('PyKDL')
    text = urdf_path('tiago_pro').read_text(encoding='utf-8')
    with pytest.raises(RefusalError, match='not part of the chain'):
        peer_of('PyKDL', text, read_urdf(text), tip='gripper_left_inner_finger_left_link')


# --- the command ----------------------------------------------------------------------------------


def test_the_report(capsys):
    pytest.importorskip('mujoco', SOUND)
    pytest.importorskip('pinocchio')
    assert run(urdf_path('panda'), '--states', 2, '--require', 'mujoco,pinocchio') == AGREE
    out = capsys.readouterr().out
    assert 'robot panda: largest differences in 2 random states (seed 0)' in out
    (row,) = (line.split() for line in out.splitlines() if 'gravity torques' in line)
    assert row[2:4] == ['N', 'm']
    assert 10.0 < float(row[4]) < 100.0
    assert all(float(each) < 1e-9 for each in row[5:7])
    assert 'agrees to 1e-06' in out
    assert run(urdf_path('panda'), '--states', 2) == AGREE
    assert capsys.readouterr().out == out  # seeded


def test_differences_in_json_and_text(tmp_path, capsys):
    pytest.importorskip('mujoco', SOUND)
    ours = urdf_path('panda')
    copy = CHANGES[0][2](DescriptionReading(read_urdf(ours))).description
    other = tmp_path / 'other.urdf'
    other.write_text(write_urdf(copy, unlimited=UNLIMITED))
    options = (ours, '--against', other, '--only', 'mujoco', '--states', 2)
    assert run(*options, '--json') == DIFFER
    report = json.loads(capsys.readouterr().out)
    assert (report['robot'], report['states'], report['seed']) == ('panda', 2, 0)
    (program,) = report['programs']
    assert program['name'] == 'MuJoCo'
    assert not program['agrees']
    assert program['explained']
    (cause,) = program['causes']
    assert (cause['subject'], cause['field']) == ('link panda_link4', 'mass')
    assert (cause['ours'], cause['theirs']) == ('3.5879', '3.62377')
    assert cause['changes']['gravity torques'] > 0.01
    assert program['differences']['mass']['absolute'] == pytest.approx(0.03587895)
    assert run(*options) == DIFFER
    text = capsys.readouterr().out
    assert 'DIFFERS, as explained by:' in text
    assert '3.6e-02*' in text
    assert 'link panda_link4: mass: here 3.5879, there 3.62377; changes ' in text
    assert run(*options, '--tolerance', 0.5) == AGREE


def test_a_missing_program_is_told(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    options = (urdf_path('planar_2r'), '--only', 'mujoco', '--states', 1)
    assert run(*options) == AGREE
    assert 'MuJoCo: left out: is not installed (pip install mujoco)' in capsys.readouterr().out
    assert run(*options, '--require', 'mujoco') == DIFFER
    assert 'parity: MuJoCo is required: is not installed' in capsys.readouterr().err


def test_a_program_that_refuses_is_told(capsys):
    """MuJoCo wants a mass on each moving link; the reason is its own, with the link."""
    pytest.importorskip('mujoco', SOUND)
    assert run(urdf_path('planar_2r'), '--only', 'mujoco', '--states', 1) == AGREE
    out = capsys.readouterr().out
    assert 'MuJoCo: left out: refuses the description: ' in out
    assert "Element name 'link1'" in out


def test_joints_that_move_no_mass(capsys):
    """Accelerations are not defined then; the rest is compared."""
    pytest.importorskip('pinocchio')
    assert run(urdf_path('planar_2r'), '--only', 'pinocchio', '--states', 1, '--json') == AGREE


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('<robot name="r"><link name="a"/></robot>', 'no joint of this robot moves'),
        (robot(links('a b'), joint('j', 'a', 'b', kind='floating')), 'joint j is floating'),
        (robot(links('a b'), joint('j', 'a', 'b', kind='planar')), 'joint j is planar'),
        ('<sdf/>', 'the root element is <sdf>'),
        ('no XML', 'no XML'),
    ],
)
def test_unusable_descriptions(text, reason, tmp_path, capsys):
    file = tmp_path / 'robot.urdf'
    file.write_text(text)
    assert run(file) == UNUSABLE
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        (('/nowhere.urdf',), 'there is no such file'),
        ((urdf_path('panda'), '--against', '/nowhere.urdf'), 'argument --against: cannot read the'),
        ((urdf_path('panda'), '--against', Path(__file__)), 'not well-formed XML'),
        ((urdf_path('panda'), '--mjcf', '/nowhere.xml'), 'there is no file /nowhere.xml'),
        ((urdf_path('panda'), '--tip', 'nose'), 'there is no link nose'),
    ],
)
def test_unusable_arguments(arguments, reason, capsys):
    assert run(*arguments) == UNUSABLE
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    'arguments',
    [
        ('--only', 'bullet'),
        ('--require', ''),
        ('--states', '0'),
        ('--states', 'many'),
        ('--tolerance', '-1'),
        ('--tolerance', 'nan'),
        ('--gravity', '0', '0', 'inf'),
    ],
)
def test_arguments_of_the_wrong_kind(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        run(urdf_path('panda'), *arguments)
    assert end.value.code == UNUSABLE
    assert f'argument {arguments[0]}' in capsys.readouterr().err
