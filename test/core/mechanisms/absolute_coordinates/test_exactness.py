# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which joints are kept exactly: prediction and measurement (I-15, I-16, I-33, I-45)."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.integration import RK4, RungeKutta, Tableau
from screw_dynamics_ros.core.mechanisms.absolute_coordinates import (
    GROUND,
    SE3,
    SPHERICAL,
    AbsoluteBody,
    AbsoluteSystem,
    ConstraintJoint,
    LowerPair,
    SO3xR3,
    frame,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.constraint_projection import (
    project_velocity,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.exactness import (
    choose_groups,
    exactness,
)
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.example_systems import (
    double_pendulum,
    floating_pair,
    three_bar_linkage,
)
from screw_dynamics_ros.core.types import Array
from support.jointed_bodies import LOWER_PAIRS, random_inertia, random_pose


def worst_gap(
    system: AbsoluteSystem, q: Array, v: Array, tableau: Tableau = RK4, steps: int = 12
) -> float:
    """Return the largest violation within some steps of 5 ms."""
    integrator, tau, worst = RungeKutta(system, tableau), np.zeros(system.nv), 0.0
    for _ in range(steps):
        q, v = integrator.step(q, v, tau, 0.005)
        worst = max(worst, float(np.abs(system.constraint_residuals(q)).max()))
    return worst


@pytest.mark.parametrize('pair', LOWER_PAIRS, ids=lambda pair: pair.name)
def test_axis_through_the_origin_of_the_frame(pair: LowerPair) -> None:
    """Then SO(3) x R^3 is exact, too, wherever the center of mass is (spec 6, 9.4)."""
    rng = np.random.default_rng(12)
    C = random_pose(rng)
    S_j = np.eye(4)
    S_j[:3, :3] = random_pose(rng)[:3, :3]
    body = AbsoluteBody('body', random_inertia(rng), SO3xR3)
    joint = ConstraintJoint('joint', pair, GROUND, 'body', C @ S_j, S_j)
    q = AbsoluteSystem([body], backend='sparse').configuration_of({'body': C})
    system = AbsoluteSystem([body], [joint], configuration=q, backend='sparse')
    assert exactness(system)['joint'].exact
    v = project_velocity(system, q, rng.normal(size=6))
    assert worst_gap(system, q, 3 * v) <= 1e-12


def test_two_points_that_coincide_in_both_frames() -> None:
    """A spherical joint in the origins of both frames keeps r_i = r_j: a subgroup."""
    rng = np.random.default_rng(14)
    bodies = [AbsoluteBody(name, random_inertia(rng), SO3xR3) for name in 'ab']
    system = AbsoluteSystem(bodies, [ConstraintJoint('joint', SPHERICAL, 'a', 'b')])
    assert exactness(system)['joint'].exact
    v = project_velocity(system, system.configuration, rng.normal(size=12))
    assert worst_gap(system, system.configuration, 3 * v) <= 1e-12


def test_choice_of_groups() -> None:
    """Bodies on the ground in SE(3), others in SO(3) x R^3 (I-16)."""
    for make, expected in (
        (double_pendulum, (SE3, SO3xR3)),
        (three_bar_linkage, (SE3, SE3)),
        (floating_pair, (SO3xR3, SO3xR3)),
    ):
        system = make().system
        chosen = choose_groups(system.bodies, system.joints)
        assert tuple(body.group for body in chosen) == expected


@pytest.mark.parametrize('group', [SE3, SO3xR3])
def test_choice_of_the_body_frame(group: str) -> None:
    """SE(3) gives one motion for every frame on the body, SO(3) x R^3 does not (I-45)."""
    paths = []
    for offset in (np.zeros(3), np.array([0.2, 0.1, -0.3])):
        rng = np.random.default_rng(15)
        inertia = random_inertia(rng)
        moved = type(inertia)(inertia.mass, inertia.com - offset, inertia.matrix)
        body = AbsoluteBody('top', moved, group)
        joint = ConstraintJoint('pivot', SPHERICAL, GROUND, 'top', frame(), frame(-offset))
        q = np.append(offset, [0, 0, 0, 1])
        system = AbsoluteSystem([body], [joint], configuration=q)
        omega = np.array([3.0, 2.0, 8.0])
        v = np.append(omega, np.cross(omega, offset))
        path, integrator = [], RungeKutta(system)
        for _ in range(100):
            q, v = integrator.step(q, v, np.zeros(6), 0.01)
            C = system.poses(q)['top']
            path.append(C[:3, :3] @ moved.com + C[:3, 3])
        paths.append(np.array(path))
    difference = np.abs(paths[0] - paths[1]).max()
    assert difference < 1e-8 if group == SE3 else difference > 1e-7
