# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recording a recursion: what is folded, dropped and shared, and what must not be done.

Every recursion is written once; what runs is its recording.
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles.program_interpreter import run
from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.compile.program.tracing import Recorder, program
from screw_dynamics_ros.core.tree.multibody_tree import build_tree
from support.compilation import COMPILED
from support.models import random_description


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def recorded(recorder: Recorder, size: int, *outputs: object) -> list[tuple]:
    """Return the operations, inputs left out, that some outputs need."""
    made = program(recorder, [('x', size)], [np.array(output, dtype=object) for output in outputs])
    return [op for op in made.operations if op[0] != 'input']


def test_constants_are_folded(recorder):
    x, y = recorder.inputs('x', 2)
    assert recorded(recorder, 2, 2.0 * (3.0 * x)) == [('scale', 6.0, 0)]
    assert recorded(recorder, 2, 4.0 * -x) == [('scale', -4.0, 0)]
    assert recorded(recorder, 2, x / 4.0) == [('scale', 0.25, 0)]
    assert recorded(recorder, 2, x + x) == [('scale', 2.0, 0)]
    assert x - x == 0.0
    assert recorded(recorder, 2, 1.0 * x + 0.0, y / 1.0) == []


def test_structural_zeros_are_dropped(recorder):
    x, y = recorder.inputs('x', 2)
    assert 0.0 * x == 0.0
    assert 0.0 / y == 0.0
    zero = np.array([[0.0, x], [y, 0.0]], dtype=object)
    assert recorded(recorder, 2, zero @ np.array([1.0, 0.0], dtype=object)) == []
    assert recorded(recorder, 2, np.cross(np.array([[0, 0, x]]), np.array([[0, 0, y]]))) == []
    assert recorded(recorder, 2, x + 0 * y, 0 - x + 0) == [('neg', 0)]


def test_common_subexpressions_are_shared_whatever_their_sign_and_order(recorder):
    x, y = recorder.inputs('x', 2)
    made = recorded(recorder, 2, x * y, y * x, -x * y, (-x) * (-y), x - y, y - x, x + y, y + x)
    assert made == [('mul', 0, 1), ('neg', 2), ('sub', 0, 1), ('neg', 4), ('add', 0, 1)]
    assert recorded(Recorder(), 0) == []
    both = np.sin(np.array([x, -x]))
    assert [op[0] for op in recorded(recorder, 2, both, np.cos(np.array([x, -x])))] == [
        'sin',
        'neg',
        'cos',
    ]


def test_signs_are_pulled_out_and_cancel(recorder):
    x, y = recorder.inputs('x', 2)
    assert recorded(recorder, 2, -(-x)) == []  # noqa: B002
    assert recorded(recorder, 2, x + (-y)) == [('sub', 0, 1)]
    assert recorded(recorder, 2, x - (-y)) == [('add', 0, 1)]
    assert recorded(recorder, 2, -x + y) == [('sub', 1, 0)]
    assert recorded(recorder, 2, -x + y, x - y) == [('sub', 0, 1), ('neg', 2)]
    assert recorded(recorder, 2, -(x / y), x / -y) == [
        ('reciprocal', 1.0, 1),
        ('mul', 0, 2),
        ('neg', 3),
    ]


def test_signs_of_constants_are_pulled_out(recorder):
    """2 x + y and -2 x - y are the same sum."""
    x, y = recorder.inputs('x', 2)
    assert recorded(recorder, 2, 2.0 * x + y, -2.0 * x - y) == [
        ('scale', 2.0, 0),
        ('add', 1, 2),
        ('neg', 3),
    ]
    assert recorded(recorder, 2, y * (-3.0 * x), y - 3.0 * x * y) == [
        ('scale', 3.0, 0),
        ('mul', 1, 2),
        ('neg', 3),
        ('sub', 1, 3),
    ]


@pytest.mark.parametrize(
    ('build', 'operations'),
    [
        (lambda x, y: -2.0 * x, [('scale', -2.0, 0)]),
        (lambda x, y: -2.0 * x - y, [('scale', -2.0, 0), ('sub', 2, 1)]),
        (lambda x, y: -y - 2.0 * x, [('scale', -2.0, 0), ('sub', 2, 1)]),
        (lambda x, y: -2.0 * x * y, [('scale', -2.0, 0), ('mul', 2, 1)]),
        (lambda x, y: -((x - y) * y), [('sub', 1, 0), ('mul', 2, 1)]),
        (lambda x, y: -((x + y) * y), [('add', 0, 1), ('mul', 1, 2), ('neg', 3)]),
    ],
)
def test_a_sign_takes_no_operation_where_a_constant_or_a_difference_takes_it(build, operations):
    recorder = Recorder()
    x, y = recorder.inputs('x', 2)
    assert recorded(recorder, 2, build(x, y)) == operations


@pytest.mark.parametrize('last', [1.0, -2.0])
def test_signs_of_sums_of_thousands_of_terms(recorder, last):
    """A constant at the end of a long sum takes its sign; without a sum it does not change."""
    x = recorder.inputs('x', 5000)
    total = last * x[0] + x[1]
    for term in x[2:]:
        total = total + term
    kinds = [op[0] for op in recorded(recorder, 5000, -total)]
    assert ('neg' in kinds) == (last == 1.0)
    assert len(kinds) == 5000


@pytest.mark.parametrize('a', [1.0, -1.0])
@pytest.mark.parametrize('b', [1.0, -1.0])
@pytest.mark.parametrize('c', [1.0, -1.0])
@pytest.mark.parametrize('d', [1.0, -1.0])
def test_a_term_of_two_sums_cancels(recorder, a, b, c, d):
    """(x + y) - (x - z) = y + z, and all others of that kind."""
    x, y, z = recorder.inputs('x', 3)
    first, second = a * x + b * y, c * z + d * x
    for total in (first - second if a == d else first + second, second - a * d * first):
        operations = recorded(recorder, 3, total)
        assert [op[0] for op in operations] in (['add'], ['sub'], ['add', 'neg'])


def test_what_is_recorded_has_the_values_of_what_was_written():
    """Random expressions of few inputs, in which much is equal but for signs, or cancels."""
    kinds = {
        'add': lambda u, v, c: u + v,
        'sub': lambda u, v, c: u - v,
        'mul': lambda u, v, c: u * v,
        'neg': lambda u, v, c: -u,
        'scale': lambda u, v, c: c * u,
        'shift': lambda u, v, c: c + u,
    }
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x, recorder = rng.uniform(-1.0, 1.0, 3), Recorder()
        values, scalars = [*x], [*recorder.inputs('x', 3)]
        for _ in range(25):
            build, c = kinds[rng.choice(list(kinds))], rng.choice([-2.0, -1.0, 0.5, 2.0])
            i, j = rng.integers(len(values), size=2)
            for numbers in (values, scalars):
                numbers.append(build(numbers[i], numbers[j], c))
        made = program(recorder, [('x', 3)], [np.array(scalars[-4:], dtype=object)])
        tolerance = 1e-13 * np.abs(values).max()
        np.testing.assert_allclose(run(made, x=x)[0], values[-4:], rtol=1e-9, atol=tolerance)


def test_quotients_by_the_same_share_a_division(recorder):
    x, y, z = recorder.inputs('x', 3)
    assert recorded(recorder, 3, x / z, y / z) == [
        ('reciprocal', 1.0, 2),
        ('mul', 0, 3),
        ('mul', 1, 3),
    ]


def test_an_index_is_no_constant(recorder):
    """2 == 2.0 in Python: x2 + x0 and 2.0 + x0 must stay different."""
    x = recorder.inputs('x', 3)
    values = {
        'add': x[2] + x[0],
        'shift': 2.0 + x[0],
        'mul': x[2] * x[0],
        'scale': 2.0 * x[0],
        'reciprocal': 2.0 / x[0],
    }
    made = recorded(recorder, 3, *values.values())
    assert [op[0] for op in made] == list(values)
    kernel = make_kernel(
        KernelSpecification(
            'index and constant',
            (('x', 3),),
            lambda x: (
                np.array([x[2] + x[0], 2 + x[0], x[2] * x[0], 2 * x[0], x[2] / x[0], 2 / x[0]]),
            ),
        ),
        'python',
    )
    np.testing.assert_array_equal(
        kernel.single([np.array([4.0, 0.0, 8.0])])[0], [12.0, 6.0, 32.0, 8.0, 2.0, 0.5]
    )


def test_only_what_an_output_needs_is_kept(recorder):
    x, y = recorder.inputs('x', 2)
    unused = [x * y * k for k in range(2, 9)]
    made = program(recorder, [('x', 2)], [np.array([x + y, 3.0], dtype=object)])
    assert len(unused) == 7
    assert [op[0] for op in made.operations] == ['input', 'input', 'add']
    assert made.operation_count == 1
    assert made.outputs == [((2,), [2, 3.0])]


@pytest.mark.parametrize(
    'branch',
    [
        lambda x: x if x else 0.0,
        lambda x: max(x, 0.0),
        lambda x: 1.0 if x > 0 else 0.0,
        lambda x: x == 0.0,
        lambda x: abs(float(x)),
        lambda x: np.where(np.array([x], dtype=object) != 0.0, 1.0, 2.0),
        lambda x: {x: 1},
        lambda x: 1.0 if np.linalg.norm(np.array([x, x], dtype=object)) < 1 else 0.0,
    ],
    ids=['if', 'max', 'greater', 'equal', 'float', 'where', 'hash', 'norm'],
)
@COMPILED
@pytest.mark.filterwarnings('error')
def test_a_recursion_must_not_look_at_a_recorded_scalar(branch, backend):
    """NumPy before 1.25 makes a warning of what a comparison of arrays raises."""
    specification = KernelSpecification(
        'branching', (('x', 1),), lambda x: (np.array([branch(x[0])]),)
    )
    with pytest.raises(
        (TypeError, DeprecationWarning, FutureWarning),
        match=r'recorded scalar has no value yet|unhashable|elementwise comparison',
    ):
        make_kernel(specification, backend).single([np.zeros(1)])


def count(function, joints: int, inputs: int) -> int:
    """Return the number of operations of a dynamics function on a random chain."""
    tree = build_tree(random_description(5, joints, ('revolute',), chain=True))
    recorder = Recorder()
    vectors = [recorder.inputs(name, joints) for name in 'qva'[:inputs]]
    output = function(tree, *vectors, np.array([0.0, 0.0, -9.81]))
    return program(recorder, [(name, joints) for name in 'qva'[:inputs]], [output]).operation_count
