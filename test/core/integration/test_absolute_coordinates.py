# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every integrator on the constrained systems of the package, in both groups and mixed, with loops.

Spec IDs: I-15, I-23, I-47, C-062.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.integration import (
    AdaptiveRungeKutta,
    ConstrainedSystem,
    GeneralizedAlpha,
    Integrator,
    RungeKutta,
    SemiImplicitEuler,
    Variational,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    EXAMPLES,
    Example,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.groups import SE3, SO3xR3
from support.compilation import close
from support.free_body_motion import orders

SECONDS = 0.01
CASES = [
    ('heavy_top', (SE3,)),
    ('double_pendulum', (SE3, SO3xR3)),
    ('floating_pair', (SE3, SE3)),
    ('three_bar_linkage', (SO3xR3, SO3xR3)),
]


def run(integrator: Integrator, start: Example, steps: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return q, v and the largest violation |g| on the way."""
    system, q, v = start
    violation, tau = 0.0, np.zeros(system.nv)
    for _ in range(steps):
        q, v = integrator.step(q, v, tau, SECONDS / steps)
        violation = max(violation, float(np.abs(system.constraint_residuals(q)).max()))
    return q, v, violation


@pytest.mark.parametrize(('name', 'groups'), CASES)
def test_orders(name, groups):
    """I-15, I-23, I-47: index 1 by Runge-Kutta, and index 3, lead to one motion."""
    start = EXAMPLES[name](groups)
    system = start.system
    assert isinstance(system, ConstrainedSystem)
    exact, _, _ = run(RungeKutta(system), start, 100)
    for integrator, order in (
        (RungeKutta(system), 4),
        (SemiImplicitEuler(system), 1),
        (GeneralizedAlpha(system), 2),
        (Variational(system), 2),
    ):
        ends = [run(integrator, start, steps) for steps in (5, 10)]
        error = np.array([np.abs(q - exact).max() for q, _, _ in ends])
        np.testing.assert_allclose(orders(error), order, atol=0.2)
        if order == 2:
            assert max(violation for _, _, violation in ends) <= 1e-14
    q, v, _ = run(Variational(system), start, 10)
    assert np.abs(system.constraint_jacobian(q) @ v).max() < 1e-13


def test_controlled_steps():
    """I-23: index 1 with an embedded pair; the constraint drifts within the tolerance."""
    start = EXAMPLES['double_pendulum']((SE3, SO3xR3))
    system, q, v = start
    exact, _, _ = run(RungeKutta(system), start, 200)
    end = AdaptiveRungeKutta(system, rtol=1e-8, atol=1e-8).until(q, v, np.zeros(12), 0.0, SECONDS)
    close(end.q, exact, 1e-7)
    assert np.abs(system.constraint_residuals(end.q)).max() < 1e-7


def test_wrenches_and_torques_of_the_state():
    """I-23, I-47: applied forces act in all methods alike."""
    start = EXAMPLES['double_pendulum']((SO3xR3, SE3))
    system, wrenches = start.system, {'body 2': np.array([0.1, -0.2, 0.3, 10.0, -20.0, 5.0])}

    def torques(t, q, v):
        return -0.05 * v + np.cos(20 * t)

    def end(integrator, steps):
        _, q, v = start
        for k in range(steps):
            dt = SECONDS / steps
            q, v = integrator.step(q, v, torques, dt, wrenches, t=k * dt)
        return q

    exact = end(RungeKutta(system), 50)
    unforced, _, _ = run(RungeKutta(system), start, 25)
    assert np.abs(exact - unforced).max() > 1e-4
    for integrator in (GeneralizedAlpha(system), Variational(system)):
        error = np.array([np.abs(end(integrator, steps) - exact).max() for steps in (5, 10)])
        np.testing.assert_allclose(orders(error), 2, atol=0.2)
