# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reading URDF: what is understood and what is accepted.

B-001: links and joints of the model; B-091: inertia tensor, rpy of the inertial frame. Refusals
are in test_urdf_refused.py, the comparison with Pinocchio in test_urdf_pinocchio.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.description import Limits, Mimic, read_urdf
from support.robots import UNIT_INERTIA, inertial, joint, links, one_joint, robot

# --- what is understood --------------------------------------------------------------------------


@pytest.mark.parametrize(
    'kind', ['revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar']
)
def test_every_joint_type(kind):
    read = read_urdf(one_joint(kind=kind)).joints[0]
    assert (read.name, read.type, read.parent, read.child) == ('j', kind, 'a', 'b')
    np.testing.assert_array_equal(read.axis, [1, 0, 0])
    np.testing.assert_array_equal(read.origin, np.eye(4))
    assert (read.mimic, read.damping, read.friction) == (None, 0.0, 0.0)


@pytest.mark.parametrize('kind', ['revolute', 'continuous', 'prismatic', 'planar'])
@pytest.mark.parametrize(
    ('xyz', 'expected'),
    [
        ('0 0 1', [0, 0, 1]),
        ('0 -2 0', [0, -1, 0]),
        ('3 0 4', [0.6, 0, 0.8]),
        ('1e-200 0 1e-200', [math.sqrt(0.5), 0, math.sqrt(0.5)]),
    ],
)
def test_axis_is_normalised(kind, xyz, expected):
    axis = read_urdf(one_joint(f'<axis xyz="{xyz}"/>', kind)).joints[0].axis
    np.testing.assert_allclose(axis, expected, rtol=0, atol=1e-15)
    assert abs(np.linalg.norm(axis) - 1.0) < 1e-15


@pytest.mark.parametrize('kind', ['fixed', 'floating'])
def test_axis_and_limits_mean_nothing_on_fixed_and_floating_joints(kind):
    """Exporters leave a zero axis and limits on joints that have none."""
    read = read_urdf(one_joint('<axis xyz="0 0 0"/><limit lower="1" upper="0"/>', kind)).joints[0]
    assert read.limits == Limits()


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(-7, 7), min_size=3, max_size=3))
def test_rpy_is_roll_then_pitch_then_yaw_about_fixed_axes(rpy):
    text = ' '.join(map(repr, rpy))
    pose = read_urdf(one_joint(f'<origin xyz="1 2 3" rpy="{text}"/>')).joints[0].origin
    np.testing.assert_allclose(
        pose[:3, :3], Rotation.from_euler('xyz', rpy).as_matrix(), rtol=0, atol=2e-15
    )
    np.testing.assert_array_equal(pose[:3, 3], [1, 2, 3])
    np.testing.assert_array_equal(pose[3], [0, 0, 0, 1])


def test_right_angles_are_exact_and_nothing_coarser_is_rounded():
    right = read_urdf(one_joint('<origin rpy="1.5707963267948966 0 -1.5707963267948966"/>'))
    rotation = right.joints[0].origin[:3, :3]
    np.testing.assert_array_equal(rotation, [[0, 0, -1], [-1, 0, 0], [0, 1, 0]])
    assert not np.signbit(rotation[rotation == 0]).any()
    almost = read_urdf(one_joint('<origin rpy="1.570796326794 0 0"/>')).joints[0].origin
    assert almost[2, 2] == math.cos(1.570796326794) != 0.0


def test_inertia_is_turned_into_link_axes():
    """B-091: I_link = R I R^T with the rpy of the inertial's origin."""
    rpy = (0.3, -0.7, 1.9)
    read = read_urdf(
        inertial(
            f'<origin xyz="0.1 0.2 0.3" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/><mass value="2"/>'
            '<inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.4" iyz="0.03" izz="0.5"/>'
        )
    )
    inertia = read.links[0].inertia
    tensor = np.array([[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]])
    turned = Rotation.from_euler('xyz', rpy).as_matrix()
    np.testing.assert_allclose(inertia.matrix, turned @ tensor @ turned.T, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(inertia.matrix, inertia.matrix.T)
    np.testing.assert_array_equal(inertia.com, [0.1, 0.2, 0.3])
    assert inertia.mass == 2.0


def test_unrotated_inertia_is_taken_as_written():
    read = read_urdf(
        inertial(
            '<mass value="2"/>'
            '<inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.4" iyz="0.03" izz="0.5"/>'
        )
    )
    np.testing.assert_array_equal(
        read.links[0].inertia.matrix, [[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]]
    )


def test_products_of_inertia_default_to_zero():
    read = read_urdf(inertial('<mass value="2"/><inertia ixx="1" iyy="1" izz="1"/>'))
    np.testing.assert_array_equal(read.links[0].inertia.matrix, np.eye(3))


def test_order_is_depth_first_with_children_in_document_order():
    read = read_urdf(
        robot(
            links('leaf2 root mid leaf1 leaf3'),
            joint('to_leaf3', 'root', 'leaf3'),
            joint('to_leaf2', 'mid', 'leaf2'),
            joint('to_mid', 'root', 'mid'),
            joint('to_leaf1', 'mid', 'leaf1'),
        )
    )
    assert read.root == 'root'
    assert [j.name for j in read.joints] == ['to_leaf3', 'to_mid', 'to_leaf2', 'to_leaf1']
    assert [link.name for link in read.links] == ['root', *(j.child for j in read.joints)]


def test_mimic_values_defaults_and_chains():
    read = read_urdf(
        robot(
            links('a b c d'),
            joint(
                'j3', 'c', 'd', '<mimic joint="j2" multiplier="-2.5" offset="0.1"/>', 'prismatic'
            ),
            joint('j2', 'b', 'c', '<mimic joint="j1"/>'),
            joint('j1', 'a', 'b', kind='continuous'),
        )
    )
    mimics = {j.name: j.mimic for j in read.joints}
    assert mimics == {'j1': None, 'j2': Mimic('j1', 1.0, 0.0), 'j3': Mimic('j2', -2.5, 0.1)}


def test_mimic_of_a_fixed_joint_is_noted_and_dropped():
    """Robots whose gripper was frozen keep the tag, TALOS among them."""
    read = read_urdf(
        robot(
            links('a b c'),
            joint('j1', 'a', 'b'),
            joint('j2', 'b', 'c', '<mimic joint="j1"/>', 'fixed'),
        )
    )
    assert read.joints[1].mimic is None
    assert any(f.severity == 'info' and f.subject == 'joint j2' for f in read.findings)


INF = math.inf


@pytest.mark.parametrize(
    ('kind', 'limit', 'expected'),
    [
        ('revolute', 'lower="-1" upper="2" velocity="3" effort="4"', (-1, 2, 3, 4)),
        ('prismatic', 'lower="-1e-3" upper="+.5"', (-0.001, 0.5, INF, INF)),
        ('revolute', 'upper="2"', (0, 2, INF, INF)),
        ('revolute', 'lower="-2"', (-2, 0, INF, INF)),
        ('revolute', 'velocity="3" effort="4"', (-INF, INF, 3, 4)),
        ('revolute', 'lower="-inf" upper="inf" velocity="inf" effort="inf"', (-INF, INF, INF, INF)),
        (
            'revolute',
            'upper="1" effort="1.7976931348623157e308"',
            (0, 1, INF, INF),
        ),
        ('revolute', 'lower="1" upper="1"', (1, 1, INF, INF)),
        ('continuous', 'lower="-1" upper="1" velocity="3" effort="4"', (-INF, INF, 3, 4)),
        ('continuous', 'lower="1" upper="-1"', (-INF, INF, INF, INF)),
        ('floating', 'lower="-1" upper="2" velocity="3" effort="4"', (-INF, INF, INF, INF)),
    ],
)
def test_limits(kind, limit, expected):
    read = read_urdf(one_joint(f'<limit {limit}/>', kind)).joints[0]
    assert read.limits == Limits(*expected)


@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
@pytest.mark.parametrize('limit', ['', '<limit velocity="1" effort="1"/>'])
def test_missing_position_limits_are_infinite_with_a_warning(kind, limit):
    read = read_urdf(one_joint(limit, kind))
    assert (read.joints[0].limits.lower, read.joints[0].limits.upper) == (-INF, INF)
    warning = next(f for f in read.findings if f.subject == 'joint j' and 'limits' in f.message)
    assert warning.severity == 'warning'
    assert '<limit lower=' in warning.remedy


def test_continuous_joints_need_no_limits():
    assert not [
        f for f in read_urdf(one_joint(kind='continuous')).findings if 'limits' in f.message
    ]


def test_two_links_and_a_link_without_inertia():
    """B-001: masses, places and limits arrive; a link without <inertial> has mass 0."""
    text = robot(
        '<link name="a"/>',
        '<link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>'
        f'{UNIT_INERTIA}</inertial></link>',
        joint(
            'j',
            'a',
            'b',
            '<origin xyz="0 0 0.5"/><axis xyz="0 0 1"/><dynamics damping="0.1" friction="0.5"/>'
            '<limit lower="-1" upper="2" velocity="3" effort="4"/>',
        ),
    )
    description = read_urdf(text)
    a, b = description.links
    assert a.inertia is None
    assert b.inertia.mass == 2.0
    np.testing.assert_array_equal(b.inertia.com, [0.1, 0, 0])
    (read,) = description.joints
    assert (read.type, read.parent, read.child) == ('revolute', 'a', 'b')
    assert (read.damping, read.friction) == (0.1, 0.5)
    assert read.limits == Limits(-1.0, 2.0, 3.0, 4.0)
    np.testing.assert_array_equal(read.origin[:3, 3], [0, 0, 0.5])
    model = Robot(description, backend='reference')
    assert model.total_mass == 2.0
    assert model.drives['j'] == Drive(damping=0.1, coulomb=0.5)
    assert model.mass_matrix([0.3])[0, 0] == pytest.approx(b.inertia.matrix[2, 2] + 2 * 0.1**2)


def test_damping_and_friction():
    read = read_urdf(one_joint('<dynamics damping="0.7" friction="0.2"/>')).joints[0]
    assert (read.damping, read.friction) == (0.7, 0.2)


def test_descriptions_are_immutable():
    read = read_urdf(inertial(f'<mass value="2"/>{UNIT_INERTIA}'))
    with pytest.raises(ValueError, match='read-only'):
        read.links[0].inertia.matrix[0, 0] = 7.0
    with pytest.raises(AttributeError):
        read.name = 'other'


def test_example_of_the_docstring():
    assert read_urdf('<robot name="stone"><link name="base"/></robot>').root == 'base'


# --- what is accepted ----------------------------------------------------------------------------


NOISE = """
<?xml version="1.0" encoding="utf-8"?>
<!-- made by hand --><robot name="r" version="1.0" xmlns="http://example.org/urdf"
   xmlns:xacro="http://www.ros.org/wiki/xacro">
  <material name="grau"><color rgba="1 1 1 1"/></material>
  <link name="größe ☃">
    <inertial><!-- - --><origin xyz="  0
      1e-1	-2.5E+1 " rpy="0 0 0"/><mass value=" 1.5e0
      "/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><mesh filename="package://nowhere/x.dae" scale="bad"/></geometry></visual>
    <collision_checking><capsule radius="x"/></collision_checking>
  </link>
  <link name="b"/>
  <joint name="j" type="revolute">
    <parent link="größe ☃"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
    <safety_controller k_position="?" k_velocity="?"/><calibration rising="x"/>
  </joint>
  <gazebo reference="b"><controller:gazebo_ros_control xacro="no"/><link name="b"/></gazebo>
  <transmission name="t"><joint name="j"><hardwareInterface/></joint></transmission>
  <ros2_control name="s" type="system"><joint name="j"/><joint name="nowhere"/></ros2_control>
  <sensor name="s"><parent link="b"/></sensor>
  text between elements
</robot>
"""


@pytest.mark.parametrize(
    'form',
    [
        pytest.param(lambda text, _: text, id='text'),
        pytest.param(lambda text, _: '\ufeff' + text, id='byte order mark'),
        pytest.param(lambda text, _: text.encode(), id='bytes'),
        pytest.param(lambda text, _: text.strip().encode('utf-8-sig'), id='bytes with mark'),
        pytest.param(lambda text, path: path, id='path'),
        pytest.param(lambda text, path: str(path), id='path as text'),
    ],
)
def test_real_world_noise(form, tmp_path):
    path = tmp_path / 'robot.urdf'
    path.write_bytes(NOISE.encode())
    read = read_urdf(form(NOISE, path))
    assert read.root == 'größe ☃'
    assert [j.name for j in read.joints] == ['j']
    assert read.links[0].inertia.mass == 1.5
    np.testing.assert_array_equal(read.links[0].inertia.com, [0, 0.1, -25])


def test_declared_encoding_of_bytes_is_honoured():
    text = '<?xml version="1.0" encoding="iso-8859-1"?><robot name="r"><link name="größe"/></robot>'
    assert read_urdf(text.encode('iso-8859-1')).root == 'größe'
    assert read_urdf(text).root == 'größe'


def test_long_chains_and_deep_nesting_need_no_recursion():
    n = 3000
    chain = read_urdf(
        robot(
            links(' '.join(f'l{i}' for i in range(n))),
            *(joint(f'j{i}', f'l{i}', f'l{i + 1}', kind='continuous') for i in range(n - 1)),
        )
    )
    assert [link.name for link in chain.links] == [f'l{i}' for i in range(n)]
    assert read_urdf(robot(links('a'), '<gazebo>' * n, '</gazebo>' * n)).root == 'a'


def warnings(text: str) -> list[str]:
    return [str(each) for each in read_urdf(text).findings if each.severity == 'warning']


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        ('ixy="0.001" iyx="0.4"', ['its iyx is 0.4 and its ixy 0.001: a tensor is symmetric']),
        ('ixy="0.001" iyx="1e-3" izx="0" izy="0"', []),
        ('ixy="0" izy="x"', ['its izy is x and its iyz 0']),
    ],
)
def test_products_of_inertia_that_contradict_each_other(given, words):
    text = inertial(f'<mass value="2"/><inertia ixx="1" {given} iyy="1" izz="1"/>')
    found = [each for each in warnings(text) if 'symmetric' in each]
    assert len(found) == len(words)
    assert all(word in each for word, each in zip(words, found))


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        ('<springStiffness>5</springStiffness>', '<springStiffness> of <gazebo> (5) is not in'),
        ('<turnGravityOff>true</turnGravityOff>', '<turnGravityOff> of <gazebo> (true)'),
        ('<gravity>false</gravity>', '<gravity> of <gazebo> (false) is not in the model'),
        ('<gravity>0</gravity>', '<gravity> of <gazebo> (0) is not in the model'),
        ('<velocity_decay>0.1</velocity_decay>', '<velocity_decay>'),
        ('<kinematic> 1 </kinematic>', '<kinematic>'),
        ('<springStiffness>0.0</springStiffness><gravity>1</gravity><mu1>2</mu1>', ''),
        ('<kinematic>false</kinematic><turnGravityOff>0</turnGravityOff>', ''),
    ],
)
@pytest.mark.parametrize(('name', 'subject'), [('j', 'joint j'), ('a', 'link a')])
def test_what_a_simulator_adds_is_a_finding(content, words, name, subject):
    text = one_joint('').replace(
        '</robot>', f'<gazebo reference="{name}">{content}</gazebo></robot>'
    )
    found = [each for each in warnings(text) if '<gazebo>' in each]
    assert len(found) == bool(words)
    assert all(each.startswith(subject) and words in each for each in found)
