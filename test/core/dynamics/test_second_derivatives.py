# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Second derivatives of inverse dynamics: differences of ours and of Pinocchio's, identities.

Spec ID: D-40.
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.dynamics.partial_derivatives import mass_matrix_partials
from screw_dynamics_ros.core.lie import se3
from support.compilation import ALL_CASES, CASES, build, close, states
from support.models import random_description, random_wrenches
from support.robots import robot, urdf_path
from support.tangents import displaced, partial

NAME = 'inverse_dynamics_second_derivatives'


def differences(robot: Robot, first, q, v, a) -> list[np.ndarray]:
    """Return d2tau/dqdq, dvdv, dqdv and dM/dq, along velocities, of first derivatives."""
    along_q = partial(lambda d: np.stack(first(displaced(robot, q, d), v, a)), robot.nv)
    along_v = partial(lambda d: np.stack(first(q, v + d, a)), robot.nv)
    return [along_q[0], along_v[1], along_v[0], along_q[2]]


@pytest.mark.parametrize(('case', 'wrenched'), [*zip(CASES, [False, True] * 2)])
def test_against_differences(case, wrenched):
    """D-40: branches, mimic joints, planar and floating joints, a floating base."""
    robot = build(case, 'reference')
    q, v, a = (x[0] for x in states(robot, 1).values())
    wrenches = random_wrenches(robot, np.random.default_rng(0)) if wrenched else None

    def first(q, v, a):
        return robot.inverse_dynamics_derivatives(q, v, a, wrenches)

    expected = differences(robot, first, q, v, a)
    found = robot.inverse_dynamics_second_derivatives(q, v, a, wrenches)
    for actual, wanted in zip(found, expected, strict=True):
        close(actual, wanted, 1e-9)


@ALL_CASES
def test_mass_matrix_partials(case):
    """D-40: dM/dq by the first derivatives at rest; symmetric like M."""
    robot = build(case, 'reference')
    q, v, a = (x[0] for x in states(robot, 1).values())
    dM_dq = robot.inverse_dynamics_second_derivatives(q, v, a)[3]
    close(dM_dq, mass_matrix_partials(robot.tree, q), 1e-13)
    close(dM_dq, dM_dq.swapaxes(0, 1), 1e-13)


@pytest.mark.parametrize(
    ('name', 'floating'),
    [
        ('ur_description/urdf/ur5_robot', False),
        ('panda_description/urdf/panda', False),
        ('gripper_tree', False),
        ('talos_reduced', True),
    ],
)
def test_against_differences_of_pinocchio(name, floating):
    """D-40: first derivatives of Pinocchio's, its mimic joints reduced, along a few directions."""
    robot = Robot.from_urdf(urdf_path(name), floating_base=floating, backend='reference')
    oracle = Pinocchio(urdf_path(name).read_text(encoding='utf-8'), robot)
    q, v, a = (x[0] for x in states(robot, 1).values())
    qq, vv, qv, aq = robot.inverse_dynamics_second_derivatives(q, v, a)
    for d in np.random.default_rng(4).normal(size=(2, robot.nv)):

        def along(t, d=d, moved=(1.0, 0.0)):
            place, rate = displaced(robot, q, moved[0] * t[0] * d), v + moved[1] * t[0] * d
            return np.stack(oracle.inverse_dynamics_derivatives(place, rate, a))

        by_q = partial(along, 1)[..., 0]
        by_v = partial(lambda t: along(t, moved=(0.0, 1.0)), 1)[..., 0]
        for actual, expected in ((qq, by_q[0]), (aq, by_q[2]), (qv, by_v[0]), (vv, by_v[1])):
            close(actual @ d, expected, 1e-8)
        close(np.einsum('ijk,j->ik', qv, d), by_q[1], 1e-8)


def test_recorded_program_of_a_floating_base():
    """A floating base and joint, and planar ones, recorded."""
    robot, reference = (build('planar, floating', backend) for backend in ('python', 'reference'))
    state = [x[0] for x in states(robot, 1).values()]
    found, expected = (r.inverse_dynamics_second_derivatives(*state) for r in (robot, reference))
    for actual, wanted in zip(found, expected, strict=True):
        close(actual, wanted, 1e-11)


@pytest.mark.parametrize('case', ['tree', 'mimic'])
def test_symmetry(case):
    """With coordinates for velocities the order of differentiation does not matter."""
    robot = build(case, 'reference')
    q, v, a = (x[0] for x in states(robot, 1).values())
    qq, vv, qv, _ = robot.inverse_dynamics_second_derivatives(q, v, a)
    close(qq, qq.swapaxes(1, 2), 1e-13)
    close(vv, vv.swapaxes(1, 2), 1e-13)
    assert abs(qv - qv.swapaxes(1, 2)).max() > 1e-3


@pytest.mark.parametrize('case', ['planar, floating', 'ball'])
def test_derivatives_along_a_twist_do_not_commute(case):
    """Of a free body d2tau/dqdq is not symmetric: its skew part is a derivative of first order."""
    robot = build(case, 'reference')
    q, v, a = (x[0] for x in states(robot, 1).values())
    qq, vv, _, _ = robot.inverse_dynamics_second_derivatives(q, v, a)
    close(vv, vv.swapaxes(1, 2), 1e-13)
    dq = robot.inverse_dynamics_derivatives(q, v, a)[0]
    brackets = np.zeros((robot.nv,) * 3)
    for body in robot.tree.bodies:
        if body.dof > 1:
            e, own = np.eye(6), slice(0, body.dof)
            products = np.array([[se3.ad(y) @ x for y in e] for x in e]).T
            brackets[body.v, body.v, body.v] = products[own, own, own]
    close(qq - qq.swapaxes(1, 2), np.einsum('il,ljk->ijk', dq, brackets.swapaxes(1, 2)), 1e-12)
    assert abs(qq - qq.swapaxes(1, 2)).max() > 0.1


def test_joints_on_different_branches():
    """Exactly zero unless all three joints are on one path."""
    robot = Robot(random_description(1, 6), backend='reference')
    q, v, a = (x[0] for x in states(robot, 1).values())
    M = robot.mass_matrix(q) != 0.0  # whether two joints are on one path
    together = M[:, :, None] & M[:, None] & M[None]
    assert not together.all()
    for derivative in robot.inverse_dynamics_second_derivatives(q, v, a):
        assert (derivative[~together] == 0.0).all()
        assert (derivative[together] != 0.0).any()


def test_linear_and_quadratic_terms():
    """Torques are linear in a and quadratic in v: what Euler's theorem on such functions says."""
    robot = build('mimic', 'reference')
    q, v, a = (x[0] for x in states(robot, 1).values())
    rest = np.zeros(robot.nv)
    qq, vv, qv, aq = robot.inverse_dynamics_second_derivatives(q, v, a)
    close(0.5 * vv @ v @ v, robot.coriolis_torques(q, v), 1e-12)
    close(vv @ v, robot.inverse_dynamics_derivatives(q, v, a)[1], 1e-12)
    still = robot.inverse_dynamics_second_derivatives(q, rest, rest)
    moving = robot.inverse_dynamics_second_derivatives(q, v, rest)
    accelerated = robot.inverse_dynamics_second_derivatives(q, rest, a)
    close(still[1], vv, 1e-12)
    close(still[2], 0.0 * qv)
    close(accelerated[3], aq, 1e-12)
    close(qq, moving[0] + accelerated[0] - still[0], 1e-12)
    first = robot.inverse_dynamics_derivatives
    centrifugal = first(q, v, rest)[0] - first(q, rest, rest)[0]
    close(qv @ v, 2.0 * centrifugal, 1e-12)
    close(np.einsum('ijk,j->ik', aq, a), first(q, rest, a)[0] - first(q, rest, rest)[0], 1e-12)


@pytest.mark.parametrize('breakaway', [None, 1.2])
def test_friction(breakaway):
    """Friction is in d2tau/dvdv, of mimic joints at their masters; rotors turn as bodies."""
    description = random_description(2, 5, ('revolute', 'prismatic'), mimic=1)
    drive = Drive(
        rotor_inertia=1e-3,
        gear_ratio=30.0,
        rotor_axis=(0.0, 0.6, 0.8),
        damping=0.4,
        coulomb=0.8,
        breakaway=breakaway,
        stribeck_speed=0.7,
        smoothing=0.5,
    )
    drives = {joint.name: drive for joint in description.joints if joint.type != 'fixed'}
    robot = Robot(description, backend='reference', drives=drives)
    q, v, a = (x[0] for x in states(robot, 1).values())
    expected = differences(robot, robot.inverse_dynamics_derivatives, q, v, a)
    found = robot.inverse_dynamics_second_derivatives(q, v, a)
    for actual, wanted in zip(found, expected, strict=True):
        close(actual, wanted, 1e-8)


def test_long_programs_are_not_compiled():
    """A chain of 23 joints runs on numbers; it is refused where it would have to be recorded."""
    pytest.importorskip('llvmlite')
    robot = Robot(random_description(5, 23, ('revolute',), chain=True), backend='native')
    q, v, a = (x[0] for x in states(robot, 1).values())
    qq = robot.inverse_dynamics_second_derivatives(q, v, a)[0]
    derivatives = Robot(robot.description, backend='reference').inverse_dynamics_derivatives
    first = partial(lambda t: derivatives(q + t[0] * v, v, a)[0], 1, h=1e-3)
    close(qq @ v, first[..., 0], 1e-8)
    for record in (robot.fuse, lambda name: robot.c_source('chain', name)):
        with pytest.raises(ArgumentError, match='too long for 23 degrees of freedom'):
            record(NAME)


def test_bad_arguments_and_no_joint():
    arm = build('tree', 'reference')
    x = np.zeros(arm.nv)
    with pytest.raises(ArgumentError, match='v must have shape'):
        arm.inverse_dynamics_second_derivatives(x, x[1:], x)
    assert np.isnan(arm.inverse_dynamics_second_derivatives(x, x + np.nan, x)[0]).any()
    fixed = Robot.from_urdf(robot('<link name="a"/>'), backend='reference')
    for derivative in fixed.inverse_dynamics_second_derivatives(*np.zeros((3, 0))):
        assert derivative.shape == (0, 0, 0)
