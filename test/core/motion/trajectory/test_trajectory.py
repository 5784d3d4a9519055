# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Efforts of trajectories, limits exceeded and time scaling: Pinocchio, bisection, closed forms."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip('pinocchio')

from scipy.optimize import brentq

from oracles.pinocchio_model import Pinocchio
from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.description import Limits, read_urdf
from screw_dynamics_ros.core.description.drives import Drive
from screw_dynamics_ros.core.description.rigid_body import RigidBody
from screw_dynamics_ros.core.motion.trajectory import (
    exceeded_limits,
    largest_speed_factor,
    sampled_motion,
    with_efforts,
)
from screw_dynamics_ros.core.motion.trajectory.time_scaling import first_crossing
from support.models import random_configuration, random_description, random_inertia, to_urdf
from support.robots import urdf_path

KINDS = ('revolute', 'prismatic')


def swing(time, size, rng):
    """Return q, v, a (N, size) of sines at these times."""
    w, amplitude, phase = (
        rng.uniform(0.5, 2.0, size),
        rng.uniform(0.2, 1.0, size),
        rng.normal(size=size),
    )
    angle = time[:, None] * w + phase
    return (
        amplitude * np.sin(angle),
        amplitude * w * np.cos(angle),
        -amplitude * w**2 * np.sin(angle),
    )


def described(seed, joints, rng, *, mimic=0, friction=0.0, effort=(30, 90), velocity=(1.0, 4.0)):
    """Return a random robot with limits and friction of its own for every joint."""
    description = random_description(seed, joints, KINDS, mimic=mimic)
    return replace(
        description,
        joints=tuple(
            replace(
                joint,
                damping=rng.uniform(0, friction),
                friction=rng.uniform(0, friction),
                limits=replace(
                    joint.limits, effort=rng.uniform(*effort), velocity=rng.uniform(*velocity)
                ),
            )
            for joint in description.joints
        ),
    )


# --- samples -------------------------------------------------------------------------------------


def test_rates_that_are_missing_are_derived():
    """Errors of the splines: h^3 in velocities, h^2 in accelerations, h^3 from given velocities."""
    robot, errors = Robot(random_description(1, 3, KINDS)), []
    for count in (101, 201):
        time = np.linspace(0.0, 2.0, count)
        q, v, a = swing(time, 3, np.random.default_rng(0))
        both = sampled_motion(robot, time, q)
        one = sampled_motion(robot, time, q, v)
        assert both.derived == ('v', 'a')
        assert one.derived == ('a',)
        assert one.v is not both.v
        errors.append([np.abs(x - y).max() for x, y in ((both.v, v), (both.a, a), (one.a, a))])
    orders = np.log2(np.divide(*errors))
    assert (orders > [2.7, 1.7, 2.7]).all(), orders
    assert (np.array(errors[1]) < [1e-4, 1e-2, 1e-4]).all()


@pytest.mark.parametrize('count', [1, 2, 3])
def test_few_samples(count):
    """One sample rests; two make a line, three a parabola."""
    robot = Robot(random_description(1, 2))
    time = np.arange(count) * 0.5
    motion = sampled_motion(robot, time, (time**2)[:, None] * [1.0, 3.0])
    slope = {1: [0.0], 2: [0.5, 0.5], 3: [0.0, 1.0, 2.0]}[count]
    np.testing.assert_allclose(motion.v, np.outer(slope, [1.0, 3.0]), atol=1e-12)
    np.testing.assert_allclose(
        motion.a, (2.0 if count == 3 else 0.0) * np.outer(np.ones(count), [1.0, 3.0]), atol=1e-12
    )


def test_given_rates_are_kept():
    robot, rng = Robot(random_description(1, 2)), np.random.default_rng(2)
    q, v, a = rng.normal(size=(3, 5, 2))
    motion = sampled_motion(robot, np.arange(5), q, v, a)
    assert motion.derived == ()
    for kept, given in ((motion.q, q), (motion.v, v), (motion.a, a)):
        np.testing.assert_array_equal(kept, given)


def arguments(**changes):
    values = {'time': np.arange(4.0), 'q': np.zeros((4, 2)), 'v': None, 'a': None}
    return {**values, **changes}


def spoiled(shape, where, value):
    array = np.zeros(shape)
    array[where] = value
    return array


@pytest.mark.parametrize(
    ('given', 'reason'),
    [
        (arguments(time=[0, 1, 1, 2]), 'sample 2 is at 1.0 s, the previous one at 1.0 s'),
        (arguments(time=[0, 2, 1, 3]), 'time must increase: sample 2'),
        (arguments(time=[0, 1, np.nan, 2]), r'time\[2\] is nan'),
        (arguments(time=[]), 'at least one sample'),
        (arguments(time=np.zeros((4, 1))), r'time must have shape \(N,\)'),
        (arguments(q=np.zeros((4, 3))), r'q must have shape \(4, 2\)'),
        (arguments(q=spoiled((4, 2), (2, 1), np.inf)), r'q\[2, 1\] is inf'),
        (arguments(v=spoiled((4, 2), (0, 1), np.nan)), r'v\[0, 1\] is nan'),
        (arguments(a=np.zeros((3, 2))), r'a must have shape \(4, 2\)'),
        (arguments(q=[[1, 2], [3]]), 'q must hold real numbers'),
    ],
)
def test_bad_samples(given, reason):
    with pytest.raises(ArgumentError, match=reason):
        sampled_motion(Robot(random_description(1, 2)), **given)


def test_floating_joints_need_their_rates():
    robot = Robot(random_description(1, 2), floating_base=True)
    q = random_configuration(robot, np.random.default_rng(0), (3,))
    with pytest.raises(ArgumentError, match='v and a must be given'):
        sampled_motion(robot, np.arange(3), q)
    with pytest.raises(ArgumentError, match='a must be given'):
        sampled_motion(robot, np.arange(3), q, np.zeros((3, robot.nv)))
    zero = np.zeros((3, robot.nv))
    motion = sampled_motion(robot, np.arange(3), q, zero, zero)
    np.testing.assert_allclose(
        with_efforts(robot, motion).efforts, [robot.gravity_torques(x) for x in q]
    )


# --- annotation ----------------------------------------------------------------------------------


@pytest.mark.parametrize('drives', [None, {}])
@pytest.mark.parametrize('mimic', [0, 2])
def test_efforts_against_pinocchio(mimic, drives):
    """Sample by sample: inverse dynamics (D-27), friction of mimic joints too, payloads.

    Friction counts once, whether it is part of the robot's equations of motion or not.
    """
    rng = np.random.default_rng(3)
    description = described(11, 6, rng, mimic=mimic, friction=5.0)
    robot, inertia = Robot(description, drives=drives), random_inertia(rng)
    oracle = Pinocchio(to_urdf(description), robot)
    time = np.linspace(0, 3, 50)
    motion = sampled_motion(robot, time, *swing(time, robot.nv, rng))
    joints = [
        joint
        for _, joint in sorted(
            (oracle.model.idx_vs[oracle.model.getJointId(joint.name)], joint)
            for joint in description.joints
        )
    ]
    dry, viscous = (
        np.array([getattr(joint, name) for joint in joints]) for name in ('friction', 'damping')
    )
    rigid, expected = [], []
    for q, v, a in zip(motion.q, motion.v, motion.a):
        G = oracle.G(q)
        rigid.append(oracle.inverse_dynamics(q, v, a))
        expected.append(rigid[-1] + G.T @ (dry * smooth_sign(G @ v) + viscous * (G @ v)))
    np.testing.assert_allclose(
        with_efforts(robot, motion, friction=False).efforts, rigid, rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(
        with_efforts(robot, motion).efforts, expected, rtol=1e-10, atol=1e-10
    )
    load = {'link6': RigidBody(inertia.mass, inertia.com, inertia.matrix)}
    np.testing.assert_allclose(
        with_efforts(robot, motion, load).efforts - expected,
        robot.payload_torques(motion.q, motion.v, motion.a, load),
        atol=1e-9,
    )


def smooth_sign(rate, smoothing=0.01):
    return rate / np.hypot(rate, smoothing)


def test_every_stretch_beyond_a_limit_is_reported():
    """One row for each stretch: joint, quantity, when, the worst sample and the side."""
    robot = Robot(read_urdf(urdf_path('planar_2r')))  # efforts 100, 50; velocities 10, 10
    time = np.arange(8.0)
    efforts, v = np.zeros((8, 2)), np.zeros((8, 2))
    efforts[:, 0] = [101, 103, 99, -100, -100.5, 100, 0, 0]
    efforts[:, 1] = [0, 0, 0, 0, 0, 0, -70, -60]
    v[3, 1] = -12
    motion = sampled_motion(robot, time, np.zeros((8, 2)), v, np.zeros((8, 2)))
    found = [
        (x.joint, x.quantity, x.start, x.end, x.time, x.value, x.limit, x.amount)
        for x in exceeded_limits(robot, motion, efforts)
    ]
    assert found == [
        ('joint1', 'effort', 0, 1, 1, 103, 100, 3),
        ('joint2', 'velocity', 3, 3, 3, -12, -10, 2),
        ('joint1', 'effort', 4, 4, 4, -100.5, -100, 0.5),
        ('joint2', 'effort', 6, 7, 6, -70, -50, 20),
    ]
    text = str(exceeded_limits(robot, motion, efforts)[3])
    assert "effort of joint 'joint2' beyond its limit -50" in text
    assert 'from 6 s to 7 s: -70 at 6 s' in text


def test_position_limits_and_feasible_motions():
    robot = Robot(random_description(1, 2, ('revolute',)))  # within -2, 2
    q = np.array([[0.0, 0.0], [2.5, 0.0], [2.0, -2.0], [0.0, -3.0]])
    motion = sampled_motion(robot, np.arange(4), q, 0 * q, 0 * q)
    found = with_efforts(robot, motion).exceeded
    assert [(x.joint, x.quantity, x.time, x.value, x.limit) for x in found] == [
        ('joint1', 'position', 1, 2.5, 2.0),
        ('joint2', 'position', 3, -3.0, -2.0),
    ]
    assert with_efforts(robot, sampled_motion(robot, [0.0, 1.0], q[[0, 2]])).feasible


# --- time scaling --------------------------------------------------------------------------------


def overload(robot, motion, factor, **options):
    """Return by how much the annotated faster motion is beyond an effort limit, at most."""
    efforts = with_efforts(robot, motion.faster(factor), **options).efforts
    return (np.abs(efforts) / robot.limits.effort - 1.0).max()


def test_largest_speed_factor_against_bisection():
    """C-069: tau(s) = g + s^2 (tau - g); at s_max one joint saturates and none exceeds."""
    rng, joints = np.random.default_rng(5), set()
    for seed in range(6):
        robot = Robot(described(seed, 5, rng, effort=(60, 150)))
        time = np.linspace(0, 4, 80)
        motion = sampled_motion(robot, time, *swing(time, robot.nv, rng))
        limit = largest_speed_factor(robot, motion, velocity_limits=False)
        if not limit.feasible:
            assert overload(robot, motion, 1e-6) > 0.0
            continue
        root = brentq(partial(overload, robot, motion), 1e-6, 100.0, xtol=1e-13)
        assert limit.factor == pytest.approx(root, rel=1e-9)
        efforts = with_efforts(robot, motion.faster(limit.factor)).efforts
        sample, k = np.argmin(abs(time - limit.time)), robot.joint_names.index(limit.joint)
        assert abs(efforts[sample, k]) == pytest.approx(robot.limits.effort[k], rel=1e-9)
        assert limit.quantity == 'effort'
        joints.add(limit.joint)
    assert len(joints) > 1


def test_speed_with_friction_and_payload():
    """Viscous friction grows with s, dry friction is constant: no faster one is missed."""
    rng = np.random.default_rng(6)
    description = described(4, 4, rng, effort=(150, 250))
    drives = {
        joint.name: Drive(damping=rng.uniform(0, 8), coulomb=rng.uniform(0, 8), smoothing=1e-12)
        for joint in description.joints
    }
    robot = Robot(description, drives=drives)
    load = {'link4': RigidBody(2.0, [0.1, 0.0, 0.2], 0.01 * np.eye(3))}
    time = np.linspace(0, 4, 60)
    motion = sampled_motion(robot, time, *swing(time, robot.nv, rng))
    limit = largest_speed_factor(robot, motion, load, velocity_limits=False)
    assert limit.feasible
    factors = np.linspace(1e-3, limit.factor * (1 - 1e-9), 40)
    assert max(overload(robot, motion, s, payloads=load) for s in factors) <= 0.0
    assert overload(robot, motion, limit.factor * (1 + 1e-6), payloads=load) > 0.0
    without = largest_speed_factor(robot, motion, load, friction=False, velocity_limits=False)
    assert without.factor != pytest.approx(limit.factor, rel=1e-3)
    assert overload(robot, motion, without.factor, payloads=load, friction=False) == pytest.approx(
        0.0, abs=1e-9
    )


@pytest.mark.parametrize('seed', [2, 5])
def test_friction_of_mimic_joints_limits_the_speed(seed):
    """A joint that follows n times as fast adds |n| its dry friction and n^2 its damping.

    At the largest factor the efforts by Pinocchio, with the friction of every joint, reach a limit.
    """
    rng = np.random.default_rng(12)
    description = described(seed, 6, rng, mimic=3, friction=8.0, effort=(250, 350))
    drives = {
        joint.name: Drive(damping=joint.damping, coulomb=joint.friction, smoothing=1e-12)
        for joint in description.joints
    }
    robot = Robot(description, drives=drives)
    oracle = Pinocchio(to_urdf(description), robot)
    rates = [oracle.model.idx_vs[oracle.model.getJointId(j.name)] for j in description.joints]
    time = np.linspace(0, 4, 40)
    motion = sampled_motion(robot, time, *swing(time, robot.nv, rng))

    def loads(factor, joints):
        """Return efforts over their limits, at some times the speed, with friction of `joints`."""
        dry, viscous = np.zeros((2, oracle.model.nv))
        for rate, joint in zip(rates, description.joints):
            if joint in joints:
                dry[rate], viscous[rate] = joint.friction, joint.damping
        efforts = []
        for q, v, a in zip(motion.q, factor * motion.v, factor**2 * motion.a):
            G = oracle.G(q)
            friction = G.T @ (dry * np.sign(G @ v) + viscous * (G @ v))
            efforts.append(oracle.inverse_dynamics(q, v, a) + friction)
        return np.abs(efforts) / robot.limits.effort

    followers = [joint for joint in description.joints if joint.mimic is not None]
    assert {np.sign(joint.mimic.multiplier) for joint in followers} == {-1.0, 1.0}
    limit = largest_speed_factor(robot, motion, velocity_limits=False)
    load = loads(limit.factor, description.joints)
    sample, k = np.unravel_index(np.argmax(load), load.shape)
    assert load[sample, k] == pytest.approx(1.0, rel=1e-9)
    assert (limit.joint, limit.time) == (robot.joint_names[k], time[sample])
    leaders = [joint for joint in description.joints if joint.mimic is None]
    assert loads(limit.factor, leaders)[sample, k] < 0.99


def test_velocity_limits_count_too():
    rng = np.random.default_rng(7)
    robot = Robot(described(2, 3, rng, effort=(1e4, 1e5)))
    time = np.linspace(0, 4, 60)
    motion = sampled_motion(robot, time, *swing(time, 3, rng))
    limit = largest_speed_factor(robot, motion)
    assert limit.quantity == 'velocity'
    assert limit.factor == pytest.approx(1.0 / np.max(np.abs(motion.v) / robot.limits.velocity))
    k = robot.joint_names.index(limit.joint)
    sample = np.argmin(abs(time - limit.time))
    assert abs(motion.faster(limit.factor).v[sample, k]) == pytest.approx(robot.limits.velocity[k])


def test_static_overload_is_infeasible():
    """No speed helps a joint that cannot hold its weight; the joint and the time are named."""
    robot = Robot.from_urdf(urdf_path('planar_2r'), gravity=(0.0, -100.0, 0.0))
    time = np.linspace(0, 1, 11)
    q = np.column_stack([np.pi / 2 - time, np.zeros(11)])  # falls from upright to level
    limit = largest_speed_factor(robot, sampled_motion(robot, time, q))
    assert (limit.feasible, limit.joint, limit.time) == (False, 'joint1', 1.0)
    assert np.isnan(limit.factor)


def test_a_motion_that_nothing_limits():
    robot = Robot.from_urdf(urdf_path('planar_2r'))
    still = sampled_motion(robot, [0.0, 1.0], np.zeros((2, 2)))
    limit = largest_speed_factor(robot, still)
    assert (limit.feasible, limit.factor, limit.joint) == (True, np.inf, '')


def test_faster_motion_is_the_same_path():
    robot, rng = Robot(random_description(1, 2)), np.random.default_rng(8)
    time = 5.0 + np.linspace(0, 2, 200)
    fast = sampled_motion(robot, time, *swing(time, 2, rng)).faster(2.5)
    again = sampled_motion(robot, fast.time, fast.q)
    assert fast.time[[0, -1]] == pytest.approx([5.0, 5.8])
    np.testing.assert_allclose(fast.v, again.v, atol=1e-4)
    np.testing.assert_allclose(fast.a, again.a, atol=3e-2)
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ArgumentError, match='factor'):
            fast.faster(bad)


def test_first_crossing_against_roots():
    """Every sign of the coefficients, zeros among them, against numpy.roots and signs beyond."""
    values = np.array([-2.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 3.0])
    grid = np.array([(a, b, c) for a in values for b in values for c in (-2.0, -1e-3, 0.0)])
    found = first_crossing(*grid.T)
    for (a, b, c), s in zip(grid, found):
        roots = np.roots([a, b, c]) if a or b else np.array([])
        ahead = sorted({0.0, *(x.real for x in roots if abs(x.imag) < 1e-12 and x.real > 0)})
        middles = [*((x + y) / 2 for x, y in pairwise(ahead)), ahead[-1] * 2 + 1.0]
        rising = [x for x, beyond in zip(ahead, middles) if a * beyond**2 + b * beyond + c > 0]
        assert s == pytest.approx(rising[0] if rising else np.inf, rel=1e-9), (a, b, c)
    assert first_crossing(*np.array([[1.0], [1.0], [-np.inf]])) == np.inf


def test_the_bound_that_is_crossed_is_named():
    """Zero is below a lower limit of 0.5, not above anything."""
    robot = Robot(random_description(1, 1, ('revolute',)))
    joint = replace(robot.description.joints[0], limits=Limits(0.5, 2.0))
    robot = Robot(replace(robot.description, joints=(joint,)))
    motion = sampled_motion(robot, [0.0, 1.0], [[0.0], [0.1]])
    (found,) = exceeded_limits(robot, motion, np.zeros((2, 1)))
    assert (found.value, found.limit, found.amount, found.end) == (0.0, 0.5, 0.5, 1.0)
