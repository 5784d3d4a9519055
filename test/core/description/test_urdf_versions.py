# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""URDF 1.1 and 1.2, with urdfdom 6 itself (in Pinocchio) as the judge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Limits, read_urdf
from screw_dynamics_ros.core.description.urdf_writer import with_origins
from screw_dynamics_ros.core.errors import DescriptionError

FULL = 'lower="-1" upper="1" effort="9" velocity="9"'
QUATERNION = 'quat_xyzw="0.1 -0.2 0.3 0.9"'
REFUSED = 'the whole description'


def arm(
    version: str = '', limit: str = FULL, kind: str = 'revolute', origin: str = '', more: str = ''
) -> str:
    """Return a URDF of a link on a joint; `more` is added to the joint."""
    attribute = f' version="{version}"' if version else ''
    limits = f'<limit {limit}/>' if limit else ''
    center = origin if 'xyz=' in origin else f'xyz="0.1 0 0" {origin}'
    return (
        f'<robot name="r"{attribute}><link name="base"/><joint name="j" type="{kind}">'
        f'<parent link="base"/><child link="a"/><origin {origin}/><axis xyz="0 0 1"/>{limits}{more}'
        f'</joint><link name="a"><inertial><origin {center}/><mass value="2"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0" iyz="0"/></inertial></link></robot>'
    )


def messages(text: str) -> list[str]:
    return [str(each) for each in read_urdf(text).findings if each.severity != 'info']


VERSIONS = ['', '1.0', '1.1', '1.2', '01.1', ' 1.1', '1.3', '1.10', '2.0', '1', '1.1.0', 'x', '1.']
LIMITS = [
    FULL,
    'lower="-0.5" effort="9" velocity="9"',
    'upper="0.5" effort="9" velocity="9"',
    'effort="9" velocity="9"',
    'lower="-1" upper="1" velocity="9"',
    'lower="-1" upper="1" effort="9"',
    'lower="-inf" upper="inf" effort="9" velocity="9"',
    'lower="-1 " upper="1" effort="9" velocity="9"',
    f'{FULL} acceleration="3"',
    f'{FULL} acceleration="3" deceleration="2" jerk="5"',
    '',
]
EXTRAS = [
    '',
    '<dynamics damping="1"/>',
    '<dynamics friction="1\t"/>',
    '<dynamics/>',
    '<safety_controller k_velocity="1"/>',
    '<safety_controller soft_lower_limit="0"/>',
    '<calibration rising="up"/>',
]
ORIGINS = [
    QUATERNION,
    'quat_xyzw="0 0 2 2"',
    'rpy="0.1 0.2 0.3"',
    'rpy="0.1\n0.2 0.3"',
    'xyz="0 1\t2"',
]


def cases():
    yield from ({'version': version, 'origin': QUATERNION} for version in VERSIONS)
    for version in ('1.0', '1.1', '1.2'):
        for kind in ('revolute', 'prismatic', 'continuous'):
            yield from ({'version': version, 'limit': limit, 'kind': kind} for limit in LIMITS)
        yield from ({'version': version, 'more': more} for more in EXTRAS)
        yield from ({'version': version, 'origin': origin} for origin in ORIGINS)


@pytest.mark.parametrize('case', list(cases()), ids=str)
def test_what_urdfdom_refuses_is_a_finding_and_the_rest_is_read_as_by_it(case):
    pin = pytest.importorskip('pinocchio')
    text = arm(**case)
    ours = read_urdf(text)
    refusals = [each for each in messages(text) if REFUSED in each]
    try:
        theirs = pin.buildModelFromXML(text)
    except ValueError:
        assert refusals, 'refused without a finding'
        return
    assert not refusals
    joint = ours.joints[0]
    np.testing.assert_allclose(theirs.jointPlacements[1].homogeneous, joint.origin, atol=1e-12)
    if joint.type == 'continuous':
        return
    bounds = theirs.lowerPositionLimit[0], theirs.upperPositionLimit[0]
    if case.get('limit') != 'effort="9" velocity="9"':  # here infinite, there 0 and 0
        assert (joint.limits.lower, joint.limits.upper) == bounds
    assert joint.limits.velocity == theirs.velocityLimit[0]
    assert joint.limits.effort == theirs.effortLimit[0]
    moments = theirs.inertias[1].inertia
    if moments.any():  # else it has dropped the inertial, see test_urdfdom.py
        np.testing.assert_allclose(moments, ours.links[1].inertia.matrix, atol=1e-12)


def test_quaternions_rotate_joints_and_inertials_from_version_1_1_on():
    """A rod that hangs: level at pi/2."""
    down = 'quat_xyzw="0 0.7071067811865476 0 0.7071067811865476"'
    text = arm('1.1', origin=down)
    rotation = Rotation.from_euler('y', 90, degrees=True).as_matrix()
    np.testing.assert_allclose(read_urdf(text).joints[0].origin[:3, :3], rotation, atol=1e-15)
    robot = Robot.from_urdf(text)
    np.testing.assert_allclose(robot.gravity_torques([0.0]), [0.0], atol=1e-12)
    np.testing.assert_allclose(robot.gravity_torques([math.pi / 2]), [2.0 * 9.81 * 0.1], rtol=1e-12)
    (joint, link) = [each for each in messages(arm('1.0', origin=down)) if 'quat_xyzw' in each]
    assert link.startswith('joint j')
    assert joint.startswith('link a')
    assert 'give <robot> version="1.1"' in joint


@pytest.mark.parametrize(
    ('origin', 'words'),
    [
        (f'rpy="0 0 0" {QUATERNION}', 'rpy and quat_xyzw; remove one'),
        ('quat_xyzw="0 0 0 0"', 'is zero; for no rotation write 0 0 0 1'),
        ('quat_xyzw="0 0 1"', 'four finite numbers'),
        ('quat_xyzw="0 0 nan 1"', 'four finite numbers'),
    ],
)
def test_orientations_that_are_none(origin, words):
    with pytest.raises(DescriptionError, match=words):
        read_urdf(arm('1.1', origin=origin))
    read_urdf(arm('1.0', origin=origin.replace('rpy="0 0 0" ', '')))


def test_limits_of_motion():
    """Without one, the deceleration is limited as the acceleration is."""
    given = f'{FULL} acceleration="3" deceleration="2" jerk="5"'
    assert read_urdf(arm('1.2', given)).joints[0].limits == Limits(-1, 1, 9, 9, 3, 2, 5)
    one = read_urdf(arm('1.2', f'{FULL} acceleration="3"')).joints[0].limits
    assert (one.acceleration, one.deceleration, one.jerk) == (3, 3, math.inf)
    assert read_urdf(arm('1.1', given)).joints[0].limits == Limits(-1, 1, 9, 9)
    ignored = [each for each in messages(arm('1.1', given)) if 'is ignored' in each]
    assert [each.split(' is ')[0].split()[-1] for each in ignored] == [
        'acceleration',
        'deceleration',
        'jerk',
    ]
    for key in ('acceleration', 'deceleration', 'jerk'):
        with pytest.raises(DescriptionError, match=f'{key} limit is -1; it is a magnitude'):
            read_urdf(arm('1.2', f'{FULL} {key}="-1"'))


def test_one_bound_alone():
    one = 'lower="-0.5" effort="9" velocity="9"'
    assert read_urdf(arm('1.1', one)).joints[0].limits.upper == 0.0
    assert read_urdf(arm('1.2', one)).joints[0].limits.upper == math.inf
    (finding,) = [each for each in messages(arm('1.2', one)) if REFUSED in each]
    assert 'refuses <limit> without upper, and with it the whole description' in finding


def test_capsules():
    pin = pytest.importorskip('pinocchio')
    shape = (
        '<link name="base"><collision><origin xyz="1 0 0" quat_xyzw="0 0 0 2"/><geometry>'
        '<capsule radius="0.1" length="0.3"/></geometry></collision></link>'
    )
    text = arm('1.1').replace('<link name="base"/>', shape)
    (ours,) = read_urdf(text).links[0].shapes
    model = pin.buildModelFromXML(text)
    (theirs,) = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.COLLISION).geometryObjects
    np.testing.assert_allclose(ours.extents, [0.2, 0.2, 2 * theirs.geometry.halfLength + 0.2])
    assert ours.extents[0] == 2 * theirs.geometry.radius
    old = arm('1.0').replace('<link name="base"/>', shape)
    assert read_urdf(old).links[0].shapes == ()
    assert any('URDF 1.0 has no capsules' in each for each in messages(old))


@pytest.mark.parametrize(('version', 'words'), [('1.1', '5.1'), ('1.2', '6.0')])
def test_which_urdfdom_reads_a_version(version, words):
    infos = [str(each) for each in read_urdf(arm(version)).findings if each.severity == 'info']
    readers = (
        f'version {version} of URDF is read by ROS Lyrical and newer (urdfdom {words}); Kilted, '
    )
    assert any(readers in each for each in infos)


def test_unknown_versions_are_read_by_the_newest_rules():
    text = arm('2.3', f'{FULL} jerk="5"', origin=QUATERNION)
    assert read_urdf(text).joints[0].limits.jerk == 5.0
    (finding,) = [each for each in messages(text) if REFUSED in each]
    assert "there is no URDF '2.3': it is read here as 1.2" in finding


def test_an_axis_without_components():
    pin = pytest.importorskip('pinocchio')
    text = arm().replace('<axis xyz="0 0 1"/>', '<axis/>')
    np.testing.assert_array_equal(read_urdf(text).joints[0].axis, [1, 0, 0])
    assert any('<axis> has no xyz; the axis is 1 0 0 here and zero' in x for x in messages(text))
    assert not pin.buildModelFromXML(text).joints[1].shortname().endswith('RX')


def test_other_origins_replace_quaternions():
    text = with_origins(arm('1.1', origin=QUATERNION), {'j': np.eye(4)})
    np.testing.assert_array_equal(read_urdf(text).joints[0].origin, np.eye(4))


@pytest.mark.parametrize('text', ['a -- b', '-- ', '---', ' <joint/> --'])
def test_hyphens_in_comments(text):
    urdf = arm().replace('<link name="base"/>', f'<!--{text}-->\n<link name="base"/>')
    assert read_urdf(urdf).joints[0].name == 'j'
    assert read_urdf(urdf.encode()).joints[0].name == 'j'
