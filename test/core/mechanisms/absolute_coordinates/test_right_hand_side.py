# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The right-hand side of the constraints: eta, and what stabilization adds."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    SE3,
    AbsoluteSystem,
    SO3xR3,
    Stabilization,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import double_pendulum


@pytest.mark.parametrize('groups', [(SE3, SE3), (SO3xR3, SO3xR3), (SO3xR3, SE3)])
def test_right_side_of_accelerations_is_the_rate_of_the_jacobian(groups):
    """I-12, I-28: eta = -J' v by finite differences along the motion, also off the constraints."""
    system, q, v = double_pendulum(groups)
    random = np.random.default_rng(5)
    q, v = system.integrate(q, random.uniform(-0.1, 0.1, 12)), v + random.uniform(-1, 1, 12)
    h = 1e-6
    ahead, back = (system.constraint_jacobian(system.integrate(q, s * h * v)) @ v for s in (1, -1))
    eta = system.constraint_bias(q, v)
    np.testing.assert_allclose(eta, -(ahead - back) / (2 * h), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize(('alpha', 'beta'), [(0.0, 0.0), (7.0, 0.0), (0.0, 11.0), (7.0, 11.0)])
@pytest.mark.parametrize('backend', ['auto', 'reference', 'sparse'])
def test_what_baumgarte_adds(backend, alpha, beta):
    """I-44: J a = eta - 2 alpha J v - beta^2 g, in each way of solution, off the constraints."""
    plain, q, v = double_pendulum([SO3xR3, SE3])
    system = AbsoluteSystem(
        plain.bodies,
        plain.joints,
        configuration=q,
        stabilization=Stabilization(alpha, beta),
        backend=backend,
    )
    random = np.random.default_rng(1)
    q, v = system.integrate(q, random.uniform(-0.1, 0.1, 12)), v + random.uniform(-1, 1, 12)
    J, g = system.constraint_jacobian(q), system.constraint_residuals(q)
    a = system.forward_dynamics(q, v)
    expected = system.constraint_bias(q, v) - 2 * alpha * (J @ v) - beta**2 * g
    np.testing.assert_allclose(J @ a, expected, rtol=1e-10, atol=1e-9)
