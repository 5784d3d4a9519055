# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gains of the efforts of single joints, against regressions with known errors."""

from __future__ import annotations

import numpy as np
import pytest

from screw_dynamics_ros.core.identification.effort_check import check_efforts
from support.effort_equations import effort_equations

COUNT = 4000


def checked(gain, deviation, *, armature=0.0):
    """Return the check of a joint with friction and an armature.

    Columns and noise are orthogonal: the gain found is `gain`, with about this deviation.
    """
    columns = np.random.default_rng(0).normal(size=(COUNT, 6))
    columns[:, 0] = 1.0
    Q = np.sqrt(COUNT) * np.linalg.qr(columns)[0]
    rigid, v, a, direction, noise = Q[:, 1:, None].swapaxes(0, 1)
    torque = rigid + armature * a + 0.7 * v + 0.4 * direction - 0.3
    effort = gain * torque + deviation * np.sqrt(COUNT) * noise
    given = effort_equations(effort, rigid=rigid, v=v, a=a, direction=direction)
    (check,) = check_efforts(given, ('j',))
    return check


@pytest.mark.parametrize('gain', [3.0, -0.2])
def test_the_gain_and_its_deviation(gain):
    """Of white noise: that of a mean, widened by that of its autocorrelation time."""
    check = checked(gain, 0.01, armature=2.0)
    assert check.joint == 'j'
    assert check.gain == pytest.approx(gain, rel=1e-9)
    assert 0.01 < check.deviation < 0.0105
    assert check.identified
    assert check.sign == np.sign(gain)
    assert check.is_scaled


@pytest.mark.parametrize(
    ('gain', 'is_scaled'),
    [(1.0, False), (2.02, False), (2.04, True), (-2.02, False), (-2.04, True),
     (0.48, False), (0.46, True), (-0.48, False), (-0.46, True)],
)  # fmt: skip
def test_gains_of_torques_are_within_a_factor_of_two(gain, is_scaled):
    """Others certainly are not, by three deviations."""
    assert checked(gain, 0.01).is_scaled == is_scaled


@pytest.mark.parametrize('gain', [5.0, -5.0])
@pytest.mark.parametrize(('deviation', 'identified'), [(0.95, True), (1.05, False)])
def test_gains_are_identified_if_their_deviation_is_below_a_fifth(gain, deviation, identified):
    check = checked(gain, deviation)
    assert check.identified == identified


@pytest.mark.parametrize(('gain', 'sign'), [(-3.3, -1.0), (-2.7, 1.0), (3.3, 1.0)])
def test_the_other_sign_needs_three_deviations(gain, sign):
    assert checked(gain, 1.0).sign == sign


def test_large_rotors_hide_the_gain_but_not_the_sign():
    """The torque of rotors is nearly all of it: accelerations without gravity are one column."""
    rng = np.random.default_rng(1)
    a, v = rng.normal(size=(2, COUNT, 1))
    rigid = 0.1 * a
    effort = -5.0 * (rigid + 2.0 * a) + 0.01 * rng.normal(size=a.shape)
    given = effort_equations(effort, rigid=rigid, v=v, a=a, direction=np.sign(v))
    (check,) = check_efforts(given, ('j',))
    assert check.sign == -1.0
    assert check.deviation == np.inf
    assert not check.identified
    assert not check.is_scaled


def test_joints_without_motion_of_their_own_have_no_columns_of_friction():
    """Of a joint at rest, gravity alone tells the gain; zero columns do not spoil it."""
    rng = np.random.default_rng(2)
    rigid, zero = rng.normal(size=(COUNT, 1)), np.zeros((COUNT, 1))
    effort = 4.0 * rigid + 0.1 * rng.normal(size=rigid.shape)
    (check,) = check_efforts(effort_equations(effort, rigid=rigid, v=zero, a=zero, direction=zero),
                             ('j',))  # fmt: skip
    assert check.gain == pytest.approx(4.0, abs=0.01)
    assert check.identified
    assert check.is_scaled


@pytest.mark.parametrize('rigid', [1.0, 1e-10])
def test_joints_without_efforts_or_torques_have_no_gain(rigid):
    rng = np.random.default_rng(3)
    effort = rng.normal(size=(50, 1))
    if rigid == 1.0:
        effort[7] = np.nan
    given = effort_equations(effort, rigid=rigid * rng.normal(size=(50, 1)))
    (check,) = check_efforts(given, ('j',))
    assert np.isnan(check.gain)
    assert check.deviation == np.inf
    assert (check.identified, check.sign, check.is_scaled) == (False, 1.0, False)


def test_errors_that_are_correlated_in_time_widen_the_deviation():
    """A moving average of five has five times the variance of the mean."""
    rng = np.random.default_rng(4)
    rigid = np.repeat(rng.normal(size=(COUNT // 50, 1)), 50, axis=0)
    white = rng.normal(size=COUNT + 4)
    found = []
    for noise in (white[:COUNT], np.convolve(white, np.ones(5) / np.sqrt(5.0), 'valid')):
        given = effort_equations(rigid + 0.1 * noise[:, None], rigid=rigid)
        found.append(check_efforts(given, ('j',))[0].deviation)
    assert found[1] / found[0] == pytest.approx(np.sqrt(5.0), rel=0.15)
