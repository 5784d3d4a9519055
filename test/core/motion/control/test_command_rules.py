# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of magnitude and rate of torque commands, and what is noted about them."""

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.typed.library import calls
from screw_dynamics_ros.core.motion.control import command_rules as rules
from screw_dynamics_ros.core.motion.control.command_report import (
    ActedLimit,
    LimitLog,
    impossible,
    note,
)
from support.torque_rig import Rig

JOINTS = ['a', 'b', 'c']


def limited(limits=(10.0, 20.0, np.inf), rates=(5.0, np.inf, 2.0)):
    command = Rig(joints=JOINTS, limits=limits, rates=rates).command
    return command, command.log


def test_magnitudes():
    """Each joint by its own, of either sign, into another array or in place."""
    command, log = limited()
    rules.limit(command, np.array([11.0, -25.0, 1e6]), command.target)
    assert command.target.tolist() == [10.0, -20.0, 1e6]
    torques = np.array([-12.0, 20.0, 0.0])
    rules.limit(command, torques, torques)
    assert torques.tolist() == [-10.0, 20.0, 0.0]
    first, second = log.take()
    assert first == ActedLimit('a', 'torque', -12.0, 10.0, 2)
    assert second == ActedLimit('b', 'torque', -25.0, 20.0, 1)
    assert str(second) == "torque of joint 'b' limited to 20, -25 wanted at most (1 times)"
    assert log.take() == ()
    rules.limit(command, np.array([10.0, -20.0, 0.0]), torques)
    assert log.take() == ()


@pytest.mark.parametrize(
    ('target', 'dt', 'expected', 'noted'),
    [
        ([2.0, 99.0, 0.5], 0.5, [2.0, 99.0, 0.5], {}),
        ([4.6, 99.0, -3.0], 0.5, [3.5, 99.0, -1.0], {'a': (7.2, 5.0), 'c': (-6.0, 2.0)}),
        ([-4.0, -99.0, 0.9], 0.5, [-1.5, -99.0, 0.9], {'a': (-10.0, 5.0)}),
        ([3.5, 0.0, 1.0], 0.5, [3.5, 0.0, 1.0], {}),
        ([4.0, 99.0, 0.0], 0.5, [3.5, 99.0, 0.0], {'a': (6.0, 5.0)}),
        ([1.0, 99.0, 0.0], 0.0, [1.0, 99.0, 0.0], {}),
        ([2.0, 99.0, -1.0], 0.0, [1.0, 99.0, 0.0], {'a': (np.inf, 5.0), 'c': (-np.inf, 2.0)}),
        ([2.0, 99.0, 0.0], -1.0, [1.0, 99.0, 0.0], {'a': (np.inf, 5.0)}),
    ],
)
def test_rates(target, dt, expected, noted):
    """From the command (1, 0, 0), by the rate times the time; nothing in no time."""
    command, log = limited()
    command.command[0] = 1.0
    is_late = rules.approach(command, np.array(target), command.command, dt)
    np.testing.assert_allclose(command.command, expected, atol=1e-12)
    assert is_late == bool(noted)
    found = {each.joint: (each.wanted, each.limit) for each in log.take()}
    assert found == {joint: pytest.approx(values) for joint, values in noted.items()}


def test_the_furthest_beyond_its_limit_is_kept():
    """Also if the limit has changed meanwhile, and in the log of another robot; counts go on."""
    log = LimitLog(['a'])
    note(log, 0, 15.0, 10.0)
    note(log, 0, -13.0, 10.0)
    note(log, 1, 6.0, 4.0)
    log = LimitLog(['b'], log.take())
    note(log, 2, -9.0, 2.0)
    note(log, 0, 3.0, 1.0)
    assert log.take() == (
        ActedLimit('a', 'torque', -9.0, 2.0, 3),
        ActedLimit('a', 'rate', 6.0, 4.0, 1),
        ActedLimit('b', 'torque', 3.0, 1.0, 1),
    )
    assert log.take() == ()


@pytest.mark.parametrize('on_loss', ['hold', 'gravity', 'ramp_to_zero', 'stop'])
def test_compiled_rules_have_the_bits_of_python(monkeypatch, on_loss):
    """Random torques with ramps, blends, limits, late states, and numbers that are not finite."""
    pytest.importorskip('llvmlite')
    random, made = np.random.default_rng(5), []
    requests = random.choice(['enable', 'blend', 'disable'], 1500, p=[0.98, 0.015, 0.005])
    times = random.choice([0.002, 0.3], 1500, p=[0.995, 0.005])
    ages = random.choice([0.001, 0.2], 1500, p=[0.98, 0.02])
    torques = random.normal(0.0, 20.0, (1500, 2))
    torques[::500] = np.nan
    for step in (rules.step, *calls(rules.step)):
        monkeypatch.setattr(rules, 'step', step)
        rig, commands = Rig(limits=[30.0, 25.0], rates=[np.inf, 9e3], on_loss=on_loss), []
        for request, rig.dt, age, torque in zip(requests, times, ages, torques):
            getattr(rig.command, request)()
            commands.append(rig.step(torque, torque / 2, age))
        made.append((commands, rig.command.report()))
    assert made[0] == made[1]
    assert made[0][1].losses > 10
    assert {each.quantity for each in made[0][1].limited} == {'torque', 'rate'}


def test_impossible_torques_are_named():
    good, bad = np.array([1.0, 2.0]), np.array([1.0, np.nan])
    joints = ['a', 'b']
    assert impossible(joints, 1e9, wanted=bad, gravity=good) == (
        "the wanted torque of joint 'b' is nan"
    )
    assert impossible(joints, 1e9, wanted=good, gravity=np.array([-1e9, 0.0])) == (
        "the gravity torque of joint 'a' is -1e+09"
    )
    huge = np.array([4e8, 7e8])
    assert impossible(joints, 1e9, wanted=huge, gravity=good) == (
        'the wanted and gravity torques add up to 1e+09 and more'
    )
