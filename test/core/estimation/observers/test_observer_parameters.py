# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of observers: bounds, lists for some of the joints, and what is wrong with others."""

import math
from dataclasses import fields

import numpy as np
import pytest

from screw_dynamics_ros.core import AnnotationSettings, ArgumentError, UnknownNameError
from screw_dynamics_ros.core.estimation.observers.parameters import (
    DEFAULTS,
    PER_JOINT,
    ObserverParameters,
    check_per_joint,
    values_of_joints,
)
from screw_dynamics_ros.core.estimation.observers.table import parameter_texts

#: Default, minimum and maximum.
DOCUMENTED = {
    'observer_time_constant': (0.02, 1e-4, 10.0),
    'observer_joints': ((), -math.inf, math.inf),
    'observer_velocity_deviation': ((0.002,), 1e-9, math.inf),
    'observer_effort_deviation': ((0.2,), 0.0, math.inf),
    'observer_model_deviation': ((), 0.0, math.inf),
    'effort_delay': (0.0, 0.0, 1.0),
    'observer_torque_change': (20.0, 1e-6, math.inf),
    'observer_torque_rate': (1000.0, 1e-3, math.inf),
}
RULES = {'observer_joints', *PER_JOINT}


def test_defaults_and_bounds():
    found = {
        each.name: (each.default, each.metadata['minimum'], each.metadata['maximum'])
        for each in fields(ObserverParameters)
    }
    assert found == DOCUMENTED
    rules = {x.name: x.metadata['rule'] for x in fields(ObserverParameters) if x.metadata['rule']}
    assert set(rules) == RULES
    for name in PER_JOINT:
        assert rules[name].endswith('one for all joints, or one for each of observer_joints')
        assert rules[name].startswith('empty') == (DOCUMENTED[name][0] == ())


def test_texts_name_the_observers_that_read_a_parameter():
    texts = parameter_texts()
    assert texts.keys() == DOCUMENTED.keys()
    for name, listed in (
        ('observer_time_constant', 'the observers filtered and momentum follow'),
        ('observer_velocity_deviation', 'the observers kalman and sliding and for covariances'),
        ('observer_torque_change', 'the observer kalman:'),
        ('observer_torque_rate', 'the observer sliding:'),
    ):
        assert listed in texts[name]


@pytest.mark.parametrize('name', [name for name in DOCUMENTED if name != 'observer_joints'])
def test_recordings_refuse_what_is_out_of_bounds(name):
    """Zero only where a positive number is needed; nothing negative, nothing that is no number."""
    _, minimum, _ = DOCUMENTED[name]

    def settings(value):
        listed = name in PER_JOINT
        return AnnotationSettings(**{name: (value,) if listed else value})

    settings(1.0)
    for value in (-1e-12, math.nan):
        with pytest.raises(ArgumentError, match=name):
            settings(value)
    if minimum > 0.0:
        with pytest.raises(ArgumentError, match=f'{name} must be greater than 0, got'):
            settings(0.0)
    else:
        settings(0.0)
        with pytest.raises(ArgumentError, match=name):
            settings(math.inf)


def given(count, joints=('a', 'b'), name='observer_effort_deviation'):
    values = {each.name: getattr(DEFAULTS, each.name) for each in fields(ObserverParameters)}
    return values | {'observer_joints': joints, name: [3.0] * count}


@pytest.mark.parametrize('name', PER_JOINT)
@pytest.mark.parametrize('count', range(4))
def test_lists_have_one_number_or_one_for_each_named_joint(name, count):
    """No number only where this is the default."""
    if count in (1, 2) or (count == 0 and name == 'observer_model_deviation'):
        check_per_joint(given(count, name=name))
    else:
        with pytest.raises(ArgumentError, match=f'{name} has {count} elements for 2 obs'):
            check_per_joint(given(count, name=name))
    check_per_joint(given(1, joints=(), name=name))
    check_per_joint(given(1, joints=('', ''), name=name))  # without names


def test_joints_are_named_once_and_exist():
    with pytest.raises(ArgumentError, match='a, b, a names a joint twice'):
        check_per_joint(given(3, ('a', 'b', 'a')))
    check_per_joint(given(2), ['c', 'b', 'a'])
    with pytest.raises(UnknownNameError, match="no joint 'a' with one coordinate; it has b, c"):
        check_per_joint(given(2), ['b', 'c'])


@pytest.mark.parametrize(
    ('name', 'value', 'joints', 'expected'),
    [
        ('observer_effort_deviation', [3.0], (), [3.0, 3.0, 3.0]),
        ('observer_effort_deviation', [3.0], ('a', 'c'), [3.0, 3.0, 3.0]),
        ('observer_effort_deviation', [3.0], ('c',), [0.2, 0.2, 3.0]),
        ('observer_effort_deviation', [3.0, 4.0], ('c', '', 'a'), [4.0, 0.2, 3.0]),
        ('observer_velocity_deviation', [3.0], ('b',), [0.002, 3.0, 0.002]),
        ('observer_model_deviation', [3.0], ('b',), [math.nan, 3.0, math.nan]),
        ('observer_model_deviation', [], (), [math.nan] * 3),
        ('observer_torque_change', 5.0, ('b',), [5.0, 5.0, 5.0]),
    ],
)
def test_values_of_joints(name, value, joints, expected):
    """Those of named joints; defaults or unknown for others, one number for all."""
    values = given(1) | {name: value, 'observer_joints': joints}
    np.testing.assert_array_equal(values_of_joints(values, name, ['a', 'b', 'c']), expected)
