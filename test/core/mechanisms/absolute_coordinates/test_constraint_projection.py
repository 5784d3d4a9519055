# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Return to the constraints: the nearest states, and what cannot be returned (I-31, I-44)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space

from screw_dynamics_ros.core.errors import ArgumentError, InfeasibleConstraintsError
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    GROUND,
    SE3,
    SPHERICAL,
    AbsoluteSystem,
    ConstraintJoint,
    SO3xR3,
    frame,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.constraint_projection import (
    consistent_velocity,
    project_configuration,
    project_velocity,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    double_pendulum,
    floating_pair,
)
from support.jointed_bodies import LOWER_PAIRS, random_system


@pytest.mark.parametrize('groups', [(SE3, SE3), (SO3xR3, SE3)])
def test_nearest_velocity(groups):
    """The one of least |v' - v| in the kinetic energy, among those in the null space of J."""
    system, q, v = double_pendulum(groups, backend='sparse')
    wanted = v + np.random.default_rng(1).normal(size=12)
    N = null_space(system.constraint_jacobian(q).toarray())
    M = system.mass_matrix(q).toarray()
    expected = N @ np.linalg.solve(N.T @ M @ N, N.T @ M @ wanted)
    found = project_velocity(system, q, wanted)
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize('pair', LOWER_PAIRS, ids=lambda pair: pair.name)
def test_projected_velocities_are_admissible_to_rounding(pair):
    """Of a chain of four bodies; after one projection some 1e-13 would be left."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        system, q, _ = random_system(rng, pair, (SE3, SO3xR3, SE3, SE3))
        v = project_velocity(system, q, rng.normal(size=system.nv))
        assert np.abs(system.constraint_jacobian(q) @ v).max() < 4e-15


@pytest.mark.parametrize('groups', [(SE3, SE3), (SO3xR3, SO3xR3)])
def test_velocity_of_least_energy_for_given_angular_ones(groups):
    """One body turns as it is asked to; the other follows with the least kinetic energy."""
    system, q, _ = floating_pair(groups, backend='sparse')
    omega = np.array([0.5, -2.0, 1.0])
    v = consistent_velocity(system, q, {'body 2': omega})
    np.testing.assert_array_equal(v[6:9], omega)
    J, M = system.constraint_jacobian(q).toarray(), system.mass_matrix(q).toarray()
    np.testing.assert_allclose(J @ v, 0.0, atol=1e-14)
    unchanged = np.zeros((3, 12))
    unchanged[:, 6:9] = np.eye(3)
    others = null_space(np.vstack([J, unchanged]))
    assert others.shape[1] == 6
    np.testing.assert_allclose(others.T @ M @ v, 0.0, atol=1e-13)
    np.testing.assert_array_equal(consistent_velocity(system, q, {}), 0.0)


def test_angular_velocities_of_the_wrong_shape():
    system, q, _ = floating_pair(backend='sparse')
    with pytest.raises(ArgumentError, match=r"angular velocity of 'body 1' must have shape \(3,\)"):
        consistent_velocity(system, q, {'body 1': [1.0, 2.0]})


def test_from_far_away():
    """Half a turn and half a meter off: in steps of at most 0.5, Newton's method arrives."""
    system, q, _ = double_pendulum(backend='sparse')
    far = system.integrate(q, np.tile([1.5, 1.5, 1.5, 0.3, 0.3, 0.3], 2))
    closed = project_configuration(system, far)
    assert np.abs(system.constraint_residuals(closed)).max() < 1e-14
    with pytest.raises(InfeasibleConstraintsError, match=r"joint 'joint [12]' is open by"):
        project_configuration(system, far, most_iterations=1)


def test_closed_configurations_stay():
    system, q, _ = double_pendulum(backend='sparse')
    np.testing.assert_array_equal(project_configuration(system, q), q)
    near = system.integrate(q, 1e-10 * np.ones(12))
    np.testing.assert_array_equal(project_configuration(system, near, tolerance=1e-8), near)
    assert np.abs(system.constraint_residuals(project_configuration(system, near))).max() < 1e-14


def test_far_from_the_origin():
    """Coordinates of 1000 km are rounded to 0.1 nm: that is closed, 1 mm is not."""
    pendulum = double_pendulum(backend='sparse')
    start = np.array([1e6, 0, 0])
    base = ConstraintJoint(
        'base', SPHERICAL, GROUND, 'body 1', frame(start), pendulum.system.joints[0].child_frame
    )
    q = pendulum.q.copy().reshape(-1, 7)
    q[:, :3] += start
    system = AbsoluteSystem(
        pendulum.system.bodies,
        [base, pendulum.system.joints[1]],
        configuration=q.reshape(-1),
        backend='sparse',
    )
    rng = np.random.default_rng(3)
    closed = project_configuration(
        system, system.integrate(q.reshape(-1), 0.1 * rng.normal(size=12))
    )
    assert np.abs(system.constraint_residuals(closed)).max() < 1e-9


def test_the_widest_gap_is_named():
    """Two pivots on the ground of one body, farther apart than on the body."""
    pendulum = double_pendulum(backend='sparse').system
    joints = [
        ConstraintJoint('near', SPHERICAL, GROUND, 'body 1', frame(), frame([-0.1, 0, 0])),
        ConstraintJoint('far', SPHERICAL, GROUND, 'body 1', frame([0.9, 0, 0]), frame([0.1, 0, 0])),
    ]
    q = np.array([0.1, 0, 0, 0, 0, 0, 1])
    system = AbsoluteSystem(pendulum.bodies[:1], joints[:1], configuration=q, backend='sparse')
    both = AbsoluteSystem(pendulum.bodies[:1], joints, configuration=q, backend='sparse')
    assert system.violation(q, np.zeros(6))['near'].gap == 0.0
    with pytest.raises(InfeasibleConstraintsError, match=r"'far' is open by 0\.7 \(rad, m\)"):
        project_configuration(both, q, most_iterations=1)
