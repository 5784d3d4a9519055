# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints held at zero in the text of a URDF, and those that follow them."""

from __future__ import annotations

import pytest

from screw_dynamics_ros.core import DescriptionError, UnknownNameError
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.description.urdf_fixed_joints import with_fixed_joints
from support.robots import joint, links, robot

TEXT = robot(
    links('base a b c'),
    '<!-- kept -->',
    joint('j1', 'base', 'a', '', 'continuous'),
    joint('j2', 'a', 'b', '<mimic joint="j1" multiplier="2"/>', 'continuous'),
    joint('j3', 'b', 'c', '<mimic joint="j2"/>', 'continuous'),
)


@pytest.mark.parametrize(
    ('names', 'types', 'mimics'),
    [
        ([], ['continuous'] * 3, [None, 'j1', 'j2']),
        (['j3'], ['continuous', 'continuous', 'fixed'], [None, 'j1', None]),
        (['j2'], ['continuous', 'fixed', 'fixed'], [None, None, None]),
        (['j1'], ['fixed'] * 3, [None, None, None]),
    ],
)
def test_joints_and_all_that_follow_them_are_fixed(names, types, mimics):
    text = with_fixed_joints(TEXT, names)
    found = read_urdf(text).joints
    assert [each.type for each in found] == types
    assert [each.mimic and each.mimic.joint for each in found] == mimics
    assert '<!-- kept -->' in text


def test_what_is_refused():
    with pytest.raises(UnknownNameError, match=r"^no joint named 'a' to leave out; .* j1, j2, j3$"):
        with_fixed_joints(TEXT, ['j1', 'a', 'b'])
    with pytest.raises(DescriptionError, match='the root element is <sdf>'):
        with_fixed_joints('<sdf/>', [])
