# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of exciting motions: centers, ranges, speeds and accelerations of all kinds of joints."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.measurement.identification.dynamics.motion_limits import (
    MotionLimits,
    bounds,
    moving_joints,
)
from screw_dynamics_ros.core.tree.multibody_tree import JointLimits
from support.robots import joint, links, robot

INF = np.inf


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
