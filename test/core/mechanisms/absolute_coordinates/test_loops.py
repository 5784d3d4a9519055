# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loops: redundant constraints, singular ones, projection and stabilization."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import InfeasibleConstraintsError
from screw_dynamics_ros.core.integration import RungeKutta
from screw_dynamics_ros.core.lie import se3, so3
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    GROUND,
    REVOLUTE,
    SE3,
    AbsoluteBody,
    AbsoluteSystem,
    ConstraintJoint,
    SO3xR3,
    Stabilization,
    frame,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.constraint_projection import (
    consistent_velocity,
    project_configuration,
    project_velocity,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    EXAMPLES,
    box,
    double_pendulum,
    heavy_top,
)

NONE = Stabilization()
CRANK, COUPLER, ROCKER, BASE = 0.2, 0.5, 0.4, 0.5


def four_bar(
    angle: float = 1.0, stabilization: Stabilization = NONE, groups: str = SE3
) -> AbsoluteSystem:
    """Return a planar four-bar linkage of revolute joints, closed, the crank at `angle`."""
    P = CRANK * np.array([np.cos(angle), np.sin(angle)])
    to_base = np.array([BASE, 0.0]) - P
    d = np.linalg.norm(to_base)
    inner = np.arccos((COUPLER**2 + d**2 - ROCKER**2) / (2 * COUPLER * d))
    beta = np.arctan2(to_base[1], to_base[0]) + inner
    Q = P + COUPLER * np.array([np.cos(beta), np.sin(beta)])
    gamma = np.arctan2(-Q[1], BASE - Q[0])
    angles, starts = (angle, beta, gamma), ((0.0, 0.0), P, Q)
    lengths = (CRANK, COUPLER, ROCKER)
    bodies = [
        AbsoluteBody(name, box((length, 0.03, 0.02)), groups)
        for name, length in zip(('crank', 'coupler', 'rocker'), lengths)
    ]
    poses = {}
    for body, a, start, length in zip(bodies, angles, starts, lengths):
        R = so3.exp([0, 0, a])
        poses[body.name] = se3.pose(R, np.append(start, 0.0) + R @ [length / 2, 0, 0])
    halves = [np.array([length / 2, 0, 0]) for length in lengths]
    joints = [
        ConstraintJoint('A', REVOLUTE, GROUND, 'crank', frame(), frame(-halves[0])),
        ConstraintJoint('B', REVOLUTE, 'crank', 'coupler', frame(halves[0]), frame(-halves[1])),
        ConstraintJoint('C', REVOLUTE, 'coupler', 'rocker', frame(halves[1]), frame(-halves[2])),
        ConstraintJoint('D', REVOLUTE, GROUND, 'rocker', frame([BASE, 0, 0]), frame(halves[2])),
    ]
    q = AbsoluteSystem(bodies, backend='sparse').configuration_of(poses)
    return AbsoluteSystem(
        bodies, joints, configuration=q, gravity=(0, -9.81, 0), stabilization=stabilization
    )


def test_redundant_constraints_are_found_and_named() -> None:
    """A planar four-bar bears 3 of its 20 constraints twice, in the last joint (I-29)."""
    system = four_bar()
    assert system.constraint_count == 17
    assert system.redundant == ('D: rotation about x', 'D: rotation about y', 'D: shift along z')
    J = system.constraint_jacobian(system.configuration).toarray()
    assert np.linalg.matrix_rank(J) == 17
    assert max(x.gap for x in system.violation(system.configuration, np.zeros(18)).values()) < 1e-15


def test_four_bar_runs_with_closed_joints() -> None:
    """20 s with stabilization: no gap above 1e-6, the redundant constraints included (I-44)."""
    system = four_bar(stabilization=Stabilization(20.0, 20.0))
    q = system.configuration
    v = consistent_velocity(system, q, {'crank': np.array([0, 0, 6.0])})
    integrator, E = RungeKutta(system), system.energy(q, v).total
    worst = 0.0
    for step in range(5000):
        q, v = integrator.step(q, v, np.zeros(18), 0.004)
        if step % 50 == 0:
            worst = max(worst, *(x.gap for x in system.violation(q, v).values()))
    assert worst < 1e-6
    assert abs(system.energy(q, v).total - E) < 0.05 * system.energy(q, v).kinetic


def test_crank_speed_of_the_four_bar() -> None:
    """The rate of the rocker is that of the loop equations (an independent closed form)."""
    system = four_bar(0.7)
    q = system.configuration
    v = consistent_velocity(system, q, {'crank': np.array([0, 0, 2.0])})
    angles = [np.arctan2(C[1, 0], C[0, 0]) for C in system.poses(q).values()]
    a, b, c = angles
    expected = 2.0 * CRANK * np.sin(a - b) / (ROCKER * np.sin(b - c))
    assert v[14] == pytest.approx(expected, rel=1e-10)


def test_singular_loop_is_refused() -> None:
    """Three bars stretched along one line may fold to both sides: no unique motion."""
    half = np.array([0.1, 0, 0])
    bodies = [AbsoluteBody(name, box((0.2, 0.1, 0.05))) for name in 'ab']
    joints = [
        ConstraintJoint('1', REVOLUTE, GROUND, 'a', frame(), frame(-half)),
        ConstraintJoint('2', REVOLUTE, 'a', 'b', frame(half), frame(-half)),
        ConstraintJoint('3', REVOLUTE, GROUND, 'b', frame([0.4, 0, 0]), frame(half)),
    ]
    q = np.array([0.1, 0, 0, 0, 0, 0, 1, 0.3, 0, 0, 0, 0, 0, 1])
    with pytest.raises(InfeasibleConstraintsError, match='singular'):
        AbsoluteSystem(bodies, joints, configuration=q)


def test_over_constrained_loop_is_refused() -> None:
    """A ground joint out of reach names the joint that stays open."""
    system = four_bar()
    joints = [*system.joints[:3]]
    last = system.joints[3]
    joints.append(
        ConstraintJoint('D', REVOLUTE, GROUND, 'rocker', frame([2.0, 0, 0]), last.child_frame)
    )
    apart = AbsoluteSystem(system.bodies, joints, configuration=system.configuration)
    with pytest.raises(InfeasibleConstraintsError, match=r"joint '[A-D]' is open by"):
        project_configuration(apart, apart.configuration)


@pytest.mark.parametrize('name', EXAMPLES)
def test_initial_velocities_follow_from_the_angular_ones(name: str) -> None:
    """|J v0| < 1e-13 and v0 as the paper has it (I-31)."""
    for group in (SE3, SO3xR3):
        example = EXAMPLES[name]([group] * (1 if name == 'heavy_top' else 2))
        system, q, v = example
        assert np.abs(system.constraint_jacobian(q) @ v).max() < 1e-13
        omega = {body: v[place][:3] for body, place in system.free_bodies.items()}
        np.testing.assert_allclose(consistent_velocity(system, q, omega), v, atol=1e-12)


def test_velocities_that_no_joint_admits() -> None:
    """Angular velocities against the joints are refused."""
    system = four_bar()
    with pytest.raises(InfeasibleConstraintsError, match='crank'):
        consistent_velocity(system, system.configuration, {'crank': np.array([1.0, 0, 0])})


@pytest.mark.parametrize('groups', [(SE3, SE3), (SO3xR3, SO3xR3), (SE3, SO3xR3)])
def test_projection_closes_the_joints(groups: tuple[str, str]) -> None:
    """|g| < 1e-13 and |J v| at rounding, from a state that has drifted (I-44)."""
    system, q, v = double_pendulum(groups)
    rng = np.random.default_rng(1)
    q = system.integrate(q, 0.05 * rng.normal(size=12))
    q = project_configuration(system, q)
    assert np.abs(system.constraint_residuals(q)).max() < 1e-13
    v = project_velocity(system, q, v + rng.normal(size=12))
    assert np.abs(system.constraint_jacobian(q) @ v).max() < 1e-13


def test_projection_takes_the_shortest_way() -> None:
    """To first order the displacement has no part along the constraints: x^T M k = 0, J k = 0."""
    system, q, _ = heavy_top()
    rng = np.random.default_rng(2)
    away = system.integrate(q, 1e-5 * rng.normal(size=6))
    back = project_configuration(system, away)
    J = system.constraint_jacobian(back).toarray()
    free = np.linalg.svd(J)[2][3:]
    C0, C1 = (system.poses(x)['top'] for x in (away, back))
    x = se3.log(se3.inverse(C0) @ C1)
    assert np.abs(free @ system.mass_matrix(q) @ x).max() < 1e-7 * np.abs(x).max() * 21.6
