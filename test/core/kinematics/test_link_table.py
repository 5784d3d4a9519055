# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Link tables of any convention: products of their rows, printed numbers, what is refused.

The conventions themselves are in `test_denavit_hartenberg.py`.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.linalg import expm

from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.kinematics.link_table import LinkTable, shift, turn, virtual_joint
from screw_dynamics_ros.core.kinematics.product_of_exponentials import BodyScrews, SpatialScrews
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import StandardRow
from screw_dynamics_ros.core.textbook.link_tables.hayati_roberts import HayatiRobertsRow, automatic
from support.models import random_pose

RNG = np.random.default_rng(3)
BASE, TOOL = random_pose(RNG), random_pose(RNG)
ROWS = [
    StandardRow('revolute', 0.1, 0.2, 0.3, 0.4),
    StandardRow('prismatic', -0.5, 0.6, 0.7, -0.8),
    HayatiRobertsRow('revolute', 0.9, 0.25, 0.35, -0.45),
]
Q = np.array([0.7, -0.3, 1.9])


def screw_motion(k: int, x: float) -> np.ndarray:
    """Return the rotation about the axis k = 0, 1, 2 or the translation along k - 3."""
    return expm(x * se3.hat(np.eye(6)[k]))


def by_hand() -> np.ndarray:
    """Return the pose of the last body, factor by factor."""
    C = BASE
    for row, q in zip(ROWS, Q):
        C = C @ row.before @ screw_motion(2 if row.joint == 'revolute' else 5, q) @ row.after
    return C @ TOOL


def test_elementary_transforms():
    """About and along each axis; a virtual joint has this motion in the axes of another frame."""
    for k in range(3):
        np.testing.assert_allclose(turn(k, 0.3), screw_motion(k, 0.3), atol=1e-15)
        np.testing.assert_allclose(shift(k, 0.3), screw_motion(k + 3, 0.3), atol=1e-15)
    for k in range(6):
        moved = BASE @ expm(0.4 * se3.hat(virtual_joint(k, BASE)))
        np.testing.assert_allclose(moved, screw_motion(k, 0.4) @ BASE, atol=1e-14)


def test_pose_is_the_product_of_the_rows():
    table = LinkTable(ROWS, BASE, TOOL)
    np.testing.assert_allclose(table.pose(Q), by_hand(), atol=1e-14)
    stack = np.stack([Q, np.zeros(3)])
    np.testing.assert_allclose(table.pose(stack)[0], by_hand(), atol=1e-14)
    poses = table.joint_frames().poses(Q)
    np.testing.assert_allclose(poses[-1], by_hand(), atol=1e-14)
    np.testing.assert_allclose(poses[0], BASE @ ROWS[0].transform(Q[0]), atol=1e-14)
    bare = LinkTable(ROWS)
    np.testing.assert_array_equal(bare.base, np.eye(4))
    np.testing.assert_allclose(BASE @ bare.pose(Q) @ TOOL, by_hand(), atol=1e-14)
    assert bare.names == bare.joint_frames().names == ('joint1', 'joint2', 'joint3')
    for size in (2, 4):
        with pytest.raises(ArgumentError, match=rf'q must have shape \(\.\.\., 3\), got \({size},'):
            table.pose(np.zeros(size))
    with pytest.raises(ArgumentError, match=r'got \(\)'):
        LinkTable(ROWS[:1]).pose(0.5)
    for pose in (table.base, table.tool):
        with pytest.raises(ValueError, match='read-only'):
            pose[0, 0] = 1.0


def test_printed_tables_can_be_read_back():
    """Conventions where they change, then names, types and constants with nine digits; units."""
    text = str(LinkTable(ROWS, BASE, TOOL, ['a', 'b', 'c']))
    lines = text.splitlines()
    standard, hayati = (
        next(k for k, line in enumerate(lines) if line.startswith(f'{kind}: T = '))
        for kind in ('StandardRow', 'HayatiRobertsRow')
    )
    assert lines[standard].endswith(StandardRow.convention)
    assert lines[hayati].endswith(HayatiRobertsRow.convention)
    assert text.count('T = ') == 2
    for row, name, header, line in (
        (ROWS[0], 'a', lines[standard + 1], lines[standard + 2]),
        (ROWS[1], 'b', lines[standard + 1], lines[standard + 3]),
        (ROWS[2], 'c', lines[hayati + 1], lines[hayati + 2]),
    ):
        cells = dict(zip(header.split(), line.split(), strict=True))
        assert (cells.pop('joint'), cells.pop('type')) == (name, row.joint)
        assert {key: float(value) for key, value in cells.items()} == row.parameters()
    numbers = [float(x) for x in re.findall(r'-?\d+\.\d*(?:e-?\d+)?', text.split('tool:')[1])]
    np.testing.assert_allclose(np.reshape(numbers, (4, 4)), TOOL, atol=1e-7)
    numbers = [float(x) for x in re.findall(r'-?\d+\.\d*(?:e-?\d+)?', text.split('Stan')[0])]
    np.testing.assert_allclose(np.reshape(numbers, (4, 4)), BASE, atol=1e-7)
    assert lines[-1] == 'rad, m, right-handed frames'


def test_findings_name_the_joint():
    table = LinkTable([ROWS[0], StandardRow('revolute', alpha=1e-5, a=0.1)], names=['a', 'b'])
    (finding,) = table.findings
    assert (finding.severity, finding.subject) == ('warning', 'joint b')
    assert 'parallel up to 1e-05 rad' in finding.message
    assert finding.remedy == 'use the rows of automatic()'


def test_tables_that_are_refused():
    reflected, shifted = np.diag([1.0, 1.0, -1.0, 1.0]), np.eye(4)
    shifted[0, 3] = np.inf
    for make, message in (
        (lambda: LinkTable([]), 'a table of 0 rows and 0 joint names'),
        (lambda: LinkTable(ROWS, names=['a', 'b']), 'a table of 3 rows and 2 joint names'),
        (lambda: LinkTable(ROWS, base=reflected), 'base: not a rotation matrix'),
        (lambda: LinkTable(ROWS, tool=reflected), 'tool: not a rotation matrix'),
        (lambda: LinkTable(ROWS, tool=shifted), r'tool must be a finite \(4, 4\) matrix'),
        (lambda: LinkTable(ROWS, base=np.eye(3)), r'base must be a finite \(4, 4\) matrix'),
        (lambda: StandardRow('helical'), "StandardRow: joint is 'helical'; .*revolute, prismatic"),
        (lambda: StandardRow('revolute', d=np.inf), 'StandardRow: d = inf; give a number'),
    ):
        with pytest.raises(DescriptionError, match=message):
            make()


def chain(pitch: float = 0.0) -> SpatialScrews:
    """Return three revolute joints, a prismatic one and another one, with axes anywhere."""
    rng = np.random.default_rng(9)
    screws = []
    for kind in ('revolute', 'revolute', 'prismatic', 'revolute'):
        e, p = rng.normal(size=3), rng.normal(size=3)
        e /= np.linalg.norm(e)
        screws.append([*np.zeros(3), *e] if kind == 'prismatic' else [*e, *np.cross(p, e)])
    screws[1][3:] += pitch * np.array(screws[1][:3])
    A = [random_pose(rng) for _ in screws]
    return SpatialScrews(A, screws, names=['a', 'b', 'c', 'd'])


def test_tables_of_chains():
    """The pose of the last body at every q, and the names."""
    geometry, q = chain(), np.array([0.3, -1.2, 0.4, 2.0])
    expected = np.eye(4)
    for Y, x in zip(geometry.Y, q):
        expected = expected @ expm(x * se3.hat(Y))
    for fit in (StandardRow.fit, automatic):
        table = LinkTable.of(geometry, fit)
        np.testing.assert_allclose(table.pose(q), expected @ geometry.A[-1], atol=1e-13)
        assert table.names == ('a', 'b', 'c', 'd')
        assert [row.joint for row in table.rows] == [
            'revolute', 'revolute', 'prismatic', 'revolute'
        ]  # fmt: skip


def test_chains_that_have_no_table():
    with pytest.raises(DescriptionError, match=r"joint 'b' is helical with pitch 0\.25 m/rad"):
        LinkTable.of(chain(0.25), automatic)
    tree = BodyScrews([np.eye(4)] * 3, [[0, 0, 1, 0, 0, 0]] * 3, [-1, 0, 0], ['a', 'b', 'c'])
    with pytest.raises(DescriptionError, match="joint 'c' starts a branch"):
        LinkTable.of(tree, automatic)
    upright = [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -1, 0], [1, 0, 0, 0, 0, 0]]
    arm = BodyScrews([np.eye(4)] * 3, upright, names=['a', 'b', 'c'])
    with pytest.raises(DescriptionError, match=r"^after joint 'b': .*perpendicular"):
        LinkTable.of(arm, HayatiRobertsRow.fit)
