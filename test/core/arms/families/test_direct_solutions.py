# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where solutions are taken as they come out of a closed form or an elimination, and where not."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.arms.families.chain_solutions import (
    DUPLICATE_TOLERANCE,
    MIN_DISTINCT_DIFFERENCE,
    distances,
)
from screw_dynamics_ros.core.arms.families.serial_solver import (
    MAX_RESIDUAL,
    MIN_BRANCH_DETERMINANT,
    MIN_DETERMINANT,
    SerialSolver,
)
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne

NOTHING = np.empty(0)
Q = np.array([0.3, 0.4, 0.7, -0.5, 0.0, 1.1])  # joints 4 and 6 in line


def solver_of(size: float) -> SerialSolver:
    lengths = {'l1': 0.4, 'l2': 0.5, 'l3': 0.45, 'l6': 0.1}
    arm = ThreeTwoOne(**{name: size * length for name, length in lengths.items()})
    return SerialSolver(arm.chain(), (), 'python')


def bent(bend: float) -> np.ndarray:
    """Return Q with a bend of joint 5, of which det(J) is the sine but for a factor."""
    return Q + bend * np.eye(6)[4]


@pytest.mark.parametrize('size', [0.1, 1.0, 10.0])
def test_branches_are_direct_unless_one_may_be_singular(size):
    """det(J J^T) in units of the arm against the threshold, from both sides."""
    solver = solver_of(size)
    full = np.linalg.det(solver.chain.jacobian(bent(0.5 * np.pi))) ** 2 / solver.length**6
    for share, is_direct in ((0.5, False), (2.0, True)):
        q = bent(np.sqrt(share * MIN_BRANCH_DETERMINANT / full))
        found = solver.direct(solver.chain.pose(q), NOTHING, NOTHING)
        assert (found is not None) is is_direct
        if found is not None:
            assert len(found) == 8
            assert distances(found.q, q).min() < 1e-9
            assert not found.doubt


@pytest.mark.parametrize('bend', [1e-5, 1e-7, 1e-9, 0.0])
def test_solutions_along_a_lost_direction_are_one(bend):
    """Residuals are rounding over some distance; at zero the direction itself is a solution."""
    solver = solver_of(1.0)
    q = bent(bend) + [0.0, 0.0, 0.0, 0.0, 0.0, 2 * np.pi]
    found = solver.solve(solver.chain.pose(q), NOTHING, NOTHING)
    apart = [distances(np.delete(found.q, k, 0), row).min() for k, row in enumerate(found.q)]
    if bend > 0.0:
        assert len(found) == 8
        assert distances(found.q, q).min() < MAX_RESIDUAL / bend
    assert min(apart) > (1.0 if bend > 0.0 else 0.01)
    assert found.doubt.startswith('a solution is singular') is (bend < 1e-6)


@pytest.mark.parametrize('size', [0.1, 1.0, 10.0])
def test_which_configurations_of_an_elimination_are_regular(size):
    """The solutions each once, or none where one may be singular or two may be the same."""
    solver = solver_of(size)
    least, most = MIN_DETERMINANT * solver.length**6, MAX_RESIDUAL * max(1.0, solver.length)

    def rows(residual=0.0, determinant=2.0 * least, number=5.0):
        good = [0.0, 10.0 * least, 0.0, 1.0]
        return solver._regular(np.array([good, [residual, determinant, 0.0, number], good]))

    assert rows() == [0, 1]
    assert rows(residual=most) == [0, 1]
    assert rows(residual=1.001 * most) == [0]
    assert rows(determinant=1.001 * least) == [0, 1]
    assert rows(determinant=least) == []
    assert rows(residual=1.001 * most, determinant=least) == [0]
    for sign in (1.0, -1.0):
        assert rows(number=1.0 + 0.9 * sign * DUPLICATE_TOLERANCE) in ([0], [1])
        assert rows(number=1.0 + 1.1 * sign * DUPLICATE_TOLERANCE) == []
        assert rows(number=1.0 + 0.9 * sign * MIN_DISTINCT_DIFFERENCE) == []
        assert rows(number=1.0 + 1.1 * sign * MIN_DISTINCT_DIFFERENCE) == [0, 1]
