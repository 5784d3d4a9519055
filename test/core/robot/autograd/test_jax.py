# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of a robot in JAX: `jit`, derivatives in both modes, `vmap`, precision, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip('jax')
jax_ffi = pytest.importorskip('jax.ffi')

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

from screw_dynamics_ros.core import ArgumentError, BackendError, Robot, UnknownNameError  # noqa: E402
from screw_dynamics_ros.core.robot.autograd import jax as robots  # noqa: E402
from screw_dynamics_ros.core.robot.autograd.functions import FUNCTIONS  # noqa: E402
from screw_dynamics_ros.core.robot.autograd.xla_handler import Interface, struct_offsets  # noqa: E402
from support.compilation import close, needs_llvmlite  # noqa: E402
from support.gradient_cases import link_options, random_arguments  # noqa: E402
from support.models import random_description  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update('jax_enable_x64', True)
    yield
    jax.config.update('jax_enable_x64', before)


@pytest.fixture(scope='module')
def arm():
    """Calls machine code where llvmlite is installed."""
    return Robot(random_description(1, 4, mimic=1))


@pytest.fixture(scope='module')
def flying():
    """Calls back to Python."""
    return Robot(random_description(3, 1), floating_base=True, backend='python')


def arguments(robot, name='inverse_dynamics', stack=(), seed=0):
    return [jnp.array(x) for x in random_arguments(robot, name, stack, seed)]


def function_of(robot, name):
    return lambda *x: getattr(robots, name)(robot, *x, *link_options(robot, name))


def test_the_module_does_not_hide_the_library():
    assert robots.jax is jax
    assert all(callable(getattr(robots, name)) for name in FUNCTIONS)


@pytest.mark.parametrize('name', FUNCTIONS)
def test_both_modes_against_differences(flying, name):
    check_grads(function_of(flying, name), arguments(flying, name), order=1, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ('name', 'transform'), [('inverse_dynamics', jax.jacfwd), ('forward_dynamics', jax.jacrev)]
)
def test_jacobians_are_those_of_the_robot(arm, name, transform):
    given = arguments(arm, name)
    derivatives = transform(function_of(arm, name), argnums=(0, 1, 2))
    expected = getattr(arm, f'{name}_derivatives')(*(np.array(x) for x in given))
    for f in (derivatives, jax.jit(derivatives)):
        for x, D in zip(f(*given), expected):
            close(np.array(x), D, 1e-10)


@pytest.mark.parametrize(
    ('backend', 'name'), [('arm', 'inverse_dynamics'), ('flying', 'kinetic_energy')]
)
def test_vmap_and_stacks_are_the_loop(backend, name, request):
    """As many samples as do not fill vectors of the processor."""
    robot = request.getfixturevalue(backend)
    given = arguments(robot, name, (19, 3))
    f = function_of(robot, name)

    def loss(*x):
        return (f(*x) ** 2).sum()

    close(np.array(jax.vmap(jax.vmap(f))(*given)), np.array(f(*given)))
    mapped = jax.jit(jax.vmap(jax.vmap(jax.grad(loss))))(*given)
    close(np.array(mapped), np.array(jax.grad(loss)(*given)))
    one = jax.grad(loss)(*(x[17, 2] for x in given))
    close(np.array(mapped[17, 2]), np.array(one), 1e-11)


def test_vmap_over_some_arguments(arm):
    q, v, a = arguments(arm)
    V = jnp.stack([v, 2 * v], axis=1)
    found = jax.vmap(lambda x: robots.inverse_dynamics(arm, q, x, a), in_axes=1)(V)
    close(np.array(found[1]), np.array(robots.inverse_dynamics(arm, q, 2 * v, a)))


def test_leading_axes_broadcast(arm):
    q, v, a = arguments(arm, stack=(3,))
    gradient = jax.grad(lambda a: robots.inverse_dynamics(arm, q[None], v[:, None], a).sum())(a[0])
    close(np.array(gradient), 3 * sum(arm.mass_matrix(np.array(x)).sum(0) for x in q), 1e-11)


def test_empty_stacks(arm):
    q = jnp.zeros((0, arm.nv))
    assert robots.mass_matrix(arm, q).shape == (0, arm.nv, arm.nv)
    assert jax.grad(lambda q: robots.potential_energy(arm, q).sum())(q).shape == (0, arm.nv)


def test_loops_that_are_compiled(arm):
    """Steps down the potential energy: each a call of machine code."""
    q = arguments(arm, 'potential_energy')[0]
    energy = function_of(arm, 'potential_energy')

    @jax.jit
    def descended(q):
        return jax.lax.scan(lambda q, _: (q - 1e-3 * jax.grad(energy)(q), None), q, length=50)[0]

    expected = np.array(q)
    for _ in range(50):
        expected = expected - 1e-3 * arm.gravity_torques(expected)
    close(np.array(descended(q)), expected, 1e-12)


@needs_llvmlite
def test_machine_code_is_called_without_python(arm, monkeypatch):
    q = arguments(arm, 'gravity_torques')[0]
    f = jax.jit(function_of(arm, 'gravity_torques'))
    assert 'callback' not in f.lower(q).as_text()


def test_another_interface_of_xla_means_callbacks(arm, monkeypatch):
    q = arguments(arm, 'gravity_torques')[0]
    monkeypatch.setattr(robots, '_interface', lambda: None)
    monkeypatch.setattr(robots, '_TARGETS', {})
    f = jax.jit(jax.jacrev(lambda q: robots.gravity_torques(arm, q)))
    assert 'callback' in f.lower(q).as_text()
    rest = np.zeros(arm.nv)
    close(np.array(f(q)), arm.inverse_dynamics_derivatives(np.array(q), rest, rest)[0], 1e-10)


@pytest.mark.parametrize('header', [None, 'struct XLA_FFI_Api;'])
def test_no_interface_without_a_header_that_is_understood(header, tmp_path, monkeypatch):
    folder = tmp_path / 'xla/ffi/api'
    folder.mkdir(parents=True)
    if header is not None:
        (folder / 'c_api.h').write_text(header)
    monkeypatch.setattr(jax_ffi, 'include_dir', lambda: str(tmp_path))
    robots._interface.cache_clear()
    assert robots._interface() is None
    robots._interface.cache_clear()


def test_interface_of_this_jax_is_known():
    header = Path(jax_ffi.include_dir(), 'xla', 'ffi', 'api', 'c_api.h').read_text()
    interface = Interface.of(header)
    assert interface.version[0] == 0
    assert struct_offsets(header, 'XLA_FFI_Buffer')['data'] == interface.data == 24


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('struct XLA_FFI_Buffer {', 'struct XLA_FFI_Storage {'),
        ('  void* data;', '  void* content;'),
        ('#define XLA_FFI_API_MINOR', '#define XLA_FFI_MINOR'),
        ('  XLA_FFI_Args args;', '  XLA_FFI_Unknown args;'),
    ],
)
def test_a_header_that_is_not_understood_is_refused(old, new):
    header = Path(jax_ffi.include_dir(), 'xla', 'ffi', 'api', 'c_api.h').read_text()
    assert old in header
    with pytest.raises(BackendError, match='XLA has an unknown interface'):
        Interface.of(header.replace(old, new))


def test_gravity_changes_in_compiled_functions():
    robot = Robot(random_description(1, 3))
    q = arguments(robot, 'gravity_torques')[0]
    f = jax.jit(function_of(robot, 'gravity_torques'))
    before = np.array(f(q))
    robot.gravity = -robot.gravity
    close(np.array(f(q)), -before)


def test_lower_precision_is_converted_there_and_back(arm):
    q, v, a = (x.astype(jnp.float32) for x in arguments(arm))
    tau = robots.inverse_dynamics(arm, q, v, a)
    assert tau.dtype == jnp.float32
    gradient = jax.grad(lambda q: robots.inverse_dynamics(arm, q, v, a).sum())(q)
    assert gradient.dtype == jnp.float32
    close(np.array(tau), arm.inverse_dynamics(*(np.array(x) for x in (q, v, a))), 1e-6)


def test_lists_and_arrays_of_numpy_are_taken(arm):
    q = np.linspace(0.1, 0.4, arm.nv)
    expected = arm.gravity_torques(q)
    close(np.array(robots.gravity_torques(arm, q)), expected)
    close(np.array(robots.gravity_torques(arm, q.tolist())), expected)


def test_float32_mode_is_refused(arm):
    jax.config.update('jax_enable_x64', False)
    with pytest.raises(ArgumentError, match=r'call jax.config.update\("jax_enable_x64", True\)'):
        robots.gravity_torques(arm, jnp.zeros(arm.nv))


@pytest.mark.parametrize('again', [jax.grad, jax.jacfwd])
def test_second_derivatives_are_refused(arm, again):
    q = arguments(arm, 'potential_energy')[0]
    first = jax.grad(function_of(arm, 'potential_energy'))
    with pytest.raises(NotImplementedError, match='potential_energy: second derivatives are not'):
        again(lambda q: first(q).sum())(q)
    with pytest.raises(NotImplementedError, match='second derivatives are not available'):
        jax.hessian(function_of(arm, 'potential_energy'))(q)


def test_nan_gives_nan(arm):
    q = jnp.full(arm.nv, jnp.nan)
    assert jnp.isnan(jax.grad(function_of(arm, 'potential_energy'))(q)).any()


def test_bad_arguments_are_refused(arm):
    q, v, a = arguments(arm)
    with pytest.raises(ArgumentError, match=r'q must have shape \(\.\.\., 3\), got \(2,\); the or'):
        robots.inverse_dynamics(arm, q[:2], v, a)
    with pytest.raises(ArgumentError, match=r'q must have shape'):
        jax.jit(lambda q: robots.gravity_torques(arm, q))(q[:2])
    with pytest.raises(ArgumentError, match='v must hold real numbers'):
        robots.inverse_dynamics(arm, q, 'fast', a)
    with pytest.raises(ArgumentError, match='q must hold real numbers, got complex128'):
        robots.gravity_torques(arm, q.astype(complex))
    with pytest.raises(ArgumentError, match='leading axes must be equal or broadcast'):
        robots.inverse_dynamics(arm, jnp.tile(q, (2, 1)), jnp.tile(v, (3, 1)), a)
    with pytest.raises(ArgumentError, match='robot must be a Robot'):
        robots.gravity_torques(q, arm)
    with pytest.raises(UnknownNameError, match="no link named 'nowhere'"):
        robots.link_pose(arm, q, 'nowhere')
