# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""NumPy functions on recorded arrays: machine code, Python and C give what NumPy gives."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.compile.program.recorded_arrays import (
    plain,
    recorded,
    solve_positive_definite,
)
from screw_dynamics_ros.core.compile.text.c_source import CFunction, c_source
from screw_dynamics_ros.core.errors import NotRecordableError

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf]

CASES = {
    'where': lambda x, y: np.where(x < y, x, 2.0 * y),
    'constants': lambda x, y: np.where(x >= 0.5, 1.0, -0.0),
    'orders': lambda x, y: (x < y) + 2.0 * (x <= y) + 4.0 * (x > y) + 8.0 * (x >= y),
    'with numbers': lambda x, y: 1.0 * (x < 0.5) + 2.0 * (x >= 0.5),
    'minimum': np.minimum,
    'maximum': np.maximum,
    'minimum with a number': lambda x, y: np.minimum(x, 0.5),
    'maximum with a number': lambda x, y: np.maximum(-0.5, x),
    'abs': lambda x, y: np.abs(x) + abs(y),
    'sign': lambda x, y: np.sign(x),
    'clip': lambda x, y: np.clip(x, -0.5, 0.75),
    'clip between arrays': lambda x, y: np.clip(x, -np.abs(y), np.abs(y)),
    'clip from below': lambda x, y: x.clip(0.25, None),
    'and': lambda x, y: 1.0 * np.logical_and(x < y, x < 0.0),
    'or': lambda x, y: 1.0 * ((x < y) | (x < 0.0)),
    'not': lambda x, y: 1.0 * np.logical_not(x < y),
    'norm': lambda x, y: np.linalg.norm(x[:3]) * y,
    'norm of rows': lambda x, y: np.linalg.norm(np.stack([x, y]), axis=0),
    'cross': lambda x, y: np.cross(x[:3], y[:3]),
    'largest': lambda x, y: np.max(x) * y - np.min(y),
    'sums': lambda x, y: np.sum(x) * np.ones(3) + np.dot(x, y),
    'element': lambda x, y: np.concatenate([[np.where(x[0] < y[1], x[2], 0.0)], y[:2]]),
    'loop': lambda x, y: np.stack([np.abs(a) for a in x]),
    'square': lambda x, y: np.square(x) + x**3 * y,
}


def build(name):
    def function(x, y):
        return (np.asarray(plain(CASES[name](recorded(x), recorded(y)))),)

    return KernelSpecification(name, (('x', 8), ('y', 8)), function)


def samples():
    rng = np.random.default_rng(7)
    yield from rng.normal(size=(20, 2, 8))
    yield rng.integers(-1, 2, (2, 8)).astype(float)
    for shift in range(8):
        yield np.stack([SPECIAL, np.roll(SPECIAL, shift)])


@pytest.mark.parametrize('backend', ['native', 'python'])
@pytest.mark.parametrize('name', CASES)
def test_results_are_those_of_numpy(name, backend):
    kernel = make_kernel(build(name), backend)
    pairs = list(samples())
    with np.errstate(all='ignore'):
        expected = [np.asarray(CASES[name](x, y), dtype=float) for x, y in pairs]
    for (x, y), value in zip(pairs, expected):
        (found,) = kernel.single([x, y])
        np.testing.assert_allclose(found, value, rtol=1e-14, atol=1e-14)
    x, y = map(np.ascontiguousarray, zip(*pairs))
    np.testing.assert_allclose(kernel.stack([x, y])[0], expected, rtol=1e-14, atol=1e-14)


@pytest.mark.skipif(shutil.which('gcc') is None, reason='no C compiler')
@pytest.mark.parametrize('name', ['where', 'orders', 'minimum', 'clip between arrays', 'constants'])
def test_c_source(name, tmp_path):
    source = c_source('chosen', [CFunction('chosen', build(name).record(), ('result',))], [])
    (tmp_path / 'chosen.h').write_text(source.header)
    (tmp_path / 'chosen.c').write_text(source.source)
    library = tmp_path / 'chosen.so'
    command = ['gcc', '-O2', '-shared', '-fPIC', '-o', library, tmp_path / 'chosen.c', '-lm']
    subprocess.run(command, check=True, timeout=60)
    function = ctypes.CDLL(library).chosen
    for x, y in samples():
        with np.errstate(all='ignore'):
            expected = np.asarray(CASES[name](x, y), dtype=float)
        found = np.zeros_like(expected)
        arrays = (np.ascontiguousarray(each) for each in (x, y, found))
        function(*(each.ctypes.data_as(ctypes.c_void_p) for each in arrays))
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ('function', 'reason'),
    [
        (lambda x: np.exp(x), 'np.exp cannot be recorded'),
        (lambda x: np.linalg.inv(np.outer(x, x)), 'np.linalg.inv cannot be recorded; core.law'),
        (lambda x: x[x < 0.0], 'a recorded number cannot be an index'),
        (lambda x: x.__setitem__(x < 0.0, 1.0), 'a recorded mask cannot choose'),
        (lambda x: np.linalg.norm(x, 1), 'only the Euclidean norm'),
        (lambda x: np.equal(x, 0.0), 'np.equal cannot be recorded'),
        (lambda x: np.maximum.accumulate(x), 'np.maximum cannot be recorded'),
    ],
)
def test_what_cannot_be_recorded_is_refused(function, reason):
    specification = KernelSpecification('f', (('x', 3),), lambda x: (function(recorded(x)),))
    with pytest.raises(NotRecordableError, match=reason):
        specification.record()


@pytest.mark.parametrize('function', [bool, float, lambda x: max(x, 0.0), lambda x: 1 if x else 0])
def test_decisions_about_values_are_refused(function):
    specification = KernelSpecification('f', (('x', 3),), lambda x: (function(recorded(x)[0]),))
    with pytest.raises(TypeError, match='recorded scalar'):
        specification.record()


def test_zeros_of_either_sign_are_different_constants():
    def function(x):
        x = recorded(x)
        return (np.stack([np.where(x[0] < 1.0, 0.0, x[0]), np.where(x[0] < 1.0, -0.0, x[0])]),)

    kernel = make_kernel(
        KernelSpecification('f', (('x', 1),), lambda x: (plain(function(x)[0]),)), 'native'
    )
    (found,) = kernel.single([np.array([0.5])])
    np.testing.assert_array_equal(np.signbit(found), [False, True])


def test_solution_of_a_positive_definite_system():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(4, 4))
    A, b = A @ A.T + np.eye(4), rng.normal(size=4)

    def function(A, b):
        return (plain(solve_positive_definite(recorded(A).reshape(4, 4), recorded(b))),)

    kernel = make_kernel(KernelSpecification('solve', (('A', 16), ('b', 4)), function), 'native')
    np.testing.assert_allclose(kernel.single([A.ravel(), b])[0], np.linalg.solve(A, b), rtol=1e-12)
