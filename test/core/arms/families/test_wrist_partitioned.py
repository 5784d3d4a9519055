# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arms with a spherical wrist or shoulder and three other axes anywhere.

Spec IDs: B-005, C-088, C-103.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from screw_dynamics_ros.core.arms.families import serial_solver
from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.chain_solutions import distances
from screw_dynamics_ros.core.arms.families.held_joints import HeldArm
from screw_dynamics_ros.core.arms.families.pieper import Pieper
from screw_dynamics_ros.core.arms.families.serial_solver import SerialSolver
from screw_dynamics_ros.core.arms.families.spherical_wrist import SphericalWrist
from screw_dynamics_ros.core.arms.families.wrist_partitioned import (
    WAVES,
    WristPartitioned,
    first_joint,
)
from screw_dynamics_ros.core.lie import se3

NOTHING = np.empty(0)


def with_wrist(rng: np.random.Generator, *, shoulder: bool = False) -> SerialChain:
    """An arm of which three axes meet, at right angles to the next, the other three anywhere."""
    e = rng.normal(size=(6, 3))
    p = 0.5 * rng.normal(size=(6, 3))
    meeting = slice(0, 3) if shoulder else slice(3, 6)
    e[meeting] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    p[meeting] = p[meeting.start]
    e /= np.linalg.norm(e, axis=1)[:, None]
    return SerialChain(tuple('abcdef'), np.hstack([e, np.cross(p, e)]), se3.exp(rng.normal(size=6)))


@pytest.mark.parametrize('shoulder', [False, True])
def test_all_solutions(shoulder):
    """As many as the elimination of general arms finds, and the one that is known."""
    rng = np.random.default_rng(0)
    chain = with_wrist(rng, shoulder=shoulder)
    assert Pieper.recognized(chain, 1e-8) is None
    arm = HeldArm.recognized(SphericalWrist, chain, (), 1e-8)
    assert arm.arm.backward == shoulder
    solver = SerialSolver(chain, (), 'python')
    short = partial(solver._direct_elimination, WristPartitioned(arm, 'python').at_all_zeros)
    certain = 0
    for _ in range(4):
        q = rng.uniform(-3.0, 3.0, 6)
        C = chain.pose(q)
        found, other = short(C, NOTHING, NOTHING), solver.solve(C, NOTHING, NOTHING)
        if found is None:  # in doubt: two solutions are near one another
            continue
        certain += 1
        assert distances(found.q, q).min() < 1e-9
        assert len(found) == len(other) <= 8
        for each in other.q:
            assert distances(found.q, each).min() < 1e-7
    assert certain >= 3


def test_it_is_taken_where_it_fits(monkeypatch):
    taken = []

    class Counted(WristPartitioned):
        def at_all_zeros(self, C, held):
            taken.append(C)
            return super().at_all_zeros(C, held)

    monkeypatch.setattr(serial_solver, 'WristPartitioned', Counted)
    rng = np.random.default_rng(20)
    q = rng.uniform(-3.0, 3.0, 6)
    for chain in (with_wrist(rng), with_wrist(rng, shoulder=True)):
        solver = SerialSolver(chain, (), 'python')
        assert distances(solver.direct(chain.pose(q), NOTHING, NOTHING).q, q).min() < 1e-9
    assert len(taken) == 2


def test_the_polynomial_vanishes_at_solutions_only():
    rng = np.random.default_rng(8)
    chain = with_wrist(rng)
    arm = HeldArm.recognized(SphericalWrist, chain, (), 1e-8).at()
    q = rng.uniform(-3.0, 3.0, 6)
    N, d = first_joint(arm, arm.target(chain.pose(q))[1])

    def at(angle):
        return N @ np.array([1.0, np.cos(angle), np.sin(angle)]) / d

    np.testing.assert_allclose(at(q[2]).astype(float), [np.cos(q[0]), np.sin(q[0])], atol=1e-12)
    assert abs(np.linalg.norm(at(q[2] + 0.3).astype(float)) - 1.0) > 1e-3
    assert len(WAVES) >= 5  # coefficients


@pytest.mark.parametrize('value', [0.0, np.nan, np.inf])
def test_a_polynomial_without_zeros_tells_nothing(value):
    chain = with_wrist(np.random.default_rng(9))
    solver = WristPartitioned(HeldArm.recognized(SphericalWrist, chain, (), 1e-8), 'python')

    def polynomial(target, values):
        values[:] = value

    solver._polynomial = polynomial
    assert solver.at_all_zeros(chain.home, NOTHING)[2] == -1
