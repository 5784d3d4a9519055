# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Values that stand out against their neighbors: found one by one, and none in sound arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.cli.doctor.command import main
from screw_dynamics_ros.cli.doctor.outliers import inertias_about_frames, moving_bodies, outliers
from screw_dynamics_ros.core.description import (
    Inertia,
    Joint,
    Limits,
    Link,
    RobotDescription,
    read_urdf,
)
from screw_dynamics_ros.core.description.shapes import Shape
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.entry import DONE, NEGATIVE
from support.robots import bundled_robots, example_robots, urdf_path

LENGTHS = {'shoulder': 0.15, 'upper_arm': 0.4, 'forearm': 0.4, 'wrist': 0.1, 'hand': 0.0}
MASSES = {'shoulder': 4.0, 'upper_arm': 8.0, 'forearm': 2.0, 'wrist': 1.0, 'hand': 0.5}
EFFORTS = {'shoulder': 150.0, 'upper_arm': 150.0, 'forearm': 80.0, 'wrist': 20.0, 'hand': 20.0}


def arm() -> RobotDescription:
    """Return an arm of rods along x; joints have the names of the links that they move."""
    links, joints, before = [Link('base')], [], 'base'
    for name, length in LENGTHS.items():
        size = length or 0.1
        matrix = MASSES[name] * size**2 / 12.0 * np.diag([0.1, 1.0, 1.0])
        links.append(Link(name, Inertia(MASSES[name], [size / 2, 0, 0], matrix)))
        origin = np.eye(4)
        origin[0, 3] = LENGTHS.get(before, 0.0)
        limits = Limits(-1.0, 1.0, 3.0, EFFORTS[name])
        joints.append(Joint(name, 'revolute', before, name, origin, [0, 1, 0], limits))
        before = name
    return RobotDescription.from_parts('arm', links, joints)


def with_inertia(description, name, mass=1.0, com=1.0, matrix=1.0):
    """Return a description with mass, center of mass and matrix of a link times these factors."""
    return replace(
        description,
        links=tuple(
            replace(
                link,
                inertia=Inertia(
                    mass * link.inertia.mass, com * link.inertia.com, matrix * link.inertia.matrix
                ),
            )
            if link.name == name
            else link
            for link in description.links
        ),
    )


def with_joint(description, name, **changes):
    return replace(
        description,
        joints=tuple(
            replace(joint, **changes) if joint.name == name else joint
            for joint in description.joints
        ),
    )


def found(description):
    return [str(finding) for finding in outliers(description)]


@pytest.mark.parametrize(
    'name',
    [
        *(path.stem for path in bundled_robots()),
        'ur3_robot',
        'ur10_robot',
        'kinova',
        'xarm7',
        'z1',
        'panda_description/urdf/panda',
    ],
)
def test_sound_arms_have_none(name):
    assert found(read_urdf(urdf_path(name))) == []


def test_a_known_fault():
    """The moments of the last links of the old UR5 are ten times too large and more."""
    (message,) = found(read_urdf(urdf_path('ur5_robot')))
    assert message.startswith('link wrist_2_link: its radius of gyration is 0.424 m')
    assert 'the same of wrist_3_link' in message


def about_frames(description):
    """Return a description with the term of the parallel axes added to its inertias."""
    links = []
    for link in description.links:
        if link.inertia is not None:
            m, c = link.inertia.mass, link.inertia.com
            matrix = link.inertia.matrix + m * (c @ c * np.eye(3) - np.outer(c, c))
            link = replace(link, inertia=Inertia(m, c, matrix))
        links.append(link)
    return replace(description, links=tuple(links))


def test_inertias_about_the_link_frames():
    """The arm is made of rods: m l^2 / 4 of m l^2 / 3 is the term of the parallel axes."""
    (finding,) = inertias_about_frames(about_frames(arm()))
    assert found(about_frames(arm())).count(str(finding)) == 1
    assert str(finding) == (
        'robot arm: its inertia matrices appear to be about the link frames: 5 of 5 are still '
        'those of bodies without the term of the parallel axes, which is 75% of the largest moment '
        'of shoulder (if so, subtract m (|c|^2 1 - c c^T): a description has them about centers of '
        'mass)'
    )


def test_balls_at_a_distance_are_not_about_link_frames():
    """Placeholders are often multiples of the unit matrix."""
    links = tuple(
        replace(link, inertia=Inertia(1.0, [0, 0, 0.1], 0.02 * np.eye(3))) for link in arm().links
    )
    assert found(replace(arm(), links=links)) == []


def test_inertias_about_link_frames_in_known_robots():
    """Romeo has a second description, by others, whose inertias are about the centers of mass."""
    descriptions = [read_urdf(path, inertia_check='ignore') for path in example_robots()]
    reported = [each for each in descriptions if list(inertias_about_frames(each))]
    assert {each.name for each in reported} == {'romeo', 'laikago'}
    others = [about_frames(each) for each in descriptions if each not in reported]
    assert len(others) > 60
    missed = [each.name for each in others if not list(inertias_about_frames(each))]
    assert len(missed) < 0.1 * len(others), missed


def test_the_arm_of_these_tests_has_none():
    assert found(arm()) == []


def test_a_forearm_of_ten_times_the_upper_arm():
    heavy = with_inertia(arm(), 'forearm', mass=40.0, matrix=40.0)
    assert found(heavy) == [
        'link forearm: its 80 kg are 10 times the mass of upper_arm (8 kg), its parent '
        '(check both masses)'
    ]
    light = with_inertia(arm(), 'upper_arm', mass=1 / 64, matrix=1 / 64)
    assert found(light)[0].startswith('link forearm: its 2 kg are 16 times the mass of upper_arm')


def test_the_cross_of_a_universal_joint_may_be_light():
    """It is as short as it is light."""
    light = with_inertia(arm(), 'upper_arm', mass=1 / 64, matrix=1 / 64)
    origin = np.eye(4)
    origin[0, 3] = 0.01
    cross = with_inertia(with_joint(light, 'forearm', origin=origin), 'upper_arm', com=0.02)
    assert not [message for message in found(cross) if 'times the mass' in message]


@pytest.mark.parametrize(('kind', 'count'), [('revolute', 1), ('continuous', 0)])
def test_a_wheel_may_be_heavier_than_its_fork(kind, count):
    heavy = with_inertia(arm(), 'hand', mass=64.0, matrix=64.0)
    limits = Limits(velocity=3.0, effort=20.0)
    assert len(found(with_joint(heavy, 'hand', type=kind, limits=limits))) == count


@pytest.mark.parametrize(
    ('factor', 'severity', 'words'),
    [
        (1e3, 'warning', 'joints and shapes nearby are at most 0.4 m apart'),
        (4.0, None, ''),
        (0.121, None, ''),  # a radius of gyration of sqrt(0.12 / 12) = 1/10 of the length
        (0.119, 'info', 'but it is 0.4 m long'),
        (1e-3, 'info', 'but it is 0.4 m long'),
        (1e-15, None, ''),  # a point on purpose
    ],
)
def test_moments_of_inertia(factor, severity, words):
    findings = list(outliers(with_inertia(arm(), 'forearm', matrix=factor)))
    assert [finding.severity for finding in findings] == ([] if severity is None else [severity])
    for finding in findings:
        assert finding.subject == 'link forearm'
        assert finding.message.startswith('its radius of gyration is ')
        assert words in finding.message


def test_a_large_shape_may_have_large_moments():
    wide = with_inertia(arm(), 'hand', matrix=2e3)
    assert len(found(wide)) == 1
    plate = Shape('box', np.array([0.01, 6.0, 6.0]), np.eye(4))
    links = tuple(
        replace(link, shapes=(plate,)) if link.name == 'hand' else link for link in wide.links
    )
    assert found(replace(wide, links=links)) == []


@pytest.mark.parametrize(('factor', 'count'), [(1.0, 0), (3.0, 0), (10.0, 1), (-10.0, 1)])
def test_center_of_mass(factor, count):
    messages = found(with_inertia(arm(), 'forearm', com=factor))
    assert len(messages) == count
    for message in messages:
        assert message.startswith('link forearm: its center of mass is 2 m from its joint')


@pytest.mark.parametrize('name', ['effort', 'velocity'])
@pytest.mark.parametrize(
    ('joint', 'factor', 'count'),
    [
        ('forearm', 1.0, 0),
        ('forearm', 30.0, 1),
        ('forearm', 1 / 100, 1),
        ('forearm', 0.0, 0),  # is a finding of its own
        ('forearm', np.inf, 0),
        ('hand', 1 / 100, 0),  # a gripper may be weak
    ],
)
def test_limits(name, joint, factor, count):
    description = arm()
    (limits,) = (each.limits for each in description.joints if each.name == joint)
    value = getattr(limits, name) * factor
    messages = found(with_joint(description, joint, limits=replace(limits, **{name: value})))
    assert len(messages) == count
    for message in messages:
        assert message.startswith(f'joint forearm: its {name} limit is {value:.4g} ')


def test_each_limit_has_its_neighbors():
    """One that is missing hides no other; those of prismatic joints are no neighbors."""
    description = arm()
    (limits,) = (each.limits for each in description.joints if each.name == 'forearm')
    both = replace(limits, effort=0.0, velocity=30.0 * limits.velocity)
    (message,) = found(with_joint(description, 'forearm', limits=both))
    assert message.startswith('joint forearm: its velocity limit is 90 rad/s, those of the ')
    assert 'neighboring joints are 3, 3 (check its <limit>)' in message
    both = replace(limits, velocity=30.0 * limits.velocity)
    sliding = with_joint(with_joint(description, 'forearm', limits=both), 'wrist', type='prismatic')
    assert found(sliding) == []


@pytest.mark.parametrize(('value', 'count'), [(1500.0, 1), (1499.0, 0), (2.0, 1), (2.01, 0)])
def test_a_limit_of_ten_times_its_neighbors(value, count):
    """Those of the upper arm and the wrist are 150 and 20 N m."""
    limits = Limits(-1.0, 1.0, 3.0, value)
    assert len(found(with_joint(arm(), 'forearm', limits=limits))) == count


def test_a_link_without_mass_has_no_outliers():
    """Neither has a link whose parent has none."""
    for name in ('upper_arm', 'hand'):
        assert found(with_inertia(arm(), name, mass=0.0, matrix=0.0, com=100.0)) == []


def test_bodies_and_their_neighbors():
    """Lengths are those to the next joint, or to the far corner of a shape."""
    pose = np.eye(4)
    pose[:3, 3] = 0.0, 0.0, -0.3
    box = Shape('box', np.array([0.2, 0.4, 0.6]), pose)
    links = tuple(
        replace(link, shapes=(box,)) if link.name == 'hand' else link for link in arm().links
    )
    bodies = {each.joint.child: each for each in moving_bodies(replace(arm(), links=links))}
    lengths = {**LENGTHS, 'hand': np.linalg.norm([0.1, 0.2, 0.6])}
    assert {name: each.length for name, each in bodies.items()} == pytest.approx(lengths)
    offsets = dict(zip(LENGTHS, [0.0, *LENGTHS.values()]))
    assert {name: each.offset for name, each in bodies.items()} == pytest.approx(offsets)
    assert bodies['shoulder'].before is None
    assert bodies['wrist'].before is bodies['forearm']
    assert bodies['wrist'].after == [bodies['hand']]
    assert bodies['wrist'].nearby == pytest.approx(lengths['hand'])
    assert bodies['shoulder'].nearby == pytest.approx(0.4)
    assert bodies['wrist'].gyration == pytest.approx(0.1 / np.sqrt(12))
    assert bodies['hand'].extent == pytest.approx(lengths['hand'])


def test_what_reading_reports_is_not_reported_again():
    """Beyond a meter, as the whole arm is no longer."""
    for change, quantity in (({'matrix': 1e4}, 'radius of gyration'), ({'com': 10}, 'center of')):
        far = read_urdf(write_urdf(with_inertia(arm(), 'forearm', **change)))
        assert [quantity in each.message for each in far.findings].count(True) == 1
        assert found(far) == []
        assert len(found(replace(far, findings=()))) == 1


def test_links_with_the_same_fault_share_a_finding():
    description = arm()
    for name in ('upper_arm', 'forearm', 'wrist'):
        description = with_inertia(description, name, matrix=1e4)
    (message,) = found(description)
    assert '; the same of ' in message
    assert all(name in message for name in ('upper_arm', 'forearm', 'wrist'))


def test_doctor_warns(tmp_path, capsys):
    file = tmp_path / 'arm.urdf'
    file.write_text(write_urdf(arm()))
    assert main([str(file), '--strict']) == DONE
    file.write_text(write_urdf(with_inertia(arm(), 'forearm', mass=40.0, matrix=40.0)))
    assert main([str(file)]) == DONE
    assert main([str(file), '--strict']) == NEGATIVE
    assert 'WARNING link forearm: its 80 kg are 10 times' in capsys.readouterr().out
