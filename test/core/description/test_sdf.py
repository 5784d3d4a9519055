# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDFormat: the same robots as URDFs, written with other frames, and closed forms."""

from __future__ import annotations

import math

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
from support.sdf import as_sdf, axis, joint, link, sdf, two

# --- the same robots as URDF and as SDFormat ------------------------------------------------------


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
    by_name = {each.name: each for each in found.description.joints}
    for each in expected.description.joints:
        assert by_name[each.name].limits == each.limits
        found_mimic = by_name[each.name].mimic
        assert (found_mimic is None) == (each.mimic is None)
        if each.mimic is not None:
            assert found_mimic.joint == each.mimic.joint
            assert found_mimic.multiplier == each.mimic.multiplier
            assert found_mimic.offset == pytest.approx(each.mimic.offset, abs=1e-15)


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


def test_a_ball_turns_the_child_about_the_origin_of_the_joint():
    """In the axes of the frame of the joint, which is a link if the child is somewhere else."""
    text = two(joint('<pose>0 0 1 0.3 0 0</pose>', 'ball'))
    robot = Robot.from_sdf(text, backend='reference')
    assert [each.type for each in robot.description.joints] == ['ball', 'fixed']
    assert (robot.joint_names, robot.nq, robot.nv) == (('j',), 4, 3)
    turn, tilt = Rotation.from_rotvec([0.4, -0.7, 0.2]), Rotation.from_euler('x', 0.3)
    there = robot.link_pose(turn.as_quat(), 'b')
    R = (tilt * turn * tilt.inv()).as_matrix()
    np.testing.assert_allclose(there[:3, :3], R, atol=1e-15)
    np.testing.assert_allclose(there[:3, 3], np.array([1.0, 0, 1]) - R[:, 2], atol=1e-15)
    at_origin = read_sdf(two(joint('', 'ball')))
    assert [each.type for each in at_origin.joints] == ['ball']


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
        ['2 movable models', "model 'm' (line 1)", "model 'n' (line 2)", 'one <model>'],
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
    'rotor': (
        two(joint(axis() + '<drake:rotor_inertia>-1</drake:rotor_inertia>')),
        ["joint 'j' (line 5)", 'rotor_inertia', 'negative'],
    ),
    'gravity': (
        f'<sdf version="1.9"><world name="w"><gravity>9.8</gravity><model name="m">{link("a")}'
        '</model></world></sdf>',
        ['<gravity> (line 1)', "'9.8'", '3 finite numbers'],
    ),
    'turned loop': (
        two(
            joint(axis()),
            '<joint name="k" type="fixed"><parent>world</parent><child>b</child></joint>',
            '<joint name="l" type="fixed"><parent>world</parent><child>a</child></joint>',
        ),
        ["'b' has two parents", "'j' and 'k'", 'cut the closed loop'],
    ),
    'loop of joints beside the origin of their child': (
        two(*(joint('<pose>0 1 0 0 0 0</pose>' + axis()).replace('"j"', f'"{x}"') for x in 'jk')),
        ["'b' has two parents", "'j' and 'k'", 'cut the closed loop'],
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
