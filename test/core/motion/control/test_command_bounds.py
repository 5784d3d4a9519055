# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of magnitude and rate of torque commands, and what is noted about them."""

import numpy as np
import pytest

from screw_dynamics_ros.core.motion.control.command_report import LimitLog, impossible
from screw_dynamics_ros.core.motion.control.command_settings import CommandBounds, CommandSettings
from screw_dynamics_ros.core.motion.control.steady_command import SteadyCommand, follow_steadily

JOINTS = ['a', 'b', 'c']


def bounds(limits=(10.0, 20.0, np.inf), rates=(5.0, np.inf, 2.0)):
    log = LimitLog()
    return CommandBounds(CommandSettings(JOINTS, limits, rates), log), log


def test_magnitudes():
    """Each joint by its own, of either sign, into another array or in place."""
    both, log = bounds()
    limited = np.empty(3)
    both.limit(np.array([11.0, -25.0, 1e6]), limited)
    assert limited.tolist() == [10.0, -20.0, 1e6]
    torques = np.array([-12.0, 20.0, 0.0])
    both.limit(torques, torques)
    assert torques.tolist() == [-10.0, 20.0, 0.0]
    first, second = log.take()
    assert (first.joint, first.quantity, first.wanted, first.limit, first.count) == (
        'a', 'torque', -12.0, 10.0, 2,
    )  # fmt: skip
    assert (second.joint, second.wanted, second.limit, second.count) == ('b', -25.0, 20.0, 1)
    assert str(second) == "torque of joint 'b' limited to 20, -25 wanted at most (1 times)"
    assert log.take() == ()
    both.limit(np.array([10.0, -20.0, 0.0]), torques)
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
    both, log = bounds()
    target = np.array(target)
    moved = both.limit_rates(target, np.array([1.0, 0.0, 0.0]), dt)
    np.testing.assert_allclose(target, expected, atol=1e-12)
    assert moved == bool(noted)
    found = {each.joint: (each.wanted, each.limit) for each in log.take()}
    assert found == {joint: pytest.approx(values) for joint, values in noted.items()}


def test_what_no_limit_changes():
    both, _ = bounds()
    last = [1.0, 0.0, 0.0]

    def allow(torques, last, dt):
        """Return whether torques follow a command at time 0."""
        command, nothing = SteadyCommand(), np.zeros(len(last))
        command.upper, command.rates, command.age_limit = both.upper, both.rates, 1.0
        command.command, command.gravity = np.array(last), nothing
        followed = follow_steadily(command, np.array(torques), nothing, dt, dt)
        np.testing.assert_array_equal(command.command, torques if followed else last)
        return followed

    assert allow([3.5, 20.0, 1.0], last, 0.5)
    for torque in ([3.6, 20.0, 1.0], [3.5, 20.1, 1.0], [3.5, -20.1, 1.0], [3.5, 20.0, -1.1]):
        assert not allow(torque, last, 0.5)
    assert not allow([10.1, 0.0, 0.0], [10.0, 0.0, 0.0], 0.5)
    assert both.has_rates
    assert not bounds(rates=(np.inf,) * 3)[0].has_rates


def test_the_furthest_beyond_its_limit_is_kept():
    """Also if the limit has changed meanwhile; counts go on."""
    log = LimitLog()
    log.note(['a'], 'torque', [15.0], [10.0], [10.0])
    log.note(['a'], 'torque', [-13.0], [-10.0], [10.0])
    log.note(['a'], 'rate', [3.0], [2.0], [4.0], 0.5)
    log.note(['a'], 'torque', [-9.0], [-2.0], [2.0])
    torque, rate = log.take()
    assert (torque.wanted, torque.limit, torque.count) == (-9.0, 2.0, 3)
    assert (rate.quantity, rate.wanted, rate.limit, rate.count) == ('rate', 6.0, 4.0, 1)


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
