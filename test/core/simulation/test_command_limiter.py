# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Each rule of the limiter of ros2_control, by hand."""

import math

import numpy as np
import pytest

from screw_dynamics_ros.core.simulation.command_limiter import CommandLimiter

LOWER, UPPER, SPEED, EFFORT = -1.0, 2.0, 3.0, 10.0
TINY = 1e-12


def limited(effort, q=0.0, v=0.0, limits=(LOWER, UPPER, SPEED, EFFORT)):
    limiter = CommandLimiter(*(np.array([each]) for each in limits))
    return limiter.limited(np.array([effort]), np.array([q]), np.array([v]))[0]


@pytest.mark.parametrize(
    ('rule', 'q', 'v', 'given', 'passes'),
    [
        ('up to the effort limit', 0.0, 0.0, (9.0, -9.0, 11.0, -11.0), (9.0, -9.0, 10.0, -10.0)),
        ('at the lower limit, at rest', LOWER, 0.0, (5.0, -5.0), (5.0, 0.0)),
        ('below it, moving down', LOWER - 0.1, -1.0, (5.0, -5.0), (5.0, 0.0)),
        ('at the lower limit, moving up', LOWER, TINY, (5.0, -5.0), (5.0, -5.0)),
        ('just above it', LOWER + TINY, -1.0, (5.0, -5.0), (5.0, -5.0)),
        ('at the upper limit, at rest', UPPER, 0.0, (5.0, -5.0), (0.0, -5.0)),
        ('above it, moving up', UPPER + 0.1, 1.0, (5.0, -5.0), (0.0, -5.0)),
        ('at the upper limit, moving down', UPPER, -TINY, (5.0, -5.0), (5.0, -5.0)),
        ('at the velocity limit', 0.0, SPEED, (5.0, -5.0), (5.0, -5.0)),
        ('too fast upward', 0.0, SPEED + TINY, (5.0, -5.0), (0.0, -5.0)),
        ('too fast downward', 0.0, -SPEED - TINY, (5.0, -5.0), (5.0, 0.0)),
        ('at the lower limit, too fast upward', LOWER, SPEED + 1.0, (5.0, -5.0), (0.0, -5.0)),
    ],
)
def test_rules(rule, q, v, given, passes):
    assert tuple(limited(effort, q, v) for effort in given) == passes, rule


def test_limits_of_zero():
    """Templates often have them: effort 0 stops all, velocity 0 all torques along a motion."""
    for effort in (5.0, -5.0):
        assert limited(effort, limits=(LOWER, UPPER, SPEED, 0.0)) == 0.0
    still = (LOWER, UPPER, 0.0, EFFORT)
    assert limited(5.0, v=0.0, limits=still) == 5.0
    assert limited(5.0, v=TINY, limits=still) == 0.0
    assert limited(-5.0, v=TINY, limits=still) == -5.0
    assert limited(-5.0, v=-TINY, limits=still) == 0.0


def test_equal_position_limits():
    """The lower limit is examined first, and the upper one only if it does not apply."""
    assert limited(5.0, q=1.0, limits=(1.0, 1.0, SPEED, EFFORT)) == 5.0
    assert limited(-5.0, q=1.0, limits=(1.0, 1.0, SPEED, EFFORT)) == 0.0


def test_no_limits():
    none = -math.inf, math.inf, math.inf, math.inf
    assert limited(1e6, q=1e6, v=1e6, limits=none) == 1e6
