# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inequality constraints, friction pyramids and soft constraints (C-080, C-081).

The oracle for contacts is enumeration: of all choices which of them press, the one that is
consistent, each solved as equality constraints.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from oracles.constraints import jacobian_and_bias, solve_kkt
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.constraints.motion_constraint import (
    MotionConstraint,
    fixed_point,
    friction_pyramid,
    sliding_frame,
)
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.errors import ArgumentError, InfeasibleConstraintsError
from support.compilation import close, needs_llvmlite
from support.models import random_configuration, random_description

UP = (0.0, 0.0, 1.0)


def state(robot: Robot, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return random_configuration(robot, rng), *rng.uniform(-2, 2, (2, robot.nv))


def contact(link: str, seed: int = 0, **keywords: object) -> MotionConstraint:
    point = np.random.default_rng(seed).uniform(-0.3, 0.3, 3)
    return fixed_point(link, [UP], point=point, unilateral=True, **keywords)


@pytest.mark.parametrize('seed', range(6))
def test_against_all_choices_of_pressing_contacts(seed):
    """C-080: y >= 0, lambda >= 0, y lambda = 0, next to bilateral constraints."""
    robot = Robot(random_description(seed, 8), floating_base=True, backend='reference')
    q, v, tau = state(robot, seed)
    rng = np.random.default_rng(seed)
    contacts = [
        contact(f'link{k}', k, acceleration=float(rng.uniform(-9, 9))) for k in (3, 5, 7, 8)
    ]
    hold = fixed_point('link8', [(1, 0, 0)], other='link4')
    motion = robot.constrained_dynamics(q, v, tau, [hold, *contacts])

    J, bias = jacobian_and_bias(robot, q, v, [hold, *contacts])
    wanted = np.concatenate([c.acceleration for c in [hold, *contacts]]) - bias
    M, h = robot.mass_matrix(q), robot.inverse_dynamics(q, v, np.zeros_like(v))
    consistent = []
    for pressing in product([False, True], repeat=len(contacts)):
        chosen = np.array([True, *pressing])
        a, multipliers = solve_kkt(M, h, tau, J[chosen], wanted[chosen])
        y = (J @ a - wanted)[1:]
        if (multipliers[1:] >= 0).all() and (y >= -1e-9).all():
            consistent.append((a, pressing))
    assert len(consistent) == 1
    a, pressing = consistent[0]
    close(motion.a, a, 1e-9)
    np.testing.assert_array_equal(motion.forces.multipliers[1:] > 1e-12, pressing)
    assert motion.feasible


def test_the_cases_above_have_contacts_of_both_kinds():
    pressed = []
    for seed in range(6):
        robot = Robot(random_description(seed, 8), floating_base=True, backend='reference')
        rng = np.random.default_rng(seed)
        cs = [contact(f'link{k}', k, acceleration=float(rng.uniform(-9, 9))) for k in (3, 5, 7, 8)]
        forces = robot.constrained_dynamics(*state(robot, seed), cs).forces
        pressed += (forces.multipliers > 1e-9).tolist()
    assert 4 < sum(pressed) < len(pressed) - 4


def test_contacts_that_cannot_all_be_pushed_away():
    """Two opposite walls on one point: neither acceleration can be had."""
    robot = Robot(random_description(1, 8), backend='reference')
    q, v, tau = state(robot, 1)
    floor = contact('link8', acceleration=1.0, name='floor')
    ceiling = replace(floor, wrenches=-floor.wrenches, name='ceiling')
    with pytest.raises(InfeasibleConstraintsError, match='floor misses 1; ceiling misses 1'):
        robot.constrained_dynamics(q, v, tau, [floor, ceiling])
    gap = [replace(floor, acceleration=-5.0), replace(ceiling, acceleration=-5.0)]
    assert robot.constrained_dynamics(q, v, tau, gap).feasible


def test_stacks_of_contacts():
    robot = Robot(random_description(2, 8), backend='reference')
    q, v, tau = (np.stack(x) for x in zip(*(state(robot, seed) for seed in range(4))))
    v[2, 0] = np.nan
    cs = [contact('link8'), contact('link5')]
    stack = robot.constrained_dynamics(q, v, tau, cs)
    for k in (0, 1, 3):
        close(stack.a[k], robot.constrained_dynamics(q[k], v[k], tau[k], cs).a)
    assert np.isnan(stack.a[2]).all()


# --- friction -------------------------------------------------------------------------------------


def block(mass: float = 2.0) -> Robot:
    inertia = Inertia(mass, [0.0, 0.0, 0.0], 0.1 * np.eye(3))
    description = RobotDescription.from_parts('block', [Link('block', inertia)], [])
    return Robot(description, floating_base=True, backend='reference')


@pytest.mark.parametrize(('push', 'sticks'), [(5.0, True), (9.0, True), (11.0, False)])
def test_block_on_a_plane(push, sticks):
    """C-080: friction 0.5, weight 19.62 N: it sticks below 9.81 N, then slides."""
    robot = block()
    q, rest = np.array([0, 0, 0, 0, 0, 0, 1.0]), np.zeros(6)
    pyramid = friction_pyramid('block', UP, 0.5)
    pushed = {'block': [0, 0, 0, push, 0, 0]}
    motion = robot.constrained_dynamics(q, rest, rest, pyramid, pushed)
    force = motion.wrenches[0, 3:]
    assert force[2] >= 0
    assert abs(force[0]) <= 0.5 * force[2] * (1 + 1e-9)
    assert (motion.forces.multipliers >= 0).all()
    if sticks:
        np.testing.assert_allclose(motion.a, 0, atol=1e-9)
        np.testing.assert_allclose(force, [-push, 0, 19.62], atol=1e-9)
    else:
        assert motion.a[3] > 0
        assert force[0] == pytest.approx(-0.5 * force[2])
    lifted = robot.constrained_dynamics(q, rest, rest, pyramid, {'block': [0, 0, 0, 0, 0, 30.0]})
    np.testing.assert_allclose(lifted.wrenches, 0, atol=1e-12)
    with pytest.raises(ArgumentError, match='normal must be a finite vector'):
        friction_pyramid('block', (0, 0, 0), 0.5)
    with pytest.raises(ArgumentError, match='direction must be a finite vector'):
        sliding_frame('block', (0, np.nan, 0))
    with pytest.raises(ArgumentError, match='coefficient'):
        friction_pyramid('block', UP, -0.1)


# --- soft constraints -----------------------------------------------------------------------------


def test_compliance_tends_to_the_rigid_solution():
    """C-081: eps -> 0; the difference goes down with eps."""
    robot = Robot(random_description(1, 9), backend='reference')
    q, v, tau = state(robot, 0)
    hold = fixed_point('link9', acceleration=[1.0, 2.0, 3.0])
    rigid = robot.constrained_dynamics(q, v, tau, hold).a
    errors = [
        np.abs(robot.constrained_dynamics(q, v, tau, replace(hold, compliance=e)).a - rigid).max()
        for e in (1e-2, 1e-4, 1e-6, 1e-8)
    ]
    for coarse, fine in pairwise(errors):
        assert fine < coarse / 50
    assert errors[-1] < 1e-5


def test_compliance_resolves_conflicts():
    """C-081: two soft wishes for one point meet in the middle, the stiffer one nearer."""
    robot = block(1.0)
    robot.gravity = (0, 0, 0)
    q, rest = np.array([0, 0, 0, 0, 0, 0, 1.0]), np.zeros(6)
    left = fixed_point('block', [(1, 0, 0)], acceleration=-1.0, compliance=1e-3)
    right = fixed_point('block', [(1, 0, 0)], acceleration=2.0, compliance=2e-3)
    a = robot.constrained_dynamics(q, rest, rest, [left, right]).a[3]
    assert a == pytest.approx((-1 / 1e-3 + 2 / 2e-3) / (1 + 1 / 1e-3 + 1 / 2e-3))


def test_a_soft_constraint_is_a_spring_with_a_damper():
    """C-081: stiffness beta^2 / eps, damping 2 alpha / eps, with the mass in series."""
    robot = block(1.0)
    robot.gravity = (0, 0, 0)
    x, rate, k, d, eps = 0.1, -0.3, 50.0, 4.0, 1e6
    q, v = np.array([x, 0, 0, 0, 0, 0, 1.0]), np.array([0, 0, 0, rate, 0, 0])
    spring = fixed_point(
        'block',
        [(1, 0, 0)],
        target=np.eye(4),
        compliance=eps,
        alpha=d * eps / 2,
        beta=np.sqrt(k * eps),
    )
    force = robot.constrained_dynamics(q, v, np.zeros(6), spring).wrenches[0, 3]
    assert force == pytest.approx(-(k * x + d * rate), rel=1e-5)


# --- a chain falls on a plane ---------------------------------------------------------------------


def hanging_chain(backend: str) -> Robot:
    """Return four rods hinged about y; the first can slide up and down, too."""
    down = np.eye(4)
    down[:3, 3] = 0.0, 0.0, -0.3
    rod = Inertia(0.5, [0.0, 0.0, -0.15], np.diag([0.004, 0.004, 0.0005]))
    free, y = Limits(-np.inf, np.inf, np.inf, np.inf), np.array([0.0, 1.0, 0.0])
    links = [Link('world')] + [Link(f'rod{k}', rod) for k in range(4)]
    joints = [Joint('lift', 'prismatic', 'world', 'rod0', np.eye(4), np.array([0, 0, 1.0]), free)]
    joints += [
        Joint(f'hinge{k}', 'continuous', f'rod{k - 1}', f'rod{k}', down, y, free)
        for k in range(1, 4)
    ]
    return Robot(RobotDescription.from_parts('chain', links, joints), backend=backend)


@needs_llvmlite
def test_falling_chain():
    """C-080, C-081: ends of rods meet a plane softly, never pulled, no deeper than speed allows."""
    robot = hanging_chain('native')
    plane = np.eye(4)
    plane[2, 3] = -1.0
    soft = {'alpha': 40.0, 'beta': 60.0, 'compliance': 0.05, 'target': plane}
    contacts = [
        fixed_point(f'rod{k}', [UP], point=(0, 0, -0.3), unilateral=True, **soft) for k in range(4)
    ]
    q, v, dt = np.array([0.6, 0.4, -0.8, 0.9]), np.zeros(4), 1e-3
    friction, gravity_work = 0.2, robot.potential_energy(q)
    deepest, pressed = 0.0, 0
    for _ in range(2000):
        rest = -friction * v
        gaps = robot.constraint_terms(q, v, rest, contacts).displacement
        touching = [c for c, gap in zip(contacts, gaps) if gap <= 0.0]
        deepest = min(deepest, gaps.min())
        if touching:
            motion = robot.constrained_dynamics(q, v, rest, touching)
            assert (motion.forces.multipliers >= 0.0).all()
            pressed += int((motion.forces.multipliers > 0).any())
            a = motion.a
        else:
            a = robot.forward_dynamics(q, v, rest)
        v = v + dt * a
        q = q + dt * v
    assert pressed > 200
    assert -0.08 < deepest < 0.0
    static = 2.0 * 9.81 * 0.05 / 60.0**2
    assert gaps.min() > -3 * static  # it has come to rest on the plane
    assert robot.kinetic_energy(q, v) < 0.05 * gravity_work
