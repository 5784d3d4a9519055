# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Friction in proportion to the transmitted torque: by hand, inverse pairs, energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Drive, Robot
from screw_dynamics_ros.core.description.friction import load_friction_of
from screw_dynamics_ros.core.dynamics.momentum_dynamics import momentum_dynamics
from screw_dynamics_ros.core.integration.constrained_system import UnconstrainedSystem
from support.drives import GRAVITY, SCALAR, close, random_drives, state, two_masses
from support.models import random_description, random_wrenches


def loaded(description, *, smoothing: float = 0.01) -> dict[str, Drive]:
    """Return drives of which every joint has friction by load."""
    made = random_drives(description)
    return {
        joint.name: replace(
            made.get(joint.name, Drive()),
            load_friction=0.1 + 0.05 * k,
            load_friction_asymmetry=0.03 * (-1.0) ** k,
            smoothing=smoothing,
        )
        for k, joint in enumerate(description.joints)
    }


def test_lifting_takes_more_than_holding_and_lowering_less():
    """By hand: a weight of 20 N m, mu = 0.2, and a Coulomb friction of 0.5 N m."""
    drive = Drive(coulomb=0.5, load_friction=0.2, smoothing=1e-9)
    arm = Robot(two_masses(), gravity=(0, -10, 0), drives={'q1': drive}, backend='reference')
    weight = arm.gravity_torques([0, np.pi / 2])[0]
    assert weight == pytest.approx(20.0)
    for rate, torque in ((1.0, 24.5), (-1.0, 15.5), (0.0, 20.0)):
        rates = np.array([rate, 0.0])
        centrifugal = arm.coriolis_torques([0, np.pi / 2], rates)
        assert centrifugal[0] == pytest.approx(0.0, abs=1e-12)
        tau = arm.inverse_dynamics([0, np.pi / 2], rates, [0, 0])
        assert tau[0] == pytest.approx(torque)
        assert arm.transmitted_torques(rates, tau)[0] == pytest.approx(20.0)
        assert arm.friction_under_load(rates, [-20.0, 0])[0] == pytest.approx(torque - 20.0)


@pytest.mark.parametrize(
    ('floating', 'backend', 'coupled'),
    [(False, 'native', False), (True, 'python', False), (False, 'reference', True)],
)
def test_forward_dynamics_inverts_inverse_dynamics(floating, backend, coupled):
    """With wrenches, hybrid dynamics, constraints' free motion and momenta; torques by the law."""
    description = random_description(4, 6, (*SCALAR, 'fixed'))
    drives = loaded(description)
    drives = {j.name: drives[j.name] for j in description.joints if not j.kind.is_fixed}
    if coupled:
        first, *_, last = drives
        drives[last] = replace(
            drives[last], coupled_joints=(first,), coupling_ratios=(0.7,), motor_damping=0.3
        )
    arguments = {'floating_base': floating, 'gravity': GRAVITY, 'backend': backend}
    robot = Robot(description, drives=drives, **arguments)
    q, v, a = state(robot)
    wrenches = random_wrenches(robot, np.random.default_rng(4))
    tau = robot.inverse_dynamics(q, v, a, wrenches)
    smooth = Robot(description, drives=drives, friction=False, **arguments)
    L = smooth.inverse_dynamics(q, v, a, wrenches)
    expected = L + robot.friction_torques(v)
    for name, drive in drives.items():
        if name in robot.joint_names:
            k = robot.joint_coordinates(name)[1]
            sign = v[k] / np.hypot(v[k], drive.smoothing)
            power = drive.load_friction_asymmetry * np.abs(sign) * np.sign(L[k] * v[k])
            expected[k] += (drive.load_friction + power) * sign * np.abs(L[k])
    close(tau, expected, 1e-12)
    close(robot.forward_dynamics(q, v, tau, wrenches), a, 1e-9)
    held = robot.joint_names[0]
    a_all, tau_all = robot.hybrid_dynamics(q, v, a, tau, [held], wrenches)
    close(a_all, a, 1e-9)
    close(tau_all, tau, 1e-9)
    p = robot.mass_matrix(q) @ v
    v_p, _ = momentum_dynamics(robot.tree, q, p, tau, robot.gravity)
    close(v_p, v, 1e-9)


@pytest.mark.parametrize(('rate', 'torque'), [(1.0, 25.0), (-1.0, 14.0), (0.0, 20.0)])
def test_efficiencies_of_a_gear(rate, torque):
    """By hand: a weight of 20 N m takes 20 / 0.8 to lift, and leaves 20 * 0.7 to brake."""
    shares = load_friction_of(0.8, 0.7)
    drive = Drive(**shares, smoothing=1e-9)
    arm = Robot(two_masses(), gravity=(0, -10, 0), drives={'q1': drive}, backend='reference')
    q, rates = [0, np.pi / 2], np.array([rate, 0.0])
    tau = arm.inverse_dynamics(q, rates, [0, 0])
    assert tau[0] == pytest.approx(torque)
    assert arm.transmitted_torques(rates, tau)[0] == pytest.approx(20.0)
    assert arm.friction_under_load(rates, [-20.0, 0])[0] == pytest.approx(
        {1.0: -20.0 * 0.7 + 20.0, -1.0: -20.0 / 0.8 + 20.0, 0.0: 0.0}[rate]
    )


@pytest.mark.parametrize('given', [(0.0, 0.5), (0.5, 1.1), (np.nan, 0.5), (0.5, None)])
def test_efficiencies_that_are_refused(given):
    with pytest.raises(ArgumentError, match='give more than 0 and at most 1'):
        load_friction_of(*given)
    with pytest.raises(ArgumentError, match='no load moves the joint; their difference must be'):
        Drive(load_friction=0.6, load_friction_asymmetry=-0.4)


def test_it_never_adds_energy():
    """T + U falls by the work of friction, that of the load included."""
    description = random_description(9, 3, ('revolute',), chain=True)
    robot = Robot(description, gravity=GRAVITY, drives=loaded(description, smoothing=0.1))
    q, v, tau = *state(robot)[:2], np.array([3.0, -2.0, 1.0])

    def rate(x):
        q, v = x[:3], x[3:6]
        friction = tau - robot.transmitted_torques(v, tau)
        assert (friction * v >= 0.0).all()
        without_load = robot.friction_torques(v)
        assert ((friction - without_load) * v >= -1e-15).all()
        power = (friction - tau) @ v
        return np.concatenate([v, robot.forward_dynamics(q, v, tau), [power]])

    def energy(x):
        return robot.kinetic_energy(x[:3], x[3:6]) + robot.potential_energy(x[:3])

    x, h = np.concatenate([q, v, [0.0]]), 5e-4
    start = energy(x)
    for _ in range(800):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    assert abs(x[6]) > 0.1
    assert start - energy(x) == pytest.approx(x[6], rel=1e-5)


def test_what_it_is_not_implemented_for():
    drives = {'q1': Drive(load_friction=0.2)}
    robot = Robot(two_masses(), drives=drives, backend='reference')
    zero = np.zeros(2)
    with pytest.raises(ArgumentError, match='derivatives of inverse dynamics: not implemented'):
        robot.inverse_dynamics_derivatives(zero, zero, zero)
    with pytest.raises(ArgumentError, match='constrained system: not implemented'):
        UnconstrainedSystem(robot)
    smooth = Robot(two_masses(), drives=drives, friction=False, backend='reference')
    assert smooth.inverse_dynamics_derivatives(zero, zero, zero)[2].shape == (2, 2)
