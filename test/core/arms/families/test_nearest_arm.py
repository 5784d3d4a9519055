# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Calibrated arms: all solutions from those of the nearest arm with a closed form.

Spec IDs: C-090, C-103.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core.arms.families.chain import SerialChain
from screw_dynamics_ros.core.arms.families.chain_solutions import distances
from screw_dynamics_ros.core.arms.families.classifier import classify
from screw_dynamics_ros.core.arms.families.nearest_arm import nearest_arm
from screw_dynamics_ros.core.arms.families.serial_solver import (
    NEARBY_GEOMETRY_TOLERANCE,
    SerialSolver,
)
from screw_dynamics_ros.core.lie import screws, se3
from support.arms import arm
from support.compilation import needs_llvmlite

NOTHING = np.empty(0)


def calibrated(size: float, seed: int = 0) -> SerialChain:
    """A UR5e of which each axis is displaced by about this much [rad, m], as calibrations do."""
    described, rng = arm('UR5e'), np.random.default_rng(seed)
    nominal = SerialChain.of(described.robot('reference').tree, described.tool)
    moved = [screws.transform_twist(se3.exp(size * rng.normal(size=6)), X) for X in nominal.screws]
    e = np.array(moved)[:, :3]
    e /= np.linalg.norm(e, axis=1)[:, None]
    v = np.array(moved)[:, 3:]
    return replace(nominal, screws=np.hstack([e, v - e * (e * v).sum(axis=1)[:, None]]))


def deviation(chain: SerialChain, other: SerialChain) -> float:
    q = np.random.default_rng(9).uniform(-3.0, 3.0, (200, 6))
    return float(np.abs(chain.pose(q) - other.pose(q)).max())


def root_mean_square(member, chain: SerialChain) -> float:
    q = np.random.default_rng(8).uniform(-3.0, 3.0, (200, 6))
    return float(np.sqrt(np.mean((member.chain().pose(q) - chain.pose(q)) ** 2)))


def test_the_nearest_arm():
    """It is nearer than the one that is recognized; a change of any length takes it away again."""
    chain = calibrated(1e-3)
    recognized = classify(chain, NEARBY_GEOMETRY_TOLERANCE).arm
    nearest = nearest_arm(recognized, chain)
    assert nearest.labels == recognized.labels
    least = root_mean_square(nearest, chain)
    assert least < root_mean_square(recognized, chain)
    for name in nearest.length_names():
        for change in (-2e-3, 2e-3):
            other = replace(nearest, **{name: getattr(nearest, name) + change})
            assert root_mean_square(other, chain) > least


def test_an_exact_arm_is_nearest_to_itself():
    """From one that misses it."""
    chain = calibrated(0.0)
    exact = classify(chain).arm
    missing = replace(exact, l2=exact.l2 + 0.01, l6=exact.l6 - 0.01, offset=exact.offset + 0.01)
    nearest = nearest_arm(missing, chain)
    assert deviation(nearest.chain(), chain) < 1e-7 < 1e-3 < deviation(missing.chain(), chain)
    assert nearest.l2 == pytest.approx(exact.l2, abs=1e-7)


@needs_llvmlite
@pytest.mark.parametrize(
    ('size', 'near'),
    [(1e-5, 'any'), (1e-3, 'any'), (1e-3, 'wrist'), (1e-3, 'elbow'), (1e-3, 'shoulder'),
     (3e-3, 'any')],
)  # fmt: skip
def test_all_solutions_of_calibrated_arms(size, near):
    """As many as the elimination finds, which knows nothing of the arm nearby, each the same one.

    Also next to singular configurations, where branches of one arm lead to none of the other.
    """
    chain, rng = calibrated(size), np.random.default_rng(1)
    solver = SerialSolver(chain, (), 'native')
    short = solver._make_direct_nearby(lambda C, held, swivel: None)
    assert (short is None) == (size == 3e-3)  # too far from any arm
    if short is None:
        return
    taken = 0
    for _ in range(40 if near == 'wrist' else 24):
        q = rng.uniform(-3.0, 3.0, 6)
        if near == 'wrist':
            q[4] = 0.05 * rng.normal()
        elif near == 'elbow':
            q[2] = 0.1 * rng.normal()
        C = chain.pose(q)
        if near == 'shoulder':  # above the shoulder
            C[:2, 3] = 0.2 * rng.normal(size=2)
        found = short(C, NOTHING, NOTHING)
        if found is None:
            continue
        taken += 1
        other = solver.solve(C, NOTHING, NOTHING)
        assert len(found) == len(other)
        for each in other.q:
            assert distances(found.q, each).min() < 1e-6
    assert taken >= (12 if near == 'any' else 1)


def test_doubt_is_left_to_the_elimination():
    """A pose at the end of reach: some branch of the arm nearby ends there."""
    chain = calibrated(1e-3)
    q = np.array([0.3, -0.8, 0.02, 0.4, 0.9, 0.2])
    solver = SerialSolver(chain, (), 'python')
    called = []
    short = solver._make_direct_nearby(lambda C, held, swivel: called.append(C))
    assert short(chain.pose(q), NOTHING, NOTHING) is None
    assert len(called) == 1
