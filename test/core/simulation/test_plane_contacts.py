# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts with planes and springs, against closed forms and solutions of their equations by SciPy.

B-105: contacts as impedances. The law of Hunt and Crossley with exponent 1 has a closed form of the
coefficient of restitution.
"""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError, DivergenceError, UnknownNameError
from screw_dynamics_ros.core.simulation import ContactPoint, Plane, SimulatedRobot, Spring
from screw_dynamics_ros.core.simulation.contacts import contact_force
from support.free_boxes import LINK, UPRIGHT, free_box
from support.models import random_description
from support.robots import urdf_path

G = 9.81
DOWN = (0.0, 0.0, -G)


def floor(**options):
    return Plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], **options)


def corners(half=0.1, below=0.05):
    """Return the four lower corners of a box."""
    return [ContactPoint(LINK, [x, y, -below]) for x in (-half, half) for y in (-half, half)]


def run(simulated, seconds, dt=1e-3, tau=None):
    """Step for some time; return the total energy after each step, the one before first."""
    tau = np.zeros(simulated.robot.nv) if tau is None else tau
    energies = [sum(simulated.energy)]
    for _ in range(round(seconds / dt)):
        simulated.step(tau, dt)
        energies.append(sum(simulated.energy))
    return np.array(energies)


def restitution(damping, speed):
    """Return e of exponent 1 without weight: v - log(1 + d v) / d is the same at v0 and -e v0.

    From m v dv = -k x (1 + d v) dx, integrated from touch to touch.
    """

    def side(v):
        return v / damping - np.log1p(damping * v) / damping**2

    most = min(1.0, 1.0 / (damping * speed)) - 1e-12
    return brentq(lambda e: side(-e * speed) - side(speed), 1e-9, most, xtol=1e-14)


# --- bounces and rest -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('stiffness', 'damping', 'speed', 'dt', 'tolerance'),
    [
        (1e4, 0.5, 1.0, 1e-3, 1e-3),
        (1e4, 2.0, 1.0, 1e-3, 1e-3),
        (1e4, 0.5, 1.0, 1e-4, 1e-5),
        (1e6, 0.5, 1.0, 1e-3, 5e-4),  # the contact lasts three steps
        (1e8, 0.5, 1.0, 1e-3, 2e-3),  # and here a third of one
    ],
)
def test_coefficient_of_restitution(stiffness, damping, speed, dt, tolerance):
    """From ten heights: the contact begins at any time of a step."""
    robot = free_box(gravity=(0, 0, 0))
    plane = floor(stiffness=stiffness, damping=damping)
    simulated = SimulatedRobot(robot, planes=[plane], contact_points=[ContactPoint(LINK)])
    expected = restitution(damping, speed) * speed
    for height in np.linspace(0.01, 0.01 + speed * dt, 10):
        simulated.set_state([0, 0, height, *UPRIGHT], [0, 0, 0, 0, 0, -speed])
        run(simulated, 0.06, dt)
        assert simulated.v[5] == pytest.approx(expected, rel=tolerance)
    assert 0.1 < expected < 0.95 * speed


def test_bounces_against_scipy():
    """A falling point, its equation of motion solved to 1e-10: height and speed over 1 s."""
    k, d, mass = 5e3, 0.8, 1.0

    def rates(t, state):
        z, v = state
        depth = max(0.0, -z)
        return [v, -G + max(0.0, k * depth * (1.0 - d * v)) / mass]

    simulated = SimulatedRobot(
        free_box(mass, gravity=DOWN),
        [0, 0, 0.2, *UPRIGHT],
        planes=[floor(stiffness=k, damping=d)],
        contact_points=[ContactPoint(LINK)],
    )
    dt, times = 5e-4, np.linspace(0.0, 1.0, 2001)
    reference = solve_ivp(
        rates, (0, 1), (0.2, 0), 'DOP853', times, rtol=1e-10, atol=1e-12, max_step=1e-3
    )
    worst, heights = 0.0, [0.2]
    for z in reference.y[0][1:]:
        simulated.step(np.zeros(6), dt)
        heights.append(simulated.q[2])
        worst = max(worst, abs(simulated.q[2] - z))
    assert worst < 2e-5
    assert sum(np.diff(np.sign(heights)) < 0) >= 2  # it did bounce


@pytest.mark.parametrize('integrator', ['runge_kutta', 'semi_implicit', 'momentum_preserving'])
def test_rest(integrator):
    """Penetration m g / k; the wrench is the weight."""
    mass, k = 1.0, 2e4
    simulated = SimulatedRobot(
        free_box(mass, gravity=DOWN),
        [0.3, -0.2, 0.05, *UPRIGHT],
        integrator,
        planes=[floor(stiffness=k, damping=10.0)],
        contact_points=[ContactPoint(LINK, radius=0.05)],
    )
    run(simulated, 1.5)
    assert simulated.q[2] - 0.05 == pytest.approx(-mass * G / k, rel=1e-4)
    wrench = simulated.contact_wrenches[LINK]
    np.testing.assert_allclose(wrench, [0, 0, 0, 0, 0, mass * G], atol=1e-3)
    assert abs(simulated.violation) < 1e-14


def test_a_contact_never_pulls():
    for rate in (-50.0, -2.0, 0.0, 3.0):
        force = contact_force(1e-3, np.array([0, 0, -rate]), np.zeros(3), floor().parameters)[0]
        assert force.force[2] >= 0.0
    assert not contact_force(-1e-9, np.array([1.0, 0, -9]), np.ones(3), floor().parameters)[
        0
    ].force.any()


@pytest.mark.parametrize('seed', range(3))
def test_elastic_forces_are_the_gradient_of_the_energy(seed):
    """Along the normal and, while it sticks, along the plane: by central differences."""
    rng = np.random.default_rng(seed)
    plane = Plane(rng.normal(size=3), rng.normal(size=3), 3e3, 0.7, 5.0)
    n, s, depth, h = plane.normal, 1e-3 * rng.normal(size=3), 2e-3, 1e-7

    def energy(x):
        return contact_force(depth - n @ x, np.zeros(3), s + x, plane.parameters)[0].energy

    gradient = [(energy(h * e) - energy(-h * e)) / (2 * h) for e in np.eye(3)]
    elastic = contact_force(depth, np.zeros(3), s, plane.parameters)[0].elastic
    np.testing.assert_allclose(-np.array(gradient), elastic, rtol=1e-6)


# --- friction -------------------------------------------------------------------------------------


def block_on_incline(mu, slope, **options):
    """Return a block of 2 kg that has come to rest, or slides, on a plane of that angle."""
    gravity = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    simulated = SimulatedRobot(
        free_box(2.0, 0.02, gravity=gravity),
        [0, 0, 0.05 - G * np.cos(slope) / 2e4, *UPRIGHT],
        planes=[floor(stiffness=1e4, damping=5.0, friction=mu)],
        contact_points=corners(),
        **options,
    )
    run(simulated, 1.5)
    return simulated


def test_a_block_sticks_below_the_friction_angle():
    """tan(slope) = 0.9 mu: no creep over 10 s, and the friction is m g sin(slope)."""
    slope = np.arctan(0.45)
    simulated = block_on_incline(0.5, slope)
    run(simulated, 1.0)
    before = simulated.q.copy()
    run(simulated, 10.0, 2e-3)
    np.testing.assert_allclose(simulated.q, before, atol=1e-9)
    assert np.abs(simulated.v).max() < 1e-9
    R = simulated.robot.link_pose(simulated.q, LINK)[:3, :3]  # it has tilted on its springs
    force = R @ simulated.contact_wrenches[LINK][3:]
    expected = 2 * G * np.array([-np.sin(slope), 0.0, np.cos(slope)])
    np.testing.assert_allclose(force, expected, atol=1e-6)


def test_a_block_slides_above_the_friction_angle():
    slope, mu = np.arctan(0.6), 0.5
    simulated = block_on_incline(mu, slope)
    before = simulated.v[3]
    run(simulated, 1.0)
    expected = G * (np.sin(slope) - mu * np.cos(slope))
    assert simulated.v[3] - before == pytest.approx(expected, rel=1e-4)


def test_friction_opposes_the_motion_and_stops_it():
    """A sliding block comes to rest after v^2 / 2 mu g, whatever its direction, and stays."""
    mu, speed, direction = 0.4, 1.0, np.array([0.6, -0.8])
    simulated = block_on_incline(mu, 0.0)
    start = simulated.q[:2].copy()
    simulated.v = np.array([0, 0, 0, *(speed * direction), 0])
    run(simulated, 1.5)
    way = simulated.q[:2] - start
    np.testing.assert_allclose(way, direction * speed**2 / (2 * mu * G), rtol=0.03)
    assert np.abs(simulated.v).max() < 1e-3


@pytest.mark.parametrize('stiffness', [1e4, 1e6])
def test_a_block_that_was_pushed_stays_where_it_is(stiffness):
    """Its friction forgets where it began, also where all steps are divided (1e6 N/m)."""
    mu, mass = 0.5, 2.0
    simulated = SimulatedRobot(
        free_box(mass, 0.02, gravity=DOWN),
        [0, 0, 0.05 - mass * G / (4 * stiffness), *UPRIGHT],
        planes=[floor(stiffness=stiffness, damping=5.0, friction=mu)],
        contact_points=corners(below=0.05),
    )
    push = np.array([0, 0, 0, 1.2 * mu * mass * G, 0, 0])
    run(simulated, 0.5, tau=push)
    assert simulated.q[0] > 0.05
    run(simulated, 0.3)
    stopped = simulated.q[0]
    run(simulated, 0.3)
    assert simulated.q[0] == pytest.approx(stopped, abs=2 * mu * mass * G / stiffness)
    assert abs(simulated.v[3]) < 5e-3


def test_a_sphere_rolls_without_slipping():
    """Down an incline with g sin / (1 + 2 / 5), and rolling does not stretch the friction."""
    radius, slope = np.sqrt(0.025), 0.2  # 2 / 5 m r^2 = 0.01 kg m^2
    gravity = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    robot = free_box(gravity=gravity)
    plane = floor(stiffness=1e4, damping=5.0, friction=0.5)
    depth = G * np.cos(slope) / 1e4
    ball = ContactPoint(LINK, radius=radius)
    at = [0, 0, radius - depth, *UPRIGHT]
    simulated = SimulatedRobot(robot, at, planes=[plane], contact_points=[ball])
    run(simulated, 2.0)
    omega, v = np.split(robot.velocity(simulated.q, simulated.v, LINK), 2)
    expected = G * np.sin(slope) / 1.4
    assert v[0] == pytest.approx(expected * 2.0, rel=1e-3)
    assert omega[1] * radius == pytest.approx(v[0], rel=1e-3)
    force = simulated.contact_wrenches[LINK][3:]
    turned = robot.link_pose(simulated.q, LINK)[:3, :3] @ force
    assert turned[0] == pytest.approx(-0.4 * expected, rel=1e-2)


# --- springs --------------------------------------------------------------------------------------


def test_period_of_a_spring_pendulum():
    """2 pi sqrt(m / k) along the spring, 2 pi sqrt(l / g) nearly across it."""
    k, mass = 100.0, 1.0
    spring = Spring(LINK, [0, 0, 0], [0, 0, 0], k, rest_length=0.5)
    stretched = 0.5 + mass * G / k
    simulated = SimulatedRobot(free_box(mass, gravity=DOWN), springs=[spring])
    simulated.q = np.array([0, 0, -stretched - 0.05, *UPRIGHT])
    period = 2 * np.pi * np.sqrt(mass / k)
    run(simulated, period, period / 500)
    np.testing.assert_allclose(simulated.q[:3], [0, 0, -stretched - 0.05], atol=1e-8)
    run(simulated, period / 2, period / 500)
    np.testing.assert_allclose(simulated.q[:3], [0, 0, -stretched + 0.05], atol=1e-8)


def test_damping_of_a_spring():
    """Amplitudes fall with exp(-zeta w t), zeta = c / 2 sqrt(k m), after three swings."""
    k, c, mass, stretch = 100.0, 2.0, 1.0, 0.05
    spring = Spring(LINK, [0, 0, 0], [0, 0, 1.0], k, c, rest_length=0.5)
    simulated = SimulatedRobot(free_box(mass, gravity=(0, 0, 0)), springs=[spring])
    simulated.q = np.array([0, 0, 0.5 - stretch, *UPRIGHT])
    rate, w = c / (2 * mass), np.sqrt(k / mass)
    period = 2 * np.pi / np.sqrt(w**2 - rate**2)
    run(simulated, 3 * period, period / 300)
    assert simulated.q[2] == pytest.approx(0.5 - stretch * np.exp(-rate * 3 * period), abs=1e-6)


def test_a_stiff_spring_is_a_pendulum():
    """Swings of 0.02 rad: the period to second order of the angle."""
    k, mass, angle = 1e5, 1.0, 0.02
    length = 1.0 + mass * G / k
    spring = Spring(LINK, [0, 0, 0], [0, 0, 0], k, damping=50.0, rest_length=1.0)
    simulated = SimulatedRobot(free_box(mass, gravity=DOWN), springs=[spring])
    simulated.q = np.array([length * np.sin(angle), 0, -length * np.cos(angle), *UPRIGHT])
    period = 2 * np.pi * np.sqrt(length / G) * (1 + angle**2 / 16)
    run(simulated, period, period / 2000)
    assert simulated.q[0] == pytest.approx(length * np.sin(angle), rel=1e-4)


def test_springs_without_length_or_stiffness():
    """Both ends in one place: no direction, no force, no NaN."""
    for spring in (
        Spring(LINK, [0, 0, 0], [0, 0, 0], 10.0, 1.0),
        Spring(LINK, [0, 0, 0], [0, 0, 0], 0.0),
    ):
        simulated = SimulatedRobot(free_box(gravity=(0, 0, 0)), springs=[spring])
        run(simulated, 0.01)
        np.testing.assert_array_equal(simulated.q, [0, 0, 0, *UPRIGHT])


# --- robots ---------------------------------------------------------------------------------------


def test_a_wrench_of_the_floor_acts_as_an_external_wrench():
    """The reported wrench gives the accelerations of the contact in any posture."""
    panda, rng = Robot.from_urdf(urdf_path('panda')), np.random.default_rng(1)
    points = [ContactPoint('panda_hand', [0, y, 0.1], 0.02) for y in (-0.1, 0.1)]
    for _ in range(5):
        q, v = panda.random_configuration(rng), rng.normal(size=8)
        plane = Plane(panda.link_pose(q, 'panda_hand')[:3, 3], rng.normal(size=3), friction=0.3)
        simulated = SimulatedRobot(panda, q, planes=[plane], contact_points=points)
        simulated.v = v
        environment = simulated.environment
        torques = environment.torques(q, v, environment.memory(q))
        assert np.abs(torques).max() > 1.0
        tau = rng.normal(size=8)
        np.testing.assert_allclose(
            panda.forward_dynamics(q, v, tau + torques),
            panda.forward_dynamics(q, v, tau, simulated.contact_wrenches),
            rtol=1e-9,
            atol=1e-6,
        )


def test_backends_agree_and_stacks_with_them():
    """Recorded, as plain Python, and on NumPy arrays; one state and several."""
    rng, found = np.random.default_rng(5), {}
    for backend in ('reference', 'python', 'native'):
        robot = Robot(random_description(4, 3, mimic=1), floating_base=True, backend=backend)
        links = robot.link_names
        environment = SimulatedRobot(
            robot,
            planes=[Plane([0, 0, 2.0], [0.1, 0.2, 1.0]), Plane([1.0, 0, 0], [-1.0, 0, 0])],
            contact_points=[ContactPoint(link, [0.1, 0, 0], 0.05) for link in links],
            springs=[Spring(links[2], [0, 0, 0.1], [0, 0, 1.0], 30.0, 2.0, 0.1)],
        ).environment
        if not found:
            q, v = robot.random_configuration(rng, 3), rng.normal(size=(3, robot.nv))
            memory = environment.memory(robot.integrate(q, 1e-3 * v))
        effects = environment.effects(q, v, memory)
        np.testing.assert_allclose(environment.torques(q, v, memory), effects.torques, rtol=1e-9)
        for k in range(3):
            for part, whole in zip(environment.effects(q[k], v[k], memory[k]), effects):
                np.testing.assert_allclose(part, whole[k], rtol=1e-9, atol=1e-9)
        found[backend] = effects
        for part, expected in zip(effects, found['reference']):
            np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-9)
    assert np.abs(effects.torques).max() > 1.0


def test_parts_on_the_ground_move_nothing():
    """A contact and a spring at the root of a robot on a fixed base."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), gravity=DOWN)
    plane, spring = Plane([0, 0, 0.1], [0, 0, 1]), Spring('base', [0, 0, 0], [1, 0, 0], 10.0)
    points = [ContactPoint('base')]
    simulated = SimulatedRobot(robot, planes=[plane], contact_points=points, springs=[spring])
    alone = SimulatedRobot(robot)
    for _ in range(5):
        simulated.step([0.1, 0.0], 1e-3)
        alone.step([0.1, 0.0], 1e-3)
    np.testing.assert_allclose(simulated.q, alone.q, atol=1e-15)
    np.testing.assert_allclose(simulated.contact_wrenches['base'], [0, 0, 0, 0, 0, 1000.0])


def test_a_random_robot_falls_on_the_floor_and_loses_energy():
    """Joints of every kind, mimic joints among them: energy grows nowhere and ends lower."""
    kinds = ('revolute', 'prismatic', 'continuous', 'planar', 'floating')
    description = random_description(2, 3, kinds, mimic=1)
    robot = Robot(description, floating_base=True, gravity=DOWN)
    height = robot.link_poses(robot.neutral())[:, 2, 3].min()
    points = [ContactPoint(link, radius=0.05) for link in robot.link_names[1:]]
    plane = Plane([0, 0, height - 0.3], [0, 0, 1], stiffness=2e4, damping=1.0, friction=0.5)
    simulated = SimulatedRobot(robot, robot.neutral(), planes=[plane], contact_points=points)
    kinetic, before = 0.0, sum(simulated.energy)
    first = before
    touched = False
    for _ in range(300):
        simulated.step(np.zeros(robot.nv), 2e-3)
        T, U = simulated.energy
        gained = T + U - before
        assert gained <= 1e-3 * (1.0 + max(T, kinetic))
        before, kinetic = T + U, T
        touched = touched or any(W.any() for W in simulated.contact_wrenches.values())
    assert touched
    assert before < first - 1e-2
    assert abs(simulated.violation) < 1e-13


def test_energy_never_grows_in_contact():
    """A box thrown onto a corner, dry friction and damping: to 1e-4 of its energy per step."""
    simulated = SimulatedRobot(
        free_box(2.0, 0.02, gravity=DOWN),
        [0, 0, 0.3, 0.1, 0.2, 0.0, np.sqrt(0.95)],
        planes=[floor(stiffness=2e4, damping=0.3, friction=0.4)],
        contact_points=[
            ContactPoint(LINK, [x, y, 5.0 * x * y]) for x in (-0.1, 0.1) for y in (-0.1, 0.1)
        ],
    )
    simulated.v = np.array([2.0, -3.0, 1.0, 0.5, 1.0, -1.0])
    energies = run(simulated, 2.0)
    height = energies - energies.min()
    assert (np.diff(energies) <= 2e-4 * height[:-1] + 1e-9).all()
    assert height[-1] < 0.02 * height[0]


# --- steps ----------------------------------------------------------------------------------------


def test_stiff_contacts_are_integrated_with_shorter_steps():
    """dt sqrt(k / m) = 10: far beyond what one step bears."""
    simulated = SimulatedRobot(
        free_box(gravity=DOWN),
        [0, 0, 0.02, *UPRIGHT],
        planes=[floor(stiffness=1e8, damping=2.0)],
        contact_points=[ContactPoint(LINK)],
    )
    energies = run(simulated, 0.5, 1e-3)
    assert np.diff(energies).max() < 1e-4
    assert abs(simulated.q[2]) < 1e-4


def test_divergence_leaves_state_and_friction_as_they_were():
    simulated = block_on_incline(0.5, 0.3)
    before = simulated.save()
    for tau in ([0, 0, 0, 1e308, 0, 0], [np.nan] * 6):
        with pytest.raises(DivergenceError, match=r'(too fast for steps of|not finite)'):
            simulated.step(tau, 1e-3)
        after = simulated.save()
        for name in ('q', 'v', 'memory', 'stop_torques'):
            np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    simulated.step(np.zeros(6), 1e-3)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: Plane([0, 0, 0], [0, 0, 0]), "'plane' has a normal of length zero"),
        (
            lambda: Plane([0, 0, 0], [0, 0, np.nan]),
            "the normal of the plane 'plane' must be finite",
        ),
        (
            lambda: Plane([0, 0], [0, 0, 1]),
            r"the point of the plane 'plane' must have shape \(3,\)",
        ),
        (lambda: floor(stiffness=-1.0), 'the stiffness .* must be a finite positive number'),
        (lambda: floor(stiffness=0.0), 'the stiffness .* must be a finite positive number'),
        (lambda: floor(damping=np.inf), 'the damping .* must be a finite number'),
        (lambda: floor(friction=-0.1, name='table'), "friction of the plane 'table' must be"),
        (lambda: ContactPoint(LINK, radius=-1.0), "radius of a contact point of link 'box'"),
        (lambda: ContactPoint(LINK, [np.inf, 0, 0]), "position of a contact point of link 'box'"),
        (lambda: Spring(LINK, [0, 0, 0], [0, 0, 1], -1.0), "the stiffness of the spring 'spring'"),
        (lambda: Spring(LINK, [0, 0, 0], [0, 0, 1], 1.0, 0.0, -1.0), 'the rest length of'),
        (lambda: Spring(LINK, [0, 0, 0], [0, 0], 1.0), 'the anchor of the spring'),
    ],
)
def test_parts_that_make_no_sense(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


def test_parts_that_fit_no_robot():
    robot = free_box(backend='reference')
    with pytest.raises(UnknownNameError, match="'arm'"):
        SimulatedRobot(robot, planes=[floor()], contact_points=[ContactPoint('arm')])
    with pytest.raises(UnknownNameError, match="'arm'"):
        SimulatedRobot(robot, contact_points=[ContactPoint('arm')])
    with pytest.raises(UnknownNameError, match="'arm'"):
        SimulatedRobot(robot, springs=[Spring('arm', [0, 0, 0], [0, 0, 0], 1.0)])
    with pytest.raises(ArgumentError, match='planes must be a sequence of Plane'):
        SimulatedRobot(robot, planes=floor())
    with pytest.raises(ArgumentError, match='contact_points must be a sequence of ContactPoint'):
        SimulatedRobot(robot, contact_points=['box'])


def test_without_a_plane_nothing_is_touched():
    simulated = SimulatedRobot(free_box(), contact_points=[ContactPoint(LINK)])
    simulated.step(np.zeros(6), 0.01)
    np.testing.assert_array_equal(simulated.contact_wrenches[LINK], np.zeros(6))
    assert simulated.environment.is_empty


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((np.zeros(6), 0.0), 'dt must be a finite positive number, got 0.0'),
        ((np.zeros(6), -1e-3), 'dt must be'),
        ((np.zeros(6), np.nan), 'dt must be'),
        ((np.zeros(5), 1e-3), r'tau must have shape \(6,\), got \(5,\)'),
        ((np.zeros(6), 1e-3, {LINK: np.full(6, np.nan)}), "wrench on 'box' must be finite"),
        ((np.zeros(6), 1e-3, {LINK: np.zeros(3)}), r"wrench on 'box' must have shape \(6,\)"),
    ],
)
def test_steps_that_are_refused_change_nothing(arguments, message):
    simulated = block_on_incline(0.5, 0.3)
    before = simulated.save()
    with pytest.raises(ArgumentError, match=message):
        simulated.step(*arguments)
    with pytest.raises(UnknownNameError, match=re.escape("'arm'")):
        simulated.step(np.zeros(6), 1e-3, {'arm': np.zeros(6)})
    after = simulated.save()
    for name in ('q', 'v', 'memory', 'stop_torques'):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
