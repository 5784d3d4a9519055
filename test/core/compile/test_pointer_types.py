# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""IR for LLVM to 14, whose pointers have types, and from 15, whose have none; both run here.

LLVM from 15 reads typed pointers, too.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.kernels import KernelSpecification, NativeKernel
from screw_dynamics_ros.core.compile.llvm import module, native
from screw_dynamics_ros.core.compile.llvm.writer import Writer
from screw_dynamics_ros.core.compile.program.divided_program import MANY_ZEROS
from support.compilation import needs_llvmlite

pytestmark = needs_llvmlite

TYPED, OPAQUE = re.compile(r'(double|i\d+|>|\])\*|\.p0[a-z]'), re.compile(r'\bptr\b')
#: Structural zeros of an output, so many that it is cleared before, and one less.
MANY, FEW = MANY_ZEROS, MANY_ZEROS - 1


def function(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return a matrix product with zeros, sines and an angle, and an output without zeros."""
    A = np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]])
    B = np.array([[x[1], x[2]], [x[2] * x[1], np.sqrt(x[1] * x[1] + 1.0)]])
    product = (A @ B @ A).reshape(-1)
    first, second = np.zeros(MANY + 4, dtype=x.dtype), np.zeros(FEW + 4, dtype=x.dtype)
    for output in (first, second):
        output[: len(output) - 4] = 0.0
        output[[0, 3, 5, len(output) - 1]] = product
    angle = np.arctan2(x[1], x[2])
    return first, second, np.array([*product, angle, angle * x[0], 0.75, -x[2]], dtype=x.dtype)


@pytest.mark.parametrize('is_opaque', [True, False])
@pytest.mark.parametrize('lanes', [1, 2, 4, 8])
@pytest.mark.parametrize('length', [10**6, 1])
def test_both_kinds_of_pointers(lanes, length, is_opaque, monkeypatch):
    """In one function, and cut into many of several modules."""
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', '')
    monkeypatch.setattr(native, 'simd_lanes', lambda: max(lanes, 2))
    monkeypatch.setattr(native, 'opaque_pointers', lambda: is_opaque)
    monkeypatch.setattr(module, 'LONGEST_FUNCTION', (length, length))
    monkeypatch.setattr(module, 'PIECE', 7)
    monkeypatch.setattr(module, 'MODULE', 10)
    specification = KernelSpecification('both', (('x', 3),), function)
    program = specification.record()
    if lanes == 1:
        texts = list(module.scalar_kernel(program, 'kernel', is_opaque))
    else:
        texts = list(module.stack_kernel(program, 'kernel', lanes, is_opaque))
    assert (len(texts) > 2) == (length == 1)
    assert all(text.count('\n') >= module.MODULE for text in texts[:-2])
    text = '\n'.join(texts)
    assert ('!nontemporal' in text) == (lanes > 1)
    assert bool(TYPED.search(text)) is not is_opaque
    assert bool(OPAQUE.search(text)) is is_opaque
    assert text.count('call void @llvm.memset') == (1 if lanes == 1 else 0)

    kernel = NativeKernel(specification)
    x = np.random.default_rng(lanes).uniform(0.2, 1.0, (2 * lanes + 1, 3))
    if lanes == 1:
        results = [kernel.single([sample]) for sample in x]
    else:
        arrays = tuple(np.full((len(x), size), np.nan) for size in (MANY + 4, FEW + 4, 8))
        kernel.stack_program([x], arrays)
        results = list(zip(*arrays))
    for found, sample in zip(results, x):
        for result, wanted in zip(found, function(sample)):
            np.testing.assert_allclose(result, wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ('is_opaque', 'lines'),
    [
        (
            True,
            [
                '%t1 = getelementptr double, ptr %p, i64 5',
                '%t2 = load ptr, ptr %t1, align 8',
                'call void @llvm.memset.p0.i64(ptr %t2, i8 0, i64 24, i1 false)',
                '%t3 = getelementptr double, ptr %p, i64 2',
                '%t4 = load <4 x double>, ptr %t3, align 8',
                '%t5 = getelementptr double, ptr %p, i64 8',
                'store <4 x double> %t4, ptr %t5, align 32, !nontemporal !0',
            ],
        ),
        (
            False,
            [
                '%t1 = getelementptr double, double* %p, i64 5',
                '%t2 = bitcast double* %t1 to double**',
                '%t3 = load double*, double** %t2, align 8',
                '%t4 = bitcast double* %t3 to i8*',
                'call void @llvm.memset.p0i8.i64(i8* %t4, i8 0, i64 24, i1 false)',
                '%t5 = getelementptr double, double* %p, i64 2',
                '%t6 = bitcast double* %t5 to <4 x double>*',
                '%t7 = load <4 x double>, <4 x double>* %t6, align 8',
                '%t8 = getelementptr double, double* %p, i64 8',
                '%t9 = bitcast double* %t8 to <4 x double>*',
                'store <4 x double> %t7, <4 x double>* %t9, align 32, !nontemporal !0',
            ],
        ),
    ],
)
def test_lines_of_a_writer(is_opaque, lines):
    w = Writer(is_opaque)
    w.clear(w.load_pointer('%p', 5), 3)
    w.store(w.load('%p', 2, 4), '%p', 8, 4, nontemporal=True)
    assert [line.strip() for line in w.lines] == lines
    P = 'ptr' if is_opaque else 'i8*'
    clear, copy = w.declarations().values()
    assert clear.endswith(f'({P}, i8, i64, i1)')
    assert copy.endswith(f'({P}, {P}, i64, i1)')


@pytest.mark.parametrize('is_opaque', [True, False])
@pytest.mark.parametrize('lanes', [1, 2, 8])
def test_many_constants_are_copied_from_a_table(lanes, is_opaque, monkeypatch):
    """A thousand stores would take a compiler seconds; results that vary, and zeros, are others."""
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', '')
    monkeypatch.setattr(native, 'simd_lanes', lambda: max(lanes, 2))
    monkeypatch.setattr(native, 'opaque_pointers', lambda: is_opaque)
    numbers = np.arange(1.0, 2.0 + 1.5 * module.MANY_CONSTANTS)
    numbers[1::5] = 0.0

    def constants(x: np.ndarray) -> tuple[np.ndarray, ...]:
        many = numbers.astype(x.dtype)
        many[[0, 5, -1]] = x[0] * x[1], x[1] + 1.0, x[0]
        return many, np.array([x[0], 2.5, x[1] * x[1]], dtype=x.dtype)

    specification = KernelSpecification('constants', (('x', 2),), constants)
    program = specification.record()
    if lanes == 1:
        text = ''.join(module.scalar_kernel(program, 'kernel', is_opaque))
    else:
        text = ''.join(module.stack_kernel(program, 'kernel', lanes, is_opaque))
    assert text.count('call void @llvm.memcpy') == 1
    assert text.count('store ') < 200

    kernel = NativeKernel(specification)
    x = np.random.default_rng(lanes).uniform(0.2, 1.0, (2 * lanes + 1, 2))
    found = zip(*kernel.stack([x])) if lanes > 1 else (kernel.single([sample]) for sample in x)
    for results, sample in zip(found, x, strict=True):
        for result, wanted in zip(results, constants(sample), strict=True):
            np.testing.assert_array_equal(result, wanted)
