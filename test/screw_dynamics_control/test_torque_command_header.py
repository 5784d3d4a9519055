# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""torque_command.hpp beside `TorqueCommand`: equal commands for random sequences of calls."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.core.motion.control import CommandSettings, Mode, TorqueCommand
from support.cpp_programs import SANITIZERS, built, hexadecimal, needs_compilers, run

pytestmark = needs_compilers

SOURCE = Path(__file__).with_name('law_runner.cpp')
PHASES = {
    Mode.SILENT: 0,
    **dict.fromkeys((Mode.RAMPING_IN, Mode.BLENDING, Mode.ACTIVE), 1),
    Mode.HOLDING: 2,
    Mode.RAMPING_TO_ZERO: 3,
}
LOSSES = {'': 0, 'the last': 1, 'the want': 2, 'the grav': 2, 'no call ': 3}


@pytest.fixture(scope='module')
def program(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp('command')
    return built(folder, 'command', SOURCE.read_text(), '-O1', '-ffp-contract=off', *SANITIZERS)


def results_of(program: Path, lines: list[str]) -> list[list[str]]:
    """Return the words of each line that the program prints for the calls."""
    script = program.with_suffix('.txt')
    script.write_text('\n'.join(lines) + '\n')
    return [line.split() for line in run(program, str(script))]


def settings_line(settings: CommandSettings) -> str:
    times = settings.blend_time, settings.ramp_time, settings.age_limit
    return ' '.join([hexadecimal([*settings.limits, *settings.rates, *times]), settings.on_loss])


@pytest.mark.parametrize('on_loss', ['hold', 'ramp_to_zero', 'stop'])
@pytest.mark.parametrize('seed', range(3))
def test_all_commands_are_those_of_python(program, on_loss, seed):
    rng = np.random.default_rng(seed)
    n = 3
    times = (0.3, 0.5) if seed else (0.0, 0.0)
    settings = CommandSettings(
        [str(k) for k in range(n)],
        rng.choice([0.0, 5.0, 100.0, math.inf], n),
        rng.choice([50.0, 1000.0, math.inf], n),
        *times,
        age_limit=0.05,
        on_loss=on_loss,
    )
    command, now, state_time = TorqueCommand(settings), 0.0, 0.0
    command.enable()
    lines, expected = [f'command {n} {settings_line(settings)}'], []
    limited = 0
    for _ in range(2000):
        now += rng.choice([0.0, 1e-9, 0.002, 0.002, 0.01, 0.02, 0.04, 0.06, 0.3, -0.01, 7.0])
        kind = rng.choice(['step', 'step', 'step', 'step', 'tick', 'blend'])
        if kind == 'blend':
            command.blend()
            lines.append('blend')
            continue
        if kind == 'step':
            state_time = now - rng.choice([0.0, 0.0, 0.001, 0.049, 0.051, -0.01, 3.0])
            wanted = rng.uniform(-150.0, 150.0, n)
            if rng.random() < 0.05:
                wanted[rng.integers(n)] = rng.choice([math.nan, math.inf, 1e9, -1e300, -0.0])
            sent = command.step(now, wanted, np.zeros(n), state_time)
            lines.append(f'step {hexadecimal([now, state_time, *wanted])}')
        else:
            sent = command.tick(now)
            lines.append(f'tick {hexadecimal([now])}')
        report = command.report()
        limited += sum(each.count for each in report.limited)
        numbers = command.command.tolist()
        state = PHASES[report.mode], LOSSES[report.reason[:8]], report.losses, limited
        expected.append(([float(sent is not None), *numbers], state))
    results = results_of(program, lines)
    assert len(results) == len(expected)
    for words, (numbers, state) in zip(results, expected):
        assert [float.fromhex(word) for word in words[:-4]] == numbers
        assert tuple(map(int, words[-4:])) == state
    assert {1, {'hold': 2, 'ramp_to_zero': 3, 'stop': 0}[on_loss]} <= {
        state[0] for _, state in expected
    }
    assert {1, 2, 3} <= {state[1] for _, state in expected}


def test_by_hand(program):
    """30 N m with a limit of 20 N m, in a ramp of 1 s: half of the limit after half a ramp."""
    settings = CommandSettings(['a'], [20.0], [100.0], 0.0, 1.0, 0.6, 'hold')
    calls = ['step 0 0 30', 'step 0.5 0.5 30', 'step 1 1 30', 'blend', 'step 1.05 1.05 -20']
    calls += ['tick 1.5', 'tick 1.7']  # until 0.6 s, the one before remains; then it is held
    results = results_of(program, [f'command 1 {settings_line(settings)}', *calls])
    numbers = [(int(words[0]), float.fromhex(words[1])) for words in results]
    assert numbers == [(1, 0), (1, 10), (1, 20), (1, pytest.approx(15)), (0, pytest.approx(15))] + [
        (1, pytest.approx(15))
    ]


@pytest.mark.parametrize(
    ('settings', 'reason'),
    [
        ('-1 inf 0.3 1 0.1', 'limits of torques must be numbers >= 0'),
        ('nan inf 0.3 1 0.1', 'limits of torques must be numbers >= 0'),
        ('1 0 0.3 1 0.1', 'limits of rates must be positive'),
        ('1 1 nan 1 0.1', 'blend_time must be >= 0 and finite'),
        ('1 1 0.3 inf 0.1', 'ramp_time must be >= 0 and finite'),
        ('1 1 0.3 1 0', 'age_limit must be > 0 and finite'),
    ],
)
def test_settings_are_checked(program, settings, reason):
    (words,) = results_of(program, [f'command 1 {settings} hold'])
    assert ' '.join(words) == f'refused: {reason}'
