# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States that are set, saved and restored; equal runs are equal bit by bit."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.errors import ArgumentError
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import (
    ContactPoint,
    Plane,
    SimulatedRobot,
    SimulatedStack,
    Spring,
)
from support.free_boxes import UPRIGHT, free_box
from support.robots import urdf_path

POINTS = [ContactPoint('panda_hand', [0, y, 0.1], 0.01) for y in (-0.1, 0.1)]
TABLE = Plane([0, 0, 0.6], [0.1, 0.0, 1.0], stiffness=2e4, damping=1.0, friction=0.6)
SPRING = Spring('panda_link4', [0, 0, 0], [0.5, 0.5, 1.0], 50.0, 2.0, 0.3)


@pytest.fixture(scope='module')
def panda():
    return Robot.from_urdf(urdf_path('panda'))


def pressed(panda, kind=SimulatedRobot, *count):
    """Return a robot whose hand falls on a table and slides there."""
    q = middle_of_range(panda)
    return kind(panda, *count, q=q, planes=[TABLE], contact_points=POINTS, springs=[SPRING])


def drive(simulated, steps, seed):
    """Press with 60 N and step with random torques; return all bytes of the states on the way."""
    robot, rng, seen = simulated.robot, np.random.default_rng(seed), b''
    for k in range(steps):
        if k % 20 == 0:
            pushed = 3.0 * rng.normal(size=robot.nv)
        tau = robot.gravity_torques(simulated.q) - 5.0 * simulated.v + pushed
        simulated.step(tau, 1e-3, {'panda_hand': np.array([0, 0, 0, 0, 0, 60.0])})
        seen += simulated.q.tobytes() + simulated.v.tobytes() + simulated.stop_torques.tobytes()
        seen += simulated.contact_wrenches['panda_hand'].tobytes()
    return seen


@pytest.mark.parametrize(('kind', 'count'), [(SimulatedRobot, ()), (SimulatedStack, (9,))])
def test_two_runs_are_equal_and_a_saved_state_goes_on_the_same(panda, kind, count):
    first, second = pressed(panda, kind, *count), pressed(panda, kind, *count)
    assert drive(first, 300, 1) == drive(second, 300, 1)
    assert np.asarray(first.contact_wrenches['panda_hand']).any()
    saved = first.save()
    ahead = drive(first, 200, 2)
    first.restore(saved)
    assert drive(first, 200, 2) == ahead
    second.restore(saved)
    assert drive(second, 200, 2) == ahead


def test_what_is_saved_does_not_change(panda):
    simulated = pressed(panda)
    saved = simulated.save()
    before = saved.q.tobytes(), saved.v.tobytes(), saved.memory.tobytes()
    drive(simulated, 20, 3)
    simulated.restore(saved)
    simulated.q[0] += 1.0
    simulated.v[0] += 1.0
    assert before == (saved.q.tobytes(), saved.v.tobytes(), saved.memory.tobytes())


def test_states_of_other_simulations_are_refused(panda):
    simulated, other = pressed(panda), SimulatedRobot(panda)
    with pytest.raises(ArgumentError, match='the saved state is of another simulation'):
        simulated.restore(other.save())
    with pytest.raises(ArgumentError, match='the saved state is of another simulation'):
        SimulatedStack(panda, 2).restore(SimulatedStack(panda, 3).save())


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda q, v: (q[:5], v), r'q must have shape \(8,\)'),
        (lambda q, v: (q, v[:5]), r'v must have shape \(8,\)'),
        (lambda q, v: (q * np.nan, v), 'a state must be finite'),
        (lambda q, v: (q, v + np.inf), 'a state must be finite'),
        (lambda q, v: (q + 9.0 * np.eye(8)[3], v), "joint 'panda_joint4' cannot be at 7"),
    ],
)
def test_states_that_are_refused_change_nothing(panda, change, message):
    simulated = pressed(panda)
    drive(simulated, 20, 4)
    before = simulated.save()
    with pytest.raises(ArgumentError, match=message):
        simulated.set_state(*change(simulated.q.copy(), simulated.v.copy()))
    assert simulated.save().q.tobytes() == before.q.tobytes()
    assert simulated.save().memory.tobytes() == before.memory.tobytes()


def test_a_set_state_is_taken_over(panda):
    simulated = pressed(panda)
    q, v = simulated.q + 0.01, np.linspace(-1, 1, 8)
    upper = panda.limits.upper
    q[0] = upper[0] + 1e-9
    simulated.set_state(q, v)
    assert simulated.q[0] == upper[0]
    np.testing.assert_array_equal(simulated.q[1:], q[1:])
    np.testing.assert_array_equal(simulated.v, v)


def test_quaternions_get_unit_length_or_are_refused():
    simulated = SimulatedRobot(free_box(backend='reference'))
    simulated.set_state([0, 0, 1, 0, 0, 0.6, 0.8 + 1e-8], np.zeros(6))
    assert abs(simulated.violation) < 1e-15
    with pytest.raises(ArgumentError, match=r"the quaternion of 'box' has the length 1\.1"):
        simulated.set_state([0, 0, 1, 0, 0, 0, 1.1], np.zeros(6))
    with pytest.raises(ArgumentError, match="the quaternion of 'box' has the length 0"):
        simulated.set_state([0, 0, 1, 0, 0, 0, 0], np.zeros(6))
    simulated.q = np.array([0, 0, 0, *UPRIGHT]) * 1.01
    assert simulated.violation == pytest.approx(0.01)


def test_a_new_configuration_begins_new_contacts(panda):
    """The way there does not stretch the friction: no force along the plane at rest."""
    simulated = pressed(panda)
    drive(simulated, 300, 1)
    q = simulated.q.copy()
    simulated.q, simulated.v = q, np.zeros(8)
    assert simulated.stepping is not None
    R = panda.link_pose(q, 'panda_hand')[:3, :3]
    force = R @ simulated.contact_wrenches['panda_hand'][3:]
    assert force @ TABLE.normal > 1.0
    np.testing.assert_allclose(force, (force @ TABLE.normal) * TABLE.normal, atol=1e-9)
