# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Robots with ball joints beside MuJoCo and Pinocchio, and derivatives beside differences."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from oracles.mujoco_model import MuJoCo
from screw_dynamics_ros.core import ArgumentError, DescriptionError, Drive, Robot
from screw_dynamics_ros.core.integration.generalized_alpha import GeneralizedAlpha
from screw_dynamics_ros.core.integration.runge_kutta import RungeKutta
from screw_dynamics_ros.core.integration.variational import Variational
from screw_dynamics_ros.core.mechanisms.absolute_coordinates.from_description import (
    absolute_system,
)
from screw_dynamics_ros.core.simulation import SimulatedRobot, SimulatedStack
from support.ball_robots import ROBOTS
from support.models import random_description
from support.tangents import displaced, partial

ALL = pytest.mark.parametrize('name', ROBOTS)
BACKENDS = pytest.mark.parametrize('backend', ['reference', 'python'])


@cache
def robot(name: str, backend: str) -> Robot:
    return Robot.from_mjcf(ROBOTS[name], backend=backend)


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-10) -> None:
    """Assert a relative error of the norm below the tolerance."""
    assert np.shape(actual) == np.shape(expected)
    error = np.linalg.norm(np.subtract(actual, expected))
    assert error <= tolerance * max(np.linalg.norm(expected), 1e-3)


def state(which: Robot, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return which.random_configuration(rng), *rng.normal(size=(3, which.nv))


@ALL
def test_coordinates(name):
    """A quaternion and an angular velocity for each ball, unit quaternions at the start."""
    own = robot(name, 'reference')
    for joint, kind in ((joint.name, joint.kind) for joint in own.description.joints):
        if kind.is_fixed:
            continue
        q, v = own.joint_coordinates(joint)
        assert (q.stop - q.start, v.stop - v.start) == ((4, 3) if kind.nv == 3 else (1, 1))
        start = own.neutral()[q]
        np.testing.assert_array_equal(start, [0, 0, 0, 1] if kind.nv == 3 else [0])


@BACKENDS
@ALL
def test_poses_jacobians_and_dynamics_of_mujoco(name, backend):
    own = robot(name, backend)
    theirs, (q, v, a, tau) = MuJoCo(own, ROBOTS[name]), state(own, 1)
    for body, pose in zip(theirs.bodies, theirs.poses(q), strict=True):
        close(own.link_pose(q, body), pose)
        close(own.jacobian(q, body, 'hybrid'), theirs.jacobian(q, body))
    close(own.mass_matrix(q), theirs.mass_matrix(q))
    bias = theirs.inverse_dynamics(q, v, np.zeros(own.nv))
    close(own.coriolis_torques(q, v) + own.gravity_torques(q), bias)
    close(own.inverse_dynamics(q, v, a), theirs.inverse_dynamics(q, v, a))
    close(own.forward_dynamics(q, v, tau), theirs.forward_dynamics(q, v, tau), 1e-9)
    kinetic, potential = theirs.energies(q, v)
    close(own.kinetic_energy(q, v), kinetic)
    reference = theirs.energies(own.neutral(), v)[1]
    found = own.potential_energy(q) - own.potential_energy(own.neutral())
    close(found, potential - reference)


def test_anchors_keyframes_and_limits_of_an_mjcf():
    """A keyframe has quaternions with w last; a limit of the angle is reported."""
    text = ROBOTS['pendulum'].replace('type="ball"', 'type="ball" limited="true" range="0 1"')
    key = '<keyframe><key name="up" qpos="0.5 -0.5 0.5 0.5"/></keyframe></mujoco>'
    description = Robot.from_mjcf(text.replace('</mujoco>', key)).description
    assert description.postures == {'up': {'pivot': (-0.5, 0.5, 0.5, 0.5)}}
    assert any('limit of its angle' in str(each) for each in description.findings)


@BACKENDS
def test_armature_and_damping_of_mujoco(backend):
    """The same about all axes of a ball."""
    text = ROBOTS['cable'].replace('type="ball"', 'type="ball" armature="0.3" damping="0.7"')
    own = Robot.from_mjcf(text, friction=True, backend=backend)
    theirs, (q, v, a, tau) = MuJoCo(own, text), state(own, 2)
    close(own.mass_matrix(q), theirs.mass_matrix(q))
    close(own.inverse_dynamics(q, v, a), theirs.inverse_dynamics(q, v, a))
    close(own.forward_dynamics(q, v, tau), theirs.forward_dynamics(q, v, tau), 1e-9)
    close(own.kinetic_energy(q, v), theirs.energies(q, v)[0])
    by_v = partial(lambda d: own.forward_dynamics(q, v + d, tau), own.nv)
    close(own.forward_dynamics_derivatives(q, v, tau)[1], by_v, 1e-8)
    bare = robot('cable', backend)
    assert np.abs(bare.inverse_dynamics(q, v, a) - own.inverse_dynamics(q, v, a)).max() > 0.1


def test_other_drives_of_balls_are_refused():
    with pytest.raises(ArgumentError, match="joint 'pivot' is a ball, whose drive has an armature"):
        Robot.from_mjcf(ROBOTS['pendulum'], drives={'pivot': Drive(coulomb=1.0)})
    description = robot('pendulum', 'reference').description
    joints = [replace(each, friction=0.1) for each in description.joints]
    with pytest.raises(
        DescriptionError, match="joint 'pivot' is a ball, whose drive has an armature"
    ):
        Robot(replace(description, joints=tuple(joints[:1])), backend='reference')


def test_constraints_in_absolute_coordinates():
    """Accelerations of all bodies, of a robot whose balls and hinges are constraints."""
    description = random_description(6, 4, ('ball', 'revolute'))
    own, system = Robot(description, backend='reference'), absolute_system(description)
    q, rest = own.neutral(), np.zeros(own.nv)
    a = own.forward_dynamics(q, rest, rest)
    found = system.forward_dynamics(system.configuration, np.zeros(system.nv)).reshape(-1, 6)
    for body, acceleration in zip(system.bodies, found, strict=True):
        expected = own.acceleration(q, rest, a, body.name, 'body')
        close(acceleration[:3], expected[:3], 1e-10)


@pytest.mark.parametrize('increments', ['body', 'spatial', 'mixed', 'hybrid'])
def test_rates_of_increments_against_differences(increments):
    own = robot('humanoid', 'reference')
    (q0, _, v, _), (q, *_) = state(own, 1), state(own, 2)
    X = own.difference(q0, q, increments)
    along = partial(lambda t: own.difference(q0, displaced(own, q, t[0] * v), increments), 1, 1e-3)
    close(own.increment_rate(q, X, v, increments), along[:, 0], 1e-8)


# --- motion ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'integrator'),
    [
        ('pendulum', RungeKutta),
        ('pendulum', Variational),
        ('humanoid', GeneralizedAlpha),
    ],
)
def test_motions_are_those_of_mujoco(name, integrator):
    """Methods of second order, and one of fourth, beside its fourth order with short steps."""
    own = robot(name, 'python')
    q, v = own.neutral(), np.random.default_rng(1).normal(size=own.nv)
    expected = MuJoCo(own, ROBOTS[name]).passive_motion(q, v, 0.1, 5e-4, 'RK4')
    method = integrator(own)
    for _ in range(100):
        q, v = method.step(q, v, np.zeros(own.nv), 1e-3)
    tolerance = 1e-8 if integrator is RungeKutta else 1e-4
    close(own.difference(q, expected[0]) + 1.0, np.ones(own.nv), tolerance)
    close(v, expected[1], tolerance)


@pytest.mark.parametrize(('integrator', 'error'), [('runge_kutta', 1e-5), ('semi_implicit', 0.2)])
def test_energy_balance_of_a_pendulum(integrator, error):
    """Energy [J] changes by the work of a torque in the axes of the body, some 1 of 80."""
    own = robot('pendulum', 'python')
    simulated = SimulatedRobot(own, integrator=integrator)
    torque, work, dt = np.array([3.0, -2.0, 1.0]), 0.0, 1e-3
    before = sum(simulated.energy)
    for _ in range(500):
        rates = simulated.v.copy()
        simulated.step(torque, dt)
        work += 0.5 * dt * float(torque @ (rates + simulated.v))
    gained = sum(simulated.energy) - before
    assert abs(work) > 0.5
    assert gained == pytest.approx(work, abs=error)
    assert abs(simulated.violation) < 1e-12


def test_a_stack_moves_as_each_of_its_robots():
    own = robot('pendulum', 'python')
    stack, alone = SimulatedStack(own, 2), SimulatedRobot(own)
    v = np.array([[0.3, -0.4, 2.0], [0.0, 0.0, 0.0]])
    stack.v, alone.v = v, v[0]
    for _ in range(20):
        stack.step(np.zeros((2, 3)), 0.005)
        alone.step(np.zeros(3), 0.005)
    close(stack.q[0], alone.q, 1e-9)
