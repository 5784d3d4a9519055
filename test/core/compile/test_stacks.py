# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stacks of every size: the same bits for a sample wherever it is, results in place, bad input.

`test_compile.py` compares stacks with single calls, this file stacks with one another, and inputs
that differ from sample to sample with the recursion on floats, sample by sample.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screw_dynamics_ros.core import ArgumentError, Robot
from screw_dynamics_ros.core.compile import stack_runs
from screw_dynamics_ros.core.compile.calls import compiled_call, compiled_into
from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.robot.functions import FUNCTIONS
from support.compilation import BACKENDS, COMPILED, build, close, needs_llvmlite, states
from support.models import random_description

DEADLINE = 300.0  # s; only a failing test waits that long

LANES = native.simd_lanes() if native.available() else 8
#: What stands for the options of a function; those of other names have defaults.
OPTIONS = {'link': 'link3', 'representation': 'body', 'orientation': 'rotation_vector'}
#: Functions whose arguments these tests do not make: they are of robots on a floating base.
OTHERS = {'hybrid_dynamics', 'spatial_momenta', 'spatial_momentum_dynamics'}
NAMES = sorted(set(FUNCTIONS) - OTHERS)


@cache
def robot(backend: str = 'native') -> Robot:
    return Robot(random_description(1, 4, mimic=1), backend=backend)


@cache
def arguments(name: str, samples: int) -> tuple[np.ndarray, ...]:
    """Return stacks for the inputs of a function."""
    rng, known = np.random.default_rng(len(name)), robot()
    sizes = {'payload': len(known.payload_parameters({})), 'q': known.nq}
    return tuple(
        rng.uniform(-1, 1, (samples, sizes.get(each, known.nv))) for each in FUNCTIONS[name].given
    )


def options(name: str) -> list[str]:
    function = FUNCTIONS[name]
    return [OPTIONS.get(o) or function.option_defaults[o] or '' for o in function.options]


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


@needs_llvmlite
@pytest.mark.parametrize('name', NAMES)
def test_a_sample_has_the_same_bits_wherever_it_is(name):
    """Numbers of samples to three vectors and one, from any first sample, into given arrays."""
    most = 3 * LANES + 1
    function, stacks = getattr(robot(), name), arguments(name, most)
    for _ in range(2):  # by Python, then by compiled code
        whole = as_tuple(function(*stacks, *options(name)))
        function = getattr(robot(), name)
    for samples in {0, 1, 2, LANES - 1, LANES, LANES + 1, 2 * LANES + 3, most}:
        for first in {0, (most - samples) // 2, most - samples}:
            rows = slice(first, first + samples)
            part = [stack[rows] for stack in stacks]
            into = tuple(np.full((samples, *x.shape[1:]), np.nan) for x in whole)
            out = into if len(into) > 1 else into[0]
            assert function(*part, *options(name), out=out) is out
            for found, given_array, right in zip(
                as_tuple(function(*part, *options(name))), into, whole
            ):
                np.testing.assert_array_equal(found, right[rows], strict=True)
                np.testing.assert_array_equal(given_array, right[rows], strict=True)
    singles = as_tuple(function(*(stack[1] for stack in stacks), *options(name)))
    for single, stack in zip(singles, whole):
        close(np.asarray(single), stack[1], 1e-10)


@COMPILED
@pytest.mark.parametrize('name', NAMES)
def test_every_function_is_its_recursion(name, backend):
    """Stacks, one of them empty, single calls by both ways in, a program of several outputs."""
    chosen, stacks = options(name), arguments(name, 3)
    exact = as_tuple(getattr(robot('reference'), name)(*stacks, *chosen))

    def check(results, expected):
        for found, right in zip(as_tuple(results), expected, strict=True):
            close(np.asarray(found), right, 1e-10)

    check(getattr(robot(backend), name)(*stacks, *chosen), exact)
    none = as_tuple(getattr(robot(backend), name)(*(stack[:0] for stack in stacks), *chosen))
    assert [array.shape for array in none] == [(0, *array.shape[1:]) for array in exact]
    for k in (0, 1, 2):
        one = [stack[k] for stack in stacks]
        check(getattr(robot(backend), name)(*one, *chosen), [array[k] for array in exact])
    if backend == 'python' and not FUNCTIONS[name].branching.intersection(chosen):
        fused = robot(backend).fuse((name, *chosen), 'gravity_torques')
        vectors = dict(zip(FUNCTIONS[name].given, one), gravity=robot().gravity)
        vectors.setdefault('q', robot().neutral())
        check(fused(*(vectors[each] for each in fused.inputs))[:-1], [x[2] for x in exact])


@needs_llvmlite
@pytest.mark.parametrize('threads', [1, 2, 5])
@pytest.mark.parametrize('name', ['mass_matrix', 'forward_dynamics_derivatives'])
def test_threads_change_no_bit(name, threads, monkeypatch):
    samples = 200 * LANES + 3
    stacks = arguments(name, samples)
    expected = as_tuple(getattr(robot(), name)(*stacks))
    monkeypatch.setattr(stack_runs, 'THREAD_WORK', 0)
    monkeypatch.setattr(stack_runs, 'CLAIM_WORK', 0)
    monkeypatch.setattr(native, 'worker_count', lambda: threads)
    shared = Robot(robot().description, backend='native')
    for _ in range(3):
        for found, right in zip(as_tuple(getattr(shared, name)(*stacks)), expected):
            np.testing.assert_array_equal(found, right)


@needs_llvmlite
def test_a_helper_that_never_starts_delays_nobody(monkeypatch):
    """All threads of the pool are busy: the calling thread computes everything."""
    stacks = arguments('mass_matrix', 50 * LANES)
    expected = robot().mass_matrix(*stacks)
    monkeypatch.setattr(stack_runs, 'THREAD_WORK', 0)
    monkeypatch.setattr(stack_runs, 'CLAIM_WORK', 0)
    monkeypatch.setattr(native, 'worker_count', lambda: 3)
    stack_runs.workers.cache_clear()
    free, shared = threading.Event(), Robot(robot().description, backend='native')
    try:
        blocked = [stack_runs.workers().submit(free.wait) for _ in range(3)]
        np.testing.assert_array_equal(shared.mass_matrix(*stacks), expected)
    finally:
        free.set()
    assert all(each.result(10.0) for each in blocked)
    stack_runs.workers().shutdown()
    np.testing.assert_array_equal(shared.mass_matrix(*stacks), expected)  # as while Python ends
    stack_runs.workers.cache_clear()


# --- every sample may be another robot ------------------------------------------------------------


@BACKENDS
def test_gravity_of_every_sample(backend):
    chain, reference = robot(backend), Robot(robot().description, backend='reference')
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 11, chain.nv))
    G = np.random.default_rng(1).uniform(-10, 10, (11, 3))
    for _ in range(2):
        stacks = chain.inverse_dynamics(q, v, a, gravity=G)
        of_one = chain.gravity_torques(q[0], gravity=G)
        singles = chain.forward_dynamics(q[2], v[2], a[2], gravity=tuple(G[2]))
    for k in range(11):
        reference.gravity = G[k]
        close(stacks[k], reference.inverse_dynamics(q[k], v[k], a[k]))
        close(of_one[k], reference.gravity_torques(q[0]))
    reference.gravity = G[2]
    close(singles, reference.forward_dynamics(q[2], v[2], a[2]), 1e-10)
    np.testing.assert_array_equal(chain.gravity, [0, 0, -9.81])
    link = chain.link_names[-1]
    wrenches = {link: np.ones((11, 6))}
    with_wrench = chain.inverse_dynamics(q, v, a, wrenches, gravity=G)
    close(with_wrench - stacks, chain.inverse_force(q, wrenches), 1e-11)


@BACKENDS
def test_payload_and_inertias_of_every_sample(backend):
    """A kernel with an input for inertial parameters is as many robots as there are samples."""
    chain, rng = robot(backend), np.random.default_rng(2)
    size, samples = len(chain.payload_parameters({})), 2 * LANES + 3
    q, v, a = rng.uniform(-1, 1, (3, samples, chain.nv))
    changes = rng.uniform(0, 0.1, (samples, size))
    gravity = rng.uniform(-10, 10, (samples, 3))
    names = ('inverse_dynamics', 'mass_matrix', 'forward_dynamics_derivatives')
    kernel = chain.fuse(*names, parameters={'inertia_changes': size})
    assert kernel.inputs == ('q', 'v', 'a', 'tau', 'gravity', 'inertia_changes')
    slow = robot('reference').fuse(*names, parameters={'inertia_changes': size})
    found = kernel(q, v, a, a, gravity, changes)
    out = tuple(np.empty_like(x) for x in found)
    assert kernel(q, v, a, a, gravity, changes, out=list(out)) == out
    for k in range(samples):
        right = slow(q[k], v[k], a[k], a[k], gravity[k], changes[k])
        for stack, into, expected in zip(found, out, right):
            close(stack[k], expected, 1e-9)
            np.testing.assert_array_equal(stack[k], into[k])
    same = kernel(q, v[0], a, a, gravity[0], changes[0])
    close(same[0][0], found[0][0])
    payload = np.abs(changes)
    torques = chain.payload_torques(q, v, a, payload, gravity=gravity)
    for k in (0, samples - 1):
        close(
            torques[k],
            robot('reference').payload_torques(q[k], v[k], a[k], payload[k], gravity=gravity[k]),
        )


# --- what is not handled by compiled code, and what is refused ------------------------------------

FORMS = {
    'stack': lambda x: x,
    'vector': lambda x: x[0],
    'list': lambda x: x.tolist(),
    'other order': np.asfortranarray,
    'rows apart': lambda x: np.repeat(x, 2, axis=0)[::2],
    'other type': lambda x: x.astype('>f8'),
    'subclass': np.ma.array,
    'read-only': lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
}


@COMPILED
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    samples=st.integers(0, 20),
    forms=st.tuples(*[st.sampled_from(sorted(FORMS))] * 4),
    out=st.sampled_from(['none', 'new', 'an input', 'part of an input', 'reversed']),
    gravity=st.booleans(),
)
def test_any_form_of_the_arguments(backend, samples, forms, out, gravity):
    """Results do not depend on who handles the arguments, nor on what `out` lies upon."""
    chain = robot(backend)
    rng = np.random.default_rng(samples)
    memory = rng.uniform(-1, 1, (3, max(samples, 1), chain.nv))
    stacks, G = list(memory), rng.uniform(-9, 9, (max(samples, 1), 3))
    given_arrays = [FORMS[form](x) for form, x in zip(forms, stacks)]
    keywords = {'gravity': FORMS[forms[3]](G)} if gravity else {}
    is_stack = 'vector' not in forms[: 3 + gravity] or set(forms[: 3 + gravity]) != {'vector'}
    if samples == 0 and is_stack:
        given_arrays = [x if np.ndim(x) == 1 else np.asarray(x)[:0] for x in given_arrays]
        keywords = {k: x if np.ndim(x) == 1 else np.asarray(x)[:0] for k, x in keywords.items()}
    whole = [np.array(x, float) if np.ndim(x) == 2 else np.array(x) for x in given_arrays]
    expected = chain.inverse_dynamics(*whole, **{k: np.array(x) for k, x in keywords.items()})
    n = expected.shape
    target = {
        'none': None,
        'new': np.empty(n),
        'an input': memory[2][: len(expected)] if is_stack else memory[2][0],
        'part of an input': memory.reshape(-1)[1 : 1 + expected.size].reshape(n),
        'reversed': memory[1][::-1][: len(expected)] if is_stack else memory[1][0][::-1],
    }[out]
    if target is not None:
        keywords['out'] = target
    if out == 'reversed' and samples > 1:
        with pytest.raises(ArgumentError, match='C-contiguous'):
            chain.inverse_dynamics(*given_arrays, **keywords)
        return
    if out == 'reversed':
        return
    found = chain.inverse_dynamics(*given_arrays, **keywords)
    np.testing.assert_array_equal(found, expected)
    assert found is target or target is None


@COMPILED
def test_refused_stacks_and_outputs(backend):
    chain, n = robot(backend), robot().nv
    q, v, a = np.zeros((3, 5, n))
    tau, frozen = np.zeros((5, n)), np.zeros((5, n))
    frozen.flags.writeable = False
    matrix = np.zeros((5, n, n))
    wrong = r'out\[0\] must be a writeable C-contiguous float64 array of shape \(5, 3\)'
    for _ in range(2):
        for stacks, keywords, message in (
            ((q, v[:4], a), {}, r'q: \(5, 3\), v: \(4, 3\)'),
            ((q, v, a[:, :2]), {}, r'a must have shape \(3,\) or \(N, 3\), got \(5, 2\)'),
            ((q[None], v, a), {}, 'q must have shape'),
            ((q, v, a), {'gravity': np.zeros((4, 3))}, r'gravity: \(4, 3\)'),
            ((q, v, a), {'gravity': 'down'}, 'gravity must hold real numbers'),
            ((q, v, a), {'gravity': 9.81}, 'gravity must have shape'),
            ((q, v, a), {'out': np.zeros((4, n))}, wrong),
            ((q, v, a), {'out': np.zeros(n)}, wrong),
            ((q, v, a), {'out': tau.astype(np.float32)}, wrong),
            ((q, v, a), {'out': frozen}, wrong),
            ((q, v, a), {'out': np.asfortranarray(tau)}, wrong),
            ((q, v, a), {'out': tau.tolist()}, wrong),
            ((q, v, a), {'out': (tau,)}, wrong),
        ):
            with pytest.raises(ArgumentError, match=message):
                chain.inverse_dynamics(*stacks, **keywords)
        for out, message in (
            (matrix, 'out must be a tuple of 3 arrays, got ndarray'),
            ((matrix, matrix.copy()), 'got 2 arrays'),
            ((matrix, matrix.copy(), matrix), r'out\[2\] shares memory'),
            ((matrix, tau, matrix.copy()), r'out\[1\] must be'),
        ):
            with pytest.raises(ArgumentError, match=message):
                chain.inverse_dynamics_derivatives(q, v, a, out=out)
        for keywords in ({'gravity': (0, 0, 0)}, {'output': matrix}):
            with pytest.raises(TypeError, match='unexpected keyword'):
                chain.mass_matrix(q, **keywords)
        chain.inverse_dynamics(q, v, a)
        chain.inverse_dynamics_derivatives(q, v, a)
        chain.mass_matrix(q)
    assert not frozen.any()


@BACKENDS
def test_single_calls_into_arrays(backend):
    chain = robot(backend)
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, chain.nv))
    down = np.array([0.5, -1.0, -9.0])
    out, energy, square = np.empty(chain.nv), np.empty(()), (chain.nv, chain.nv)
    several = tuple(np.empty(square) for _ in range(3))
    J = np.empty((6, chain.nv))
    for _ in range(2):
        assert chain.inverse_dynamics(q, v, a, out=out) is out
        np.testing.assert_array_equal(out, chain.inverse_dynamics(q, v, a))
        assert chain.inverse_dynamics(q, v, a, gravity=down, out=out) is out
        np.testing.assert_array_equal(out, chain.inverse_dynamics(q, v, a, gravity=down))
        assert chain.inverse_dynamics_derivatives(q, v, a, out=several) is several
        for found, expected in zip(several, chain.inverse_dynamics_derivatives(q, v, a)):
            np.testing.assert_array_equal(found, expected)
        assert chain.jacobian(q, 'link3', 'body', out=J) is J
        np.testing.assert_array_equal(J, chain.jacobian(q, 'link3', 'body'))
        assert chain.kinetic_energy(q, v, out=energy) is energy
        assert energy == chain.kinetic_energy(q, v)


@BACKENDS
def test_gravity_of_a_single_call(backend):
    """The same bits as with this gravity of the robot, which is not changed."""
    chain, other = robot(backend), Robot(robot().description, backend=backend)
    q, v, a = np.random.default_rng(1).uniform(-1, 1, (3, chain.nv))
    other.gravity = down = np.array([0.5, -1.0, -9.0])
    before = chain.inverse_dynamics(q, v, a)
    for _ in range(2):
        found = chain.inverse_dynamics(q, v, a, gravity=down)
        np.testing.assert_array_equal(found, other.inverse_dynamics(q, v, a))
        np.testing.assert_array_equal(chain.inverse_dynamics(q, v, a), before)
        np.testing.assert_array_equal(chain.inverse_dynamics(q, v, a, gravity=None), before)
    assert (chain.gravity != down).any()


@BACKENDS
@pytest.mark.parametrize('place', [0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12])
def test_a_single_result_may_lie_upon_inputs(backend, place):
    """On q, v, a, on parts of two of them, on gravity, and on none."""
    chain = robot(backend)
    n = chain.nv
    memory = np.random.default_rng(2).uniform(-1, 1, 4 * n + 3)
    q, v, a, down = memory[:n], memory[n : 2 * n], memory[2 * n : 3 * n], memory[3 * n : 3 * n + 3]
    expected = chain.inverse_dynamics(*(x.copy() for x in (q, v, a)), gravity=down.copy())
    out = memory[place : place + n]
    assert chain.inverse_dynamics(q, v, a, gravity=down, out=out) is out
    np.testing.assert_array_equal(out, expected)


@COMPILED
def test_refused_single_outputs(backend):
    chain, n = robot(backend), robot().nv
    q, v, a = np.zeros((3, n))
    frozen, square = np.zeros(n), np.zeros((n, n))
    frozen.flags.writeable = False
    wrong = r'must be a writeable C-contiguous float64 array'
    for _ in range(2):
        shapes = np.zeros(n + 1), np.zeros((1, n)), np.zeros((n, 1))
        for out in (*shapes, np.zeros(n, np.float32), frozen, [0.0] * n):
            with pytest.raises(ArgumentError, match=wrong):
                chain.inverse_dynamics(q, v, a, out=out)
        with pytest.raises(ArgumentError, match=wrong):
            chain.inverse_dynamics(q, v, a, out=np.zeros(2 * n)[::2])
        for out, message in (
            (square, 'out must be a tuple of 3 arrays, got ndarray'),
            ((square, square.copy()), 'got 2 arrays'),
            ((square, square.copy(), square), r'out\[2\] shares memory'),
        ):
            with pytest.raises(ArgumentError, match=message):
                chain.inverse_dynamics_derivatives(q, v, a, out=out)
        with pytest.raises(ArgumentError, match='gravity must have shape'):
            chain.inverse_dynamics(q, v, a, gravity=np.zeros(4))
        for keywords in ({'gravity': np.zeros(3)}, {'output': square}):
            with pytest.raises(TypeError, match='unexpected keyword'):
                chain.mass_matrix(q, **keywords)
        chain.inverse_dynamics(q, v, a)
        chain.inverse_dynamics_derivatives(q, v, a)
    assert not frozen.any()


@needs_llvmlite
def test_calls_of_a_control_loop_run_no_python():
    chain = robot('native')
    q, v, a = np.random.default_rng(3).uniform(-1, 1, (3, chain.nv))
    tau, down = np.empty(chain.nv), np.array([0.0, 0.0, -9.81])
    several = tuple(np.empty((chain.nv, chain.nv)) for _ in range(3))
    chain.inverse_dynamics(q, v, a)
    chain.inverse_dynamics_derivatives(q, v, a)
    entered = []

    def note(frame, event, argument):
        if event == 'call':
            entered.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        chain.inverse_dynamics(q, v, a, out=tau)
        chain.inverse_dynamics(q, v, a, gravity=down)
        chain.inverse_dynamics(q, v, a, out=tau, gravity=down)
        chain.inverse_dynamics_derivatives(q, v, a, gravity=None, out=several)
    finally:
        sys.setprofile(None)
    assert entered == []


@BACKENDS
def test_kernels_of_other_modules(backend):
    """`uniform` inputs are vectors; outputs are written into arrays after the inputs."""
    kernel = make_kernel(
        KernelSpecification(
            'sums', (('x', 3), ('c', 3)), lambda x, c: (x + c, (x * c).sum()), None, frozenset('c')
        ),
        backend,
    )
    call, into = compiled_call(kernel), compiled_into(kernel, stacks=True)
    c = np.array([1.0, 2.0, 3.0])
    for samples in (0, 1, LANES, LANES + 1, 40):
        x = np.random.default_rng(samples).uniform(-1, 1, (samples, 3))
        sums, products = np.empty((samples, 3)), np.empty(samples)
        into(x, c, sums, products)
        for found in ((sums, products), call(x, c), kernel.stack([x, c])):
            np.testing.assert_allclose(found[0], x + c, rtol=1e-15)
            np.testing.assert_allclose(found[1], x @ c, rtol=1e-14, atol=1e-15)
    for wrong in ((np.zeros((2, 3)), np.zeros((2, 3))), (np.zeros(3), c[:2])):
        with pytest.raises(ArgumentError, match=r'c must have shape \(3,\)'):
            call(*wrong)
    with pytest.raises(ArgumentError, match='expected the inputs x, c'):
        call(c)
    total, product = np.empty(3), np.empty(())
    of_one = compiled_into(kernel)
    of_one(c, c, total, product)
    assert (total.tolist(), product) == ([2.0, 4.0, 6.0], 14.0)
    with pytest.raises(TypeError, match='out'):
        of_one(c, c, total, product, out=(total, product))
    with pytest.raises(ArgumentError, match=r'x must have shape \(3,\), got \(1, 3\)'):
        of_one(c[None], c, total[None], product[None])


@needs_llvmlite
def test_functions_of_many_arrays_are_builtin():
    """As those of all outputs of a robot with many links."""
    specification = KernelSpecification(
        'multiples', (('x', 2),), lambda x: tuple(k * x for k in range(100))
    )
    kernel = make_kernel(specification, 'native')
    run, call, x = compiled_into(kernel), compiled_call(kernel), np.array([1.0, -2.0])
    outputs = [np.empty(2) for _ in range(100)]
    run(x, *outputs)
    for found in (outputs, call(x), call(x)):
        assert np.array(found).tolist() == [[k, -2.0 * k] for k in range(100)]
    assert {type(run), type(call)} == {type(len)}


@needs_llvmlite
def test_stacks_leave_no_trace():
    """References are as they were after calls of all kinds, refused ones included."""
    chain = build('tree', 'native')
    q, v, a = states(chain, 12).values()
    gravity, tau = np.zeros((12, 3)), np.empty((12, chain.nv))
    mass = tuple(np.empty((12, chain.nv, chain.nv)) for _ in range(3))
    one, down, matrices = np.empty(chain.nv), np.zeros(3), tuple(x[0].copy() for x in mass)
    for samples in (slice(None), 0):
        chain.inverse_dynamics(q[samples], v[samples], a[samples])
        chain.inverse_dynamics_derivatives(q[samples], v[samples], a[samples])
    torques, derivatives = chain.inverse_dynamics, chain.inverse_dynamics_derivatives
    chain.jacobian(q, 'link3')

    def work() -> None:
        torques(q, v, a)
        torques(q, v, a, out=tau, gravity=gravity)
        torques(q, v, a, out=None, gravity=None)
        derivatives(q, v, a)
        derivatives(q, v, a, out=mass)
        chain.jacobian(q, 'link3', 'body')
        torques(q[0], v[0], a[0], out=one)
        torques(q[0], v[0], a[0], out=one, gravity=down)
        derivatives(q[0], v[0], a[0], out=matrices, gravity=down)
        for bad in ((q, v[1:], a), (q, v, a, {}, 1)):
            with pytest.raises((ArgumentError, TypeError)):
                torques(*bad)

    watched = [q, v, a, gravity, tau, mass, mass[0], one, down, matrices, matrices[2]]
    same = range(len(watched))
    watched += [None, np.dtype(float), chain, 'link3']
    for _ in range(20):
        work()
    gc.collect()
    counts = [sys.getrefcount(x) for x in watched]
    for _ in range(500):
        work()
    gc.collect()
    after = [sys.getrefcount(x) for x in watched]
    assert np.abs(np.subtract(after, counts)).max() < 100  # None is referred to by others, too
    assert [after[k] for k in same] == [counts[k] for k in same]


@needs_llvmlite
def test_other_threads_run_while_a_stack_is_computed():
    """A stack of long work leaves the interpreter to others: this thread sees it at work."""
    chain = Robot(robot().description, backend='native')
    stacks = arguments('forward_dynamics_derivatives', 40_000)
    chain.forward_dynamics_derivatives(*stacks)
    seen, calling, enough = 0, False, threading.Event()
    end = time.monotonic() + DEADLINE

    def work() -> None:
        nonlocal calling
        while not enough.is_set() and time.monotonic() < end:
            calling = True
            chain.forward_dynamics_derivatives(*stacks)
            calling = False

    before = sys.getswitchinterval()
    sys.setswitchinterval(2.0 * DEADLINE)  # nobody has to give way
    thread = threading.Thread(target=work)
    try:
        thread.start()
        while thread.is_alive() and seen < 10:
            seen += calling
            time.sleep(1e-4)
    finally:
        enough.set()
        sys.setswitchinterval(before)
        thread.join()
    assert seen == 10


@needs_llvmlite
def test_many_threads_call_stacks_of_all_sizes(monkeypatch):
    """First calls and later ones, shared by threads or not, with gravity set meanwhile."""
    monkeypatch.setattr(stack_runs, 'THREAD_WORK', 2000)
    chain = Robot(robot().description, backend='native')
    q, v, a = arguments('inverse_dynamics', 200)
    expected = robot().inverse_dynamics(q, v, a), robot().mass_matrix(q)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for samples in np.random.default_rng(seed).integers(0, 200, 60):
                rows = slice(0, samples)
                found = chain.inverse_dynamics(q[rows], v[rows], a[rows])
                np.testing.assert_array_equal(found, expected[0][rows])
                np.testing.assert_array_equal(chain.mass_matrix(q[rows]), expected[1][rows])
                chain.gravity = (0, 0, -9.81)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# --- memory of large results ----------------------------------------------------------------------


@pytest.mark.skipif(not stack_runs.AVAILABLE, reason='no such memory here')
def test_memory_of_large_results_is_kept_for_the_next(monkeypatch):
    """Memory is used again when nothing refers to it, views included, and never before."""
    monkeypatch.setattr(stack_runs, 'LARGE', 2**20)
    monkeypatch.setattr(stack_runs, 'MOST_KEPT', 4 * 2**20)
    monkeypatch.setattr(stack_runs, '_kept', {})

    def kept() -> int:
        return sum(len(each) for each in stack_runs._kept.values())

    shape = (300, 1000)  # 2.4 MB

    def new(*shape: int) -> np.ndarray:
        return stack_runs.new_arrays([shape])[0]

    first = new(*shape)
    place = first.ctypes.data
    first[:] = 1.0
    view = first[5:, ::3][7:].T
    del first
    second = new(*shape)
    assert second.ctypes.data != place
    second[:] = 2.0
    assert (view == 1.0).all()
    del view
    gc.collect()
    third = new(1000, 300)
    assert third.ctypes.data == place
    assert third.flags.c_contiguous
    assert third.flags.writeable
    assert third.flags.aligned
    del second, third
    assert kept() == 1  # no more is kept
    other = new(600, 1000)
    assert kept() == 1
    huge = new(1000, 1000)
    del huge, other
    assert kept() == 1
    small = new(10, 10)
    assert small.flags.owndata


@needs_llvmlite
def test_large_results_are_all_there(monkeypatch):
    """Results in memory that was used before, with nothing left of what it held."""
    monkeypatch.setattr(stack_runs, 'LARGE', 2**16)
    chain = Robot(robot().description, backend='native')
    q = arguments('inverse_dynamics', 3000)[0]
    expected = robot('python').jacobian(q, 'link3', 'body')
    for _ in range(4):
        found = chain.jacobian(q, 'link3', 'body')
        close(found, expected)
        found[:] = np.nan
        del found


@needs_llvmlite
@pytest.mark.skipif(not stack_runs.AVAILABLE, reason='no such memory here')
@pytest.mark.parametrize('name', ['mass_matrix', 'inverse_dynamics_derivatives'])
def test_large_results_of_compiled_calls(name, monkeypatch):
    """They are new each time, owned by no other array, and errors of the system come through."""
    monkeypatch.setattr(stack_runs, 'LARGE', 2**12)
    monkeypatch.setattr(stack_runs, '_kept', {})
    chain = Robot(robot().description, backend='native')
    stacks = arguments(name, 500)
    call = getattr(chain, name)
    call(*stacks)
    call = getattr(chain, name)  # the builtin function
    expected = getattr(robot('python'), name)(*stacks)
    for _ in range(3):
        found = call(*stacks)
        arrays = found if isinstance(found, tuple) else (found,)
        close(found, expected)
        assert all(type(x.base) is stack_runs._Owner for x in arrays)
        assert sys.getrefcount(found) == 3  # here, in `arrays`, and while it is counted
        places = {x.ctypes.data for x in arrays}
        assert len(places) == len(arrays)
        del found, arrays
        assert sum(map(len, stack_runs._kept.values())) == len(places)

    def refused(*_: object, **__: object) -> None:
        raise OSError('Cannot allocate memory')

    monkeypatch.setattr(stack_runs, '_kept', {})
    monkeypatch.setattr(stack_runs.mmap, 'mmap', refused)
    with pytest.raises(MemoryError, match=r'results of .* MB'):
        call(*stacks)


@needs_llvmlite
def test_many_calls_register_a_kernel_once():
    """Calls that go through Python, as those of several threads, leave nothing behind."""
    chain = Robot(robot().description, backend='native')
    stacks = [np.asfortranarray(x) for x in arguments('mass_matrix', 20)]  # not for compiled code
    for _ in range(20):
        chain.mass_matrix(*stacks)
    assert len(chain._tables['mass_matrix']._kept) == 1
