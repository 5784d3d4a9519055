# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rates of generalized forces, linear models, and sensitivity to the geometry.

Spec IDs: D-40 to D-42.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

from screw_dynamics_ros.core import Robot, UnknownNameError
from screw_dynamics_ros.core.dynamics.force_rates import WRENCHES, inverse_dynamics_rates
from screw_dynamics_ros.core.dynamics.geometric_sensitivity import pose_sensitivity
from screw_dynamics_ros.core.lie import se3
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.compilation import ALL_CASES, build, close, states
from support.tangents import displaced, partial


def motion(robot: Robot) -> list[np.ndarray]:
    """Return q and four derivatives."""
    q, v, a = (x[0] for x in states(robot, 1).values())
    return [q, v, a, *np.random.default_rng(4).uniform(-1.5, 1.5, (2, robot.nv))]


@pytest.mark.parametrize('case', ['tree', 'mimic'])
def test_rates_along_a_trajectory(case):
    """D-42 against differences of the torques of a polynomial motion."""
    robot = build(case, 'reference')
    q, v, a, j, s = motion(robot)

    def torques(t):
        t = t[0]
        return robot.inverse_dynamics(
            q + t * v + t**2 / 2 * a + t**3 / 6 * j + t**4 / 24 * s,
            v + t * a + t**2 / 2 * j + t**3 / 6 * s,
            a + t * j + t**2 / 2 * s,
        )

    tau, dtau, ddtau = robot.inverse_dynamics_rates(q, v, a, j, s)
    close(tau, torques([0.0]), 1e-13)
    close(dtau, partial(torques, 1)[:, 0], 1e-9)
    second = partial(lambda t: partial(lambda u: torques(t + u), 1)[:, 0], 1)[:, 0]
    close(ddtau, second, 1e-8)


@ALL_CASES
def test_representations_agree(case):
    """D-42: body-fixed, spatial and hybrid; the chain rule with D-40 for free bodies too."""
    robot = build(case, 'reference')
    tree = build_tree(robot.description, floating_base=case == 'planar, floating')
    q, v, a, j, s = motion(robot)
    rates = robot.inverse_dynamics_rates(q, v, a, j, s)
    for representation in WRENCHES:
        other = inverse_dynamics_rates(tree, q, v, a, j, s, robot.gravity, representation)
        for x, y in zip(rates, other, strict=True):
            close(y, x, 1e-12)
    close(rates[0], robot.inverse_dynamics(q, v, a), 1e-12)
    dq, dv, M = robot.inverse_dynamics_derivatives(q, v, a)
    close(rates[1], dq @ v + dv @ a + M @ j, 1e-11)
    with pytest.raises(UnknownNameError, match='body, spatial, hybrid'):
        inverse_dynamics_rates(tree, q, v, a, j, s, robot.gravity, 'mixed')


def test_rate_of_the_weight():
    """D-42: what gravity adds to the rates; in body axes it turns, with the rate -omega x g."""
    robot = build('tree', 'reference')
    q, v, a, j, s = motion(robot)
    with_gravity = robot.inverse_dynamics_rates(q, v, a, j, s)
    robot.gravity = (0, 0, 0)
    without = robot.inverse_dynamics_rates(q, v, a, j, s)
    robot.gravity = (0, 0, -9.81)

    def weight(t):
        return robot.gravity_torques(q + t[0] * v + t[0] ** 2 / 2 * a)

    close(with_gravity[1] - without[1], partial(weight, 1)[:, 0], 1e-9)
    assert np.abs(with_gravity[1] - without[1]).max() > 0.1


# --- linear models --------------------------------------------------------------------------------


@ALL_CASES
def test_linear_model(case):
    """D-40: x' = A x + B u against the difference of two motions, free bodies included."""
    robot = build(case, 'reference')
    q, v, tau = (x[0] for x in states(robot, 1).values())
    model, n = robot.linearized(q, v, tau), robot.nv
    a = robot.forward_dynamics(q, v, tau)

    def rate(x):  # of the deviation x = (dq, dv) from the reference motion
        other_q, other_v = displaced(robot, q, x[:n]), v + x[n:]

        def deviation(t):
            here, there = displaced(robot, q, t[0] * v), displaced(robot, other_q, t[0] * other_v)
            return robot.difference(here, there)

        acceleration = robot.forward_dynamics(other_q, other_v, tau)
        return np.concatenate([partial(deviation, 1)[:, 0], acceleration - a])

    for x in np.random.default_rng(2).normal(size=(2, 2 * n)):
        close(model.A @ x, partial(lambda t, x=x: rate(t[0] * x), 1, 2e-3)[:, 0], 1e-7)
    close(model.B[n:] @ robot.mass_matrix(q), np.eye(n), 1e-11)
    assert not model.B[:n].any()


def test_discretised_model():
    """Zero-order hold: scipy's, and the same motion for any step."""
    from scipy.signal import cont2discrete

    robot = build('tree', 'reference')
    q, v, tau = (x[0] for x in states(robot, 1).values())
    model, n = robot.linearized(q, v, tau), robot.nv
    discrete = model.discretized(0.01)
    A, B, *_ = cont2discrete((model.A, model.B, np.eye(2 * n), np.zeros((2 * n, n))), 0.01)
    close(discrete.A, A, 1e-12)
    close(discrete.B, B, 1e-12)
    close(discrete.A, expm(0.01 * model.A), 1e-12)
    half = model.discretized(0.005)
    close(half.A @ half.B + half.B, B, 1e-12)


# --- geometry -------------------------------------------------------------------------------------


@ALL_CASES
def test_geometric_sensitivity(case):
    """D-41: torques and poses by the placement of a joint, against moved joints."""
    robot = build(case, 'reference')
    floating = case == 'planar, floating'
    q, v, a = (x[0] for x in states(robot, 1).values())
    link = robot.link_names[-1]
    joint = [joint for joint in robot.description.joints if joint.type != 'fixed'][1]

    def moved(pi):
        changed = replace(joint, origin=joint.origin @ se3.exp(pi))
        description = replace(
            robot.description,
            joints=tuple(changed if j is joint else j for j in robot.description.joints),
        )
        return Robot(description, floating_base=floating, backend='reference')

    sensitivity = robot.geometric_sensitivity(q, v, a, joint.name)
    expected = partial(lambda pi: moved(pi).inverse_dynamics(q, v, a), 6)
    close(sensitivity, expected, 1e-8)
    assert np.abs(sensitivity).max() > 1e-3
    C_inverse = se3.inverse(robot.link_pose(q, link))
    poses = np.moveaxis(partial(lambda pi: moved(pi).link_pose(q, link), 6), -1, 0)
    twists = np.stack([se3.vee(C_inverse @ dC) for dC in poses], axis=-1)
    tree = build_tree(robot.description, floating_base=floating)
    close(pose_sensitivity(tree, q, link, joint.name), twists, 1e-9)


def test_unknown_joint():
    robot = build('tree', 'reference')
    x = np.zeros(robot.nv)
    with pytest.raises(UnknownNameError, match="'elbow'"):
        robot.geometric_sensitivity(x, x, x, 'elbow')
