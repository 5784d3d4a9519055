# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Singular poses of platforms: gained freedoms, factors of a 321 platform, whole designs, legs."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mechanisms.parallel import Mechanism, ParallelRobot, example_mechanisms
from screw_dynamics_ros.core.mechanisms.parallel.force_distribution import (
    internal_forces,
    rod_forces,
)
from screw_dynamics_ros.core.mechanisms.parallel.platform_singularities import (
    factors_of_321,
    is_architecturally_singular,
    platform_singularity,
    wrench_basis_of_321,
)
from screw_dynamics_ros.core.mechanisms.parallel.recursions import unit_wrenches
from support.parallel_robots import moved, random_pose, with_seventh_leg


def report(mechanism, T):
    q = ParallelRobot(mechanism, 'reference').inverse_position(T)
    return platform_singularity(mechanism, q, T)


def regular_hexagons(turn=0.0):
    base = example_mechanisms.circle(0.5, range(0, 360, 60))
    platform = example_mechanisms.circle(0.3, np.arange(0, 360, 60) + turn)
    return Mechanism(
        'hexagons', example_mechanisms.lengthening(base, platform), example_mechanisms.home(0.5)
    )


def test_similar_regular_hexagons_are_singular_everywhere():
    """C-122, C-125: det G = 0 in all poses, to rounding; other examples are not."""
    assert is_architecturally_singular(regular_hexagons())
    for name in ('stewart_gough', 'octahedron', 'three_two_one', 'hexaglide', 'hexa', 'delta'):
        assert not is_architecturally_singular(getattr(example_mechanisms, name)()), name


def test_pivots_on_similar_conics_are_singular_everywhere():
    """C-122: stretching both hexagons alike keeps it; stretching one does not."""
    mechanism = regular_hexagons()
    stretch = np.array([1.0, 1.4, 1.0])
    base, platform = mechanism.base_pivots, mechanism.platform_pivots
    both = example_mechanisms.lengthening(base * stretch, platform * stretch)
    assert is_architecturally_singular(Mechanism('both', both, mechanism.home))
    random = np.random.default_rng(1)
    disturbed = example_mechanisms.lengthening(
        base + random.normal(scale=0.02, size=(6, 3)), platform
    )
    assert not is_architecturally_singular(Mechanism('disturbed', disturbed, mechanism.home))


def test_gained_freedom_of_a_turned_platform():
    """C-125: at a quarter of a turn the platform screws by itself; legs keep their lengths."""
    mechanism = example_mechanisms.octahedron()
    regular = report(mechanism, mechanism.home)
    assert (regular.singular, regular.rank, regular.message) == (False, 6, 'regular')
    T = moved(mechanism.home, [0.0, 0.0, np.pi / 2], np.zeros(3))
    found = report(mechanism, T)
    assert (found.singular, found.rank) == (True, 5)
    assert abs(found.determinant) < 1e-12
    t = found.gained_twists[:, 0]
    q = ParallelRobot(mechanism, 'reference').inverse_position(T)
    h = 1e-4
    later = ParallelRobot(mechanism, 'reference').inverse_position(moved(T, h * t[:3], h * t[3:]))
    assert np.abs(later - q).max() < 10 * h**2
    G = unit_wrenches(mechanism, q, T)
    assert np.allclose(G.T @ t, 0.0, atol=1e-12)
    w = found.unborne_wrenches[:, 0]
    assert t @ w == pytest.approx(1.0, abs=1e-12)  # it does work on the gained twist; no rod does
    scale = np.array([mechanism.size] * 3 + [1.0] * 3)
    best = G @ np.linalg.lstsq(G / scale[:, None], w / scale, rcond=None)[0]
    assert np.allclose(best, 0.0, atol=1e-12)  # the rods can take nothing of it
    assert np.linalg.norm(w / scale) == pytest.approx(1.0)
    with pytest.raises(ArgumentError, match='singular'):
        ParallelRobot(mechanism, 'reference').jacobian(q, T)


def test_factors_of_a_321_platform():
    """C-117, C-125: det G = -'3' '2' '1', moments about t3; block-zero structure and inverse."""
    mechanism, random = example_mechanisms.three_two_one(), np.random.default_rng(2)
    for _ in range(10):
        T = random_pose(mechanism, random)
        q = ParallelRobot(mechanism, 'reference').inverse_position(T)
        factors = factors_of_321(mechanism, q, T)
        G, inverse = wrench_basis_of_321(mechanism, q, T)
        assert np.linalg.det(G) == pytest.approx(-np.prod(list(factors.values())), rel=1e-9)
        assert np.allclose(G[:3, :3], 0.0)
        assert np.allclose(inverse[3:, 3:], 0.0)
        assert np.allclose(G @ inverse, np.eye(6), atol=1e-9)
        assert np.allclose(G, unit_wrenches(mechanism, q, T), atol=1e-14)  # t3 is the origin


@pytest.mark.parametrize('name', ['3', '2', '1'])
def test_geometry_of_the_321_singularities(name):
    """C-125: t3 in the plane of its base pivots; t2, t1 in the planes of what holds them."""
    mechanism = example_mechanisms.three_two_one()
    T = random_pose(mechanism, np.random.default_rng(3))
    b, t = mechanism.base_pivots, T[:3, 3] + mechanism.platform_pivots @ T[:3, :3].T
    if name == '3':
        T = moved(T, np.zeros(3), [0.0, 0.0, -T[2, 3]])
    else:  # the last pivot goes into the plane of three others
        other = {'2': (t[0], t[3], b[4]), '1': (t[0], t[3], t[5])}[name]
        normal = np.cross(other[1] - other[0], other[2] - other[0])
        base = b.copy()
        k = {'2': 3, '1': 5}[name]
        base[k] -= normal * (normal @ (base[k] - other[0])) / (normal @ normal)
        legs = example_mechanisms.lengthening(base, mechanism.platform_pivots)
        mechanism = Mechanism('moved', legs, mechanism.home)
    found = report(mechanism, T)
    assert found.singular
    assert abs(found.factors[name]) < 1e-12
    assert min(abs(x) for other, x in found.factors.items() if other != name) > 1e-4


def test_stretched_legs_are_singular_themselves():
    """C-125: a crank in line with its rod moves nothing; the platform is held."""
    mechanism = example_mechanisms.hexa()
    robot = ParallelRobot(mechanism, 'reference')
    leg = mechanism.legs[0]
    R = mechanism.home[:3, :3]
    q = robot.inverse_position(mechanism.home)
    along = leg.elbows(q[0])[0] - leg.base[0]
    stretched = leg.base[0] + along * (leg.crank + leg.length) / leg.crank
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, stretched - R @ leg.platform[0]
    found = platform_singularity(mechanism, q, T)
    assert 'leg_1' in found.singular_legs


@pytest.mark.parametrize('name', ['hexaglide', 'hexa'])
def test_levers_of_either_sign_are_regular(name):
    """C-125: rods that move against their motors are no worse."""
    mechanism = getattr(example_mechanisms, name)()
    found = report(mechanism, mechanism.home)
    assert (found.singular_legs, found.message) == ((), 'regular')


# --- redundancy -----------------------------------------------------------------------------------


def seven_rods():
    robot = ParallelRobot(with_seventh_leg(example_mechanisms.stewart_gough()), 'reference')
    return robot, robot.inverse_position(robot.home)


def test_least_energy_and_internal_forces():
    """C-126: G tau = w, K^-1-orthogonal to all internal forces (8.31), E-43."""
    robot, q = seven_rods()
    random = np.random.default_rng(4)
    w, K = random.normal(size=6), random.uniform(1.0, 5.0, 7)
    G = robot.rod_wrenches(q, robot.home)
    N = internal_forces(G)
    assert N.shape == (7, 1)
    assert np.allclose(G @ N, 0.0, atol=1e-12)
    tau = robot.inverse_force(q, w, stiffness=K)
    assert np.allclose(G @ tau, w, atol=1e-12)
    assert np.allclose(N.T @ (tau / K), 0.0, atol=1e-12)
    printed = K * (G.T @ np.linalg.solve(G @ np.diag(K) @ G.T, w))  # (8.31)
    assert np.allclose(tau, printed, atol=1e-12)
    assert not np.allclose(np.linalg.pinv(G) @ w, tau)  # K matters


def test_preload_exerts_no_wrench():
    """C-126: a preload changes the forces in the rods and nothing else."""
    robot, q = seven_rods()
    w = np.array([0.0, 0, 0, 0, 0, 40.0])
    G = robot.rod_wrenches(q, robot.home)
    N = internal_forces(G)[:, 0]
    plain, loaded = (robot.inverse_force(q, w, preload=x) for x in (None, 25.0 * N))
    assert np.allclose(G @ loaded, w, atol=1e-10)
    assert np.allclose(loaded - plain, 25.0 * N, atol=1e-10)
    useless = robot.inverse_force(q, w, preload=G.T @ np.ones(6))
    assert np.allclose(useless, plain, atol=1e-10)


def test_refusals_of_forces():
    robot, q = seven_rods()
    with pytest.raises(ArgumentError, match='stiffness'):
        robot.inverse_force(q, np.zeros(6), stiffness=np.zeros(7))
    with pytest.raises(ArgumentError, match='singular'):
        rod_forces(np.ones((6, 7)), np.zeros(6))
