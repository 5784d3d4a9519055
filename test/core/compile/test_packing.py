# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Packs and chained sums: fewer instructions, the same numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.program_interpreter import run
from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.compile.program.packing import packed
from screw_dynamics_ros.core.compile.program.sums import chained
from screw_dynamics_ros.core.compile.program.tracing import Program, Recorder, program
from screw_dynamics_ros.core.linear import sparse_product
from support.compilation import needs_llvmlite

SIZE = 40


def recorded(build, size: int = SIZE) -> Program:
    """Return the program of `build(x)`, which returns a tuple of arrays."""
    recorder = Recorder()
    return program(recorder, [('x', size)], build(recorder.inputs('x', size)))


def counts(p: Program) -> Counter[str]:
    return Counter(op[0] for op in p.operations)


def product(x: np.ndarray) -> tuple[np.ndarray]:
    """(3, 4) times (4, 6): a row of six is a pack of four, and two scalars."""
    return (x[:12].reshape(3, 4) @ x[12:36].reshape(4, 6),)


def chain_of_products(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """A (B C) with a minus in B, zeros and ones in C; B C is not an output."""
    A, B, C = x[:9].reshape(3, 3), x[9:18].reshape(3, 3).copy(), np.zeros((3, 8), dtype=x.dtype)
    B[1] = -B[1]
    C[:, :4] = x[18:30].reshape(3, 4)
    C[:2, 4:] = x[30:38].reshape(2, 4)
    C[0, 1], C[2, 5] = 0.0, 1.0
    return A @ sparse_product(B, C), -(B @ C)


def shared(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Elements of a product that other outputs and operations use, too."""
    P = x[:8].reshape(2, 4) @ x[8:24].reshape(4, 4)
    return P, P[0] * P[1], np.sin(P[:, :2]) @ P[:, 1:3].T @ P


def zero_and_first(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Packs that differ in one lane: operation 0 and the constant 0.0, equal in Python."""
    rows = np.array([x[:4], x[:4], x[:4] * x[8]], dtype=x.dtype)
    rows[1, 0] = rows[2, 1] = 0.0
    return x[12:24].reshape(4, 3) @ rows, x[24:36].reshape(4, 3) @ rows[:, ::-1]


CASES = [product, chain_of_products, shared, zero_and_first]


def test_elements_of_a_row_are_computed_together():
    before, after = recorded(product), packed(recorded(product), 4)
    assert counts(before)['mul'] == 3 * 4 * 6
    assert counts(after)['vmul'] == 3 * 4
    assert counts(after)['mul'] == 3 * 4 * 2  # what is left of each row
    assert counts(after)['pack'] == 4  # each row of the second factor is gathered once


def test_packs_read_packs():
    """Of A (B C), packs of B C are never taken apart and put together."""

    def build(x):
        return (x[:9].reshape(3, 3) @ (x[9:18].reshape(3, 3) @ x[18:30].reshape(3, 4)),)

    after = packed(recorded(build), 4)
    assert counts(after)['vmul'] == 2 * 3 * 3
    assert counts(after)['mul'] == 0
    gathered = [e for op in after.operations if op[0] == 'pack' for e in op[1:]]
    assert {after.operations[e][0] for e in gathered} == {'input'}


def test_what_is_not_alike_stays():
    """Elements of a row that share no factors, and vectors, are left alone."""
    for build in (
        lambda x: ((x[:16] * x[16:32] + x[1:17] * x[17:33]).reshape(4, 4),),
        lambda x: (x[:16].reshape(4, 4) @ x[16:20],),
        lambda x: (np.sin(x[:16]).reshape(4, 4),),
    ):
        p = recorded(build)
        assert packed(p, 4) is p


@pytest.mark.parametrize('build', CASES)
def test_packed_programs_mean_the_same(build):
    x = np.random.default_rng(1).uniform(-1.0, 1.0, SIZE)
    p = recorded(build)
    after = packed(chained(p), 4)
    assert counts(after)['vmul'] > 0
    for result, expected in zip(run(after, x=x), build(x)):
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)


@needs_llvmlite
@pytest.mark.parametrize('build', CASES)
def test_packs_in_machine_code(build, monkeypatch):
    """Also where a program is cut into several functions, which hand packs to each other."""
    x = np.random.default_rng(2).uniform(-1.0, 1.0, SIZE)
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', '')  # the same program for both lengths
    for length in (10**6, 10):
        monkeypatch.setattr(
            'screw_dynamics_ros.core.compile.llvm.module.LONGEST_FUNCTION', (length,) * 2
        )
        monkeypatch.setattr('screw_dynamics_ros.core.compile.llvm.module.PIECE', 25)
        kernel = make_kernel(KernelSpecification('test of packs', (('x', SIZE),), build), 'native')
        for result, expected in zip(kernel.single([x]), build(x)):
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-14)


def test_products_are_added_one_after_the_other():
    """(a b + c d) + (e f + g h) has two products that begin a sum; one chain has one."""

    def build(x):
        return ((x[:1] * x[1:2] + x[2:3] * x[3:4]) + (x[4:5] * x[5:6] + x[6:7] * x[7:8]),)

    before = recorded(build, 8)
    after = chained(before)
    assert unfused(before) == 2
    assert unfused(after) == 1
    assert after.operation_count == before.operation_count


def unfused(p: Program) -> int:
    """Return how many products stand alone: a sum fuses one of those it adds."""
    products = {i for i, op in enumerate(p.operations) if op[0] == 'mul'}
    fused = set()
    for op in p.operations:
        if op[0] in ('add', 'sub'):
            fused |= set(sorted(products.intersection(op[1:]) - fused)[-1:])
    return len(products - fused)


def test_a_partial_sum_that_is_shared_stays():
    def build(x):
        partial = x[0] * x[1] + x[2] * x[3]
        return np.array([x[4] + partial, partial]), np.array([partial * x[5]])

    before = recorded(build, 6)
    assert chained(before).operations == before.operations


@st.composite
def programs(draw):
    """Sums, products and differences of inputs and earlier results, put into a matrix."""
    recorder = Recorder()
    values = list(recorder.inputs('x', 6))
    for _ in range(draw(st.integers(5, 40))):
        kind = draw(st.sampled_from('++++--**nsc'))
        a, b = (values[draw(st.integers(0, len(values) - 1))] for _ in range(2))
        values.append({
            '+': lambda a, b: a + b, '-': lambda a, b: a - b, '*': lambda a, b: a * b,
            'n': lambda a, b: -a, 's': lambda a, b: 0.5 * a, 'c': lambda a, b: a + 2.0,
        }[kind](a, b))  # fmt: skip
    matrix = np.empty(8, dtype=object)
    for k in range(8):
        matrix[k] = values[-1 - k] if draw(st.booleans()) else values[k]
    return program(recorder, [('x', 6)], [matrix.reshape(2, 4)])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(programs())
def test_any_program_means_the_same(p):
    x = np.array([0.3, -0.7, 1.1, 0.2, -0.4, 0.9])
    (expected,) = run(p, x=x)
    scale = 1e-12 * max(1.0, np.abs(expected).max())
    for after in (chained(p), packed(p, 4), packed(chained(p), 4)):
        np.testing.assert_allclose(run(after, x=x)[0], expected, rtol=1e-9, atol=scale)
