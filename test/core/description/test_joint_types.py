# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint types: each row beside what the tree, the recursions and a URDF do with such a joint."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import screw_dynamics_ros
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import JOINT_TYPES, read_urdf
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.models import random_description

PACKAGE = Path(screw_dynamics_ros.__file__).parent

#: Attributes of a <joint> that a type needs besides its name.
ATTRIBUTES = {'helical': 'pitch="0.01"'}

#: Files with names of their own: rows of link tables, and lower pairs.
OTHER_NAMES = {
    'core/kinematics/link_table.py',
    'core/mechanisms/absolute_coordinates/lower_pairs.py',
}


def single(kind: str) -> Robot:
    """Return a robot of one random link on a joint of a type."""
    return Robot(random_description(4, 1, (kind,)), backend='reference')


@pytest.mark.parametrize('kind', JOINT_TYPES)
def test_the_row_says_how_many_coordinates_there_are(kind):
    robot, row = single(kind), JOINT_TYPES[kind]
    assert (robot.nq, robot.nv) == (row.nq, row.nv)
    assert row.is_scalar == (len(robot.joint_names) == 1 and robot.nv == 1)


@pytest.mark.parametrize('kind', JOINT_TYPES)
def test_turns_and_slides_are_what_the_motion_does(kind):
    """Rates of rotation and displacement of a point on the axis, from the Jacobian."""
    robot, row = single(kind), JOINT_TYPES[kind]
    J = robot.jacobian(robot.neutral(), 'link1')
    rotates = np.abs(J[:3]).max(axis=0, initial=0.0) > 0.5
    assert row.turns == bool(rotates.any())
    if row.is_scalar:
        assert (row.position_unit, row.effort_unit) == (('rad', 'N m') if rotates else ('m', 'N'))
    if not row.is_fixed:
        assert row.slides == bool((~rotates).any())


@pytest.mark.parametrize('kind', [name for name, row in JOINT_TYPES.items() if row.is_scalar])
def test_a_period_is_a_whole_turn(kind):
    robot, row = single(kind), JOINT_TYPES[kind]
    start, turned = (robot.link_pose([q], 'link1') for q in (0.3, 0.3 + 2 * np.pi))
    if row.is_periodic:
        np.testing.assert_allclose(start, turned, atol=1e-12)
        assert not row.has_range
    else:
        assert row.has_range


@pytest.mark.parametrize('kind', JOINT_TYPES)
def test_a_urdf_has_the_types_by_name(kind):
    description = read_urdf(
        f"""<robot name="one"><link name="a"/><link name="b"/>
        <joint name="j" type="{kind}" {ATTRIBUTES.get(kind, '')}><parent link="a"/>
        <child link="b"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="2" velocity="3" effort="4"/></joint></robot>"""
    )
    joint = description.joints[0]
    row = JOINT_TYPES[kind]
    refused = [str(each) for each in description.findings if 'the whole description' in str(each)]
    assert bool(refused) != row.in_urdf
    assert joint.kind is row
    assert (joint.limits.upper == 2.0) == row.has_range
    assert (joint.limits.effort == 4.0) == row.is_scalar
    assert (joint.axis.tolist() == [0.0, 1.0, 0.0]) == row.has_axis


def test_a_planar_joint_moves_in_the_plane_before_it_turns():
    X = np.concatenate(
        [body.X for body in build_tree(random_description(1, 1, ('planar',))).bodies], 1
    )
    np.testing.assert_array_equal(X, np.eye(6)[:, [3, 4, 2]])


def spelled(source: str) -> list[int]:
    """Return the lines on which a condition or a key is the name of a joint type."""
    tested = [
        part
        for node in ast.walk(ast.parse(source))
        for part in (
            (node.left, *node.comparators)
            if isinstance(node, ast.Compare)
            else filter(None, node.keys)
            if isinstance(node, ast.Dict)
            else ()
        )
    ]
    return sorted(
        text.lineno
        for part in tested
        for text in ast.walk(part)
        if isinstance(text, ast.Constant) and text.value in JOINT_TYPES
    )


def test_conditions_ask_the_row_and_spell_no_type():
    """So that a new type is a row, and nothing that has to be found."""
    found = {
        file.relative_to(PACKAGE).as_posix(): lines
        for file in PACKAGE.rglob('*.py')
        if (lines := spelled(file.read_text(encoding='utf-8')))
    }
    assert set(found) == OTHER_NAMES, found


def test_a_spelled_type_is_found():
    assert spelled("if joint.type in ('revolute', 'x'):\n    pass") == [1]
    assert spelled("x = {\n'planar': 3}[joint.type]") == [2]
    assert spelled("kind = 'revolute'\nif x:\n    pass") == []
