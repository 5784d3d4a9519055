# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated mechanism keeps its last valid state, whatever is asked of it."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import (
    ArgumentError,
    DivergenceError,
    InfeasibleConstraintsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.integration import EULER, RungeKutta
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    double_pendulum,
    heavy_top,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.simulated_mechanism import (
    SimulatedMechanism,
)


def test_steps_are_those_of_the_integrator() -> None:
    """Nothing is added to them, unless projection is asked for."""
    system, q, v = double_pendulum()
    mechanism = SimulatedMechanism(system, q, v)
    expected = RungeKutta(system).step(q, v, np.zeros(12), 1e-3)
    mechanism.step(1e-3)
    np.testing.assert_array_equal(mechanism.q, expected[0])
    np.testing.assert_array_equal(mechanism.v, expected[1])


def test_projection_after_each_step() -> None:
    """All joints stay closed, with the simplest method (I-44)."""
    system, q, v = double_pendulum()
    mechanism = SimulatedMechanism(system, q, v, tableau=EULER, project=True)
    for _ in range(50):
        mechanism.step(1e-3)
    for violation in system.violation(mechanism.q, mechanism.v).values():
        assert violation.gap < 1e-13
        assert violation.velocity < 1e-12


def test_divergence_keeps_the_state() -> None:
    """Steps that are far too long end the motion with a reason."""
    system, q, v = double_pendulum()
    mechanism = SimulatedMechanism(system, q, v)
    before, reason = (q, v), ''
    for _ in range(200):
        before = mechanism.q, mechanism.v
        try:
            mechanism.step(0.05)
        except DivergenceError as error:
            reason = str(error)
            break
    assert 'shorter steps' in reason
    np.testing.assert_array_equal(mechanism.q, before[0])
    np.testing.assert_array_equal(mechanism.v, before[1])
    mechanism.step(1e-3)  # and can be followed with a step that fits


def test_refusals() -> None:
    """Inconsistent states, steps and forces are refused, and change nothing."""
    system, q, v = heavy_top()
    mechanism = SimulatedMechanism(system, q, v)
    for wrong, error, message in (
        ((q + 0.1, v), ArgumentError, "quaternion of 'top'"),
        ((q + [0.1, 0, 0, 0, 0, 0, 0], v), InfeasibleConstraintsError, "'pivot' is open by 0.1"),
        ((q, v + [0, 0, 0, 1.0, 0, 0]), InfeasibleConstraintsError, "'pivot' does not admit"),
        ((q, v * np.nan), ArgumentError, 'finite'),
        ((q[:6], v), ArgumentError, r'shape \(7,\)'),
    ):
        with pytest.raises(error, match=message):
            mechanism.set_state(*wrong)
    for dt in (0.0, -1e-3, np.nan):
        with pytest.raises(ArgumentError, match='dt must be'):
            mechanism.step(dt)
    with pytest.raises(ArgumentError, match='tau'):
        mechanism.step(1e-3, np.full(6, np.nan))
    with pytest.raises(ArgumentError, match="wrench on 'top'"):
        mechanism.step(1e-3, wrenches={'top': np.full(6, np.inf)})
    with pytest.raises(UnknownNameError, match="no body named 'x'"):
        mechanism.step(1e-3, wrenches={'x': np.zeros(6)})
    np.testing.assert_array_equal(mechanism.q, q)
    np.testing.assert_array_equal(mechanism.v, v)
