"""From recursions to machine code: recording, the three backends, stacks, entry points, the cache.

design.md section 3: every recursion is written once; what runs is its recording. Nothing here depends on
another library; `test_pinocchio.py` says that the numbers are right, this file that all ways to compute
them agree and that nothing leaks, crashes or goes stale.
"""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from models import random_configuration, random_description, random_wrenches
from robots import urdf_path

import screw_dynamics_ros
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.compile import cache as disk
from screw_dynamics_ros.core.compile import kernels, native
from screw_dynamics_ros.core.compile.kernels import Specification, make_kernel
from screw_dynamics_ros.core.compile.tracing import Recorder, program
from screw_dynamics_ros.core.dynamics.forward_dynamics import forward_dynamics
from screw_dynamics_ros.core.dynamics.inverse_dynamics import inverse_dynamics
from screw_dynamics_ros.core.model.tree import build_tree

ROOT = Path(__file__).resolve().parents[1]

needs_llvmlite = pytest.mark.skipif(not native.available(), reason='llvmlite is not installed')
COMPILED = pytest.mark.parametrize('backend', [pytest.param('native', marks=needs_llvmlite), 'python'])
BACKENDS = pytest.mark.parametrize(
    'backend', [pytest.param('native', marks=needs_llvmlite), 'python', 'reference'])

SIZES = (0, 1, 7, 8, 9, 1000)

# Every function of the facade, with what it takes.
CALLS = {
    'link_pose': ('q', ('link3',)), 'link_poses': ('q', ()), 'jacobian': ('q', ('link3', 'mixed')),
    'velocity': ('qv', ('link3', 'spatial')), 'inverse_dynamics': ('qva', ()),
    'forward_dynamics': ('qva', ()), 'mass_matrix': ('q', ()), 'gravity_torques': ('q', ()),
    'coriolis_torques': ('qv', ()), 'coriolis_matrix': ('qv', ()), 'potential_energy': ('q', ()),
    'kinetic_energy': ('qv', ()), 'center_of_mass': ('q', ()),
}

CASES = {
    'tree': (random_description(1, 6), False),
    'mimic': (random_description(2, 8, ('revolute', 'prismatic', 'continuous', 'fixed'), mimic=2), False),
    'planar, floating': (random_description(3, 5, ('planar', 'revolute', 'floating')), True),
}
ALL_CASES = pytest.mark.parametrize('case', CASES)


def build(case: str, backend: str) -> Robot:
    description, floating = CASES[case]
    return Robot(description, floating_base=floating, backend=backend)


def states(robot: Robot, samples: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    v, a = rng.uniform(-1.5, 1.5, (2, samples, robot.nv))
    return {'q': random_configuration(robot, rng, (samples,)), 'v': v, 'a': a}


def call(robot: Robot, name: str, state: dict[str, np.ndarray]) -> np.ndarray:
    inputs, options = CALLS[name]
    return getattr(robot, name)(*(state[key] for key in inputs), *options)


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    assert np.shape(actual) == np.shape(expected)
    scale = max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def run_python(code: str, **environment: str) -> str:
    """Run code in another process; return what it prints, errors included."""
    path = os.pathsep.join([str(ROOT), str(ROOT / 'test')])
    done = subprocess.run(
        [sys.executable, '-c', textwrap.dedent(code)], capture_output=True, text=True, timeout=120,
        env={**os.environ, 'PYTHONPATH': path, **environment}, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# --- recording ---------------------------------------------------------------------------------------------


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
    assert recorded(recorder, 2, np.cross(np.array([0, 0, x]), np.array([0, 0, y]))) == []
    assert recorded(recorder, 2, x + 0 * y, 0 - x + 0) == [('neg', 0)]


def test_common_subexpressions_are_shared_whatever_their_sign_and_order(recorder):
    x, y = recorder.inputs('x', 2)
    made = recorded(recorder, 2, x * y, y * x, -x * y, (-x) * (-y), x - y, y - x, x + y, y + x)
    assert made == [('mul', 0, 1), ('neg', 2), ('sub', 0, 1), ('neg', 4), ('add', 0, 1)]
    assert recorded(Recorder(), 0) == []
    both = np.sin(np.array([x, -x]))
    assert [op[0] for op in recorded(recorder, 2, both, np.cos(np.array([x, -x])))] == ['sin', 'neg', 'cos']


def test_signs_are_pulled_out_and_cancel(recorder):
    x, y = recorder.inputs('x', 2)
    assert recorded(recorder, 2, -(-x)) == []
    assert recorded(recorder, 2, x + (-y)) == [('sub', 0, 1)]
    assert recorded(recorder, 2, x - (-y)) == [('add', 0, 1)]
    assert recorded(recorder, 2, -x + y) == [('sub', 0, 1), ('neg', 2)]  # the difference above, negated
    assert recorded(recorder, 2, -(x / y), x / -y) == [('div', 0, 1), ('neg', 2)]


def test_an_index_is_no_constant(recorder):
    """2 == 2.0 in Python: x2 + x0 and 2.0 + x0 must stay different."""
    x = recorder.inputs('x', 3)
    values = {'add': x[2] + x[0], 'shift': 2.0 + x[0], 'mul': x[2] * x[0], 'scale': 2.0 * x[0],
              'div': x[2] / x[0], 'reciprocal': 2.0 / x[0]}
    made = recorded(recorder, 3, *values.values())
    assert [op[0] for op in made] == list(values)
    kernel = make_kernel(Specification(
        'index and constant', (('x', 3),),
        lambda x: (np.array([x[2] + x[0], 2 + x[0], x[2] * x[0], 2 * x[0], x[2] / x[0], 2 / x[0]]),), ''),
        'python')
    np.testing.assert_array_equal(
        kernel.single([np.array([4.0, 0.0, 8.0])])[0], [12.0, 6.0, 32.0, 8.0, 2.0, 0.5])


def test_only_what_an_output_needs_is_kept(recorder):
    x, y = recorder.inputs('x', 2)
    unused = [x * y * k for k in range(2, 9)]
    made = program(recorder, [('x', 2)], [np.array([x + y, 3.0], dtype=object)])
    assert len(unused) == 7
    assert [op[0] for op in made.operations] == ['input', 'input', 'add']
    assert made.operation_count == 1
    assert made.outputs == [((2,), [2, 3.0])]


@pytest.mark.parametrize('branch', [
    lambda x: x if x else 0.0, lambda x: max(x, 0.0), lambda x: x > 0, lambda x: x == 0.0,
    lambda x: abs(float(x)), lambda x: np.where(np.array([x], dtype=object) != 0.0, 1.0, 2.0),
    lambda x: {x: 1}, lambda x: np.linalg.norm(np.array([x, x], dtype=object)) < 1],
    ids=['if', 'max', 'greater', 'equal', 'float', 'where', 'hash', 'norm'])
@COMPILED
def test_a_recursion_must_not_look_at_a_recorded_scalar(branch, backend):
    specification = Specification('branching', (('x', 1),), lambda x: (np.array([branch(x[0])]),), '')
    with pytest.raises(TypeError, match=r'recorded scalar has no value yet|unhashable'):
        make_kernel(specification, backend).single([np.zeros(1)])


def count(function, joints: int, inputs: int) -> int:
    """Return the number of operations of a dynamics function on a random chain."""
    tree = build_tree(random_description(5, joints, ('revolute',), chain=True))
    recorder = Recorder()
    vectors = [recorder.inputs(name, joints) for name in 'qva'[:inputs]]
    output = function(tree, *vectors, np.array([0.0, 0.0, -9.81]))
    return program(recorder, [(name, joints) for name in 'qva'[:inputs]], [output]).operation_count


@pytest.mark.parametrize('function', [inverse_dynamics, forward_dynamics])
def test_operations_grow_linearly_with_the_chain(function):
    """Newton-Euler and articulated bodies are O(n) up to 200 joints (muller.md section 6)."""
    lengths = [10, 50, 100, 200]
    counts = [count(function, n, 3) for n in lengths]
    slopes = np.diff(counts) / np.diff(lengths)
    assert slopes.max() <= 1.01 * slopes.min()
    assert slopes[0] == pytest.approx({inverse_dynamics: 150, forward_dynamics: 550}[function], rel=0.5)


# --- backends agree ------------------------------------------------------------------------------------------


@COMPILED
@ALL_CASES
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
        close(getattr(robot, name)(q, v, a, wrenches), getattr(reference, name)(q, v, a, wrenches), 1e-10)
    fused = robot.fuse('joint_transforms', 'mass_matrix')(q[0])
    for actual, expected in zip(fused, reference.fuse('joint_transforms', 'mass_matrix')(q[0])):
        close(actual, expected)


@BACKENDS
@pytest.mark.parametrize('threads', [1, 3])
def test_stacks_equal_singles(backend, threads, monkeypatch):
    """Any number of samples, whole tiles and rests, one thread or several."""
    monkeypatch.setattr(kernels, 'worker_count', lambda: threads)
    monkeypatch.setattr(kernels, 'THREAD_WORK', 0)
    robot = build('mimic', backend)
    sizes = SIZES if backend != 'reference' else SIZES[:-1]
    state = states(robot, max(sizes))
    for name in CALLS:
        whole = call(robot, name, {key: value[:max(sizes)] for key, value in state.items()})
        for k in {0, 1, 6, 7, 8, max(sizes) // 2, max(sizes) - 1} & set(range(max(sizes))):
            close(whole[k], call(robot, name, {key: value[k] for key, value in state.items()}))
        for samples in sizes:
            part = call(robot, name, {key: value[:samples] for key, value in state.items()})
            assert part.shape == (samples, *whole.shape[1:])
            assert part.dtype == np.float64
            np.testing.assert_allclose(part, whole[:samples], rtol=0, atol=1e-13 * np.abs(whole).max())


@BACKENDS
def test_a_vector_next_to_stacks_serves_all(backend):
    robot = build('tree', backend)
    q, v, a = states(robot, 9).values()
    for Q, V, A in ((q, v[0], a[0]), (q[0], v, a[0]), (q[0], v[0], a), (q, v[0], a), (q[:1], v[0], a[0])):
        samples = max(len(x) for x in (Q, V, A) if x.ndim == 2)
        stacks = [x if x.ndim == 2 else np.tile(x, (samples, 1)) for x in (Q, V, A)]
        np.testing.assert_array_equal(
            robot.inverse_dynamics(Q, V, A), robot.inverse_dynamics(*stacks))
    link = robot.link_names[-1]
    W = np.random.default_rng(0).uniform(-1, 1, (9, 6))
    both = robot.inverse_dynamics(q[0], v[0], a[0], {link: W})
    np.testing.assert_array_equal(
        both, robot.inverse_dynamics(np.tile(q[0], (9, 1)), v[0], a[0], {link: W}))
    close(both[4], robot.inverse_dynamics(q[0], v[0], a[0], {link: W[4]}))


@BACKENDS
def test_stacks_of_any_layout(backend):
    robot = build('tree', backend)
    q = states(robot, 9)['q']
    expected = robot.mass_matrix(q)
    wide = np.zeros((18, 2 * robot.nq))
    wide[::2, ::2] = q
    for value in (np.asfortranarray(q), wide[::2, ::2], q[::-1].copy()[::-1], q.tolist(), list(q),
                  q.astype('>f8'), q.astype(object)):
        np.testing.assert_array_equal(robot.mass_matrix(value), expected)
    np.testing.assert_array_equal(robot.mass_matrix(q.astype(np.float32)),
                                  robot.mass_matrix(q.astype(np.float32).astype(float)))
    whole = np.round(q).astype(int)
    np.testing.assert_array_equal(robot.mass_matrix(whole), robot.mass_matrix(whole.astype(float)))
    assert robot.mass_matrix(q).flags.c_contiguous


# --- what is not a number --------------------------------------------------------------------------------------


@BACKENDS
@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('name', CALLS)
def test_what_is_not_a_number_comes_out_as_such(backend, value, name):
    """No exception, no number where the input matters, and the right number where it does not."""
    robot, reference = build('tree', backend), build('tree', 'reference')
    rng = np.random.default_rng(0)
    state = {key: array[0] for key, array in states(robot, 1).items()}
    clean = np.asarray(call(reference, name, state))
    for key in CALLS[name][0]:
        for k in range(robot.nv):
            shifted = {**state, key: state[key] + np.eye(robot.nv)[k] * rng.uniform(0.5, 1)}
            matters = np.abs(call(reference, name, shifted) - clean) > 1e-6
            broken = {**state, key: np.where(np.arange(robot.nv) == k, value, state[key])}
            single = np.asarray(call(robot, name, broken))
            stack = np.asarray(call(robot, name, {
                n: np.stack([state[n], x, state[n]]) for n, x in broken.items()}))
            for result in (single, stack[1]):
                assert not np.isfinite(result[matters]).any()
                right = np.isclose(result, clean, rtol=1e-9, atol=1e-12)
                assert (right | ~np.isfinite(result))[~matters].all()
            for other in (stack[0], stack[2]):
                close(other, clean, 1e-10)


@BACKENDS
def test_nan_in_a_quaternion(backend):
    robot = build('planar, floating', backend)
    q, v, a = (x[0] for x in states(robot, 1).values())
    q[4] = np.nan
    assert np.isnan(robot.link_pose(q, 'link0')[:3, :3]).all()
    assert np.isnan(robot.inverse_dynamics(q, v, a)[:6]).any()
    assert np.isnan(robot.forward_dynamics(q, v, a)).any()


# --- sine and cosine -------------------------------------------------------------------------------------------


def angles() -> np.ndarray:
    """Return angles that are hard: near multiples of pi/2, tiny, huge, at the limits of the reduction."""
    rng = np.random.default_rng(0)
    k = np.concatenate([np.arange(-64, 65), rng.integers(-10**8, 10**8, 500)])
    near = k * (np.pi / 2)
    parts = [rng.uniform(-np.pi, np.pi, 20000), rng.uniform(-1e4, 1e4, 20000),
             rng.uniform(-2.0**30, 2.0**30, 20000), near, np.nextafter(near, np.inf), near * (1 + 1e-9),
             np.pi / 4 * (1 + rng.uniform(-1e-12, 1e-12, 200)) * rng.integers(-1000, 1000, 200),
             10.0 ** rng.uniform(-300, 0, 2000), [0.0, 5e-324, 2.0**30, np.nextafter(2.0**30, 0)]]
    return np.concatenate(parts)


def sine_and_cosine(size: int, backend: str):
    return make_kernel(Specification(
        'sine and cosine', (('x', size),), lambda x: (np.stack([np.sin(x), np.cos(x)]),), str(size)), backend)


@needs_llvmlite
@pytest.mark.parametrize('size', [1, 8, 11])
def test_sine_and_cosine_to_the_last_digit(size):
    """Within two units in the last place of the exact value, in single calls and stacks."""
    x = angles()
    x = x[:len(x) // size * size].reshape(-1, size)
    kernel = sine_and_cosine(size, 'native')
    stack, = kernel.stack([x])
    exact = np.stack([np.sin(x.astype(np.longdouble)), np.cos(x.astype(np.longdouble))], axis=1)
    error = np.abs(stack - exact) / np.spacing(np.abs(exact).astype(float))
    assert error.max() < 2.0
    for row in range(0, len(x), 37):
        single, = kernel.single([x[row].copy()])
        error = np.abs(single - exact[row]) / np.spacing(np.abs(exact[row]).astype(float))
        assert error.max() < 2.0


@needs_llvmlite
def test_huge_angles_are_those_of_the_c_library():
    x = np.array([1e6, -1e6, 1e12, 2.0**30 + 1, 1e15 + 0.5, -1e22, 1e300, np.finfo(float).max, 1e6])
    for backend, tolerance in (('native', 3e-16), ('python', 0)):
        kernel = sine_and_cosine(9, backend)
        expected = np.stack([np.sin(x), np.cos(x)])
        np.testing.assert_allclose(kernel.single([x])[0], expected, rtol=tolerance, atol=0)
        np.testing.assert_allclose(kernel.stack([np.stack([x] * 9)])[0][7], expected, rtol=tolerance, atol=0)


@BACKENDS
def test_joints_turned_many_times(backend):
    """q of 1e6 and 1e12 rad: as good as sine and cosine of that number are."""
    robot, reference = build('tree', backend), build('tree', 'reference')
    q = np.array([1e6, 1e12, -1e6, 1e3, 3e9, -1e12]) + 0.25
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
        np.testing.assert_allclose(result[:, 3:], [np.sin(x[3:]), np.cos(x[3:])], rtol=2e-16)


# --- memory and lifetimes --------------------------------------------------------------------------------------


def resident() -> int:
    """Return the memory of this process in bytes."""
    return int(Path('/proc/self/statm').read_text().split()[1]) * os.sysconf('SC_PAGESIZE')


@needs_llvmlite
@pytest.mark.skipif(not Path('/proc/self/statm').exists(), reason='no /proc')
def test_a_million_calls_leave_no_trace():
    """Memory flat and reference counts as they were: results, arguments, None, the dtype."""
    robot = build('tree', 'native')
    q, v, a = (x[0] for x in states(robot, 1).values())
    kernel = robot.fuse('gravity_torques', 'mass_matrix')
    out = [np.empty(shape) for shape in kernel.shapes]
    gravity = robot.gravity

    def work(repeats: int) -> None:
        poses, torques, energy = robot.link_pose, robot.inverse_dynamics, robot.potential_energy
        jacobian = robot.jacobian
        for _ in range(repeats):
            torques(q, v, a)
            poses(q, 'link3')
            energy(q)
            jacobian(q, 'link3', 'body')
            kernel(q, gravity, out=out)

    work(2)
    robot.link_pose(q, 'link3')
    work(20_000)
    watched = [q, v, a, gravity, np.dtype(np.float64), out[0], 'link3', robot, *robot._kernels.values()]
    counts, memory = [sys.getrefcount(x) for x in watched], resident()
    work(200_000)
    assert resident() - memory < 2**20
    assert [sys.getrefcount(x) for x in watched] == counts
    result = robot.inverse_dynamics(q, v, a)
    assert sys.getrefcount(result) == 2


@needs_llvmlite
def test_calls_that_fall_back_leave_no_trace():
    """Stacks, lists, keywords and refused arguments go through Python; they leak nothing either."""
    robot = build('tree', 'native')
    state = states(robot, 16)
    q, many = state['q'][0], state['q']
    row = q.tolist()

    def work(repeats: int) -> None:
        for _ in range(repeats):
            robot.mass_matrix(many)
            robot.mass_matrix(row)
            robot.mass_matrix(q=q)
            robot.link_pose(q, link='link3')
            for bad in (q[1:], None, 'x'):
                with pytest.raises(ValueError, match='q must'):
                    robot.mass_matrix(bad)

    work(200)
    gc.collect()
    counts, memory = [sys.getrefcount(x) for x in (q, many, row, robot)], resident()
    work(2000)
    gc.collect()
    assert [sys.getrefcount(x) for x in (q, many, row, robot)] == counts
    assert resident() - memory < 2 * 2**20


@needs_llvmlite
def test_robots_are_released():
    description = random_description(0, 3)
    robot = Robot(description, backend='native')
    robot.mass_matrix(np.zeros(3))
    robot.jacobian(np.zeros(3), 'link1', 'body')
    alive = weakref.ref(robot)
    del robot
    gc.collect()
    assert alive() is None


@needs_llvmlite
def test_functions_outlive_their_robot():
    """A bound function, a fused kernel: called with arrays, lists and stacks after the robot is gone."""
    reference = build('tree', 'reference')
    state = states(reference, 9)
    q, v, a = (x[0] for x in state.values())
    kept = []
    for _ in range(3):
        robot = build('tree', 'native')
        robot.inverse_dynamics(q, v, a)
        robot.jacobian(q, 'link2')
        robot.jacobian(q, 'link3', 'body')
        kept.append((robot.inverse_dynamics, robot.jacobian, robot.fuse('mass_matrix'), robot.gravity_torques))
        del robot
        gc.collect()
    for torques, jacobian, mass, gravity in kept:
        for _ in range(3):
            gc.collect()
            close(torques(q, v, a), reference.inverse_dynamics(q, v, a))
            close(torques(list(q), v, a), reference.inverse_dynamics(q, v, a))
            close(torques(*state.values()), reference.inverse_dynamics(*state.values()))
            close(jacobian(q, 'link2'), reference.jacobian(q, 'link2'))
            close(jacobian(q, 'link4', 'spatial'), reference.jacobian(q, 'link4', 'spatial'))
            close(jacobian(q, 'link3', 'body'), reference.jacobian(q, 'link3', 'body'))
            close(mass(q)[0], reference.mass_matrix(q))
            close(mass(list(q))[0], reference.mass_matrix(q))
            close(gravity(q), reference.gravity_torques(q))
            with pytest.raises(ValueError, match='q must'):
                torques(q[1:], v, a)


@needs_llvmlite
def test_garbage_collection_at_any_time():
    """Robots made, used, put into cycles and dropped while the collector runs all the time."""
    description = random_description(0, 3)
    q = np.array([0.1, 0.2, 0.3])
    expected = Robot(description, backend='reference').mass_matrix(q)
    before = gc.get_threshold()
    try:
        gc.set_threshold(1)
        for k in range(20):
            robot = Robot(description, backend='native')
            robot.mass_matrix(q)
            robot.cycle = [robot, robot.mass_matrix, robot.link_pose]
            function = robot.mass_matrix
            robot.gravity = (0, 0, -float(k))
            close(robot.mass_matrix(q), expected)
            del robot
            close(function(q), expected)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    close(function(q), expected)


@BACKENDS
def test_many_threads_call_at_once(backend):
    """First calls, which compile, and later ones, from eight threads."""
    robot, reference = build('tree', backend), build('tree', 'reference')
    state = states(robot, 40)
    expected = {name: call(reference, name, state) for name in ('mass_matrix', 'gravity_torques', 'link_pose')}
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def work() -> None:
        try:
            start.wait()
            for name, right in expected.items():
                for k in range(40):
                    close(call(robot, name, {key: x[k] for key, x in state.items()}), right[k])
                close(call(robot, name, state), right)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@needs_llvmlite
@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork')
def test_a_forked_process_computes_stacks():
    """The threads that share the stacks do not survive a fork; the child must not wait for them."""
    output = run_python('''
        import os, signal, sys
        import numpy as np
        from models import random_description
        from screw_dynamics_ros.core import Robot
        from screw_dynamics_ros.core.compile import kernels
        kernels.THREAD_WORK, kernels.worker_count = 0, lambda: 2
        robot = Robot(random_description(0, 3), backend='native')
        q = np.random.default_rng(0).uniform(-1, 1, (100, 3))
        expected = robot.mass_matrix(q)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if np.array_equal(robot.mass_matrix(q), expected) else 1)
        _, status = os.waitpid(child, 0)
        print('child', os.waitstatus_to_exitcode(status))
    ''')
    assert 'child 0' in output


# --- cache -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    path = tmp_path / 'cache'
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', str(path))
    return path


def torques() -> np.ndarray:
    robot = Robot(random_description(0, 3), backend='native')
    return robot.gravity_torques([0.1, 0.2, 0.3])


def nothing_is_recorded(monkeypatch) -> None:
    def fail(self) -> None:
        raise AssertionError('compiled again')

    monkeypatch.setattr(Specification, 'record', fail)


USE_THE_CACHE = '''
    import numpy as np
    from models import random_description
    from screw_dynamics_ros.core import Robot
    from screw_dynamics_ros.core.compile.kernels import Specification
    made = []
    record = Specification.record
    Specification.record = lambda self: made.append(self) or record(self)
    robot = Robot(random_description(0, 3), backend='native')
    print(len(made), robot.gravity_torques([0.1, 0.2, 0.3]).tolist(), len(made))
'''


@needs_llvmlite
def test_what_was_compiled_once_is_loaded(folder, monkeypatch):
    expected = torques()
    files = sorted(folder.iterdir())
    assert len(files) == 1
    nothing_is_recorded(monkeypatch)
    np.testing.assert_array_equal(torques(), expected)
    assert sorted(folder.iterdir()) == files


@needs_llvmlite
def test_another_process_loads_it_too(folder):
    first, second = run_python(USE_THE_CACHE).strip(), run_python(USE_THE_CACHE).strip()
    assert (first[0], first[-1]) == ('0', '1')
    assert (second[0], second[-1]) == ('0', '0')
    assert first[:-1] == second[:-1]
    np.testing.assert_allclose(np.array(first[3:-3].split(','), dtype=float), torques(), rtol=1e-15)


@needs_llvmlite
def test_processes_that_compile_at_once(folder):
    """Each finds nothing or a whole file, never half of one; no temporary file stays."""
    command = [sys.executable, '-c', textwrap.dedent(USE_THE_CACHE)]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join([str(ROOT), str(ROOT / 'test')])}
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
                 for _ in range(3)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len({output[:-2] for output in outputs}) == 1
    assert len(list(folder.iterdir())) == 1


@needs_llvmlite
@pytest.mark.parametrize('damage', [
    lambda data: b'', lambda data: data[:len(data) // 2], lambda data: data[:-1],
    lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:], lambda data: b'\0' * len(data),
    lambda data: data + b'x', lambda data: b'not a cache file'],
    ids=['empty', 'half', 'one byte less', 'one bit', 'zeros', 'one byte more', 'other'])
def test_a_damaged_file_is_replaced(folder, damage, monkeypatch):
    expected = torques()
    file, = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    np.testing.assert_array_equal(torques(), expected)
    assert len(file.read_bytes()) == len(whole)
    nothing_is_recorded(monkeypatch)
    np.testing.assert_array_equal(torques(), expected)


@needs_llvmlite
@pytest.mark.parametrize('where', ['below a file', 'read-only', 'no such device', 'switched off', 'a file'])
def test_without_a_place_to_write_everything_works(tmp_path, monkeypatch, where):
    (tmp_path / 'file').write_text('')
    (tmp_path / 'frozen').mkdir(mode=0o500)
    monkeypatch.setenv('SCREW_DYNAMICS_CACHE', {
        'below a file': str(tmp_path / 'file' / 'cache'), 'read-only': str(tmp_path / 'frozen' / 'cache'),
        'no such device': '/proc/self/nothing/here', 'switched off': '', 'a file': str(tmp_path / 'file'),
    }[where])
    expected = Robot(random_description(0, 3), backend='reference').gravity_torques([0.1, 0.2, 0.3])
    close(torques(), expected)
    close(torques(), expected)


@needs_llvmlite
def test_a_full_disk_leaves_no_half_file(folder, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(disk.os, 'replace', full)
    torques()
    assert list(folder.iterdir()) == []


@needs_llvmlite
def test_keys_depend_on_everything_that_matters(folder, monkeypatch):
    """Robot, function, options, version, sources and processor; not gravity, an input."""
    torques()
    assert len(list(folder.iterdir())) == 1
    q = [0.1, 0.2, 0.3]
    first = Robot(random_description(0, 3), backend='native')
    second = Robot(random_description(1, 3), backend='native')
    for files, use in enumerate([
            lambda: second.gravity_torques(q), lambda: first.mass_matrix(q),
            lambda: first.link_pose(q, 'link1'), lambda: first.link_pose(q, 'link2'),
            lambda: first.jacobian(q, 'link2', 'body'), lambda: first.gravity_torques([q])], start=2):
        use()
        assert len(list(folder.iterdir())) == files
    first.gravity = (0, 0, -1)
    first.gravity_torques(q)
    assert len(list(folder.iterdir())) == files
    key = disk.key('same')
    monkeypatch.setattr(screw_dynamics_ros, '__version__', '99.0')
    disk.source_digest.cache_clear()
    try:
        assert disk.key('same') != key
    finally:
        disk.source_digest.cache_clear()
    monkeypatch.setattr(native, 'target_identity', lambda: 'another processor')
    torques()
    assert len(list(folder.iterdir())) == files + 1


@needs_llvmlite
def test_the_cache_stays_below_its_size(folder, monkeypatch):
    """The files longest unused go first."""
    torques()
    old, = folder.iterdir()
    os.utime(old, (1, 1))
    monkeypatch.setattr(disk, 'LARGEST_SIZE', int(1.8 * old.stat().st_size))
    Robot(random_description(1, 3), backend='native').gravity_torques([0.1, 0.2, 0.3])
    assert not old.exists()
    assert len(list(folder.iterdir())) == 1


@needs_llvmlite
def test_compiling_is_told(folder, caplog):
    """Compiling a large robot takes seconds: the log says what and how long."""
    with caplog.at_level(logging.INFO, 'screw_dynamics_ros'):
        torques()
    assert any('compiled gravity_torques' in record.message for record in caplog.records)


# --- without llvmlite --------------------------------------------------------------------------------------


WITHOUT_LLVMLITE = '''
    import sys
    sys.modules['llvmlite'] = None
    sys.modules['llvmlite.binding'] = None
    import numpy as np
    from models import random_description
    from screw_dynamics_ros.core import BackendError, Robot
    robots = [Robot(random_description(0, 3)) for _ in range(3)]
    print([robot.backend for robot in robots], robots[0].gravity_torques([0.1, 0.2, 0.3]).tolist())
    print(robots[0].mass_matrix(np.zeros((9, 3))).shape, robots[0].fuse('link_poses').shapes)
    try:
        Robot(random_description(0, 3), backend='native')
    except BackendError as error:
        print('BackendError', error)
'''


def test_without_llvmlite():
    """`auto` takes the python backend and says so once; `native` says what to install."""
    output = run_python(WITHOUT_LLVMLITE)
    expected = Robot(random_description(0, 3), backend='python').gravity_torques([0.1, 0.2, 0.3])
    assert f"['python', 'python', 'python'] {expected.tolist()}" in output
    assert '(9, 3, 3) ((4, 4, 4),)' in output
    assert output.count('llvmlite is not installed') == 1
    assert 'BackendError the native backend needs llvmlite' in output
    assert 'pip install llvmlite' in output
    assert 'python3-llvmlite' in output


@needs_llvmlite
def test_auto_is_native():
    assert Robot(random_description(0, 2)).backend == 'native'


@COMPILED
def test_the_real_arm_on_the_compiled_backends(backend):
    """The Panda of this package with all functions, singles against stacks."""
    robot = Robot.from_urdf(urdf_path('panda'), backend=backend)
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1, 1, (3, 5, robot.nv))
    tau = robot.inverse_dynamics(q, v, a)
    close(robot.forward_dynamics(q, v, tau), a, 1e-9)
    close(np.einsum('nij,nj->ni', robot.mass_matrix(q), a) + robot.coriolis_torques(q, v)
          + robot.gravity_torques(q), tau)
    for k in range(5):
        close(robot.inverse_dynamics(q[k], v[k], a[k]), tau[k])
