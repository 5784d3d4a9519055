# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formulas of a robot with loops in one program beside its functions, and of a tree beside both."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.mechanisms.closures.example_loops import golden_four_bar
from screw_dynamics_ros.core.robot.actuated_robot import REST, ActuatedRobot
from screw_dynamics_ros.core.robot.fused_kernel import Formula
from support.models import random_description

Q, V, A = np.array([1.1]), np.array([0.7]), np.array([-0.4])


@pytest.fixture(scope='module')
def closed():
    return golden_four_bar()


def evaluated(closed, *outputs, **parameters):
    """Return outputs in the state (Q, V)."""
    state = closed.state(Q, V)
    kernel = closed.robot.fuse(
        *outputs, parameters={name: len(value) for name, value in parameters.items()}
    )
    known = {'q': state.q, 'v': state.v, 'gravity': closed.robot.gravity, **parameters}
    return kernel(*(known[name] for name in kernel.inputs))


def whole(closed, values):
    """Return a vector of all joints with values at the motors."""
    result = np.zeros(closed.robot.nv)
    result[closed.places] = values
    return result


def test_matrices_are_those_of_the_mechanism(closed):
    link = closed.link_names[-1]
    M, inertia, J = evaluated(
        closed,
        closed.mass_matrix_of_motors(),
        closed.inertia_of_joints(),
        closed.columns_of_motors(('jacobian', link, 'body')),
    )
    np.testing.assert_allclose(M, closed.mass_matrix(Q), rtol=1e-9)
    np.testing.assert_allclose(inertia, M)
    np.testing.assert_allclose(J, closed.jacobian(Q, link, 'body'), rtol=1e-9, atol=1e-12)


def test_torques_are_those_of_the_motors_and_zero_elsewhere(closed):
    gravity, coriolis = (
        closed.torques_of_motors(source)
        for source in ('gravity_torques', closed.coriolis_torques_of_all())
    )
    found = evaluated(closed, gravity, coriolis, closed.elements_of_motors(coriolis))
    expected = closed.gravity_torques(Q), closed.coriolis_torques(Q, V)
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(ours, whole(closed, theirs), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found[2], expected[1], rtol=1e-8)


def test_all_joints_follow_the_motors(closed):
    state = closed.state(Q, V)
    rates, accelerations, drift, torques = evaluated(
        closed,
        closed.rates_along('motors'),
        closed.accelerations_along('motors'),
        closed.accelerations_along(REST),
        closed.torques_of_motors(
            closed.robot.substitute('inverse_dynamics', a=closed.accelerations_along('motors'))
        ),
        motors=whole(closed, A),
    )
    np.testing.assert_allclose(rates, state.G @ A, rtol=1e-9)
    np.testing.assert_allclose(accelerations, state.G @ A + state.d, rtol=1e-9)
    np.testing.assert_allclose(drift, state.d, rtol=1e-9, atol=1e-12)
    expected = closed.inverse_dynamics(Q, V, A)
    np.testing.assert_allclose(torques, whole(closed, expected), rtol=1e-9, atol=1e-12)


def test_a_tree_is_asked_alike(closed):
    """Every member of the protocol is there for both, and changes nothing in a tree."""
    pytest.importorskip('rclpy')
    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.nodes.model.actuated import OpenRobot, actuated
    from screw_dynamics_ros.nodes.model.closed_loops import RobotWithLoops

    robot = Robot(random_description(2, 3, ('revolute', 'planar')), backend='reference')
    tree: ActuatedRobot = actuated(robot)
    assert isinstance(tree, OpenRobot)
    assert not tree.has_loops
    for same in (
        tree.torques_of_motors,
        tree.columns_of_motors,
        tree.elements_of_motors,
        tree.rates_along,
        tree.accelerations_along,
    ):
        assert same(REST) is REST
    assert isinstance(tree.inertia_of_joints(), Formula)
    looped = RobotWithLoops(closed.robot.description, closed.loops, backend='reference')
    mechanism: ActuatedRobot = actuated(looped)
    assert mechanism is looped.closed
    assert mechanism.has_loops
    members = {name for name in vars(ActuatedRobot) if not name.startswith('_')}
    assert members <= set(dir(tree)) & set(dir(mechanism))
