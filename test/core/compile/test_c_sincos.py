# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sines and cosines in C: against numbers of extended precision, however they are compiled."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.text.c_sincos import FUNCTION, HALF_PI, LARGEST_MULTIPLE

COMPILER = shutil.which('cc')
pytestmark = pytest.mark.skipif(COMPILER is None, reason='no C compiler')

HEADERS = '\n'.join(f'#include <{name}.h>' for name in ('float', 'math', 'stdint', 'string'))
ENTRY = """
void entry(const double *angles, double *sines, double *cosines, int count) {
  for (int k = 0; k < count; k += 4) { /* padded */
    reals x[VECTORS(1)], s[VECTORS(1)], c[VECTORS(1)];
    memcpy(x, angles + k, sizeof x);
    sines_and_cosines(x, s, c, VECTORS(1));
    memcpy(sines + k, s, sizeof s);
    memcpy(cosines + k, c, sizeof c);
  }
}
"""
LARGEST = LARGEST_MULTIPLE * math.pi / 2  # rad
#: How it is compiled, and the largest error in units of the last place.
WAYS = {
    'vectors without fused multiply-add': (['-O2', '-std=c99'], 2.1),
    'not optimized': (['-O0', '-std=c99'], 2.1),
    'this processor': (['-O3', '-march=native', '-std=gnu11'], 2.1),
    'one by one': (['-O2', '-std=c99', '-U__GNUC__'], 2.1),
    'one by one, this processor': (['-O2', '-march=native', '-U__GNUC__'], 2.1),
    'AVX without fused multiply-add': (['-O2', '-mavx', '-mno-fma'], 2.1),
    'sums taken apart: the library': (['-O2', '-ffast-math'], 1.1),
}


@pytest.fixture(scope='module', params=WAYS, ids=lambda way: way.replace(' ', '_'))
def compiled(request, tmp_path_factory):
    flags, tolerance = WAYS[request.param]
    folder = tmp_path_factory.mktemp('sincos')
    text = HEADERS + '\n#undef __GNUC__' * ('-U__GNUC__' in flags) + '\n' + FUNCTION + ENTRY
    (folder / 'sincos.c').write_text(text)
    flags = [flag for flag in flags if flag != '-U__GNUC__']
    command = [COMPILER, *flags, '-Wall', '-Wextra', '-Werror', '-fPIC', '-c', 'sincos.c']
    subprocess.run(command, cwd=folder, check=True)
    # Linked without -ffast-math, with which GCC flushes subnormals of the whole process to zero.
    link = [COMPILER, '-shared', 'sincos.o', '-o', 'sincos.so', '-lm']
    subprocess.run(link, cwd=folder, check=True)
    entry = ctypes.CDLL(str(folder / 'sincos.so')).entry
    entry.restype = None

    def call(angles):
        count = len(angles)
        padded = -(-count // 8) * 8
        x, s, c = np.zeros(padded), np.full(padded, np.nan), np.full(padded, np.nan)
        x[:count] = angles
        entry(*(ctypes.c_void_p(array.ctypes.data) for array in (x, s, c)), ctypes.c_int(count))
        return s[:count], c[:count]

    return call, tolerance


def errors(found, exact):
    """Return errors in units of the last place."""
    rounded = exact.astype(float)
    return np.abs((found.astype(np.longdouble) - exact) / np.spacing(np.abs(rounded)))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason='no extended precision')
@pytest.mark.parametrize('largest', [1e-9, 0.7853981633974483, 3.2, 100.0, LARGEST, 1e12])
def test_error_is_about_one_last_digit(compiled, largest):
    call, tolerance = compiled
    x = np.random.default_rng(3).uniform(-largest, largest, 20_000)
    exact = x.astype(np.longdouble)
    if largest > 2.0**30:  # extended precision reduces these as well
        assert np.abs(x).max() > 2.0**30
    for found, wanted in zip(call(x), (np.sin(exact), np.cos(exact))):
        assert errors(found, wanted).max() < tolerance


def test_multiples_of_a_right_angle(compiled):
    """Where sine or cosine nearly vanish all digits of the reduction count."""
    call, _ = compiled
    x = np.arange(-1000, 1001) * (math.pi / 2)
    sines, cosines = call(x)
    for found, wanted in ((sines, np.sin(x)), (cosines, np.cos(x))):
        np.testing.assert_allclose(found, wanted, rtol=4e-16, atol=0.0)


def test_every_number_of_angles(compiled):
    call, _ = compiled
    for count in range(1, 10):
        x = np.linspace(-3.0, 3.0, count)
        for found, wanted in zip(call(x), (np.sin(x), np.cos(x))):
            np.testing.assert_allclose(found, wanted, rtol=0.0, atol=2e-16)


def test_what_has_no_sine_gives_nan_and_leaves_the_others(compiled):
    call, _ = compiled
    x = np.array([0.5, math.nan, math.inf, -math.inf, 1e300, 0.25])
    sines, cosines = call(x)
    assert np.isnan(sines[1:4]).all()
    assert np.isnan(cosines[1:4]).all()
    rest = [0, 4, 5]
    np.testing.assert_allclose(sines[rest], np.sin(x[rest]), rtol=0.0, atol=2e-16)
    np.testing.assert_allclose(cosines[rest], np.cos(x[rest]), rtol=0.0, atol=2e-16)


@pytest.mark.parametrize(
    ('method', 'library'), [(-1, 1), (0, 0), (1, 0), (2, 1), (16, 0), (32, 0), (64, 0), (65, 1)]
)
def test_the_library_is_called_where_double_is_not_computed_as_double(method, library):
    """GCC defines method 16 for processors with half precision: that is no reason."""
    text = f'#define FLT_EVAL_METHOD {method}\n{FUNCTION}\nint called = CALL_LIBRARY;\n'
    command = [COMPILER, '-E', '-P', '-x', 'c', '-']
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert f'int called = {library};' in done.stdout


def test_parts_of_half_pi_have_exact_products():
    """39 bits times 14 bits are 53 bits, and together they are pi / 2 to 130 bits."""
    for part in HALF_PI[:-1]:
        mantissa, _ = math.frexp(part)
        assert (mantissa * 2**39).is_integer()
    exact = Fraction(157079632679489661923132169163975144209858469968755291, 10**53)
    error = exact - sum(map(Fraction, HALF_PI))
    assert abs(error) < Fraction(1, 2**130)
    assert LARGEST_MULTIPLE <= 2**14
