# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motions slowed down to effort limits: closed forms, linear programs on Pinocchio's efforts."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('pinocchio')

from scipy.optimize import linprog

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.motion.trajectory import retimed, sampled_motion, with_efforts
from screw_dynamics_ros.core.motion.trajectory.retiming import LIMIT_MARGIN
from support.models import random_description, to_urdf
from support.robots import urdf_path

KINDS = ('revolute', 'prismatic')


def limited(robot, **limits):
    """Return the same robot with other limits of all joints."""
    description = robot.description
    return Robot(
        replace(
            description,
            joints=tuple(
                replace(joint, limits=replace(joint.limits, **limits))
                for joint in description.joints
            ),
        ),
        gravity=robot.gravity,
    )


def swing(robot, samples=200, seconds=1.0, scale=0.6, seed=0):
    """Return a motion from rest to rest, and between, of all joints."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0.0, seconds, samples)
    s = time / seconds
    s, ds, dds = (
        s**3 * (10 - 15 * s + 6 * s**2),
        30 * s**2 * (1 - s) ** 2 / seconds,
        60 * s * (1 - s) * (1 - 2 * s) / seconds**2,
    )
    start, way = rng.normal(size=(2, robot.nv)) * scale
    bend = rng.normal(size=robot.nv) * scale
    angle = np.pi * s[:, None]
    q = start + s[:, None] * way + np.sin(angle) * bend
    slope = way + np.pi * np.cos(angle) * bend
    v = slope * ds[:, None]
    a = slope * dds[:, None] - np.pi**2 * np.sin(angle) * bend * ds[:, None] ** 2
    return sampled_motion(robot, time, q, v, a)


def one_sided_accelerations(motion, result):
    """Return the accelerations before and after each inner sample, with u constant in between."""
    x = result.speed**2
    u = np.diff(x) / (2.0 * np.diff(motion.time))
    return (
        motion.a[:-1] * x[:-1, None] + motion.v[:-1] * u[:, None],
        motion.a[1:] * x[1:, None] + motion.v[1:] * u[:, None],
    )


def largest_share(robot, oracle, motion, result, damping=0.0):
    """Return the largest share of an effort limit on both sides of each sample, by Pinocchio."""
    new, share = result.motion, 0.0
    for rows, a in zip((slice(None, -1), slice(1, None)), one_sided_accelerations(motion, result)):
        for q, v, acceleration in zip(new.q[rows], new.v[rows], a):
            tau = oracle.inverse_dynamics(q, v, acceleration) + damping * v
            share = max(share, float(np.max(np.abs(tau) / robot.limits.effort)))
    return share


def test_what_is_within_the_limits_stays_as_it_is():
    robot = limited(Robot(random_description(3, 4, KINDS)), effort=1e6, velocity=1e6)
    motion = swing(robot)
    result = retimed(robot, motion)
    assert result.feasible
    assert result.joint == ''
    np.testing.assert_allclose(result.speed, 1.0, rtol=1e-12)
    for name in ('time', 'q', 'v', 'a'):
        np.testing.assert_allclose(getattr(result.motion, name), getattr(motion, name), atol=1e-9)


def cart(effort=5.0, damping=0.0):
    """Return a mass of 2 kg on a rail, which its drive can move with `effort`."""
    return Robot.from_urdf(
        f"""<robot name="cart"><link name="rail"/><link name="cart"><inertial><mass value="2"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="x" type="prismatic"><parent link="rail"/><child link="cart"/>
        <axis xyz="1 0 0"/><limit lower="-9" upper="9" velocity="100" effort="{effort}"/>
        <dynamics damping="{damping}"/></joint></robot>"""
    )


def rail(name, parent, child, axis, mass, effort):
    """Return the text of a link on a rail."""
    return f"""<link name="{child}"><inertial><mass value="{mass}"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>
        <axis xyz="{axis}"/><limit lower="-9" upper="9" velocity="99" effort="{effort}"/></joint>"""


@pytest.mark.parametrize(('efforts', 'joint'), [((100.0, 0.5), 'y'), ((2.5, 100.0), 'x')])
def test_the_joint_nearest_to_its_limit_is_named(efforts, joint):
    """Of a gantry that moves 5 kg along x and 1 kg along y."""
    bridge = rail('x', 'base', 'bridge', '1 0 0', 4, efforts[0])
    cart = rail('y', 'bridge', 'cart', '0 1 0', 1, efforts[1])
    robot = Robot.from_urdf(f'<robot name="gantry"><link name="base"/>{bridge}{cart}</robot>')
    time = np.linspace(0.0, 1.0, 101)
    s = 0.5 * (1.0 - np.cos(np.pi * time))[:, None]
    result = retimed(robot, sampled_motion(robot, time, s * [1.0, 1.0]))
    assert result.feasible
    assert result.joint == joint
    assert result.speed.min() < 0.9
    assert result.time == time[np.argmin(result.speed)]


@pytest.mark.parametrize('distance', [0.5, 3.0])
def test_the_fastest_motion_of_a_mass_is_bang_bang(distance):
    """T = 2 sqrt(m d / F), half of it with full force and half with the opposite one."""
    robot = cart()
    time = np.linspace(0.0, 1.0, 2001)
    s = 0.5 * (1.0 - np.cos(np.pi * time))
    motion = sampled_motion(robot, time, distance * s[:, None])
    result = retimed(robot, motion, most=np.inf)
    fastest = 2.0 * np.sqrt(2.0 * distance / 5.0)
    assert np.isclose(result.motion.time[-1], fastest, rtol=2e-3)
    force = 2.0 * result.motion.a[:, 0]
    inner = np.abs(time - 0.5) > 0.01
    np.testing.assert_allclose(np.abs(force[inner]), 5.0, rtol=2e-2)


def test_against_viscous_friction_the_speed_falls_as_a_full_force_lets_it():
    """m v' = F - d v from 4 m/s on, at which 12 N of friction are against 5 N of the drive."""
    robot = cart(effort=5.0, damping=3.0)
    time = np.linspace(0.0, 1.0, 1001)
    q = 4.0 * time[:, None]
    motion = sampled_motion(robot, time, q, np.full_like(q, 4.0), np.zeros_like(q))
    new = retimed(robot, motion).motion
    steady = 5.0 / 3.0
    expected = steady + (4.0 - steady) * np.exp(-1.5 * new.time)
    np.testing.assert_allclose(new.v[:, 0], expected, rtol=1e-3)


@pytest.mark.parametrize('seed', range(3))
def test_it_is_as_fast_as_a_linear_program_on_pinocchios_efforts(seed):
    """x as large as possible within the efforts on both sides of all samples, without friction."""
    description = random_description(seed, 3, KINDS)
    robot = Robot(description)
    oracle = Pinocchio(to_urdf(description), robot)
    motion = swing(robot, samples=60, seed=seed)
    needed = with_efforts(robot, motion).efforts
    static = np.array([robot.gravity_torques(q) for q in motion.q])
    limit = np.abs(static).max(axis=0) * 1.2 + 0.3 * np.abs(needed - static).max(axis=0)
    result = retimed(robot, motion, effort_limits=limit)
    assert result.feasible
    assert result.speed.min() < 0.9

    count, h = len(motion.time), np.diff(motion.time)
    rows, bounds = [], []
    for k in range(count):
        q, v, a = motion.q[k], motion.v[k], motion.a[k]
        gravity = oracle.inverse_dynamics(q, 0 * v, 0 * v)
        alpha = oracle.inverse_dynamics(q, 0 * v, v) - gravity
        beta = oracle.inverse_dynamics(q, v, a) - gravity
        for i in (k - 1, k):
            if 0 <= i < count - 1:
                row = np.zeros((3, count))
                row[:, k] += beta
                row[:, i + 1] += alpha / (2.0 * h[i])
                row[:, i] -= alpha / (2.0 * h[i])
                rows += [row, -row]
                bounds += [limit - gravity, limit + gravity]
    speed = robot.limits.velocity / np.maximum(np.abs(motion.v), 1e-12)
    top = np.minimum(speed.min(axis=1), 1.0) ** 2
    program = linprog(
        -np.ones(count),
        A_ub=np.vstack(rows),
        b_ub=np.concatenate(bounds),
        bounds=list(zip(np.zeros(count), top)),
        method='highs',
    )
    assert program.success
    deviation = np.abs(result.speed**2 - program.x)
    assert np.quantile(deviation, 0.85) < 2e-3  # both go back and forth where a joint turns round
    assert np.isclose(result.motion.time[-1], elapsed(h, program.x), rtol=2e-3)


def elapsed(h, x):
    sigma = np.sqrt(np.maximum(x, 0.0))
    return float(np.sum(2.0 * h / (sigma[1:] + sigma[:-1])))


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('most', [1.0, np.inf])
def test_efforts_are_within_the_limits_by_pinocchio(seed, most):
    """Also with viscous friction; somewhere a limit is met, or the speed is the one given."""
    description = random_description(seed, 5, KINDS)
    damping = 2.0
    description = replace(
        description, joints=tuple(replace(joint, damping=damping) for joint in description.joints)
    )
    static = Robot(description)
    motion = swing(static, samples=300, seed=seed, seconds=0.6)
    held = np.array([static.gravity_torques(q) for q in motion.q])
    needed = with_efforts(static, motion).efforts
    effort = 1.1 * np.abs(held).max() + 0.2 * np.abs(needed - held).max()
    robot = limited(static, effort=effort, velocity=1e3)
    result = retimed(robot, motion, most=most)
    assert result.feasible
    oracle = Pinocchio(to_urdf(description), robot)
    share = largest_share(robot, oracle, motion, result, damping)
    assert share <= 1.0 + 1e-9
    assert share > 0.999
    assert not [e for e in with_efforts(robot, result.motion).exceeded if e.quantity == 'effort']
    if most == 1.0:
        assert result.speed.max() <= 1.0
        assert result.motion.time[-1] >= motion.time[-1]
        assert result.joint in robot.joint_names
    np.testing.assert_array_equal(result.motion.q, motion.q)


def test_velocities_and_accelerations_are_limited_too():
    description = random_description(5, 3, ('revolute',))
    robot = limited(Robot(description), effort=1e6, velocity=0.7)
    motion = swing(robot, samples=400, seed=2)
    result = retimed(robot, motion, acceleration_limits=np.full(3, 2.0))
    assert np.abs(result.motion.v).max() <= 0.7
    for a in one_sided_accelerations(motion, result):
        assert np.abs(a).max() <= 2.0 * (1.0 + 1e-9)
    assert np.abs(result.motion.a).max() > 1.99


def test_limits_of_acceleration_in_the_description_hold_by_default():
    description = random_description(5, 3, ('revolute',))
    joints = [
        replace(joint, limits=replace(joint.limits, acceleration=3.0, deceleration=2.0))
        for joint in description.joints
    ]
    motion = swing(Robot(description), samples=400, seed=2)
    found = [
        retimed(limited(Robot(each), effort=1e6, velocity=0.7), motion, acceleration_limits=given)
        for each, given in (
            (description, np.full(3, 2.0)),
            (replace(description, joints=tuple(joints)), None),
            (description, None),
        )
    ]
    np.testing.assert_array_equal(found[0].motion.time, found[1].motion.time)
    assert found[2].motion.time[-1] < found[1].motion.time[-1]


def test_the_new_rates_are_those_of_the_new_times():
    """Velocities by splines through the positions at the new times, inside of smooth stretches."""
    robot = limited(Robot(random_description(1, 3, KINDS)), effort=1e6, velocity=0.4)
    motion = swing(robot, samples=2000, seed=3)
    new = retimed(robot, motion).motion
    again = sampled_motion(robot, new.time, new.q)
    deviation = np.abs(again.v - new.v).max(axis=1)
    assert np.quantile(deviation, 0.98) < 1e-4


def test_a_payload_slows_down():
    robot = limited(Robot.from_urdf(urdf_path('panda')), velocity=100.0)
    motion = swing(robot, samples=300, seconds=0.8, scale=0.5, seed=4)
    ball = {'panda_hand': RigidBody(3.0, np.array([0.0, 0.0, 0.1]), np.zeros((3, 3)))}
    alone, carrying = retimed(robot, motion), retimed(robot, motion, ball)
    assert alone.feasible
    assert carrying.feasible
    assert carrying.motion.time[-1] > alone.motion.time[-1]
    exceeded = with_efforts(robot, carrying.motion, ball).exceeded
    assert not [each for each in exceeded if each.quantity == 'effort']


def test_a_static_overload_is_named():
    robot = Robot.from_urdf(urdf_path('panda'))
    motion = swing(robot, samples=50)
    limits = np.array([10.0, 50.0, 3.0, 1.0, 3.0, 3.0, 3.0, 3.0])
    result = retimed(robot, motion, effort_limits=limits)
    assert not result.feasible
    static = np.abs(np.array([robot.gravity_torques(q) for q in motion.q])) - limits
    sample, k = np.unravel_index(np.argmax(static), static.shape)
    assert result.joint == robot.joint_names[k]
    assert result.time == motion.time[sample]
    assert result.motion is motion


def test_a_joint_that_only_just_holds_its_load_is_named():
    """Two lifts on each other; the upper one has the weight of 1 kg as its limit, and stays."""
    lower = rail('lower', 'base', 'bridge', '0 0 1', 4, 1000.0)
    upper = rail('upper', 'bridge', 'cart', '0 0 1', 1, 1000.0)
    robot = Robot.from_urdf(f'<robot name="lift"><link name="base"/>{lower}{upper}</robot>')
    weight = float(robot.gravity_torques(np.zeros(2))[1])
    time = np.linspace(0.0, 1.0, 101)
    s = 0.5 * (1.0 - np.cos(np.pi * time))[:, None]
    motion = sampled_motion(robot, time, s * [0.1, 1.0])
    limits = np.array([1000.0, weight / (1.0 - LIMIT_MARGIN)])
    result = retimed(robot, motion, effort_limits=limits)
    assert not result.feasible
    assert result.joint == 'upper'
    assert result.time == 0.0
    assert result.motion is motion
    assert result.speed.tolist() == [1.0] * 101


def test_a_motion_that_starts_while_moving_tells_that_it_cannot():
    robot = limited(cart(), velocity=1.0)
    time = np.linspace(0.0, 1.0, 11)
    q = 4.0 * time[:, None]
    result = retimed(robot, sampled_motion(robot, time, q, np.full_like(q, 4.0), 0 * q))
    assert result.feasible
    np.testing.assert_allclose(result.speed, 0.25, rtol=1e-6)


def test_dry_friction_takes_its_part():
    """A cart against 2 N of Coulomb friction has 3 of 5 N left to accelerate, 7 N to brake."""
    description = cart().description
    robot = Robot(description, drives={'x': Drive(coulomb=2.0)})
    time = np.linspace(0.0, 1.0, 4001)
    s = 0.5 * (1.0 - np.cos(np.pi * time))
    motion = sampled_motion(robot, time, 2.0 * s[:, None])
    result = retimed(robot, motion, most=np.inf)
    a1, a2, d = 3.0 / 2.0, 7.0 / 2.0, 2.0
    fastest = np.sqrt(2.0 * d * (a1 + a2) / (a1 * a2))
    assert np.isclose(result.motion.time[-1], fastest, rtol=3e-3)
    frictionless = retimed(robot, motion, most=np.inf, friction=False).motion.time[-1]
    assert np.isclose(frictionless, 2.0 * np.sqrt(2.0 * d / 5.0), rtol=3e-3)


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        ({'most': 0.0}, 'most'),
        ({'most': float('nan')}, 'most'),
        ({'effort_limits': np.ones(2)}, r'effort_limits must have shape \(1,\), got \(2,\)'),
        ({'effort_limits': np.array([np.nan])}, r'effort_limits must not be negative, got \[nan\]'),
        ({'effort_limits': ['1']}, 'effort_limits must hold real numbers'),
        ({'acceleration_limits': np.array([-1.0])}, r'acceleration_limits must not .* \[-1\.0\]'),
    ],
)
def test_bad_arguments_are_named(options, reason):
    robot = cart()
    motion = sampled_motion(robot, [0.0, 1.0, 2.0], [[0.0], [0.5], [1.0]])
    with pytest.raises(ArgumentError, match=reason):
        retimed(robot, motion, **options)


def test_one_sample_has_no_timing():
    robot = cart()
    with pytest.raises(ArgumentError, match='at least two samples'):
        retimed(robot, sampled_motion(robot, [0.0], [[0.0]]))
