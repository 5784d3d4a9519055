# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms that lead one another: passive for every delay within the bound, and only then."""

import os

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.law import LAWS
from screw_dynamics_ros.core.simulation import ContactPoint, Plane, SimulatedRobot
from support.robots import urdf_path
from support.teleoperation import DAMPING, START, STEP, STIFFNESS, TIP, Pairs, low_cost_arm

SEQUENCES = int(os.environ.get('TELEOPERATION_SEQUENCES', '20'))
DELAYS = np.array([0, 10, 25, 50])  # steps
K, D = 240.0, 0.5


def largest_balance(delay, round_trip, steps=2500):
    """Return the largest stored energy less work of the hands [J] of two arms without friction.

    The hands pull the leader forth and back. Stored: kinetic energy, the spring between the arms,
    and what velocities on their way store in the dampers (Lee and Spong 2006).
    """
    robot = Robot.from_urdf(urdf_path('planar_2r'), gravity=(0.0, 0.0, 0.0))
    values = {'stiffness': K, 'damping': D, 'round_trip': round_trip}
    law = LAWS['bilateral'].on(robot)
    pairs = Pairs(robot, np.array([[0.3, 0.8]]), law, values, [delay])
    leader, follower = pairs.arms
    work, largest, speeds = 0.0, 0.0, [np.zeros((2, 2))] * delay
    for k in range(steps):
        hand = np.array([[4.0, 2.0]]) * np.sin(9.0 * k * STEP) * (k < 1250)
        before = leader.v.copy()
        pairs.step(hand)
        work += STEP * np.sum(hand * (before + leader.v) / 2.0)
        speeds = [*speeds[1:], np.concatenate([leader.v, follower.v])]
        spring = 0.5 * K * np.sum((leader.q - follower.q) ** 2)
        on_the_way = 0.5 * D * STEP * np.sum(np.square(speeds))
        largest = max(largest, pairs.kinetic[0] + spring + on_the_way - work)
        if largest > 1.0:
            break
    return largest


def test_stored_energy_is_at_most_the_work_of_the_hands():
    """With the delay there and back and two periods; without, the coupling makes energy."""
    delay = 50
    round_trip = 2.0 * delay * STEP
    assert largest_balance(delay, round_trip + 2.0 * STEP) < 1e-6
    assert largest_balance(delay, 0.0) > 1.0


def hands(pairs, rng, count):
    """Return a function of time with torques of hands that lead the leaders, then hold them."""
    size, rate = rng.uniform(-0.2, 0.2, (count, 7)), rng.uniform(2.0, 8.0, (count, 1))
    stiffness = rng.uniform(0.1, 1.0, (count, 1)) * STIFFNESS
    start = pairs.arms[0].q.copy()

    def torques(t, until):
        leader = pairs.arms[0]
        target = start + size * np.sin(rate * min(t, until))
        return stiffness * (target - leader.q) - 0.02 * stiffness * leader.v

    return torques


def test_random_contacts_and_delays_come_to_rest():
    """The follower hits a wall of 1e5 N/m again and again; then the hands hold still."""
    rng, robot = np.random.default_rng(8), low_cost_arm()
    values = {'stiffness': STIFFNESS, 'damping': DAMPING, 'round_trip': 2e-3 * DELAYS.max() + STEP}
    law = LAWS['bilateral'] + LAWS['friction_compensation']  # leaves the least damping
    values = {f'bilateral.{name}': value for name, value in values.items()}
    delays = rng.choice(DELAYS, SEQUENCES)
    tip, up = robot.link_pose(START, TIP)[:3, 3], np.array([0.1, 0.0, 1.0])
    q = START + rng.uniform(-0.005, 0.005, (SEQUENCES, 7))
    wall = Plane(tip - 0.01 * up, up, stiffness=1e5, damping=0.5)
    world = {'planes': [wall], 'contact_points': [ContactPoint(TIP)]}
    pairs = Pairs(robot, q, law.on(robot), values, delays, **world)
    torques, pressed, kinetic, largest = hands(pairs, rng, SEQUENCES), 0.0, [], 0.0
    for k in range(4000):
        pairs.step(torques(k * STEP, 1.5))
        kinetic.append(pairs.kinetic)
        largest = max(largest, np.max(np.abs(pairs.tau) / robot.limits.effort))
        pressed = np.maximum(pressed, np.linalg.norm(pairs.arms[1].contact_wrenches[TIP], axis=1))
    assert (pressed > 5.0).mean() > 0.5
    assert largest < 1.0
    assert np.max(kinetic) < 20.0
    before, after = (np.max(kinetic[k : k + 500], axis=0) for k in (2500, 3500))
    assert (after < np.maximum(0.5 * before, 1e-6)).all()


def test_forces_of_both_arms_are_reflected():
    """The own one is found from measured torques, also where it steps; none in the first state."""
    robot = Robot.from_urdf(urdf_path('planar_2r'))
    law, memory = LAWS['force_reflection'].on(robot), None
    arm = SimulatedRobot(robot, [0.3, 0.8])
    values, other, tau = law.values_of({'share': 0.5, 'rate': 100.0}), [1.0, -2.0], np.zeros(2)
    for k in range(400):
        external = np.array([3.0, -1.5]) if k >= 200 else np.zeros(2)
        state = {'tau': robot.gravity_torques(arm.q)}
        arm.step(state['tau'] + external, STEP)
        tau, memory = law.step(
            *(arm.q, arm.v),
            state=state,
            dt=STEP if k else 0.0,
            reference={'tau': other},
            parameters=values,
            memory=memory,
        )
        if k in (0, 199):
            np.testing.assert_allclose(tau, 0.5 * np.array(other), atol=0.01)
    np.testing.assert_allclose(tau, 0.5 * (external + other), atol=0.01)


def test_friction_compensation_leaves_dissipation():
    """And neither steps nor amplifies noise at rest."""
    robot = low_cost_arm()
    law = LAWS['friction_compensation'].on(robot)
    values = law.values_of({'share': 0.9})
    for v in np.geomspace(1e-4, 3.0, 20):
        for sign in (1.0, -1.0):
            tau, _ = law.step(START, np.full(7, sign * v), parameters=values)
            friction = robot.friction_torques(np.full(7, sign * v))
            assert (sign * tau > 0.0).all()
            assert (np.abs(tau) <= 0.9 * np.abs(friction)).all()
            if v < 1e-3:
                assert np.abs(tau).max() < 1e-3
    np.testing.assert_allclose(np.abs(tau), 0.9 * np.abs(friction), rtol=1e-3)
    with pytest.raises(ArgumentError, match=r'share must be in \[0.0, 0.9\]'):
        law.values_of({'share': 0.95})
