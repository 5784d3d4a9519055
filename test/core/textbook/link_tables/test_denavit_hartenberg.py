# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tables of link parameters: Denavit-Hartenberg, Hayati-Roberts, parametrically continuous.

Spec IDs: B-110 to B-113 with the errata of (5.6), (5.7), (5.8) and golden
numbers G13, G14; K-12.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.program.tracing import Recorder, Scalar
from screw_dynamics_ros.core.description import read_urdf
from screw_dynamics_ros.core.errors import DescriptionError
from screw_dynamics_ros.core.kinematics.link_table import LinkTable
from screw_dynamics_ros.core.kinematics.product_of_exponentials import JointFrames, SpatialScrews
from screw_dynamics_ros.core.kinematics.robot_geometry import description_of, geometry_of
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import (
    ModifiedRow,
    StandardRow,
    modified,
    standard,
)
from screw_dynamics_ros.core.textbook.link_tables.hayati_roberts import (
    ContinuousRow,
    HayatiRobertsRow,
    automatic,
)
from support.models import random_pose, random_unit
from support.poe_models import random_geometry, random_trajectory
from support.robots import urdf_path

GOLDEN = 2e-10  # the numbers of the specification have ten decimals

G13 = [
    [0.9553364891, -0.1836983063, -0.2314889302, 0.4776682446],
    [0.2955202067, 0.5938466847, 0.7483407797, 0.1477601033],
    [0, -0.7833269096, 0.6216099683, 0.2],
    [0, 0, 0, 1],
]
G14 = [
    [0.9551454282, -0.2959603103, 0.0102325828, 0.4776682446],
    [0.2954611046, 0.9547293462, 0.0345631467, 0.1477601033],
    [-0.0199986667, -0.0299895013, 0.9993501304, 0],
    [0, 0, 0, 1],
]

SEEDS = pytest.mark.parametrize('seed', range(2))
FITS = pytest.mark.parametrize(
    'fit', [StandardRow.fit, HayatiRobertsRow.fit, ContinuousRow.fit, automatic]
)


def about(axis: str, angle: float) -> np.ndarray:
    C = np.eye(4)
    C[:3, :3] = Rotation.from_euler(axis, angle).as_matrix()
    return C


def along(axis: str, distance: float) -> np.ndarray:
    C = np.eye(4)
    C['xyz'.index(axis), 3] = distance
    return C


# --- rows -----------------------------------------------------------------------------------------


def test_golden_denavit_hartenberg():
    """B-110, G13: the book's alpha, h, d, theta are theta, d, a, alpha here."""
    row = StandardRow('revolute', theta=0.3, d=0.2, a=0.5, alpha=-0.9)
    np.testing.assert_allclose(row.transform(0.0), G13, rtol=0, atol=GOLDEN)
    c, s, ct, st = np.cos(0.3), np.sin(0.3), np.cos(-0.9), np.sin(-0.9)
    corrected = [
        [c, -s * ct, s * st, 0.5 * c],
        [s, c * ct, -c * st, 0.5 * s],
        [0, st, ct, 0.2],
        [0, 0, 0, 1],
    ]
    np.testing.assert_allclose(row.transform(0.0), corrected, atol=1e-15)


def test_printed_denavit_hartenberg_matrix_fails():
    """Erratum of (5.6): entry (2, 4) is printed 0 instead of d sin(alpha), here a sin(theta)."""
    printed = np.array(G13)
    printed[1, 3] = 0.0
    row = StandardRow('revolute', theta=0.3, d=0.2, a=0.5, alpha=-0.9)
    by_factors = about('z', 0.3) @ along('z', 0.2) @ along('x', 0.5) @ about('x', -0.9)
    np.testing.assert_allclose(row.transform(0.0), by_factors, atol=1e-15)
    assert np.abs(printed - by_factors).max() > 0.1


def test_golden_hayati_roberts():
    """B-111, G14."""
    row = HayatiRobertsRow('revolute', alpha=0.3, d=0.5, gamma=0.02, beta=-0.03)
    np.testing.assert_allclose(row.transform(0.0), G14, rtol=0, atol=GOLDEN)


@pytest.mark.parametrize('joint', ['revolute', 'prismatic'])
def test_rows_are_the_products_they_say(joint):
    """B-110, B-111, K-12: (5.7) needs Tr(Z, h) for a prismatic joint."""
    q, t, d, a, al, be = 0.37, 0.3, 0.2, 0.5, -0.9, 0.4
    turn, slide = (q, 0.0) if joint == 'revolute' else (0.0, q)
    z = about('z', t + turn) @ along('z', d + slide)
    np.testing.assert_allclose(
        StandardRow(joint, t, d, a, al).transform(q), z @ along('x', a) @ about('x', al), atol=1e-15
    )
    np.testing.assert_allclose(
        ModifiedRow(joint, t, d, a, al).transform(q), about('x', al) @ along('x', a) @ z, atol=1e-15
    )
    np.testing.assert_allclose(
        HayatiRobertsRow(joint, t, a, al, be, d).transform(q),
        z @ along('x', a) @ about('y', al) @ about('x', be),
        atol=1e-15,
    )


@pytest.mark.parametrize('down', [False, True])
def test_continuous_row(down):
    """B-112: third column b, the smallest rotation from Z to b; (lx, ly) in the X-Y plane."""
    row = ContinuousRow('prismatic', 0.3, -0.4, 0.5, 0.6, 0.1, down)
    T = row.transform(0.25)
    b = row.direction
    np.testing.assert_allclose(
        T[:3, 2], [0.3, -0.4, (-1 if down else 1) * np.sqrt(0.75)], atol=1e-15
    )
    np.testing.assert_allclose(T[:3, :3].T @ T[:3, :3], np.eye(3), atol=1e-15)
    angle = np.linalg.norm(Rotation.from_matrix(T[:3, :3]).as_rotvec())
    np.testing.assert_allclose(angle, np.arccos(b[2]), atol=1e-14)
    np.testing.assert_allclose(T[:3, 3], [0.5, 0.6, 0.1 + 0.25], atol=1e-15)


def test_continuous_row_is_continuous_at_z():
    """B-112: b -> Z in any direction gives the identity; the other pole is singular but served."""
    for direction in range(8):
        bx, by = 1e-9 * np.array([np.cos(direction), np.sin(direction)])
        T = ContinuousRow('revolute', bx, by).transform(0.0)
        np.testing.assert_allclose(T, np.eye(4), rtol=0, atol=2e-9)
    T = ContinuousRow('revolute', down=True).transform(0.0)
    np.testing.assert_allclose(T[:3, 2], [0, 0, -1])
    np.testing.assert_allclose(np.linalg.det(T[:3, :3]), 1.0)


# --- parameters move as little as their lines -----------------------------------------------------


def test_nearly_parallel_axes():
    """B-111, B-113: a tilt by 1e-6 changes HR and PC by about as much; DH jumps and says so."""
    p, tilt = np.array([0.3, 0.2, 0.1]), 1e-6
    straight, tilted = np.array([0, 0, 1.0]), np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    for cls in (HayatiRobertsRow, ContinuousRow):
        a, b = (
            np.array(list(cls.fit('revolute', e, p).parameters().values()))
            for e in (straight, tilted)
        )
        assert np.abs(a - b).max() < 3 * tilt
    a, b = (StandardRow.fit('revolute', e, p) for e in (straight, tilted))
    assert abs(a.d - b.d) > 1e4
    assert not a.doubt
    assert 'parallel up to 1e-06 rad' in b.doubt
    assert isinstance(automatic('revolute', tilted, p), HayatiRobertsRow)
    assert isinstance(automatic('revolute', np.array([0.6, 0, 0.8]), p), StandardRow)
    table = LinkTable([b])
    assert [finding.subject for finding in table.findings] == ['joint joint1']


def test_perpendicular_axes_need_another_convention():
    e, p = np.array([1.0, 0, 0]), np.array([0, 0.3, 0.2])
    for cls in (HayatiRobertsRow, ContinuousRow):
        with pytest.raises(DescriptionError, match='perpendicular'):
            cls.fit('revolute', e, p)
        assert 'perpendicular' in cls.fit('revolute', np.array([1.0, 0.0, 1e-3]), p).doubt
    assert isinstance(automatic('revolute', e, p), StandardRow)


@FITS
@pytest.mark.parametrize('joint', ['revolute', 'prismatic'])
def test_fit_puts_z_on_the_line(fit, joint):
    rng = np.random.default_rng(3)
    for _ in range(20):
        e, p = random_unit(rng), rng.uniform(-1, 1, 3)
        T = fit(joint, e, p).transform(0.0)
        np.testing.assert_allclose(T[:3, 2], e, rtol=0, atol=1e-12)
        np.testing.assert_allclose(np.cross(T[:3, 3] - p, e), np.zeros(3), atol=1e-11)
        direction_only = fit(joint, e, None).transform(0.0)
        np.testing.assert_allclose(direction_only[:3, 2], e, rtol=0, atol=1e-12)
        np.testing.assert_allclose(direction_only[:3, 3], np.zeros(3), atol=1e-15)


# --- tables ---------------------------------------------------------------------------------------


@SEEDS
@FITS
def test_tables_of_products_of_exponentials(seed, fit):
    """B-113: PoE to table to PoE with base and tool: the same pose at every q."""
    geometry = random_geometry(seed, 6, 'RP', chain=True)
    table = LinkTable.of(geometry, fit)
    for scale in (0.0, 1.0, 3.0):
        q = scale * random_trajectory(seed, 6)[0]
        np.testing.assert_allclose(table.pose(q), geometry.poses(q)[-1], rtol=0, atol=1e-11)
        np.testing.assert_allclose(table.joint_frames().poses(q)[-1], table.pose(q), atol=1e-14)
        spatial = SpatialScrews.of(table.joint_frames())
        np.testing.assert_allclose(spatial.poses(q)[-1], table.pose(q), atol=1e-14)
    assert table.names == geometry.names


@SEEDS
def test_parallel_and_intersecting_axes(seed):
    """Successive axes that are parallel, antiparallel, the same or meet: all in one chain."""
    rng = np.random.default_rng(seed)
    e, f = random_unit(rng), random_unit(rng)
    lines = [
        (e, [0.1, 0.2, 0.3]),
        (e, [0.4, 0.1, 0.3]),
        (-e, [0.0, 0.5, 0.2]),
        (-e, [0.0, 0.5, 0.2]),
        (f, [0.0, 0.5, 0.2]),
        (e, [0.3, 0.3, 0.3]),
    ]
    Y = np.array([np.concatenate([d, np.cross(p, d)]) for d, p in lines])
    geometry = SpatialScrews(np.stack([random_pose(rng) for _ in lines]), Y)
    q = random_trajectory(seed, len(lines))[0]
    for fit in (StandardRow.fit, automatic):
        table = LinkTable.of(geometry, fit)
        np.testing.assert_allclose(table.pose(q), geometry.poses(q)[-1], rtol=0, atol=1e-12)
        assert not any('nan' in str(row) for row in table.rows)


@pytest.mark.parametrize(('name', 'tip'), [('panda', 'panda_hand'), ('ur5_robot', 'tool0')])
def test_tables_of_urdfs(name, tip):
    """B-113: URDF -> DH and mixed table -> robot description -> the same pose."""
    description = read_urdf(urdf_path(name))
    robot = Robot(description, backend='reference')
    geometry = geometry_of(description)
    frame = geometry.frames[tip]
    chain = geometry.screws.chain(frame.body)
    chain = chain.with_body_frames([*[np.eye(4)] * (len(chain) - 1), frame.S])
    q = np.random.default_rng(0).uniform(-2, 2, robot.nq)
    own = q[[robot.joint_names.index(joint) for joint in chain.names]]
    for fit in (StandardRow.fit, automatic):
        table = LinkTable.of(chain, fit)
        np.testing.assert_allclose(table.pose(own), robot.link_pose(q, tip), rtol=0, atol=1e-9)
        again = Robot(description_of(table.joint_frames()), backend='reference')
        np.testing.assert_allclose(
            again.link_pose(own, again.link_names[-1]), table.pose(own), rtol=0, atol=1e-10
        )


def test_a_table_from_a_data_sheet():
    """The modified DH table of the Panda arm, as its maker prints it, against the URDF."""
    half = np.pi / 2
    rows = [
        ModifiedRow('revolute', 0.0, d, a, alpha)
        for a, d, alpha in [
            (0, 0.333, 0),
            (0, 0, -half),
            (0, 0.316, half),
            (0.0825, 0, half),
            (-0.0825, 0.384, -half),
            (0, 0, half),
            (0.088, 0, half),
        ]
    ]
    table = LinkTable(rows, tool=along('z', 0.107))
    robot = Robot(read_urdf(urdf_path('panda')), backend='reference')
    q = np.zeros(robot.nq)
    q[:7] = random_trajectory(1, 7)[0]
    np.testing.assert_allclose(table.pose(q[:7]), robot.link_pose(q, 'panda_link8'), atol=1e-14)
    np.testing.assert_allclose(standard(table).pose(q[:7]), table.pose(q[:7]), atol=1e-15)
    assert all(isinstance(row, StandardRow) for row in standard(table).rows)


@SEEDS
def test_standard_and_modified_tables(seed):
    """K-12: the same constants, a and alpha one row down; there and back."""
    table = LinkTable.of(random_geometry(seed, 5, 'RP', chain=True), StandardRow.fit)
    q = random_trajectory(seed, 5)[0]
    there = modified(table)
    np.testing.assert_allclose(there.pose(q), table.pose(q), atol=1e-14)
    np.testing.assert_allclose(there.joint_frames().S_i[:-1], np.broadcast_to(np.eye(4), (4, 4, 4)))
    back = standard(there)
    np.testing.assert_allclose(back.pose(q), table.pose(q), atol=1e-14)
    assert [row.d for row in back.rows] == [row.d for row in table.rows]
    assert [row.alpha for row in there.rows] == [0.0, *[row.alpha for row in table.rows[:-1]]]
    with pytest.raises(DescriptionError, match='rows of StandardRow; all must be ModifiedRow'):
        standard(table)


def test_shape_matrices_of_the_conventions():
    """K-12: S_{i-1,i}, S_{i,i} and Z of standard and modified DH."""
    t, d, a, al = 0.3, 0.2, 0.5, -0.9
    frames: JointFrames = LinkTable([StandardRow('prismatic', t, d, a, al)]).joint_frames()
    np.testing.assert_allclose(frames.S_p[0], about('z', t) @ along('z', d), atol=1e-15)
    np.testing.assert_allclose(
        np.linalg.inv(frames.S_i[0]), along('x', a) @ about('x', al), atol=1e-15
    )
    np.testing.assert_array_equal(frames.Z[0], [0, 0, 0, 0, 0, 1])
    frames = LinkTable([ModifiedRow('revolute', t, d, a, al)]).joint_frames()
    np.testing.assert_array_equal(frames.S_i[0], np.eye(4))
    np.testing.assert_array_equal(frames.Z[0], [0, 0, 1, 0, 0, 0])


def test_recorded_scalars_and_stacks():
    table = LinkTable([StandardRow('revolute', a=0.5), StandardRow('prismatic', alpha=1.0)])
    assert isinstance(table.pose(Recorder().inputs('q', 2))[0, 3], Scalar)
    q = np.random.default_rng(0).uniform(-1, 1, (4, 3, 2))
    assert table.pose(q).shape == (4, 3, 4, 4)
    np.testing.assert_allclose(table.pose(q)[1, 2], table.pose(q[1, 2]), atol=1e-16)


def test_an_axis_longer_than_one_is_refused():
    with pytest.raises(DescriptionError, match='longer than 1'):
        ContinuousRow('revolute', 0.8, 0.7)
