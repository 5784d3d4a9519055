# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SDFormat: gravity, rotors, joints from the leaf to the root, and ignored elements."""

from __future__ import annotations

import math

import numpy as np
import pytest

from screw_dynamics_ros.core.description.sdf import read_sdf
from screw_dynamics_ros.core.robot.robot import Robot
from support.robots import urdf_path
from support.sdf import as_sdf, axis, joint, link, sdf, two


@pytest.mark.parametrize(
    ('text', 'subject', 'words'),
    [
        (sdf('<link name="a"/>'), 'link a', 'no <inertial>'),
        (sdf(link('a', '<gravity>false</gravity>')), 'link a', 'gravity is switched off'),
        (
            sdf('<pose>0 0 0 1.57079632679489656 0 0</pose>', link('a')),
            'link a',
            'gravity (0, -9.81, 0)',
        ),
        (sdf('<static>true</static>', link('a')), 'robot m', '<static>'),
        (
            sdf(f'<model name="n"><static>1</static>{link("a")}</model>'),
            'model n',
            'the model is <static>',
        ),
        (sdf(link('a'), '<drake:joint name="x"/>'), 'robot m', "drake:joint 'x' (line 4)"),
        (two(joint(axis() + '<drake:mimic joint="k"/>')), 'robot m', '<drake:mimic> (line 5)'),
        (two(joint(axis(inner='<drake:x/>'))), 'robot m', '<drake:x> (line 5)'),
        (two(joint('<drake:gear_ratio>2</drake:gear_ratio>', 'fixed')), 'robot m', 'gear_ratio'),
        (sdf(link('a', '<kinematic>true</kinematic>')), 'link a', '<kinematic> is ignored'),
        (sdf(link('a', '<enable_wind>1</enable_wind>')), 'link a', '<enable_wind>'),
        (sdf('<enable_wind>1</enable_wind>', link('a')), 'robot m', '<enable_wind>'),
        (
            sdf(link('a', '<velocity_decay><angular>0.1</angular></velocity_decay>')),
            'link a',
            '<velocity_decay> is ignored',
        ),
        (
            two(joint(axis() + '<physics><ode><max_force>5</max_force></ode></physics>')),
            'joint j',
            '<max_force>',
        ),
        (
            two(joint(axis() + '<physics><ode><suspension/></ode></physics>')),
            'joint j',
            '<suspension>',
        ),
        (
            two(
                joint(axis()),
                '<plugin name="p" filename="libroboticsgroup_gazebo_mimic_joint_plugin.so">'
                '<joint>k</joint><mimicJoint>j</mimicJoint></plugin>',
            ),
            'joint j',
            "plugin 'p' (line 6) of model 'm' (line 2) acts in the simulator",
        ),
        (
            sdf(link('a'), '<plugin filename="gz-sim-buoyancy-system" name="x"/>'),
            'robot m',
            'add its forces',
        ),
    ],
)
def test_what_differs_from_the_simulator_is_reported(text, subject, words):
    """Nothing that acts in a simulator is dropped silently."""
    findings = [each for each in read_sdf(text).findings if each.subject == subject]
    assert any(words in str(each) for each in findings), findings


def test_what_changes_nothing_is_not_reported():
    """Flags with their usual value, plugins of sensors and controllers, rotors that are read."""
    text = sdf(
        '<enable_wind>false</enable_wind><plugin filename="libgazebo_ros_control.so" name="c"/>',
        '<joint name="w" type="fixed"><parent>world</parent><child>a</child></joint>',
        link('a', '<gravity>1</gravity><kinematic>0</kinematic><velocity_decay/>'),
        '<plugin filename="window.so" name="w"/>',
        link('b'),
        joint(axis() + '<drake:rotor_inertia>1</drake:rotor_inertia><physics><ode/></physics>'),
    )
    assert [each for each in read_sdf(text).findings if each.severity == 'warning'] == []


GRAVITY = {
    'of the world': ('1.9', '<gravity>0 0 -1.62</gravity>', (0.0, 0.0, -1.62)),
    'default': ('1.9', '', (0.0, 0.0, -9.8)),
    'of physics': (
        '1.5',
        '<physics type="ode"><gravity>1 0 -2</gravity></physics>',
        (1.0, 0.0, -2.0),
    ),
    'not of physics': (
        '1.6',
        '<physics type="ode"><gravity>1 0 -2</gravity></physics>',
        (0.0, 0.0, -9.8),
    ),
}


@pytest.mark.parametrize(('version', 'inner', 'gravity'), GRAVITY.values(), ids=GRAVITY)
def test_gravity_is_that_of_the_world(version, inner, gravity):
    """Where the file has a world; an argument comes first."""
    parts = ('<pose>0 0 0 0.3 0 0</pose>', link('a'), link('b'), joint(axis('0 1 1')))
    fixed = '<joint name="w" type="fixed"><parent>world</parent><child>a</child></joint>'
    free = sdf(*parts, version=version)
    assert read_sdf(sdf(*parts, fixed)).gravity is None
    free = free.replace('<model', f'<world name="w">{inner}<model').replace(
        '</model>', '</model></world>'
    )
    text = free.replace('</model>', f'{fixed}</model>')
    description = read_sdf(text)
    assert description.gravity == gravity
    (finding,) = [each for each in description.findings if each.message.startswith('gravity')]
    assert ' '.join(f'{x:g}' for x in gravity) in finding.message
    expected = Robot.from_sdf(text, gravity=gravity, backend='reference').gravity_torques([0.4])
    robot = Robot.from_sdf(text, backend='reference')
    np.testing.assert_array_equal(robot.gravity_torques([0.4]), expected)
    # Without the joint to the world the root is tilted by 0.3 rad; a floating base turns itself.
    fallen = Robot.from_sdf(free, backend='reference')
    np.testing.assert_allclose(fallen.gravity_torques([0.4]), expected, rtol=1e-12)
    assert read_sdf(free, floating_base=True).gravity == gravity


def test_a_rotor_behind_a_gear_is_an_armature():
    """Extensions of Drake, whose mass matrix is 10.2668918: 100^2 0.001 more than that of b."""
    rotor = (
        '<drake:rotor_inertia>.001</drake:rotor_inertia><drake:gear_ratio>100</drake:gear_ratio>'
    )
    found = read_sdf(two(joint(axis() + rotor))).joints[0]
    assert found.armature == pytest.approx(10.0, rel=1e-15)
    without = Robot.from_sdf(two(joint(axis())), backend='reference').mass_matrix([0.0])
    robot = Robot.from_sdf(two(joint(axis() + rotor)), backend='reference')
    np.testing.assert_allclose(robot.mass_matrix([0.0]), without + 10.0, rtol=1e-14)
    # Drake has no actuator where the effort is 0.
    still = axis(inner='<limit><effort>0</effort></limit>')
    assert read_sdf(two(joint(still + rotor))).joints[0].armature == 0.0


# --- joints from the leaf to the root -------------------------------------------------------------


@pytest.mark.parametrize('name', ['panda', 'gripper_tree', 'planar_2r'])
def test_joints_whose_child_is_nearer_to_the_root_are_turned_round(name):
    """Every second joint of a URDF with parent and child exchanged: the same robot."""
    rng = np.random.default_rng(7)
    text = urdf_path(name).read_text(encoding='utf-8')
    expected = Robot.from_urdf(text, backend='reference')
    turned = tuple(each.name for each in expected.description.joints[::2] if each.mimic is None)
    root = expected.description.root
    world = (
        f'<joint name="to_world" type="fixed"><parent>world</parent><child>{root}</child></joint>'
    )
    file = as_sdf(text, rng, turned=turned).replace('</model>', f'{world}</model>')
    found = Robot.from_sdf(file, backend='reference')
    assert found.joint_names == expected.joint_names
    reported = {each.subject for each in found.description.findings if 'turned' in each.message}
    assert reported == {f'joint {each}' for each in turned}
    by_name = {each.name: each for each in found.description.joints}
    for each in expected.description.joints:
        assert by_name[each.name].limits == each.limits
    q, v = rng.uniform(-1, 1, (2, expected.nv))
    for link_name in expected.link_names:
        there = expected.link_pose(q, root), expected.link_pose(q, link_name)
        np.testing.assert_allclose(
            found.link_pose(q, link_name), np.linalg.solve(*there), atol=1e-13
        )
    torques = (each.inverse_dynamics(q, v, v) for each in (found, expected))
    np.testing.assert_allclose(*torques, atol=1e-12)


def test_a_turned_joint_keeps_its_coordinate():
    """A joint from a to b where b is fixed to the world, numbers from Drake 1.51 at q = 0.3."""
    body = (
        '<inertial><pose>.1 .02 .03 .1 .2 .3</pose><mass>2</mass><inertia><ixx>.2</ixx>'
        '<iyy>.3</iyy><izz>.25</izz><ixy>.01</ixy><ixz>.02</ixz><iyz>.03</iyz></inertia></inertial>'
    )
    robot = Robot.from_sdf(
        sdf(
            f'<link name="a"><pose>.1 .2 .3 .4 .5 .6</pose>{body}</link>',
            f'<link name="b"><pose>1 2 3 .3 .2 .1</pose>{body}</link>',
            joint(axis()),
            '<joint name="w" type="fixed"><parent>world</parent><child>b</child></joint>',
        ),
        backend='reference',
    )
    assert robot.joint_names == ('j',)
    pose = [
        [0.78591742, -0.08232823, 0.61282613, -0.59909273],
        [0.2472906, 0.95023381, -0.18948102, 0.38258685],
        [-0.56672847, 0.30046258, 0.76716431, 0.51668021],
    ]
    np.testing.assert_allclose(robot.link_pose([0.3], 'a')[:3], pose, atol=1e-8)
    np.testing.assert_allclose(robot.mass_matrix([0.3]), [[12.26695758]], atol=1e-8)
    np.testing.assert_allclose(robot.gravity_torques([0.3]), [14.88243775], atol=1e-8)


def test_without_the_world_the_first_link_without_a_parent_is_the_root():
    """Links a and c on both sides of b."""
    text = sdf(link('b'), link('c'), link('a'), joint(axis(), parent='c'),
               joint(axis()).replace('"j"', '"k"'))  # fmt: skip
    description = read_sdf(text)
    assert description.root == 'c'
    assert [(each.name, each.parent, each.child) for each in description.joints] == [
        ('j', 'c', 'b'),
        ('k', 'b', 'a_at_k'),
        ('k_offset', 'a_at_k', 'a'),
    ]


def test_a_link_below_several_joints_is_fixed_to_the_frame_of_each():
    """Three joints to b, none with its axis through the origin of b; a at y = 1, c and d turn."""
    inner = '<pose>0 1 0 0 0 0</pose>' + axis()
    joints = (
        joint(inner, parent=parent).replace('"j"', f'"{name}"')
        for name, parent in (('j', 'a'), ('k', 'c'), ('l', 'd'))
    )
    robot = Robot.from_sdf(
        sdf(
            *map(link, 'abcd'),
            '<joint name="w" type="fixed"><parent>world</parent><child>a</child></joint>',
            *joints,
        ),
        backend='reference',
    )
    assert robot.joint_names == ('j', 'k', 'l')
    quarter = math.pi / 2.0
    # About (0, 1): b turns by 90 degrees, c turns back with -k, d stays at the angle of b.
    for name, place in {'b': [1, 1, 0], 'c': [0, 0, 0], 'd': [1, 1, 0]}.items():
        there = robot.link_pose([quarter, quarter, 0.0], name)[:3, 3]
        np.testing.assert_allclose(there, place, atol=1e-15)
