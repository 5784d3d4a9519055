# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Systems with constraints: the heavy top by hand in both groups, robots without constraints.

Spec IDs: I-19, I-20, I-23 to I-26, C-062; the systems of the package have their own tests.

The iteration of implicit steps: what it converges to, and when it stops.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.description import Inertia, Link, RobotDescription
from screw_dynamics_ros.core.errors import ArgumentError, DivergenceError
from screw_dynamics_ros.core.integration import (
    EULER,
    RK4,
    TABLEAUS,
    ConstrainedSystem,
    RungeKutta,
    SemiImplicitEuler,
    Tableau,
    UnconstrainedSystem,
)
from screw_dynamics_ros.core.integration.constrained_system import (
    VariableMass,
    constrained_system,
    fixed_point,
)
from support import heavy_top
from support.compilation import build, close
from support.free_body_motion import orders
from support.heavy_top import GROUPS, HeavyTop
from support.models import random_configuration, random_wrenches
from support.tangents import partial

ALL_GROUPS = pytest.mark.parametrize('group', GROUPS)


# --- the heavy top --------------------------------------------------------------------------------


@ALL_GROUPS
def test_the_top_is_consistent(group):
    """I-19, I-20: J v = dg/dt at g = 0, J v' = bias is its rate; gravity hangs on the pivot."""
    top = HeavyTop(group, gravity=9.81)
    assert isinstance(top, ConstrainedSystem)
    assert not isinstance(top, VariableMass)
    q, v = heavy_top.Q0, top.initial_velocity()
    for _ in range(5):
        q, v = RungeKutta(top).step(q, v, np.zeros(6), 1e-3)
    q = q + np.append(heavy_top.rotation(q) @ heavy_top.CENTER - q[:3], np.zeros(4))
    rate = partial(lambda t: top.constraint_residuals(top.integrate(q, t[0] * v)), 1, 1e-4)
    close(rate[:, 0], top.constraint_jacobian(q) @ v, 1e-9)
    along = partial(lambda t: top.constraint_jacobian(top.integrate(q, t[0] * v)) @ v, 1, 1e-4)
    close(-along[:, 0], top.acceleration_bias(q, v), 1e-9)

    hanging = np.array([0, 0, -0.5, 0, np.sqrt(0.5), 0, np.sqrt(0.5)])  # x of the body down
    Q = top.generalized_forces(hanging, np.zeros(6), np.zeros(6))
    a, reaction = top.solve_saddle_point(hanging, Q, np.zeros(3))
    close(a, np.zeros(6), 1e-12)
    weight = heavy_top.MASS * 9.81
    close(reaction, [weight, 0, 0] if group == 'SE(3)' else [0, 0, -weight], 1e-12)


@pytest.mark.parametrize('tableau', [t for t in TABLEAUS if t.order > 1], ids=repr)
def test_order_on_the_top(tableau: Tableau):
    """I-23, I-25: index 1 on SE(3), the order of the tableau and no violation, at 70 rad/s."""
    errors = []
    for steps in (50, 100):
        q, _, violation = heavy_top.run(RungeKutta(HeavyTop('SE(3)'), tableau), steps)
        errors.append(np.abs(q[:3] - heavy_top.COM_AT_100_MS).max())
        assert violation < 1e-13
    np.testing.assert_allclose(orders(np.array(errors)), tableau.order, atol=0.35)


class WrongSign(HeavyTop):
    """The top with dexp^-1_{+X}."""

    def increment_rate(self, q, displacement, v, increments='body'):
        return super().increment_rate(q, -displacement, v)


@pytest.mark.parametrize(
    ('top', 'error', 'violation'),
    [
        (HeavyTop('SE(3)'), 3.15e-7, 0.0),
        (HeavyTop('SO(3) x R^3'), 1.14e-6, 9.27e-7),
        (WrongSign('SE(3)'), 1.6e-3, 0.0),
    ],
    ids=['SE(3)', 'SO(3) x R^3', 'wrong sign'],
)
def test_golden_errors_of_the_top(top, error, violation):
    """I-23, I-24: after 1 s in steps of 1 ms; constraints do not show a wrong sign."""
    q, _, found = heavy_top.run(RungeKutta(top), 1000, 1.0)
    assert np.linalg.norm(q[:3] - heavy_top.COM_AT_1_S) == pytest.approx(error, rel=0.05)
    assert found == pytest.approx(violation, rel=0.05, abs=1e-13)


def test_the_other_group_violates_the_constraint():
    """I-23: on SO(3) x R^3 the same order, and a violation of that order."""
    runs = [heavy_top.run(RungeKutta(HeavyTop('SO(3) x R^3')), steps) for steps in (50, 100)]
    errors = np.array([np.abs(q[:3] - heavy_top.COM_AT_100_MS).max() for q, _, _ in runs])
    violations = np.array([violation for _, _, violation in runs])
    np.testing.assert_allclose(orders(errors), 4, atol=0.2)
    np.testing.assert_allclose(orders(violations), 4, atol=0.2)
    assert violations[1] > 1e-8


@ALL_GROUPS
def test_semi_implicit_steps_of_the_top(group):
    """C-062: order 1; on SE(3) they keep to the constraint, too."""
    runs = [heavy_top.run(SemiImplicitEuler(HeavyTop(group)), steps) for steps in (100, 200)]
    errors = np.array([np.abs(q[:3] - heavy_top.COM_AT_100_MS).max() for q, _, _ in runs])
    np.testing.assert_allclose(orders(errors), 1, atol=0.1)
    assert (runs[1][2] < 1e-13) == (group == 'SE(3)')
    q, v = heavy_top.Q0, HeavyTop(group).initial_velocity()
    _, exploring = RungeKutta(HeavyTop(group), EULER).step(q, v, np.zeros(6), 1e-3)
    _, same = SemiImplicitEuler(HeavyTop(group)).step(q, v, np.zeros(6), 1e-3)
    close(same, exploring, 1e-13)  # velocities of index 1; positions follow them


def test_orthonormal_without_normalization():
    """I-26: of a constrained body, too; 300 steps of 10 ms at 70 rad/s."""
    q, _, _ = heavy_top.run(RungeKutta(HeavyTop('SE(3)'), RK4), 300, 3.0)
    assert abs(np.linalg.norm(q[3:]) - 1.0) < 1e-13


# --- robots ---------------------------------------------------------------------------------------


def test_a_robot_without_constraints():
    """I-19, I-20: Q is such that M^-1 Q are the accelerations; dM/dt by differences."""
    robot = build('planar, floating', 'python')
    system = constrained_system(robot)
    assert isinstance(system, UnconstrainedSystem)
    assert isinstance(system, ConstrainedSystem)
    assert isinstance(system, VariableMass)
    assert constrained_system(system) is system
    rng = np.random.default_rng(0)
    q, v, tau = random_configuration(robot, rng), *rng.uniform(-1, 1, (2, robot.nv))
    wrenches = random_wrenches(robot, rng)
    for options in ((), (wrenches,)):
        Q = system.generalized_forces(q, v, tau, *options)
        s = np.zeros(system.constraint_jacobian(q).shape[0])
        a, none = system.solve_saddle_point(q, Q, s)
        close(a, robot.forward_dynamics(q, v, tau, *options), 1e-10)
        assert none.size == system.constraint_residuals(q).size == 0
    along = partial(lambda t: robot.mass_matrix(robot.integrate(q, t[0] * v)).ravel(), 1)
    close(system.mass_matrix_rate(q, v).ravel(), along[:, 0], 1e-8)


def test_bodies_without_inertia_are_refused():
    point = Link('point', Inertia(1.0, np.zeros(3), np.zeros((3, 3))))
    robot = Robot(
        RobotDescription.from_parts('point', [point], []), floating_base=True, backend='reference'
    )
    with pytest.raises(
        ArgumentError, match=r'the mass matrix is singular at q = .* give its links'
    ):
        constrained_system(robot).solve_saddle_point(robot.neutral(), np.ones(6), np.zeros(0))


def linear(spectrum: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return B and c of a map B x + c with the eigenvalues."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(len(spectrum),) * 2))[0]
    return basis @ np.diag(spectrum) @ basis.T, np.arange(1.0, len(spectrum) + 1)


@pytest.mark.parametrize(
    'spectrum', [np.linspace(0.1, 0.5, 8), np.array([-1000.0, 5.0, 0.1, 0.2]), np.zeros(3)], ids=str
)
def test_linear_maps(spectrum):
    """Maps that contract, and maps with a few directions that do not."""
    B, c = linear(spectrum)
    x, other = fixed_point(lambda x: (B @ x + c, 'kept'), np.zeros(len(c)), 1.0, 1e-9, 50)
    np.testing.assert_allclose(x, np.linalg.solve(np.eye(len(c)) - B, c), rtol=1e-10, atol=1e-12)
    assert other == 'kept'


def test_it_goes_on_to_rounding_whatever_the_tolerance():
    calls = []

    def cosine(x):
        calls.append(x)
        return np.cos(x), None

    x, _ = fixed_point(cosine, np.zeros(1), 1.0, 1e-3, 50)
    assert abs(np.cos(x) - x) < 1e-15
    assert len(calls) < 15


@pytest.mark.parametrize(
    ('G', 'reason'),
    [
        (lambda x: x**2 + 1, r'after 30 iterations: .* take shorter steps'),
        (lambda x: x * np.nan, 'no finite solution'),
        (lambda x: x + 1 / np.zeros(1), 'no finite solution'),
    ],
)
@pytest.mark.filterwarnings('ignore:divide by zero', 'ignore:overflow')
def test_what_does_not_converge(G, reason):
    with pytest.raises(DivergenceError, match=reason):
        fixed_point(lambda x: (G(x), None), np.ones(1), 1.0, 1e-9, 30)


def calls_until(tolerance, corrections):
    """Return how many calls of a map with these corrections are made, and what is returned."""
    calls = []

    def G(x):
        calls.append(x)
        return x + [corrections[len(calls) - 1], 0.0], len(calls)

    result = fixed_point(G, np.zeros(2), 0.5, tolerance, len(corrections))
    return len(calls), result


@pytest.mark.parametrize(
    ('corrections', 'calls', 'best'),
    [
        ([1.0, 0.0, 1.0], 2, 2),  # solved exactly
        ([1e-15, 3.9e-17, 1.0], 2, 2),  # scaled by 0.5 it is below 2e-17
        ([1e-15, 4.1e-17, 3e-17], 3, 3),
        ([1e-9, 0.6e-9, 0.6e-9, 1.0], 3, 2),  # twice not halved: rounding
        ([1e-9, 0.4e-9, 0.1e-9, 0.06e-9, 0.07e-9, 1.0], 5, 4),
        ([1.0, 3e-6, 2.9e-6, 0.8e-6, 0.9e-6, 0.7e-6, 0.6e-6], 6, 6),  # within 1e-6 at last
    ],
)
def test_when_it_ends(corrections, calls, best):
    """Corrections below the rounding of positions, or two calls without progress in tolerance."""
    made, (_, returned) = calls_until(1e-6, corrections)
    assert (made, returned) == (calls, best)


def test_the_smallest_correction_has_to_be_within_the_tolerance():
    """Half of 1.8e-6 is within 1e-6, half of 2.2e-6 is not."""
    assert calls_until(1e-6, [1.0, 1.8e-6, 3e-6, 3e-6, 3e-6])[1][1] == 2
    with pytest.raises(DivergenceError, match=r'after 5 iterations: .* still 1\.1e-06 rad or m'):
        calls_until(1e-6, [1.0, 2.2e-6, 3e-6, 3e-6, 3e-6])
    with pytest.raises(DivergenceError, match=r'with a tolerance of 1\.0e-06; take shorter'):
        calls_until(1e-6, [1.0, 2.2e-6, 3e-6, 3e-6, 3e-6])
