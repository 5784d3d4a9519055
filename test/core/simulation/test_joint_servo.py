# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Joint servos: the response that is stated, beside joints with prescribed efforts."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Drive, Robot
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.motion.control.joint_gains import middle_of_range
from screw_dynamics_ros.core.simulation import JointServo, SimulatedRobot
from support.models import random_description
from support.robots import urdf_path

POSITION, VELOCITY, EFFORT = 'position', 'velocity', 'effort'


@pytest.fixture(scope='module')
def panda():
    drives = {
        f'panda_joint{k}': Drive(armature=0.1 * k, damping=0.5, coulomb=0.3) for k in range(1, 8)
    }
    return Robot.from_urdf(urdf_path('panda'), drives=drives)


@pytest.mark.parametrize('floating', [False, True])
@pytest.mark.parametrize('seed', range(4))
def test_accelerations_are_those_of_the_law(seed, floating):
    """Forward dynamics under the torques: joints that follow have a, the others their efforts."""
    rng = np.random.default_rng(seed)
    robot = Robot(random_description(seed, 6, mimic=1), floating_base=floating, backend='reference')
    w, zeta = 3.0, 0.7
    servo = JointServo(robot, w, zeta)
    q, v = robot.random_configuration(rng), 0.3 * rng.normal(size=robot.nv)
    modes = list(rng.choice([POSITION, VELOCITY, EFFORT], len(robot.joint_names)))
    positions, velocities, efforts = rng.normal(size=(3, robot.nv)) * 0.1
    tau = servo.torques(q, v, modes, positions, velocities, efforts)
    a = robot.forward_dynamics(q, v, tau)
    base = 6 if floating else 0
    np.testing.assert_array_equal(tau[:base], efforts[:base])
    for name, mode in zip(robot.joint_names, modes):
        at_q, at_v = (place.start for place in robot.joint_coordinates(name))
        wanted = 2 * zeta * w * (velocities[at_v] - v[at_v])
        if mode == POSITION:
            wanted += w**2 * (positions[at_v] - q[at_q])
        if mode == EFFORT:
            assert tau[at_v] == efforts[at_v]
        else:
            assert a[at_v] == pytest.approx(wanted, abs=1e-8)


def test_step_response(panda):
    """A critically damped oscillator, q = 1 - (1 + w t) exp(-w t), in all joints at once."""
    w, step, dt = 20.0, 0.05, 1e-3
    servo, simulated = JointServo(panda, w), SimulatedRobot(panda, middle_of_range(panda))
    start, target = simulated.q.copy(), simulated.q + step * np.array([1.0] * 7 + [0.01])
    zero = np.zeros(8)
    for k in range(1, 400):
        tau = servo.torques(simulated.q, simulated.v, [POSITION] * 8, target, zero, zero)
        simulated.step(tau, dt)
        t = k * dt
        expected = start + (target - start) * (1 - (1 + w * t) * np.exp(-w * t))
        np.testing.assert_allclose(simulated.q[:7], expected[:7], atol=0.03 * step)
    np.testing.assert_allclose(simulated.q, target, atol=0.01 * step)


def test_a_velocity_is_reached_and_an_effort_joint_swings_freely(panda):
    modes = [VELOCITY, POSITION, EFFORT, *[POSITION] * 5]
    servo, simulated = JointServo(panda, 30.0), SimulatedRobot(panda, middle_of_range(panda))
    hold, zero = simulated.q.copy(), np.zeros(8)
    velocities = 0.4 * np.eye(8)[0]
    for _ in range(400):
        tau = servo.torques(simulated.q, simulated.v, modes, hold, velocities, zero)
        assert tau[2] == 0.0
        simulated.step(tau, 1e-3)
    assert simulated.v[0] == pytest.approx(0.4, rel=1e-3)
    assert simulated.q[0] - hold[0] == pytest.approx(0.4 * (0.4 - 1 / 60), rel=5e-3)
    np.testing.assert_allclose(simulated.q[[1, 3, 4, 5, 6]], hold[[1, 3, 4, 5, 6]], atol=2e-4)


def test_stiffness_is_frequency_squared_times_inertia(panda):
    """A force held by one servo: the deflection it is stated to have."""
    w = 15.0
    servo, simulated = JointServo(panda, w), SimulatedRobot(panda, middle_of_range(panda))
    hold, zero = simulated.q.copy(), np.zeros(8)
    load = np.array([0, 0, 0, 0, 0, 0, 0.05, 0])
    for _ in range(1500):
        tau = servo.torques(simulated.q, simulated.v, [POSITION] * 8, hold, zero, zero)
        simulated.step(tau + load, 1e-3)
    M = panda.mass_matrix(simulated.q)
    deflection = np.linalg.solve(w**2 * M, load)
    np.testing.assert_allclose((simulated.q - hold)[:7], deflection[:7], atol=2e-3 * 0.05 / w**2)


def test_efforts_are_bounded_for_servos_only(panda):
    servo, zero = JointServo(panda, 50.0), np.zeros(8)
    q = middle_of_range(panda)
    far, modes = q + 3.0, [POSITION] * 7 + [EFFORT]
    tau = servo.torques(q, zero, modes, far, zero, np.full(8, 1e4))
    assert (np.abs(tau[:7]) <= panda.limits.effort[:7]).all()
    assert (np.abs(tau[:7]) == panda.limits.effort[:7]).any()
    assert tau[7] == 1e4


def test_what_a_mode_does_not_read_may_be_anything(panda):
    servo, zero, nan = JointServo(panda), np.zeros(8), np.full(8, np.nan)
    q = middle_of_range(panda)
    assert np.isfinite(servo.torques(q, zero, [EFFORT] * 8, nan, nan, zero)).all()
    assert np.isfinite(servo.torques(q, zero, [VELOCITY] * 8, nan, zero, nan)).all()
    assert np.isfinite(servo.torques(q, zero, [POSITION] * 8, q, zero, nan)).all()


@pytest.mark.parametrize(
    ('modes', 'commands', 'message'),
    [
        ([POSITION] * 7, (0, 0, 0), 'one mode for each of the 8 joints, got 7'),
        ([POSITION] * 8, (np.nan, 0, 0), "a position or velocity commanded to 'panda_joint1'"),
        ([VELOCITY] * 8, (0, np.inf, 0), "a position or velocity commanded to 'panda_joint1'"),
        ([POSITION] * 7 + [EFFORT], (0, 0, np.nan), "an effort commanded to 'panda_finger_joint1'"),
    ],
)
def test_commands_that_are_refused(panda, modes, commands, message):
    servo, zero = JointServo(panda), np.zeros(8)
    with pytest.raises(ArgumentError, match=message):
        servo.torques(zero, zero, modes, *(np.full(8, value) for value in commands))


def test_modes_that_do_not_exist(panda):
    servo, zero = JointServo(panda), np.zeros(8)
    with pytest.raises(UnknownNameError, match="no mode 'torque' of joint 'panda_joint1'; choose"):
        servo.torques(zero, zero, ['torque'] * 8, zero, zero, zero)
    with pytest.raises(ArgumentError, match='the natural frequency of the servo must be'):
        JointServo(panda, 0.0)
    with pytest.raises(ArgumentError, match='the damping ratio of the servo must be'):
        JointServo(panda, 1.0, -1.0)


def test_free_and_planar_joints_take_efforts():
    robot = Robot(random_description(3, 4, ('planar', 'floating', 'revolute')), backend='reference')
    several = [
        len(range(*robot.joint_coordinates(n)[1].indices(99))) > 1 for n in robot.joint_names
    ]
    servo, v = JointServo(robot), np.zeros(robot.nv)
    modes = [EFFORT if many else POSITION for many in several]
    assert any(several)
    assert np.isfinite(servo.torques(robot.neutral(), v, modes, v, v, v)).all()
    with pytest.raises(ArgumentError, match='has several freedoms and takes efforts only'):
        servo.torques(robot.neutral(), v, [VELOCITY] * len(modes), v, v, v)
