# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""External wrenches: how long each acts, which are refused, and when their Jacobians compile."""

import time

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.nodes.simulation.plant import AppliedWrenches
from support.robots import urdf_path

S = 10**9
FORCE = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])


@pytest.fixture
def robot():
    return Robot.from_urdf(urdf_path('planar_2r'), backend='reference')


@pytest.fixture
def pushes(robot):
    return AppliedWrenches(robot, at_once=True)


def test_each_acts_until_its_timeout(pushes):
    pushes.push('tip', FORCE, 10 * S)
    pushes.push('link1', 2.0 * FORCE, 10 * S + S // 4)
    assert list(pushes.acting(10 * S + S // 4, 0.25)) == ['tip', 'link1']
    assert list(pushes.acting(10 * S + S // 4 + 1, 0.25)) == ['link1']
    pushes.push('tip', 3.0 * FORCE, 11 * S)
    acting = pushes.acting(11 * S, 0.25)
    assert list(acting) == ['tip']
    np.testing.assert_array_equal(acting['tip'], 3.0 * FORCE)


def test_all_end(pushes):
    pushes.push('tip', FORCE, 10 * S)
    pushes.end()
    assert pushes.acting(10 * S, 1e3) == {}
    pushes.push('tip', FORCE, 10 * S)
    assert list(pushes.acting(10 * S, 0.0)) == ['tip']


def test_generalized_forces_have_the_power_of_the_wrenches(pushes, robot):
    """With twists of the links by finite differences of their poses."""
    q, v, h = np.array([0.4, -0.9]), np.array([0.3, 1.1]), 1e-6
    wrenches = {'tip': np.arange(1.0, 7.0), 'link1': -FORCE}
    power = 0.0
    for link, wrench in wrenches.items():
        before, at, after = (robot.link_pose(q + s * h * v, link) for s in (-1, 0, 1))
        twist = np.linalg.inv(at) @ (after - before) / (2.0 * h)
        power += wrench @ [twist[2, 1], twist[0, 2], twist[1, 0], *twist[:3, 3]]
    np.testing.assert_allclose(pushes.joint_torques(q, wrenches) @ v, power, rtol=1e-6)
    np.testing.assert_array_equal(pushes.joint_torques(q, {}), [0.0, 0.0])


@pytest.mark.parametrize('number', [1.1e9, -1.1e9, float('nan'), float('inf')])
def test_wrenches_that_are_refused(pushes, number):
    with pytest.raises(UnknownNameError, match="'nose' is not a link"):
        pushes.push('nose', FORCE, S)
    for place in (0, 5):
        wrench = FORCE.copy()
        wrench[place] = number
        with pytest.raises(ArgumentError, match="on 'tip' is not finite, or beyond 1e"):
            pushes.push('tip', wrench, S)
    assert pushes.acting(S, 1.0) == {}
    pushes.push('tip', np.full(6, -1e9), S)


def test_while_time_runs_jacobians_compile_in_the_background(robot):
    """A wrench acts as soon as that is done; later ones of the same link act at once."""
    pushes = AppliedWrenches(robot, at_once=False)
    for link in ('tip', 'link1'):
        pushes.push(link, FORCE, S)
    end = time.monotonic() + 240.0
    while len(pushes.acting(S, 0.0)) < 2:
        assert time.monotonic() < end
        time.sleep(0.001)
    pushes.push('tip', 2.0 * FORCE, 2 * S)
    np.testing.assert_array_equal(pushes.acting(2 * S, 0.0)['tip'], 2.0 * FORCE)
