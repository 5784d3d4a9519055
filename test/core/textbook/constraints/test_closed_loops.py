# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Kinematic loops, rolling, and their stabilization (C-079, C-085, C-086).

The four-bar of golden case 8.6 (ground 4, crank 1, coupler 3.5, rocker 3) is cut between coupler
and rocker; the oracle is its one Lagrange equation in the crank angle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.constraints.motion_constraint import (
    MotionConstraint,
    fixed_frame,
    fixed_point,
)
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.errors import ArgumentError, InfeasibleConstraintsError
from screw_dynamics_ros.core.integration import ConfigurationSpace, munthe_kaas_step
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.textbook.constraints.projection import (
    project_configuration,
    project_velocity,
)
from support.compilation import close, needs_llvmlite

GROUND, CRANK, COUPLER, ROCKER = 4.0, 1.0, 3.5, 3.0
FREE = Limits(-np.inf, np.inf, np.inf, np.inf)
Z = np.array([0.0, 0.0, 1.0])


def at(*r: float) -> np.ndarray:
    C = np.eye(4)
    C[:3, 3] = r
    return C


def rod(length: float) -> Inertia:
    """Return a rod along x with a mass of 1 kg/m and some thickness."""
    I = length * np.diag([0.01, length**2 / 12 + 0.01, length**2 / 12 + 0.01])  # noqa: E741
    return Inertia(length, [length / 2, 0.0, 0.0], I)


def four_bar(gravity: Sequence[float] = (0.0, -9.81, 0.0), backend: str = 'reference') -> Robot:
    """Return crank, coupler and rocker in the plane; the loop is open at the end of the coupler."""
    description = RobotDescription.from_parts(
        'four_bar',
        [
            Link('ground'),
            Link('crank', rod(CRANK)),
            Link('coupler', rod(COUPLER)),
            Link('rocker', rod(ROCKER)),
        ],
        [
            Joint('q1', 'continuous', 'ground', 'crank', np.eye(4), Z, FREE),
            Joint('q2', 'continuous', 'crank', 'coupler', at(CRANK, 0, 0), Z, FREE),
            Joint('q3', 'continuous', 'ground', 'rocker', at(GROUND, 0, 0), Z, FREE),
        ],
    )
    return Robot(description, gravity=gravity, backend=backend)


def cut(**keywords: object) -> MotionConstraint:
    """Return the cut joint: the end of the coupler stays at the end of the rocker."""
    return fixed_point(
        'coupler',
        [(1, 0, 0), (0, 1, 0)],
        point=(COUPLER, 0, 0),
        other='rocker',
        target=at(ROCKER, 0, 0),
        name='cut joint',
        **keywords,
    )


def closed(q1: float) -> np.ndarray:
    """Return (q1, q2, q3) with the loop closed, the rocker up: two circles that meet."""
    end = CRANK * np.array([np.cos(q1), np.sin(q1)])
    d = np.array([GROUND, 0.0]) - end
    length = np.hypot(*d)
    along = (COUPLER**2 - ROCKER**2 + length**2) / (2 * length)
    across = np.sqrt(COUPLER**2 - along**2)
    joint = end + (along * d + across * np.array([-d[1], d[0]])) / length
    coupler, rocker = joint - end, joint - [GROUND, 0.0]
    return np.array([q1, np.arctan2(coupler[1], coupler[0]) - q1, np.arctan2(rocker[1], rocker[0])])


def along_crank(q1: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return closed(q1) and its first two derivatives, by differences of order 8."""
    h, n = 0.01, np.arange(-4, 5)
    values = np.stack([closed(q1 + k * h) for k in n])
    first = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    second = np.array(
        [-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]
    )
    return values[4], first @ values / h, second @ values / h**2


def lagrange_equation(robot: Robot, q1: float, v1: float, tau: float) -> float:
    """Return q1'' of (g^T M g) q1'' + g^T (M g' q1'^2 + h) = tau, g = dq/dq1."""
    q, g, dg = along_crank(q1)
    M = robot.mass_matrix(q)
    h = robot.inverse_dynamics(q, g * v1, np.zeros(3))
    return (tau - g @ (M @ dg * v1**2 + h)) / (g @ M @ g)


@pytest.mark.parametrize('q1', [0.3, np.pi / 3, 2.0, 4.0, 5.5])
def test_four_bar_against_one_lagrange_equation(q1):
    """C-079: forward dynamics of the cut tree with the loop closed, 1e-9."""
    robot = four_bar()
    q, g, dg = along_crank(q1)
    v1, tau = 1.3, 7.0
    a, wrenches = robot.constrained_dynamics(q, g * v1, [tau, 0, 0], cut())
    expected = lagrange_equation(robot, q1, v1, tau)
    close(a, g * expected + dg * v1**2, 1e-9)
    np.testing.assert_allclose(wrenches[0, [2, 5]], [COUPLER * wrenches[0, 4], 0.0], atol=1e-9)


def test_golden_rates():
    """8.6: crank at 60 degrees; angles and rates of coupler and rocker."""
    robot = four_bar()
    q = project_configuration(robot, [np.pi / 3, -0.4, 1.8], [cut()])
    v = project_velocity(robot, q, [1.0, 0.0, 0.0], cut())
    np.testing.assert_allclose(q[1:] - closed(q[0])[1:], 0, atol=1e-11)
    np.testing.assert_allclose(closed(np.pi / 3)[1:], [-0.418482424, 1.795774973], atol=1e-9)
    at_60 = project_velocity(robot, closed(np.pi / 3), [1.0, 0.0, 0.0], cut())
    np.testing.assert_allclose(at_60[1:] / at_60[0], [-1.211457636, 0.147301188], atol=1e-8)
    close(v / v[0], along_crank(q[0])[1], 1e-9)


def test_redundant_closure_of_a_planar_loop():
    """C-073, C-079: five equations of a cut hinge, two independent; the same motion, flagged."""
    robot = four_bar()
    q, g, _ = along_crank(1.0)
    hinge = MotionConstraint(
        'coupler', np.eye(6)[:, [0, 1, 3, 4, 5]], point=(COUPLER, 0, 0), other='rocker'
    )
    a, _ = robot.constrained_dynamics(q, g, [1.0, 0, 0], cut())
    motion = robot.constrained_dynamics(q, g, [1.0, 0, 0], hinge)
    close(motion.a, a, 1e-9)
    assert motion.feasible
    assert not motion.unique
    assert motion.forces.rank == 2


def test_projection_changes_least():
    """C-086: the change of velocity is smallest in the norm of the mass matrix."""
    robot = four_bar()
    q, g, _ = along_crank(1.0)
    v = np.array([1.0, 2.0, -1.0])
    kept = project_velocity(robot, q, v, cut())
    M = robot.mass_matrix(q)
    close(kept, g * (g @ M @ v) / (g @ M @ g), 1e-9)
    moved = project_configuration(robot, q + [0.05, -0.03, 0.02], cut())
    close(moved, closed(moved[0]), 1e-10)
    assert np.abs(moved - q).max() < 0.15


def test_a_robot_on_a_floating_base_is_projected():
    """Configurations and displacements have other sizes; the base moves to the target, too."""
    robot = Robot(four_bar().description, floating_base=True, backend='reference')
    q = np.concatenate([robot.neutral()[:7], closed(1.0)])
    q = robot.integrate(q, 0.1 * np.random.default_rng(5).normal(size=robot.nv))
    pose = se3.pose(so3.exp([0.2, -0.1, 0.3]), [0.5, 0.1, -0.2])
    found = project_configuration(robot, q, [fixed_frame('crank', target=pose), cut()])
    close(robot.link_pose(found, 'crank'), pose, 1e-11)
    assert np.linalg.norm(found[3:7]) == pytest.approx(1.0)
    close(found[8:], closed(found[7])[1:], 1e-10)


def test_loops_that_do_not_close():
    """A coupler that is too short: a named error with the constraint and its gap, not an answer."""
    robot = four_bar()
    far = fixed_point(
        'coupler',
        [(1, 0, 0), (0, 1, 0)],
        point=(COUPLER, 0, 0),
        target=at(9, 9, 0),
        name='cut joint',
    )
    with pytest.raises(InfeasibleConstraintsError, match=r'cut joint is still .* off'):
        project_configuration(robot, closed(1.0), far)
    with pytest.raises(InfeasibleConstraintsError, match='after 3 Newton steps cut joint'):
        project_configuration(robot, closed(1.0), far, max_iterations=3)
    for option in ({'tolerance': -1e-9}, {'max_iterations': -1}):
        with pytest.raises(ArgumentError, match=next(iter(option))):
            project_configuration(robot, closed(1.0), cut(), **option)
    near = closed(1.0) + [0.0, 1e-7, 0.0]  # as near as asked for
    kept = project_configuration(robot, near, cut(), tolerance=1e-6, max_iterations=0)
    np.testing.assert_array_equal(kept, near)
    with pytest.raises(ArgumentError, match='no constraint has a target'):
        project_configuration(robot, closed(1.0), fixed_point('coupler'))
    assert np.isnan(project_configuration(robot, [np.nan, 0, 0], cut())).all()


def test_two_closures_that_contradict_each_other():
    robot = four_bar()
    q, g, _ = along_crank(1.0)
    stop = fixed_frame('rocker', acceleration=[0, 0, 5.0, 0, 0, 0], name='rocker drive')
    crank = MotionConstraint('crank', np.eye(6)[:, [2]], name='crank drive')
    with pytest.raises(InfeasibleConstraintsError, match='drive misses'):
        robot.constrained_dynamics(q, g, np.zeros(3), [cut(), stop, crank])


# --- drift ----------------------------------------------------------------------------------------


def simulated(
    robot: Robot,
    constraint: MotionConstraint,
    dt: float,
    steps: int,
    after: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] = lambda q, v: (q, v),
) -> tuple[np.ndarray, list[float]]:
    """Return the gaps and energies of a four-bar that swings under gravity."""
    q, g, _ = along_crank(2.0)
    v, gaps, energies = g * 3.0, [], []
    at_rest, space = np.zeros(3), ConfigurationSpace(robot)
    for _ in range(steps):
        q, v = munthe_kaas_step(
            space,
            lambda t, q, v: (v, robot.constrained_dynamics(q, v, at_rest, constraint).a),
            q,
            v,
            dt,
        )
        q, v = after(q, v)
        terms = robot.constraint_terms(q, v, at_rest, [constraint])
        gaps.append(np.abs(terms.displacement).max())
        energies.append(robot.kinetic_energy(q, v) + robot.potential_energy(q))
    return np.array(gaps), energies


@needs_llvmlite
def test_stabilization_over_a_minute():
    """C-086: without it the gap grows; Baumgarte's gains hold it; projection takes it away."""
    robot = four_bar(backend='native')
    dt, steps = 0.04, 250
    drifting = simulated(robot, cut(), dt, steps)[0]
    held = simulated(robot, cut(alpha=10.0, beta=10.0), dt, steps)[0]

    def project(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q = project_configuration(robot, q, cut())
        return q, project_velocity(robot, q, v, cut())

    projected, energies = simulated(robot, cut(), dt, 6 * steps, project)
    assert drifting[-1] > 1e-6
    assert drifting[-1] > 5 * drifting[len(drifting) // 10]
    assert held.max() < drifting[-1] / 5
    assert projected.max() <= 1e-12
    assert np.ptp(energies[:steps]) < 1e-2 * 60.0


# --- rolling --------------------------------------------------------------------------------------

RADIUS = 0.3


def unicycle(backend: str = 'reference') -> Robot:
    """Return a wheel on a fork that slides and turns on a plane."""
    Y = np.array([0.0, 1.0, 0.0])
    disk = Inertia(2.0, [0.02, 0.01, 0.0], np.diag([0.05, 0.09, 0.05]))
    fork = Inertia(1.0, [0.1, 0.03, 0.2], np.diag([0.02, 0.03, 0.04]))
    description = RobotDescription.from_parts(
        'unicycle',
        [Link('ground'), Link('fork', fork), Link('wheel', disk)],
        [
            Joint('plane', 'planar', 'ground', 'fork', at(0, 0, RADIUS), Z, FREE),
            Joint('axle', 'continuous', 'fork', 'wheel', np.eye(4), Y, FREE),
        ],
    )
    return Robot(description, backend=backend)


def rolling(**keywords: object) -> MotionConstraint:
    """Return: the wheel's material point at the point of contact, below the fork, is at rest."""
    A = np.eye(6)[:, [3, 4]]
    return MotionConstraint('wheel', A, expressed_in='fork', point=(0, 0, -RADIUS), **keywords)


def test_rolling_wheel_against_reduced_equations():
    """C-085, E-27: no slip, no work; Maggi's equations with v = B(q) (speed, yaw rate)."""
    robot = unicycle()
    q, u, tau = np.array([0.4, -0.3, 0.8, 2.0]), np.array([1.5, 0.7]), np.array([0, 0, 0.2, 1.0])

    def B(q: np.ndarray) -> np.ndarray:
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([[c, 0], [s, 0], [0, 1], [1 / RADIUS, 0]])

    v = B(q) @ u
    np.testing.assert_allclose(robot.constraint_terms(q, v, tau, [rolling()]).rate, 0, atol=1e-14)
    s, c = np.sin(q[2]), np.cos(q[2])
    dB_u = np.array([-s, c, 0, 0]) * u[0] * u[1]
    M, h = robot.mass_matrix(q), robot.inverse_dynamics(q, v, np.zeros(4))
    du = np.linalg.solve(B(q).T @ M @ B(q), B(q).T @ (tau - h - M @ dB_u))
    motion = robot.constrained_dynamics(q, v, tau, rolling())
    close(motion.a, B(q) @ du + dB_u, 1e-10)
    force = M @ motion.a + h - tau  # A lambda in joint space
    assert abs(force @ v) < 1e-12 * np.abs(force).max()
    assert np.abs(force).max() > 0.1


@needs_llvmlite
def test_rolling_for_ten_seconds():
    """C-085: energy changes by the work of the drive alone; slip stays below 1e-6."""
    robot = unicycle('native')
    tau = np.array([0.0, 0.0, 0.02, 0.01])
    q, v = np.zeros(4), np.array([0.3, 0.0, 0.5, 1.0])
    work, energy = 0.0, robot.kinetic_energy(q, v) + robot.potential_energy(q)
    constraint, space = rolling(alpha=5.0), ConfigurationSpace(robot)
    for _ in range(1000):
        start = v
        q, v = munthe_kaas_step(
            space,
            lambda t, q, v: (v, robot.constrained_dynamics(q, v, tau, constraint).a),
            q,
            v,
            0.01,
        )
        work += tau @ (start + v) / 2 * 0.01
        slip = robot.constraint_terms(q, v, tau, [constraint]).rate
        assert np.abs(slip).max() < 1e-6
    gained = robot.kinetic_energy(q, v) + robot.potential_energy(q) - energy
    assert gained == pytest.approx(work, rel=1e-4)
    assert abs(work) > 0.1
