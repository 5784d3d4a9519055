# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Images by multiples of 2 pi, and the solution next to a seed (C-102)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.arms.families.branches import nearest, nearest_image, separation
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.compile.program.recorded_arrays import plain
from screw_dynamics_ros.core.errors import ArgumentError

TURN = 2 * np.pi

CHAIN = SerialChain(
    ('turn', 'slide'),
    [[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]],
    np.eye(4),
    lower=np.array([-4.0, -np.inf]),
    upper=np.array([9.0, np.inf]),
)


@pytest.mark.parametrize(
    ('q', 'seed', 'expected'),
    [
        (0.1, 6.0, 0.1 + TURN),
        (0.1, -6.0, 0.1),  # 0.1 - 2 pi is below the limit
        (0.1 + TURN, 0.0, 0.1),
        (-4.0, 4.0, -4.0 + TURN),
        (-4.0 - 1e-12, -4.0, -4.0),  # rounding at a limit
        (-5.0, -5.0, -5.0 + TURN),
        (3.0, 40.0, 3.0),  # the last image within limits
    ],
)
def test_nearest_image(q, seed, expected):
    """Sliding joints have no images."""
    found = nearest_image([[q, 7.0]], [seed, 0.0], CHAIN)
    np.testing.assert_allclose(found, [[expected, 7.0]], atol=1e-9)


def test_a_joint_without_an_image_within_limits():
    """It stays next to the seed, for the caller to see that it is outside."""
    narrow = SerialChain(('turn',), CHAIN.screws[:1], np.eye(4), np.array([-0.1]), np.array([0.1]))
    np.testing.assert_allclose(nearest_image([2.0], [2.0 + TURN], narrow), [2.0 + TURN])


def test_nearest():
    solutions = [[0.0, 1.0], [1.0, 0.2], [1.0, 0.1], [np.nan, 0.0]]
    index, q = nearest(solutions, [1.0 + TURN, 0.0], CHAIN)
    assert index == 2
    np.testing.assert_allclose(q, [1.0 + TURN, 0.1])


def test_separation():
    """The joint furthest away decides, of equal ones the sum; rounding does not."""
    away = [[0.5, 0.0], [0.3, 0.4], [0.4, -0.3 - 1e-3], [-0.4 - 1e-13, 0.2], [0.0, 3e3]]
    order = separation(away).argsort(kind='stable')
    assert order.tolist() == [3, 1, 2, 0, 4]
    assert np.isnan(separation([np.nan, 0.0]))


@pytest.mark.parametrize('seed', [[6.0, 0.0], [-6.0, 1.0], [40.0, -1.0]])
def test_recorded_images(seed):
    """The program gives the same numbers."""

    def build(q, seed):
        image = nearest_image(q, seed, CHAIN)
        return plain(image), np.array(plain(separation(image - seed)))

    q = np.array([0.1, 7.0])
    kernel = make_kernel(KernelSpecification('images', (('q', 2), ('seed', 2)), build), 'python')
    found, distance = kernel.single([q, np.array(seed)])
    np.testing.assert_array_equal(found, nearest_image(q, seed, CHAIN))
    assert distance == pytest.approx(float(separation(found - seed)), rel=1e-12)


def test_within_limits_first():
    narrow = SerialChain(
        CHAIN.joint_names, CHAIN.screws, np.eye(4), np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    )
    assert nearest([[0.0, 1.5], [0.9, -0.9]], [0.0, 1.4], narrow)[0] == 1
    assert nearest([[0.0, 1.5], [1.2, -1.9]], [0.0, 1.4], narrow)[0] == 0


def test_nothing_to_choose_from():
    for solutions in (np.empty((0, 2)), [[np.nan, 0.0]]):
        with pytest.raises(ArgumentError, match='no solution to choose from'):
            nearest(solutions, [0.0, 0.0], CHAIN)
    with pytest.raises(ArgumentError, match='must hold 2 joints'):
        nearest_image([0.0], [0.0], CHAIN)
