# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""law_runner.hpp beside laws and commands in Python: equal bits for random sequences of calls."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli import compile as command
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.motion.control import CommandSettings, Mode, TorqueCommand
from screw_dynamics_ros.core.motion.laws.law_source import LawSource
from screw_dynamics_ros.core.motion.laws.robot_law import RobotLaw
from screw_dynamics_ros.entry import DONE
from support.compilation import needs_llvmlite
from support.cpp_programs import (
    SANITIZERS,
    built,
    hexadecimal,
    needs_compilers,
    needs_fma,
    run,
    shared_object,
)
from support.robots import urdf_path

pytestmark = [needs_compilers, needs_llvmlite, needs_fma]

SOURCE = Path(__file__).with_name('law_runner.cpp')
LINK, FINGER = 'panda_hand_tcp', 'panda_finger_joint1'
SENT, KEPT, NO_LAW, NO_STATE, LOST = range(5)
LAWS = {
    'gravity': 'gravity_compensation',
    'computed': 'computed_torque',
    'impedance': 'cartesian_impedance+joint_limit_repulsion',
    'reflection': 'force_reflection',
}
FIELDS = ('q', 'v', 'a', 'tau', 'pose', 'twist')
TASK = {'pose': 7, 'twist': 6, 'wrench': 6}
SETTINGS = CommandSettings(
    [f'panda_joint{k}' for k in range(1, 8)],
    [80.0] * 4 + [12.0, math.inf, 6.0],
    [1000.0] * 6 + [math.inf],
    blend_time=0.05,
    ramp_time=0.1,
    age_limit=0.05,
)
JOINTS, N = SETTINGS.joints, 7
NAN = math.nan


@pytest.fixture(scope='module')
def robot() -> Robot:
    return Robot.from_urdf(urdf_path('panda'))


@pytest.fixture(scope='module')
def folder(tmp_path_factory) -> Path:
    """Return the folder of the programs and laws."""
    folder = tmp_path_factory.mktemp('runner')
    for name, flags in (('checked', ['-O1', *SANITIZERS]), ('counted', ['-O2'])):
        built(folder, name, SOURCE.read_text(), '-ffp-contract=off', *flags)
    for name, law in LAWS.items():
        options = ['--law', law, '--name', name, '--folder', str(folder)]
        options += ['--law-option', f'link={LINK}'] if name == 'impedance' else []
        options += ['--target', 'x86_64-linux-gnu', '--cpu', 'x86-64-v3']
        assert command.main([str(urdf_path('panda')), *options]) == DONE
        shared_object(folder / f'{name}.c', f'-D{name.upper()}_OBJECT', f'{name}.o')
    return folder


def law_of(robot: Robot, name: str) -> RobotLaw:
    options = {'link': LINK} if name == 'impedance' else {}
    return LawSource(LAWS[name]).law.on(robot, **options)


def first_line(
    fields, settings=SETTINGS, fixed=(f'{FINGER} 0.01',), has_wrench=False, description='-'
) -> str:
    times = settings.blend_time, settings.ramp_time, settings.age_limit
    return ' '.join(
        ['runner', f'{len(JOINTS)}', *JOINTS, f'{len(fixed)}', *fixed, f'{len(fields)}', *fields]
        + [
            '1',
            str(int(has_wrench)),
            str(description),
            hexadecimal([*settings.limits, *settings.rates, *times]),
        ]
        + [settings.on_loss]
    )


def gains_text(gains) -> str:
    rows = [f'{name} {np.size(x)} {hexadecimal(np.ravel(x))}' for name, x in gains.items()]
    return ' '.join([str(len(gains)), *rows])


class Model:
    """What `LawRunner` does, with `RobotLaw.step` and `TorqueCommand`."""

    def __init__(self, robot: Robot, settings: CommandSettings) -> None:
        self.robot, self.settings, self.law = robot, settings, None
        self.pose_of = robot.fuse(('link_pose', LINK))
        self.command = TorqueCommand(settings)
        self.is_new = False
        self.restart()

    def restart(self) -> None:
        self.command = TorqueCommand(self.settings)
        self.command.enable()
        self.state_time, self.begun = -math.inf, None
        self.followed = {}

    def install(self, law: RobotLaw, gains) -> None:
        self.law, self.gains, self.is_new = law, dict(gains), True

    def update(self, now, state_time, q, v, effort, reference):
        """Return the outcome, and the command."""
        self.begun = now if self.begun is None else self.begun
        if self.law is None:
            self.begun = None
            return NO_LAW, np.zeros(N)
        if not state_time > self.state_time:
            if self.state_time == -math.inf and now - self.begun <= self.settings.age_limit:
                return KEPT, self.command.command
            return self._outcome(self.command.tick(now))
        if not np.isfinite([q, v, effort]).all():
            return NO_STATE, self.command.command
        dt = state_time - self.state_time
        is_off = self.command.report().mode in (Mode.SILENT, Mode.RAMPING_TO_ZERO)
        begins = is_off or dt > self.settings.age_limit
        if self.is_new or self.blends:
            self.command.blend()
        if begins or self.is_new:
            self.memory, dt = np.zeros(self.law.memory.size), 0.0
        self.is_new = self.blends = False
        self.state_time = state_time
        full = [np.append(each, last) for each, last in ((q, 0.01), (v, 0.0), (effort, 0.0))]
        self._follow(reference, full[0], begins)
        given = {name: self.followed[name] for name in self.law.reference.shapes}
        has_tau = 'tau' in self.law.state.shapes
        tau, memory = self.law.step(
            *full[:2],
            state={'tau': full[2]} if has_tau else {},
            dt=dt,
            reference=given,
            parameters=self.law.values_of(self.gains),
            memory=self.memory,
        )
        if np.isfinite(tau).all() and np.isfinite(memory).all():
            self.memory = memory
        return self._outcome(self.command.step(now, tau[:N], np.zeros(N), state_time))

    blends = False

    def set_gains(self, gains) -> None:
        self.gains |= gains
        self.blends = True

    def _follow(self, reference, q, begins) -> None:
        """Take what is given; the rest remains, or is that of the measured state."""
        if begins:
            self.followed = {}
        start = dict.fromkeys(('v', 'a', 'tau'), np.zeros(N + 1)) | {
            'q': q,
            'pose': np.reshape(self.pose_of(q)[0], (4, 4)),
            'twist': np.zeros(6),
        }
        ends = {'v': 'q', 'a': 'q', 'twist': 'pose'}
        known = self.known = getattr(self, 'known', {}) if not begins else {}
        for name in FIELDS:
            given = reference[name]
            n = N if given.size == N and name not in TASK else None
            value = self.followed.get(name, np.zeros(N + 1) if n else None)
            if n:
                value = np.array(value)
                is_given = np.isfinite(given)
                value[:N][is_given] = given[is_given]
                if name in ends:
                    is_over = ~is_given & ~np.isfinite(reference[ends[name]])
                    value[:N][is_over] = 0.0
                seen = known.setdefault(name, np.zeros(N, bool)) | is_given
                if name in self.law.reference.shapes:
                    value[:N][~seen] = start[name][:N][~seen]
                    value[N] = start[name][N]
                    seen = np.ones(N, bool)
                known[name] = seen
                self.followed[name] = value
                continue
            if np.isfinite(given).all():
                value = self.matrix(given) if name == 'pose' else np.roll(given, 3)
            elif name in ends and value is not None and not np.isfinite(reference['pose']).all():
                value = np.zeros(6)
            if value is None and name in self.law.reference.shapes:
                value = start[name]
            if value is not None:
                self.followed[name] = value

    @staticmethod
    def matrix(given):
        """Return the pose of position and quaternion, in the order of operations of the header."""
        norm = np.hypot(np.hypot(*given[3:5]), np.hypot(*given[5:7]))
        x, y, z, w = given[3:] / norm
        pose = np.eye(4)
        pose[:3, :3] = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
        pose[:3, 3] = given[:3]
        return pose

    def _outcome(self, sent):
        if sent is not None:
            return SENT, sent
        silent = self.command.report().mode is Mode.SILENT
        return (LOST if silent else KEPT), self.command.command


def references(rng, q) -> dict[str, np.ndarray]:
    """Return a reference near the state, with numbers that are not given."""
    quaternion = rng.normal(size=4)
    given = {
        **{name: rng.normal(size=N) for name in ('v', 'a', 'tau')},
        'q': q + 0.1 * rng.normal(size=N),
        'pose': np.append(rng.uniform(-0.5, 0.5, 3), quaternion / np.linalg.norm(quaternion)),
        'twist': rng.normal(size=6),
    }
    for values in given.values():
        if rng.random() < 0.4:
            values[rng.random(values.size) < rng.choice([0.2, 1.0])] = NAN
    return given


@pytest.mark.parametrize(('seed', 'on_loss'), [(0, 'ramp_to_zero'), (1, 'hold'), (2, 'stop')])
def test_random_sequences_have_the_bits_of_python(folder, robot, seed, on_loss):
    rng = np.random.default_rng(seed)
    settings = CommandSettings(
        JOINTS, SETTINGS.limits, SETTINGS.rates, 0.05, 0.1, 0.05, on_loss=on_loss
    )
    model, laws = Model(robot, settings), {name: law_of(robot, name) for name in LAWS}
    lines, expected = [first_line(FIELDS, settings)], []
    q, v, effort, now, state_time = 0.3 * np.ones(N), np.zeros(N), np.zeros(N), 0.0, -1.0
    for turn in range(1500):
        event = rng.random()
        if turn == 3 or event < 0.02:
            name = 'computed' if turn == 3 else rng.choice([*LAWS])
            gains = {'damping': rng.uniform(0.0, 3.0, 8)} if name == 'gravity' else {}
            model.install(laws[name], gains)
            lines.append(f'install {name}.so {gains_text(gains)}')
        elif event < 0.04 and model.law is laws['computed']:
            gains = {'frequency': rng.uniform(1.0, 30.0)}
            model.set_gains(gains)
            lines.append(f'gains {gains_text(gains)}')
        elif event < 0.05:
            model.restart()
            lines.append('restart')
        now += rng.choice([0.001] * 20 + [0.0, 0.02, 0.06, 0.3])
        if rng.random() < 0.9:
            state_time = now - rng.choice([0.0] * 20 + [0.06])
        q, v = q + 0.01 * rng.normal(size=N), 0.3 * rng.normal(size=N)
        effort = rng.normal(size=N)
        inputs = [now, state_time, *q, *v, *effort]
        if rng.random() < 0.01:
            inputs[rng.integers(2, len(inputs))] = rng.choice([NAN, math.inf])
        reference = references(rng, q)
        given = np.concatenate([reference[name] for name in FIELDS])
        outcome, sent = model.update(now, state_time, *np.reshape(inputs[2:], (3, N)), reference)
        expected.append([outcome, *sent])
        lines.append(f'update {hexadecimal([*inputs, *given])}')
    script = folder / f'script{seed}.txt'
    script.write_text('\n'.join(lines) + '\n')
    for program in ('checked', 'counted'):
        results = [line.split() for line in run(folder / program, str(script))[2:]]
        assert len(results) == len(expected)
        for words, numbers in zip(results, expected):
            assert [float.fromhex(word) for word in words[: N + 1]] == numbers
            assert words[N + 1] == '0'  # calls of the allocator and of locks
    assert {SENT, KEPT, NO_LAW, NO_STATE, LOST} <= {row[0] for row in expected}


# --- by hand --------------------------------------------------------------------------------------


def results_of(folder: Path, lines: list[str]) -> list[list[str]]:
    """Return the words of each line that the program prints for the calls."""
    (folder / 'script.txt').write_text('\n'.join(lines) + '\n')
    return [line.split() for line in run(folder / 'checked', str(folder / 'script.txt'))]


def update(now, q, reference, v=None, state_time=None) -> str:
    """Return the call for a state without efforts, at `now` unless given."""
    v = np.zeros(N) if v is None else v
    state_time = now if state_time is None else state_time
    return f'update {hexadecimal([now, state_time, *q, *v, *np.zeros(N), *reference])}'


STIFF = CommandSettings(JOINTS, [math.inf] * N, [math.inf] * N, 0.0, 0.0, 0.05, on_loss='stop')
Q = np.array([0.1, -0.6, 0.2, -2.0, 0.3, 1.5, 0.4])


def torques(words: list[str]) -> np.ndarray:
    assert words[0] == str(SENT)
    return np.array([float.fromhex(word) for word in words[1 : N + 1]])


def gravity(robot: Robot, q) -> np.ndarray:
    return robot.gravity_torques(np.append(q, 0.01))[:N]


def test_interfaces_have_the_names_of_reference_generators(folder):
    interfaces, states = results_of(
        folder, [first_line(['pose', 'q', 'wrench', 'v'], has_wrench=1)]
    )
    joints = [f'{joint}/{name}' for name in ('position', 'velocity') for joint in JOINTS]
    pose = [f'position.{axis}' for axis in 'xyz'] + [f'orientation.{axis}' for axis in 'xyzw']
    wrench = [f'{name}.{axis}' for name in ('force', 'torque') for axis in 'xyz']
    assert interfaces == [*joints, *pose, *wrench]
    efforts = [f'{joint}/effort' for joint in JOINTS]
    assert states == [*joints, *efforts, *(f'wrist/{each}' for each in wrench)]
    (words,) = results_of(folder, [first_line(['q', 'positions'])])
    assert ' '.join(words).startswith("refused: no reference 'positions'; there are q, v, a, tau,")


def test_a_law_holds_the_state_in_which_it_begins(folder, robot):
    """Without a reference: gravity only, and springs back to where it began."""
    nothing = np.full(13, NAN)
    moved = Q + 0.01 * np.arange(N)
    lines = [first_line(['pose', 'twist'], STIFF), 'install impedance.so 0']
    refused = results_of(folder, lines)[2]
    assert "reads 'q' of the reference, which this program does not fill" in ' '.join(refused)
    lines = [first_line(['q', 'pose', 'twist'], STIFF)]
    lines += ['install impedance.so 1 cartesian_impedance.null_stiffness 1 0']
    nothing = np.full(N + 13, NAN)
    lines += [update(0.0, Q, nothing), update(0.01, moved, nothing)]
    lines += ['restart', update(0.02, moved, nothing)]
    first, second, third = map(torques, results_of(folder, lines)[2:])
    np.testing.assert_allclose(first, gravity(robot, Q), atol=1e-9)
    np.testing.assert_allclose(third, gravity(robot, moved), atol=1e-9)
    full = np.append(moved, 0.01)
    J = robot.jacobian(full, LINK, 'hybrid')
    start, pose = (robot.link_pose(np.append(q, 0.01), LINK) for q in (Q, moved))
    turns = sum(np.cross(pose[:3, k], start[:3, k]) for k in range(3)) / 2.0
    F = np.concatenate([30.0 * turns, 500.0 * (start[:3, 3] - pose[:3, 3])])
    np.testing.assert_allclose(second, gravity(robot, moved) + (J.T @ F)[:N], atol=1e-9)


def test_numbers_that_are_not_given_are_the_last_valid_ones(folder, robot):
    """A velocity lasts while there are positions; without them it is zero."""
    nothing = np.full(N, NAN)
    q_d, v_d = Q + 0.1, np.full(N, 0.3)
    partial = np.where(np.arange(N) % 2, q_d + 0.1, NAN)
    rows = [(q_d, v_d), (nothing, nothing), (partial, nothing), (q_d, nothing), (nothing, v_d)]
    lines = [first_line(['q', 'v'], STIFF), 'install impedance.so 0', 'install joint.so 0']
    lines += [update(0.001 * k, Q, np.concatenate(row)) for k, row in enumerate(rows)]
    law_file(folder, 'joint', 'joint_impedance')
    results = [torques(words) for words in results_of(folder, lines)[3:]]
    followed = [(q_d, v_d), (q_d, 0 * v_d), (np.where(np.arange(N) % 2, q_d + 0.1, q_d), 0 * v_d)]
    followed += [(q_d, 0 * v_d), (q_d, v_d)]
    for found, (position, velocity) in zip(results, followed, strict=True):
        expected = 100.0 * (position - Q) + 5.0 * velocity + gravity(robot, Q)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def law_file(folder: Path, name: str, law: str, urdf: str = 'panda', *options: str) -> None:
    own = ['--law', law, '--name', name, '--folder', str(folder), *options]
    assert command.main([str(urdf_path(urdf)), *own]) == DONE
    shared_object(folder / f'{name}.c')


def test_a_quaternion_that_is_none_is_refused(folder):
    pose = np.array([0.4, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    nothing, no_twist = np.full(N, NAN), np.full(6, NAN)
    lines = [first_line(['q', 'pose', 'twist'], STIFF), 'install impedance.so 0']
    lines += [
        update(0.001 * k, Q, np.concatenate([nothing, given, no_twist]))
        for k, given in enumerate([np.full(7, NAN), pose])
    ]
    first, second = results_of(folder, lines)[2:]
    np.testing.assert_array_equal(torques(first), torques(second))
    assert (first[-1], second[-1]) == ('0', '1')


def test_a_swap_has_no_gap(folder):
    """The command continues from the last one, and reaches the other law in the blend time."""
    settings = CommandSettings(JOINTS, [math.inf] * N, [math.inf] * N, 0.1, 0.0, 0.05)
    nothing = np.full(2 * N, NAN)
    given = np.concatenate([Q + 1.0, np.zeros(N)])
    law_file(folder, 'joint', 'joint_impedance')
    lines = [first_line(['q', 'v'], settings), 'install gravity.so 0']
    lines += [update(0.001 * k, Q, nothing) for k in range(3)]
    lines += ['install joint.so 0']
    lines += [update(0.001 * k, Q, given) for k in range(3, 200)]
    found = np.array([torques(words) for words in results_of(folder, lines)[2:]])
    np.testing.assert_allclose(found[3], found[2], atol=1e-12)
    assert np.abs(np.diff(found, axis=0)).max() <= 100.0 * 15.0 / 8.0 * 0.001 / 0.1 + 1e-9
    np.testing.assert_allclose(found[-1] - found[0], np.full(N, 100.0))


def test_laws_that_do_not_fit_are_refused_and_the_first_remains(folder):
    law_file(folder, 'other', 'gravity_compensation', 'planar_2r')
    law_file(folder, 'floating', 'gravity_compensation', 'panda', '--floating-base')
    (folder / 'posed.py').write_text(POSED)
    law_file(folder, 'posed', f'{folder}/posed.py:posed')
    lines = [first_line([], STIFF, fixed=()), 'install gravity.so 0']
    assert "needs joint 'panda_finger_joint1'" in ' '.join(results_of(folder, lines)[2])
    lines = [first_line(['pose'], STIFF), 'install gravity.so 0']
    lines += ['install other.so 0', 'install floating.so 0', 'install posed.so 0']
    lines += ['install gravity.so 1 damping 1 -1', 'install gravity.so 1 stiffness 1 1']
    lines += ['install gravity.so 1 damping 2 1 1', 'install none.so 0', 'gains 1 damping 1 nan']
    lines += [update(0.0, Q, np.full(7, NAN))]
    *refused, last = results_of(folder, lines)[2:]
    for robot, words in (('panda', []), ('planar_2r', ['refused:'])):
        lines = [first_line([], STIFF, description=urdf_path(robot)), 'install gravity.so 0']
        found = results_of(folder, lines)[2:]
        assert [line[0] for line in found] == words
        assert all("is for description 'panda' with hash" in ' '.join(line) for line in found)
    reasons = [
        "needs joint 'joint1'",
        "has several coordinates of joint 'floating_base'",
        "follows the pose of an unknown link: name it by the option 'link'",
        "parameter 'damping' must be in [0.000000, inf], not -1.0",
        "has no parameter 'stiffness'; it has damping",
        "parameter 'damping' needs 1 or 8 numbers, not 2",
        'none.so cannot be opened',
        "parameter 'damping' must be in [0.000000, inf], not nan",
    ]
    for words, reason in zip(refused, reasons, strict=True):
        assert words[0] == 'refused:'
        assert reason in ' '.join(words)
    assert last[0] == str(SENT)


POSED = """
from screw_dynamics_ros.core.law import control_law

@control_law()
def posed(robot, state, reference, parameters, memory):
    return robot.gravity_torques(state.q) * reference.pose[0, 0]
"""
