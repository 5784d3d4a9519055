# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""References of servos: a slow motion within limits, and bounded ways to goals."""

import numpy as np
import pytest

from screw_dynamics_ros.core.simulation.joint_servo import (
    DECELERATION_SHARE,
    ReferenceProfile,
)
from screw_dynamics_ros.core.simulation.posture import ReferenceMotion

DT = 0.002


def followed(goal, velocity, acceleration, count=3000, start=(0.0, 0.0), rate=None):
    """Return positions and velocities (count,) on the way of one joint to goals by time."""
    profile = ReferenceProfile(np.array([velocity]))
    profile.start(np.array([start[0]]), np.array([start[1]]))
    path = []
    for k in range(count):
        t = k * DT
        profile.approach(
            np.array([goal(t)]), np.array([rate(t) if rate else 0.0]), np.array([acceleration]), DT
        )
        path.append((profile.q[0], profile.v[0]))
    return np.array(path).T


@pytest.mark.parametrize('distance', [-3.0, -0.01, 0.2, 2.0, 50.0])
def test_a_step_is_approached_within_the_bounds_and_not_overshot(distance):
    q, v = followed(lambda t: distance, 8.0, 5.0, 10000)
    assert q[-1] == pytest.approx(distance, abs=1e-9)
    assert np.abs(v).max() <= 8.0 + 1e-12
    assert np.abs(np.diff(v)).max() <= 5.0 * DT + 1e-12
    assert np.abs(q).max() <= abs(distance) + 1e-3  # within what a period moves


def test_it_takes_nearly_the_shortest_time():
    """Bang-bang would take 2 sqrt(d / a); braking takes 0.8 of the acceleration."""
    q, _ = followed(lambda t: 1.0, 100.0, 4.0)
    arrival = DT * np.argmax(np.abs(q - 1.0) < 1e-3)
    assert 2.0 * np.sqrt(1.0 / 4.0) < arrival < 1.3 * 2.0 * np.sqrt(1.0 / 4.0)


def test_slow_goals_are_followed_without_delay():
    """A stream of commands with velocities; without them, behind by the way to stop."""

    def goal(t):
        return 0.5 * np.sin(2.0 * t)

    q, _ = followed(goal, 5.0, 20.0, rate=lambda t: np.cos(2.0 * t))
    times = DT * (np.arange(len(q)) + 1)
    np.testing.assert_allclose(q[500:], goal(times[500:]), atol=1e-5)
    q, _ = followed(goal, 5.0, 20.0)
    behind = np.abs(q - goal(times - DT))[500:]
    assert 0.02 < behind.max() < 1.02 * 1.0**2 / (2.0 * DECELERATION_SHARE * 20.0)


def test_a_joint_that_moves_away_comes_back():
    q, v = followed(lambda t: 0.0, 10.0, 4.0, start=(1.0, 3.0))
    assert q.max() > 1.5
    assert np.abs(np.diff(v)).max() <= 4.0 * DT + 1e-12
    assert q[-1] == pytest.approx(0.0, abs=1e-9)


def test_without_limits_it_is_there_at_once_and_without_force_never():
    assert followed(lambda t: 1.0, np.inf, np.inf, 1)[0][0] == pytest.approx(1.0)
    assert followed(lambda t: 1.0, 1.0, 0.0, 100)[0][-1] == 0.0


def test_the_slow_motion_stays_within_the_limits_and_begins_at_rest():
    lower, upper = np.array([-1.0, -np.inf, 0.0]), np.array([0.1, np.inf, 0.0])
    motion = ReferenceMotion(np.zeros(3), lower, upper, amplitude=0.4, period=5.0)
    q, v = (np.array(x) for x in zip(*(motion.at(t) for t in np.linspace(0.0, 40.0, 4001))))
    np.testing.assert_array_equal([q[0], v[0]], 0.0)
    assert ((lower <= q) & (q <= upper)).all()
    np.testing.assert_allclose(np.ptp(q, axis=0), [0.4, 0.4, 0.0], rtol=1e-4)
    np.testing.assert_allclose(np.gradient(q, 0.01, axis=0)[1:-1], v[1:-1], atol=1e-4)
