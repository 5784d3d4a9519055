# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions made in Python: what is no body, no joint and no tree is refused by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, DescriptionError, InertiaError, Robot
from screw_dynamics_ros.core.description import (
    Finding,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    RobotDescription,
)
from support.models import random_description

ONE = np.eye(3)
ORIGIN = np.zeros(3)


@pytest.mark.parametrize(
    ('arguments', 'error', 'message'),
    [
        ((-1.0, ORIGIN, ONE), InertiaError, 'mass is -1 kg'),
        ((np.nan, ORIGIN, ONE), InertiaError, 'finite'),
        ((1.0, [0, 0, np.inf], ONE), InertiaError, 'finite'),
        ((1.0, ORIGIN, np.full((3, 3), np.nan)), InertiaError, 'finite'),
        ((1.0, ORIGIN, [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), InertiaError, 'transpose by 0.1'),
        ((1.0, [0, 0], ONE), ArgumentError, r'com must have shape \(3,\)'),
        ((1.0, ORIGIN, [1, 1, 1]), ArgumentError, r'matrix \(3, 3\)'),
        ((1.0, 'here', ONE), ArgumentError, 'real numbers'),
        ((1.0, [0, 0, None], ONE), ArgumentError, 'None'),
        (('heavy', ORIGIN, ONE), ArgumentError, "mass must be a number, got 'heavy'"),
        ((np.array([1.0, 2.0]), ORIGIN, ONE), ArgumentError, 'mass must be a number'),
    ],
)
def test_what_is_no_inertia(arguments, error, message):
    with pytest.raises(error, match=message):
        Inertia(*arguments)


@pytest.mark.parametrize(
    ('matrix', 'message'),
    [
        (np.diag([1.0, 1.0, 5.0]), "link 'a': .* triangle inequality"),
        (-ONE, "link 'a': .* not positive semidefinite"),
    ],
)
def test_what_no_body_has(matrix, message):
    """D-17: refused, unless the caller decides."""
    links = [Link('a', Inertia(1.0, ORIGIN, matrix))]
    with pytest.raises(InertiaError, match=message):
        RobotDescription.from_parts('r', links, [])
    assert RobotDescription.from_parts('r', links, [], check_inertias=False).links[0] == links[0]


@pytest.mark.parametrize(
    ('values', 'error', 'message'),
    [
        ({'type': 'spherical'}, DescriptionError, "unknown type 'spherical'; use one of revolute"),
        ({'axis': ORIGIN}, DescriptionError, 'unit vector, got .0.0, 0.0, 0.0'),
        ({'axis': [0, 0, 2.0]}, DescriptionError, 'unit vector.*divide it by its length'),
        ({'axis': [0, 0, np.nan]}, DescriptionError, 'unit vector'),
        ({'axis': [0, 1.0]}, ArgumentError, r'axis must have shape \(3,\), got \(2,\)'),
        ({'origin': 2 * np.eye(4)}, DescriptionError, 'rigid motion'),
        ({'origin': np.diag([1.0, 1.0, -1.0, 1.0])}, DescriptionError, 'det R = 1'),
        ({'origin': np.full((4, 4), np.nan)}, DescriptionError, 'rigid motion'),
        ({'origin': ONE}, ArgumentError, r'origin must have shape \(4, 4\), got \(3, 3\)'),
        ({'limits': None}, ArgumentError, 'limits must be Limits'),
        ({'mimic': 'j2'}, ArgumentError, "mimic Mimic or None, got .* and 'j2'"),
    ],
)
def test_what_is_no_joint(values, error, message):
    good = {'type': 'revolute', 'origin': np.eye(4), 'axis': [0, 0, 1.0]}
    with pytest.raises(error, match=message) as caught:
        Joint('j', parent='a', child='b', **{**good, **values})
    assert "joint 'j'" in str(caught.value)


def test_axes_and_origins_that_do_not_matter():
    """A fixed joint has no axis; unit vectors may have been rounded to seven digits."""
    assert not Joint('j', 'fixed', 'a', 'b', np.eye(4), ORIGIN).axis.any()
    rounded = [0.5773503, 0.5773503, 0.5773503]
    assert Joint('j', 'revolute', 'a', 'b', np.eye(4), rounded).axis.tolist() == rounded


@pytest.mark.parametrize(
    'limits',
    [(1.0, -1.0), (np.nan, 1.0), (-1, 1, -2.0), (0, 1, 1, 'much'), (0, 1, 1, np.nan)],
)
def test_what_are_no_limits(limits):
    with pytest.raises(DescriptionError, match='not limits'):
        Limits(*limits)


@pytest.mark.parametrize('values', [('j', np.nan), ('j', 1.0, np.inf), ('j', '2')])
def test_what_is_no_mimic_relation(values):
    with pytest.raises(DescriptionError, match=r"mimic of 'j': .* finite number"):
        Mimic(*values)


def test_parts_are_put_in_order_and_remarks_are_kept():
    """Depth first from the root, children in the order in which their joints are given."""
    links = [Link(name) for name in 'edcba']
    joints = [
        Joint(f'{parent}{child}', 'fixed', parent, child, np.eye(4), ORIGIN)
        for parent, child in ('ae', 'bc', 'ab', 'bd')
    ]
    remarks = [Finding('warning', 'link a', 'heavy', 'weigh it'), Finding('note', 'b', 'c')]
    found = RobotDescription.from_parts('r', links, joints, iter(remarks))
    assert (found.name, found.root) == ('r', 'a')
    assert [link.name for link in found.links] == list('aebcd')
    assert [joint.name for joint in found.joints] == ['ae', 'ab', 'bc', 'bd']
    assert found.findings == tuple(remarks)
    assert RobotDescription.from_parts('r', links, joints).findings == ()


def test_what_is_no_robot():
    description = random_description(0, 3)
    with pytest.raises(ArgumentError, match=r'RobotDescription.*Robot\.from_urdf'):
        Robot('robot.urdf')
    with pytest.raises(ArgumentError, match="floating_base must be a bool, got 'no'"):
        Robot(description, floating_base='no')
    with pytest.raises(ArgumentError, match="link 'a': inertia is no Inertia"):
        Link('a', 3.0)
    with pytest.raises(ArgumentError, match='neither a Link nor a Joint'):
        RobotDescription.from_parts('r', ['link'], [])
    limits = replace(description.joints[0], limits=Limits(-1, 1)).limits
    assert (limits.velocity, limits.effort) == (np.inf, np.inf)
