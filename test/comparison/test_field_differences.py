# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fields that two readings disagree on: found from the tolerance on, named, printed, put in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.comparison.field_differences import differs, field_differences, numbers
from screw_dynamics_ros.comparison.reading import MASSLESS, DescriptionReading
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.lie import se3

SAME = 1e-4  # relative
TURN = Rotation.from_euler('xyz', [0.3, -0.4, 0.5]).as_matrix()
MATRIX = np.array([[0.03, 0.001, 0.004], [0.001, 0.02, 0.002], [0.004, 0.002, 0.025]])


@pytest.fixture(scope='module')
def arm() -> DescriptionReading:
    links = [
        Link('base'),
        Link('upper', Inertia(2.0, np.array([0.1, -0.2, 0.3]), MATRIX)),
        Link('hand', Inertia(0.5, np.zeros(3), np.zeros((3, 3)))),
        Link('frame'),
    ]
    limits = Limits(-1.0, 2.0, 3.0, 40.0)
    axis = np.array([0.0, 0.6, 0.8])
    first, second = se3.pose(TURN, [0.1, 0.5, -0.2]), np.eye(4)
    joints = [
        Joint('shoulder', 'revolute', 'base', 'upper', first, axis, limits, None, 0.7, 0.4),
        Joint('wrist', 'prismatic', 'upper', 'hand', second, axis, Limits()),
        Joint('mount', 'fixed', 'hand', 'frame', first, axis),
    ]
    description = RobotDescription.from_parts('arm', links, joints)
    return DescriptionReading(description, {'shoulder': 0.05})


def body(name, **changes):
    """Return a change of an inertia: each field a function of its value and a relative change."""

    def change(reading, e):
        link = reading.link(name)
        own = MASSLESS if link.inertia is None else link.inertia
        new = {field: of(getattr(own, field), e) for field, of in changes.items()}
        return reading.with_link(replace(link, inertia=replace(own, **new)))

    return change


def joint(name, of):
    return lambda reading, e: reading.with_joint(of(reading.joint(name), e))


def limit(field):
    def of(j, e):
        return replace(j, limits=replace(j.limits, **{field: getattr(j.limits, field) * (1 + e)}))

    return joint('shoulder', of)


def larger(x, e):
    return x * (1 + e)


def turned(matrix, e):
    R = Rotation.from_rotvec([0, 0, e]).as_matrix()
    return R @ matrix @ R.T


RPY = {'shoulder': '0.3 -0.4 0.5', 'mount': '0.3 -0.4 0.5', 'wrist': '0 0 0'}

#: (subject, field, what is printed of ours, change by a relative difference or an angle)
FIELDS = [
    ('link upper', 'mass', '2', body('upper', mass=larger)),
    ('link upper', 'inertial origin xyz', '0.1 -0.2 0.3', body('upper', com=larger)),
    ('link upper', 'inertia', '0.03 0.001 0.004 0.02 0.002 0.025', body('upper', matrix=larger)),
    ('joint shoulder', 'axis', '0 0.6 0.8', joint('shoulder', lambda j, e: replace(
        j, axis=Rotation.from_rotvec([e, 0, 0]).as_matrix() @ j.axis))),
    ('joint shoulder', 'dynamics damping', '0.7', joint('shoulder', lambda j, e: replace(
        j, damping=j.damping * (1 + e)))),
    ('joint shoulder', 'dynamics friction', '0.4', joint('shoulder', lambda j, e: replace(
        j, friction=j.friction * (1 + e)))),
    ('joint shoulder', 'limit lower', '-1', limit('lower')),
    ('joint shoulder', 'limit upper', '2', limit('upper')),
    ('joint shoulder', 'limit velocity', '3', limit('velocity')),
    ('joint shoulder', 'limit effort', '40', limit('effort')),
    ('joint shoulder', 'armature', '0.05', lambda reading, e: replace(
        reading, armatures={'shoulder': 0.05 * (1 + e)})),
    *((f'joint {name}', 'origin rpy', RPY[name], joint(name, lambda j, e: replace(
        j, origin=j.origin @ se3.pose(Rotation.from_rotvec([e, 0, 0]).as_matrix(), np.zeros(3)))))
      for name in RPY),
    *((f'joint {name}', 'origin xyz', '0.1 0.5 -0.2', joint(name, lambda j, e: replace(
        j, origin=se3.pose(j.origin[:3, :3], j.origin[:3, 3] * (1 + e)))))
      for name in ('shoulder', 'mount')),
]  # fmt: skip
IDS = [f'{subject} {field}'.replace(' ', '_') for subject, field, *_ in FIELDS]


@pytest.mark.parametrize(('subject', 'field', 'printed', 'change'), FIELDS, ids=IDS)
def test_a_field_is_named_from_the_tolerance_on(arm, subject, field, printed, change):
    """Once, with both values; put into ours, it makes the readings alike."""
    for sign in (-1, 1):
        assert not list(field_differences(arm, change(arm, sign * 0.5 * SAME), SAME))
        theirs = change(arm, sign * 2.0 * SAME)
        (found,) = field_differences(arm, theirs, SAME)
        assert (found.subject, found.field, found.ours) == (subject, field, printed)
        assert str(found) == f'{subject}: {field}: here {printed}, there {found.theirs}'
        (back,) = field_differences(theirs, arm, SAME)
        assert (back.ours, back.theirs) == (found.theirs, found.ours)
        assert not list(field_differences(found.change(arm), theirs, 1e-12))


def added(x, e):
    return x + e


#: (field, smallest difference of a value that is zero, change of it)
ZEROS = [
    ('mass', 1e-12, body('frame', mass=added, matrix=lambda *_: MATRIX)),
    ('inertial origin xyz', 1e-9, body('hand', com=lambda x, e: x + [0, 0, e])),
    ('inertia', 1e-14, body('hand', matrix=lambda x, e: x + np.diag([0, 0, e]))),
    ('origin xyz', 1e-9, joint('wrist', lambda j, e: replace(
        j, origin=se3.pose(np.eye(3), [0, e, 0])))),
    ('dynamics damping', 1e-12, joint('wrist', lambda j, e: replace(j, damping=e))),
    ('dynamics friction', 1e-12, joint('wrist', lambda j, e: replace(j, friction=e))),
    ('armature', 1e-14, lambda reading, e: replace(
        reading, armatures={**reading.armatures, 'wrist': e})),
]  # fmt: skip


@pytest.mark.parametrize(('field', 'nothing', 'change'), ZEROS, ids=[each[0] for each in ZEROS])
def test_rounding_residues_are_no_difference(arm, field, nothing, change):
    zero = change(arm, 0.0)
    assert not list(field_differences(zero, change(arm, 0.9 * nothing), SAME))
    (found,) = field_differences(zero, change(arm, 1.1 * nothing), SAME)
    assert found.field == field


def test_an_inertial_that_is_dropped(arm):
    """One difference, of the inertial as a whole; it is more than a mass of zero."""
    (found,) = field_differences(arm, body('upper', **nothing_of())(arm, 0.0), SAME)
    assert str(found) == 'link upper: inertial: here 2 kg, there none'
    assert found.change(arm).link('upper').inertia.mass == 0.0
    massless = body('upper', mass=lambda *_: 0.0)(arm, 0.0)
    (found,) = field_differences(arm, massless, SAME)
    assert str(found) == 'link upper: mass: here 2, there 0'


def nothing_of():
    return {field: lambda x, _: 0.0 * x for field in ('mass', 'com', 'matrix')}


def test_an_inertial_of_ours_only_in_theirs(arm):
    theirs = arm.with_link(Link('frame', Inertia(0.3, np.array([0.0, 0.0, 0.1]), MATRIX)))
    found = list(field_differences(arm, theirs, SAME))
    assert [each.field for each in found] == ['mass', 'inertial origin xyz', 'inertia']
    assert [each.ours for each in found] == ['0', '0 0 0', '0 0 0 0 0 0']
    assert [each.theirs for each in found][:2] == ['0.3', '0 0 0.1']
    reading = arm
    for each in found:
        reading = each.change(reading)
    assert not list(field_differences(reading, theirs, 1e-12))


def test_centers_of_mass_without_a_mass_are_not_compared(arm):
    moved = body('frame', com=lambda x, e: x + e)
    assert not list(field_differences(arm, moved(arm, 1.0), SAME))


def test_an_inertia_in_other_axes(arm):
    """The same principal moments in axes that are turned are the rpy of an inertial."""
    (found,) = field_differences(arm, body('upper', matrix=turned)(arm, 0.3), SAME)
    assert (found.subject, found.field) == ('link upper', 'inertial origin rpy')
    assert found.ours == '0.03 0.001 0.004 0.02 0.002 0.025 kg m^2 in the axes of the link'
    printed = np.zeros((3, 3))
    printed[np.triu_indices(3)] = [float(each) for each in found.theirs.split()]
    np.testing.assert_allclose(printed, np.triu(turned(MATRIX, 0.3)), atol=1e-6)


def test_drives_of_fixed_joints_are_not_compared(arm):
    """Nor their axes and limits: they have no influence."""
    mount = replace(
        arm.joint('mount'), axis=np.array([1.0, 0, 0]), damping=1.0, limits=Limits(0, 1, 2, 3)
    )
    assert not list(field_differences(arm, arm.with_joint(mount), SAME))


@pytest.mark.parametrize(
    ('a', 'b', 'expected'),
    [
        (np.inf, np.inf, False),
        (np.inf, 1e9, True),
        (-np.inf, np.inf, True),
        (np.nan, 1.0, True),
        ([1.0, 1e-6], [1.0, 0.0], False),  # beside the largest entry
        ([1.0, -3.0], [1.0, -3.0004], True),
        ([1.0, -3.0], [1.0, -3.0002], False),
    ],
)
def test_numbers_differ_by_a_share_of_their_size(a, b, expected):
    assert differs(a, b, 1e-12, SAME) == differs(b, a, 1e-12, SAME) == expected


def test_numbers_are_printed_without_residues():
    assert numbers([-0.9e-12, 1.1e-12, -1.23456789]) == '0 1.1e-12 -1.23457'
