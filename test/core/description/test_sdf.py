# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDFormat: the same robots as URDFs, written with other frames, and closed forms."""

from __future__ import annotations

import math
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.description.robot_description import Limits
from screw_dynamics_ros.core.description.sdf import read_sdf
from screw_dynamics_ros.core.description.urdf import read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.core.robot.robot import Robot
from support.robots import urdf_path

BODY = (
    '<inertial><pose>0.1 0.2 0.3 0 0 0</pose><mass>2</mass>'
    '<inertia><ixx>0.1</ixx><iyy>0.2</iyy><izz>0.25</izz></inertia></inertial>'
)


def sdf(*parts: str, version: str = '1.9') -> str:
    """Return a file with a model 'm' of these elements."""
    return f'<sdf version="{version}">\n<model name="m">\n' + '\n'.join(parts) + '\n</model></sdf>'


def link(name: str, inner: str = '') -> str:
    """Return a <link> with mass."""
    return f'<link name="{name}">{inner}{BODY}</link>'


def joint(inner: str, kind: str = 'revolute', parent: str = 'a', child: str = 'b') -> str:
    """Return joint 'j'; `inner` is put inside."""
    return (
        f'<joint name="j" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f'{inner}</joint>'
    )


def axis(xyz: str = '0 0 1', inner: str = '', tag: str = 'axis') -> str:
    """Return an axis."""
    return f'<{tag}><xyz>{xyz}</xyz>{inner}</{tag}>'


def two(*parts: str) -> str:
    """Return a model of links a and b, and these elements."""
    return sdf(link('a'), link('b', '<pose>1 0 0 0 0 0</pose>'), *parts)


# --- the same robots as URDF and as SDFormat ------------------------------------------------------


def pose(element: ElementTree.Element | None) -> np.ndarray:
    """Return the pose of the <origin> of a URDF, by SciPy."""
    origin = None if element is None else element.find('origin')
    C = np.eye(4)
    if origin is not None:
        C[:3, 3] = [float(x) for x in origin.get('xyz', '0 0 0').split()]
        rpy = [float(x) for x in origin.get('rpy', '0 0 0').split()]
        C[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
    return C


def pose_text(C: np.ndarray, relative_to: str, form: int, attribute: str = 'relative_to') -> str:
    """Return a <pose> in one of three forms of rotation."""
    R, r = Rotation.from_matrix(C[:3, :3]), C[:3, 3]
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # a pitch of pi/2: one of the other angles is 0
        turned = (R.as_quat(), R.as_euler('xyz'), R.as_euler('xyz', degrees=True))[form]
    numbers = ' '.join(repr(float(x)) for x in (*r, *turned))
    how = ('rotation_format="quat_xyzw"', '', 'degrees="true"')[form]
    to = f'{attribute}="{relative_to}"' if relative_to else ''
    return f'<pose {how} {to}>{numbers}</pose>'


def random_pose(rng: np.random.Generator) -> np.ndarray:
    """Return a pose within 1 m."""
    C = np.eye(4)
    C[:3, :3], C[:3, 3] = Rotation.random(random_state=rng).as_matrix(), rng.uniform(-1, 1, 3)
    return C


def as_sdf(urdf: str, rng: np.random.Generator, version: str = '1.9') -> str:
    """Return a URDF as SDFormat, its poses relative to various frames, its axes in various ones.

    1.4 has poses of links in the model only, 1.5 and 1.6 call `relative_to` `frame`.
    """
    attribute = 'relative_to' if version == '1.9' else 'frame'
    robot = ElementTree.fromstring(urdf)
    above = {
        each.find('child').get('link'): each for each in robot.iter('joint') if each.get('type')
    }
    placed, parts = {}, []

    def place(name: str) -> np.ndarray:
        if name not in placed:
            joint = above.get(name)
            up = np.eye(4) if joint is None else place(joint.find('parent').get('link'))
            placed[name] = up @ pose(joint)
        return placed[name]

    for number, each in enumerate(robot.findall('link')):
        name, C, form = each.get('name'), place(each.get('name')), int(rng.integers(3))
        where = int(rng.integers(3)) if version != '1.4' else 0
        if where == 1 and name in above:
            up = above[name].find('parent').get('link')
            text = pose_text(pose(above[name]), up, form, attribute)
        elif where == 2:
            D = random_pose(rng)
            parts.append(f'<frame name="f{number}">{pose_text(D, "", form)}</frame>')
            text = pose_text(np.linalg.inv(D) @ C, f'f{number}', form, attribute)
        else:
            text = pose_text(C, '', form)
        parts.append(f'<link name="{name}">{text}{inertial(each, form)}</link>')
    for each in robot.findall('joint'):
        parts.append(joint_text(each, placed, rng, version))
    return sdf(*parts, version=version)


def inertial(each: ElementTree.Element, form: int) -> str:
    """Return the <inertial> of a link of a URDF; one without mass for none."""
    given = each.find('inertial')
    if given is None:
        tensor, mass = dict.fromkeys(('ixx', 'iyy', 'izz'), '0'), '0'
    else:
        tensor, mass = given.find('inertia').attrib, given.find('mass').get('value')
    entries = ''.join(f'<{key}>{value}</{key}>' for key, value in tensor.items())
    return (
        f'<inertial>{pose_text(pose(given), "", form)}<mass>{mass}</mass>'
        f'<inertia>{entries}</inertia></inertial>'
    )


def joint_text(
    each: ElementTree.Element, placed: dict, rng: np.random.Generator, version: str
) -> str:
    """Return a joint of a URDF whose frame is moved along its axis and turned."""
    parent, child = (each.find(end).get('link') for end in ('parent', 'child'))
    inner = f'<parent>{parent}</parent><child>{child}</child>'
    e = (
        np.array([float(x) for x in each.find('axis').get('xyz').split()])
        if (each.find('axis') is not None)
        else np.array([1.0, 0.0, 0.0])
    )
    moved = random_pose(rng)
    moved[:3, 3] = rng.uniform() * e
    where = int(rng.integers(3))
    limit = each.find('limit')
    bounds = (
        ''
        if limit is None
        else ''.join(f'<{key}>{value}</{key}>' for key, value in limit.attrib.items())
    )
    mimic = each.find('mimic')
    follows = (
        ''
        if mimic is None
        else (
            f'<mimic joint="{mimic.get("joint")}"><reference>0.5</reference>'
            f'<multiplier>{mimic.get("multiplier", "1")}</multiplier><offset>'
            f'{float(mimic.get("offset", "0")) + 0.5 * float(mimic.get("multiplier", "1"))!r}'
            '</offset></mimic>'
        )
    )
    flag = ''
    if version != '1.9':  # the axis is in the model by default in 1.4, in the joint later
        frame, in_model = '', where == 0 or (where == 1 and version == '1.4')
        if where == 0 or (where == 2 and version == '1.4'):
            flag = f'<use_parent_model_frame>{"true" if in_model else 0}</use_parent_model_frame>'
        components = placed[child][:3, :3] @ e if in_model else moved[:3, :3].T @ e
        inner += pose_text(moved, '', 1)
    elif where == 0:
        frame, components = f' expressed_in="{child}"', e
        inner += pose_text(moved, '', 0)
    elif where == 1:
        frame, components = ' expressed_in="__model__"', placed[child][:3, :3] @ e
        inner += pose_text(placed[child] @ moved, '__model__', 1)
    else:
        frame, components = '', moved[:3, :3].T @ e
        inner += pose_text(moved, child, 2)
    xyz = ' '.join(repr(float(x)) for x in components)
    if each.get('type') != 'fixed':
        inner += f'<axis><xyz{frame}>{xyz}</xyz>{flag}<limit>{bounds}</limit>{follows}</axis>'
    return f'<joint name="{each.get("name")}" type="{each.get("type")}">{inner}</joint>'


@pytest.mark.parametrize('version', ['1.4', '1.5', '1.6', '1.9'])
@pytest.mark.parametrize('name', ['panda', 'gripper_tree', 'planar_2r'])
def test_models_are_those_of_urdfs(name, version):
    """Poses, axes, inertias, limits and mimic joints, converted by SciPy with frames moved."""
    rng = np.random.default_rng(5)
    text = urdf_path(name).read_text(encoding='utf-8')
    expected = Robot.from_urdf(text, backend='reference')
    found = Robot.from_sdf(as_sdf(text, rng, version), backend='reference')
    assert found.joint_names == expected.joint_names
    assert set(expected.link_names) <= set(found.link_names)
    q, v = rng.uniform(-1, 1, (2, expected.nv))
    for function, arguments in (
        ('mass_matrix', (q,)),
        ('inverse_dynamics', (q, v, np.zeros(expected.nv))),
        ('jacobian', (q, expected.link_names[-1])),
    ):
        numbers = (getattr(each, function)(*arguments) for each in (found, expected))
        np.testing.assert_allclose(*numbers, atol=1e-12)
    by_name = {joint.name: joint for joint in found.description.joints}
    for joint in expected.description.joints:
        assert by_name[joint.name].limits == joint.limits
        found_mimic = by_name[joint.name].mimic
        assert (found_mimic is None) == (joint.mimic is None)
        if joint.mimic is not None:
            assert found_mimic.joint == joint.mimic.joint
            assert found_mimic.multiplier == joint.mimic.multiplier
            assert found_mimic.offset == pytest.approx(joint.mimic.offset, abs=1e-15)


# --- versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('version', 'flag', 'in_model'),
    [
        ('1.4', '', True),
        ('1.4', 'false', False),  # as libsdformat reads it
        ('1.5', '', False),
        ('1.5', 'True', True),
        ('1.6', '', False),
        ('1.6', '1', True),
        ('1.9', '', False),
    ],
)
def test_the_frame_of_an_axis_depends_on_the_version(version, flag, in_model):
    """In the model in 1.4, in the frame of the joint since, unless the file says the other."""
    flag = flag and f'<use_parent_model_frame>{flag}</use_parent_model_frame>'
    (found,) = read_sdf(
        sdf(
            link('a', '<pose>1 2 3 0.1 0.2 0.3</pose>'),
            link('b', '<pose>3 2 1 0.3 -0.2 0.1</pose>'),
            joint('<pose>0 0 0 0.5 0.6 0.7</pose>' + axis('0 0.6 0.8', flag)),
            version=version,
        )
    ).joints
    e = np.array([0.0, 0.6, 0.8])
    R_joint, R_link = (
        Rotation.from_euler('xyz', angles) for angles in ((0.5, 0.6, 0.7), (0.3, -0.2, 0.1))
    )
    expected = R_link.inv().apply(e) if in_model else R_joint.apply(e)
    np.testing.assert_allclose(found.axis, expected, atol=1e-15)


def test_a_joint_with_the_name_of_a_link_is_renamed_in_old_files():
    """Gazebo's files have such joints; the file before 1.7 may, and libsdformat renames them."""
    text = sdf(
        joint(axis()).replace('"j"', '"b"'), link('a'), link('b'), link('b_joint'),
        joint('', 'fixed', 'b', 'b_joint'), version='1.6',
    )  # fmt: skip
    description = read_sdf(text)
    assert [each.name for each in description.joints] == ['b_joint0', 'j']
    (finding,) = [each for each in description.findings if each.subject == 'joint b_joint0']
    assert "joint 'b' (line 3)" in finding.message
    with pytest.raises(DescriptionError, match='have different names'):
        read_sdf(text.replace('1.6', '1.7'))


@pytest.mark.parametrize(
    ('version', 'used'), [('1.13', '1.12'), ('2.0', '1.12'), ('1.61', '1.12'), ('1.05', '1.5')]
)
def test_versions_that_do_not_exist_are_reported(version, used):
    """Such files are refused by libsdformat."""
    findings = read_sdf(sdf(link('a'), version=version)).findings
    (found,) = [each for each in findings if each.subject == f'file of version {version}']
    assert f'read as {used}' in found.message
    known = read_sdf(sdf(link('a'), version=used)).findings
    assert not any('file of version' in each.subject for each in known)


# --- mechanisms with known motion -----------------------------------------------------------------


def test_an_axis_beside_the_origin_of_the_child_turns_it_about_the_joint():
    """A pendulum whose link frame is 1 m from its axis; the joint frame is a link of its own."""
    robot = Robot.from_sdf(
        two(joint('<pose>-1 0 0 0 0 0</pose>' + axis())), backend='reference', gravity=(0, 0, 0)
    )
    assert robot.description.links[1].name == 'j'
    np.testing.assert_allclose(robot.mass_matrix([0.3]), [[0.25 + 2.0 * (1.1**2 + 0.2**2)]])
    expected = [math.cos(0.3), math.sin(0.3), 0.0]
    np.testing.assert_allclose(robot.link_pose([0.3], 'b')[:3, 3], expected, atol=1e-15)
    assert [each.type for each in robot.description.joints] == ['continuous', 'fixed']


@pytest.mark.parametrize(
    ('inner', 'advance'),
    [
        ('<screw_thread_pitch>0.02</screw_thread_pitch>', 0.02),
        ('<thread_pitch>200</thread_pitch>', -2.0 * math.pi / 200.0),
        ('<screw_thread_pitch>0.01</screw_thread_pitch><thread_pitch>7</thread_pitch>', 0.01),
    ],
)
def test_a_screw_advances_by_its_pitch_in_one_revolution(inner, advance):
    """The old parameter is an angle per length and has the other hand."""
    robot = Robot.from_sdf(two(joint(inner + axis(), 'screw')), backend='reference')
    there = robot.link_pose([2.0 * math.pi], 'b')
    np.testing.assert_allclose(there[:3, 3], [1.0, 0.0, advance], atol=1e-15)


@pytest.mark.parametrize('kind', ['universal', 'revolute2'])
def test_two_axes_turn_one_after_the_other(kind):
    """R = R(axis, q1) R(axis2, q2) about the origin of the joint."""
    axes = axis('1 0 0') + axis('0 1 0', tag='axis2')
    robot = Robot.from_sdf(two(joint(f'<pose>0 0 1 0 0 0</pose>{axes}', kind)), backend='reference')
    assert robot.joint_names == ('j::axis', 'j::axis2')
    there = robot.link_pose([0.4, -0.7], 'b')
    R = Rotation.from_euler('XY', [0.4, -0.7]).as_matrix()
    np.testing.assert_allclose(there[:3, :3], R, atol=1e-15)
    np.testing.assert_allclose(there[:3, 3], np.array([1.0, 0, 1]) - R[:, 2], atol=1e-15)


def test_frames_of_nested_models_and_placement():
    """A gripper placed by its flange, mounted on a frame of the arm; names are scoped."""
    robot = Robot.from_sdf(
        sdf(
            link('base'),
            '<frame name="mount" attached_to="base"><pose>0 0 1 0 0 0</pose></frame>',
            '<model name="g" placement_frame="flange"><pose relative_to="mount"/>',
            link('palm', '<pose>0.5 0 0 0 0 0</pose>'),
            link('finger', '<pose relative_to="palm">0 0.1 0 0 0 0</pose>'),
            '<frame name="flange" attached_to="palm"><pose>0 0 -0.2 0 0 0</pose></frame>',
            '<joint name="slide" type="prismatic"><parent>palm</parent><child>finger</child>'
            f'{axis("0 1 0")}</joint></model>',
            joint('', 'fixed', 'mount', 'g::flange'),
        ),
        backend='reference',
    )
    assert robot.joint_names == ('g::slide',)
    for name, place in {
        'mount': [0, 0, 1],
        'g::flange': [0, 0, 1],
        'g::palm': [0, 0, 1.2],
        'g::finger': [0, 0.3, 1.2],
    }.items():
        np.testing.assert_allclose(robot.link_pose([0.2], name)[:3, 3], place, atol=1e-15)


def test_flattened_models_name_their_frames_by_scope():
    """Files of 1.7, converted with nested models, have links 'g::palm' in frames 'g::__model__'."""
    description = read_sdf(
        sdf(
            link('a'),
            '<frame name="g::__model__" attached_to="g::palm"><pose relative_to="a">0 0 1 0 0 0'
            '</pose></frame>',
            link('g::palm', '<pose relative_to="g::__model__">0 1 0 0 0 0</pose>'),
            joint('', 'fixed', 'a', 'g::__model__'),
            version='1.7',
        )
    )
    np.testing.assert_array_equal(description.joints[0].origin[:3, 3], [0.0, 1.0, 1.0])


def test_a_joint_to_the_world_makes_it_the_root():
    """The pose of the model is where it stands in the world; without such a joint it is not."""
    text = two('<pose>0 0 3 0 0 0</pose>', joint(axis()), '<joint name="w" type="fixed">')
    text = text.replace(
        'type="fixed">', 'type="fixed"><parent>world</parent><child>a</child></joint>'
    )
    robot = Robot.from_sdf(text, backend='reference')
    assert robot.description.root == 'world'
    np.testing.assert_array_equal(robot.link_pose([0.0], 'b')[:3, 3], [1.0, 0.0, 3.0])
    alone = Robot.from_sdf(two('<pose>0 0 3 0 0 0</pose>', joint(axis())), backend='reference')
    assert alone.description.root == 'a'


def test_written_as_urdf():
    """The same robot in all that URDF has: screws and joint frames included."""
    text = two(
        joint(
            '<screw_thread_pitch>0.02</screw_thread_pitch><pose>0 1 0 0 0 0</pose>' + axis('0 1 2'),
            'screw',
        )
    )
    description = read_sdf(text)
    again = read_urdf(write_urdf(description))
    q = [0.3]
    masses = [Robot(each, backend='reference').mass_matrix(q) for each in (description, again)]
    np.testing.assert_allclose(*masses, rtol=1e-14)


# --- values ---------------------------------------------------------------------------------------


def test_limits_friction_and_what_means_infinite():
    """1e16 and negative magnitudes are infinite; both bounds missing: a continuous joint."""
    limit = '<limit><lower>-1</lower><upper>1e16</upper><effort>-1</effort><velocity>2</velocity>'
    dynamics = (
        '<dynamics><damping>0.1</damping><friction>0.2</friction><spring_stiffness>7'
        '</spring_stiffness><spring_reference>0.4</spring_reference></dynamics>'
    )
    found = read_sdf(two(joint(axis(inner=f'{limit}</limit>{dynamics}')))).joints[0]
    assert (found.type, found.damping, found.friction) == ('revolute', 0.1, 0.2)
    assert (found.spring_stiffness, found.spring_position) == (7.0, 0.4)
    assert found.limits == Limits(-1.0, math.inf, 2.0, math.inf)
    assert read_sdf(two(joint(axis()))).joints[0].type == 'continuous'


@pytest.mark.parametrize(
    ('text', 'subject', 'words'),
    [
        (sdf('<link name="a"/>'), 'link a', 'no <inertial>'),
        (sdf(link('a', '<gravity>false</gravity>')), 'link a', 'gravity is switched off'),
        (
            sdf('<pose>0 0 0 1.57079632679489656 0 0</pose>', link('a')),
            'link a',
            'gravity (-0, -9.81, -0)',
        ),
        (sdf('<static>true</static>', link('a')), 'robot m', '<static>'),
        (sdf(link('a'), '<drake:joint name="x"/>'), 'robot m', "drake:joint 'x' (line 4)"),
    ],
)
def test_what_differs_from_the_simulator_is_reported(text, subject, words):
    """Nothing that acts in a simulator is dropped silently."""
    findings = [each for each in read_sdf(text).findings if each.subject == subject]
    assert any(words in str(each) for each in findings), findings


def test_shapes_are_placed_in_any_frame():
    """Diameter twice, then the length."""
    geometry = '<geometry><cylinder><radius>0.1</radius><length>2</length></cylinder></geometry>'
    shape = f'<collision><pose relative_to="b">0 0 1 0 0 0</pose>{geometry}</collision>'
    text = two(joint(axis())).replace('<link name="a">', f'<link name="a">{shape}')
    (found,) = read_sdf(text).links[0].shapes
    assert (found.kind, found.extents.tolist()) == ('cylinder', [0.2, 0.2, 2.0])
    assert found.pose[:3, 3].tolist() == [1.0, 0.0, 1.0]


def test_the_robot_of_a_world_is_its_model_that_moves():
    """Ground and light are not part of it."""
    world = (
        '<sdf version="1.9"><world name="w"><include><uri>model://sun</uri></include>'
        f'<model name="ground"><static>true</static>{link("g")}</model>'
        f'<model name="arm">{link("a")}</model></world></sdf>'
    )
    description = read_sdf(world)
    assert description.name == 'arm'
    assert 'ground' in str(description.findings[0])


REFUSED = {
    'URDF': ('<robot name="r"/>', ['<robot>', '<sdf>']),
    'old version': (sdf(link('a'), version='1.3'), ['line 1', "'1.3'", 'gz sdf -p']),
    'flag of an axis': (
        two(joint(axis(inner='<use_parent_model_frame>2</use_parent_model_frame>'))).replace(
            '1.9', '1.5'
        ),
        ["'2'", 'use_parent_model_frame', 'neither true nor false'],
    ),
    'two joints of one name': (
        two(joint(axis()), joint(axis())).replace('1.9', '1.4'),
        ["joint 'j' (line 6)", 'has the name of', "joint 'j' (line 5)"],
    ),
    'no version': ('<sdf><model name="m"/></sdf>', ['no version', 'gz sdf -p']),
    'two models': (
        f'<sdf version="1.9"><model name="m">{link("a")}</model>\n<model name="n"/></sdf>',
        ['2 models', "model 'm' (line 1)", "model 'n' (line 2)", 'one <model>'],
    ),
    'world of includes': (
        '<sdf version="1.9"><world name="w">\n<include><uri>model://arm</uri></include></world></sdf>',
        ["world 'w' (line 1)", '<include> (line 2)', 'one <model>', 'gz sdf -p'],
    ),
    'include': (sdf('<include><uri>model://hand</uri></include>'), ['line 3', 'hand', 'gz sdf -p']),
    'no link': (sdf(), ["'m'", 'no links']),
    'two names': (sdf(link('a'), '<frame name="a"/>'), ["frame 'a' (line 4)", "link 'a' (line 3)"]),
    'reserved name': (sdf(link('world')), ["'world'", 'reserved']),
    'two roots': (two(), ["'a', 'b'", 'connect']),
    'loop': (
        two(joint(axis()), joint(axis()).replace('"j"', '"k"')),
        ['two parents', 'cut the closed loop'],
    ),
    'unknown frame': (
        sdf('<link name="a">\n<pose relative_to="c">0 0 0 0 0 0</pose></link>', link('b')),
        ["link 'a' (line 3)", "relative_to 'c'", 'there are a, b'],
    ),
    'outer frame': (
        sdf(link('a'), '<model name="n">', link('c', '<pose relative_to="a"/>'), '</model>'),
        ["link 'c'", "relative_to 'a'"],
    ),
    'cycle of poses': (
        sdf(link('a', '<pose relative_to="f"/>'), '<frame name="f" attached_to="a"/>'),
        ['relative to itself', 'a'],
    ),
    'cycle of frames': (
        sdf(
            link('a'),
            *(
                f'<frame name="{x}" attached_to="{y}"><pose relative_to="a"/></frame>'
                for x, y in ('fg', 'gf')
            ),
        ),
        ['attached to itself', 'f -> g'],
    ),
    'placed in itself': (
        sdf(
            '<model name="n" placement_frame="f"><frame name="f"><pose relative_to="f"/></frame>'
            '</model>'
        ),
        ['relative to itself'],
    ),
    'chain of poses': (
        sdf(*(link(f'a{k}', f'<pose relative_to="a{k + 1}"/>') for k in range(999)), link('a999')),
        ['more than 200 frames'],
    ),
    'nested deeply': (
        sdf('<model name="n">' * 900 + '</model>' * 900),
        ["model 'n'", 'more than 255'],
    ),
    'elements without end': (
        sdf('<a b="c">' * 60000 + '</a>' * 60000),
        ['<a> (line 3) is in', 'more than 5000 other elements'],
    ),
    'ball': (two(joint('', 'ball')), ["joint 'j' (line 5)", 'ball', 'three revolute joints']),
    'gearbox': (two(joint('', 'gearbox')), ['gearbox', '<mimic>']),
    'no type': (two(joint('', '')), ["joint 'j'", 'no type', 'revolute']),
    'no axis': (two(joint('')), ["joint 'j' (line 5)", '<axis><xyz>']),
    'zero axis': (two(joint(axis('0 0 0'))), ["joint 'j'", 'zero']),
    'wrong axis': (two(joint(axis('0 0'))), ['<xyz> (line 5)', "'0 0'", '3 finite numbers']),
    'old axis': (
        two(joint(axis(inner='<use_parent_model_frame>1</use_parent_model_frame>'))),
        ['use_parent_model_frame', 'expressed_in'],
    ),
    'no parent': (two(joint(axis(), parent='')), ["joint 'j'", 'no parent']),
    'child world': (two(joint(axis(), child='world')), ["child 'world'", 'there are a, b']),
    'one link': (two(joint(axis(), child='a')), ["child 'a' cannot move", 'two links']),
    'limits': (
        two(joint(axis(inner='<limit><lower>1</lower><upper>0</upper></limit>'))),
        ["joint 'j'", '1 .. 0', 'no position'],
    ),
    'mimic': (
        two(joint(axis(inner='<mimic joint="j" axis="axis2"/>'))),
        ['mimics <axis2>', "joint 'j'"],
    ),
    'screw': (two(joint(axis(), 'screw')), ['no advance', '<screw_thread_pitch>']),
    'number': (sdf('<link name="a"><inertial><mass>x</mass></inertial></link>'), ["'x'", 'line 3']),
    'computed inertia': (
        sdf('<link name="a"><inertial auto="true"/></link>'),
        ["link 'a' (line 3)", '--expand-auto-inertials'],
    ),
    'six numbers': (sdf(link('a', '<pose>1 2 3</pose>')), ["'1 2 3'", '6 finite numbers']),
    'quaternion': (
        sdf(link('a', '<pose rotation_format="quat_xyzw">0 0 0 0 0 0 2</pose>')),
        ['length 2', 'line 3'],
    ),
    'format': (
        sdf(link('a', '<pose rotation_format="x">0 0 0 0 0 0</pose>')),
        ["'x'", 'quat_xyzw'],
    ),
    'flag': (sdf(link('a', '<gravity>no</gravity>')), ["'no'", 'neither true nor false']),
}


@pytest.mark.parametrize(('text', 'words'), REFUSED.values(), ids=REFUSED)
def test_refusals_name_element_line_and_remedy(text, words):
    """As those of URDF."""
    with pytest.raises(DescriptionError) as refusal:
        read_sdf(text)
    assert [word for word in words if word not in str(refusal.value)] == [], str(refusal.value)
    assert len(str(refusal.value)) < 400
