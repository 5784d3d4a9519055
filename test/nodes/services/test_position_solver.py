# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Repeated attempts of the position solver, on a clock that the attempts turn."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('screw_dynamics_msgs.srv._inverse_kinematics')

from screw_dynamics_ros.core.arms.inverse.position import InverseKinematicsResult
from screw_dynamics_ros.nodes.services import inverse_kinematics
from screw_dynamics_ros.nodes.services.inverse_kinematics import RESTARTS_PER_CLOCK_CHECK, solve


class Attempts:
    """A solver with these residuals, one after the other, of 10 s each."""

    def __init__(self, residuals, tolerance=0.1):
        self.residuals, self.tolerance = list(residuals), tolerance
        self.time, self.options = 1000.0, []

    def __call__(self, **options):
        self.options.append(options)
        k = len(self.options)
        self.time += 10.0
        residual = self.residuals[k - 1]
        return InverseKinematicsResult(
            np.full(2, float(k)), residual <= self.tolerance, residual, 10**k, f'attempt {k}'
        )


@pytest.fixture
def solved(monkeypatch):
    def run(residuals, timeout):
        attempts = Attempts(residuals)
        monkeypatch.setattr(
            inverse_kinematics, 'time', SimpleNamespace(monotonic=lambda: attempts.time)
        )
        return attempts, solve(attempts, 0.1, timeout)

    return run


def test_the_first_solution_ends_the_search(solved):
    """Iterations are those of all attempts; each has other random starts."""
    attempts, found = solved([3.0, 2.0, 0.05, 9.0], 100.0)
    assert (found.success, found.residual, found.message) == (True, 0.05, 'attempt 3')
    assert found.iterations == 10 + 100 + 1000
    assert found.q.tolist() == [3.0, 3.0]
    more = {'tolerance': 0.1, 'restarts': RESTARTS_PER_CLOCK_CHECK}
    assert attempts.options == [
        {'tolerance': 0.1, 'restarts': 0},
        {**more, 'seed': 0},
        {**more, 'seed': 1},
    ]


def test_one_attempt_may_be_enough(solved):
    attempts, found = solved([0.1], 100.0)
    assert (found.success, found.iterations, len(attempts.options)) == (True, 10, 1)


def test_the_best_of_all_attempts_in_the_time(solved):
    """The first attempt, which compiles, does not count: three of 10 s begin within 25 s."""
    attempts, found = solved([4.0, 2.0, 3.0, 2.5], 25.0)
    assert len(attempts.options) == 4
    assert (found.success, found.residual, found.q.tolist()) == (False, 2.0, [2.0, 2.0])
    assert found.iterations == 11110
    assert found.message.startswith(
        'no solution within the joint limits and 25 s: the smallest pose error is 2 (tolerance 0.1)'
    )


def test_an_attempt_that_begins_at_the_end_does_not(solved):
    assert len(solved([4.0, 2.0, 3.0], 20.0)[0].options) == 3
