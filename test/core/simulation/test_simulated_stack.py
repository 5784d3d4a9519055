# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stacks of robots move as single ones do, and are refused what these are refused."""

import numpy as np
import pytest
from scipy.optimize import nnls

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.errors import ArgumentError, DivergenceError, UnknownNameError
from screw_dynamics_ros.core.integration import RungeKutta
from screw_dynamics_ros.core.least_squares import non_negative_least_squares
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import (
    ContactPoint,
    Plane,
    SimulatedRobot,
    SimulatedStack,
    Spring,
)
from screw_dynamics_ros.core.simulation.stops import Stops, complementary
from support.free_boxes import LINK, UPRIGHT, free_box
from support.models import random_description
from support.robots import urdf_path

COUNT = 11  # no whole number of vectors


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'))


def starts(robot, seed):
    """Return states (N, nq), (N, nv) in the middle third of the ranges."""
    rng = np.random.default_rng(seed)
    middle = middle_of_range(robot)
    q = middle + (robot.random_configuration(rng, COUNT) - middle) / 3
    return q, 0.3 * rng.normal(size=(COUNT, robot.nv))


@pytest.mark.parametrize('integrator', ['runge_kutta', 'semi_implicit'])
def test_a_stack_moves_as_single_robots_do(panda, integrator):
    """In contact and pulled by a spring, as long as single steps are not divided."""
    q, v = starts(panda, 0)
    table = Plane([0, 0, 0.45], [0, 0.2, 1.0], stiffness=2e3, friction=0.4)
    around = {
        'planes': [table],
        'contact_points': [ContactPoint('panda_hand', [0, y, 0.1], 0.02) for y in (-0.1, 0.1)],
        'springs': [Spring('panda_link4', [0, 0, 0], [0, 0, 1.5], 40.0, 3.0)],
    }
    stack = SimulatedStack(panda, COUNT, integrator=integrator, **around)
    stack.set_state(q, v)
    singles = [SimulatedRobot(panda, integrator=integrator, **around) for _ in range(COUNT)]
    for k, single in enumerate(singles):
        single.set_state(q[k], v[k])
    rng, force = np.random.default_rng(1), np.array([0, 0, 0, 0, 0, 20.0])
    tau = panda.gravity_torques(q) + rng.normal(size=(COUNT, 8)) * ([1.0] * 7 + [0.01])
    undivided = np.ones(COUNT, dtype=bool)
    touched = np.zeros(COUNT, dtype=bool)
    for _ in range(25):
        stack.step(tau, 1e-3, {'panda_hand': force})
        for k, single in enumerate(singles):
            calls = []
            step = single.stepping.integrator.step
            single.stepping.integrator.step = lambda *a: calls.append(a) or step(*a)  # noqa: B023
            single.step(tau[k], 1e-3, {'panda_hand': force})
            single.stepping.integrator.step = step
            undivided[k] &= not calls  # whole steps are one compiled function
        touched |= stack.contact_wrenches['panda_hand'].any(axis=1)
        for k in np.flatnonzero(undivided):
            np.testing.assert_allclose(stack.q[k], singles[k].q, rtol=0, atol=1e-9)
            np.testing.assert_allclose(stack.v[k], singles[k].v, rtol=0, atol=1e-7)
    assert (undivided & touched).sum() >= 2
    kinetic, potential = stack.energy
    for k in np.flatnonzero(undivided):
        np.testing.assert_allclose((kinetic[k], potential[k]), singles[k].energy, rtol=1e-7)
        np.testing.assert_allclose(
            stack.contact_wrenches['panda_hand'][k],
            singles[k].contact_wrenches['panda_hand'],
            atol=1e-4,
        )


def test_a_stack_on_floating_bases_with_mimic_joints():
    robot = Robot(
        random_description(2, 4, mimic=1),
        floating_base=True,
        gravity=(0, 0, -9.81),
        backend='python',
    )
    stack, single = SimulatedStack(robot, 3), SimulatedRobot(robot)
    start = np.linspace(-1.0, 1.0, robot.nv)
    stack.set_state(robot.neutral(), start)
    single.set_state(robot.neutral(), start)
    for _ in range(50):
        stack.step(np.zeros(robot.nv), 2e-3)
        single.step(np.zeros(robot.nv), 2e-3)
    np.testing.assert_allclose(stack.q, np.tile(single.q, (3, 1)), atol=1e-12)
    np.testing.assert_allclose(stack.v, np.tile(single.v, (3, 1)), atol=1e-10)


def nearest_admissible(M, v, E):
    """Return the velocity with E^T v >= 0 nearest to v in the metric M, and the impulse to it."""
    if not E.size:
        return v, np.zeros(len(v))
    L = np.linalg.cholesky(M)
    K = np.linalg.solve(L, E)
    p = non_negative_least_squares(K, -L.T @ v)
    return v + np.linalg.solve(L.T, K @ p), E @ p


def test_impacts_of_stacks_and_of_single_robots(panda):
    """B-103: Moreau's law for several stops at a time."""
    rng, stops = np.random.default_rng(2), Stops(panda)
    count = 200
    q, v = panda.random_configuration(rng, count), rng.normal(size=(count, 8))
    upper = rng.random((count, 8)) < 0.5
    at = rng.random((count, 8)) < 0.6
    q[at] = np.where(upper, panda.limits.upper, panda.limits.lower)[at]
    touched = stops.distances(q, stops.limits_from(q)) <= 0.0
    after, impulses = stops.impact(q, v, touched)
    assert (after[impulses != 0.0] == 0.0).all()  # not only by rounding
    several = 0
    for k in range(count):
        E = (np.eye(8)[stops.v[touched[k]]] * stops.sign[touched[k], None]).T
        expected = nearest_admissible(panda.mass_matrix(q[k]), v[k], E)
        for found in ((after[k], impulses[k]), stops.impact(q[k], v[k], touched[k])):
            np.testing.assert_allclose(found[0], expected[0], atol=1e-10)
            np.testing.assert_allclose(found[1], expected[1], atol=1e-10)
        several += (impulses[k] != 0.0).sum() > 1
    assert several > 50


@pytest.mark.parametrize('size', [1, 3, 8])
def test_complementary_problems(size):
    """Signs and products, with joints at no limit, at one, and at both."""
    rng = np.random.default_rng(size)
    factor = rng.normal(size=(300, size, size))
    A, b = factor @ factor.swapaxes(1, 2) + 1e-3 * np.eye(size), rng.normal(size=(300, size))
    lower, upper = rng.random((2, 300, size)) < 0.5
    p = complementary(A, b, lower, upper)
    y = b + np.einsum('nij,nj->ni', A, p)
    assert (p[~lower & ~upper] == 0.0).all()
    np.testing.assert_allclose(y[lower & upper], 0.0, atol=1e-8)
    for one, sign in ((lower & ~upper, 1.0), (upper & ~lower, -1.0)):
        assert (sign * p[one] >= 0.0).all()
        assert (sign * y[one] >= -1e-8).all()
        np.testing.assert_allclose((p * y)[one], 0.0, atol=1e-6)


#: With these, exchanges of all wrong joints at once return to where they began.
CYCLES = (
    ([[17.1, -8, 16], [-8, 5.1, -6], [16, -6, 17.1]], [5, -4, 1]),
    ([[7.1, -2, 6, -2], [-2, 9.1, -11, -12], [6, -11, 23.1, 19], [-2, -12, 19, 26.1]],
     [-5, 1, -4, 2]),
    ([[19.1, -3, 9, -14, 6], [-3, 9.1, 0, -5, -10], [9, 0, 15.1, -9, 2], [-14, -5, -9, 23.1, 7],
      [6, -10, 2, 7, 14.1]], [-4, -5, 3, 3, 4]),
)  # fmt: skip


@pytest.mark.parametrize('number', range(len(CYCLES)))
def test_complementary_problems_that_take_single_exchanges(number):
    """Beside easy ones, at lower and upper limits, by least squares of SciPy."""
    A, b = (np.array(each, dtype=float) for each in CYCLES[number])
    held, visited = b < 0.0, set()
    while tuple(held) not in visited:
        visited.add(tuple(held))
        p = np.zeros(len(b))
        p[held] = np.linalg.solve(A[np.ix_(held, held)], -b[held])
        held = held ^ np.where(held, p < 0.0, A @ p + b < -1e-9)
    factor = np.linalg.cholesky(A)
    expected = nnls(factor.T, np.linalg.solve(factor, -b))[0]
    assert tuple(held ^ True) != tuple(expected == 0.0)
    at = np.ones((3, len(b)), dtype=bool)
    stack = np.array([A, A, np.eye(len(b))]), np.array([b, -b, b])
    upper = at & np.array([[False], [True], [False]])
    p = complementary(*stack, at & ~upper, upper)
    np.testing.assert_allclose(p, [expected, -expected, np.maximum(-b, 0.0)], atol=1e-9)


def test_numbers_that_have_no_solution_end_the_exchanges():
    A, at = np.array([[[1.0, 2.0], [2.0, 1.0]]]), np.ones((1, 2), dtype=bool)
    with pytest.raises(np.linalg.LinAlgError, match='no forces of stops were found'):
        complementary(-A, np.array([[-1.0, -1.0]]), at, ~at)


def test_joints_come_to_rest_at_their_limits():
    """Driven into the stops, with friction: never beyond them, and at last exactly there."""
    drives = {f'panda_joint{k}': Drive(damping=5.0) for k in range(1, 8)}
    drives['panda_finger_joint1'] = Drive(damping=20.0)
    robot = Robot.from_urdf(urdf_path('panda'), drives=drives)
    stack, limits = SimulatedStack(robot, COUNT), robot.limits
    sign = np.random.default_rng(3).choice([-1.0, 1.0], (COUNT, 8))
    tau = 0.7 * sign * limits.effort
    for _ in range(2000):
        stack.step(tau, 2e-3)
        assert (limits.lower <= stack.q).all()
        assert (stack.q <= limits.upper).all()
    np.testing.assert_array_equal(stack.q, np.where(sign > 0, limits.upper, limits.lower))
    np.testing.assert_array_equal(stack.v, 0.0)
    expected = robot.gravity_torques(stack.q) - tau
    np.testing.assert_allclose(stack.stop_torques, expected, atol=1e-9)


def test_a_joint_that_leaves_its_stop_is_not_held(panda):
    """Its torque would bring it back later than in this step."""
    q = middle_of_range(panda)
    q[6] = panda.limits.upper[6]
    v, tau = -0.5 * np.eye(8)[6], panda.gravity_torques(q) + 0.1 * np.eye(8)[6]
    stack = SimulatedStack(panda, 2, q)
    stack.v[1] = v
    stack.step(tau, 1e-3)
    expected = RungeKutta(panda).step(q, v, tau, 1e-3)
    np.testing.assert_allclose(stack.q[1], expected[0], atol=1e-12)
    np.testing.assert_allclose(stack.v[1], expected[1], atol=1e-12)
    assert not stack.stop_torques[1].any()
    assert (stack.q[0, 6], stack.v[0, 6]) == (q[6], 0.0)
    assert stack.stop_torques[0, 6] == pytest.approx(-0.1, rel=1e-6)


def test_a_stack_thrown_into_its_stops_gains_no_energy(panda):
    """Impacts come late in a step, and the work of the torques beyond a stop is taken back."""
    stack, rng = SimulatedStack(panda, COUNT, middle_of_range(panda)), np.random.default_rng(4)
    stack.v = rng.normal(size=(COUNT, 8)) * ([3.0] * 7 + [0.1])
    before, hit = sum(stack.energy), np.zeros(COUNT, dtype=bool)
    for _ in range(300):
        stack.step(np.zeros(8), 1e-3)
        now = sum(stack.energy)
        assert (now <= before + 1e-4 * (1.0 + stack.energy[0])).all()
        before, hit = now, hit | stack.stop_torques.any(axis=1)
    assert hit.all()


def test_one_torque_or_one_wrench_for_each():
    stack = SimulatedStack(free_box(2.0, gravity=(0, 0, 0)), 3)
    wrenches = np.zeros((3, 6))
    wrenches[:, 3] = [0.0, 2.0, 4.0]
    for _ in range(10):
        stack.step(np.zeros(6), 0.1, {LINK: wrenches})
    np.testing.assert_allclose(stack.v[:, 3], [0.0, 1.0, 2.0], atol=1e-12)
    np.testing.assert_allclose(stack.q[:, 0], [0.0, 0.5, 1.0], atol=1e-12)


def test_a_stack_that_diverges_stays_and_says_which_robot():
    stack = SimulatedStack(free_box(), 3)
    torques = np.zeros((3, 6))
    torques[1, 5] = 1e308
    stack.step(np.zeros(6), 1e-2)
    before = stack.save()
    with pytest.raises(DivergenceError, match='1 of 3 robots, the first one with number 1'):
        stack.step(torques, 1e3)
    after = stack.save()
    for name in ('q', 'v', 'memory', 'stop_torques'):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_a_stack_that_turns_too_far_in_a_step():
    stack = SimulatedStack(free_box(backend='reference'), 2)
    stack.v[1, 0] = 100.0
    with pytest.raises(
        DivergenceError, match=r"too fast for steps of 0\.1 s: 'box' turns by 10 rad"
    ):
        stack.step(np.zeros(6), 0.1)


@pytest.mark.parametrize(
    ('step', 'message'),
    [
        (lambda s: s.step(np.zeros(6), 0.0), 'dt must be a finite positive number'),
        (lambda s: s.step(np.zeros((3, 6)), 0.1), r'tau must have shape \(6,\) or \(2, 6\)'),
        (lambda s: s.step(np.zeros(6), 0.1, {LINK: np.zeros((3, 6))}), "wrench on 'box' must have"),
        (lambda s: s.step(np.zeros(6), 0.1, {LINK: [np.nan] * 6}), "on 'box' must be finite"),
        (lambda s: s.set_state(np.zeros((3, 7)), np.zeros(6)), r'q must have shape \(7,\)'),
        (lambda s: s.set_state([0.0] * 7, np.zeros(6)), "quaternion of 'box'"),
        (lambda s: SimulatedStack(s.robot, 0), 'count must be a whole number >= 1'),
        (lambda s: SimulatedStack(s.robot, 2.0), 'count must be a whole number >= 1'),
    ],
)
def test_bad_input(step, message):
    stack = SimulatedStack(free_box(backend='reference'), 2)
    with pytest.raises(ArgumentError, match=message):
        step(stack)
    with pytest.raises(UnknownNameError, match="'arm'"):
        stack.step(np.zeros(6), 0.1, {'arm': np.zeros(6)})
    np.testing.assert_array_equal(stack.q, np.tile([0, 0, 0, *UPRIGHT], (2, 1)))
    np.testing.assert_array_equal(stack.v, 0.0)
