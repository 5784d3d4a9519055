# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings that cannot be evaluated are refused, by joint, sample and remedy."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot, UnknownNameError
from screw_dynamics_ros.core.identification import (
    EffortModel,
    IdentificationOptions,
    identify_dynamics,
    identify_recordings,
)
from support.robots import joint as joint_of
from support.robots import links, one_joint, robot

T = np.arange(0, 12, 0.02)


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf('urdf/planar_2r.urdf', gravity=(0, -9.81, 0))


def states():
    q = np.stack([np.sin(T), np.cos(1.3 * T)], axis=1)
    return {'t': T.copy(), 'q': q, 'v': np.gradient(q, T, axis=0), 'tau': q + 1.0}


def without(**changes):
    given = states()
    for name, change in changes.items():
        given[name] = change(given[name])
    return given


def with_number(x, number, sample=7, joint=1):
    x = x.copy()
    x[(sample, joint) if x.ndim == 2 else sample] = number
    return x


@pytest.mark.parametrize(
    ('given', 'match'),
    [
        (without(t=lambda t: 0 * t + 5.0), 'all 600 stamps are 5 s'),
        (without(t=lambda t: with_number(t, t[3])), r'stamps must increase: sample 7 .* before'),
        (without(t=lambda t: with_number(t, t[6])), r'sample 7 .* the same as sample 6'),
        (without(t=lambda t: with_number(t, np.nan)), r't\[7\] is not finite'),
        (without(t=lambda t: t[:1]), 'at least two samples'),
        (without(q=lambda q: with_number(q, np.nan)), 'q of joint joint2 is nan in sample 7'),
        (without(tau=lambda x: with_number(x, np.inf)), 'tau of joint joint2 is inf in sample 7'),
        (without(v=lambda x: with_number(x, np.nan)), 'v of joint joint2 is nan in sample 7'),
        (without(q=lambda q: q[:, :1]), r'q must have shape \(600, 2\).*joint1, joint2'),
        (without(q=lambda q: 0 * q, v=lambda v: None), 'no joint moves .* at rest'),
        (without(tau=lambda x: 0 * x), 'no joint reports efforts: they are missing or zero'),
        (without(tau=lambda x: x * [np.nan, 0]), 'no joint reports efforts'),
        (without(q=lambda q: 'x'), 'q must hold real numbers'),
        ({key: x[:100] for key, x in states().items()}, 'too short: 1.98 s'),
        ({key: x[::50] for key, x in states().items()}, 'are the stamps in seconds'),
    ],
)
def test_refused(arm, given, match):
    with pytest.raises(ArgumentError, match=match):
        identify_dynamics(arm, **given)


@pytest.mark.parametrize(
    ('options', 'error', 'match'),
    [
        ({'model': EffortModel(estimate=('mass',))}, UnknownNameError, "no 'mass'"),
        ({'model': EffortModel(estimate=())}, ArgumentError, 'nothing to estimate'),
        ({'model': EffortModel(payload_link='tool')}, UnknownNameError, "no link 'tool'"),
        ({'model': EffortModel(payload_link='base')}, ArgumentError, "'base' does not move"),
        ({'model': EffortModel(smoothing=0.0)}, ArgumentError, 'smoothing'),
        ({'model': EffortModel(stribeck_speed=0.0)}, ArgumentError, 'stribeck_speed'),
        ({'scale': ('elbow',)}, UnknownNameError, "no joint 'elbow'"),
        ({'scale': 'joint1'}, ArgumentError, 'sequence of joints'),
        ({'scale': ('joint2', 'elbow')}, UnknownNameError, "'elbow'; the joints are joint1"),
        ({'cutoff': 0.0}, ArgumentError, 'cutoff'),
        ({'held_out': -0.1}, ArgumentError, 'held_out'),
        ({'held_out': 0.501}, ArgumentError, 'held_out = 0.501 must be between 0 and 0.5'),
        ({'held_out': 0.01}, ArgumentError, 'not even one'),
    ],
)
def test_options_are_refused(arm, options, error, match):
    with pytest.raises(error, match=match):
        identify_dynamics(arm, **states(), options=IdentificationOptions(**options))


def test_other_robots_are_refused():
    joints = joint_of('j', 'a', 'b', kind='floating')
    free = Robot.from_urdf(robot(links('a b'), joints), backend='reference')
    with pytest.raises(ArgumentError, match='joints of one freedom'):
        identify_dynamics(free, T, np.zeros((600, 7)), None, np.zeros((600, 6)))
    massless = Robot.from_urdf(one_joint(), backend='reference')
    with pytest.raises(ArgumentError, match='no recordings'):
        identify_recordings(massless, [])
