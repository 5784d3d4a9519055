# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of single arguments: what is accepted, and messages that name argument and value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from screw_dynamics_ros.core import ArgumentError, errors
from screw_dynamics_ros.core.arguments import (
    are_vectors,
    check_count,
    check_number,
    float_array,
    is_matrix,
    is_number,
    vector,
)

NAN, INF = math.nan, math.inf


def test_arrays():
    """Whatever holds real numbers becomes float64, C-contiguous; what is that stays itself."""
    given = np.arange(6.0).reshape(2, 3)
    assert float_array('q', given) is given
    for other in (given.T.copy().T, given.astype(np.float32), given.astype(int), given.tolist()):
        array = float_array('q', other)
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, given)
    assert float_array('q', [True, 2]).tolist() == [1.0, 2.0]
    assert float_array('q', np.array([1, 2.5], dtype=object)).tolist() == [1.0, 2.5]
    assert np.isnan(float_array('q', [NAN])).all()


@pytest.mark.parametrize(
    ('value', 'reason'),
    [
        ([1.0, None], 'found None'),
        ([1j], 'dtype complex128'),
        (['1'], 'dtype <U1'),
        ([[1.0], [1.0, 2.0]], 'inhomogeneous'),
        ([10**400], 'too large'),
        ([object()], 'float'),
    ],
)
def test_no_numbers(value, reason):
    with pytest.raises(ArgumentError, match=rf'^stiffness must hold real numbers: .*{reason}'):
        float_array('stiffness', value)


def test_vectors():
    assert vector('v', 2, [1, 2]).tolist() == [1.0, 2.0]
    for value, shape in (([1.0], r'\(1,\)'), ([[1.0, 2.0]], r'\(1, 2\)')):
        with pytest.raises(ArgumentError, match=rf'^v must have shape \(2,\), got {shape}$'):
            vector('v', 2, value)
    assert are_vectors([1.0], np.zeros(0))
    assert not are_vectors([1.0], [[1.0]])
    assert not are_vectors(1.0)
    assert not are_vectors([[1.0], [1.0, 2.0]])


def test_matrices_that_need_no_conversion():
    class Other(np.ndarray):
        pass

    assert is_matrix(np.eye(4))
    for other in (
        np.eye(4, dtype=np.float32),
        np.eye(3),
        np.eye(4).tolist(),
        np.eye(4).view(Other),
    ):
        assert not is_matrix(other)


def test_numbers():
    for number in (1, 1.5, True, np.int64(1), np.float32(1.0), NAN, INF):
        assert is_number(number)
    for other in ('1', None, 1j, np.ones(1), [1.0]):
        assert not is_number(other)


@pytest.mark.parametrize('value', [-1e-300, -1, NAN, INF, -INF, 10**400, '1', None, [1.0], 1j])
def test_numbers_that_are_refused(value):
    for positive, wanted in ((False, r'number >= 0'), (True, 'positive number')):
        with pytest.raises(ArgumentError, match=f'^dt must be a finite {wanted}, got ') as refused:
            check_number('dt', value, positive=positive)
        assert str(refused.value).endswith(repr(value))


def test_numbers_that_are_accepted():
    """Zero as well, unless it must be positive."""
    for value in (5e-324, 0.5, 1.7e308, 3, np.float32(0.1), np.int64(2), 10**300):
        check_number('dt', value)
        check_number('dt', value, positive=True)
    for zero in (0, 0.0, -0.0, np.float64(0.0)):
        check_number('dt', zero)
        with pytest.raises(ArgumentError, match='positive'):
            check_number('dt', zero, positive=True)


def test_counts():
    for count in (0, 1, np.int32(5), 10**30):
        check_count('samples', count)
    for other in (-1, 1.0, '1', None, np.float64(2.0), np.int64(-3)):
        with pytest.raises(ArgumentError, match=r'^samples must be a whole number >= 0, got'):
            check_count('samples', other)


def test_codes_of_errors():
    """Those of ErrorCode.msg; errors of other classes are internal faults."""
    found = {
        each.__name__: int(errors.error_code(each('')))
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.ScrewDynamicsError)
    }
    assert found == {
        'ScrewDynamicsError': 1,
        'UnknownNameError': 10,
        'ArgumentError': 11,
        'NotRecordableError': 11,
        'NotFiniteError': 12,
        'UnsupportedRobotError': 13,
        'DescriptionError': 14,
        'InertiaError': 15,
        'MissingDescriptionError': 20,
        'MissingStateError': 21,
        'BackendError': 22,
        'NotAtRestError': 24,
        'NotEnoughDataError': 25,
        'InfeasibleConstraintsError': 30,
        'SingularClosureError': 32,
        'DivergenceError': 33,
    }
    assert errors.error_code(ValueError('')) == 2
