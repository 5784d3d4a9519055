# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""All poses of a platform: known counts, closed forms, mirror images, Newton from anywhere."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.mechanisms.parallel import (
    Mechanism,
    ParallelRobot,
    assembly_modes,
    example_mechanisms,
    path_tracking,
)
from screw_dynamics_ros.core.mechanisms.parallel import study_coordinates as study
from screw_dynamics_ros.core.mechanisms.parallel.assembly_modes import (
    MIN_REGULAR_VALUE,
    general_system,
    is_convex,
    nearest,
    quadrics,
    side,
    sort_ends,
    widest_gap,
)
from screw_dynamics_ros.core.mechanisms.parallel.tetrahedra import poses_of_321
from support.parallel_robots import GOLDEN, GOLDEN_LEGS, moved, random_pose, with_seventh_leg

EVERYWHERE = {'turn': 2.0, 'shift': 0.3}


def robot_of(base, platform, home=0.6):
    legs = example_mechanisms.lengthening(np.asarray(base), np.asarray(platform))
    return ParallelRobot(Mechanism('platform', legs, example_mechanisms.home(home)), 'reference')


def made(name):
    return ParallelRobot(getattr(example_mechanisms, name)(), 'reference')


def smallest_distance(poses):
    apart = np.abs(poses[:, None] - poses[None]).max(axis=(2, 3))
    return apart[~np.eye(len(poses), dtype=bool)].min()


# --- coordinates ----------------------------------------------------------------------------------


def coordinates(T, size):
    """Return (x, y = p x), a unit vector, of a pose whose origin is not that of the base."""
    R, length = Rotation.from_matrix(T[:3, :3]), np.linalg.norm(T[:3, 3])
    half_turn = Rotation.from_quat([*T[:3, 3], 0.0])  # times |p| the pure quaternion p
    x, y = (np.roll(each.as_quat(), 1) for each in (R, half_turn * R))
    return np.append(x, length / size * y) / np.hypot(1.0, length / size)


def test_rods_are_quadrics_in_study_coordinates():
    """(x, y)^T M (x, y) = 0 just where |p + R a - c| = rho; multiples are the same pose."""
    random = np.random.default_rng(1)
    for _ in range(5):
        T = se3.pose(so3.exp(random.normal(size=3)), random.normal(size=3))
        c, a = random.normal(size=(2, 3))
        z = coordinates(T, 0.7)
        rho = np.linalg.norm(T[:3, 3] + T[:3, :3] @ a - c)
        M = study.rod_quadric(c / 0.7, a / 0.7, rho / 0.7)
        assert abs(z @ M @ z) < 1e-14
        assert abs(z @ study.STUDY @ z) < 1e-15
        longer = study.rod_quadric(c / 0.7, a / 0.7, (rho + 0.1) / 0.7)
        assert abs(z @ longer @ z) > 1e-4
        assert np.allclose(study.pose(-3.0 * z, 0.7), T, atol=1e-14)


# --- paths ----------------------------------------------------------------------------------------


def test_paths_of_a_system_with_known_solutions():
    """z1^2 = z0^2, z2^2 = 4 z0^2, from a start with solutions (1, +-i, +-1)."""

    def system(first, second):
        return np.array([np.diag([-first, 1.0, 0.0]), np.diag([-second, 0.0, 1.0])], dtype=complex)

    signs = np.array([[1, a, b] for a in (1, -1) for b in (1, -1)], dtype=complex)
    start = path_tracking.unit(signs * [1.0, 1.0j, 1.0])
    paths = path_tracking.follow(system(-1.0 + 0.5j, 1.0) * (1 + 0.2j), system(1, 4), start)
    assert not paths.arrived.all()  # the start does not solve that system
    exact = path_tracking.unit(signs * [1.0, np.sqrt(-1.0 + 0.5j), 1.0])
    paths = path_tracking.follow(system(-1.0 + 0.5j, 1.0) * (1 + 0.2j), system(1, 4), exact)
    assert paths.arrived.all()
    ratios = paths.ends / paths.ends[:, :1]
    assert np.allclose(np.abs(ratios), [1, 1, 2], atol=1e-14)
    assert len({tuple(x.real.round(6)) for x in ratios}) == 4


def test_the_general_system_has_forty_regular_solutions():
    """The count of the literature; all residuals are rounding errors, none comes twice."""
    start, z = general_system()
    assert z.shape == (40, 8)
    values = np.einsum('ni,kij,nj->nk', z, start, z)
    assert np.abs(values).max() < 1e-13
    assert min(nearest(z[k], np.delete(z, k, 0)) for k in range(40)) > 1e-3
    J = path_tracking.bordered(path_tracking.products(start, z), z)
    assert np.linalg.svd(J, compute_uv=False).min() > 1e-4


def test_lost_paths_are_noticed():
    """Ends that come twice, or without their conjugates, and paths that stop on the way."""
    robot = made('stewart_gough')
    target = quadrics(robot.mechanism, np.array(GOLDEN_LEGS))
    paths = path_tracking.follow(general_system()[0], target.astype(complex), general_system()[1])
    good = sort_ends(target, paths)
    assert (good.failed, good.complete, good.smallest > MIN_REGULAR_VALUE) == (0, True, True)
    imaginary = np.flatnonzero(
        [nearest(z, z.conj()[None]) > 1e-3 and a for z, a in zip(paths.ends, paths.arrived)]
    )
    jumped = paths.ends.copy()
    jumped[imaginary[0]] = jumped[imaginary[1]]
    assert sort_ends(target, changed(paths, ends=jumped)).failed > 0
    stopped, left = paths.arrived.copy(), paths.left.copy()
    stopped[imaginary[0]], left[imaginary[0]] = False, 0.3
    found = sort_ends(target, changed(paths, arrived=stopped, left=left))
    assert found.failed == 2  # the path, and its conjugate that is alone now
    assert not found.complete


def test_lost_paths_are_followed_again(monkeypatch):
    """With smaller corrections; those that are not lost are not followed again."""
    robot, T = made('stewart_gough'), example_mechanisms.stewart_gough().home
    for corrections, failed in (((3.0,), True), ((3.0, 1e-4), False), ((1e-4, 3.0), False)):
        monkeypatch.setattr(assembly_modes, 'ATTEMPT_CORRECTIONS', corrections)
        modes = robot.all_forward_positions(GOLDEN_LEGS, T)
        assert (modes.failed > 0, modes.complete) == (failed, not failed)
        assert ('paths are lost: poses may be missing' in modes.message) is failed


def changed(paths, **fields):
    return type(paths)(**{**vars(paths), **fields})


# --- poses ----------------------------------------------------------------------------------------


def test_a_general_platform_has_the_pose_it_was_made_from():
    """C-119, C-123: 20 random 6-6 platforms and poses; 40 complex solutions, real ones in pairs."""
    random = np.random.default_rng(2)
    for _ in range(20):
        robot = robot_of(random.normal(size=(6, 3)) * 0.3, random.normal(size=(6, 3)) * 0.2)
        T = random_pose(robot.mechanism, random, **EVERYWHERE)
        q = robot.inverse_position(T)
        modes = robot.all_forward_positions(q, T)
        assert modes.complete, modes.message
        assert (modes.complex_solutions, modes.no_poses) == (40, 0)
        assert np.allclose(modes.poses[0], T, atol=1e-9)
        assert len(modes.poses) % 2 == 0
        assert modes.residual < 1e-13
        assert smallest_distance(modes.poses) > 1e-6


def test_321_has_all_poses_also_where_some_apexes_do_not_exist():
    """C-121: as many as there are real solutions of the polynomials."""
    robot, random = made('three_two_one'), np.random.default_rng(12)
    mechanism, counts = robot.mechanism, []
    for _ in range(8):
        T = random_pose(mechanism, random, **EVERYWHERE)
        q = robot.inverse_position(T)
        found = poses_of_321(mechanism, mechanism.base_pivots, q)
        modes = robot.all_forward_positions(q, T)
        assert len({each.label for each in found}) == len(found) == len(modes.poses)
        assert min(np.abs(each.pose - T).max() for each in found) < 1e-9
        counts.append(len(found))
    assert min(counts) < 8


def test_321_agrees_with_its_closed_form():
    """C-121, golden 8.5: the eight poses of the tetrahedra, and no complex ones."""
    robot = made('three_two_one')
    random = np.random.default_rng(3)
    for _ in range(3):
        T = random_pose(robot.mechanism, random)
        q = robot.inverse_position(T)
        modes = robot.all_forward_positions(q, T)
        assert (modes.complete, modes.complex_solutions, modes.no_poses) == (True, 8, 32)
        for _, pose in poses_of_321(robot.mechanism, robot.mechanism.base_pivots, q):
            assert np.abs(modes.poses - pose).max(axis=(1, 2)).min() < 1e-10


@pytest.mark.parametrize(('name', 'count'), [('octahedron', 16), ('hexa', 40), ('hexaglide', 40)])
def test_counts_of_other_designs(name, count):
    """C-119: complex solutions as in the literature, 16 of 3-3; cranks and sliders stand still."""
    robot = made(name)
    T = random_pose(robot.mechanism, np.random.default_rng(4))
    q = robot.inverse_position(T)
    modes = robot.all_forward_positions(q, T)
    assert (modes.complete, modes.complex_solutions) == (True, count)
    assert np.allclose(modes.poses[0], T, atol=1e-10)


def test_special_pivots_have_sixteen_solutions():
    """C-122, 3.25.18: similar planar platforms, and five pivots of the base on a line."""
    random = np.random.default_rng(8)
    base = random.normal(size=(6, 3)) * [0.4, 0.4, 0.0]
    line = np.outer(random.normal(size=6), [0.5, 0.1, 0.0])
    line[3] = [0.1, 0.5, 0.0]
    for robot in (robot_of(base, 0.5 * base), robot_of(line, random.normal(size=(6, 3)) * 0.3)):
        T = random_pose(robot.mechanism, random)
        modes = robot.all_forward_positions(robot.inverse_position(T), T)
        assert (modes.complete, modes.complex_solutions, modes.no_poses) == (True, 16, 24)
        assert np.allclose(modes.poses[0], T, atol=1e-9)


def test_poses_of_planar_platforms_are_mirrored():
    """3.25.18: base and platform in planes; every pose is there with its mirror image below."""
    random = np.random.default_rng(5)
    flat = np.array([1.0, 1.0, 0.0])
    robot = robot_of(random.normal(size=(6, 3)) * 0.4 * flat, random.normal(size=(6, 3)) * flat / 4)
    T = random_pose(robot.mechanism, random)
    modes = robot.all_forward_positions(robot.inverse_position(T), T)
    assert (modes.complete, modes.complex_solutions) == (True, 40)
    mirror = np.diag([1.0, 1.0, -1.0, 1.0])
    for pose, sign in zip(modes.poses, modes.sides):
        apart = np.abs(modes.poses - mirror @ pose @ mirror).max(axis=(1, 2))
        assert apart.min() < 1e-10
        assert modes.sides[apart.argmin()] == -sign


def test_newton_from_anywhere_finds_no_other_pose():
    """C-119, golden 8.4: what Newton's method reaches from random seeds is among the eight.

    It is a success just where no change of sign of det G tells that a singularity was passed.
    """
    robot, random = made('stewart_gough'), np.random.default_rng(7)
    modes = robot.all_forward_positions(GOLDEN_LEGS)
    assert len(modes.poses) == 8
    reached, successes = set(), set()
    for _ in range(40):
        seed = random_pose(robot.mechanism, random, turn=3.0, shift=0.5)
        result = robot.solve_forward_position(GOLDEN_LEGS, seed)
        if result.residual < 1e-12:
            apart = np.abs(modes.poses - result.pose).max(axis=(1, 2))
            assert apart.min() < 1e-9
            reached.add(int(apart.argmin()))
            same = side(robot.mechanism, GOLDEN_LEGS, seed) == modes.sides[apart.argmin()]
            assert result.success == same
            wrong = 'the pose found is another assembly mode: a singularity lies between'
            assert result.message.startswith('solved' if same else wrong)
            successes.add(result.success)
    assert len(reached) >= 4
    assert successes == {True, False}
    order = [np.abs(pose - GOLDEN).max() < 1e-7 for pose in modes.poses]
    assert order == [True] + [False] * 7  # the nearest to home comes first


def test_singular_poses_are_told():
    """C-125: at a quarter of a turn poses of an octahedron meet; that may not be all."""
    robot = made('octahedron')
    T = moved(robot.home, [0.0, 0.0, np.pi / 2], np.zeros(3))
    modes = robot.all_forward_positions(robot.inverse_position(T), T)
    assert modes.singular >= 2
    assert not modes.complete
    assert 'singular poses, which are excluded' in modes.message


def test_a_path_that_arrives_at_a_singular_pose_is_not_regular():
    """C-125: though Newton's method may happen to stand still there."""
    robot = made('octahedron')
    T = moved(robot.home, [0.0, 0.0, np.pi / 2], np.zeros(3))
    z = coordinates(T, robot.mechanism.size)[None].astype(complex)
    one = np.ones(1)
    path = path_tracking.Paths(z, one > 0, 0 * one, z, one, 1)
    found = sort_ends(quadrics(robot.mechanism, robot.inverse_position(T)), path)
    assert (found.singular, len(found.points), found.complete) == (1, 0, False)


def test_lengths_without_a_pose():
    """The solutions are all complex."""
    lengths = np.array(GOLDEN_LEGS)
    lengths[0] = 0.1
    modes = made('stewart_gough').all_forward_positions(lengths)
    assert (modes.complete, modes.poses.shape, modes.complex_solutions) == (True, (0, 4, 4), 28)


def test_other_than_six_rods_are_refused():
    robot = ParallelRobot(with_seventh_leg(example_mechanisms.stewart_gough()), 'reference')
    with pytest.raises(ArgumentError, match='seven has 7 rods'):
        robot.all_forward_positions(robot.inverse_position(robot.home))


# --- convexity ------------------------------------------------------------------------------------


@pytest.mark.parametrize('name', ['octahedron', 'stewart_gough', 'hexa'])
def test_the_convex_pose_is_chosen(name):
    """C-123, 3.25.18: of all poses one is convex on the side of home, that where robots work."""
    robot, random = made(name), np.random.default_rng(7)
    for _ in range(2):
        T = random_pose(robot.mechanism, random, turn=0.3)
        q = robot.inverse_position(T)
        assert np.allclose(robot.forward_position(q, convex=True), T, atol=1e-10)
        above = moved(T, [0.0, 0.0, 0.0], [0.0, 0.0, -2.0 * T[2, 3]])
        other = robot.forward_position(q, above, convex=True)
        assert other[2, 3] * T[2, 3] < 0.0
        assert np.allclose(robot.inverse_position(other, q), q, atol=1e-10)


def test_what_convexity_does_not_decide_is_refused():
    """C-123: the rods of this Hexaglide cross."""
    robot = made('hexaglide')
    q = robot.inverse_position(robot.home)
    with pytest.raises(ArgumentError, match='0 of 4 poses are convex'):
        robot.forward_position(q, convex=True)
    octahedron = made('octahedron')
    T = moved(octahedron.home, [0.0, 0.0, np.pi / 2], np.zeros(3))
    with pytest.raises(ArgumentError, match='not certain'):
        octahedron.forward_position(octahedron.inverse_position(T), T, convex=True)


def test_edges_of_a_hull():
    """Rods on faces and edges count, rods inside or a platform turned over do not."""
    mechanism = example_mechanisms.octahedron()
    q = np.zeros(6)
    assert is_convex(mechanism, q, mechanism.home)
    assert not is_convex(mechanism, q, moved(mechanism.home, [0.0, 0.0, 2.5], np.zeros(3)))
    assert not is_convex(mechanism, q, moved(mechanism.home, [np.pi, 0.0, 0.0], np.zeros(3)))
    tilted = moved(mechanism.home, [1.5, 0.0, 0.0], [0.0, 0.0, -0.45])  # cuts the base
    assert not is_convex(mechanism, q, tilted)
    around = np.array([[1.0, 0, 0], [0, 1.0, 0], [-1.0, -1e-3, 5.0]])
    gap = widest_gap(around, np.array([0.0, 0, 2.0]), 1e-9)
    assert gap == pytest.approx(np.pi - 1e-3, abs=1e-6)  # just inside
    assert widest_gap(np.zeros((2, 3)), np.array([0.0, 0, 2.0]), 1e-9) == 2 * np.pi
