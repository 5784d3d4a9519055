# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where solutions are taken as they come out of a closed form or an elimination, and where not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from screw_dynamics_ros.core.arms.families.alignment import settled
from screw_dynamics_ros.core.arms.families.chain_solutions import (
    DUPLICATE_TOLERANCE,
    MAX_RESIDUAL,
    MIN_DISTINCT_DIFFERENCE,
    distances,
)
from screw_dynamics_ros.core.arms.families.closed_form import (
    IN_DOUBT,
    INSIDE,
    MIN_BRANCH_DETERMINANT,
    OUTSIDE,
    UNREACHED,
    selected,
    verdict,
)
from screw_dynamics_ros.core.arms.families.serial_solver import MIN_DETERMINANT, SerialSolver
from screw_dynamics_ros.core.arms.families.spherical_shoulder_elbow_wrist import (
    SphericalShoulderElbowWrist,
)
from screw_dynamics_ros.core.arms.families.three_two_one import ThreeTwoOne
from screw_dynamics_ros.core.lie import se3
from support.arms import arm
from support.compilation import needs_llvmlite

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


def test_verdicts_on_branches():
    """Bounds are residual, regularity and start; limits are exceeded by checks[2]."""
    bounds = np.array([1e-12, 0.5, 1e-3, 1e-8])

    def judged(residual=0.0, regularity=1.0, outside=0.0, away=0.0, determinacy=1.0):
        checks = np.array([residual, 0.0, outside, 0.0])
        return float(verdict(checks, regularity, away, determinacy, bounds))

    assert judged() == judged(residual=1e-12) == INSIDE
    assert judged(outside=1e-30) == OUTSIDE
    assert judged(regularity=0.5) == judged(residual=2e-12, away=1e-3) == IN_DOUBT
    assert judged(regularity=0.5, away=2e-3) == judged(residual=2e-12, away=2e-3) == UNREACHED
    assert judged(residual=2e-12, away=2e-3, determinacy=1e-8) == IN_DOUBT
    nan = float('nan')
    assert judged(residual=nan, away=nan) == judged(regularity=nan) == IN_DOUBT
    rows, lost, inside = selected((INSIDE, UNREACHED, INSIDE))
    assert (rows.tolist(), lost, inside) == ([0, 2], [1], True)
    assert not selected((INSIDE, OUTSIDE))[2]
    assert selected((UNREACHED, UNREACHED)) is selected((INSIDE, IN_DOUBT)) is None


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


def test_samples_of_a_continuum_of_solutions():
    """Next to a singular solution to both sides: joint 4 turns back what joint 6 turns."""
    solver = solver_of(1.0)
    found = solver.solve(solver.chain.pose(Q), NOTHING, NOTHING)
    q = found.q[distances(found.q[:, :3], Q[:3]) < 1e-6]
    assert distances(np.stack([q[:, 3] + q[:, 5], q[:, 4]], axis=1), [0.6, 0.0]).max() < 1e-5
    steps = 10.0 ** np.array([-0.5, -1.0, -1.5]) / 2**0.5
    for sign in (1.0, -1.0):
        of_branch = np.sort(q[sign * q[:, 3] > 0.0, 3])
        away = of_branch - np.median(of_branch)
        # in the middle stays the most exact one, up to 0.0023 away
        np.testing.assert_allclose(away, [*-steps, 0.0, *steps[::-1]], atol=3e-3)


@needs_llvmlite
@pytest.mark.parametrize(
    'q',
    [
        [1.6, -0.4, 0.6, -2.3, 0.0, -1.4],
        [-1.2, -0.8, 0.0, -0.2, 0.0, -2.1],
    ],
)
def test_a_branch_that_the_pose_does_not_determine(q):
    """Axis 6 of a UR5e parallel to axes 2 to 4: with the q6 that rounding makes it is missed."""
    described = arm('UR5e')
    robot = described.robot()
    C = robot.link_pose(q, described.tool)
    found = robot.all_inverse_kinematics(C, described.tool, images=False)
    assert not found.complete
    assert np.abs(np.sin(found.q[:, 4])).min() < 1e-6
    assert np.abs(robot.link_pose(found.q, described.tool) - C).max() < 1e-9
    assert robot.inverse_kinematics(C, described.tool, q).iterations > 0


@pytest.mark.parametrize('chain', ['six', 'seven'])
def test_arms_with_a_closed_form_are_direct(chain):
    """A redundant one for given swivel angles."""
    if chain == 'six':
        solver, q, swivel = solver_of(1.0), bent(0.7), NOTHING
    else:
        srs = SphericalShoulderElbowWrist(l1=0.36, upper=0.42, lower=0.4, l7=0.126)
        solver = SerialSolver(srs.chain(), (), 'python')
        q = np.array([0.3, 0.5, -0.4, 1.1, 0.2, -0.7, 0.9])
        swivel = np.array([srs.swivel_of(q), 0.0])
    found = solver.direct(solver.chain.pose(q), NOTHING, swivel)
    assert len(found) == found.bound == 8 * max(1, len(swivel))
    assert distances(found.q, q).min() < 1e-9


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


def test_frames_that_are_right_but_for_rounding_are_exact():
    """Quarter turns of base and tool: entries 0, 1 and -1, which make programs short."""
    quarter = [
        Rotation.from_euler('xyz', [0.5 * np.pi * k, 0.5 * np.pi, 0]).as_matrix() for k in (1, 2)
    ]
    base, tool = (se3.pose(R, [1.0, -2.0, 3.0]) for R in quarter)
    rounded = 1e-13 * np.array([[0.3, -0.7, 0.5], [0.2, 0.9, -0.4], [-0.8, 0.1, 0.6]])
    base[:3, :3] += rounded
    tool[:3, :3] += rounded
    made = ThreeTwoOne(l1=0.4, l2=0.5, l3=0.45, l6=0.1, base=base, tool=tool)
    found = ThreeTwoOne.recognized(made.chain())
    for each in (found.base, found.tool):
        R = each[:3, :3]
        assert np.isin(R, [-1.0, 0.0, 1.0]).all()
        assert np.abs(R).sum() == 3.0
    np.testing.assert_allclose(found.chain().home, made.chain().home, atol=1e-11)
    np.testing.assert_array_equal(
        settled(np.array([3.0 + 0.9e-12, -2.0 - 1.1e-12, 1e-13]), 1.0), [3.0, -2.0 - 1.1e-12, 0.0]
    )
    np.testing.assert_array_equal(settled(np.array([3.0, 1.5 + 1e-13]), 1.5), [3.0, 1.5])
