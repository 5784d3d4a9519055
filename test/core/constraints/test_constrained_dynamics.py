# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Acceleration-constrained dynamics (C-070 to C-078) against dense equations.

`constraint_oracle` has the dense Karush-Kuhn-Tucker equations with bias terms by differences;
Pinocchio's `constraintDynamics` is the other oracle, in `test_pinocchio.py`. Golden case 8.3. Spec
tolerance: 1e-9.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracles.constraints import as_external, dense_kkt, jacobian_and_bias
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.constraints import equations
from screw_dynamics_ros.core.constraints.motion_constraint import (
    MotionConstraint,
    fixed_frame,
    fixed_point,
    sliding_frame,
)
from screw_dynamics_ros.core.errors import (
    ArgumentError,
    InfeasibleConstraintsError,
    UnknownNameError,
)
from support.compilation import BACKENDS, NATIVE
from support.models import random_configuration, random_description, random_unit
from support.planar_2r import planar_2r
from support.robots import urdf_path

REPRESENTATIONS = ('hybrid', 'body', 'spatial', 'mixed')

CASES = {
    'chain': (random_description(4, 8, chain=True), False),
    'tree, floating': (random_description(1, 9), True),
    'planar joint': (random_description(5, 7, ('planar', 'revolute', 'prismatic')), False),
    'mimic': (random_description(2, 10, ('revolute', 'prismatic', 'continuous'), mimic=3), True),
}


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-9) -> None:
    assert np.shape(actual) == np.shape(expected)
    assert np.abs(actual - expected).max() <= tolerance * max(np.abs(expected).max(), 1.0)


def state(robot: Robot, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return random_configuration(robot, rng), *rng.uniform(-2, 2, (2, robot.nv))


def on(link: str, m: int, seed: int, **keywords: object) -> MotionConstraint:
    """Return a constraint of m random directions at a random point."""
    rng = np.random.default_rng(seed)
    return MotionConstraint(
        link,
        rng.normal(size=(6, m)),
        rng.uniform(-3, 3, m),
        point=rng.uniform(-0.5, 0.5, 3),
        **keywords,
    )


@BACKENDS
def test_golden_case(backend):
    """C-071, C-072, 8.3: the tip has no vertical acceleration; the support force is 11.858 N up."""
    robot = Robot(planar_2r(), gravity=(0, -9.81, 0), backend=backend)
    q, v, tau = [0.3, 0.4], [0.5, -0.2], [1.0, 2.0]
    support = fixed_point('tip', [(0, 1, 0)])
    a, wrenches = motion = robot.constrained_dynamics(q, v, tau, support)
    np.testing.assert_allclose(a, [-10.051187672, 22.778160828], rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion.forces.multipliers, [11.858227541], rtol=0, atol=1e-8)
    terms = robot.constraint_terms(q, v, tau, [support])
    np.testing.assert_allclose(terms.inverse_inertia, [[0.639632147]], rtol=0, atol=1e-8)
    tip = robot.acceleration(q, v, a, 'tip')[3:]
    np.testing.assert_allclose(tip, [-5.536282073, 0, 0], rtol=0, atol=1e-8)
    force = robot.link_pose(q, 'tip')[:3, :3] @ wrenches[0, 3:]
    np.testing.assert_allclose(force, [0, 11.858227541, 0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(wrenches[0, :3], 0, atol=1e-12)
    assert motion.feasible
    assert motion.unique


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize('case', CASES)
def test_dense_equations(case, representation):
    """C-070, C-071, C-074, C-075: absolute and between links, not only at leaves."""
    description, floating = CASES[case]
    robot = Robot(description, floating_base=floating, backend='reference')
    links, r = robot.link_names, representation
    constraints = [
        on(links[-1], 2, 1, representation=r),
        on(links[-3], 1, 2, representation=r),
        on(links[-2], 1, 3, representation=r, other=links[3]),
        on(links[2], 1, 4, representation=r, other=links[-1]),
        on(links[-1], 1, 5, expressed_in=links[2]),
        on(links[-2], 1, 6, expressed_in=links[4], other=links[1]),
    ]
    q, v, tau = state(robot, 3)
    motion = robot.constrained_dynamics(q, v, tau, constraints)
    a, multipliers = dense_kkt(robot, q, v, tau, constraints)
    close(motion.a, a)
    close(motion.forces.multipliers, multipliers)
    external = as_external(robot, q, constraints, motion.wrenches)
    close(robot.forward_dynamics(q, v, tau, external), motion.a)
    assert motion.feasible
    assert motion.unique
    assert np.abs(motion.a - robot.forward_dynamics(q, v, tau)).max() > 0.1


@pytest.mark.parametrize('case', ['chain', 'tree, floating', 'planar joint'])
def test_formulations_agree(case):
    """C-071, C-082: the recursion without M and J, and M, J with a decomposition, same terms."""
    description, floating = CASES[case]
    robot = Robot(description, floating_base=floating, backend='reference')
    tree, (q, v, tau) = robot.tree, state(robot)
    constraints = [on(robot.link_names[-1], 3, 1), on('link2', 2, 2, other='link4')]
    moving = equations.motion(tree, q, v)
    rows = [equations.row(tree, moving, c.structure, c.parameters) for c in constraints]
    arguments = (tree, q, v, tau, robot.gravity, moving, rows)
    for x, y in zip(equations.recursive(*arguments)[:4], equations.dense(*arguments)[:4]):
        close(x, y)
    J, bias = jacobian_and_bias(robot, q, v, constraints)
    K = equations.recursive(*arguments)[1]
    close(K, np.linalg.solve(robot.mass_matrix(q), J.T))
    drift = equations.recursive(*arguments)[3]
    close(drift, J @ robot.forward_dynamics(q, v, tau) + bias)


@pytest.mark.parametrize(
    ('case', 'backend'),
    [pytest.param('chain', *NATIVE.values, marks=NATIVE.marks), ('mimic', 'python')],
)
def test_backends_and_stacks(case, backend):
    """Compiled for single samples and stacks; accelerations may differ from sample to sample."""
    description, floating = CASES[case]
    robot = Robot(description, floating_base=floating, backend=backend)
    reference = Robot(description, floating_base=floating, backend='reference')
    constraints = [on(robot.link_names[-1], 2, 1), on('link4', 1, 2, other='link1')]
    q, v, tau = (np.stack(x) for x in zip(*(state(robot, seed) for seed in range(3))))
    b = np.random.default_rng(0).normal(size=(3, 2))
    stack = robot.constrained_dynamics(
        q, v, tau, [replace(constraints[0], acceleration=b), constraints[1]]
    )
    assert stack.a.shape == (3, robot.nv)
    assert stack.wrenches.shape == (3, 2, 6)
    for k in range(3):
        one = [replace(constraints[0], acceleration=b[k]), constraints[1]]
        for compiled in (robot, reference):
            expected = compiled.constrained_dynamics(q[k], v[k], tau[k], one)
            close(stack.a[k], expected.a)
            close(stack.wrenches[k], expected.wrenches)


def test_builders():
    """C-070, (6.37) to (6.39), (6.45): what was prescribed is what happens."""
    robot = Robot.from_urdf(urdf_path('panda'), backend='reference')
    rng = np.random.default_rng(0)
    q = 0.5 * (robot.limits.lower + robot.limits.upper) + rng.uniform(-0.2, 0.2, robot.nv)
    v, tau = rng.uniform(-1, 1, (2, robot.nv))
    link, b = 'panda_hand', rng.normal(size=6)

    def achieved(constraint: MotionConstraint) -> np.ndarray:
        a = robot.constrained_dynamics(q, v, tau, constraint).a
        return robot.acceleration(q, v, a, link)

    close(achieved(fixed_frame(link, acceleration=b)), b)
    close(achieved(fixed_frame(link)), np.zeros(6))  # null space motion only
    close(achieved(fixed_point(link, acceleration=b[3:]))[3:], b[3:])
    close(achieved(fixed_point(link, [(1, 0, 0), (0, 1, 0)]))[3:5], np.zeros(2))
    along = random_unit(rng)
    slide = achieved(sliding_frame(link, along))
    close(slide[:3], np.zeros(3))
    close(np.cross(slide[3:], along), np.zeros(3))
    assert abs(slide[3:] @ along) > 0.1


def test_full_constraint_of_the_base_fixes_it():
    """C-077: a floating base held in all six directions moves like a fixed one."""
    description = random_description(6, 7)
    fixed = Robot(description, backend='reference')
    floating = Robot(description, floating_base=True, backend='reference')
    q, v, tau = state(fixed)
    q_f = np.concatenate([[0, 0, 0, 0, 0, 0, 1.0], q])
    zeros = np.zeros(6)
    motion = floating.constrained_dynamics(
        q_f, np.concatenate([zeros, v]), np.concatenate([zeros, tau]), fixed_frame('link0')
    )
    np.testing.assert_allclose(motion.a[:6], 0, atol=1e-12)
    close(motion.a[6:], fixed.forward_dynamics(q, v, tau), 1e-10)
    # C-075: the wrench that holds the base is what inverse dynamics finds there
    tau_base = floating.inverse_dynamics(
        q_f, np.concatenate([zeros, v]), np.concatenate([zeros, motion.a[6:]])
    )[:6]
    close(motion.wrenches[0], tau_base, 1e-10)


def test_momentum_of_a_floating_base_without_wrenches():
    """C-075: internal constraints change neither momentum nor its rate, to 1e-12."""
    robot = Robot(
        random_description(7, 8), floating_base=True, gravity=(0, 0, 0), backend='reference'
    )
    q, v, tau = state(robot)
    tau[:6] = 0
    a, _ = robot.constrained_dynamics(q, v, tau, on('link8', 2, 0, other='link3'))
    residual = robot.inverse_dynamics(q, v, a)[:6]  # the wrench on the base
    np.testing.assert_allclose(residual, 0, atol=1e-12)


def test_gains_and_target():
    """C-086: A^T V' = b - 2 alpha A^T V - beta^2 (displacement), displacement in the other link."""
    robot = Robot(random_description(1, 9), backend='reference')
    q, v, tau = state(robot)
    target = np.eye(4)
    target[:3, 3] = 0.3, -0.2, 0.5
    b = np.array([1.0, -2.0, 3.0])
    hold = fixed_point('link9', acceleration=b, other='link3', target=target, alpha=3.0, beta=7.0)
    a, _ = robot.constrained_dynamics(q, v, tau, hold)
    J, bias = jacobian_and_bias(robot, q, v, [hold])
    relative = np.linalg.inv(robot.link_pose(q, 'link3')) @ robot.link_pose(q, 'link9')
    displacement = relative[:3, 3] - target[:3, 3]
    close(J @ a + bias, b - 6.0 * J @ v - 49.0 * displacement)


def test_external_wrenches():
    robot = Robot(random_description(1, 9), backend='reference')
    q, v, tau = state(robot)
    W = {'link5': np.arange(6.0), 'link9': -np.ones(6)}
    hold = on('link9', 2, 0)
    a, wrenches = robot.constrained_dynamics(q, v, tau, hold, W)
    W['link9'] = W['link9'] + wrenches[0]
    close(robot.forward_dynamics(q, v, tau, W), a)


# --- redundant and contradicting constraints ------------------------------------------------------


def test_redundant_constraints_have_least_norm_wrenches():
    """C-073: the same point held twice: same motion, each constraint bears half, flagged."""
    robot = Robot(random_description(1, 9), backend='reference')
    q, v, tau = state(robot)
    hold = on('link9', 2, 0)
    once = robot.constrained_dynamics(q, v, tau, hold)
    twice = robot.constrained_dynamics(q, v, tau, [hold, hold])
    assert once.unique
    assert twice.feasible
    assert not twice.unique
    assert twice.forces.rank == 2
    close(twice.a, once.a)
    close(twice.wrenches, np.stack([once.wrenches[0] / 2] * 2), 1e-8)


def test_contradicting_constraints():
    """C-073: more directions than joints: a named error, or the smallest violation, flagged."""
    robot = Robot(planar_2r(), backend='reference')
    q, v, tau = np.array([0.3, 0.4]), np.array([0.5, -0.2]), np.array([1.0, 2.0])
    wanted = np.array([0.7, 1.0, -2.0])
    A = np.zeros((6, 3))
    A[2, 0] = A[3, 1] = A[4, 2] = 1.0
    held = MotionConstraint('tip', A, wanted, name='the tip')
    with pytest.raises(InfeasibleConstraintsError, match='3 directions, 2 independent; the tip'):
        robot.constrained_dynamics(q, v, tau, held)
    motion = robot.constrained_dynamics(q, v, tau, held, least_norm=True)
    assert not motion.feasible
    assert motion.forces.rank == 2
    J, bias = jacobian_and_bias(robot, q, v, [held])
    error = J @ motion.a + bias - wanted
    close(motion.forces.error, error)
    # smallest in the norm sum error^2 / inverse inertia: orthogonal to all possible rates
    W = J @ np.linalg.solve(robot.mass_matrix(q), J.T)
    np.testing.assert_allclose(J.T @ (error / np.diag(W)), 0, atol=1e-8)
    close(robot.forward_dynamics(q, v, tau, {'tip': motion.wrenches[0]}), motion.a)


def test_the_constraints_in_conflict_are_named():
    """C-073: two accelerations of one point; a third constraint has nothing to do with it."""
    robot = Robot(random_description(1, 9), floating_base=True, backend='reference')
    q, v, tau = state(robot)
    constraints = [
        fixed_point('link9', name='left'),
        fixed_point('link4', name='bystander'),
        fixed_point('link9', acceleration=[0, 0, 1.0], name='right'),
    ]
    with pytest.raises(InfeasibleConstraintsError) as error:
        robot.constrained_dynamics(q, v, tau, constraints)
    assert 'left misses 0.5; right misses 0.5' in str(error.value)
    assert 'bystander' not in str(error.value)
    motion = robot.constrained_dynamics(q, v, tau, constraints, least_norm=True)
    assert motion.forces.conflicting.tolist() == [False, False, True] + [False] * 5 + [True]


def test_conflicts_in_a_stack():
    """The sample is named; asked for, all samples come back, each with its own report."""
    robot = Robot(planar_2r(), gravity=(0, 0, 0), backend='reference')
    q, rest = np.array([[0.3, 0.4], [0.2, 0.0], [0.1, 0.9]]), np.zeros((3, 2))
    along = fixed_point('tip', [(np.cos(0.2), np.sin(0.2), 0)], acceleration=1.0, name='pull')
    with pytest.raises(InfeasibleConstraintsError, match=r'sample 1 of 3.*pull misses 1 '):
        robot.constrained_dynamics(q, rest, rest, along)
    motion = robot.constrained_dynamics(q, rest, rest, along, least_norm=True)
    assert motion.forces.conflicting.tolist() == [[False], [True], [False]]
    assert motion.forces.rank.tolist() == [1, 0, 1]
    np.testing.assert_allclose(motion.forces.error, [[0], [-1], [0]], atol=1e-9)


def test_a_link_that_cannot_move():
    """A constraint on the base of a fixed robot: fulfilled, or impossible."""
    robot = Robot(planar_2r(), backend='reference')
    q, v, tau = [0.3, 0.4], [0.5, -0.2], [1.0, 2.0]
    motion = robot.constrained_dynamics(q, v, tau, fixed_frame('base'))
    close(motion.a, robot.forward_dynamics(q, v, tau))
    assert motion.forces.rank == 0
    assert not motion.unique
    with pytest.raises(InfeasibleConstraintsError, match="'base' misses 1"):
        robot.constrained_dynamics(q, v, tau, fixed_frame('base', acceleration=[0] * 5 + [1]))


def test_singular_pose():
    """C-073: a stretched arm cannot push itself out along its length; sideways it can."""
    robot = Robot(planar_2r(), gravity=(0, 0, 0), backend='reference')
    q, rest = [0.0, 0.0], [0.0, 0.0]
    along, across = fixed_point('tip', [(1, 0, 0)]), fixed_point('tip', [(0, 1, 0)])
    assert robot.constrained_dynamics(q, rest, rest, [along, across]).forces.rank == 1
    with pytest.raises(InfeasibleConstraintsError):
        robot.constrained_dynamics(q, rest, rest, replace(along, acceleration=1.0))
    a, _ = robot.constrained_dynamics(q, rest, rest, replace(across, acceleration=1.0))
    np.testing.assert_allclose(robot.acceleration(q, rest, a, 'tip')[4], 1.0, atol=1e-12)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('arguments', 'error', 'text'),
    [
        ({'link': 'link9', 'wrenches': np.eye(3)}, ArgumentError, r'must have shape \(6, m\)'),
        (
            {'link': 'link9', 'wrenches': np.eye(6), 'acceleration': [1, 2]},
            ArgumentError,
            r'shape \(6,\)',
        ),
        ({'link': 'link9', 'wrenches': np.eye(6), 'point': [1, 2]}, ArgumentError, 'point must'),
        ({'link': 'link9', 'wrenches': np.eye(6), 'alpha': -1.0}, ArgumentError, 'alpha must'),
        (
            {'link': 'link9', 'wrenches': np.eye(6), 'compliance': np.nan},
            ArgumentError,
            'compliance must',
        ),
        ({'link': 'link9', 'wrenches': np.eye(6), 'beta': 1.0}, ArgumentError, 'needs a target'),
        (
            {'link': 'link9', 'wrenches': np.eye(6), 'target': np.eye(3)},
            ArgumentError,
            'target must',
        ),
        (
            {'link': 'link9', 'wrenches': np.eye(6), 'target': 2 * np.eye(4)},
            ArgumentError,
            'target must',
        ),
        ({'link': 'link9', 'wrenches': 'x'}, ArgumentError, 'real numbers'),
        ({'link': 'link9', 'wrenches': np.eye(6), 'representation': 'x'}, UnknownNameError, "'x'"),
        ({'link': 'tool', 'wrenches': np.eye(6)}, UnknownNameError, "no link named 'tool'"),
        ({'link': 'link9', 'wrenches': np.eye(6), 'other': 'tool'}, UnknownNameError, 'tool'),
    ],
)
def test_bad_constraints(arguments, error, text):
    robot = Robot(random_description(1, 9), backend='reference')
    with pytest.raises(error, match=text):
        robot.constrained_dynamics(*state(robot), MotionConstraint(**arguments))


def test_bad_arguments():
    robot = Robot(random_description(1, 9), backend='reference')
    q, v, tau = state(robot)
    with pytest.raises(ArgumentError, match=r'v must have shape'):
        robot.constrained_dynamics(q, v[:2], tau, fixed_frame('link9'))
    with pytest.raises(ArgumentError, match='no constraints'):
        robot.constrained_dynamics(q, v, tau, [])
    with pytest.raises(ArgumentError, match='MotionConstraint'):
        robot.constrained_dynamics(q, v, tau, ['link9'])
    stacked = MotionConstraint('link9', np.eye(6)[:, :2], np.zeros((4, 2)))
    with pytest.raises(ArgumentError, match='stack'):
        robot.constrained_dynamics(q, v, tau, stacked)


@pytest.mark.parametrize('backend', [NATIVE, 'reference'])
def test_nan_in_gives_nan_out(backend):
    """One bad sample of a stack leaves the others alone; nothing is raised for it."""
    robot = Robot(random_description(1, 5), backend=backend)
    q, v, tau = (np.stack(x) for x in zip(*(state(robot, seed) for seed in range(3))))
    hold = on('link5', 2, 0)
    expected = robot.constrained_dynamics(q, v, tau, hold)
    v[1, 0] = np.nan
    motion = robot.constrained_dynamics(q, v, tau, hold)
    assert np.isnan(motion.a[1]).all()
    assert np.isnan(motion.wrenches[1]).any()
    close(motion.a[[0, 2]], expected.a[[0, 2]])
    close(motion.wrenches[[0, 2]], expected.wrenches[[0, 2]])
    assert np.isnan(robot.constrained_dynamics(q[1], v[1], tau[1], hold).a).all()
