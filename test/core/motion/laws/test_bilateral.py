# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms that lead one another: passive for every delay within the bound, and only then."""

import os

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.law import LAWS
from screw_dynamics_ros.core.simulation import ContactPoint, Plane
from support.robots import urdf_path
from support.teleoperation import DAMPING, START, STEP, STIFFNESS, TIP, Pairs, low_cost_arm

SEQUENCES = int(os.environ.get('TELEOPERATION_SEQUENCES', '12'))
DELAYS = np.array([0, 10, 25, 50])  # steps
K, D = 240.0, 3.0


def swinging(round_trips, delays, steps=4000):
    """Return stored energy less work of the hands (N, steps) of pairs of arms without friction.

    The hands pull the leader forth and back. Stored: kinetic energy, the spring between the arms,
    and what velocities on their way store in the dampers (Lee and Spong 2006).
    """
    robot = Robot.from_urdf(urdf_path('planar_2r'), gravity=(0.0, 0.0, 0.0))
    law = LAWS['bilateral'].on(robot)
    found = []
    for round_trip, delay in zip(round_trips, delays):
        q = np.tile([0.3, 0.8], (1, 1))
        values = {'stiffness': K, 'damping': D, 'round_trip': round_trip}
        pairs = Pairs(robot, q, law, values, [delay])
        leader, follower = pairs.arms
        work, balance, speeds = 0.0, [], [np.zeros((2, 2))] * (delay + 1)
        for k in range(steps):
            hand = np.array([[4.0, 2.0]]) * np.sin(9.0 * k * STEP) * (k < 2000)
            before = leader.v.copy()
            pairs.step(hand)
            work += STEP * np.sum(hand * (before + leader.v) / 2.0)
            speeds = [*speeds[1:], np.concatenate([leader.v, follower.v])]
            spring = 0.5 * K * np.sum((leader.q - follower.q) ** 2)
            on_the_way = 0.5 * D * STEP * np.sum(np.square(speeds[1:]))
            balance.append(pairs.kinetic[0] + spring + on_the_way - work)
        found.append(balance)
    return np.array(found)


@pytest.mark.parametrize('delay', [10, 50])
def test_stored_energy_is_at_most_the_work_of_the_hands(delay):
    """With the delay there and back and two periods; with none, the coupling makes energy."""
    enough, none = swinging([2.0 * delay * STEP + 2.0 * STEP, 0.0], [delay, delay])
    assert enough.max() < 1e-3
    assert none.max() > 1.0


def hands(pairs, rng, count):
    """Return a function of time with torques of hands that lead the leaders, then hold them."""
    size, rate = rng.uniform(-0.35, 0.35, (count, 7)), rng.uniform(2.0, 9.0, (count, 1))
    stiffness = rng.uniform(0.1, 1.0, (count, 1)) * STIFFNESS
    start = pairs.arms[0].q.copy()

    def torques(t, until):
        leader = pairs.arms[0]
        target = start + size * np.sin(rate * min(t, until))
        return stiffness * (target - leader.q) - 0.02 * stiffness * leader.v

    return torques


@pytest.mark.parametrize('sum_of_laws', ['bilateral', 'with friction'])
def test_random_contacts_and_delays_come_to_rest(sum_of_laws):
    """The follower hits a wall of 1e5 N/m again and again; then the hands hold still."""
    rng, robot = np.random.default_rng(8), low_cost_arm()
    law = LAWS['bilateral']
    prefix = ''
    if sum_of_laws != 'bilateral':
        law, prefix = law + LAWS['friction_compensation'], 'bilateral.'
    delays = rng.choice(DELAYS, SEQUENCES)
    height = robot.link_pose(START, TIP)[2, 3]
    q = START + rng.uniform(-0.05, 0.05, (SEQUENCES, 7))
    wall = Plane([0.0, 0.0, height - 0.02], [0.1, 0.0, 1.0], stiffness=1e5, damping=0.5)
    values = {'stiffness': STIFFNESS, 'damping': DAMPING, 'round_trip': 0.102}
    pairs = Pairs(
        robot,
        q,
        law.on(robot),
        {f'{prefix}{name}': value for name, value in values.items()},
        delays,
        planes=[wall],
        contact_points=[ContactPoint(TIP)],
    )
    torques, pressed, kinetic, largest = hands(pairs, rng, SEQUENCES), 0.0, [], 0.0
    for k in range(3000):
        pairs.step(torques(k * STEP, 1.5))
        kinetic.append(pairs.kinetic)
        largest = max(largest, np.max(np.abs(pairs.tau) / robot.limits.effort))
        pressed = np.maximum(pressed, np.linalg.norm(pairs.arms[1].contact_wrenches[TIP], axis=1))
    assert (pressed > 5.0).mean() > 0.5
    assert np.max(kinetic) < 20.0
    assert np.max(kinetic[-500:]) < 1e-3
    assert largest < 1.0
