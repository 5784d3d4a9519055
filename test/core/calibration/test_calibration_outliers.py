# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outliers among residuals: how often good ones are taken for one, and how large a wrong one is."""

import numpy as np
import pytest

from screw_dynamics_ros.core.statistics.least_squares import (
    FALSE_ALARM,
    doubtful,
    huber_weights,
    spread,
)


@pytest.mark.parametrize('N', [20, 400])
def test_false_alarms_are_rare_in_each_set(N):
    """A share of the sets, however many residuals each has; 95 % of such shares are in the bounds.

    The spread is at least 1 and raises the limit in half of the small sets.
    """
    rng = np.random.default_rng(N)
    share = np.mean([doubtful(rng.normal(size=(N, 3))).any() for _ in range(2000)])
    assert 0.2 * FALSE_ALARM < share < 1.6 * FALSE_ALARM


def test_deviations_that_are_too_small_make_no_outliers():
    """Residuals five times as large as stated: the spread is 25, and one of 60 is still found."""
    e = 5.0 * np.random.default_rng(1).normal(size=(300, 3))
    assert spread(e) == pytest.approx(25.0, rel=0.15)
    assert not doubtful(e).any()
    e[17] = 60.0
    assert np.flatnonzero(doubtful(e)).tolist() == [17]


def test_weights_of_huber():
    """1 up to 1.345 deviations (root mean square of the components), then 1.345 over the length."""
    e = np.zeros((9, 3))
    e[:3, 0] = np.sqrt(3.0) * np.array([1.3, 2.69, -13.45])
    np.testing.assert_allclose(huber_weights(e)[:4], [1.0, 0.5, 0.1, 1.0])
