# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated mechanism keeps its last valid state, whatever is asked of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import (
    ArgumentError,
    DivergenceError,
    InfeasibleConstraintsError,
    UnknownNameError,
)
from screw_dynamics_ros.core.integration import EULER, RungeKutta
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import AbsoluteBody, AbsoluteSystem
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    box,
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
        ((q + 0.1, v), ArgumentError, "pose of 'top' .* quaternion"),
        ((q + [0.1, 0, 0, 0, 0, 0, 0], v), InfeasibleConstraintsError, "'pivot' is open by 0.1"),
        ((q, v + [0, 0, 0, 1.0, 0, 0]), InfeasibleConstraintsError, "'pivot' does not admit"),
        ((q, v * np.nan), ArgumentError, 'velocities of the bodies must be finite'),
        ((q + np.inf, v), ArgumentError, "pose of 'top' is not finite"),
        ((q[:6], v), ArgumentError, r'shape \(7,\)'),
        ((q, v[:5]), ArgumentError, r'v must have shape \(6,\)'),
        ((q + [0, 0, 2e-6, 0, 0, 0, 0], v), InfeasibleConstraintsError, 'open by 2e-06'),
        ((q, v + [0, 0, 0, 1e-4, 0, 0]), InfeasibleConstraintsError, r'change at 0\.0001 \(rad/s'),
    ):
        with pytest.raises(error, match=message):
            mechanism.set_state(*wrong)
    with pytest.raises(InfeasibleConstraintsError, match='does not admit'):  # 1e-6 beside rest
        mechanism.set_state(q, [0, 0, 0, 2e-6, 0, 0])
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


def test_small_violations_are_accepted() -> None:
    """1e-6 m, and 1e-6 of the fastest velocity; states are copied."""
    system, q, v = heavy_top()
    mechanism = SimulatedMechanism(system)
    np.testing.assert_array_equal(mechanism.q, system.configuration)
    np.testing.assert_array_equal(mechanism.v, 0.0)
    q, v = q + [0, 0, 5e-7, 0, 0, 0, 0], v + [0, 0, 0, 3e-5, 0, 0]
    mechanism.set_state(q, v)
    x = mechanism.q
    q += 1.0
    assert np.abs(x - q).min() == 1.0


def test_forces_and_wrenches_of_a_step() -> None:
    """A free box: half of the acceleration times the square of the time, by either."""
    for tau, wrenches in (([0, 0, 0, 5.4, 0, 0], None), (None, {'box': [0, 0, 0, 5.4, 0, 0]})):
        system = AbsoluteSystem([AbsoluteBody('box', box((0.2, 0.1, 0.05)))], gravity=(0, 0, 0))
        mechanism = SimulatedMechanism(system)
        mechanism.step(0.1, tau, wrenches)
        np.testing.assert_allclose(mechanism.q[:3], [0.01, 0, 0], atol=1e-15)
        np.testing.assert_allclose(mechanism.v, [0, 0, 0, 0.2, 0, 0], atol=1e-15)


def test_joints_that_come_apart() -> None:
    """The first gap beyond 1 cm ends the motion, and names the joint."""
    system, q, v = double_pendulum()
    mechanism, reason = SimulatedMechanism(system, q, v, tableau=EULER), ''
    while not reason:
        try:
            mechanism.step(2e-3)
        except DivergenceError as error:
            reason = str(error)
        widest = max(each.gap for each in system.violation(mechanism.q, mechanism.v).values())
        assert widest <= 0.01
    assert re.match(r"joint 'joint 2' gapes by 0\.01\d* \(rad, m\): take shorter steps", reason)
    assert widest > 0.005
