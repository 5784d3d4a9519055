# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Outputs of stacks: any elements in any number, for vectors of any width, streamed or not.

Programs of this file are random sums, products and sines, computed beside with NumPy; functions of
robots are compared in `test_compile.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.kernels import KernelSpecification, NativeKernel
from screw_dynamics_ros.core.compile.llvm import module, native, stack_loop
from screw_dynamics_ros.core.compile.program.divided_program import Workspace
from support.compilation import needs_llvmlite

pytestmark = needs_llvmlite

INPUTS, GUARD = 5, 1.5e300
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 40)  # of outputs
LINES = (8, 64, 24)  # those of whole cache lines
Function = Callable[[np.ndarray], tuple[np.ndarray, ...]]


def random_function(seed: int, sizes: tuple[int, ...], operations: int = 80) -> Function:
    """Return a function whose outputs mix results, inputs, sines, constants, and zeros in a row."""

    def function(x: np.ndarray) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(seed)
        values = list(x)
        for _ in range(operations):
            i, j = rng.integers(len(values), size=2)
            kind = rng.integers(4)
            a, b = values[i], values[j]
            values.append((a + b, a - b, np.sin(a) * b, 0.5 * (np.cos(a) - b))[kind])
        outputs = []
        for size in sizes:
            kinds = rng.integers(8, size=size)
            kinds[3 : 3 + size // 2] = 0  # blocks of zeros
            picked = rng.integers(len(values), size=size)
            constants = {0: 0.0, 1: -0.0, 2: 0.75}
            elements = [constants.get(int(k), values[p]) for k, p in zip(kinds, picked)]
            outputs.append(np.array(elements, dtype=x.dtype))
        return tuple(outputs)

    return function


def kernel_of(function: Function, lanes: int, monkeypatch: pytest.MonkeyPatch) -> NativeKernel:
    """Return a kernel for vectors of so many samples, which this processor may lack."""
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', '')
    monkeypatch.setattr(native, 'simd_lanes', lambda: lanes)
    return NativeKernel(KernelSpecification('random', (('x', INPUTS),), function))


def guarded(samples: int, size: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an array `offset` bytes after a cache line, and the memory that it is part of."""
    memory = np.full(samples * size + 32, GUARD)
    first = (-memory.ctypes.data % 64 + offset) // 8 + 8
    return memory[first : first + samples * size].reshape(samples, size), memory


def check(kernel: NativeKernel, function: Function, samples: int, offset: int = 8) -> None:
    """Compare results, and look at the memory around them."""
    x = np.random.default_rng(samples).uniform(-1.0, 1.0, (samples, INPUTS))
    expected = [function(sample) for sample in x]
    sizes = [len(output) for output in expected[0]]
    arrays, memory = zip(*(guarded(samples, size, offset) for size in sizes))
    kernel.stack_program([x], arrays)
    for k, (result, around) in enumerate(zip(arrays, memory)):
        wanted = np.array([sample[k] for sample in expected])
        np.testing.assert_allclose(result, wanted, rtol=1e-13, atol=1e-13)
        zeros = wanted == 0.0
        np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(wanted[zeros]))
        assert np.count_nonzero(around != GUARD) == np.count_nonzero(wanted != GUARD)


@pytest.mark.parametrize('lanes', [2, 4, 8])
@pytest.mark.parametrize('length', [10**6, 1])
def test_outputs_of_all_sizes(lanes, length, monkeypatch):
    """In one function, and cut into many, which reuse the places of one another's values."""
    monkeypatch.setattr(module, 'LONGEST_FUNCTION', (length, length))
    monkeypatch.setattr(module, 'PIECE', 7)
    function = random_function(lanes, SIZES)
    kernel = kernel_of(function, lanes, monkeypatch)
    for samples in (1, 2, lanes - 1, lanes, lanes + 1, 3 * lanes + 1):
        check(kernel, function, samples)


@pytest.mark.parametrize('seed', range(3))
def test_a_place_is_taken_again_only_when_nothing_reads_it(seed, monkeypatch):
    monkeypatch.setattr(module, 'LONGEST_FUNCTION', (1, 1))
    monkeypatch.setattr(module, 'PIECE', 1 + 2 * seed)
    function = random_function(seed, (3, 9), 150)
    kernel = kernel_of(function, native.simd_lanes(), monkeypatch)
    check(kernel, function, 11)
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, INPUTS)
    for result, wanted in zip(kernel.single([x]), function(x)):
        np.testing.assert_allclose(result, wanted, rtol=1e-13, atol=1e-13)


def test_places_are_reused():
    workspace = Workspace()
    first, pack = workspace.take(), workspace.take(4)
    workspace.free(pack, 4)
    assert workspace.take() not in (first, *range(pack, pack + 4))  # packs stay whole
    assert workspace.take(4) == pack
    assert workspace.size == 6


@pytest.mark.parametrize('lanes', [2, 4, 8])
@pytest.mark.parametrize('offset', [0, 8, 32])
def test_large_results_are_streamed_if_they_are_whole_lines(lanes, offset, monkeypatch):
    """Instructions that stream would end the process at an address that is no multiple of 32."""
    monkeypatch.setattr(stack_loop, 'STREAMED', 8 * 2 * lanes * sum(LINES))
    function = random_function(lanes, LINES)
    kernel = kernel_of(function, lanes, monkeypatch)
    for samples in (1, 2 * lanes - 1, 2 * lanes, 5 * lanes + 1):
        check(kernel, function, samples, offset)


def test_results_that_are_no_whole_lines_are_not_streamed(monkeypatch):
    monkeypatch.setattr(stack_loop, 'STREAMED', 1)
    function = random_function(1, (8, 9))
    check(kernel_of(function, native.simd_lanes(), monkeypatch), function, 20, offset=0)


@pytest.mark.parametrize('lanes', [2, 4, 8])
@pytest.mark.parametrize('sizes', [(3,), (9, 5), (81, 81)])
def test_memory_of_small_tiles_is_fetched_before_they_are_computed(lanes, sizes, monkeypatch):
    monkeypatch.setattr(stack_loop, 'FETCHED', 1)
    function = random_function(4, sizes)
    kernel = kernel_of(function, lanes, monkeypatch)
    for samples in (1, lanes, 5 * lanes + 1):
        check(kernel, function, samples, offset=8)


@pytest.mark.parametrize('opaque', [True, False])
def test_only_small_tiles_are_fetched(opaque):
    """Larger ones would push the values of the program out of the first cache."""
    for lanes in (2, 4, 8):
        most = stack_loop.FETCHED_TILE // (8 * lanes)
        for size, fetched in ((most, True), (most + 1, False)):
            text = '\n'.join(stack_loop.stack_loop('kernel', 1, [size], lanes, opaque))
            assert ('@llvm.prefetch' in text) == fetched


def test_streams_of_several_threads(monkeypatch):
    monkeypatch.setattr(stack_loop, 'STREAMED', 1)
    monkeypatch.setattr(native, 'worker_count', lambda: 4)
    function = random_function(2, LINES)
    kernel = kernel_of(function, native.simd_lanes(), monkeypatch)
    for name in ('THREAD_WORK', 'CLAIM_WORK'):
        monkeypatch.setattr(f'screw_dynamics_ros.core.compile.stack_runs.{name}', 1)
    check(kernel, function, 203, offset=0)
