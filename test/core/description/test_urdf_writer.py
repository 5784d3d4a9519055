# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`write_urdf` is the inverse of `read_urdf`.

Other origins in the text of a URDF: everything else stays, readers agree.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from screw_dynamics_ros.core.description import JOINT_TYPES, Limits, RobotDescription, read_urdf
from screw_dynamics_ros.core.description.mjcf import read_mjcf
from screw_dynamics_ros.core.description.robot_description import Closure
from screw_dynamics_ros.core.description.shapes import Shape
from screw_dynamics_ros.core.description.urdf_elements import UNLIMITED
from screw_dynamics_ros.core.description.urdf_writer import roll_pitch_yaw, with_origins, write_urdf
from screw_dynamics_ros.core.errors import DescriptionError, UnknownNameError
from support.models import random_description, random_pose
from support.robots import bundled_robots, one_joint, robot_id, sampled_robots, urdf_path

MJCF = """<mujoco><worldbody><body><joint type="slide"/><geom type="capsule" size="0.1 0.2"/>
<body><joint type="slide" axis="0 1 0"/><geom size="0.1"/></body></body></worldbody></mujoco>"""


def assert_same(a: RobotDescription, b: RobotDescription, atol: float) -> None:
    assert (a.name, a.root) == (b.name, b.root)
    assert [link.name for link in a.links] == [link.name for link in b.links]
    for x, y in zip(a.joints, b.joints):
        fields = (
            'name',
            'type',
            'parent',
            'child',
            'limits',
            'mimic',
            'damping',
            'friction',
            'pitch',
            'armature',
            'spring_stiffness',
            'spring_position',
        )
        for field in fields:
            assert getattr(x, field) == getattr(y, field), (x.name, field)
        np.testing.assert_allclose(y.origin, x.origin, rtol=1e-15, atol=atol)
        np.testing.assert_allclose(y.axis, x.axis, rtol=0, atol=4e-16)
    for x, y in zip(a.links, b.links):
        assert (x.inertia is None) == (y.inertia is None)
        if x.inertia is not None and y.inertia is not None:
            assert x.inertia.mass == y.inertia.mass
            np.testing.assert_array_equal(x.inertia.com, y.inertia.com)
            np.testing.assert_array_equal(x.inertia.matrix, y.inertia.matrix)


@pytest.mark.parametrize('path', [*bundled_robots(), *sampled_robots()], ids=robot_id)
def test_real_robots_round_trip(path):
    description = read_urdf(path)
    assert_same(description, read_urdf(write_urdf(description)), 1e-15)


@pytest.mark.parametrize('seed', range(3))
def test_all_kinds_of_joints_round_trip(seed):
    description = random_description(seed, 12, tuple(JOINT_TYPES), mimic=2)
    joints = [
        replace(
            joint,
            damping=0.1 * k,
            friction=0.2 * k,
            armature=0.3 * k * joint.kind.is_scalar,
            spring_stiffness=4.0 * k,
            spring_position=0.5 * k - 1.0,
            limits=Limits(
                *(
                    (-math.inf, 1.5)
                    if joint.type in ('revolute', 'prismatic') and k % 2
                    else (-math.inf, math.inf)
                ),
                2.0,
                math.inf,
            )
            if joint.kind.is_scalar
            else Limits(),
        )
        for k, joint in enumerate(description.joints)
    ]
    description = replace(description, joints=tuple(joints))
    again = read_urdf(write_urdf(description))
    for joint in description.joints:  # what the format does not keep
        if joint.type in ('fixed', 'floating', 'ball'):
            description = replace(
                description,
                joints=tuple(
                    replace(j, axis=np.array([1.0, 0, 0])) if j is joint else j
                    for j in description.joints
                ),
            )
    assert_same(description, again, 1e-15)


@pytest.mark.parametrize(
    ('kind', 'limits', 'expected'),
    [
        ('revolute', (-1.0, 2.0, 3.0, 4.0), '-1.0 2.0 3.0 4.0'),
        ('revolute', (-math.inf, 2.0, 3.0, math.inf), '-1000000000.0 2.0 3.0 1000000000.0'),
        ('prismatic', (0.0, math.inf), '0.0 1000000000.0 1000000000.0 1000000000.0'),
        ('prismatic', (-math.inf, math.inf, 3.0), '-1000000000.0 1000000000.0 3.0 1000000000.0'),
        ('continuous', (-math.inf, math.inf, 3.0), '- - 3.0 1000000000.0'),
        ('continuous', (-math.inf, math.inf, 3e9), '- - 1000000000.0 1000000000.0'),
        ('revolute', (-1.0, 20.0, 30.0, 0.0), '-1.0 20.0 30.0 0.0'),
        ('planar', (-math.inf, math.inf), None),
        ('continuous', (-math.inf, math.inf), None),
    ],
)
def test_attributes_of_limits(kind, limits, expected):
    """Lower, upper, velocity and effort, - for none; None without an element."""
    description = random_description(0, 1, (kind,))
    joint = replace(description.joints[0], limits=Limits(*limits))
    text = write_urdf(replace(description, joints=(joint,)))
    found = ElementTree.fromstring(text).find('joint/limit')
    if expected is None:
        assert found is None
    else:
        names = ('lower', 'upper', 'velocity', 'effort')
        assert [found.get(name, '-') for name in names] == expected.split()


@pytest.mark.parametrize(
    ('limits', 'kind', 'version'),
    [
        (Limits(-1.0, 1.0, 2.0, 3.0), 'cylinder', ''),
        (Limits(-1.0, 1.0, 2.0, 3.0), 'capsule', '1.1'),
        (Limits(-1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 'box', '1.2'),
        (Limits(-1.0, 1.0, jerk=6.0), 'capsule', '1.2'),
    ],
)
def test_the_version_is_the_oldest_that_has_what_is_described(limits, kind, version):
    description = random_description(0, 2, ('revolute',))
    shape = Shape(kind, np.array([0.1, 0.1, 0.4]), np.eye(4))
    links = [replace(link, shapes=(shape,)) for link in description.links]
    joints = [replace(joint, limits=limits) for joint in description.joints]
    text = write_urdf(replace(description, links=tuple(links), joints=tuple(joints)))
    assert ElementTree.fromstring(text).get('version', '') == version
    again = read_urdf(text)
    assert all(joint.limits == limits for joint in again.joints)
    for link in again.links:
        assert link.shapes[0].kind == kind
        np.testing.assert_allclose(link.shapes[0].extents, shape.extents, rtol=0, atol=1e-16)


def test_infinite_limits_are_read_again():
    description = random_description(0, 4, ('prismatic', 'continuous'))
    free = replace(
        description, joints=tuple(replace(j, limits=Limits()) for j in description.joints)
    )
    assert all(joint.limits == Limits() for joint in read_urdf(write_urdf(free)).joints)


@pytest.mark.parametrize(
    'pitch', [math.pi / 2, -math.pi / 2, math.pi / 2 - 1e-12, math.pi / 2 - 1e-8, 0.3]
)
def test_angles_at_gimbal_lock(pitch):
    roll, yaw = 0.4, -1.1

    def matrix(r: float, p: float, y: float) -> np.ndarray:
        (sr, cr), (sp, cp), (sy, cy) = ((math.sin(a), math.cos(a)) for a in (r, p, y))
        return (
            np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
            @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
            @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
        )

    R = matrix(roll, pitch, yaw)
    np.testing.assert_allclose(matrix(*roll_pitch_yaw(R)), R, rtol=0, atol=1e-15)


def test_names_are_escaped():
    description = random_description(0, 1)
    odd = replace(description, name='a "quoted" <robot> & more')
    assert read_urdf(write_urdf(odd)).name == odd.name


@pytest.mark.parametrize('is_limited', [False, True])
@pytest.mark.parametrize('seed', range(4))
def test_urdfdom_reads_what_is_written(seed, is_limited):
    pin = pytest.importorskip('pinocchio')
    kinds = ('revolute', 'continuous', 'prismatic', 'fixed', 'planar', 'floating')
    description = random_description(seed, 12, kinds, mimic=2)
    if not is_limited:
        free = tuple(replace(joint, limits=Limits()) for joint in description.joints)
        description = replace(description, joints=free)
    text = write_urdf(description)
    model = pin.buildModelFromXML(text)  # raises if urdfdom refuses it
    moving = [joint for joint in description.joints if not joint.kind.is_fixed]
    assert model.nv == sum(joint.kind.nv for joint in moving)
    assert not [each for each in read_urdf(text).findings if 'refuses' in each.message]


def test_urdfdom_reads_what_is_written_of_an_mjcf():
    pin = pytest.importorskip('pinocchio')
    pytest.importorskip('mujoco')
    description = read_mjcf(MJCF)
    assert [joint.limits.lower for joint in description.joints] == [-math.inf, -math.inf]
    model = pin.buildModelFromXML(write_urdf(description))
    assert (model.nv, model.lowerPositionLimit[-1]) == (2, -UNLIMITED)


def looped() -> RobotDescription:
    """Return a tree with closures, motors and postures, one of a floating joint."""
    description = random_description(5, 4, ('revolute', 'floating'))
    first, *_, last = description.links
    pose = description.joints[-1].origin
    return replace(
        description,
        closures=(
            Closure('pin', 'spherical', (last.name, first.name), (pose, np.eye(4))),
            Closure('glue', 'weld', (first.name, last.name), (np.eye(4), pose)),
        ),
        actuated=tuple(joint.name for joint in description.joints[::-2]),
        postures={
            'home & away': {
                joint.name: tuple(0.1 * k + n for n in range(joint.kind.nq))
                for k, joint in enumerate(description.joints)
            },
            'none': {},
        },
    )


def test_loops_round_trip():
    description = looped()
    assert {joint.kind.nq for joint in description.joints} == {1, 7}
    again = read_urdf(write_urdf(description))
    assert (again.actuated, again.postures) == (description.actuated, description.postures)
    for x, y in zip(description.closures, again.closures, strict=True):
        assert (x.name, x.pair, x.links) == (y.name, y.pair, y.links)
        np.testing.assert_allclose(y.poses, x.poses, rtol=0, atol=1e-15)
    found = [str(each) for each in again.findings if each.severity == 'warning']
    assert sum('leaves open (use LoopClosures.of' in each for each in found) == 2


def test_urdfdom_ignores_loops():
    pin = pytest.importorskip('pinocchio')
    description = looped()
    open_tree = replace(description, closures=(), actuated=(), postures={})
    models = [pin.buildModelFromXML(write_urdf(each)) for each in (description, open_tree)]
    assert models[0] == models[1]


@pytest.mark.parametrize(
    ('old', 'new', 'fault'),
    [
        ('type="weld"', 'type="ball"', "'glue' has type 'ball' and 2 ends; use one of spherical"),
        ('<end ', '<start ', "'pin' has type 'spherical' and 1 ends"),
        ('end link="', 'end link="no', "loop closure 'pin' has link 'no"),
        ('motor joint="', 'motor joint="no', "a <motor> has joint 'no"),
        ('position joint="', 'position joint="no', "posture 'home & away' has joint 'no"),
        ('value="', 'value="x ', 'is not a finite number'),
    ],
)
def test_loops_that_are_refused(old, new, fault):
    text = write_urdf(looped())
    if new == '<start ':
        text = text.replace('</end>', '</start>', 1)
    i = text.index('<posture' if old == 'value="' else '<loop_closure')
    with pytest.raises(DescriptionError, match=re.escape(fault)):
        read_urdf(text[:i] + text[i:].replace(old, new, 1))


@pytest.mark.parametrize('path', sampled_robots()[::3], ids=robot_id)
def test_real_robots(path):
    """Every joint gets another origin; nothing else of the description changes."""
    text, rng = path.read_text(), np.random.default_rng(0)
    nominal = read_urdf(text)
    origins = {joint.name: random_pose(rng) for joint in nominal.joints}
    written = with_origins(text, origins)
    changed = read_urdf(written)
    for before, after in zip(nominal.joints, changed.joints):
        np.testing.assert_allclose(after.origin, origins[before.name], rtol=0, atol=1e-14)
        assert (after.name, after.type, after.limits) == (before.name, before.type, before.limits)
        np.testing.assert_array_equal(after.axis, before.axis)
    for tag in ('<mesh', '<!--', '<visual', '<material'):
        assert written.count(tag) == text.count(tag)
    again = read_urdf(with_origins(text, {}))
    for before, after in zip(nominal.joints, again.joints):
        np.testing.assert_array_equal(after.origin, before.origin)


def test_joint_without_origin():
    C = random_pose(np.random.default_rng(1))
    text = with_origins(one_joint('<axis xyz="0 0 1"/>', 'continuous'), {'j': C})
    np.testing.assert_allclose(read_urdf(text).joints[0].origin, C, rtol=0, atol=1e-14)


def test_refusals():
    with pytest.raises(UnknownNameError, match="no joint named 'k'; there are j"):
        with_origins(one_joint(), {'k': np.eye(4)})
    with pytest.raises(DescriptionError, match='the root element is <sdf>'):
        with_origins('<sdf/>', {})
    assert '<!-- ' in with_origins(urdf_path('panda').read_text(), {})
