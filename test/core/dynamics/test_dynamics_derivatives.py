# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of inverse and forward dynamics: differences, identities, several outputs.

`test_pinocchio.py` has those of all robots, `test_extended_precision.py` their last digits.

Spec ID: D-40.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, InertiaError, Robot
from screw_dynamics_ros.core.dynamics.partial_derivatives import (
    inverse_mass_matrix_partials,
    mass_matrix_partials,
)
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.compilation import ALL_CASES, build, close, states
from support.models import random_description, random_wrenches
from support.robots import robot
from support.tangents import displaced, partial

FUNCTIONS = pytest.mark.parametrize(
    'name', ['inverse_dynamics_derivatives', 'forward_dynamics_derivatives']
)


def directions(robot: Robot) -> np.ndarray:
    """Return some directions to differentiate along: no error of a column escapes them all."""
    return np.random.default_rng(8).normal(size=(3, robot.nv)) / np.sqrt(robot.nv)


@FUNCTIONS
@ALL_CASES
@pytest.mark.parametrize('wrenched', [False, True], ids=['free', 'wrenches'])
def test_against_differences(name, case, wrenched):
    """D-40: branches, mimic joints, planar and floating joints, a floating base."""
    robot, of_torques = build(case, 'reference'), name.startswith('forward')
    q, v, x = (x[0] for x in states(robot, 1).values())
    wrenches = random_wrenches(robot, np.random.default_rng(0)) if wrenched else None
    dq, dv, dx = getattr(robot, name)(q, v, x, wrenches)
    function = getattr(robot, name.removesuffix('_derivatives'))
    for d in directions(robot):
        along_q = partial(lambda t, d=d: function(displaced(robot, q, t[0] * d), v, x, wrenches), 1)
        along_v = partial(lambda t, d=d: function(q, v + t[0] * d, x, wrenches), 1)
        close(dq @ d, along_q[:, 0], 1e-8 if of_torques else 1e-9)
        close(dv @ d, along_v[:, 0], 1e-8 if of_torques else 1e-9)
    if of_torques:
        close(dx @ robot.mass_matrix(q), np.eye(robot.nv), 1e-11)
        close(robot.inverse_mass_matrix(q), dx, 1e-11)
    else:
        close(dx, robot.mass_matrix(q), 1e-13)


@FUNCTIONS
@ALL_CASES
def test_recorded_programs(case, name):
    """Planar and floating joints and a floating base, recorded."""
    robot, reference = build(case, 'python'), build(case, 'reference')
    state = [x[0] for x in states(robot, 1).values()]
    for actual, expected in zip(getattr(robot, name)(*state), getattr(reference, name)(*state)):
        close(actual, expected, 1e-10)


def test_results_of_machine_code_belong_to_the_caller():
    """No array is used twice, no reference is lost or left behind."""
    pytest.importorskip('llvmlite')
    robot = build('tree', 'native')
    state = [x[0] for x in states(robot, 1).values()]
    robot.inverse_dynamics_derivatives(*state)
    function = robot.inverse_dynamics_derivatives
    assert type(function).__name__ == 'builtin_function_or_method'
    first, second = function(*state), function(*state)
    assert sys.getrefcount(first) == 2
    assert [sys.getrefcount(array) for array in first] == 3 * [3]  # the tuple, the loop, the call
    assert len({array.ctypes.data for array in (*first, *second)}) == 6
    float64 = np.dtype(np.float64)
    before = sys.getrefcount(float64)
    for _ in range(100):
        function(*state)
    assert abs(sys.getrefcount(float64) - before) < 10
    with pytest.raises(ArgumentError, match='v must have shape'):
        function(state[0], state[1][1:], state[2])


def test_branches_do_not_feel_each_other():
    """Derivatives between joints of different limbs are exactly zero."""
    robot = Robot(random_description(1, 6), backend='reference')
    q, v, a = (x[0] for x in states(robot, 1).values())
    parents = {joint.child: joint for joint in robot.description.joints}

    def path(link):
        return {link} if link not in parents else {link} | path(parents[link].parent)

    paths = [
        path(joint.child) for joint in robot.description.joints if joint.name in robot.joint_names
    ]
    apart = np.array([[not (x <= y or y <= x) for x in paths] for y in paths])
    assert apart.any()
    for derivative in robot.inverse_dynamics_derivatives(q, v, a):
        assert (derivative[apart] == 0.0).all()
        assert (derivative[~apart] != 0.0).any(axis=0)


@ALL_CASES
def test_mass_matrix_partials(case):
    """D-40: dM/dq and d(M^-1)/dq by differences."""
    robot = build(case, 'reference')
    tree = build_tree(robot.description, floating_base=case == 'planar, floating')
    q = states(robot, 1)['q'][0]
    dM, dMinv = mass_matrix_partials(tree, q), inverse_mass_matrix_partials(tree, q)
    close(dM, dM.swapaxes(0, 1), 1e-12)
    for d in directions(robot):
        M = partial(lambda t, d=d: robot.mass_matrix(displaced(robot, q, t[0] * d)), 1)
        Minv = partial(lambda t, d=d: robot.inverse_mass_matrix(displaced(robot, q, t[0] * d)), 1)
        close(dM @ d, M[..., 0], 1e-9)
        close(dMinv @ d, Minv[..., 0], 1e-7)


def test_coriolis_matrix_is_half_the_derivative_by_velocity():
    """D-36: with coordinates for velocities the Christoffel symbols are symmetric."""
    robot = build('mimic', 'reference')
    q, v, a = (x[0] for x in states(robot, 1).values())
    close(robot.inverse_dynamics_derivatives(q, v, a)[1], 2 * robot.coriolis_matrix(q, v), 1e-13)


def test_forward_dynamics_with_friction():
    """Friction is not quadratic in v: what the bias owes to it must not be halved."""
    description = random_description(2, 5, ('revolute', 'prismatic'), mimic=1)
    drives = {
        joint.name: Drive(
            rotor_inertia=1e-4,
            gear_ratio=50.0,
            damping=0.4,
            coulomb=0.8,
            breakaway=1.2,
            smoothing=0.5,
        )
        for joint in description.joints
    }
    robot = Robot(description, backend='reference', drives=drives)
    q, v, tau = (x[0] for x in states(robot, 1).values())
    dq, dv, Minv = robot.forward_dynamics_derivatives(q, v, tau)
    close(Minv @ robot.mass_matrix(q), np.eye(robot.nv), 1e-11)
    for d in directions(robot):
        along_q = partial(lambda t, d=d: robot.forward_dynamics(q + t[0] * d, v, tau), 1)
        along_v = partial(lambda t, d=d: robot.forward_dynamics(q, v + t[0] * d, tau), 1)
        close(dq @ d, along_q[:, 0], 1e-8)
        close(dv @ d, along_v[:, 0], 1e-7)


def test_massless_tip_is_refused():
    description = random_description(0, 3, chain=True)
    links = tuple(
        link if link.name != 'link3' else type(link)('link3') for link in description.links
    )
    robot = Robot(type(description).from_parts('r', links, description.joints))
    x = np.zeros(3)
    with pytest.raises(InertiaError, match='joint3'):
        robot.forward_dynamics_derivatives(x, x, x)
    with pytest.raises(InertiaError, match='joint3'):
        robot.inverse_mass_matrix(x)
    assert np.isfinite(robot.inverse_dynamics_derivatives(x, x, x)).all()


def test_no_joint():
    """Empty matrices, not an error."""
    fixed = Robot.from_urdf(robot('<link name="a"/>'), backend='reference')
    x = np.zeros(0)
    for derivative in fixed.inverse_dynamics_derivatives(x, x, x):
        assert derivative.shape == (0, 0)
