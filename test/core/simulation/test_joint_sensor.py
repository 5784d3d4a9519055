# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Measurements with faults: their statistics, their times, and that they can be repeated."""

import numpy as np
import pytest

from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.simulation.joint_sensor import JointSensor, SensorFaults

JOINTS = ('a', 'b')
MS = 1_000_000

Q, V, TAU = np.array([0.5, -1.25]), np.array([0.1, 0.0]), np.array([3.0, -8.0])
TRUE = np.stack([Q, V, TAU])


def sensor(seed=0, **faults):
    made = JointSensor(JOINTS, seed)
    made.faults = SensorFaults(**faults)
    return made


def run(made, count, first=0):
    """Return what arrives at each time, of as many measurements, one in a millisecond."""
    arrived = []
    for k in range(first, first + count):
        made.measure(k * MS, Q, V, TAU)
        arrived.append(made.arrived(k * MS))
    return arrived


def values(made, count=1, first=0):
    return np.array([message.values for each in run(made, count, first) for message in each])


def test_without_faults_it_tells_the_truth_at_once():
    for k, messages in enumerate(run(sensor(), 5)):
        (message,) = messages
        assert message.stamp == k * MS
        np.testing.assert_array_equal(message.values, TRUE)


def test_noise_has_its_deviation_and_no_mean():
    """Within five standard errors of 4000 samples; joints and quantities are independent."""
    noise = values(sensor(position_noise=(0.1, 0.2), effort_noise=(3.0,)), 4000) - TRUE
    deviations = np.array([[0.1, 0.2], [0.0, 0.0], [3.0, 3.0]])
    assert (np.abs(noise.mean(axis=0)) <= 5 * deviations / np.sqrt(4000)).all()
    np.testing.assert_allclose(noise.std(axis=0), deviations, rtol=5 / np.sqrt(8000))
    correlation = np.corrcoef(noise[:, [0, 0, 2], [0, 1, 0]].T) - np.eye(3)
    assert np.abs(correlation).max() < 5 / np.sqrt(4000)


def test_bias_and_resolution():
    made = sensor(position_bias=(0.01, -0.02), position_resolution=(0.25, 0.0))
    np.testing.assert_allclose(values(made)[0], [[0.5, -1.27], V, TAU], atol=1e-15)


def test_currents_take_the_place_of_torques():
    """Offsets and noise of effort are in A then."""
    made = sensor(torque_constants=(0.5, 4.0), effort_bias=(0.25,))
    np.testing.assert_allclose(values(made)[0], [Q, V, [6.25, -1.75]], atol=1e-15)


def test_nan_for_some_joints_and_quantities():
    expected = TRUE.copy()
    expected[[1, 2], 1] = np.nan
    made = sensor(nan_joints=('b',), nan_quantities=('velocity', 'effort'))
    np.testing.assert_array_equal(values(made)[0], expected)


def test_frozen_joints_repeat_what_they_last_said_and_come_back():
    made = sensor(position_noise=(0.1,))
    before = values(made, 3)[-1]
    made.faults = SensorFaults(position_noise=(0.1,), frozen_joints=('b',))
    frozen = values(made, 5, 3)
    assert (frozen[:, :, 1] == before[:, 1]).all()
    assert len(set(frozen[:, 0, 0])) == 5
    made.faults = SensorFaults()
    np.testing.assert_array_equal(values(made, 1, 8)[0], TRUE)


def test_a_joint_that_freezes_before_its_first_measurement_says_that_one():
    made = sensor(frozen_joints=('a',))
    np.testing.assert_array_equal(values(made)[0], TRUE)
    made.measure(0, Q + 1.0, V, TAU)
    np.testing.assert_array_equal(made.arrived(0)[0].values[0], [Q[0], Q[1] + 1.0])


def test_delay():
    arrived = run(sensor(delay=0.003), 10)
    assert [len(messages) for messages in arrived] == [0] * 3 + [1] * 7
    assert [messages[0].stamp for messages in arrived[3:]] == [k * MS for k in range(7)]


def test_jitter_varies_the_delay_and_nothing_is_overtaken_or_lost():
    arrived = run(sensor(jitter=0.01), 2000)
    stamps = [message.stamp for messages in arrived for message in messages]
    assert stamps == sorted(stamps)
    assert len(stamps) >= 1990
    delays = [k * MS - message.stamp for k, messages in enumerate(arrived) for message in messages]
    assert min(delays) >= 0
    assert 9 * MS < max(delays) <= 11 * MS
    assert {len(messages) for messages in arrived} >= {0, 1, 2}


def test_what_is_under_way_arrives_when_the_delay_ends():
    made = sensor(delay=1.0)
    assert not any(run(made, 3))
    made.faults = SensorFaults(effort_bias=(1.0,), delay=1.0)
    assert made.arrived(5 * MS) == []
    made.faults = SensorFaults()
    (messages,) = run(made, 1, first=5)
    assert [message.stamp for message in messages] == [0, MS, 2 * MS, 5 * MS]


def test_dropout_loses_its_part():
    lost = sum(not messages for messages in run(sensor(dropout=0.3), 4000))
    assert lost == pytest.approx(1200, abs=5 * np.sqrt(4000 * 0.3 * 0.7))
    assert not any(run(sensor(dropout=1.0), 50))


def test_one_seed_gives_the_same_numbers_whatever_happened_in_between():
    """Which faults were on, and when messages were fetched, changes nothing afterwards."""

    def ending(seed, between):
        made = sensor(seed, **between)
        run(made, 20)
        made.faults = SensorFaults(position_noise=(0.1,), velocity_noise=(1.0,), dropout=0.2)
        made.arrived(20 * MS)
        return values(made, 20, 21).tobytes()

    faults = {'jitter': 0.2, 'dropout': 0.9, 'effort_noise': (1.0,)}
    assert ending(3, {}) == ending(3, faults)
    assert ending(3, {}) != ending(4, {})


def test_restart_begins_again():
    made = sensor(7, position_noise=(0.1,), delay=0.002, frozen_joints=('a',))
    first = values(made, 5).tobytes()
    made.restart()
    assert values(made, 5).tobytes() == first


@pytest.mark.parametrize(
    ('faults', 'reason'),
    [
        ({'position_noise': (1.0,) * 3}, 'position_noise has 3 elements'),
        ({'velocity_noise': (-1.0,)}, 'noise must not be negative'),
        ({'effort_resolution': (-0.1,)}, 'resolution must not be negative'),
        ({'effort_bias': (np.nan,)}, 'effort_bias must be finite'),
        ({'torque_constants': (1.0, 0.0)}, 'torque_constants must not be 0'),
        ({'delay': -0.1}, 'delay'),
        ({'jitter': np.inf}, 'jitter'),
        ({'dropout': 1.5}, 'dropout is a probability'),
        ({'nan_joints': ('knee',)}, "nan_joints: there is no 'knee'"),
        ({'nan_quantities': ('speed',)}, "no quantity 'speed'"),
        ({'frozen_joints': ('knee',)}, "frozen_joints: there is no 'knee'"),
    ],
)
def test_impossible_faults_are_refused_and_change_nothing(faults, reason):
    made = sensor(position_bias=(1.0,))
    with pytest.raises((ArgumentError, UnknownNameError), match=reason):
        made.faults = SensorFaults(**faults)
    assert made.faults == SensorFaults(position_bias=(1.0,))
    with pytest.raises((ArgumentError, UnknownNameError), match=reason):
        made.check(SensorFaults(**faults))


def test_which_faults_are_active():
    assert SensorFaults(position_bias=(0.0,), nan_quantities=('effort',)).active == {}
    assert SensorFaults(delay=0.1, nan_joints=('a',), nan_quantities=('effort',)).active == {
        'delay': 0.1,
        'nan_joints': ('a',),
        'nan_quantities': ('effort',),
    }


def test_a_seed_is_a_whole_number():
    with pytest.raises(ArgumentError, match='seed'):
        JointSensor(JOINTS, -1)
