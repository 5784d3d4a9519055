# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descent with kinks: minima by hand, and the same bits in spite of errors of rounding."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.identification.rounded_descent import (
    GRID,
    descend,
)

A = np.array([[3.0, 0.4, 0.1], [0.4, 1.0, -0.3], [0.1, -0.3, 0.2]])
MINIMUM = np.array([0.5, -1.25, 2.0])
START = np.array([2.0, 1.0, -1.0])


def curved(y):
    return float((y - MINIMUM) @ A @ (y - MINIMUM))


def slope(y):
    return 2.0 * A @ (y - MINIMUM)


def rough(y):
    """Return a cost with ripples and kinks."""
    return curved(y) + float(np.sum(np.sin(9.0 * y)) + np.abs(y).max())


def slope_of_rough(y):
    largest = np.zeros(3)
    k = np.abs(y).argmax()
    largest[k] = np.sign(y[k])
    return slope(y) + 9.0 * np.cos(9.0 * y) + largest


def test_the_minimum_of_a_paraboloid():
    numbers = []
    y, least = descend(curved, slope, START, 60, numbers.append)
    np.testing.assert_allclose(y, MINIMUM, atol=1e-3)
    assert least == curved(y) < 1e-6
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) < 60  # it ends where no step is lower


def test_no_more_steps_than_asked():
    numbers = []
    y, least = descend(rough, slope_of_rough, START, 3, numbers.append)
    assert numbers == [1, 2, 3]
    assert least == rough(y) < rough(START)
    y, least = descend(rough, slope_of_rough, START, 0, numbers.append)
    np.testing.assert_array_equal(y, START)
    assert least == rough(START)


@pytest.mark.parametrize('seed', range(5))
def test_errors_of_rounding_change_no_bit(seed):
    """Costs and gradients with errors of 1e-12, as other processors have them."""
    rng = np.random.default_rng(seed)

    def noisy(function):
        return lambda y: function(y) + 1e-12 * rng.normal(size=np.shape(function(y)))

    exact, _ = descend(rough, slope_of_rough, START, 40, lambda number: None)
    other, _ = descend(noisy(rough), noisy(slope_of_rough), START, 40, lambda number: None)
    np.testing.assert_array_equal(other, exact)
    np.testing.assert_array_equal(exact / GRID, np.round(exact / GRID))
