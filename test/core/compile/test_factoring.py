# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Common factors taken out of sums: the same numbers by fewer operations."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.program_interpreter import run
from screw_dynamics_ros.core.compile.program.factoring import factored
from screw_dynamics_ros.core.compile.program.tracing import Program, Recorder, program

SIZE = 9


def recorded(build, size: int = SIZE) -> Program:
    """Return the program of `build(x)`, which returns an array."""
    recorder = Recorder()
    return program(recorder, [('x', size)], [np.asarray(build(recorder.inputs('x', size)))])


def counts(p: Program) -> Counter[str]:
    return Counter(op[0] for op in p.operations)


def values(p: Program, x: np.ndarray) -> np.ndarray:
    return run(p, x=x)[0]


def same(before: Program, after: Program, seed: int = 0, size: int = SIZE) -> None:
    """Assert that two programs compute the same numbers but for rounding."""
    x = np.random.default_rng(seed).uniform(-2.0, 2.0, size)
    np.testing.assert_allclose(values(after, x), values(before, x), rtol=1e-10, atol=1e-10)


def turned(x: np.ndarray, alpha: float = 0.7) -> np.ndarray:
    """R^T w for three vectors w and back R w for two more, R about x, then about z."""
    (a, b), (c, s) = (np.cos(alpha), np.sin(alpha)), (np.cos(x[0]), np.sin(x[0]))
    R = np.array([[1, 0, 0], [0, a, -b], [0, b, a]]) @ np.array(
        [[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype=x.dtype
    )
    w = x[1:].reshape(-1, 3)
    return np.stack([*(R.T @ v for v in w[:3]), *(R @ v for v in w[3:])])


def test_two_rotations_one_after_the_other():
    """8 products and 4 sums for each vector, none for the elements of the matrix."""
    before = recorded(turned, 16)
    after = factored(before)
    same(before, after, size=16)
    kinds = counts(after)
    assert kinds['mul'] + kinds['scale'] == 5 * 8
    assert kinds['add'] + kinds['sub'] == 5 * 4


@pytest.mark.parametrize(
    ('build', 'products', 'sums'),
    [
        (lambda x: [x[0] * x[1] + x[0] * x[2] - x[0] * x[3]], 1, 2),
        (lambda x: [3.0 * x[0] - 3.0 * x[1] + x[2]], 1, 2),
        (lambda x: [x[0] * x[1] - x[2] * x[3] - x[1] * x[4]], 2, 2),
        (lambda x: [2.0 * x[0] + x[0] * x[1]], 1, 1),
        (lambda x: [-x[0] * x[1] - x[0] * x[2]], 1, 1),
        (lambda x: [x[0] * x[1] * x[2] + x[0] * x[3] * x[1] + x[0] * x[4]], 2, 2),
    ],
)
def test_factors_are_taken_out(build, products, sums):
    before = recorded(build)
    after = factored(before)
    same(before, after)
    kinds = counts(after)
    assert kinds['mul'] + kinds['scale'] == products
    assert kinds['add'] + kinds['sub'] + kinds['shift'] == sums


def test_products_that_others_use_stay():
    """a b + a c with a b an output takes two products either way: nothing changes."""
    before = recorded(lambda x: [x[0] * x[1] + x[0] * x[2], x[0] * x[1]])
    assert factored(before) == before


def test_indices_are_not_constants():
    """x[3] is operation 3, and 3 == 3.0."""
    before = recorded(lambda x: [3.0 * x[1] + x[3] * x[2] + 3.0 * x[4] * x[3]])
    same(before, factored(before))


@pytest.mark.parametrize('tiny', [1e-320, 5e-324, -1e-200])
def test_constants_that_vanish_keep_their_sign(tiny):
    """A product of constants too small for a float is zero; the rest of the sum is not."""
    before = recorded(lambda x: [tiny * (x[0] * (1e-200 * x[2])) + x[2] * x[3] - x[2] * x[4]])
    same(before, factored(before))


def test_zero_that_hands_on_nan_is_kept():
    """x - x is zero, but NaN if x is."""

    def build(x: np.ndarray) -> list[object]:
        nothing = x[0].recorder.put(('sub', x[0].index, x[0].index))
        return [x[1] * x[2] + (nothing + x[1] * x[3])]

    before, x = recorded(build), np.ones(SIZE)
    x[0] = 1e30  # nothing is left of a sum with it
    after = factored(before)
    assert values(after, x) == values(before, x) == 2.0
    x[0] = np.nan
    assert np.isnan(values(after, x)).all()


def test_terms_that_cancel():
    """What becomes a constant when it is written out is computed as it was."""
    before = recorded(lambda x: [np.sin(x[0] * x[1] + x[0] * x[2] - x[0] * (x[1] + x[2])) + x[3]])
    same(before, factored(before))


def test_long_sums():
    before = recorded(lambda x: [sum((x[0] * (k * x[1 + k % 8]) for k in range(3000)), x[2])])
    after = factored(before)
    same(before, after)
    assert after.operation_count < before.operation_count


EXPRESSIONS = st.recursive(
    st.integers(0, SIZE - 1).map(lambda k: lambda x: x[k]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda ab: lambda x: ab[0](x) + ab[1](x)),
        st.tuples(inner, inner).map(lambda ab: lambda x: ab[0](x) - ab[1](x)),
        st.tuples(inner, inner).map(lambda ab: lambda x: ab[0](x) * ab[1](x)),
        inner.map(lambda a: lambda x: -a(x)),
        st.tuples(st.sampled_from([-1.0, 0.5, 2.0, 3.0]), inner).map(
            lambda ca: lambda x: ca[0] * ca[1](x)
        ),
        inner.map(lambda a: lambda x: np.sin(a(x))),
    ),
    max_leaves=30,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=3), st.integers(0, 100))
def test_any_program(expressions, seed):
    """The same numbers, never more products or sums."""
    before = recorded(lambda x: [e(x) for e in expressions])
    after = factored(before)
    assert len(after.outputs[0][1]) == len(expressions)
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, SIZE)
    np.testing.assert_allclose(values(after, x), values(before, x), rtol=1e-8, atol=1e-8)
    assert after.operation_count <= before.operation_count


def test_what_two_sums_share_cancels():
    """(a + b) - (a + c) = b - c, as in the differences of two elements of Omega."""
    before = recorded(lambda x: [(x[0] + x[1]) - (x[2] + x[0]), -(x[3] + x[4]) + (x[4] + x[5])])
    kinds = counts(before)
    assert kinds['add'] + kinds['sub'] == 2
    x = np.arange(float(SIZE)) ** 2
    assert values(before, x).tolist() == [1.0 - 4.0, 25.0 - 9.0]
