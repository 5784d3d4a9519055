# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joints without sensors from those with, whichever they are (C-006, C-008, C-009)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import least_squares

from screw_dynamics_ros.core.mechanisms.closures import ClosedRobot, LoopClosures
from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar
from support.closed_chains import excavator, figure_5_7, four_revolute_one_prismatic

GIVEN_BY_SENSORS = [  # none of them at all motors, the last two at more joints than freedoms
    (golden_four_bar, ['rocker_joint']),
    (figure_5_7, ['j1', 'j4', 'j5']),
    (four_revolute_one_prismatic, ['r2', 'r3']),
    (excavator, ['swing', 'boom_joint', 'arm_joint', 'bucket_joint']),
    (excavator, ['swing', 'boom_joint', 'boom_cylinder', 'arm_joint', 'bucket_joint']),
    (golden_four_bar, ['crank_joint', 'coupler_joint', 'rocker_joint']),
]


def with_sensors(closed: ClosedRobot, sensed: Sequence[str]) -> ClosedRobot:
    """Return the same mechanism with other sensors."""
    positions = dict(zip(closed.robot.joint_names, closed.assembly.tolist()))
    loops = LoopClosures(closed.loops.closures, closed.joint_names, sensed, positions)
    return ClosedRobot(closed.robot, loops)


def places(closed: ClosedRobot) -> list[int]:
    """Return where the joints with sensors stand among all."""
    return [closed.robot.joint_names.index(name) for name in closed.loops.sensed]


@pytest.mark.parametrize(('chain', 'sensed'), GIVEN_BY_SENSORS)
def test_the_same_state_from_other_joints(chain, sensed) -> None:
    """Positions, rates and drift accelerations are those that the motors give."""
    closed = with_sensors(chain(), sensed)
    rng = np.random.default_rng(3)
    q = closed.assembly[closed.places] + rng.uniform(-0.05, 0.05, closed.nq)
    state = closed.state(q, rng.standard_normal(closed.nv))
    closure, where = closed.closure_from(sensed), places(closed)
    closing = closure.close(state.q[where], closed.assembly, tolerance=1e-9)
    assert closing.success, closing.message
    np.testing.assert_allclose(closing.q, state.q, atol=1e-8)
    G, rates, _, independence = closure.motion(closing.q, state.v[where])
    assert independence > 1e-3
    np.testing.assert_allclose(rates, state.v, atol=1e-7)
    if len(sensed) == closed.nv:  # more rates cannot be chosen at will
        np.testing.assert_allclose(G @ state.G[where], state.G, atol=1e-7)


def test_redundant_sensors_far_from_the_assembly() -> None:
    """On a straight way the loop does not close with both angles given; at its end it does."""
    closed = with_sensors(golden_four_bar(), ['crank_joint', 'rocker_joint'])
    expected = closed.configuration([np.pi / 3 + 1.5])
    measured = expected[places(closed)]
    closing = closed.closure_from(closed.loops.sensed).close(measured, closed.assembly, 1e-9)
    assert closing.success, closing.message
    np.testing.assert_allclose(closing.q, expected, atol=1e-8)


def test_sensors_that_contradict_each_other() -> None:
    """One encoder off by 0.02 rad: no configuration has these positions, and the gap says so."""
    closed = with_sensors(golden_four_bar(), ['crank_joint', 'rocker_joint'])
    measured = closed.assembly[places(closed)] + [0.0, 0.02]
    closing = closed.closure_from(closed.loops.sensed).close(measured, closed.assembly)
    assert not closing.success
    assert 1e-3 < closing.gap < 0.1
    assert 'do not close' in closing.message


def test_redundant_sensors_within_their_tolerance() -> None:
    """The coupler is where the gap is smallest, by SciPy, although a larger one is allowed."""
    closed = with_sensors(golden_four_bar(), ['crank_joint', 'rocker_joint'])
    crank, rocker = closed.assembly[places(closed)] + [0.0, 2e-4]
    closing = closed.closure_from(closed.loops.sensed).close(
        np.array([crank, rocker]), closed.assembly, tolerance=1e-2
    )
    assert closing.success

    def gap(coupler):
        end = np.exp(1j * crank) + 3.5 * np.exp(1j * (crank + coupler[0]))
        missing = end - 4.0 - 3.0 * np.exp(1j * rocker)
        return [missing.real, missing.imag]

    coupler = closed.robot.joint_names.index('coupler_joint')
    nearest = least_squares(gap, closed.assembly[[coupler]], xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert closing.q[coupler] == pytest.approx(nearest.x[0], abs=1e-9)
    assert closing.gap == pytest.approx(np.linalg.norm(nearest.fun), rel=1e-6)
    assert closing.gap > 1e-5
