# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nonnegative least squares, with every release of SciPy."""

import numpy as np
import pytest

from screw_dynamics_ros.core.least_squares import non_negative_least_squares

SHAPES = [(1, 3), (2, 2), (2, 3), (4, 3), (4, 4), (4, 11), (6, 12), (12, 12), (7, 19)]


@pytest.mark.parametrize('shape', SHAPES)
def test_optimality_conditions(shape):
    """No component can be changed to make the residual less; SciPy 1.15 alone fails here."""
    rng = np.random.default_rng(7)
    for k in range(300):
        A, b = rng.normal(size=shape), rng.normal(size=shape[0])
        if k % 3 == 0:
            A[:, -1] = A[:, 0]
        x = non_negative_least_squares(A, b)
        gradient = A.T @ (b - A @ x)
        assert (x >= 0.0).all()
        assert gradient.max() < 1e-9
        assert np.abs(gradient[x > 0.0]).max(initial=0.0) < 1e-9


def test_not_finite():
    with pytest.raises(np.linalg.LinAlgError):
        non_negative_least_squares(np.array([[np.nan, 1.0]]), np.ones(1))
