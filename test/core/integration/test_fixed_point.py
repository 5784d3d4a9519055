# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The iteration of implicit steps: what it converges to, and when it stops."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import DivergenceError
from screw_dynamics_ros.core.integration.fixed_point import fixed_point


def linear(spectrum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return B and c of a map B x + c with the eigenvalues."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(len(spectrum),) * 2))[0]
    return basis @ np.diag(spectrum) @ basis.T, np.arange(1.0, len(spectrum) + 1)


@pytest.mark.parametrize(
    'spectrum', [np.linspace(0.1, 0.5, 8), np.array([-1000.0, 5.0, 0.1, 0.2]), np.zeros(3)], ids=str
)
def test_linear_maps(spectrum):
    """Maps that contract, and maps with a few directions that do not."""
    B, c = linear(spectrum)
    x, other = fixed_point(lambda x: (B @ x + c, 'kept'), np.zeros(len(c)), 1.0, 1e-9, 50)
    np.testing.assert_allclose(x, np.linalg.solve(np.eye(len(c)) - B, c), rtol=1e-10, atol=1e-12)
    assert other == 'kept'


def test_it_goes_on_to_rounding_whatever_the_tolerance():
    calls = []

    def cosine(x):
        calls.append(x)
        return np.cos(x), None

    x, _ = fixed_point(cosine, np.zeros(1), 1.0, 1e-3, 50)
    assert abs(np.cos(x) - x) < 1e-15
    assert len(calls) < 15


@pytest.mark.parametrize(
    ('G', 'reason'),
    [
        (lambda x: x**2 + 1, r'after 30 iterations: .* take shorter steps'),
        (lambda x: x * np.nan, 'no finite solution'),
        (lambda x: x + 1 / np.zeros(1), 'no finite solution'),
    ],
)
@pytest.mark.filterwarnings('ignore:divide by zero', 'ignore:overflow')
def test_what_does_not_converge(G, reason):
    with pytest.raises(DivergenceError, match=reason):
        fixed_point(lambda x: (G(x), None), np.ones(1), 1.0, 1e-9, 30)


def calls_until(tolerance, corrections):
    """Return how many calls of a map with these corrections are made, and what is returned."""
    calls = []

    def G(x):
        calls.append(x)
        return x + [corrections[len(calls) - 1], 0.0], len(calls)

    result = fixed_point(G, np.zeros(2), 0.5, tolerance, len(corrections))
    return len(calls), result


@pytest.mark.parametrize(
    ('corrections', 'calls', 'best'),
    [
        ([1.0, 0.0, 1.0], 2, 2),  # solved exactly
        ([1e-15, 3.9e-17, 1.0], 2, 2),  # scaled by 0.5 it is below 2e-17
        ([1e-15, 4.1e-17, 3e-17], 3, 3),
        ([1e-9, 0.6e-9, 0.6e-9, 1.0], 3, 2),  # twice not halved: rounding
        ([1e-9, 0.4e-9, 0.1e-9, 0.06e-9, 0.07e-9, 1.0], 5, 4),
        ([1.0, 3e-6, 2.9e-6, 0.8e-6, 0.9e-6, 0.7e-6, 0.6e-6], 6, 6),  # within 1e-6 at last
    ],
)
def test_when_it_ends(corrections, calls, best):
    """Corrections below the rounding of positions, or two calls without progress in tolerance."""
    made, (_, returned) = calls_until(1e-6, corrections)
    assert (made, returned) == (calls, best)


def test_the_smallest_correction_has_to_be_within_the_tolerance():
    """Half of 1.8e-6 is within 1e-6, half of 2.2e-6 is not."""
    assert calls_until(1e-6, [1.0, 1.8e-6, 3e-6, 3e-6, 3e-6])[1][1] == 2
    with pytest.raises(DivergenceError, match=r'after 5 iterations: .* still 1\.1e-06 rad or m'):
        calls_until(1e-6, [1.0, 2.2e-6, 3e-6, 3e-6, 3e-6])
    with pytest.raises(DivergenceError, match=r'with a tolerance of 1\.0e-06; take shorter'):
        calls_until(1e-6, [1.0, 2.2e-6, 3e-6, 3e-6, 3e-6])
