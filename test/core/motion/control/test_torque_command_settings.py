# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of commanded torques, and limits made of a description's and of parameters."""

import math
import pickle

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.motion.control import CommandSettings, command_limits, rate_limits
from support.robots import BUNDLED
from support.torque_rig import make

INF = math.inf


def test_settings_are_values():
    assert make(limits=5.0) == make(limits=5.0)
    assert make(limits=5.0) != make(limits=6.0)
    assert hash(make(limits=5.0)) == hash(make(limits=5.0))
    assert pickle.loads(pickle.dumps(make())) == make()


def test_settings_keep_no_array_of_the_caller():
    limits = np.array([1.0, 2.0])
    settings = CommandSettings(['a', 'b'], limits, [INF, INF])
    limits[:] = math.nan
    assert settings.limits == (1.0, 2.0)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'limits': [1.0, math.nan]}, "limits: joint 'b' has nan; give a number >= 0"),
        ({'limits': [1.0, -2.0]}, "limits: joint 'b' has -2.0"),
        ({'rates': [0.0, 1.0]}, "rates: joint 'a' has 0.0; give a positive number"),
        ({'rates': [math.nan, 1.0]}, "rates: joint 'a' has nan"),
        ({'blend_time': -0.1}, 'blend_time must be a finite number >= 0, got -0.1'),
        ({'ramp_time': INF}, 'ramp_time must be a finite number >= 0, got inf'),
        ({'age_limit': 0.0}, 'age_limit must be a finite positive number, got 0.0'),
        ({'age_limit': 'long'}, "age_limit must be a finite positive number, got 'long'"),
        (
            {'on_loss': 'panic'},
            "on_loss must be one of hold, gravity, ramp_to_zero, stop, got 'panic'",
        ),
        ({'on_end': None}, 'on_end must be one of hold, gravity, ramp_to_zero, stop, got None'),
        ({'joints': ('a', 'a')}, "joints: 'a' is named twice"),
    ],
)
def test_bad_settings_are_refused_by_name(changes, message):
    with pytest.raises(ArgumentError) as caught:
        make(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize('name', ['limits', 'rates'])
def test_limits_of_another_length_are_refused(name):
    values = {'limits': [1.0, 1.0], 'rates': [1.0, 1.0], name: [1.0, 1.0, 1.0]}
    with pytest.raises(ArgumentError, match=rf'{name} must have shape \(2,\), got \(3,\)'):
        CommandSettings(['a', 'b'], **values)


def test_limits_of_a_description_and_of_parameters():
    robot = Robot.from_urdf(BUNDLED / 'panda.urdf', backend='reference')
    efforts = dict(zip(robot.joint_names, robot.limits.effort.tolist()))
    joints = ['panda_joint7', 'panda_joint1', 'panda_joint2']
    limits = command_limits(joints, efforts, 0.5, {'panda_joint2': 20.0})
    assert limits.tolist() == [6.0, 43.5, 20.0]
    rates = rate_limits(joints, limits, 10.0, {'panda_joint1': 7.0})
    assert rates.tolist() == [60.0, 7.0, 200.0]


def test_joints_without_a_limit():
    limits = command_limits(
        ['none', 'infinite', 'zero', 'own'],
        {'infinite': INF, 'zero': 0.0, 'own': 0.0},
        0.5,
        {'own': INF},
    )
    assert limits.tolist() == [INF, INF, 0.0, INF]
    assert rate_limits(['none', 'infinite', 'zero', 'own'], limits, 2.0).tolist() == [INF] * 4
    assert rate_limits(['a'], np.array([3.0])).tolist() == [INF]
    assert command_limits([], {}).shape == rate_limits([], np.zeros(0)).shape == (0,)


@pytest.mark.parametrize(
    ('arguments', 'error', 'message'),
    [
        (({}, 0.0), ArgumentError, 'effort limit factor must be a finite positive number, got 0.0'),
        (
            ({}, 1.0, {'b': -1.0}),
            ArgumentError,
            "effort limit: joint 'b' has -1.0; give a number >= 0",
        ),
        (
            ({}, 1.0, {'c': 1.0}),
            UnknownNameError,
            "effort limit: there is no joint 'c'; the joints are a",
        ),
        (({'a': math.nan},), ArgumentError, "effort limit of the description: joint 'a' has nan"),
    ],
)
def test_bad_limits_are_refused_by_name(arguments, error, message):
    with pytest.raises(error) as caught:
        command_limits(['a', 'b'], *arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ('arguments', 'error', 'message'),
    [
        ((0.0,), ArgumentError, 'rate limit factor must be a positive number, got 0.0'),
        ((math.nan,), ArgumentError, 'rate limit factor must be a positive number, got nan'),
        ((1.0, {'a': 'fast'}), ArgumentError, "rate limit: joint 'a' has 'fast'; give a positive"),
        ((1.0, {'a': 0.0}), ArgumentError, "rate limit: joint 'a' has 0.0; give a positive number"),
        ((1.0, {'c': 1.0}), UnknownNameError, "rate limit: there is no joint 'c'"),
    ],
)
def test_bad_rate_limits_are_refused_by_name(arguments, error, message):
    with pytest.raises(error) as caught:
        rate_limits(['a', 'b'], np.array([1.0, 2.0]), *arguments)
    assert message in str(caught.value)
