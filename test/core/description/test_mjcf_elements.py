# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Elements of MJCF that act on the motion: read as MuJoCo acts on them, reported, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.mjcf import read_mjcf
from screw_dynamics_ros.core.errors import DescriptionError

mujoco = pytest.importorskip('mujoco')

#: Flags for springs and dampers: one in MuJoCo before 3.3, then two.
HAS_PASSIVE = hasattr(mujoco.mjtDisableBit, 'mjDSBL_PASSIVE')
SPRING, DAMPER, BOTH = (
    'passive="disable"' if HAS_PASSIVE else each
    for each in ('spring="disable"', 'damper="disable"', 'spring="disable" damper="disable"')
)

PAIR = """<mujoco model="pair">{head}<worldbody>
  <body name="upper" {upper}><joint name="a" axis="0 1 0" {a}/><geom size="0.1" pos="0.3 0 0"/>
    <body name="fore" pos="0.4 0 0"><joint name="b" axis="0 1 0" {b}/>
      <geom size="0.1" pos="0.2 0 0"/></body></body>{more}</worldbody>{rest}</mujoco>"""
EQUALITY = '<equality><joint name="e" joint1="b" joint2="a" polycoef="0.1 -0.5 0 0 0"/></equality>'


def pair(head='', upper='', a='', b='', more='', rest='', flag=''):
    """Return the text of two links."""
    head += f'<option><flag {flag}/></option>' if flag else ''
    return PAIR.format(head=head, upper=upper, a=a, b=b, more=more, rest=rest)


def found(text):
    """Return the findings of a text."""
    return list(map(str, read_mjcf(text).findings))


@pytest.mark.parametrize(
    ('flag', 'friction', 'damping', 'stiffness', 'couples'),
    [
        ('', 2.0, 3.0, 4.0, True),
        ('frictionloss="disable"', 0.0, 3.0, 4.0, True),
        ('equality="disable"', 2.0, 3.0, 4.0, False),
        ('constraint="disable"', 0.0, 3.0, 4.0, False),
        pytest.param(SPRING, 2.0, 0.0 if HAS_PASSIVE else 3.0, 0.0, True, id='spring'),
        pytest.param(DAMPER, 2.0, 0.0, 0.0 if HAS_PASSIVE else 4.0, True, id='damper'),
        pytest.param(BOTH, 2.0, 0.0, 0.0, True, id='passive'),
    ],
)
def test_flags(flag, friction, damping, stiffness, couples):
    """What a flag disables does not act, in MuJoCo and here."""
    text = pair(a='frictionloss="2" damping="3" stiffness="4"', rest=EQUALITY, flag=flag)
    first, second = (joint for joint in read_mjcf(text).joints if joint.name in 'ab')
    assert (first.friction, first.damping, first.spring_stiffness) == (friction, damping, stiffness)
    assert (second.mimic is not None) == couples
    assert Robot.from_mjcf(text).nv == (1 if couples else 2)
    disabled = 'equality e: is disabled by a flag of the file and is ignored'
    assert (disabled in found(text)) != couples
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = [0.5, 0.1], [2.0, 0.0]
    mujoco.mj_forward(model, data)
    assert data.qfrc_passive[0] == pytest.approx(-damping * 2.0 - stiffness * 0.5)
    kinds = mujoco.mjtConstraint
    assert (int(kinds.mjCNSTR_FRICTION_DOF) in data.efc_type) == (friction > 0.0)
    assert (int(kinds.mjCNSTR_EQUALITY) in data.efc_type) == couples


@pytest.mark.parametrize(
    ('flag', 'free', 'more'),
    [
        ('frictionloss="disable"', 'frictionloss="1"', ''),
        (DAMPER, 'damping="1"', ''),
        (SPRING, 'stiffness="1"', ''),
        (SPRING, '', '<tendon><fixed name="t" stiffness="2"><joint joint="a" coef="1"/></fixed>'),
        ('equality="disable"', '', '<tendon><fixed name="t"><joint joint="a" coef="1"/></fixed>'),
    ],
)
def test_what_a_flag_disables_is_not_refused(flag, free, more):
    """Without the flag it is: it would act."""
    body = f'<body><joint type="free" {free}/><geom size="0.1"/></body>'
    rest = more and f'{more}</tendon><equality><tendon tendon1="t"/></equality>'
    flags = f'{flag} equality="disable"' if more and 'equality' not in flag else flag
    assert read_mjcf(pair(more=body, rest=rest, flag=flags)).joints
    with pytest.raises(DescriptionError, match='not modeled here'):
        read_mjcf(pair(more=body, rest=rest))


def test_limits_of_joints_are_kept_although_a_flag_disables_them():
    """They are those of the robot, not of one simulation; the finding says so."""
    text = pair(a='range="-1 1" limited="true"', head='<compiler angle="radian"/>', flag='{}')
    for flag in ('limit="disable"', 'constraint="disable"'):
        each = text.replace('{}', flag)
        assert read_mjcf(each).joints[0].limits.upper == 1.0
        expected = 'robot pair: limits of joints are kept, although a flag disables them'
        assert expected in found(each)
        assert expected not in found(text.replace('{}', 'contact="disable"'))


@pytest.mark.parametrize('flag', ['', BOTH, 'gravity="disable"'])
def test_weight_compensation_and_drag(flag):
    """They are reported if MuJoCo has them."""
    text = pair(upper='gravcomp="0.5"', head='<option density="9"/>', flag=flag)
    model = mujoco.MjModel.from_xml_string(text)
    for field, name in (('density', 'is omitted'), ('body_gravcomp', 'compensates 50 %')):
        alone = mujoco.MjModel.from_xml_string(text)
        if field == 'density':
            alone.body_gravcomp[:] = 0.0
        else:
            alone.opt.density = 0.0
        data = mujoco.MjData(alone)
        data.qvel[:] = 1.0
        mujoco.mj_forward(alone, data)
        reported = any(name in each for each in found(text))
        assert reported == bool(np.any(data.qfrc_passive)), (field, flag)
    assert model.nv == 2


def test_mocap_bodies_are_reported():
    more = '<body name="target" mocap="true" pos="1 0 0"><geom size="0.1"/></body>'
    (finding,) = (each for each in found(pair(more=more)) if 'target' in each)
    assert finding.startswith('link target: is a mocap body: a simulation moves it')


def test_flexes_are_refused_by_name():
    flex = (
        '<deformable><flex {}dim="1" body="upper fore" vertex="0 0 0 0.1 0 0" element="0 1" '
        'radius="0.01"/></deformable>'
    )
    for given, name in (('name="f" ', 'f'), ('', 'flex 0')):
        try:
            text = pair(rest=flex.format(given))
            mujoco.MjModel.from_xml_string(text)
        except ValueError:
            continue  # MuJoCo requires a name
        with pytest.raises(DescriptionError, match=f"the flex '{name}' is deformable"):
            read_mjcf(text)


def test_flexes_of_files_are_refused_by_name(tmp_path: Path):
    """A <flexcomp> of a file becomes a flex."""
    path = tmp_path / 'cloth.xml'
    cloth = '<flexcomp name="cloth" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" dim="2"/>'
    path.write_text(pair(more=f'<body name="table">{cloth}</body>'), encoding='utf-8')
    with pytest.raises(DescriptionError, match="the flex 'cloth' is deformable"):
        read_mjcf(path)


@pytest.mark.skipif(
    not hasattr(mujoco.MjModel, 'jnt_springyield'), reason='MuJoCo has no springs that yield'
)
def test_springs_that_yield_are_refused_by_the_name_of_their_joint():
    text = pair(a='stiffness="3"', b='stiffness="3" springyield="0.5"')
    with pytest.raises(DescriptionError, match="the joint 'b' has a spring that yields"):
        read_mjcf(text)
    with pytest.raises(DescriptionError, match="the joint 'fore_joint' has a spring that yields"):
        read_mjcf(text.replace('name="b"', ''))


def test_textures_of_lights_are_removed_from_texts():
    """They refer to textures, which are removed."""
    asset = '<asset><texture name="t" type="2d" builtin="flat" width="8" height="8"/></asset>'
    try:
        text = pair(head=asset, more='<light texture="t"/>')
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip('lights of this MuJoCo have no textures')
    assert len(read_mjcf(text).joints) == 2


def test_unnamed_keyframes_leave_the_named_ones():
    keys = (
        '<key name="key1" qpos="1 2"/><key qpos="3 4"/><key qpos="5 6"/>'
        '<key name="key2" qpos="7 8"/>'
    )
    postures = read_mjcf(pair(rest=f'<keyframe>{keys}</keyframe>')).postures
    assert {name: each['a'] for name, each in postures.items()} == {
        'key1': (1.0,),
        'key1_2': (3.0,),
        'key2_2': (5.0,),
        'key2': (7.0,),
    }


TILTED = """<mujoco model="tilted"><option gravity="0.5 1 -9"/><worldbody>
  <body name="base" pos="0 0 1" quat="{}"><freejoint/><geom type="box" size="0.1 0.2 0.3"/>
    <body name="arm" pos="0 0 0.3"><joint name="a" axis="1 0 0"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.05 0.1 0.02"/></body></body>
  </worldbody></mujoco>"""


def test_gravity_of_a_tilted_base_that_is_fixed():
    """MuJoCo holds the base in the pose of the file; so does a robot without a floating base."""
    text = TILTED.format('1 0.5 -0.3 2')
    model = mujoco.MjModel.from_xml_string(text)
    data, robot = mujoco.MjData(model), Robot.from_mjcf(text, floating_base=False)
    data.qpos[7] = 0.3
    mujoco.mj_forward(model, data)
    assert robot.nv == 1
    np.testing.assert_allclose(robot.gravity_torques([0.3]), data.qfrc_bias[6:], rtol=1e-11)
    floating = Robot.from_mjcf(text)
    assert (floating.nv, tuple(floating.gravity)) == (7, (0.5, 1.0, -9.0))
    given = Robot.from_mjcf(text, floating_base=False, gravity=(0.0, 0.0, -1.0))
    assert tuple(given.gravity) == (0.0, 0.0, -1.0)


def test_a_tilted_base_is_reported():
    """For nodes and tools, which have a parameter or argument for gravity."""
    text = TILTED.format('1 1 0 0').replace('0.5 1 -9', '0 0 -9.81')
    assert any(
        each.startswith('link base: the root link is tilted') and 'gravity 0 -9.81 0,' in each
        for each in found(text)
    )
    assert not any('tilted in' in each for each in found(text.replace('1 1 0 0', '1 0 0 1')))


def test_names_of_all_elements_are_checked():
    """Findings are printed in logs and on terminals."""
    tendon = '<tendon><fixed name="{}"><joint joint="a" coef="1"/></fixed></tendon>'
    for name in ('a&#10;b', 'x' * 300):
        with pytest.raises(DescriptionError, match='a name has control characters, or more than'):
            read_mjcf(pair(rest=tendon.format(name)))


def test_a_urdf_is_no_mjcf(tmp_path: Path):
    """MuJoCo would fuse the links of its fixed joints, and know no friction or mimic joints."""
    text = '<robot name="r"><link name="a"/></robot>'
    path = tmp_path / 'arm.urdf'
    path.write_text(text, encoding='utf-8')
    for each in (text, path):
        with pytest.raises(DescriptionError, match=r'^the root element is <robot>.*from_urdf'):
            read_mjcf(each)
