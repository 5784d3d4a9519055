# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The three backends compute the same: single calls, stacks, whatever is passed in.

`test_pinocchio.py` says that the numbers are right, this file that all ways to compute them agree.
"""

from __future__ import annotations

import math
import sys
from functools import cache

import numpy as np
import pytest

from screw_dynamics_ros.core.compile import kernels
from screw_dynamics_ros.core.compile.kernels import KernelSpecification, make_kernel
from screw_dynamics_ros.core.compile.llvm import compilers, native
from screw_dynamics_ros.core.compile.llvm import module as llvm_ir
from screw_dynamics_ros.core.compile.program.tracing import arctangent
from support.compilation import (
    BACKENDS,
    CALLS,
    CASES,
    NATIVE,
    build,
    call,
    close,
    needs_llvmlite,
    states,
)
from support.models import random_wrenches

PYTHON = sys.executable


@pytest.mark.parametrize(
    ('case', 'backend'),
    [
        *((case, 'python') for case in CASES),
        *(pytest.param(case, *NATIVE.values, marks=NATIVE.marks) for case in ('tree', 'ball')),
    ],
)
def test_backends_agree(case, backend):
    """Every function, single calls (both ways in) and stacks, against the recursion on floats."""
    robot, reference = build(case, backend), build(case, 'reference')
    state = states(robot, 3)
    for name in CALLS:
        expected = call(reference, name, state)
        tolerance = 1e-10 if name == 'forward_dynamics' else 1e-12  # conditioned like M
        close(call(robot, name, state), expected, tolerance)
        for k in range(3):
            one = {key: value[k] for key, value in state.items()}
            close(call(robot, name, one), expected[k], tolerance)
            close(call(robot, name, one), expected[k], tolerance)
    wrenches = random_wrenches(robot, np.random.default_rng(0))
    q, v, a = state.values()
    for name in ('inverse_dynamics', 'forward_dynamics'):
        close(
            getattr(robot, name)(q, v, a, wrenches),
            getattr(reference, name)(q, v, a, wrenches),
            1e-10,
        )
    fused = robot.fuse('joint_transforms', 'mass_matrix')(q[0])
    for actual, expected in zip(fused, reference.fuse('joint_transforms', 'mass_matrix')(q[0])):
        close(actual, expected)


@BACKENDS
def test_a_vector_next_to_stacks_serves_all(backend):
    robot = build('tree', backend)
    q, v, a = states(robot, 9).values()
    for Q, V, A in (
        (q, v[0], a[0]),
        (q[0], v, a[0]),
        (q[0], v[0], a),
        (q, v[0], a),
        (q[:1], v[0], a[0]),
    ):
        samples = max(len(x) for x in (Q, V, A) if x.ndim == 2)
        stacks = [x if x.ndim == 2 else np.tile(x, (samples, 1)) for x in (Q, V, A)]
        np.testing.assert_array_equal(
            robot.inverse_dynamics(Q, V, A), robot.inverse_dynamics(*stacks)
        )
    link = robot.link_names[-1]
    W = np.random.default_rng(0).uniform(-1, 1, (9, 6))
    both = robot.inverse_dynamics(q[0], v[0], a[0], {link: W})
    np.testing.assert_array_equal(
        both, robot.inverse_dynamics(np.tile(q[0], (9, 1)), v[0], a[0], {link: W})
    )
    close(both[4], robot.inverse_dynamics(q[0], v[0], a[0], {link: W[4]}))


@BACKENDS
def test_stacks_of_any_layout(backend):
    robot = build('tree', backend)
    q = states(robot, 9)['q']
    expected = robot.mass_matrix(q)
    wide = np.zeros((18, 2 * robot.nq))
    wide[::2, ::2] = q
    for value in (
        np.asfortranarray(q),
        wide[::2, ::2],
        q[::-1].copy()[::-1],
        q.tolist(),
        list(q),
        q.astype('>f8'),
        q.astype(object),
    ):
        np.testing.assert_array_equal(robot.mass_matrix(value), expected)
    np.testing.assert_array_equal(
        robot.mass_matrix(q.astype(np.float32)),
        robot.mass_matrix(q.astype(np.float32).astype(float)),
    )
    whole = np.round(q).astype(int)
    for value in (whole, whole > 0):
        np.testing.assert_array_equal(robot.mass_matrix(value), robot.mass_matrix(value * 1.0))
    assert robot.mass_matrix(q).flags.c_contiguous


# --- what is not a number -------------------------------------------------------------------------


@BACKENDS
@pytest.mark.parametrize('name', CALLS)
def test_what_is_not_a_number_comes_out_as_such(backend, name):
    """No exception, no number where the input matters, and the right number where it does not."""
    robot = shared(backend)
    state = {key: array[0] for key, array in states(robot, 1).items()}
    clean, dependences = dependence_on_arguments(name)
    for (key, k), matters in dependences.items():
        value = (np.nan, -np.inf)[k % 2]
        broken = {**state, key: np.where(np.arange(robot.nv) == k, value, state[key])}
        single = np.asarray(call(robot, name, broken))
        stack = np.asarray(
            call(robot, name, {n: np.stack([state[n], x, state[n]]) for n, x in broken.items()})
        )
        for result in (single, stack[1]):
            assert not np.isfinite(result[matters]).any()
            right = np.isclose(result, clean, rtol=1e-9, atol=1e-12)
            assert (right | ~np.isfinite(result))[~matters].all()
        for other in (stack[0], stack[2]):
            close(other, clean, 1e-10)


@cache
def shared(backend):
    return build('tree', backend)


@cache
def dependence_on_arguments(name):
    """Return the value of a function, and what changes with each number of its arguments."""
    reference, rng = shared('reference'), np.random.default_rng(0)
    state = {key: array[0] for key, array in states(reference, 1).items()}
    clean, found = np.asarray(call(reference, name, state)), {}
    for key in CALLS[name][0]:
        for k, unit in enumerate(np.eye(reference.nv)):
            shifted = {**state, key: state[key] + unit * rng.uniform(0.5, 1)}
            found[key, k] = np.abs(call(reference, name, shifted) - clean) > 1e-6
    return clean, found


@BACKENDS
def test_nan_in_a_quaternion(backend):
    robot = build('planar, floating', backend)
    q, v, a = (x[0] for x in states(robot, 1).values())
    q[4] = np.nan
    assert np.isnan(robot.link_pose(q, 'link0')[:3, :3]).all()
    assert np.isnan(robot.inverse_dynamics(q, v, a)[:6]).any()
    assert np.isnan(robot.forward_dynamics(q, v, a)).any()


# --- sine and cosine ------------------------------------------------------------------------------


def angles() -> np.ndarray:
    """Return hard angles: near multiples of pi/2, tiny, huge, at the limits of the reduction."""
    rng = np.random.default_rng(0)
    k = np.concatenate([np.arange(-64, 65), rng.integers(-(10**8), 10**8, 500)])
    near = k * (np.pi / 2)
    parts = [
        rng.uniform(-np.pi, np.pi, 20000),
        rng.uniform(-1e4, 1e4, 20000),
        rng.uniform(-(2.0**30), 2.0**30, 20000),
        near,
        np.nextafter(near, np.inf),
        near * (1 + 1e-9),
        np.pi / 4 * (1 + rng.uniform(-1e-12, 1e-12, 200)) * rng.integers(-1000, 1000, 200),
        10.0 ** rng.uniform(-300, 0, 2000),
        [0.0, 5e-324, 2.0**30, np.nextafter(2.0**30, 0)],
    ]
    return np.concatenate(parts)


def sine_and_cosine(size: int, backend: str):
    return make_kernel(
        KernelSpecification(
            'sine and cosine', (('x', size),), lambda x: (np.stack([np.sin(x), np.cos(x)]),)
        ),
        backend,
    )


@needs_llvmlite
@pytest.mark.parametrize('size', [1, 8, 11])
def test_sine_and_cosine_to_the_last_digit(size):
    """Within two units in the last place of the exact value, in single calls and stacks."""
    x = angles()
    x = x[: len(x) // size * size].reshape(-1, size)
    kernel = sine_and_cosine(size, 'native')
    (stack,) = kernel.stack([x])
    exact = np.stack([np.sin(x.astype(np.longdouble)), np.cos(x.astype(np.longdouble))], axis=1)
    error = np.abs(stack - exact) / np.spacing(np.abs(exact).astype(float))
    assert error.max() < 2.0
    for row in range(0, len(x), 37):
        (single,) = kernel.single([x[row].copy()])
        error = np.abs(single - exact[row]) / np.spacing(np.abs(exact[row]).astype(float))
        assert error.max() < 2.0


def of_the_c_library(x: np.ndarray) -> np.ndarray:
    """Sine and cosine; those of NumPy are its own, and in some versions less accurate."""
    return np.array([[math.sin(angle) for angle in x], [math.cos(angle) for angle in x]])


@needs_llvmlite
def test_huge_angles_are_those_of_the_c_library():
    largest = np.finfo(float).max
    x = np.array([1e6, -1e6, 1e12, 2.0**30 + 1, 1e15 + 0.5, 1e17, -3e18, 1e300, largest])
    for backend, tolerance in (('native', 3e-16), ('python', 0)):
        kernel = sine_and_cosine(9, backend)
        expected = of_the_c_library(x)
        np.testing.assert_allclose(kernel.single([x])[0], expected, rtol=tolerance, atol=0)
        np.testing.assert_allclose(
            kernel.stack([np.stack([x] * 9)])[0][7], expected, rtol=3e-16, atol=0
        )


@BACKENDS
def test_joints_turned_many_times(backend):
    """q of 1e6 and 1e12 rad: as good as sine and cosine of that number are."""
    robot, reference = build('tree', backend), build('tree', 'reference')
    q = np.array([1e6, 1e12, 3e9, 1e3]) + 0.25
    for name in ('mass_matrix', 'gravity_torques', 'link_poses'):
        expected = getattr(reference, name)(q)
        close(getattr(robot, name)(q), expected)
        close(getattr(robot, name)(np.stack([q] * 3))[1], expected)


@needs_llvmlite
def test_nan_and_infinity_of_sine_and_cosine():
    x = np.array([np.nan, np.inf, -np.inf, 0.5, -0.0])
    kernel = sine_and_cosine(5, 'native')
    for result in (kernel.single([x])[0], kernel.stack([x[None]])[0][0]):
        assert np.isnan(result[:, :3]).all()
        np.testing.assert_allclose(result[:, 3:], of_the_c_library(x[3:]), rtol=2e-16)


def arctangent_kernel(size: int, backend: str):
    return make_kernel(
        KernelSpecification(
            'arctangent', (('y', size), ('x', size)), lambda y, x: (np.arctan2(y, x),)
        ),
        backend,
    )


@needs_llvmlite
def test_arctangent_to_the_last_digit():
    """Within two units in the last place, all over the plane and near where the formula changes."""
    rng = np.random.default_rng(0)
    angles = np.concatenate(
        [
            rng.uniform(-np.pi, np.pi, 40000),
            np.repeat(np.arange(-16, 17) * np.pi / 16, 60) + 1e-9 * rng.normal(size=33 * 60),
            rng.choice([-1, 1], 2000) * 10.0 ** rng.uniform(-300, 0, 2000),
        ]
    )
    radius = 10.0 ** rng.uniform(-3, 3, len(angles))
    y, x = radius * np.sin(angles), radius * np.cos(angles)
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    kernel = arctangent_kernel(1, 'native')
    (stack,) = kernel.stack([y[:, None], x[:, None]])
    error = np.abs(stack[:, 0] - exact) / np.spacing(np.abs(exact).astype(float))
    assert error.max() < 2.0
    singles = [kernel.single([y[k : k + 1], x[k : k + 1]])[0][0] for k in range(0, len(y), 41)]
    error = np.abs(singles - exact[::41]) / np.spacing(np.abs(exact[::41]).astype(float))
    assert error.max() < 2.0


@BACKENDS
def test_arctangent_on_the_axes_and_of_what_is_not_a_number(backend):
    y = np.array([0.0, 0.0, 1.0, -1.0, -1e-300, 0.0, np.nan, 1.0])
    x = np.array([1.0, -1.0, 0.0, 0.0, -1.0, 0.0, 1.0, np.nan])
    kernel = arctangent_kernel(8, backend)
    for result in (kernel.single([y, x])[0], kernel.stack([y[None], x[None]])[0][0]):
        np.testing.assert_allclose(result, np.arctan2(y, x), rtol=3e-16)


@BACKENDS
def test_arctangent_of_a_recorded_scalar_and_a_constant(backend):
    def both(x):
        return (np.array([arctangent(x[0], -2.0), arctangent(-0.5, x[0])]),)

    kernel = make_kernel(KernelSpecification('constants', (('x', 1),), both), backend)
    for x in (1.5, -0.3, 0.0):
        expected = [np.arctan2(x, -2.0), np.arctan2(-0.5, x)]
        np.testing.assert_allclose(kernel.single([np.array([x])])[0], expected, rtol=3e-16)


@needs_llvmlite
@pytest.mark.parametrize(
    ('executable', 'workers'),
    [(PYTHON, 3), (None, 1), ('/nowhere/python', 1), ('/bin/false', 3)],
)
def test_long_programs_are_compiled_in_children_if_there_can_be_any(
    executable, workers, monkeypatch, tmp_path
):
    """The code computes the same either way; children that have ended are started again."""
    here = []

    def in_this_process(module, **options):
        here.append(module)
        return emitted(module, **options)

    emitted, children = native.emitted, compilers.Compilers(workers)
    monkeypatch.setattr(native, 'emitted', in_this_process)
    monkeypatch.setattr(compilers, 'shared', lambda: children)
    monkeypatch.setattr(native, 'worker_count', lambda: workers)
    monkeypatch.setattr(kernels, 'LONG', (1, 1))
    monkeypatch.setattr(llvm_ir, 'MODULE', 300)
    monkeypatch.setattr(llvm_ir, 'LONGEST_FUNCTION', (50, 50))
    monkeypatch.setattr(llvm_ir, 'PIECE', 40)
    monkeypatch.setattr(sys, 'executable', executable)
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', str(tmp_path))
    robot, reference = build('tree', 'native'), build('tree', 'reference')
    q, v = (states(robot, 1)[name][0] for name in 'qv')
    for name in ('gravity_torques', 'inverse_dynamics'):
        x = [q, v, v] if name == 'inverse_dynamics' else [q]
        close(getattr(robot, name)(*x), getattr(reference, name)(*x), 1e-12)
        children.stop()
    programs = [module for module in here if '@kernel' in module]
    assert (not programs) == (executable == PYTHON)
