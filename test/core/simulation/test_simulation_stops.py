# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stops at the joint limits, and steps that are as short as the motion needs.

Impacts and contacts are compared with the complementarity problems of B-103, solved here by trying
every set of stops.
"""

from itertools import product

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.errors import DivergenceError
from screw_dynamics_ros.core.integration import RungeKutta, SemiImplicitEuler
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import INTEGRATORS, Posture, SimulatedRobot, stepping
from screw_dynamics_ros.core.simulation.stops import LIMIT_TOLERANCE, Stops
from support.models import random_description
from support.robots import urdf_path

FIXED = ('runge_kutta', 'semi_implicit')
TOOL = 'panda_hand_tcp'


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'))


def arm(limits, gravity=(0.0, -9.81, 0.0), **options):
    """Return a robot of rods of 1 kg and 1 m that turn about z, one for each pair of limits."""
    parts = ['<link name="l0"/>']
    for i, bounds in enumerate(limits, 1):
        limit = '' if bounds is None else f'<limit lower="{bounds[0]}" upper="{bounds[1]}"/>'
        parts.append(
            f'<link name="l{i}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
            '<inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{i}" type="{"revolute" if limit else "continuous"}">'
            f'<parent link="l{i - 1}"/><child link="l{i}"/><axis xyz="0 0 1"/>'
            f'<origin xyz="{min(i - 1, 1)} 0 0"/>{limit}</joint>'
        )
    text = f'<robot name="arm">{"".join(parts)}</robot>'
    return Robot.from_urdf(text, gravity=gravity, **options)


def energy(simulated):
    robot = simulated.robot
    return robot.kinetic_energy(simulated.q, simulated.v) + robot.potential_energy(simulated.q)


def is_within(simulated):
    limits = simulated.robot.limits
    inside = (limits.lower <= simulated.q) & (simulated.q <= limits.upper)
    return bool(inside.all() and np.isfinite(simulated.v).all())


def complementary(A, b):
    """Return x >= 0 with A x + b >= 0 and x . (A x + b) = 0, by trying every set."""
    for chosen in product((False, True), repeat=len(b)):
        S, x = np.flatnonzero(chosen), np.zeros(len(b))
        if S.size:
            x[S] = np.linalg.solve(A[np.ix_(S, S)], -b[S])
        if (x >= 0.0).all() and (A @ x + b >= -1e-9).all():
            return x
    raise AssertionError('no solution')


# --- the faults -----------------------------------------------------------------------------------


@pytest.mark.parametrize(('integrator', 'part'), [('semi_implicit', 0.5), ('runge_kutta', 1.0)])
def test_effort_at_the_joint_limits_for_seconds_stays_finite(panda, integrator, part):
    """All joints are driven into their stops and rest there, whatever the step was before."""
    simulated = SimulatedRobot(panda, middle_of_range(panda), integrator)
    for _ in range(1500):
        simulated.step(part * panda.limits.effort, 0.002)
        assert is_within(simulated)
    np.testing.assert_array_equal(simulated.q, panda.limits.upper)
    np.testing.assert_array_equal(simulated.v, 0.0)
    load = part * panda.limits.effort - panda.gravity_torques(simulated.q)
    np.testing.assert_allclose(simulated.stop_torques, -load, atol=1e-9)


@pytest.mark.parametrize('integrator', FIXED)
def test_a_kilonewton_for_half_a_second_stays_finite(panda, integrator):
    """After 0.4 s of it the posture is held again."""
    simulated = SimulatedRobot(panda, middle_of_range(panda), integrator)
    posture, limit = Posture(panda, simulated.q), panda.limits.effort
    for k in range(2500):
        tau = posture.torques(k * 0.002, simulated.q, simulated.v)
        wrenches = {TOOL: np.array([0.0, 0.0, 0.0, 1000.0, 0.0, 0.0])} if k < 200 else {}
        simulated.step(np.clip(tau, -limit, limit), 0.002, wrenches)
        assert is_within(simulated)
    np.testing.assert_allclose(simulated.q, middle_of_range(panda), atol=2e-3)


@pytest.mark.parametrize('integrator', FIXED)
def test_random_torques_up_to_the_effort_limits(panda, integrator):
    """No divergence either: whatever motors of this arm do is followed."""
    simulated = SimulatedRobot(panda, middle_of_range(panda), integrator)
    rng = np.random.default_rng(7)
    at_stops = 0
    for k in range(400):
        if k % 25 == 0:
            tau = rng.uniform(-1.0, 1.0, panda.nv) * panda.limits.effort
        simulated.step(tau, 0.002)
        assert is_within(simulated)
        at_stops += simulated.stop_torques.any()
    assert at_stops > 60


def test_random_torques_on_a_floating_base():
    robot = Robot(random_description(1, 3), floating_base=True)
    simulated = SimulatedRobot(robot, integrator='momentum_preserving')
    rng = np.random.default_rng(3)
    for k in range(500):
        if k % 25 == 0:
            tau = np.append(np.zeros(6), rng.uniform(-0.3, 0.3, 3) * robot.limits.effort)
        simulated.step(tau, 0.002)
        assert np.isfinite(simulated.v).all()
        assert (robot.limits.lower <= simulated.q[7:]).all()
        assert (simulated.q[7:] <= robot.limits.upper).all()


@pytest.mark.parametrize('integrator', FIXED)
def test_a_robot_rests_at_home_where_it_begins(panda, integrator):
    """Joints may be on a stop there, as the elbow of a Panda: no jump, and free to leave it."""
    simulated = SimulatedRobot(panda, integrator=integrator)
    home = panda.home()
    np.testing.assert_array_equal(simulated.q, home)
    assert (home[3], home[7]) == (panda.limits.upper[3], panda.limits.lower[7])
    simulated.set_state(home, simulated.v)
    for _ in range(500):
        simulated.step(panda.gravity_torques(simulated.q), 0.002)
        assert is_within(simulated)
    np.testing.assert_allclose(simulated.q, home, rtol=0.0, atol=1e-9)
    push = np.zeros(8)
    push[3] = -5.0
    for _ in range(100):
        simulated.step(panda.gravity_torques(simulated.q) + push, 0.002)
    assert simulated.q[3] < home[3] - 0.01


# --- impacts --------------------------------------------------------------------------------------


@pytest.mark.parametrize('integrator', FIXED)
def test_a_pendulum_falls_onto_its_stop_and_gains_no_energy(integrator):
    robot = arm([(-0.5, 2.0)])
    simulated = SimulatedRobot(robot, [1.0], integrator)
    highest = energy(simulated)
    # The energy of semi-implicit steps swings, by up to h v tau / 2, while nothing stops them.
    allowed = {'runge_kutta': 1e-9, 'semi_implicit': 0.01}[integrator]
    for _ in range(1000):
        simulated.step([0.0], 0.002)
        assert energy(simulated) <= highest + allowed
        highest = min(highest, energy(simulated))
        assert is_within(simulated)
    assert (simulated.q[0], simulated.v[0]) == (-0.5, 0.0)
    np.testing.assert_allclose(simulated.stop_torques, robot.gravity_torques(simulated.q))


def test_momentum_of_an_impact_in_closed_form():
    """From rest under a constant torque: w = sqrt(2 tau phi / I), and the stop takes I w."""
    robot, inertia, tau, way = arm([(-1.0, 0.7)], gravity=(0, 0, 0)), 0.35, 3.0, 0.7
    simulated = SimulatedRobot(robot, [0.0])
    time = np.sqrt(2 * way * inertia / tau)
    steps, impulse = 0, 0.0
    while not simulated.stop_torques.any():
        before = simulated.v[0]
        simulated.step([tau], 0.01)
        steps += 1
        impulse += simulated.stop_torques[0] * 0.01
    assert steps == int(np.ceil(time / 0.01))
    assert before == pytest.approx(tau / inertia * 0.01 * (steps - 1))
    assert simulated.q[0] == 0.7
    assert simulated.v[0] == 0.0
    resting = 0.01 * steps - time
    assert impulse == pytest.approx(
        -inertia * np.sqrt(2 * tau * way / inertia) - tau * resting, rel=1e-5
    )


@pytest.mark.parametrize('seed', range(4))
def test_coupled_impacts_are_those_of_the_complementarity_problem(seed):
    """Two and three coupled joints, all of them at stops, thrown at random."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 2
    q = rng.uniform(-2.0, 2.0, n)
    sign = rng.choice([1.0, -1.0], n)
    robot = arm([(x, x + 1.0) if s > 0 else (x - 1.0, x) for x, s in zip(q, sign)])
    v = rng.normal(size=n)
    simulated = SimulatedRobot(robot, q)
    simulated.v = v
    simulated.step(np.zeros(n), 1e-12)  # too short for anything else
    E, M = np.diag(sign), robot.mass_matrix(q)
    p = complementary(E @ np.linalg.inv(M) @ E, E @ v)
    expected = v + np.linalg.solve(M, E @ p)
    np.testing.assert_allclose(simulated.v, expected, atol=1e-8)
    assert (sign * simulated.v >= 0.0).all()
    np.testing.assert_allclose(simulated.stop_torques * 1e-12, sign * p, atol=1e-9)
    assert robot.kinetic_energy(q, simulated.v) <= robot.kinetic_energy(q, v) + 1e-9


def test_rounding_leaves_no_velocity_into_a_stop():
    """Impacts after which all is at rest, by the impulse on the first of two coupled joints."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        q = rng.uniform(-2.0, 2.0, 2)
        robot = arm([(x, x + 1.0) for x in q], backend='reference')
        v = -np.linalg.solve(robot.mass_matrix(q), [rng.uniform(0.5, 2.0), 0.0])
        after, _ = Stops(robot).impact(q, v, np.array([True, True, False, False]))
        assert (after >= 0.0).all()
        np.testing.assert_allclose(after, 0.0, atol=1e-14)


@pytest.mark.parametrize('seed', range(3))
def test_loads_of_stops_at_rest_are_those_of_the_complementarity_problem(seed):
    """Some stops bear and others are left, as the coupled accelerations demand."""
    rng = np.random.default_rng(seed)
    n = 3
    q, sign = rng.uniform(-2.0, 2.0, n), rng.choice([1.0, -1.0], n)
    robot = arm([(x, x + 1.0) if s > 0 else (x - 1.0, x) for x, s in zip(q, sign)])
    tau = rng.normal(size=n) * 10.0
    E, M = np.diag(sign), robot.mass_matrix(q)
    a = robot.forward_dynamics(q, np.zeros(n), tau)
    loads = complementary(E @ np.linalg.inv(M) @ E, E @ a)
    simulated, dt = SimulatedRobot(robot, q), 1e-5
    simulated.step(tau, dt)
    np.testing.assert_allclose(simulated.stop_torques, sign * loads, atol=1e-6)
    np.testing.assert_allclose(simulated.v / dt, a + np.linalg.solve(M, sign * loads), atol=0.02)
    np.testing.assert_array_equal(simulated.q[loads > 0.0], q[loads > 0.0])


def test_an_arm_thrown_into_its_stops_never_gains_energy(panda):
    rng = np.random.default_rng(0)
    for _ in range(5):
        simulated = SimulatedRobot(panda, middle_of_range(panda))
        simulated.v = rng.normal(size=8) * np.array([3.0] * 7 + [0.1])
        before, hit = energy(simulated), False
        for _ in range(200):
            simulated.step(np.zeros(8), 0.002)
            now = energy(simulated)
            assert now <= before + 1e-5 * (1.0 + panda.kinetic_energy(simulated.q, simulated.v))
            before, hit = now, hit or simulated.stop_torques.any()
        assert hit


def test_stops_do_not_move_a_floating_base():
    """Their impulses are internal: the momentum of the whole robot stays."""
    robot = Robot(random_description(1, 3), floating_base=True, gravity=(0, 0, 0))
    simulated = SimulatedRobot(robot, integrator='momentum_preserving')
    simulated.v = np.append(np.zeros(6), [4.0, -4.0, 4.0])
    before, hit = robot.total_momentum(simulated.q, simulated.v), False
    for _ in range(300):
        simulated.step(np.zeros(9), 0.002)
        hit = hit or simulated.stop_torques.any()
        assert not simulated.stop_torques[:6].any()
    assert hit
    np.testing.assert_allclose(
        robot.total_momentum(simulated.q, simulated.v),
        before,
        atol=10 * LIMIT_TOLERANCE * np.abs(before).max(),
    )


# --- what is no stop, and joints that are beyond one ----------------------------------------------


def test_between_its_stops_it_moves_as_the_integrator_does(panda):
    for name, kind in (('runge_kutta', RungeKutta), ('semi_implicit', SemiImplicitEuler)):
        simulated, step = SimulatedRobot(panda, middle_of_range(panda), name), kind(panda).step
        posture = Posture(panda, simulated.q, amplitude=0.3, period=3.0)
        q, v = simulated.q, simulated.v
        for k in range(300):
            tau = posture.torques(k * 0.002, q, v)
            q, v = step(q, v, tau, 0.002)
            simulated.step(tau, 0.002)
            assert not simulated.stop_torques.any()
        np.testing.assert_allclose(simulated.q, q, rtol=0, atol=1e-10)
        np.testing.assert_allclose(simulated.v, v, rtol=0, atol=1e-9)


def test_beyond_a_limit_a_joint_may_return_and_goes_no_further():
    robot = arm([(-1.0, 0.5)], gravity=(0, 0, 0))
    simulated = SimulatedRobot(robot, [2.0])
    simulated.v[0] = 1.0
    simulated.step([1.0], 0.01)
    assert (simulated.q[0], simulated.v[0]) == (2.0, 0.0)
    assert simulated.stop_torques[0] == pytest.approx(-1.0 - 0.35 / 0.01)
    for _ in range(500):
        simulated.step([-1.0], 0.01)
    assert (simulated.q[0], simulated.v[0]) == (-1.0, 0.0)


def test_a_joint_without_a_range_stays():
    robot = arm([(0.4, 0.4), (-1.0, 1.0)])
    simulated = SimulatedRobot(robot, [0.4, 0.9])
    for k in range(300):
        simulated.step([20.0 * (-1) ** (k // 30), 5.0], 0.002)
        assert simulated.q[0] == 0.4
        assert simulated.v[0] == 0.0
    assert abs(simulated.q[1] - 0.9) > 0.05


def test_mimic_joints_stop_with_the_joint_they_follow():
    """Ranges of their own do not count: they are no coordinates."""
    robot = Robot.from_urdf(urdf_path('panda'))
    stops = Stops(robot)
    assert robot.joint_names[7] == 'panda_finger_joint1'
    assert stops.q.tolist() == [*range(8), *range(8)]
    assert stops.limit[15] == 0.04
    simulated = SimulatedRobot(robot)
    for _ in range(200):
        simulated.step(robot.gravity_torques(simulated.q) + np.eye(8)[7], 0.002)
    assert simulated.q[7] == 0.04
    assert simulated.stop_torques[7] == pytest.approx(-1.0, abs=1e-3)


def test_one_sided_limits_and_none_at_all():
    robot = arm([(-np.inf, 0.3), None], gravity=(0, 0, 0))
    assert len(Stops(robot).q) == 2
    simulated = SimulatedRobot(robot, [0.0, 0.0])
    highest = 0.0
    for k in range(400):
        simulated.step([1.0 if k < 200 else -1.0, 0.1], 0.01)
        highest = max(highest, simulated.q[0])
    assert highest == 0.3
    assert simulated.q[0] < -1.0
    assert simulated.q[1] > 2.0


# --- steps ----------------------------------------------------------------------------------------


def test_fast_motion_is_integrated_with_shorter_steps():
    """A double pendulum at 60 rad/s; one step of 10 ms would turn it by 0.6 rad."""
    robot = arm([None, None])
    fast, fine = SimulatedRobot(robot, [0.3, 0.1]), SimulatedRobot(robot, [0.3, 0.1])
    fast.v, fine.v = np.array([60.0, -90.0]), np.array([60.0, -90.0])
    once = RungeKutta(robot).step(fast.q, fast.v, np.zeros(2), 0.01)[1]
    fast.step(np.zeros(2), 0.01)
    for _ in range(1000):
        fine.step(np.zeros(2), 1e-5)
    assert np.abs(once - fine.v).max() > 1.0
    np.testing.assert_allclose(fast.v, fine.v, atol=0.05)


def test_stiff_friction_is_integrated_with_shorter_steps():
    """Damping that takes the speed in 0.35 ms: explicit steps of 2 ms would make it grow."""
    robot = arm([(-3.0, 3.0)], gravity=(0, 0, 0), drives={'j1': Drive(damping=1000.0)})
    simulated = SimulatedRobot(robot, [0.0])
    simulated.v[0] = 1.0
    for _ in range(10):
        simulated.step([0.0], 0.002)
    assert abs(simulated.v[0]) < 1e-3
    assert simulated.q[0] == pytest.approx(0.35 / 1000.0, rel=0.05)


@pytest.mark.parametrize('integrator', FIXED)
def test_divergence_leaves_the_state_as_it_was(integrator):
    robot = arm([None, None])
    simulated = SimulatedRobot(robot, [0.3, 0.1], integrator)
    simulated.step([1.0, 1.0], 0.01)
    q, v = simulated.q.copy(), simulated.v.copy()
    for tau in ([1e308, 0.0], [0.0, 1e12], [np.nan, 0.0], [np.inf, 0.0]):
        with pytest.raises(DivergenceError, match=r'(too fast for steps of|not finite)'):
            simulated.step(tau, 0.01)
        np.testing.assert_array_equal(simulated.q, q)
        np.testing.assert_array_equal(simulated.v, v)
    simulated.step([1.0, 1.0], 0.01)
    assert (simulated.q != q).all()


def test_what_cannot_be_simulated_is_told(panda):
    simulated = SimulatedRobot(panda, middle_of_range(panda))
    simulated.q = np.full(8, np.nan)
    with pytest.raises(DivergenceError, match='not finite: q = '):
        simulated.step(np.zeros(8), 0.002)


def test_a_free_body_that_turns_too_far_in_a_step():
    robot = Robot.from_urdf(
        '<robot name="stone"><link name="stone"><inertial><mass value="1"/><inertia ixx="1" '
        'iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>',
        floating_base=True,
    )
    simulated = SimulatedRobot(robot)
    simulated.v[:2] = 40.0, 1.0
    before = energy(simulated)
    for _ in range(10):
        simulated.step(np.zeros(robot.nv), 0.2)  # more than a turn
    assert energy(simulated) == pytest.approx(before, rel=1e-3)


def test_a_free_body_may_fly_as_fast_as_it_likes():
    robot = Robot(random_description(1, 3), floating_base=True, backend='python', gravity=(0, 0, 0))
    simulated = SimulatedRobot(robot)
    simulated.v[3:6] = 7000.0, 0.0, 1000.0
    calls = []
    step = simulated.stepping.integrator.step
    simulated.stepping.integrator.step = lambda *a: calls.append(a) or step(*a)
    simulated.step(np.zeros(robot.nv), 0.01)
    assert len(calls) == 1


def test_impacts_are_found_within_the_step():
    """Two joints that stop at different times of one step: each at its own."""
    robot = arm([(-1.0, 0.1), (-1.0, 0.2)], gravity=(0, 0, 0))
    once, fine = SimulatedRobot(robot, [0.0, 0.0]), SimulatedRobot(robot, [0.0, 0.0])
    once.v, fine.v = np.array([3.0, 4.0]), np.array([3.0, 4.0])
    once.step(np.zeros(2), 0.06)
    for _ in range(6000):
        fine.step(np.zeros(2), 1e-5)
    assert once.q[0] == fine.q[0] == 0.1
    np.testing.assert_allclose(once.q, fine.q, atol=20 * LIMIT_TOLERANCE)
    np.testing.assert_allclose(once.v, fine.v, atol=1e-3)


def test_impacts_are_looked_for_eight_times(monkeypatch):
    """A time that is never early enough: then the joint is put on its stop at the end."""
    calls = []

    def late(distances, velocities, later, dt):
        calls.append(dt)
        return 0.99 * dt

    monkeypatch.setattr(stepping, 'first_passage', late)
    simulated = SimulatedRobot(arm([(-1.0, 1.0)], gravity=(0, 0, 0), backend='python'))
    simulated.set_state([0.9], [2.0])
    simulated.step(np.zeros(1), 0.09)
    assert len(calls) == 8
    np.testing.assert_allclose(np.divide(calls[1:], calls[:-1]), 0.99)
    assert is_within(simulated)


def test_integrators_are_all_covered():
    assert {*FIXED, 'momentum_preserving'} == set(INTEGRATORS)
