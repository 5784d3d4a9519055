# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The robots in `urdf/`: transcribed correctly, physical, with the features they are there for."""

from __future__ import annotations

import re

import numpy as np
import pytest

from screw_dynamics_ros.core.description import Limits, Mimic, physical_findings, read_urdf
from support.robots import bundled_robots, example_robots, urdf_path

pin = pytest.importorskip('pinocchio')

PANDA_ARM = [f'panda_joint{i}' for i in range(1, 8)]


def pinocchio_model(name):
    return pin.buildModelFromUrdf(str(urdf_path(name)))


def joints(description):
    return {j.name: j for j in description.joints}


def test_there_is_an_arm_a_planar_robot_and_a_tree():
    assert [p.stem for p in bundled_robots()] == ['gripper_tree', 'panda', 'planar_2r']


@pytest.mark.parametrize('path', bundled_robots(), ids=lambda path: path.stem)
def test_bundled_robots_are_physical(path):
    description = read_urdf(path, inertia_check='error')
    assert description.name == path.stem
    assert {f.severity for f in description.findings} == {'info'}
    assert description.findings == physical_findings(description)


@pytest.mark.parametrize('path', bundled_robots(), ids=lambda path: path.stem)
def test_bundled_robots_need_no_other_files(path):
    text = path.read_text(encoding='utf-8')
    assert 'mesh' not in re.sub(r'<!--.*?-->', '', text, flags=re.DOTALL)
    assert text.count('<visual>') >= 3


# --- Panda ---------------------------------------------------------------------------------------


def test_panda_frames_and_order():
    panda = read_urdf(urdf_path('panda'))
    assert panda.root == 'panda_link0'
    assert [link.name for link in panda.links] == [
        *(f'panda_link{i}' for i in range(9)),
        'panda_hand',
        'panda_hand_tcp',
        'panda_leftfinger',
        'panda_rightfinger',
    ]
    assert joints(panda)['panda_finger_joint2'].mimic == Mimic('panda_finger_joint1', 1.0, 0.0)


def test_panda_limits():
    panda = joints(read_urdf(urdf_path('panda')))
    bounds = [2.8973, 1.7628, 2.8973, None, 2.8973, None, 2.8973]
    for i, bound in enumerate(bounds):
        speed, torque = (2.175, 87) if i < 4 else (2.61, 12)
        expected = Limits(-bound, bound, speed, torque) if bound else None
        if i == 3:
            expected = Limits(-3.0718, -0.0698, speed, torque)
        if i == 5:
            expected = Limits(-0.0175, 3.7525, speed, torque)
        assert panda[PANDA_ARM[i]].limits == expected


# Gravity torques [N m] of the arm without hand from the closed form published by the authors of the
# identification (get_GravityVector, g = 9.80665 m/s^2). It uses the identified base parameters; the
# parameters of the links are a feasible set fitted to them, hence the tolerance.
GAZ_GRAVITY = [
    (
        [0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4],
        [0, -1.739, -0.668, 18.524, 0.716, 1.671, 0],
    ),
    (
        [0.3, -0.5, 0.7, -1.9, 0.4, 1.8, -0.6],
        [0, -2.862, -8.398, 17.369, 0.804, 1.786, 0.007],
    ),
    (
        [-1.2, 0.9, -2.0, -0.8, 2.2, 0.5, 1.1],
        [0, -33.575, -10.751, -0.5, 1.312, 1.277, -0.015],
    ),
]


@pytest.mark.parametrize(('q', 'torques'), GAZ_GRAVITY)
def test_panda_arm_has_the_identified_gravity_torques(q, torques):
    """Checks every mass and center of mass: an exchanged sign or link shows by several N m."""
    text = urdf_path('panda').read_text(encoding='utf-8')
    arm, hand = text.split('<link name="panda_hand">')
    hand = re.sub(r'<inertial>.*?</inertial>', '', hand, flags=re.DOTALL)
    model = pin.buildModelFromXML(f'{arm}<link name="panda_hand">{hand}')
    model.gravity.linear = np.array([0, 0, -9.80665])
    gravity = pin.computeGeneralizedGravity(model, model.createData(), np.r_[q, 0, 0])
    np.testing.assert_allclose(gravity[:7], torques, rtol=0, atol=0.15)


def test_panda_inertias_agree_with_the_transcription_in_example_robot_data():
    """The arm of that file was typed from the same paper by other people."""
    paths = [
        p for p in example_robots() if p.parts[-3:] == ('panda_description', 'urdf', 'panda.urdf')
    ]
    if not paths:
        pytest.skip('example-robot-data is not installed')
    ours = {link.name: link.inertia for link in read_urdf(urdf_path('panda')).links}
    theirs = {link.name: link.inertia for link in read_urdf(paths[0]).links}
    for i in range(1, 8):
        mine, other = ours[f'panda_link{i}'], theirs[f'panda_link{i}']
        assert mine.mass == other.mass
        np.testing.assert_allclose(mine.com, other.com, rtol=0, atol=1e-12)
        np.testing.assert_allclose(mine.matrix, other.matrix, rtol=0, atol=1e-12)


def test_panda_hand_is_symmetric_under_half_a_turn():
    panda = {link.name: link.inertia for link in read_urdf(urdf_path('panda')).links}
    left, right = panda['panda_leftfinger'], panda['panda_rightfinger']
    turn = np.diag([-1.0, -1.0, 1.0])
    np.testing.assert_array_equal(turn @ left.com, right.com)
    np.testing.assert_array_equal(turn @ left.matrix @ turn, right.matrix)
    hand = panda['panda_hand'].mass + left.mass + right.mass
    assert hand == pytest.approx(0.73, abs=0.02)  # what the manufacturer sets as default load


# --- planar 2R -----------------------------------------------------------------------------------


def test_planar_2r_is_the_closed_form_of_its_header():
    """Planar 2R arm of doc/spec/golden_numbers.md with m = (2, 1), l = (1, 0.5)."""
    model = pinocchio_model('planar_2r')
    data = model.createData()
    q1, q2, v = 0.3, 0.5, np.array([0.2, -0.1])
    q = np.array([np.cos(q1), np.sin(q1), np.cos(q2), np.sin(q2)])  # Pinocchio: continuous joints
    c1, c12, c2, s2 = np.cos(q1), np.cos(q1 + q2), np.cos(q2), np.sin(q2)
    mass = pin.crba(model, data, q)
    np.testing.assert_allclose(
        np.triu(mass), [[3.25 + c2, 0.25 + 0.5 * c2], [0, 0.25]], rtol=0, atol=1e-14
    )
    coriolis = pin.rnea(model, data, q, v, np.zeros(2))  # gravity is normal to the plane
    expected = 0.5 * s2 * np.array([-(2 * v[0] * v[1] + v[1] ** 2), v[0] ** 2])
    np.testing.assert_allclose(coriolis, expected, rtol=0, atol=1e-14)
    model.gravity.linear = np.array([0, -9.81, 0])
    np.testing.assert_allclose(
        pin.computeGeneralizedGravity(model, data, q),
        9.81 * np.array([3 * c1 + 0.5 * c12, 0.5 * c12]),
        rtol=0,
        atol=1e-13,
    )
    # golden G15
    pin.framesForwardKinematics(model, data, q)
    tip = data.oMf[model.getFrameId('tip')].translation
    np.testing.assert_allclose(tip, [1.3036898438, 0.6541982521, 0], rtol=0, atol=1e-10)


# --- gripper tree --------------------------------------------------------------------------------


def test_gripper_tree_has_one_of_everything():
    tree = read_urdf(urdf_path('gripper_tree'))
    by_name = joints(tree)
    assert {j.type for j in tree.joints} == {'fixed', 'revolute', 'continuous', 'prismatic'}
    assert tree.links[0].inertia.mass == 24
    children = [j.parent for j in tree.joints]
    assert max(children.count(link.name) for link in tree.links) >= 3  # it branches
    assert by_name['tip_left'].mimic == Mimic('knuckle_left', -1.0, 0.1)
    assert by_name['tip_right'].mimic == Mimic('knuckle_right', -1.0, -0.1)
    assert by_name['knuckle_right'].mimic == Mimic('knuckle_left', -1.0, 0.0)  # a chain
    np.testing.assert_array_equal(by_name['wrist'].axis, [1, 0, 0])
    np.testing.assert_allclose(by_name['pan'].axis, np.array([0.3, 0, 4]) / np.hypot(0.3, 4))
    assert np.abs(np.triu(tree.links[0].inertia.matrix, 1)).max() > 0.01  # rotated inertial


def test_gripper_stays_symmetric_and_its_tips_upright():
    """What the mimic chain is for: the right side mirrors the left, the tips keep +-0.1 rad."""
    model = pinocchio_model('gripper_tree')
    data = model.createData()
    for motor in (-0.4, 0.0, 0.35):
        knuckle_right = -motor
        values = {
            'knuckle_left': motor,
            'tip_left': -motor + 0.1,
            'knuckle_right': knuckle_right,
            'tip_right': -knuckle_right - 0.1,
        }
        q = pin.neutral(model)
        for name, value in values.items():
            q[model.joints[model.getJointId(name)].idx_q] = value
        pin.framesForwardKinematics(model, data, q)
        palm, left, right = (
            data.oMf[model.getFrameId(name)]
            for name in ('palm', 'fingertip_left', 'fingertip_right')
        )
        mirror = np.diag([1.0, -1.0, 1.0])
        left, right = palm.actInv(left), palm.actInv(right)
        np.testing.assert_allclose(mirror @ left.translation, right.translation, atol=1e-14)
        np.testing.assert_allclose(mirror @ left.rotation @ mirror, right.rotation, atol=1e-14)
        np.testing.assert_allclose(left.rotation[1, 0], np.sin(0.1), atol=1e-14)


def test_gripper_tree_inertias_are_those_of_the_shapes_shown():
    """Every inertial of the made-up robot is that of its box or cylinder, in the same place."""
    text = urdf_path('gripper_tree').read_text(encoding='utf-8')
    links = re.findall(r'<link name="(\w+)">(.*?)</link>', text, flags=re.DOTALL)
    assert len(links) == 13
    for link, body in links:
        inertial, visual = re.findall(
            r'<(?:inertial|visual)>.*?</(?:inertial|visual)>', body, re.DOTALL
        )
        assert re.findall(r'<origin.*?>', inertial) == re.findall(r'<origin.*?>', visual), link
        mass = float(re.search(r'mass value="(.*?)"', inertial)[1])
        if box := re.search(r'box size="(.*?)"', visual):
            squares = np.array([float(side) for side in box[1].split()]) ** 2
            expected = mass / 12 * (squares.sum() - squares)
        else:
            radius = float(re.search(r'radius="(.*?)"', visual)[1])
            length = float(re.search(r'length="(.*?)"', visual)[1])
            across = mass / 12 * (3 * radius**2 + length**2)
            expected = [across, across, mass / 2 * radius**2]
        moments = [float(re.search(f'{key}="(.*?)"', inertial)[1]) for key in ('ixx', 'iyy', 'izz')]
        np.testing.assert_allclose(moments, expected, rtol=1e-6, err_msg=link)
