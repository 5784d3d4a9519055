# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wheels that contradict each other, the mistake that explains it, and healthy ones."""

import numpy as np
import pytest

from screw_dynamics_ros.core.mobile.platforms import (
    ackermann,
    differential_drive,
    mecanum,
    omnidirectional,
    steering_for,
    swerve,
)
from screw_dynamics_ros.core.mobile.wheel_check import TOLERANCE, WheelCheck

CORNERS = [[0.4, 0.3], [0.4, -0.3], [-0.4, 0.3], [-0.4, -0.3]]
PLATFORMS = {
    'car': (ackermann(1.2, 0.8, 0.3), 0.0),
    'swerve': (swerve(CORNERS, 0.1), 0.2),
    'mecanum': (mecanum(0.6, 0.4, 0.1), 0.2),
    'three wheels': (omnidirectional(3, 0.3, 0.05), 0.2),
    'differential': (differential_drive(0.5, 0.1), 0.0),
}


def driven(kind, seconds, change=lambda q, s: (q, s), noise=0.0, dt=0.02, seed=0):
    """Return the check of a platform on a path with curves to both sides, after each step."""
    platform, sideways = PLATFORMS[kind]
    check, found = WheelCheck(platform), []
    rng = np.random.default_rng(seed)
    wheels = np.zeros(len(platform.driven))
    read = wheels.copy()
    for k in range(round(seconds / dt)):
        t = dt * k
        twist = np.array([0.4 * np.sin(0.9 * t + seed), 0.6, sideways * np.sin(0.5 * t)])
        steering = steering_for(platform, twist)
        wheels = wheels + platform.wheel_rates(twist, steering) * dt
        before, read = read, np.round((wheels + noise * rng.normal(size=len(wheels))) / 2e-3) * 2e-3
        check.add(*change(read - before, steering + noise * rng.normal(size=len(steering))))
        found.append((check.misfit, check.likely))
    return found


def swapped(pair):
    def change(values):
        values = values.copy()
        values[list(pair)] = values[list(reversed(pair))]
        return values

    return change


def reversed_wheel(q):
    q = q.copy()
    q[2] = -q[2]
    return q


@pytest.mark.parametrize(
    ('kind', 'change', 'cause'),
    [
        ('car', lambda q, s: (q, -s), 'the steering angles had the opposite sign'),
        ('swerve', lambda q, s: (q, -s), 'the steering angles had the opposite sign'),
        ('swerve', lambda q, s: (reversed_wheel(q), s), 'wheel3 turned the other way'),
        ('car', lambda q, s: (swapped((0, 1))(q), s), 'rear_left and rear_right were swapped'),
        ('swerve', lambda q, s: (q, swapped((1, 2))(s)), 'wheel2 and wheel3 were swapped'),
        ('mecanum', lambda q, s: (reversed_wheel(q), s), 'rear_left turned the other way'),
    ],
)
def test_a_mistake_is_found_and_named(kind, change, cause):
    found = driven(kind, 10.0, change)
    assert max(misfit for misfit, _ in found) > TOLERANCE
    assert found[-1][1] == cause


@pytest.mark.parametrize('kind', PLATFORMS)
@pytest.mark.parametrize('seed', range(6))
def test_healthy_wheels_agree(kind, seed):
    """With encoders of 2 mrad, noise of wheels and steering of 2 mrad, at 50 and 500 Hz."""
    dt = (0.02, 0.002)[seed % 2]
    found = driven(kind, 2.0 + 4.0 * (dt > 0.01), noise=2e-3, dt=dt, seed=seed)
    assert max(misfit for misfit, _ in found) < TOLERANCE
    assert {likely for _, likely in found} == {''}


def test_a_path_is_judged_after_a_while_and_forgotten():
    check = WheelCheck(PLATFORMS['swerve'][0])
    right, wrong = np.full(4, 0.1), np.array([0.1, 0.1, 0.1, -0.1])

    def add(step, count):
        for _ in range(count):
            check.add(step, np.full(4, 0.1))
        return check.misfit > TOLERANCE, check.likely

    assert add(wrong, 10) == (False, '')
    assert add(wrong, 60) == (True, 'wheel4 turned the other way')
    assert add(right, 300) == (False, '')
    assert add(wrong, 100) == (True, 'wheel4 turned the other way')
    assert add(np.zeros(4), 100) == (True, 'wheel4 turned the other way')  # it has stopped
    check.restart()
    assert (check.misfit, check.likely) == (0.0, '')


def test_mistakes_that_explain_the_same_steps_are_not_named():
    """Straight ahead, any wheel of a mecanum platform may have turned the other way."""
    check = WheelCheck(PLATFORMS['mecanum'][0])
    for _ in range(200):
        check.add(np.array([0.1, 0.1, 0.1, -0.1]), np.zeros(0))
    assert check.misfit > TOLERANCE
    assert check.likely == ''
