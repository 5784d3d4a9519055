# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hybrid dynamics: each joint given by motion or torque (C-060, C-066; D-38).

The oracle is inverse dynamics, tested against Lagrange's equations and Pinocchio elsewhere, and the
dense partition of M a + h = tau with Pinocchio's M and h.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot, ScrewDynamicsError
from screw_dynamics_ros.core.compile.kernels import KernelSpecification
from screw_dynamics_ros.core.constraints.constrained_dynamics import specification
from screw_dynamics_ros.core.constraints.motion_constraint import MotionConstraint
from screw_dynamics_ros.core.description import Inertia, Joint, Limits, Link, RobotDescription
from screw_dynamics_ros.core.dynamics import forward_dynamics
from screw_dynamics_ros.core.errors import ArgumentError, InertiaError, UnknownNameError
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.compilation import BACKENDS, NATIVE
from support.models import random_configuration, random_description, random_wrenches
from support.robots import urdf_path

CASES = {
    'tree': (random_description(1, 8), False),
    'planar, floating': (random_description(3, 5, ('planar', 'revolute', 'floating')), True),
    'ball': (random_description(4, 4, ('ball', 'revolute')), True),
    'mimic': (random_description(2, 8, ('revolute', 'prismatic', 'continuous'), mimic=3), False),
}


def state(robot: Robot, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    q = random_configuration(robot, rng)
    return q, *rng.uniform(-2, 2, (3, robot.nv))


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-10) -> None:
    assert np.shape(actual) == np.shape(expected)
    assert np.abs(actual - expected).max() <= tolerance * max(np.abs(expected).max(), 1.0)


@pytest.mark.parametrize(
    ('case', 'backend'),
    [
        *((case, 'reference') for case in CASES),
        ('ball', 'python'),
        pytest.param('mimic', *NATIVE.values, marks=NATIVE.marks),
    ],
)
def test_random_splits_against_inverse_dynamics(case, backend):
    """C-060: inverse dynamics of the full motion gives the full torques, wrenches included."""
    description, floating = CASES[case]
    robot = Robot(description, floating_base=floating, backend=backend)
    rng = np.random.default_rng(5)
    for seed in range(2):
        q, v, a, tau = state(robot, seed)
        wrenches = random_wrenches(robot, rng)
        prescribed = rng.random(robot.nv) < 0.5
        assert 0 < prescribed.sum() < robot.nv
        acceleration, torque = robot.hybrid_dynamics(q, v, a, tau, prescribed, wrenches)
        np.testing.assert_array_equal(acceleration[prescribed], a[prescribed])
        np.testing.assert_array_equal(torque[~prescribed], tau[~prescribed])
        close(robot.inverse_dynamics(q, v, acceleration, wrenches), torque)


@BACKENDS
@pytest.mark.parametrize('samples', [(), (5,)])
def test_given_arrays_and_gravity(samples, backend):
    """Results are written into `out`; a gravity replaces that of the robot."""
    robot = Robot(random_description(1, 4), backend=backend)
    q, v, a, tau = np.random.default_rng(2).uniform(-1, 1, (4, *samples, robot.nv))
    gravity = np.array([3.0, -1.0, 2.0])
    out = np.full((2, *samples, robot.nv), np.nan)
    found = robot.hybrid_dynamics(q, v, a, tau, robot.joint_names[:2], gravity=gravity, out=(*out,))
    for result, array in zip(found, out):
        assert np.shares_memory(result, array)
    close(robot.inverse_dynamics(q, v, out[0], gravity=gravity), out[1])
    np.testing.assert_array_equal(out[0][..., :2], a[..., :2])


@pytest.mark.parametrize('case', CASES)
def test_all_or_none(case):
    """C-060: nothing prescribed is forward dynamics, everything is inverse dynamics."""
    description, floating = CASES[case]
    robot = Robot(description, floating_base=floating, backend='reference')
    q, v, a, tau = state(robot)
    none, every = np.zeros(robot.nv, bool), np.ones(robot.nv, bool)
    close(robot.hybrid_dynamics(q, v, a, tau, none)[0], robot.forward_dynamics(q, v, tau))
    close(robot.hybrid_dynamics(q, v, a, tau, every)[1], robot.inverse_dynamics(q, v, a))
    close(robot.hybrid_dynamics(q, v, a, tau, [])[0], robot.forward_dynamics(q, v, tau))


@pytest.mark.parametrize('case', ['tree', 'planar, floating'])
def test_formulations_agree(case):
    """C-066: articulated bodies and composite inertias with Cholesky, all splits of some."""
    description, floating = CASES[case]
    robot = Robot(description, floating_base=floating, backend='reference')
    q, v, a, tau = state(robot)
    rng = np.random.default_rng(8)
    for _ in range(4):
        split = (rng.random(robot.nv) < 0.4).tolist()
        arguments = (robot.tree, q, v, a, tau, robot.gravity, split)
        one = forward_dynamics.articulated_bodies(*arguments)
        other = forward_dynamics.composite_inertia(*arguments)
        for x, y in zip(one, other):
            close(x, y)


def test_drives():
    """C-054, C-060: inertia felt at the joint and friction count in both formulations."""
    description = CASES['tree'][0]
    drives = {
        name: Drive(armature=0.2, damping=0.3, coulomb=0.4)
        for name in Robot(description, backend='reference').joint_names
    }
    robot = Robot(description, drives=drives, backend='reference')
    q, v, a, tau = state(robot)
    m = np.arange(robot.nv) % 3 == 0
    acceleration, torque = robot.hybrid_dynamics(q, v, a, tau, m)
    close(robot.inverse_dynamics(q, v, acceleration), torque)
    other = forward_dynamics.composite_inertia(robot.tree, q, v, a, tau, robot.gravity, m.tolist())
    close(other[0], acceleration)
    close(other[1], torque)


def test_against_pinocchios_mass_matrix():
    """C-060 on TALOS, legs driven and arms moved: M_ff a_f = tau_f - h_f - M_fm a_m."""
    pytest.importorskip('pinocchio')
    from oracles.pinocchio_model import Pinocchio

    path = urdf_path('talos_reduced')
    robot = Robot.from_urdf(path, floating_base=True, backend='reference')
    oracle = Pinocchio(path.read_text(encoding='utf-8'), robot)
    q, v, a, tau = state(robot)
    arms = [name for name in robot.joint_names if name.startswith('arm')]
    m = np.zeros(robot.nv, bool)
    for name in arms:
        m[robot.joint_coordinates(name)[1]] = True
    M, h = oracle.mass_matrix(q), oracle.inverse_dynamics(q, v, np.zeros(robot.nv))
    a_f = np.linalg.solve(M[np.ix_(~m, ~m)], (tau - h)[~m] - M[np.ix_(~m, m)] @ a[m])
    acceleration, torque = robot.hybrid_dynamics(q, v, a, tau, arms)
    close(acceleration[~m], a_f, 1e-9)
    close(torque, M @ acceleration + h, 1e-9)


def test_operations_grow_linearly():
    """C-059, C-060, C-071: recorded operations of chains, constraints included."""
    counts = []
    for joints in (16, 32, 64):
        tree = build_tree(random_description(0, joints, ('revolute',), chain=True))
        structure = MotionConstraint(f'link{joints}', np.eye(6)[:, 3:]).structure
        programs = [specification(tree, [structure])]
        choice = '10' * (joints // 2)
        inputs = (('q', joints), ('v', joints), ('a', joints), ('tau', joints), ('gravity', 3))
        programs.append(
            KernelSpecification(
                '',
                inputs,
                lambda *x, tree=tree, choice=choice: forward_dynamics.hybrid_dynamics(
                    tree, *x, choice
                ),
            )
        )
        counts.append([program.record().operation_count for program in programs])
    for small, middle, large in zip(*counts):
        assert large - middle == pytest.approx(2 * (middle - small), rel=0.03)
        assert large == pytest.approx(4 * small, rel=0.1)


@pytest.mark.parametrize('backend', [NATIVE, 'reference'])
def test_what_is_not_given_is_not_read(backend):
    """NaN in places that are results does not matter; in places that are read it shows."""
    robot = Robot(CASES['tree'][0], backend=backend)
    q, v, a, tau = state(robot)
    m = np.arange(robot.nv) % 2 == 0
    expected = robot.hybrid_dynamics(q, v, a, tau, m)
    for x, y in zip(
        robot.hybrid_dynamics(q, v, np.where(m, a, np.nan), np.where(m, np.nan, tau), m), expected
    ):
        np.testing.assert_array_equal(x, y)
    assert np.isnan(robot.hybrid_dynamics(q, v, np.where(m, np.nan, a), tau, m)[1]).any()


def test_a_prescribed_joint_may_move_no_mass():
    """A massless tip has no acceleration of its own, but it can be moved."""
    tip = np.eye(4)
    solid = Inertia(1.0, [0.1, 0.0, 0.0], 0.01 * np.eye(3))
    limits = Limits(-1.0, 1.0, 1.0, 1.0)
    axis = np.array([0.0, 1.0, 0.0])
    description = RobotDescription.from_parts(
        'r',
        [Link('base'), Link('arm', solid), Link('tip')],
        [
            Joint('i', 'revolute', 'base', 'arm', tip, axis, limits),
            Joint('j', 'revolute', 'arm', 'tip', tip, axis, limits),
        ],
    )
    robot = Robot(description, backend='reference')
    with pytest.raises(InertiaError, match=r"joint 'j' moves no mass.*prescribe its motion"):
        robot.forward_dynamics([0.1, 0.2], [0, 0], [1, 0])
    a, tau = robot.hybrid_dynamics([0.1, 0.2], [0, 0], [0, 7.0], [1.0, 0], 'j')
    assert a[1] == 7.0
    close(tau, np.array([1.0, 0.0]))
    close(robot.inverse_dynamics([0.1, 0.2], [0, 0], a), tau)


@pytest.mark.parametrize(
    ('prescribed', 'error', 'text'),
    [
        (['joint1', 'joint99'], UnknownNameError, "no joint named 'joint99'"),
        ([True, False], ArgumentError, r'shape \(8,\)'),
        (np.zeros(8), ArgumentError, 'boolean mask'),
        (np.arange(8), ArgumentError, 'boolean mask'),
        (None, ArgumentError, 'names of joints'),
        ({'joint1': 1.0, 3: 2.0}, ArgumentError, 'names of joints'),
    ],
)
def test_bad_choices_of_joints(prescribed, error, text):
    robot = Robot(CASES['tree'][0], backend='reference')
    with pytest.raises(error, match=text):
        robot.hybrid_dynamics(*state(robot), prescribed)
    assert issubclass(error, ScrewDynamicsError)


def test_wrong_sizes():
    robot = Robot(CASES['tree'][0], backend='reference')
    q, v, a, tau = state(robot)
    with pytest.raises(ArgumentError, match=r'tau must have shape \(8,\)'):
        robot.hybrid_dynamics(q, v, a, tau[:3], 'joint1')
    with pytest.raises(ArgumentError, match='must hold real numbers'):
        robot.hybrid_dynamics(q, v, 'x', tau, 'joint1')
