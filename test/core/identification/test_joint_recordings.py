# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings as they are checked: shapes, stamps, turns, efforts that are missing, loads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.identification import JointRecording, KnownLoad
from screw_dynamics_ros.core.identification.recording import (
    absent,
    checked,
    common_load,
    measured,
    moving,
)
from support.robots import joint, links, robot

T = np.arange(0.0, 1.0, 0.1)
ONES = np.ones((10, 2))
LATER = np.arange(10) >= 4


@pytest.fixture(scope='module')
def arm():
    """Return a continuous joint a and a revolute one b."""
    text = robot(
        links('x y z'),
        joint('a', 'x', 'y', kind='continuous'),
        joint('b', 'y', 'z', '<limit lower="-9" upper="9" velocity="1" effort="1"/>', 'revolute'),
    )
    return Robot.from_urdf(text, backend='reference')


def test_only_continuous_joints_are_unwrapped(arm):
    angle = np.linspace(0.0, 9.0, 10)
    wrapped = (angle + np.pi) % (2 * np.pi) - np.pi
    given = JointRecording(T, np.stack([wrapped, wrapped], axis=1), None, ONES)
    before = given.q.copy()
    found = checked(given, arm).q
    np.testing.assert_allclose(found[:, 0], angle, atol=1e-12)
    np.testing.assert_array_equal(found[:, 1], wrapped)
    np.testing.assert_array_equal(given.q, before)


def test_efforts_that_are_always_zero_are_missing(arm):
    tau = ONES * [0.0, 1.0]
    tau[3, 1] = 0.0
    given = JointRecording(T, ONES, None, tau)
    found = checked(given, arm)
    assert np.isnan(found.tau[:, 0]).all()
    np.testing.assert_array_equal(found.tau[:, 1], tau[:, 1])
    assert found.v is None
    assert tau[0, 0] == 0.0
    velocities = checked(replace(given, v=ONES * [np.nan, 2.0]), arm).v
    np.testing.assert_array_equal(velocities, ONES * [np.nan, 2.0])


@pytest.mark.parametrize(
    ('field', 'value', 'match'),
    [
        ('t', T[:1], r't must have shape \(N,\) with at least two samples, got \(1,\)'),
        ('t', T[:, None], r't must have shape \(N,\)'),
        ('t', np.where(LATER & ~np.roll(LATER, 1), np.inf, T), r't\[4\] is not finite'),
        ('t', T * 0.0 + 3.0, 'all 10 stamps are 3 s'),
        ('t', np.where(LATER, T - 0.1, T), r'sample 4 at 0.3 s is the same as sample 3 at 0.3'),
        ('t', np.where(LATER, T - 0.2, T), r'sample 4 at 0.2 s is before sample 3 at 0.3 s'),
        ('t', T[::-1], r'sample 1 at 0.8 s is before sample 0 at 0.9 s \(9 such samples\)'),
        ('t', 10.0 * T, '9 s at 1 samples per second'),
        ('q', ONES[:, :1], r'q must have shape \(10, 2\): .* each of a, b; got \(10, 1\)'),
        ('v', ONES[:9], r'v must have shape \(10, 2\)'),
        ('tau', ONES[:, 0], r'tau must have shape \(10, 2\)'),
        ('q', ONES * [1.0, np.nan], r'q of joint b is nan in sample 0 \(10 such numbers\)'),
        ('v', ONES * [1.0, np.inf], r'v of joint b is inf in sample 0 \(10 such numbers\)'),
        ('tau', ONES * 0.0, 'no joint reports efforts'),
        ('tau', ONES * np.nan, 'no joint reports efforts'),
    ],
)
def test_refused(arm, field, value, match):
    given = JointRecording(T, ONES, None, ONES)
    with pytest.raises(ArgumentError, match=match):
        checked(replace(given, **{field: value}), arm)


def test_two_samples_less_than_a_second_apart_are_accepted(arm):
    given = JointRecording(np.array([0.0, 0.99]), ONES[:2], None, ONES[:2])
    assert checked(given, arm).t.tolist() == [0.0, 0.99]


@pytest.mark.parametrize('numbers', [(2, 3, 2), (3, 2, 2), (2, 2, 3), (0, 0, 0)])
def test_joints_of_one_freedom(arm, numbers):
    """Coordinates, velocities and joints are as many, and there are some."""

    class Other:
        description = arm.description
        nq, nv = numbers[:2]
        joint_names = tuple(f'j{k}' for k in range(numbers[2]))

    with pytest.raises(ArgumentError, match=f'{numbers[2]} joints, {numbers[0]} coordinates and '
                                            f'{numbers[1]} velocities'):  # fmt: skip
        checked(JointRecording(T, ONES, None, ONES), Other())


def test_one_load_of_several_recordings():
    plain = JointRecording(T, ONES, None, ONES)
    two, three = KnownLoad('z', 2.0), KnownLoad('z', 3.0)
    assert common_load([plain, plain]) is None
    assert common_load([plain, replace(plain, load=two), replace(plain, load=KnownLoad('z', 2.0))])
    with pytest.raises(ArgumentError, match='load: 2 different loads'):
        common_load([replace(plain, load=two), replace(plain, load=three)])
    for mass in (0.0, -1.0, np.nan):
        with pytest.raises(ArgumentError, match=r'load\.mass'):
            common_load([replace(plain, load=KnownLoad('z', mass))])


def test_joints_that_move_report_or_are_absent():
    """In any recording more than a milliradian, efforts in all, absent from all."""
    small, large = (
        ONES * np.linspace(0.0, size, 10)[:, None] * [1, 0] for size in (0.9e-3, 1.1e-3)
    )
    nan = ONES * [np.nan, 1.0]
    some = nan.copy()
    some[0, 0] = 1.0
    one = JointRecording(T, small, None, ONES, absent=['a', 'b'])
    two = JointRecording(T, large + 7.0, None, nan, absent=['b'])
    assert moving([one, one]).tolist() == [False, False]
    assert moving([one, two]).tolist() == [True, False]
    assert measured([one, replace(one, tau=some)]).tolist() == [True, True]
    assert measured([one, two]).tolist() == [False, True]
    assert absent([one]) == {'a', 'b'}
    assert absent([one, two]) == {'b'}
