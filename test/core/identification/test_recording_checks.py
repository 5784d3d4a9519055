# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Spikes, units and velocities of recordings: what is found, skipped or refused, at its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.identification import JointRecording
from screw_dynamics_ros.core.identification.recording import (
    inspected,
    position_findings,
    velocity_findings,
    without_spikes,
)
from support.robots import joint, links, robot

NAMES = ('a', 'b')
T = np.arange(0.0, 4.0, 0.01)  # 400 samples: at most 4 spikes
WAVE = np.stack([np.sin(T), 0.5 * np.cos(T)], axis=1)


def recording(q=WAVE, v=None, tau=WAVE):
    return JointRecording(T, q.copy(), v, tau.copy())


def jumped(x, size, samples=(100,), joint=1):
    """Return x with jumps of a size from the samples before."""
    x = x.copy()
    x[list(samples), joint] += size
    return x


# --- spikes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('field', ['q', 'tau'])
@pytest.mark.parametrize(('share', 'is_spike'), [(0.48, False), (0.52, True)])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_spikes_exceed_half_of_the_range(field, share, is_spike, sign):
    """The range of the rest; samples with a spike are skipped in all columns."""
    v = np.ones_like(WAVE)
    size = sign * share * np.ptp(WAVE[:, 1])
    given = replace(recording(v=v), **{field: jumped(WAVE, size)})
    run, found = without_spikes(given, NAMES)
    assert len(found) == is_spike
    if not is_spike:
        assert run is given
        return
    (finding,) = found
    kept = np.delete(np.arange(400), 100)
    for name in ('t', 'q', 'v', 'tau'):
        np.testing.assert_array_equal(getattr(run, name), getattr(given, name)[kept])
    low, high = WAVE[kept, 1].min(), WAVE[kept, 1].max()
    assert finding.subject == 'joint b'
    kind = 'position' if field == 'q' else 'effort'
    assert finding.message == (
        f'one {kind} far from the samples before and after, {WAVE[100, 1] + size:.4g} at 1 s where '
        f'others are within {low:.4g} and {high:.4g}; skipped'
    )
    assert finding.severity == 'warning'


@pytest.mark.parametrize(('size', 'is_spike'), [(30.5, False), (30.8, True)])
def test_spikes_exceed_twenty_deviations_of_noise(size, is_spike):
    """Of the differences from the median of five: the deviation of 1, 0, -1, ... is 1 / 0.6745.

    The median beside the spike is 1: it is one larger.
    """
    noise = np.resize([1.0, 0.0, -1.0], (400, 1)) * [1.0, 1.0]
    found = without_spikes(recording(tau=jumped(noise, size)), NAMES)[1]
    assert len(found) == is_spike


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(('count', 'is_spike'), [(1, True), (2, True), (3, False)])
def test_two_samples_in_sequence_are_spikes_and_three_are_none(count, is_spike, sign):
    """The median of five samples is that of the others, or one of them."""
    samples = tuple(range(100, 100 + count))
    run, found = without_spikes(recording(tau=jumped(WAVE, 9.0 * sign, samples)), NAMES)
    assert len(found) == is_spike
    assert len(run.t) == 400 - is_spike * count


def test_the_largest_of_several_spikes_is_named():
    tau = jumped(jumped(WAVE, 5.0, (40, 200)), -9.0, (300,))
    run, (finding,) = without_spikes(recording(tau=tau), NAMES)
    assert len(run.t) == 397
    assert run.v is None
    assert finding.message.startswith('3 efforts far from')
    assert f'{tau[300, 1]:.4g} at 3 s' in finding.message


@pytest.mark.parametrize(('count', 'is_spike'), [(4, True), (5, False)])
def test_more_than_a_hundredth_of_the_samples_are_no_spikes(count, is_spike):
    tau = jumped(WAVE, 9.0, range(20, 20 + 50 * count, 50))
    assert len(without_spikes(recording(tau=tau), NAMES)[1]) == is_spike


@pytest.mark.parametrize(
    ('field', 'size', 'is_spike'),
    [('q', 0.9e-3, False), ('q', 1.1e-3, True), ('tau', 0.019, False), ('tau', 0.021, True)],
)
def test_small_jumps_of_constant_signals_are_no_spikes(field, size, is_spike):
    """Below 1 mrad, or a hundredth of the largest range of efforts of all joints, 2 N m here."""
    x = WAVE * [1.0 / np.ptp(WAVE[:, 0]) * 2.0, 0.0]
    given = replace(recording(), **{field: jumped(x, size)})
    assert len(without_spikes(given, NAMES)[1]) == is_spike


def test_joints_without_efforts_stay_so():
    tau = np.column_stack([jumped(WAVE, 9.0)[:, 1], np.full(400, np.nan)])
    run, found = without_spikes(recording(tau=tau), NAMES)
    assert [each.subject for each in found] == ['joint a']
    assert np.isnan(run.tau[:, 1]).all()
    assert len(run.t) == 399


# --- positions ------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def gantry():
    limits = '<limit lower="-1" upper="2" velocity="1" effort="1"/>'
    text = robot(
        links('x y z'),
        joint('turn', 'x', 'y', f'<axis xyz="0 0 1"/>{limits}', 'revolute'),
        joint('slide', 'y', 'z', f'<axis xyz="0 0 1"/>{limits}', 'prismatic'),
    )
    return Robot.from_urdf(text, backend='reference')


def between(low, high):
    """Return two samples."""
    return JointRecording(T[:2], np.array([low, high], dtype=float), None, np.zeros((2, 2)))


@pytest.mark.parametrize('column', [0, 1])
@pytest.mark.parametrize(
    ('number', 'is_found'), [(2.59, False), (2.61, True), (-1.59, False), (-1.61, True)]
)
def test_positions_may_exceed_limits_by_a_fifth_of_their_range(gantry, column, number, is_found):
    low, high = np.zeros(2), np.ones(2)
    (low if number < 0.0 else high)[column] = number
    found = list(position_findings([between([0, 0], [1, 1]), between(low, high)], gantry))
    assert len(found) == is_found
    for each in found:
        name, unit = (('turn', 'rad'), ('slide', 'm'))[column]
        text = f'({name}: {low[column]:.4g} to {high[column]:.4g}, limits -1 to 2 {unit})'
        assert text in each.message
        assert each.severity == 'error'
        assert each.subject == f'joint {name}'


@pytest.mark.parametrize(
    ('column', 'factor', 'units'),
    [(0, np.degrees(1.0), ('degrees', 'rad')), (1, 1000.0, ('mm', 'm'))],
)
@pytest.mark.parametrize(
    ('end', 'fits'), [(2.59, True), (2.61, False), (-1.59, True), (-1.61, False)]
)
def test_units_that_would_fit_are_named(gantry, column, factor, units, end, fits):
    low, high = np.zeros(2), np.ones(2)
    (low if end < 0.0 else high)[column] = end * factor
    (found,) = position_findings([between(low, high)], gantry)
    assert (f'seem to be in {units[0]}' in found.message) == fits
    assert ('no result can be right' in found.message) != fits
    assert found.remedy.startswith('convert them' if fits else f'{units[1]} are expected')


def test_the_joint_with_the_largest_range_is_the_example():
    limits = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/>'
    text = robot(links('x y z'), joint('i', 'x', 'y', limits, 'revolute'),
                 joint('j', 'y', 'z', limits, 'revolute'))  # fmt: skip
    pair = Robot.from_urdf(text, backend='reference')
    for high, name in (([20, 30], 'j'), ([30, 20], 'i')):
        (found,) = position_findings([between([0, 0], high)], pair)
        assert found.subject == 'joints i, j'
        assert f'({name}: 0 to 30, limits -1 to 1 rad)' in found.message
        assert 'seem to be in degrees' in found.message
    # a single joint that does not fit
    (found,) = position_findings([between([0, 0], [20, 300])], pair)
    assert 'no result can be right' in found.message


# --- velocities -----------------------------------------------------------------------------------

SPEED = 2.0


def constant(error, column=1):
    """Return a motion of constant speed, and velocities that miss it by `error`."""
    q = SPEED * T[:, None] * [1.0, 1.0]
    v = np.full_like(q, SPEED)
    v[:, column] += error
    return JointRecording(T, q, v, q)


def refusal(given):
    """Return why velocities cannot be used, empty if they can."""
    try:
        list(velocity_findings(given, NAMES, used=True))
    except ArgumentError as error:
        return str(error)
    return ''


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(('error', 'is_found'), [(0.615, False), (0.625, True)])
def test_velocities_may_miss_a_third(error, is_found, sign):
    """30 % of 2 rad/s and 0.02 rad/s."""
    given = [constant(0.0), constant(sign * error)]
    assert list(velocity_findings(given, NAMES, used=False)) == []
    text = f'(of b by {error:.3g} rms, which are 2 themselves); check'
    assert (text in refusal(given)) == is_found
    assert refusal(given).startswith('joint b: the velocities differ' if is_found else '')


@pytest.mark.parametrize(
    ('factor', 'text'), [(-1.0, 'of the opposite sign'), (0.0, 'zero while'), (57.3, 'in deg/s')]
)
def test_the_factor_of_velocities_is_named(factor, text):
    given = [constant((factor - 1.0) * SPEED)]
    (found,) = velocity_findings(given, NAMES, used=False)
    assert f'the velocities are {text}' in found.message
    assert f'they are {text}' in refusal(given)


def test_the_first_recording_with_wrong_velocities_is_named():
    found = refusal([constant(1.0), constant(3.0, 0), constant(9.0)])
    assert found.startswith('joints b, a: ')
    assert '(of b by 1 rms' in found


def test_noise_of_velocities_is_averaged_over_a_tenth_of_a_second():
    """Ten samples of 10 ms: noise of 2 rad/s has 2 / sqrt(10) = 0.63, one of 1.7 has 0.54."""
    rng = np.random.default_rng(0)
    for size, is_found in ((1.7, False), (2.5, True)):
        noise = rng.normal(size=T.shape)
        noise *= size / noise.std()
        given = constant(0.0)
        given = replace(given, v=given.v + noise[:, None] * [0.0, 1.0])
        assert bool(refusal([given])) == is_found


def test_velocities_over_gaps_are_not_compared():
    """The robot went on by 5 rad while nothing was recorded: no velocity is wrong."""
    given = constant(0.0)
    after = T >= 2.0
    q, t = given.q + 5.0 * after[:, None], T + 1.0 * after
    assert refusal([replace(given, t=t, q=q)]) == ''
    missing = replace(given, v=given.v * [np.nan, 1.0])
    assert list(velocity_findings([missing], NAMES, used=True)) == []
    assert list(velocity_findings([replace(given, v=None)], NAMES, used=True)) == []


@pytest.mark.parametrize('rate', [5.0, 400.0])
def test_slow_and_fast_recordings_have_windows_of_their_own(rate):
    """At least one step: mean velocities of each are those of the positions."""
    t = np.arange(0.0, 3.0, 1.0 / rate)
    q = t[:, None] ** 2 * [1.0, -1.0]
    given = JointRecording(t, q, 2.0 * t[:, None] * [1.0, -1.0], q)
    assert list(velocity_findings([given], NAMES, used=True)) == []
    two = JointRecording(t[:2], q[:2], given.v[:2], q[:2])
    assert list(velocity_findings([two], NAMES, used=True)) == []


def test_all_faults_in_order(gantry):
    """Of each recording first; velocities are compared without the spikes."""
    rates = np.stack([np.cos(T), -0.5 * np.sin(T)], axis=1)
    given = [recording(jumped(WAVE, 9.0), 4.0 * rates), recording(WAVE + 40.0, 4.0 * rates)]
    runs, found = inspected(given, gantry, False)
    assert [len(run.t) for run in runs] == [399, 400]
    subjects = ['joint slide', 'joint turn', 'joint slide', 'joints turn, slide']
    assert [each.subject for each in found] == subjects
    with pytest.raises(ArgumentError, match='velocities differ'):
        inspected(given, gantry, True)
