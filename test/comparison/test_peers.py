# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The programs: they agree with ours on real and random robots, and say what they leave out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.comparison.kdl_peer import last_link
from screw_dynamics_ros.comparison.mujoco_peer import importable
from screw_dynamics_ros.comparison.peer import RefusalError
from screw_dynamics_ros.comparison.reading import chain_to, inertia_of
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from support.models import random_description, without_mimic
from support.peer_programs import (
    EACH_PEER,
    SOUND,
    compared,
    peer_of,
    tool_robot,
    with_camera,
)
from support.robots import joint, links, robot, urdf_path


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
@pytest.mark.parametrize('name', ['panda_description/urdf/panda', 'kinova', 'solo12'])
def test_real_robots_agree(name, module):
    """An arm with mimic joints, one with continuous joints, a quadruped."""
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
    text = write_urdf(description)
    result = compared(peer_of(module, text, description))
    assert result.agrees
    assert max(each.relative for each in result.differences.values()) < 1e-9


def blank(description):
    """Return a description of names and types alone: all else has to be read by the program."""
    body = Inertia(1.0, np.ones(3), np.eye(3))
    axis = np.array([1.0, 0.0, 0.0])
    return replace(
        description,
        links=tuple(replace(each, inertia=body) for each in description.links),
        joints=tuple(
            Joint(each.name, each.type, each.parent, each.child, np.eye(4), axis)
            for each in description.joints
        ),
    )


@EACH_PEER
@pytest.mark.parametrize('name', ['panda', 'kinova', 'random'])
def test_all_links_are_read_back(name, module):
    """What a program has read is our description again, but for what it does not keep."""
    if name == 'random':
        made = random_description(9, 6, ('revolute', 'prismatic', 'fixed'), chain=True)
        limits = Limits(-0.5, 0.7, 3.0, 20.0)
        description = with_friction(
            replace(made, joints=tuple(replace(each, limits=limits) for each in made.joints))
        )
        text = write_urdf(description)
    else:
        text = urdf_path(name).read_text(encoding='utf-8')
        description = read_urdf(text)
    peer = peer_of(module, text, description)
    expected, peer.subject = peer.subject, blank(peer.subject)
    read = peer.read().reading.description
    first = 0 if module == 'pinocchio' else 1  # the others keep no inertia of the root
    for ours, theirs in zip(expected.links[first:], read.links[first:]):
        a, b = inertia_of(ours), inertia_of(theirs)
        assert a.mass == pytest.approx(b.mass, abs=1e-12)
        np.testing.assert_allclose(a.mass * a.com, b.mass * b.com, atol=1e-10)
        np.testing.assert_allclose(a.matrix, b.matrix, atol=1e-10)
    for ours, theirs in zip(expected.joints, read.joints):
        np.testing.assert_allclose(ours.origin, theirs.origin, atol=1e-10)
        if not ours.kind.is_scalar:
            continue
        np.testing.assert_allclose(ours.axis, theirs.axis, atol=1e-10)
        if module == 'PyKDL':
            continue
        assert (ours.damping, ours.friction) == (theirs.damping, theirs.friction)
        if ours.kind.has_range:
            a, b = ours.limits, theirs.limits
            assert (a.lower, a.upper, a.effort) == pytest.approx((b.lower, b.upper, b.effort))
            assert module == 'mujoco' or a.velocity == b.velocity


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


def test_another_structure_is_refused_by_name():
    ours = read_urdf(tool_robot())
    for module, other in (('mujoco', 'push'), ('pinocchio', 'push')):
        text = tool_robot().replace('"push"', '"pull"')
        with pytest.raises(RefusalError, match=f'has other joints: pull, {other}'):
            peer_of(module, text, ours)


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


# --- what they leave out, and what they get from here ---------------------------------------------


def notes(module, description, text=None, **options):
    text = write_urdf(description) if text is None else text
    return peer_of(module, text, description, **options).notes


def with_friction(description, damping=0.5):
    joints = tuple(replace(each, damping=damping) for each in description.joints)
    return replace(description, joints=joints)


@EACH_PEER
def test_mimic_joints_are_noted(module):
    chain = random_description(2, 3, chain=True, mimic=1)
    plain = without_mimic(chain)
    assert [note for note in notes(module, chain) if 'mimic' in note]
    assert not [note for note in notes(module, plain) if 'mimic' in note]
    result = compared(peer_of(module, write_urdf(chain), chain))
    assert result.agrees


@pytest.mark.parametrize('module', ['pinocchio', 'PyKDL'])
def test_friction_that_a_program_leaves_to_the_caller_is_noted(module):
    chain = random_description(2, 3, chain=True)
    assert [note for note in notes(module, with_friction(chain)) if 'damping' in note]
    assert not [note for note in notes(module, chain) if 'damping' in note]


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
@pytest.mark.parametrize('given', [True, False])
def test_drives_of_the_running_robot(module, given):
    """Armatures and friction that the file does not have: given to the program, or named."""
    made = random_description(8, 4, ('revolute', 'prismatic'))
    text = write_urdf(made)
    armatures = {'joint2': 0.3, 'joint3': 0.2}
    peer = peer_of(module, text, with_friction(made), armatures=armatures, drives_are_given=given)
    result = compared(peer, armatures=armatures)
    fields = {(cause.difference.subject, cause.difference.field) for cause in result.causes}
    assert result.agrees is given
    assert result.explained
    if not given:
        friction = {(f'joint joint{k}', 'dynamics damping') for k in range(1, 5)}
        assert fields == {(f'joint {name}', 'armature') for name in armatures} | friction
    assert ('uses the current armatures and viscous friction' in peer.notes) is given


def test_links_that_mujoco_merges_are_noted():
    text = with_camera(tool_robot())
    (note,) = (each for each in notes('mujoco', read_urdf(text), text) if 'merges' in each)
    assert note == (
        'merges 3 links into those they are fixed to (fusestatic), whose poses it does not report: '
        'tool, frame, camera'
    )


@pytest.mark.parametrize('module', ['mujoco', 'pinocchio'])
def test_joints_that_move_no_mass(module):
    """Accelerations are not defined then; MuJoCo refuses such a robot, with the link."""
    pytest.importorskip(module)
    text = robot(links('base arm'), joint('j', 'base', 'arm', '<axis xyz="0 1 0"/>', 'continuous'))
    if module == 'mujoco':
        with pytest.raises(RefusalError, match=r"refuses the description: .*'arm'"):
            peer_of(module, text, read_urdf(text))
        return
    result = compared(peer_of(module, text, read_urdf(text)))
    assert result.agrees
    assert len(result.differences) == 9
    assert 'forward dynamics' not in result.differences


def test_an_mjcf_with_another_root_and_actuators(tmp_path):
    """The pose of the root is not that of the world; controllers of the model do not act."""
    mujoco = pytest.importorskip('mujoco', SOUND)
    text = tool_robot()
    spec = mujoco.MjSpec.from_string(importable(text))
    spec.compile()
    root = '<body name="base" pos="1 2 -3" quat="0.5 -0.5 0.1 0.7">'
    motors = ''.join(f'<position joint="{name}" kp="50"/>' for name in ('elbow', 'push'))
    file = tmp_path / 'robot.xml'
    file.write_text(
        spec.to_xml()
        .replace('<worldbody>', f'<worldbody>{root}')
        .replace('</worldbody>', f'</body></worldbody><actuator>{motors}</actuator>')
    )
    result = compared(peer_of('mujoco', text, read_urdf(text), mjcf=str(file)), tolerance=1e-4)
    assert result.agrees
    assert len(result.differences) == 10


def test_a_file_that_mujoco_refuses(tmp_path):
    pytest.importorskip('mujoco', SOUND)
    file = tmp_path / 'robot.xml'
    file.write_text('<mujoco><nothing/></mujoco>')
    text = tool_robot()
    with pytest.raises(RefusalError, match=r'refuses the description: .*nothing'):
        peer_of('mujoco', text, read_urdf(text), mjcf=str(file))


def test_a_description_that_pinocchio_refuses():
    pytest.importorskip('pinocchio')
    text = tool_robot().replace('<robot name="r">', '<robot>')
    with pytest.raises(RefusalError, match=r'refuses the description: The XML stream'):
        peer_of('pinocchio', text, read_urdf(text))


# --- KDL ------------------------------------------------------------------------------------------


def test_what_is_beside_the_chain_of_kdl_is_noted():
    """Masses of branches, the inertia of the root, and that its solvers compute chains only."""
    tree = random_description(2, 6)
    tip = 'link2'
    chain = {link.name for link in chain_to(tree, tip).links}
    lost = [link for link in tree.links if link.name not in chain]
    found = notes('PyKDL', tree, tip=tip)
    assert found[0] == 'computes chains only: link0 to link2'
    mass = sum(link.inertia.mass for link in lost)
    names = ', '.join(link.name for link in lost)
    assert found[1] == f'its solvers leave out {mass:.6g} kg beside the chain: {names}'
    assert found[2].startswith('link link0: kdl_parser drops the <inertial> of the root')
    assert f'({tree.links[0].inertia.mass:.6g} kg)' in found[2]
    assert len(found) == 3
    plain = read_urdf(tool_robot())
    assert notes('PyKDL', plain, tool_robot()) == ['computes chains only: base to slide']


def test_chains_that_kdl_does_not_have_are_refused():
    text, other = tool_robot(), tool_robot().replace('"push"', '"pull"')
    with pytest.raises(RefusalError, match='has other joints before slide'):
        peer_of('PyKDL', other, read_urdf(text))
    with pytest.raises(RefusalError, match='has no link camera in its file; choose another tip'):
        peer_of('PyKDL', text, read_urdf(with_camera(text)), tip='camera')
