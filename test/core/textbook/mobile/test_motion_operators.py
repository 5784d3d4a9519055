# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""DRIVE, ROTATE, their commutator, brackets and controllability."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.mobile import planar, platforms
from screw_dynamics_ros.core.mobile.wheeled_platform import Wheel, WheeledPlatform
from screw_dynamics_ros.core.textbook.mobile.motion_operators import (
    commutator,
    controllability,
    drive,
    rotate,
    sequence,
)


@pytest.mark.parametrize('angle', [0.0, 0.7, -2.9])
def test_operators_move_along_and_turn_in_place(angle):
    np.testing.assert_allclose(drive(1.7), [0.0, 1.7, 0.0], atol=1e-15)
    np.testing.assert_allclose(rotate(angle), [angle, 0.0, 0.0], atol=1e-15)
    there = sequence([rotate(angle), drive(1.7), rotate(0.1)])
    expected = [angle + 0.1, 1.7 * np.cos(angle), 1.7 * np.sin(angle)]
    np.testing.assert_allclose(there, expected, atol=1e-15)
    np.testing.assert_array_equal(sequence([]), np.zeros(3))


def test_slide():
    """8.7, and the exact formula for large motions (C-136)."""
    slide = commutator(drive(0.2), rotate(0.1))
    np.testing.assert_allclose(slide[[1, 2, 0]], [0.000999167, -0.019966683, 0.0], atol=5e-10)
    d, th = 1.7, 2.1
    expected = [0.0, d * (1 - np.cos(th)), -d * np.sin(th)]
    np.testing.assert_allclose(commutator(drive(d), rotate(th)), expected, atol=1e-12)


def test_commutator_is_the_bracket_to_second_order():
    """exp(h a) exp(h b) exp(-h a) exp(-h b) = exp(h^2 [a, b]) + O(h^3) (C-136)."""
    a, b, h = np.array([0.4, 1.0, 0.1]), np.array([1.0, -0.3, 0.2]), 1e-4
    small = commutator(planar.exp(h * a), planar.exp(h * b))
    np.testing.assert_allclose(planar.log(small) / h**2, planar.ad(a) @ b, atol=1e-3)


@pytest.mark.parametrize(
    ('platform', 'steering', 'ranks'),
    [
        (platforms.differential_drive(0.5, 0.1), [], (2, 3)),
        (platforms.bicycle(1.2, 0.3), [0.0], (1, 2, 3)),
        (platforms.bicycle(1.2, 0.3), [0.4], (1, 2, 3)),
        (platforms.mecanum(0.6, 0.4, 0.1), [], (3,)),
        (WheeledPlatform([Wheel('a', [0, 1], 1.0), Wheel('b', [1, 0], 1.0, np.pi / 2)]), [], (1,)),
    ],
)
def test_growth_of_the_reachable_motions(platform, steering, ranks):
    """Differential drive, car, mecanum; a platform that can only turn about one point (C-136)."""
    found = controllability(platform, steering)
    assert found.ranks == ranks
    assert found.controllable == (ranks[-1] == 3)


def test_steering_bracket_of_a_car_is_a_rotation():
    """[STEER, DRIVE] = (1 / (l cos^2 sigma), 0, 0), then sliding (C-136)."""
    first, second, _ = controllability(platforms.bicycle(1.2, 0.3), [0.4]).directions
    line = np.array([np.tan(0.4) / 1.2, 1.0, 0.0])
    np.testing.assert_allclose(first @ first.T @ line, line, atol=1e-12)
    np.testing.assert_allclose(second @ second.T @ [1.0, 0, 0], [1.0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(second.T @ [0, 0, 1.0], 0.0, atol=1e-12)


def test_platforms_without_independent_motions_are_refused():
    with pytest.raises(ArgumentError, match='share a center'):
        controllability(platforms.ackermann(1.2, 0.6, 0.3), [0.0, 0.0])
    stuck = WheeledPlatform(
        [Wheel('a', [0, 0], 1.0), Wheel('b', [1, 0], 1.0), Wheel('c', [0, 1], 1.0, np.pi / 2)]
    )
    with pytest.raises(ArgumentError, match='allow no motion'):
        controllability(stuck)
