# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of exciting motions: centers, ranges, speeds and accelerations of all kinds of joints.

Motions worth recording: limits, rest at both ends, condition numbers by another library.
"""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.identification import EffortModel
from screw_dynamics_ros.core.identification.excitation import (
    MotionLimits,
    bounds,
    excite,
    moving_joints,
)
from screw_dynamics_ros.core.identification.fourier_motion import (
    FourierMotion,
    FourierSeries,
)
from screw_dynamics_ros.core.tree.multibody_tree import JointLimits
from support.paths import URDF
from support.robots import UNIT_INERTIA, joint, links, one_joint, robot

INF = np.inf
QUICK = {'restarts': 6, 'improved': 1, 'iterations': 8}
GRAVITY = (0.0, -9.81, 0.0)
TEXT = (
    (URDF / 'planar_2r.urdf')
    .read_text()
    .replace('continuous', 'revolute')
    .replace('velocity="10"', 'velocity="3" lower="-1.5" upper="2"')
)


class Arm:
    """What limits of motions need to know of a robot."""

    def __init__(self, lower, upper, velocity):
        arrays = [np.array(each, dtype=float) for each in (lower, upper, velocity)]
        n = len(arrays[0])
        self.joint_names = tuple(f'j{k + 1}' for k in range(n))
        self.nq = self.nv = n
        self.limits = JointLimits(*arrays, np.full(n, INF))


ALL = Arm([-1.0, 0.5, -9.0, -INF, 1.0, -INF], [2.0, 0.7, 9.0, INF, INF, -3.0],
          [3.0, 0.2, 2.0, INF, 2.0, 2.0])  # fmt: skip


def test_centers_and_ranges():
    """95 % of the range, at most a turn; joints with one limit stay on its side."""
    middle, half, speed, acceleration = bounds(ALL, MotionLimits())
    np.testing.assert_allclose(half, 0.95 * np.array([1.5, 0.1, *4 * [np.pi]]))
    free = 0.95 * np.pi
    np.testing.assert_allclose(middle, [0.5, 0.6, 0.0, 0.0, 1.0 + free, -3.0 - free], atol=1e-15)
    np.testing.assert_allclose(speed, 0.95 * np.array([3.0, 0.2, 2.0, 1.0, 2.0, 2.0]))
    np.testing.assert_allclose(acceleration, 2.0 * speed)  # full speed in half a second
    one_sided = Arm([-1.0, -INF], [INF, 1.0], [1.0, 1.0])
    np.testing.assert_allclose(bounds(one_sided, MotionLimits())[0], [free, -free])


def test_shares_of_the_limits():
    limits = MotionLimits(range=0.5, speed=0.1, acceleration=7.0)
    middle, half, speed, acceleration = bounds(ALL, limits)
    np.testing.assert_allclose(half, 0.475 * np.array([1.5, 0.1, *4 * [np.pi]]))
    np.testing.assert_allclose(middle[4:], [1.0 + half[4], -3.0 - half[5]])
    np.testing.assert_allclose(speed, 0.095 * np.array([3.0, 0.2, 2.0, 1.0, 2.0, 2.0]))
    np.testing.assert_allclose(acceleration, np.full(6, 0.95 * 7.0))
    bounds(ALL, MotionLimits(range=1.0, speed=1.0))


@pytest.mark.parametrize('name', ['range', 'speed'])
@pytest.mark.parametrize('value', [1.01, 0.0, -1.0, np.nan])
def test_shares_that_are_none(name, value):
    with pytest.raises(ArgumentError, match=name):
        bounds(ALL, MotionLimits(**{name: value}))


@pytest.mark.parametrize('value', [0.0, -1.0, INF])
def test_accelerations_that_are_none(value):
    with pytest.raises(ArgumentError, match='acceleration'):
        bounds(ALL, MotionLimits(acceleration=value))


def test_joints_that_cannot_move_are_named_unless_they_need_not():
    arm = Arm([-1.0, 0.5, -1.0], [2.0, 0.5, 1.0], [0.0, 1.0, 1.0])
    with pytest.raises(ArgumentError, match='velocity of j1, j2 leave no motion'):
        bounds(arm, MotionLimits())
    with pytest.raises(ArgumentError, match='velocity of j2 leave no motion'):
        bounds(arm, MotionLimits(joints=('j2', 'j3')))
    assert bounds(arm, MotionLimits(joints=('j3',)))[1][2] == pytest.approx(0.95)


def test_moving_joints():
    three = Robot.from_urdf(
        robot(
            links('a b c d'), joint('j1', 'a', 'b'), joint('j2', 'b', 'c'), joint('j3', 'c', 'd')
        ),
        backend='reference',
    )
    assert moving_joints(three, MotionLimits()).tolist() == [True] * 3
    assert moving_joints(three, MotionLimits(joints=['j3', 'j1'])).tolist() == [True, False, True]
    with pytest.raises(UnknownNameError, match="joints: no joint 'j4'; there are j1, j2, j3"):
        moving_joints(three, MotionLimits(joints=['j1', 'j4']))
    with pytest.raises(UnknownNameError, match='joints: none chosen of j1, j2, j3'):
        moving_joints(three, MotionLimits(joints=[]))


@pytest.mark.parametrize('kind', ['floating', 'fixed'])
def test_robots_that_have_no_such_motions(kind):
    """Neither those on a floating base nor those without joints."""
    free = Robot.from_urdf(
        robot(links('a b'), joint('j', 'a', 'b', kind=kind)), backend='reference'
    )
    with pytest.raises(ArgumentError, match=f"'{free.description.name}': .*one freedom"):
        moving_joints(free, MotionLimits())


@pytest.fixture(scope='module')
def pendulum():
    return Robot.from_urdf(TEXT, gravity=GRAVITY)


@pytest.fixture(scope='module')
def found(pendulum):
    return excite(pendulum, **QUICK)


def test_series_are_at_rest_at_both_ends_and_rates_are_derivatives():
    series = FourierSeries(4.0, 3)
    rng = np.random.default_rng(0)
    a, b = series.coefficients(rng.normal(size=(2, series.size)))
    motion = FourierMotion(4.0, rng.normal(size=2), a, b)
    for quantity in motion.at(np.array([0.0, 4.0]))[1:]:
        assert np.abs(quantity).max() < 1e-12
    t, h = np.linspace(0.1, 3.9, 9), 1e-5
    q, v, acceleration = motion.at(t)
    assert np.allclose((motion.at(t + h)[0] - motion.at(t - h)[0]) / (2 * h), v, atol=1e-8)
    assert np.allclose(
        (motion.at(t + h)[1] - motion.at(t - h)[1]) / (2 * h), acceleration, atol=1e-7
    )
    assert np.ptp(q, axis=0).min() > 0.1


def test_within_limits_everywhere(pendulum, found):
    q, v, a = found.motion.at(np.linspace(0, 10, 5000))
    limits = pendulum.limits
    assert np.all((limits.lower < q) & (q < limits.upper))
    assert np.all(np.abs(v) < limits.velocity)
    assert np.all(np.abs(pendulum.inverse_dynamics(q, v, a)) < limits.effort)
    assert not found.overloaded
    used = np.maximum(np.ptp(q, axis=0) / (limits.upper - limits.lower), np.abs(v).max(axis=0) / 3)
    assert np.all(used > 0.8)


def test_better_than_random_ones(found):
    assert found.condition < found.random_condition
    assert not found.held


BODY = '<inertial><origin xyz="0.2 0 0.1"/><mass value="2"/>' + UNIT_INERTIA + '</inertial>'
PENDULUM = one_joint(
    '<axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="3" effort="50"/>'
).replace('<link name="b"/>', f'<link name="b">{BODY}</link>')


@pytest.mark.parametrize('text', [TEXT, PENDULUM])
def test_the_rank_by_pinocchio(text):
    """And the condition number of a pendulum, where no weights of joints matter."""
    pinocchio = pytest.importorskip('pinocchio')
    model = pinocchio.buildModelFromXML(text)
    model.gravity.linear = np.array(GRAVITY)
    data = model.createData()
    robot = Robot.from_urdf(text, gravity=GRAVITY)
    found = excite(robot, model=EffortModel(estimate=('inertia',)), **QUICK)
    states = zip(*found.motion.at(np.linspace(0.0, 10.0, 80, endpoint=False)))
    Y = np.concatenate(
        [
            np.atleast_2d(pinocchio.computeJointTorqueRegressor(model, data, *state))
            for state in states
        ]
    )
    singular = np.linalg.svd(Y, compute_uv=False)
    assert np.sum(singular > 1e-9 * singular[0]) == len(found.parameters)
    if robot.nv == 1:
        names = [f'b/{name}' for name in PINOCCHIO]
        base = Y[:, [names.index(name) for name in found.parameters]]
        expected = np.linalg.cond(base / np.linalg.norm(base, axis=0))
        assert found.condition == pytest.approx(expected, rel=1e-6)


PINOCCHIO = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


def test_part_of_the_range_of_some_joints(pendulum):
    limits = MotionLimits(range=0.2, speed=0.5, joints=('joint2',))
    found = excite(pendulum, limits=limits, **QUICK)
    q, v, _ = found.motion.at(np.linspace(0, 10, 1000))
    assert np.ptp(q[:, 0]) == 0.0
    width = pendulum.limits.upper[1] - pendulum.limits.lower[1]
    assert np.ptp(q[:, 1]) <= 0.2 * width
    assert np.abs(v[:, 1]).max() <= 0.5 * pendulum.limits.velocity[1]
    assert not any(name.startswith('joint1/armature') for name in found.parameters)


def test_joints_too_weak_are_named():
    text = TEXT.replace('effort="50"', 'effort="0.5"')
    weak = Robot.from_urdf(text, gravity=GRAVITY)
    found = excite(weak, limits=MotionLimits(range=0.1), **QUICK)
    assert found.overloaded == ('joint2',)
    heedless = excite(weak, limits=MotionLimits(range=0.1, effort=False), **QUICK)
    assert heedless.overloaded == ()


def test_the_same_seed_gives_the_same_motion(pendulum, found):
    again = excite(pendulum, **QUICK)
    assert np.array_equal(again.motion.a, found.motion.a)


@pytest.mark.parametrize(
    ('options', 'error', 'match'),
    [
        ({'limits': MotionLimits(range=1.5)}, ArgumentError, 'range = 1.5 is a share'),
        ({'limits': MotionLimits(speed=0.0)}, ArgumentError, 'speed'),
        ({'limits': MotionLimits(acceleration=-1.0)}, ArgumentError, 'acceleration'),
        ({'limits': MotionLimits(joints=('elbow',))}, UnknownNameError, "no joint 'elbow'"),
        ({'limits': MotionLimits(joints=())}, UnknownNameError, 'none chosen'),
        ({'harmonics': 1}, ArgumentError, 'harmonics'),
        ({'period': 0.0}, ArgumentError, 'period'),
        ({'restarts': -1}, ArgumentError, 'restarts'),
    ],
)
def test_refused(pendulum, options, error, match):
    with pytest.raises(error, match=match):
        excite(pendulum, **{**QUICK, **options})


def test_limits_that_leave_no_motion():
    still = TEXT.replace('velocity="3"', 'velocity="0"')
    with pytest.raises(ArgumentError, match='joint1, joint2 leave no motion'):
        excite(Robot.from_urdf(still), **QUICK)
