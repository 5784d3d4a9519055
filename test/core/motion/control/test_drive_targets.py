# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Positions, velocities and gains beside the torques of a command."""

import numpy as np
import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile.typed.library import calls
from screw_dynamics_ros.core.motion.control import Mode, TorqueCommand
from screw_dynamics_ros.core.motion.control import command_rules as rules
from screw_dynamics_ros.core.motion.control.drive_targets import (
    DriveTargets,
    follow_state,
    write_targets,
)
from support.robots import urdf_path
from support.torque_rig import INF, make

K, D = np.array([50.0, 0.0]), np.array([2.0, 1.0])
Q, Q_REF, V_REF = np.array([0.3, -0.2]), np.array([0.5, 0.1]), np.array([0.4, -0.6])
WEIGHT = np.array([6.0, -4.0])
FUNCTIONS = follow_state, rules.step, write_targets


class Drives:
    """Two drives at joints a and b; a has stiffness, both have damping."""

    def __init__(self, functions=FUNCTIONS, limits=INF, **changes):
        self.follow, self.step_rules, self.write = functions
        self.now, self.dt = 0.0, 0.01
        self.reference, self.state = np.zeros((4, 2)), np.zeros((3, 2))
        self.state[0] = Q
        self.targets = DriveTargets(self.reference.reshape(-1), self.state)
        settings = make(limits=limits, **changes)
        self.targets.configure(
            np.array(settings.limits), K, D, np.array([20.0, 0.0]), np.array([0.2, 0.1])
        )
        self.command = TorqueCommand(self.targets.settings(settings))

    def refer(self, q=Q_REF, v=V_REF):
        self.reference[:3] = np.ones(2), q, v

    def step(self, count=1, wanted=WEIGHT, age=0.001):
        """Let states come; return the blocks of the last numbers, None if nothing is sent."""
        sent, c, d = False, self.command, self.targets
        for _ in range(count):
            self.now += self.dt
            self.follow(d, c, np.array(wanted), WEIGHT)
            sent = self.step_rules(c, d.wanted, d.gravity, self.now, self.now - age)
            if sent:
                self.write(d, c)
        return d.numbers.reshape(6, 2).copy() if sent else None

    def tick(self, count=1):
        """Let time pass without states."""
        sent = None
        for _ in range(count):
            self.now += self.dt
            sent = self.command.tick(self.now)
            if sent is not None:
                self.write(self.targets, self.command)
        return None if sent is None else self.targets.numbers.reshape(6, 2).copy()

    def active(self):
        self.command.enable()
        self.step(100)
        assert self.command.report().mode is Mode.ACTIVE
        return self


def torque(numbers, q=Q, v=0.0):
    """Return the torque of the drives."""
    effort, p, w, k, d, _ = numbers
    return k * (p - q) + d * (w - v) + effort


def test_without_a_reference_only_torque_and_damping():
    """Nothing moves when it is enabled: at rest the torque is the ramped effort."""
    drives = Drives()
    assert drives.step() is None
    drives.command.enable()
    for _ in range(60):
        effort, p, w, k, d, _ = numbers = drives.step()
        np.testing.assert_array_equal(p, Q)
        assert not k.any()
        assert not w.any()
        np.testing.assert_array_equal(d, D)
        np.testing.assert_array_equal(torque(numbers), effort)
    np.testing.assert_array_equal(effort, WEIGHT)


def test_a_reference_is_followed_without_a_step():
    """The drive ends with the reference and all its stiffness; a joint without stiffness has v."""
    drives = Drives().active()
    drives.refer()
    drives.command.blend()
    torques = [torque(drives.step())]
    np.testing.assert_allclose(torques[0], WEIGHT)
    for _ in range(30):
        numbers = drives.step()
        torques.append(torque(numbers))
    assert np.abs(np.diff(torques, axis=0)).max() < 1.5  # of 10 + 0.8 N m within 0.2 s
    _, p, w, k, d, _ = numbers
    np.testing.assert_allclose(p, [Q_REF[0], Q[1]])
    np.testing.assert_array_equal([w, k, d], [V_REF, K, D])
    drives.reference[:] = 0.0
    drives.command.blend()
    np.testing.assert_allclose(torque(drives.step()), torques[-1] - D * V_REF)
    _, p, w, k, d, _ = drives.step(30)
    np.testing.assert_array_equal([p, w, k, d], [Q, [0.0, 0.0], [0.0, 0.0], D])


def test_limits_are_those_of_the_sum():
    """Of effort and spring; a reference that is far away is noted as a torque."""
    drives = Drives(limits=8.0, rates=100.0).active()
    drives.refer(q=Q + 1.0)
    last = None
    for _ in range(50):
        effort, p, _, k, *_ = drives.step()
        total = effort + k * (p - Q)
        assert np.abs(total).max() <= 8.0 + 1e-9
        assert last is None or np.abs(total - last).max() <= 1.0 + 1e-9
        last = total
    assert total[0] == pytest.approx(8.0)
    noted = {each.joint for each in drives.command.report().limited}
    assert noted == {'a (stiffness)'}


def test_a_joint_whose_limit_is_zero_has_no_stiffness():
    drives = Drives(limits=[0.0, 8.0]).active()
    drives.refer()
    effort, _, _, k, d, _ = drives.step(50)
    assert (effort[0], k[0], d[0]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize('action', ['hold', 'gravity', 'ramp_to_zero', 'stop'])
def test_states_stop(action):
    """The position that is held does not move; otherwise stiffness goes, damping remains."""
    drives = Drives(on_loss=action).active()
    drives.refer()
    before = drives.step(100)
    drives.now += 0.05
    numbers = drives.tick()
    if action == 'stop':
        assert numbers is None
        return
    numbers = drives.tick(100) if action != 'ramp_to_zero' else drives.tick(39)
    if action == 'hold':
        np.testing.assert_array_equal(numbers[[0, 1, 3, 4, 5]], before[[0, 1, 3, 4, 5]])
    else:
        np.testing.assert_allclose(numbers[3], 0.0, atol=1e-3 * K[0])
        if action == 'gravity':
            np.testing.assert_array_equal(numbers[0], WEIGHT)
    assert not numbers[2].any()
    np.testing.assert_array_equal(numbers[4], D)
    drives.step(100)
    np.testing.assert_allclose(drives.targets.numbers, before.reshape(-1))


def test_the_last_command_brakes_only():
    drives = Drives().active()
    drives.refer()
    drives.step(100)
    drives.command.disable()
    sent = None
    while (numbers := drives.step()) is not None:
        sent = numbers
    effort, _, w, k, d, servo = sent
    assert not np.any([effort, w, k])
    np.testing.assert_array_equal(d, D)
    assert servo[0] == pytest.approx(Q_REF[0])


def test_states_that_are_no_numbers_change_nothing():
    drives = Drives(on_loss='hold').active()
    drives.refer()
    before = drives.step(100)
    after = drives.step(wanted=[np.nan, 0.0])
    assert np.isfinite(after).all()
    np.testing.assert_array_equal(after[[0, 1, 3, 4]], before[[0, 1, 3, 4]])
    assert 'is nan' in drives.command.report().reason


def test_servos_move_to_the_reference_at_the_velocity_limit():
    """Without one they stay where torques began; offsets are limited, positions within limits."""
    drives = Drives()
    drives.targets.speeds = np.array([1.0, 0.5])
    drives.targets.upper = np.array([0.45, 1.0])
    drives.active()
    drives.state[0] -= 0.05  # sags
    assert drives.step()[5] == pytest.approx([0.45, -0.2])  # 0.3 + 6 / 20, limited by 0.2 and 0.45
    drives.refer(q=np.array([0.2, 0.1]))
    first = drives.step()[5]
    assert first == pytest.approx([0.45, -0.195])
    assert drives.step(100)[5] == pytest.approx([0.4, 0.1])
    drives.reference[:] = 0.0
    assert drives.step(100)[5] == pytest.approx([0.4, 0.1])


def test_servos_begin_where_they_are_again():
    """Moved by hand while torques were off; the weight is held at once, 6 / 20, limited by 0.2."""
    drives = Drives().active()
    drives.refer()
    drives.step(100)
    drives.reference[:] = 0.0
    drives.command.disable()
    while drives.step() is not None:
        pass
    drives.state[0] = [-0.4, 0.7]
    drives.step(3)
    drives.command.enable()
    assert drives.step()[5].tolist() == pytest.approx([-0.2, 0.7])


def test_soft_servos_give_way():
    """Also below 1 N m/rad; a stiffness of 0 means that there is no servo."""
    targets = Drives().targets
    targets.configure(np.full(2, INF), K, D, np.array([0.5, 0.0]), np.array([0.2, 0.1]))
    assert targets.compliance.tolist() == [2.0, 0.0]


@pytest.mark.parametrize('error', [0.9, 1.1])
def test_sag_of_servos_with_a_wrong_stiffness(error):
    """An arm at rest in static equilibrium: what is left is 15 % of the sag at most."""
    robot = Robot.from_urdf(urdf_path('panda').read_text())
    n, random = robot.nv, np.random.default_rng(2)
    stiffness = random.uniform(200.0, 400.0, n)
    reference, state = np.zeros((4, n)), np.zeros((3, n))
    reference[0] = 1.0
    reference[1] = 0.5 * (robot.limits.lower + robot.limits.upper) + random.uniform(-0.3, 0.3, n)
    targets = DriveTargets(reference.reshape(-1), state)
    nothing = np.zeros(n)
    targets.configure(np.full(n, INF), nothing, nothing, stiffness * error, np.full(n, 1.0))
    command = TorqueCommand(make(joints=robot.joint_names, rates=1e6))
    command.enable()
    q = reference[1].copy()
    for _ in range(50):  # q = p - g(q) / k
        q = reference[1] - robot.gravity_torques(q) / stiffness
    sag = np.abs(q - reference[1]).max()
    for k in range(300):
        state[0] = q
        wanted = robot.gravity_torques(reference[1])
        follow_state(targets, command, wanted, wanted)
        assert rules.step(command, targets.wanted, targets.gravity, 0.01 * k, 0.01 * k)
        write_targets(targets, command)
        q = targets.numbers[5 * n :] - robot.gravity_torques(q) / stiffness
    assert sag > 0.05
    assert np.abs(q - reference[1]).max() < 0.15 * sag


@pytest.mark.parametrize('on_loss', ['hold', 'gravity', 'ramp_to_zero', 'stop'])
def test_compiled_targets_have_the_bits_of_python(on_loss):
    """Random states and references, with losses, pauses, limits and torques that are NaN."""
    pytest.importorskip('llvmlite')
    random, made = np.random.default_rng(7), []
    count = 1500
    requests = random.choice(['enable', 'blend', 'disable'], count, p=[0.98, 0.015, 0.005])
    times = random.choice([0.002, 0.3], count, p=[0.995, 0.005])
    ages = random.choice([0.001, 0.2], count, p=[0.995, 0.005])
    torques = random.normal(0.0, 20.0, (count, 2))
    torques[::500] = np.nan
    states = random.normal(0.0, 0.1, (count, 3, 2))
    references = random.normal(0.0, 0.3, (count, 4, 2))
    references[:, 0] = np.repeat(random.integers(0, 2, (count // 50, 2)), 50, axis=0)
    references *= references[:, :1]
    for functions in (FUNCTIONS, calls(*FUNCTIONS)):
        drives, sent = Drives(functions, [30.0, 25.0], rates=[INF, 9e3], on_loss=on_loss), []
        drives.targets.speeds = np.array([1.0, np.inf])
        for k, request in enumerate(requests):
            getattr(drives.command, request)()
            drives.dt = times[k]
            drives.state[:], drives.reference[:] = states[k], references[k]
            numbers = drives.step(wanted=torques[k], age=ages[k]) if k % 97 else drives.tick()
            sent.append(None if numbers is None else numbers.tobytes())
        made.append((sent, drives.command.report()))
    assert made[0] == made[1]
    assert sum(each is not None for each in made[0][0]) > 400
