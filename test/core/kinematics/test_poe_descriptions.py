# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Geometry as products of exponentials, from and to robot descriptions.

Spec IDs: K-04, K-12 to K-19, D-31 (part), B-107, B-113, B-114, B-118. The
reference is the product of joint motions in extended precision (`poe_models.Reference`).
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles.lagrange import Lagrange
from screw_dynamics_ros.core import Robot, ScrewDynamicsError
from screw_dynamics_ros.core.compile.program.tracing import Recorder, Scalar
from screw_dynamics_ros.core.description import Limits, read_urdf
from screw_dynamics_ros.core.description.urdf_writer import write_urdf
from screw_dynamics_ros.core.dynamics.coriolis import coriolis_matrix
from screw_dynamics_ros.core.dynamics.energy_and_momentum import first_moment, kinetic_energy
from screw_dynamics_ros.core.dynamics.forward_dynamics import forward_dynamics
from screw_dynamics_ros.core.dynamics.inverse_dynamics import inverse_dynamics
from screw_dynamics_ros.core.dynamics.mass_matrix import mass_matrix
from screw_dynamics_ros.core.errors import ArgumentError, DescriptionError
from screw_dynamics_ros.core.kinematics.product_of_exponentials import (
    BodyScrews,
    ConstructionScrews,
    Geometry,
    JointFrames,
    PredecessorScrews,
    SpatialScrews,
)
from screw_dynamics_ros.core.kinematics.robot_geometry import (
    description_of,
    geometry_of,
    moved_inertia,
    tree_of,
)
from screw_dynamics_ros.core.lie import screws, se3
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.models import random_configuration, random_description, random_pose
from support.poe_models import Reference, random_geometry, random_inertias, random_trajectory
from support.robots import urdf_path

SEEDS = pytest.mark.parametrize('seed', range(2))
WITH_BODY_FRAMES = (JointFrames, BodyScrews, PredecessorScrews, SpatialScrews)
ALL = (*WITH_BODY_FRAMES, ConstructionScrews)
GRAVITY = np.array([0.5, -1.0, -9.81])


def reference_poses(geometry: BodyScrews, q: np.ndarray) -> np.ndarray:
    return np.stack([Reference(geometry, i).pose(q).astype(float) for i in range(len(geometry))])


def state(seed: int, n: int) -> np.ndarray:
    return 2.0 * random_trajectory(seed, n)[0]


# --- the five descriptions ------------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize('description', WITH_BODY_FRAMES)
def test_descriptions_give_the_same_poses(seed, description):
    """K-12, K-13, K-14, K-15, K-19: mixed joints, off-origin axes, a branching tree."""
    geometry = random_geometry(seed, 7)
    q = state(seed, 7)
    poses = description.of(geometry).poses(q)
    np.testing.assert_allclose(poses, reference_poses(geometry, q), rtol=0, atol=2e-15)


@SEEDS
def test_construction_frames_coincide_with_the_root_frame(seed):
    """K-16: A_i = 1 at q = 0, the same motion of the bodies: C'_i = C_i A_i^-1."""
    geometry = random_geometry(seed, 7)
    q = state(seed, 7)
    construction = ConstructionScrews.of(geometry)
    np.testing.assert_array_equal(
        construction.poses(np.zeros(7)), np.broadcast_to(np.eye(4), (7, 4, 4))
    )
    A = reference_poses(geometry, np.zeros(7))
    np.testing.assert_allclose(construction.poses(q) @ A, reference_poses(geometry, q), atol=2e-15)
    np.testing.assert_array_equal(construction.body_screws().X, construction.Y)


@pytest.mark.parametrize('first', WITH_BODY_FRAMES)
@pytest.mark.parametrize('second', WITH_BODY_FRAMES)
def test_conversions_round_trip(first, second):
    """K-18: any description to any other and back gives the same B and X."""
    geometry = random_geometry(0, 6)
    there = second.of(first.of(geometry))
    back = BodyScrews.of(there)
    np.testing.assert_allclose(back.B, geometry.B, rtol=0, atol=1e-14)
    np.testing.assert_allclose(back.X, geometry.X, rtol=0, atol=1e-14)
    assert (back.parents, back.names) == (geometry.parents, geometry.names)


@SEEDS
def test_data_of_the_descriptions(seed):
    """K-13 to K-15, K-18: B_i = A_p^-1 A_i, ^pX_i = Ad_{B_i} X_i, Y_i = Ad_{A_i} X_i."""
    geometry = random_geometry(seed, 6)
    spatial, predecessor = SpatialScrews.of(geometry), PredecessorScrews.of(geometry)
    for i, p in enumerate(geometry.parents):
        A_p = np.eye(4) if p < 0 else spatial.A[p]
        np.testing.assert_allclose(np.linalg.solve(A_p, spatial.A[i]), geometry.B[i], atol=2e-15)
        np.testing.assert_allclose(
            predecessor.X[i], se3.Ad(geometry.B[i]) @ geometry.X[i], atol=2e-15
        )
        np.testing.assert_allclose(spatial.Y[i], se3.Ad(A_p) @ predecessor.X[i], atol=2e-15)


@SEEDS
def test_joint_frames_are_on_the_axes(seed):
    """K-04, K-12, B-107: Z = (0, 0, 1, 0, 0, h) or (0, 0, 0, 0, 0, 1)."""
    frames = JointFrames.of(random_geometry(seed, 6))
    for Z in frames.Z:
        np.testing.assert_array_equal(Z[[0, 1, 3, 4]], np.zeros(4))
        assert Z[2] == 1.0 or (Z[2] == 0.0 and Z[5] == 1.0)
    assert {(Z[2], Z[5] != 0) for Z in frames.Z} == {(0.0, True), (1.0, False), (1.0, True)}


@SEEDS
def test_joint_frames_placed_anywhere(seed):
    """K-12: general joint frames of [K](3): B = S_p S_i^-1, X = Ad_{S_i} Z."""
    rng = np.random.default_rng(seed)
    geometry = random_geometry(seed, 6)
    S_i = np.stack([random_pose(rng) for _ in range(6)])
    frames = JointFrames(
        geometry.B @ S_i, S_i, screws.inverse_transform_twist(S_i, geometry.X), geometry.parents
    )
    q = state(seed, 6)
    np.testing.assert_allclose(frames.poses(q), reference_poses(geometry, q), atol=3e-15)
    np.testing.assert_allclose(frames.body_screws().X, geometry.X, atol=2e-15)


@SEEDS
@pytest.mark.parametrize('description', ALL)
def test_offsets_are_absorbed(seed, description):
    """K-17: C'(q) = C(q + q0); for construction frames up to the new choice of frames."""
    geometry = description.of(random_geometry(seed, 6))
    q, q0 = state(seed, 6), state(seed + 50, 6)
    shifted = geometry.with_offsets(q0)
    assert type(shifted) is description
    poses = shifted.poses(q)
    if description is ConstructionScrews:
        poses = poses @ geometry.poses(q0)
    np.testing.assert_allclose(poses, geometry.poses(q + q0), atol=4e-15)


def test_joint_frames_that_do_not_coincide_at_zero():
    """K-17: a displacement D between the joint frames at q = 0 goes into S_p."""
    frames = JointFrames.of(random_geometry(1, 4, chain=True))
    q, D = state(1, 4), random_pose(np.random.default_rng(5))
    moved = JointFrames([frames.S_p[0] @ D, *frames.S_p[1:]], frames.S_i, frames.Z)
    by_hand = (
        frames.S_p[0] @ D @ se3.exp_unit_screw(frames.Z[0], q[0]) @ np.linalg.inv(frames.S_i[0])
    )
    np.testing.assert_allclose(moved.poses(q)[0], by_hand, atol=2e-15)
    with_screw = JointFrames(  # a displacement along the joint is an offset of its coordinate
        [frames.S_p[0] @ se3.exp_unit_screw(frames.Z[0], 0.7), *frames.S_p[1:]],
        frames.S_i,
        frames.Z,
    )
    np.testing.assert_allclose(with_screw.poses(q), frames.poses(q + [0.7, 0, 0, 0]), atol=3e-15)


@SEEDS
def test_other_body_frames(seed):
    """K-34: C' = C S, B' = S_p^-1 B S, X' = Ad_S^-1 X."""
    geometry = random_geometry(seed, 6)
    rng = np.random.default_rng(seed)
    S = np.stack([random_pose(rng) for _ in range(6)])
    q = state(seed, 6)
    np.testing.assert_allclose(
        geometry.with_body_frames(S).poses(q), reference_poses(geometry, q) @ S, atol=3e-15
    )


@pytest.mark.parametrize('description', ALL)
def test_stacks_and_recorded_scalars(description):
    geometry = description.of(random_geometry(2, 4))
    q = np.random.default_rng(2).uniform(-1, 1, (3, 5, 4))
    poses = geometry.poses(q)
    assert poses.shape == (3, 5, 4, 4, 4)
    np.testing.assert_allclose(poses[1, 2], geometry.poses(q[1, 2]), atol=1e-15)
    recorded = geometry.poses(Recorder().inputs('q', 4))
    assert isinstance(recorded[-1, 0, 0], Scalar)


def test_a_chain_out_of_a_tree():
    """B-006, B-114: predecessors come first; the path to a body is a chain of its own."""
    geometry = random_geometry(4, 8)
    q = state(4, 8)
    for i in range(8):
        path = geometry.path(i)
        assert path == sorted(path)
        assert path[-1] == i
        np.testing.assert_allclose(
            geometry.chain(i).poses(q[path])[-1], geometry.poses(q)[i], atol=2e-15
        )


# --- dynamics does not care -----------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize('description', ALL)
def test_every_description_has_the_same_torques(seed, description):
    """K-16, D-31: Q and q'' do not depend on it, inertias moved along with the frames."""
    n = 6
    geometry, inertias = random_geometry(seed, n), random_inertias(seed, n)
    q, v, a = random_trajectory(seed, n)[:3]
    Q = inverse_dynamics(tree_of(geometry, inertias=inertias), q, v, a, GRAVITY)
    if description is ConstructionScrews:
        A = reference_poses(geometry, np.zeros(n))
        inertias = [moved_inertia(inertia, A_i) for inertia, A_i in zip(inertias, A)]
    tree = tree_of(description.of(geometry), inertias=inertias)
    rounding = 1e-14 * np.abs(Q).max()  # some twenty times that of the largest torque
    np.testing.assert_allclose(inverse_dynamics(tree, q, v, a, GRAVITY), Q, rtol=0, atol=rounding)
    np.testing.assert_allclose(forward_dynamics(tree, q, v, Q, GRAVITY), a, rtol=0, atol=1e-11)


@SEEDS
def test_dynamics_with_axes_anywhere_and_helical_joints(seed):
    """D-31: mass matrix, Coriolis matrix and energy of trees of general screws fit the torques."""
    n = 6
    geometry, inertias = random_geometry(seed, n), random_inertias(seed, n)
    tree = tree_of(geometry, inertias=inertias)
    q, v = random_trajectory(seed, n)[:2]
    M, rest, free = mass_matrix(tree, q), np.zeros(n), np.zeros(3)
    columns = [inverse_dynamics(tree, q, rest, e, free) for e in np.eye(n)]
    np.testing.assert_allclose(M, np.transpose(columns), rtol=0, atol=1e-13)
    np.testing.assert_allclose(kinetic_energy(tree, q, v), 0.5 * v @ M @ v, rtol=1e-13)
    np.testing.assert_allclose(
        coriolis_matrix(tree, q, v) @ v, inverse_dynamics(tree, q, v, rest, free), atol=1e-13
    )
    poses = reference_poses(geometry, q)
    momenta = [  # of the centers of mass, from the poses alone
        inertia.mass * (C[:3, :3] @ inertia.com + C[:3, 3]) for inertia, C in zip(inertias, poses)
    ]
    np.testing.assert_allclose(first_moment(tree, q), sum(momenta), atol=1e-13)


# --- from and to robot descriptions ---------------------------------------------------------------


@SEEDS
def test_geometry_of_a_description(seed):
    """K-12, B-118: poses of all links as composed link by link, mimic and fixed joints too."""
    description = random_description(
        seed, 10, ('revolute', 'prismatic', 'continuous', 'fixed'), mimic=2
    )
    robot = Robot(description, backend='reference')
    q = random_configuration(robot, np.random.default_rng(seed))
    geometry = geometry_of(description)
    expected = Lagrange(description, (0, 0, 0)).poses(q)
    found = geometry.link_poses(q)
    assert list(found) == list(expected)
    for link, pose in found.items():
        np.testing.assert_allclose(pose, expected[link], rtol=0, atol=3e-15)
    stack = np.stack([q, 0.5 * q])
    np.testing.assert_allclose(
        geometry.link_poses(stack)[link][1], geometry.link_poses(0.5 * q)[link], atol=1e-15
    )


def test_geometry_of_a_planar_joint():
    """K-10: two translations and a rotation, as `Robot` has it."""
    description = random_description(3, 5, ('revolute', 'planar'))
    robot = Robot(description, backend='reference')
    q = random_configuration(robot, np.random.default_rng(3))
    geometry = geometry_of(description)
    assert any(name.endswith('/angle') for name in geometry.screws.names)
    for link, pose in geometry.link_poses(q).items():
        np.testing.assert_allclose(pose, robot.link_pose(q, link), atol=3e-15)


@SEEDS
def test_description_of_a_geometry(seed):
    """K-18, B-113: axes off the origins and helical joints survive the way through a URDF."""
    n = 6
    geometry, inertias = random_geometry(seed, n), random_inertias(seed, n)
    description = description_of(
        geometry, inertias=inertias, limits={'joint1': Limits(-1, 2, 3, 4)}
    )
    description = read_urdf(write_urdf(description))
    robot = Robot(description, backend='reference', gravity=GRAVITY)
    assert sorted(robot.joint_names) == sorted(geometry.names)
    q, v, a = random_trajectory(seed, n)[:3]
    order = [geometry.names.index(name) for name in robot.joint_names]
    poses = geometry.poses(q)
    for i in range(n):
        np.testing.assert_allclose(robot.link_pose(q[order], f'body{i + 1}'), poses[i], atol=4e-15)
    Q = inverse_dynamics(tree_of(geometry, inertias=inertias), q, v, a, GRAVITY)
    np.testing.assert_allclose(
        robot.inverse_dynamics(q[order], v[order], a[order]), Q[order], rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        robot.forward_dynamics(q[order], v[order], Q[order]), a[order], rtol=0, atol=1e-9
    )
    assert robot.limits.upper[robot.joint_names.index('joint1')] == 2.0
    assert np.isinf(robot.limits.upper[robot.joint_names.index('joint2')])


@pytest.mark.parametrize('name', ['panda', 'ur5_robot', 'talos_reduced'])
def test_real_robots(name):
    """K-12, K-15: URDF to A, Y and back to a URDF, the same poses of all moving links."""
    description = read_urdf(urdf_path(name))
    robot = Robot(description, backend='reference')
    q = random_configuration(robot, np.random.default_rng(1))
    geometry = geometry_of(description)
    own = geometry.coupling @ q + geometry.offset
    spatial = SpatialScrews.of(geometry.screws)
    links = [
        next(link for link, frame in geometry.frames.items() if frame.body == i)
        for i in range(len(own))
    ]
    for link, pose in zip(links, spatial.poses(own)):
        np.testing.assert_allclose(pose, robot.link_pose(q, link), atol=1e-14)
    again = Robot(
        description_of(spatial, links=[f'{link}_' for link in links]), backend='reference'
    )
    q_again = own[[geometry.screws.names.index(name) for name in again.joint_names]]
    for link in links:
        np.testing.assert_allclose(
            again.link_pose(q_again, f'{link}_'), robot.link_pose(q, link), atol=1e-13
        )


def test_trees_of_geometries_and_descriptions_agree():
    """D-31: body frames on the axes (of the description) or anywhere (of the geometry), one Q."""
    description = random_description(6, 6, ('revolute', 'prismatic'))
    geometry = geometry_of(description)
    inertias = [link.inertia for link in description.links[1:]]
    q, v, a = random_trajectory(6, 6)[:3]
    Q = inverse_dynamics(build_tree(description), q, v, a, GRAVITY)
    np.testing.assert_allclose(
        inverse_dynamics(tree_of(geometry.screws, inertias=inertias), q, v, a, GRAVITY),
        Q,
        atol=1e-13,
    )


def test_a_tree_has_the_entries_of_one_of_a_description():
    """Of axes through the origins of the bodies, which need no links besides."""
    X = [[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
    rng, parents = np.random.default_rng(4), [-1, 0, 1, -1]
    geometry = BodyScrews([random_pose(rng) for _ in X], X, parents)
    inertias, links = [*random_inertias(4, 3), None], ['a', 'b', 'c', 'd']
    tree = tree_of(geometry, links=links, inertias=inertias)
    other = build_tree(description_of(geometry, links=links, inertias=inertias))
    for name in ('joint_names', 'coordinates', 'nq', 'nv', 'fixed_mass', 'link_names'):
        assert getattr(tree, name) == getattr(other, name), name
    for own, one in zip(tree.bodies, other.bodies):
        for name in ('name', 'joint', 'parent', 'q', 'v', 'multiplier', 'offset', 'm', 'drive'):
            assert getattr(own, name) == getattr(one, name), name
        for name in ('B', 'X', 'h', 'I'):
            np.testing.assert_allclose(getattr(own, name), getattr(one, name), atol=1e-15)
    for link, frame in tree.frames.items():
        one = other.frames[link]
        assert (frame.body, frame.parent) == (one.body, one.parent)
        np.testing.assert_array_equal(frame.S, one.S)
        assert (frame.inertia is None) == (one.inertia is None)
    np.testing.assert_array_equal(tree.fixed_moment, np.zeros(3))
    for bound, sign in (('lower', -1), ('upper', 1), ('velocity', 1), ('effort', 1)):
        np.testing.assert_array_equal(getattr(tree.limits, bound), np.full(4, sign * np.inf))
    assert tree_of(geometry).link_names == ('base', 'body1', 'body2', 'body3', 'body4')


# --- what is refused ------------------------------------------------------------------------------


REVOLUTE = [0, 0, 1, 0, 0, 0]

REFUSED = {
    'zero screw': (lambda: BodyScrews([np.eye(4)], [np.zeros(6)]), "'joint1': X = .* length 0"),
    'long axis': (
        lambda: SpatialScrews([np.eye(4)], [[0, 0, 2, 0, 0, 0]]),
        "'joint1': Y = .* length 2",
    ),
    'no rigid motion': (lambda: BodyScrews([2 * np.eye(4)], [REVOLUTE]), "'joint1': B"),
    'reflection': (
        lambda: BodyScrews([np.diag([1, 1, -1, 1])], [REVOLUTE]),
        "'joint1': B.*rotation",
    ),
    'NaN': (lambda: ConstructionScrews([[0, 0, 1, np.nan, 0, 0]]), "'joint1': Y .*not finite"),
    'poses too few': (
        lambda: BodyScrews([np.eye(4)], [REVOLUTE] * 2),
        r'B must have shape \(2, 4, 4\)',
    ),
    'names too few': (
        lambda: ConstructionScrews([REVOLUTE] * 2, None, ['a']),
        '2 joint screws, 2 parents',
    ),
    'later parent': (
        lambda: ConstructionScrews([REVOLUTE] * 2, [1, -1]),
        "'joint1': its predecessor is",
    ),
    'own parent': (
        lambda: ConstructionScrews([REVOLUTE] * 2, [-1, 1]),
        "'joint2': its predecessor is",
    ),
    'text': (lambda: ConstructionScrews([['a'] * 6]), 'Y'),
}


@pytest.mark.parametrize('case', REFUSED)
def test_bad_geometry_is_refused(case):
    make, message = REFUSED[case]
    with pytest.raises(DescriptionError, match=message):
        make()


def test_bad_arguments_are_refused():
    geometry: Geometry = random_geometry(0, 3)
    with pytest.raises(ArgumentError, match=r'q must have shape \(\.\.\., 3\)'):
        geometry.poses([1.0, 2.0])
    with pytest.raises(DescriptionError, match='3 bodies, but 2 link names'):
        description_of(geometry, links=['a', 'b'])
    with pytest.raises(DescriptionError, match="'joint1' is floating"):
        geometry_of(random_description(0, 1, ('floating',)))
    with pytest.raises(ScrewDynamicsError):
        JointFrames(np.zeros((1, 3, 3)), [np.eye(4)], [REVOLUTE])
