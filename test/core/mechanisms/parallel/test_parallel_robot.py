# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Position, velocity and force of parallel robots: golden numbers, differences, power, refusals."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError, InertiaError
from screw_dynamics_ros.core.kinematic_model import KinematicModel
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.mechanisms.parallel import (
    PUS,
    RUS,
    UPS,
    Mechanism,
    ParallelRobot,
    example_mechanisms,
)
from screw_dynamics_ros.core.mechanisms.parallel.recursions import newton_step, unit_wrenches
from support.parallel_robots import GOLDEN, GOLDEN_LEGS, moved, random_pose, unit, with_seventh_leg

DESIGNS = {
    'stewart_gough': '6-6',
    'octahedron': '3-3',
    'three_two_one': '321',
    'hexaglide': 'PUS 6-6',
    'hexa': 'RUS 6-6',
    'delta': 'RUS delta',
}
REGULAR = [name for name in DESIGNS if name != 'three_two_one']  # that one is near a singularity


def made(name, backend='reference'):
    return ParallelRobot(getattr(example_mechanisms, name)(), backend)


@pytest.fixture(params=REGULAR)
def robot(request):
    return made(request.param)


# --- designs --------------------------------------------------------------------------------------


@pytest.mark.parametrize('name', DESIGNS)
def test_designs_are_named_by_their_pivots(name):
    """C-111: classification, and one interface for all (C-012)."""
    robot = made(name)
    assert robot.design == DESIGNS[name]
    assert isinstance(robot, KinematicModel)


def test_other_designs():
    """3-1-1-1, and pivots that coincide on one side (C-111)."""
    base, top = (
        example_mechanisms.circle(0.5, range(0, 360, 60)),
        example_mechanisms.circle(0.3, range(30, 390, 60)),
    )
    three = np.array([top[0]] * 3 + [top[2], top[3], top[4]])
    home = example_mechanisms.home(0.5)
    for platform, design in ((three, '3-1-1-1'), (top[[0, 0, 2, 2, 4, 4]], '6-3')):
        legs = example_mechanisms.lengthening(base, platform)
        assert ParallelRobot(Mechanism('m', legs, home), 'reference').design == design


@pytest.mark.parametrize('name', DESIGNS)
def test_loops_are_closed(name):
    """C-111: b + l = p + R a, for random poses; rods have the lengths that they must have (8.1)."""
    robot, random = made(name), np.random.default_rng(1)
    for _ in range(20):
        T = random_pose(robot.mechanism, random)
        q = robot.inverse_position(T)
        for leg, x in zip(robot.mechanism.legs, q):
            tops = T[:3, 3] + leg.platform @ T[:3, :3].T
            rods = np.linalg.norm(tops - leg.elbows(x), axis=1)
            assert np.allclose(rods, leg.lengths(x), atol=1e-12)


# --- position -------------------------------------------------------------------------------------


def test_legs_of_the_golden_platform():
    """C-112, golden 8.4, to its nine digits."""
    assert made('stewart_gough').inverse_position(GOLDEN) == pytest.approx(GOLDEN_LEGS, abs=5e-10)


def test_cranks_of_the_golden_leg():
    """C-113, E-38, golden 8.4: two branches in closed form, no complex roots of a quartic."""
    R = so3.exp([0.0, 0.0, 0.5])
    leg = RUS(
        name='hexa',
        base=[0.2, 0.1, 0.0],
        platform=np.zeros(3),
        axis=R[:, 0],
        zero=R[:, 2],
        crank=0.3,
        length=0.6,
    )
    t = leg.elbows(0.4)[0] + 0.6 * np.array([0.3, 0.2, np.sqrt(0.87)])
    assert leg.positions(0, t) == pytest.approx([-0.167047845, 0.4], abs=5e-10)
    assert np.isnan(leg.positions(0, [0.2, 0.1, 1.0])).all()  # out of reach


@pytest.mark.parametrize('name', ['stewart_gough', 'hexaglide', 'hexa', 'delta'])
def test_derivatives_of_elbows_are_differences(name):
    """First and second derivative by the motor, of every kind of leg."""
    h = 1e-4
    for leg in made(name).mechanism.legs:
        for q in (0.3, 0.9):
            before, now, after = (leg.elbows(q + s * h) for s in (-1, 0, 1))
            first, second = leg.elbow_rates(q)
            np.testing.assert_allclose((after - before) / (2 * h), now * 0 + first, atol=1e-7)
            np.testing.assert_allclose(
                (after - 2 * now + before) / h**2, now * 0 + second, atol=1e-6
            )


def test_sliders_of_a_leg():
    """C-114: both intersections of the slide with the sphere about the pivot."""
    random = np.random.default_rng(2)
    leg = PUS(
        name='1',
        base=random.normal(size=3),
        platform=np.zeros(3),
        direction=unit(random.normal(size=3)),
        length=0.8,
    )
    t = leg.base[0] + 0.3 * leg.direction + [0.1, 0.4, -0.2]
    for q in leg.positions(0, t):
        assert np.linalg.norm(t - leg.elbows(q)[0]) == pytest.approx(0.8, abs=1e-14)


def test_newton_on_the_golden_platform():
    """C-119, golden 8.4: from R = 1, p = (0, 0, .55) four updates, error 3e-16."""
    robot = made('stewart_gough')
    q = robot.inverse_position(GOLDEN)
    result = robot.solve_forward_position(q)
    assert (result.success, result.updates) == (True, 4)
    assert result.residual < 1e-12
    assert np.abs(result.pose - GOLDEN).max() < 1e-15


def test_newton_with_the_printed_update_fails():
    """E-41: T exp(X) with wrenches in the base frame does not go there in these steps."""
    robot = made('stewart_gough')
    q, T = robot.inverse_position(GOLDEN), robot.home
    for _ in range(5):
        step, _ = newton_step(robot.mechanism, q, T)
        T = T @ (step @ se3.inverse(T))  # exp(X) on the wrong side
    assert np.abs(T - GOLDEN).max() > 1e-6


@pytest.mark.parametrize('name', REGULAR)
def test_forward_position_from_the_last_pose(name):
    """C-119: 1000 random reachable positions in at most five updates, to the right mode.

    The seed is 20 mm and 0.1 rad away in a random direction, which is 20 cycles of a controller of
    1 kHz at 1 m/s and 5 rad/s; 10 mm and 0.05 rad for the other designs.
    """
    robot, random = made(name, 'native'), np.random.default_rng(3)
    many = name == 'stewart_gough'
    turned, shifted = 0.05 * (1 + many) * (name != 'delta'), 0.01 * (1 + many)
    solved, wanted = 0, 1000 if many else 100
    while solved < wanted:
        T = random_pose(robot.mechanism, random)
        try:
            q = robot.inverse_position(T)
        except ArgumentError:
            continue  # beyond the limits of a leg
        x = random.normal(size=(2, 3))
        seed = moved(T, turned * unit(x[0]), shifted * unit(x[1]))
        result = robot.solve_forward_position(q, seed)
        assert result.success, result.message
        assert result.updates <= 5
        assert np.abs(result.pose - T).max() < 1e-10
        solved += 1


def test_compiled_and_readable_steps_agree():
    """What is compiled is what is read."""
    readable, compiled = made('hexa'), made('hexa', 'native')
    T = moved(readable.home, [0.1, 0.2, -0.1], [0.02, 0.01, 0.03])
    q = readable.inverse_position(T)
    assert np.allclose(compiled.inverse_position(T), q, atol=1e-14)
    assert np.allclose(compiled.rod_wrenches(q, T), readable.rod_wrenches(q, T), atol=1e-13)
    assert np.allclose(compiled.forward_position(q), readable.forward_position(q), atol=1e-12)


def test_a_pose_handed_on_stays_a_rotation():
    """The last pose as seed, a thousand times: no drift of the rotation."""
    robot = made('stewart_gough', 'native')
    T = robot.home
    for k in range(1000):
        target = moved(robot.home, [0.1 * np.sin(0.01 * k), 0.0, 0.0], [0.0, 0.0, 0.0])
        T = robot.forward_position(robot.inverse_position(target), T)
    assert np.abs(T[:3, :3].T @ T[:3, :3] - np.eye(3)).max() < 1e-14


def test_branch_by_seed():
    """Cranks near given positions, modulo 2 pi; the other branch is another posture."""
    robot = made('hexa')
    both = robot.inverse_positions(robot.home)
    q = robot.inverse_position(robot.home)
    assert np.allclose(q, both[:, 0])
    assert np.allclose(robot.inverse_position(robot.home, q + 0.1), q)
    near = both[:, 1] + 0.1
    with pytest.raises(ArgumentError, match="'leg_1' would pass the limits"):
        robot.inverse_position(robot.home, near)


def test_another_assembly_mode_is_refused():
    """A solution on the other side of a singularity is not what the seed led to."""
    robot = made('octahedron')
    q = robot.inverse_position(robot.home)
    below = moved(robot.home, np.zeros(3), [0.0, 0.0, -1.1])
    mirrored = robot.forward_position(q, below)
    assert mirrored[2, 3] == pytest.approx(-0.55, abs=1e-9)
    contradiction = robot.solve_forward_position(np.array([0.1, 2.0, 0.1, 2.0, 0.1, 2.0]))
    assert not contradiction.success
    assert 'no pose near the seed' in contradiction.message


def test_seven_rods_make_a_least_squares_pose():
    """C-120: a seventh length that agrees changes nothing; noise shows in the residual."""
    robot = ParallelRobot(with_seventh_leg(example_mechanisms.stewart_gough()), 'reference')
    q = robot.inverse_position(GOLDEN)
    assert np.abs(robot.forward_position(q) - GOLDEN).max() < 1e-11
    noisy = robot.solve_forward_position(q + [0, 0, 0, 0, 0, 0, 1e-4], tolerance=1e-3)
    assert noisy.success
    assert 1e-6 < noisy.residual < 1e-4
    assert not robot.solve_forward_position(q + [0, 0, 0, 0, 0, 0, 1e-4]).success


def test_newton_steps_are_limited():
    """C-119: lengths far away do not throw the platform about."""
    mechanism = example_mechanisms.stewart_gough()
    for q in (np.full(6, 50.0), np.array([9.0, 0.5, 9.0, 0.5, 9.0, 0.5])):
        T, _ = newton_step(mechanism, q, mechanism.home)
        turn = np.linalg.norm(so3.log(T[:3, :3]))
        assert turn <= 0.5 + 1e-9
        assert np.linalg.norm(T[:3, 3] - mechanism.home[:3, 3]) < mechanism.size  # turn included


def test_angles_of_cranks_go_on_from_the_seed():
    """C-113: full turns, and the branch, are those of the seed."""
    mechanism = example_mechanisms.hexa()
    for leg in mechanism.legs:
        object.__setattr__(leg, 'lower', -20.0)
        object.__setattr__(leg, 'upper', 20.0)
    robot = ParallelRobot(mechanism, 'reference')
    branches = robot.inverse_positions(robot.home)
    seed = branches[range(6), [0, 1, 0, 1, 1, 0]] + 2 * np.pi * np.array([1, -2, 0, 0, 2, -1])
    assert np.allclose(robot.inverse_position(robot.home, seed + 0.1), seed, atol=1e-12)


# --- velocity and force ---------------------------------------------------------------------------


def test_velocities_are_differences_of_positions(robot):
    """C-118, E-40: finite differences to 1e-8; scaled by the lever for cranks and sliders."""
    random, h = np.random.default_rng(4), 1e-5
    for _ in range(10):
        T = random_pose(robot.mechanism, random)
        q = robot.inverse_position(T)
        t = unit(random.normal(size=6)) * (np.arange(6) >= 3 * (robot.nv == 3))
        later, earlier = (moved(T, s * h * t[:3], s * h * t[3:]) for s in (1, -1))
        difference = robot.inverse_position(later, q) - robot.inverse_position(earlier, q)
        v = robot.inverse_velocity(q, t, T)
        assert np.allclose(v, difference / (2 * h), atol=1e-8)
        assert np.allclose(robot.forward_velocity(q, v, T), t, atol=1e-9)


def test_the_printed_velocity_fails():
    """E-39: p × e in place of its six components, and e by ldot, are not the rates of legs."""
    robot = made('stewart_gough')
    q, t = robot.inverse_position(GOLDEN), np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.1])
    G = robot.rod_wrenches(q, GOLDEN)
    p = GOLDEN[:3, 3]
    printed = np.array([np.cross(p, e) @ t[3:] for e in G[3:].T])
    assert np.abs(printed - robot.inverse_velocity(q, t, GOLDEN)).max() > 1e-2


def test_unscaled_wrenches_are_no_torques_of_cranks():
    """E-40: the force along the upper link must be divided by its lever about the motor."""
    robot = made('hexa')
    q = robot.inverse_position(robot.home)
    t = np.array([0.0, 0, 0, 0, 0, 1.0])
    unscaled = unit_wrenches(robot.mechanism, q, robot.home).T @ t
    assert np.abs(unscaled - robot.inverse_velocity(q, t)).max() > 1e-1


def test_power_of_motors_is_power_of_the_platform(robot):
    """C-115: statics against an energy balance, and both ways: w = G tau, tau = G^-1 w."""
    random = np.random.default_rng(5)
    for _ in range(10):
        T = random_pose(robot.mechanism, random)
        q = robot.inverse_position(T)
        w, v = random.normal(size=6), random.normal(size=robot.nv)
        tau, t = robot.inverse_force(q, w, T), robot.forward_velocity(q, v, T)
        assert tau @ v == pytest.approx(w @ t, abs=1e-9)
        if robot.nv == 6:
            assert np.allclose(robot.forward_force(q, tau, T), w, atol=1e-10)
        else:  # moments are borne by the parallelograms
            assert np.allclose(robot.forward_force(q, tau, T), [0, 0, 0, *w[3:]], atol=1e-10)


def test_weight_is_carried_equally_by_equal_legs():
    """C-115: symmetric legs, equal forces, whose vertical components are the weight."""
    robot = made('stewart_gough')
    q = robot.inverse_position(robot.home)
    tau = robot.inverse_force(q, robot.wrench_of_weight(robot.home))
    assert np.ptp(tau) < 1e-12
    down = robot.rod_wrenches(q, robot.home)[5]
    assert down @ tau == pytest.approx(4.0 * 9.81)


def test_forces_are_the_gradient_of_the_potential_energy():
    """Virtual work: dU/dq = tau for the weight, by differences of the height."""
    robot, h = made('stewart_gough'), 1e-6
    q = robot.inverse_position(GOLDEN)
    tau = robot.inverse_force(q, robot.wrench_of_weight(GOLDEN), GOLDEN)
    body = robot.mechanism.inertia

    def energy(x):
        T = robot.forward_position(x, GOLDEN)
        return body.mass * 9.81 * (T[:3, 3] + T[:3, :3] @ body.com)[2]

    gradient = [(energy(q + h * e) - energy(q - h * e)) / (2 * h) for e in np.eye(6)]
    assert np.allclose(tau, gradient, atol=1e-6)


def test_duality_with_a_serial_arm():
    """C-127: swap J and G: t = J v, tau = J^T w of an arm; v = G^T t, w = G tau of a platform."""
    robot, random = made('stewart_gough'), np.random.default_rng(6)
    q = robot.inverse_position(GOLDEN)
    G, J = robot.rod_wrenches(q, GOLDEN), robot.jacobian(q, GOLDEN)
    assert np.allclose(J.T @ G, np.eye(6), atol=1e-12)
    x = random.normal(size=6)
    pairs = [
        (robot.inverse_velocity(q, x, GOLDEN), G.T @ x),
        (robot.forward_force(q, x, GOLDEN), G @ x),
        (robot.forward_velocity(q, x, GOLDEN), J @ x),
        (robot.inverse_force(q, x, GOLDEN), J.T @ x),
    ]
    for found, wanted in pairs:
        assert np.allclose(found, wanted, atol=1e-11)


# --- refusals -------------------------------------------------------------------------------------


def test_what_cannot_be_reached_is_refused_by_name():
    robot = made('hexa')
    far = moved(robot.home, np.zeros(3), [0.0, 0.0, -1.0])
    with pytest.raises(ArgumentError, match="leg 'leg_1' cannot reach"):
        robot.inverse_position(far)
    with pytest.raises(ArgumentError, match="'leg_1' would be too short"):
        made('stewart_gough').inverse_position(moved(np.eye(4), np.zeros(3), [0.0, 0.0, 2.0]))
    delta = made('delta')
    with pytest.raises(ArgumentError, match='disagree'):
        delta.inverse_position(moved(delta.home, [0.1, 0.0, 0.0], np.zeros(3)))
    with pytest.raises(ArgumentError, match='translates only'):
        delta.inverse_velocity(delta.inverse_position(delta.home), [0, 0, 1, 0, 0, 0])


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_what_is_no_number_is_refused(bad):
    robot = made('stewart_gough')
    q = robot.inverse_position(robot.home)
    with pytest.raises(ArgumentError, match="'leg_3' is not a finite"):
        robot.forward_position(np.where(np.arange(6) == 2, bad, q))
    with pytest.raises(ArgumentError, match='pose must be a finite'):
        robot.inverse_position(np.full((4, 4), bad))


def test_wrong_mechanisms_are_refused():
    legs = example_mechanisms.stewart_gough().legs
    with pytest.raises(ArgumentError, match='at least six rods'):
        Mechanism('m', legs[:5], np.eye(4))
    with pytest.raises(ArgumentError, match="several legs are named 'leg_1'"):
        Mechanism('m', (*legs[:5], legs[0]), np.eye(4))
    with pytest.raises(ArgumentError, match='unit vector'):
        PUS(name='1', base=[0, 0, 0], platform=[0, 0, 0], direction=[2, 0, 0], length=1.0)
    with pytest.raises(ArgumentError, match='positive length'):
        PUS(name='1', base=[0, 0, 0], platform=[0, 0, 0], direction=[1, 0, 0], length=0.0)
    with pytest.raises(ArgumentError, match='cannot lengthen 2 rods'):
        UPS(name='1', base=np.zeros((2, 3)), platform=np.zeros((2, 3)))
    inertia = example_mechanisms.DISK
    broken = type(inertia)(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))
    with pytest.raises(InertiaError, match='triangle'):
        Mechanism('m', legs, np.eye(4), broken)
