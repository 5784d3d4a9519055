# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which family a chain is of (B-005, C-087, C-088, C-095)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.classifier import AxisTriple, axis_triples, classify
from screw_dynamics_ros.core.arms.families.prismatic_families import GantryWithWrist
from screw_dynamics_ros.core.arms.families.three_parallel_axes import ThreeParallelAxes
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.errors import UnknownNameError
from screw_dynamics_ros.core.kinematics.link_table import LinkTable
from screw_dynamics_ros.core.kinematics.robot_geometry import description_of
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.textbook.link_tables.denavit_hartenberg import StandardRow
from support.robots import urdf_path
from support.serial_families import RANDOM_ARMS, branches

RIGHT = np.pi / 2

#: Robots of example-robot-data; a link, its family, triples of axes (first, relation).
REAL = [
    ('ur_description/urdf/ur5_robot', 'ee_link', 'three parallel axes', ((1, 'parallel'),)),
    ('ur_description/urdf/ur10_robot', 'ee_link', 'three parallel axes', ((1, 'parallel'),)),
    ('kinova', 'j2s6s200_end_effector', '321', ((3, 'intersecting'),)),
    ('panda', 'panda_link7', 'redundant', ((0, 'intersecting'),)),
    ('talos_left_arm', 'gripper_left_fingertip_1_link', 'pieper', ((3, 'intersecting'),)),
    ('talos_reduced', 'left_sole_link', 'pieper', ((0, 'intersecting'), (2, 'parallel'))),
    ('so101', 'moving_jaw_so101_v1_link', 'pieper', ((1, 'parallel'),)),
    ('icub', 'imu_frame', 'generic', ()),
    ('romeo_laas_small', 'LHipPitchCollision_shape', 'spherical', ((0, 'intersecting'),)),
]

#: Published tables in the standard convention: kinds of joints, d, a [m], alpha [rad], family.
TABLES = {
    # Unimation PUMA 560, Corke and Armstrong-Helouvry 1994
    'PUMA 560': (
        'RRRRRR',
        [0, 0, 0.15005, 0.4318, 0, 0],
        [0, 0.4318, 0.0203, 0, 0, 0],
        [RIGHT, 0, -RIGHT, RIGHT, -RIGHT, 0],
        '321',
    ),
    # KUKA KR 5 arc, data sheet: base and elbow offsets
    'KR 5': (
        'RRRRRR',
        [0.4, 0, 0, 0.62, 0, 0.115],
        [0.18, 0.6, 0.12, 0, 0, 0],
        [RIGHT, 0, RIGHT, -RIGHT, RIGHT, 0],
        '321',
    ),
    # Universal Robots UR5e, DH table of the manufacturer
    'UR5e': (
        'RRRRRR',
        [0.1625, 0, 0, 0.1333, 0.0997, 0.0996],
        [0, -0.425, -0.3922, 0, 0, 0],
        [RIGHT, 0, 0, RIGHT, -RIGHT, 0],
        'three parallel axes',
    ),
    # Barrett WAM, seven joints, manual of the manufacturer
    'WAM': (
        'RRRRRRR',
        [0, 0, 0.55, 0, 0.3, 0, 0.06],
        [0, 0, 0.045, -0.045, 0, 0, 0],
        [-RIGHT, RIGHT, -RIGHT, RIGHT, -RIGHT, RIGHT, 0],
        'S-R-S',
    ),
    # SCARA with the slide third, pointing down, as in the Adept Cobra s600 (325 and 275 mm)
    'Cobra s600': ('RRPR', [0.387, 0, 0, 0], [0.325, 0.275, 0, 0], [0, 2 * RIGHT, 0, 0], 'SCARA'),
    # Stanford arm, Paul 1981: a slide in the arm, spherical wrist
    'Stanford': (
        'RRPRRR',
        [0.412, 0.154, 0, 0, 0, 0.263],
        [0, 0, 0, 0, 0, 0],
        [-RIGHT, RIGHT, 0, -RIGHT, RIGHT, 0],
        'pieper',
    ),
}


@pytest.mark.parametrize(('name', 'link', 'family', 'triples'), REAL, ids=[r[0] for r in REAL])
def test_real_robots(name, link, family, triples):
    """C-087, C-088: what arms of example-robot-data are."""
    robot = Robot.from_urdf(urdf_path(name), backend='reference')
    chain = SerialChain.of(robot.tree, link)
    found = classify(chain)
    assert found.name == family, found.message
    assert found.triples == tuple(AxisTriple(*each) for each in triples)
    if found.arm is not None:
        q = np.random.default_rng(0).uniform(-2, 2, len(chain))
        C = chain.pose(q)
        solution = found.arm.branches(C)[found.arm.branch_of(q)]
        # The files have five digits, which is what their axes meet to.
        np.testing.assert_allclose(chain.pose(solution), C, atol=1e-5)


@pytest.mark.parametrize('name', TABLES)
def test_published_tables(name):
    """C-095: each loads, is classified and solved; the pose that was made is reached."""
    kinds, d, a, alpha, family = TABLES[name]
    rows = [
        StandardRow('revolute' if kind == 'R' else 'prismatic', d=x, a=y, alpha=z)
        for kind, x, y, z in zip(kinds, d, a, alpha)
    ]
    robot = Robot(description_of(LinkTable(rows).joint_frames()), backend='reference')
    tool = f'body{len(rows)}'
    found = classify(SerialChain.of(robot.tree, tool))
    assert found.name == family, found.message
    for q in np.random.default_rng(1).uniform(-3, 3, (5, len(rows)) if found.arm else (0, 6)):
        C = robot.link_pose(q, tool)
        solution = branches(found.arm, C, q)[found.arm.branch_of(q)]
        np.testing.assert_allclose(robot.link_pose(solution, tool), C, atol=1e-10)


def test_an_arm_that_became_generic():
    """B-005: closed form for the 321 arm, none for the same arm with an axis tilted by 1e-3 rad."""
    chain = ThreeTwoOne(0.4, 0.5, 0.45, 0.1).chain()
    assert classify(chain).arm is not None
    for joint, name in ((2, 'pieper'), (4, 'generic')):
        tilted = chain.screws.copy()
        point = np.array([0.0, 0.3, 0.9 if joint == 2 else 1.3])
        e = tilted[joint, :3] + [0.0, 0.0, 1e-3]
        tilted[joint] = screws.unit_screw(e, point)
        found = classify(SerialChain(chain.joint_names, tilted, chain.home))
        assert found.name == name
        assert found.arm is None
    assert 'no three consecutive axes intersect or are parallel' in found.message


def test_the_tolerance_is_that_of_the_caller():
    chain = ThreeTwoOne(0.4, 0.5, 0.45, 0.1).chain()
    tilted = chain.screws.copy()
    tilted[2] = screws.unit_screw([-1.0, 0.0, 1e-3], [0.0, 0.0, 0.9])
    chain = SerialChain(chain.joint_names, tilted, chain.home)
    assert classify(chain).name == 'pieper'
    assert classify(chain, 1e-2).name == '321'


def chain_of(*axes):
    """Return a chain of ('R' or 'P', direction, point)."""
    own = [screws.unit_screw(e, p, np.inf if kind == 'P' else 0.0) for kind, e, p in axes]
    names = tuple(f'j{i}' for i in range(len(own)))
    return SerialChain(names, np.reshape(own, (-1, 6)), np.eye(4))


X, Y, Z, ORIGIN = (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)


@pytest.mark.parametrize(
    ('axes', 'name'),
    [
        ([('R', Z, ORIGIN), ('R', Z, X), ('R', Z, (2, 0, 0))], 'planar'),
        ([('P', X, ORIGIN), ('P', Y, ORIGIN), ('R', Z, ORIGIN)], 'planar'),
        ([('P', X, ORIGIN), ('P', Y, ORIGIN), ('P', Z, ORIGIN)], 'cartesian'),
        ([('R', X, ORIGIN), ('R', Y, ORIGIN), ('R', Z, ORIGIN)], 'spherical'),
        ([('R', X, ORIGIN), ('R', Z, Y)], 'few joints'),
        ([('P', Z, ORIGIN), ('R', Z, Y)], 'few joints'),
        ([], 'few joints'),
    ],
)
def test_small_arms(axes, name):
    assert classify(chain_of(*axes)).name == name


def test_triples():
    """C-088: three consecutive axes through a point, parallel, or slides in three directions."""
    slides = chain_of(
        ('P', X, ORIGIN),
        ('P', Y, ORIGIN),
        ('P', Z, ORIGIN),
        ('R', X, ORIGIN),
        ('R', Y, ORIGIN),
        ('R', X, ORIGIN),
    )
    assert axis_triples(slides) == (AxisTriple(0, 'sliding'), AxisTriple(3, 'intersecting'))
    assert classify(slides).name == 'gantry'
    flat = ('P', X, ORIGIN), ('P', Y, ORIGIN), ('P', X, ORIGIN)
    assert axis_triples(chain_of(*flat)) == ()
    wrist = ('R', X, ORIGIN), ('R', Y, ORIGIN), ('R', X, ORIGIN)
    assert classify(chain_of(*flat, *wrist)).name == 'pieper'


def test_an_arm_on_a_gantry():
    """C-093: nine joints; with three of them locked it is the arm, and the pose is reached."""
    arm = ThreeTwoOne(0.4, 0.5, 0.45, 0.1)
    slides = screws.unit_screw(np.eye(3), pitch=np.inf)
    own = arm.chain()
    names = ('x', 'y', 'z', *own.joint_names)
    chain = SerialChain(names, np.concatenate([slides, own.screws]), own.home)
    assert classify(chain).name == 'redundant'
    q = np.array([0.2, -0.3, 0.1, 0.3, 0.4, 0.7, -0.5, 0.6, 1.1])
    for locked in ({'x': 0.2, 'y': -0.3, 'z': 0.1}, {'x': 0.1, 'y': 0.0, 'z': 0.0}):
        rest = chain.locked(locked)
        found = classify(rest)
        assert found.name == '321'
        solutions = found.arm.branches(chain.pose(q))
        reached = [np.abs(rest.pose(each) - chain.pose(q)).max() < 1e-9 for each in solutions]
        assert any(reached)
    with pytest.raises(UnknownNameError, match="no joint named 'w'"):
        chain.locked({'w': 0.0})
    # Locked joints of the arm instead: what is left is a gantry with the wrist of the arm.
    wrist = chain.locked(dict.fromkeys(own.joint_names[:3], 0.3))
    assert isinstance(classify(wrist).arm, GantryWithWrist)


def test_a_scara_resists_moments():
    """C-092: its twists have rank 4; moments across its axes need no torque."""
    arm = RANDOM_ARMS['SCARA'](np.random.default_rng(3))
    J = arm.chain().jacobian([0.3, 0.4, 0.7, 0.1])
    assert np.linalg.matrix_rank(J) == 4
    for axis in arm.base[:3, :2].T:
        np.testing.assert_allclose(J.T @ [*axis, 0, 0, 0], 0.0, atol=1e-12)


def test_ur_wrist_singularity_is_solved_with_any_last_joint():
    """At q5 = 0 axis 6 is parallel to 2, 3 and 4; a model whose hand is at q6 = 0 is found."""
    arm = ThreeParallelAxes(0.16, 0.43, 0.39, 0.1, 0.1, shoulder_offset=0.13)
    q = np.array([0.3, 0.4, 0.7, -0.5, 0.0, 0.0])
    C = arm.chain().pose(q)
    errors = [np.abs(arm.chain().pose(each) - C).max() for each in branches(arm, C, q)]
    assert min(errors) < 1e-9


def test_home_is_part_of_a_family():
    """Another tool changes the hand and the tool of the arm, nothing else."""
    arm = ThreeTwoOne(0.4, 0.5, 0.45, 0.1)
    tool = se3.exp([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    chain = arm.chain()
    found = ThreeTwoOne.recognized(SerialChain(chain.joint_names, chain.screws, chain.home @ tool))
    np.testing.assert_allclose(found.chain().home, chain.home @ tool, atol=1e-12)
    assert found.l6 == pytest.approx(0.1 + tool[2, 3])
