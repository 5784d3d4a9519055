# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Entries of files: what is a name, a number or a mapping, and how anything else is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from screw_dynamics_ros.core import DescriptionError
from screw_dynamics_ros.core.description.file_entries import (
    check_keys,
    name_of,
    number_of,
    numbers_of,
    quoted,
)

HUGE = 10**4400


def refusal(function, *arguments):
    """Return the message of a refusal."""
    with pytest.raises(DescriptionError) as failure:
        function(*arguments)
    return str(failure.value)


@pytest.mark.parametrize('value', [1, -2.5, 0, 1e12, -1e12, np.float64(3.0)])
def test_numbers(value):
    found = number_of('mass', value)
    assert type(found) is float
    assert found == value


@pytest.mark.parametrize(
    'value',
    ['1', '', None, True, {}, [], [1.0], np.nan, np.inf, np.nextafter(1e12, np.inf), -1.1e12]
    + [pytest.param(HUGE, id='huge')],
)
def test_what_is_no_number(value):
    text = refusal(number_of, 'legs.a: mass', value)
    assert text == (f'legs.a: mass must be a finite number of at most 1e+12, got {quoted(value)}')


def test_lists_of_numbers():
    assert numbers_of('p', [1, 2.5, -3], (3,)).tolist() == [1.0, 2.5, -3.0]
    assert numbers_of('p', [[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert numbers_of('p', 7).shape == ()
    assert numbers_of('p', []).shape == (0,)


@pytest.mark.parametrize(
    ('value', 'shape', 'wanted'),
    [
        ([1, 2], (3,), '3 finite numbers'),
        ([[1, 2, 3]], (3,), '3 finite numbers'),
        (1, (3,), '3 finite numbers'),
        ([1, [2, 3]], None, 'finite numbers'),
        ([1, '2'], None, 'finite numbers'),
        ([1, [True]], None, 'finite numbers'),
        ([1, np.nan], (2,), '2 finite numbers'),
        ([1, HUGE], (2,), '2 finite numbers'),
    ],
)
def test_what_are_no_numbers(value, shape, wanted):
    text = refusal(numbers_of, 'axis', value, shape)
    assert text.startswith(f'axis must be {wanted} of at most 1e+12, got ')


def test_names():
    """A number or a truth value of YAML is written in quotes to be a name."""
    assert name_of('link', '1') == '1'
    for value in (1, True, None, '', ['a']):
        text = refusal(name_of, 'link', value)
        assert text == (
            'link must be a name, in quotes if it looks like something else, got ' + quoted(value)
        )


def test_wrong_entries_are_shortened():
    assert quoted('x' * 98) == repr('x' * 98)
    assert quoted('x' * 99) == f"'{'x' * 99}..."
    assert quoted(HUGE) == 'an integer of thousands of digits'


@pytest.mark.parametrize(
    ('entry', 'what'),
    [
        ({'a': 1}, "lacks 'b'"),
        ({}, "lacks 'a'"),
        ({'a': 1, 'b': 2, 'd': 3}, "has an unknown key 'd'"),
        ({'a': 1, 'b': 2, 'd': 3, 1: 4}, 'has an unknown key 1'),
    ],
)
def test_keys_that_are_missing_or_unknown(entry, what):
    """The first of them is named, with all that there may be."""
    text = refusal(check_keys, 'leg', entry, {'b', 'a'}, {'y', 'x'})
    assert text == f'leg {what}; keys are a, b, optional x, y'


def test_keys_that_may_be():
    check_keys('leg', {'a': 1, 'b': 2}, {'a', 'b'}, {'x'})
    check_keys('leg', {'a': 1, 'b': 2, 'x': 3}, {'a', 'b'}, {'x'})
    for entry in (None, ['a'], 'a'):
        text = refusal(check_keys, 'leg', entry, {'a', 'b'}, set())
        assert re.fullmatch('leg must be a mapping with the keys a, b', text)
