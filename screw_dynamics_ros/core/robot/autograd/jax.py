# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of a robot on JAX arrays, with exact derivatives.

Vectors are arrays (size,) or (..., size); leading axes are samples, and broadcast. `jit`, both
modes of differentiation and `vmap` work; all samples are one call. Values are computed in float64
on the CPU, where programs of JAX call machine code directly; from other devices, and without
llvmlite, they call back to Python. JAX must be configured for float64; what comes in another
precision is converted there and back. Derivatives of derivatives are refused. A change of
`robot.gravity` takes effect at once, also in functions that are compiled already.

Configurations with free bodies: see `functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

try:
    import jax
    import jax.ffi
    import jax.numpy as jnp
    from jax.core import ShapedArray
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir
except ImportError as error:
    raise ImportError(
        'screw_dynamics_ros.core.robot.autograd.jax needs JAX, 0.5 or newer, '
        'which cannot be imported: '
        'install it with "pip install jax"'
    ) from error

from ...compile.llvm.native import Library
from ...errors import ArgumentError, BackendError
from ..robot import Robot
from .functions import BatchProgram, DifferentiableFunction, differentiable
from .xla_handler import Interface, handler_code


def inverse_dynamics(robot: Robot, q: Any, v: Any, a: Any) -> jax.Array:
    """Return the torques of a motion, (..., nv) [N m, N]; see `Robot.inverse_dynamics`."""
    return _evaluated(robot, 'inverse_dynamics', (), q, v, a)


def forward_dynamics(robot: Robot, q: Any, v: Any, tau: Any) -> jax.Array:
    """Return the accelerations under torques, (..., nv) [rad/s^2, m/s^2]."""
    return _evaluated(robot, 'forward_dynamics', (), q, v, tau)


def gravity_torques(robot: Robot, q: Any) -> jax.Array:
    """Return g(q), (..., nv): the torques that hold the robot still [N m, N]."""
    return _evaluated(robot, 'gravity_torques', (), q)


def coriolis_torques(robot: Robot, q: Any, v: Any) -> jax.Array:
    """Return C(q, v) v, (..., nv): the centrifugal and Coriolis torques [N m, N]."""
    return _evaluated(robot, 'coriolis_torques', (), q, v)


def mass_matrix(robot: Robot, q: Any) -> jax.Array:
    """Return M(q), (..., nv, nv) [kg m^2, kg m, kg]."""
    return _evaluated(robot, 'mass_matrix', (), q)


def kinetic_energy(robot: Robot, q: Any, v: Any) -> jax.Array:
    """Return the kinetic energy, (...) [J]."""
    return _evaluated(robot, 'kinetic_energy', (), q, v)


def potential_energy(robot: Robot, q: Any) -> jax.Array:
    """Return the potential energy in gravity, (...) [J]."""
    return _evaluated(robot, 'potential_energy', (), q)


def center_of_mass(robot: Robot, q: Any) -> jax.Array:
    """Return the center of mass of all links in the root frame, (..., 3) [m]."""
    return _evaluated(robot, 'center_of_mass', (), q)


def link_pose(robot: Robot, q: Any, link: str) -> jax.Array:
    """Return the pose of a link in the root frame, (..., 4, 4) [m]."""
    return _evaluated(robot, 'link_pose', (link,), q)


def jacobian(robot: Robot, q: Any, link: str, representation: str = 'hybrid') -> jax.Array:
    """Return the Jacobian of a link, (..., 6, nv), angular rows first; see `Robot.jacobian`."""
    return _evaluated(robot, 'jacobian', (link, representation), q)


def velocity(robot: Robot, q: Any, v: Any, link: str, representation: str = 'hybrid') -> jax.Array:
    """Return the twist (omega, v) of a link, (..., 6) [rad/s, m/s]; see `Robot.velocity`."""
    return _evaluated(robot, 'velocity', (link, representation), q, v)


def _evaluated(robot: Robot, name: str, options: tuple[str, ...], *given: Any) -> jax.Array:
    """Return a function of a robot; checks and converts arrays."""
    function = differentiable(robot, name, *options)
    if not jax.config.jax_enable_x64:
        raise ArgumentError(
            f'{name}: JAX computes in float32, robots need float64; call '
            'jax.config.update("jax_enable_x64", True) when the program starts'
        )
    arrays = [
        x if isinstance(x, jax.Array) else _array(name, argument, x)
        for argument, x in zip(function.arguments, given)
    ]
    kind = arrays[0].dtype
    shapes = [x.shape for x in arrays]
    function.check_shapes(shapes)
    batches = {shape[:-1] for shape in shapes}
    if len(batches) > 1:
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            raise ArgumentError(
                f'{name}: leading axes must be equal or broadcast, got '
                + ', '.join(f'{n}: {shape}' for n, shape in zip(function.arguments, shapes))
            ) from None
        arrays = [jnp.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]
    if all(x.dtype == np.float64 for x in arrays):
        return _value.bind(*arrays, function=function)[0]
    for argument, x in zip(function.arguments, arrays):
        if x.dtype.kind == 'c':
            raise ArgumentError(f'{name}: {argument} must hold real numbers, got {x.dtype}')
    found = _value.bind(*(x.astype(np.float64) for x in arrays), function=function)[0]
    return found.astype(kind) if jnp.issubdtype(kind, jnp.floating) else found


def _array(name: str, argument: str, value: Any) -> jax.Array:
    """Return a value as an array of JAX; raises `ArgumentError`."""
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f'{name}: {argument} must hold real numbers: {error}') from None


# --- operations that JAX knows --------------------------------------------------------------------
#
# `_value` takes arguments (*batch, size); `_tangent` their rates after them, in which it is linear;
# `_cotangents`, its transpose, takes the cotangent of the value after them instead.


def _operation(
    name: str, run: Callable[..., Sequence[Any]], program: Callable[..., BatchProgram]
) -> Primitive:
    """Return an operation that is run by `run`, or by the machine code of `program`."""
    operation = Primitive(f'screw_dynamics_{name}')
    operation.multiple_results = True

    def shapes(*arguments: ShapedArray, function: DifferentiableFunction) -> list[ShapedArray]:
        batch = arguments[0].shape[:-1]
        outputs = program(function).shapes
        return [ShapedArray((*batch, *shape), np.dtype(np.float64)) for shape in outputs]

    @cache
    def compiled(function: DifferentiableFunction) -> Callable[..., Sequence[jax.Array]]:
        return jax.jit(partial(operation.bind, function=function))

    def evaluated(*arrays: Any, function: DifferentiableFunction) -> Sequence[jax.Array]:
        return compiled(function)(*arrays)

    def called_back(*arrays: Any, function: DifferentiableFunction) -> Sequence[jax.Array]:
        def on_host(*given: Any) -> list[Any]:
            return list(run(function, [np.asarray(x) for x in given]))

        avals = [ShapedArray(x.shape, x.dtype) for x in arrays]
        outputs = [
            jax.ShapeDtypeStruct(x.shape, x.dtype) for x in shapes(*avals, function=function)
        ]
        return jax.pure_callback(on_host, outputs, *arrays)

    by_callback = mlir.lower_fun(called_back, multiple_results=True)

    def on_cpu(context: Any, *operands: Any, function: DifferentiableFunction) -> Any:
        samples = int(np.prod(context.avals_in[0].shape[:-1], dtype=int))
        target = _target(program(function), samples)
        if target is None:
            return by_callback(context, *operands, function=function)
        return jax.ffi.ffi_lowering(target)(context, *operands)

    def batched(
        arrays: Sequence[Any], places: Sequence[int | None], function: DifferentiableFunction
    ) -> tuple[Sequence[Any], list[int]]:
        size = next(x.shape[at] for x, at in zip(arrays, places) if at is not None)
        stacked = [
            jnp.broadcast_to(x, (size, *x.shape)) if at is None else jnp.moveaxis(x, at, 0)
            for x, at in zip(arrays, places)
        ]
        found = operation.bind(*stacked, function=function)
        return found, [0] * len(found)

    operation.def_impl(evaluated)
    operation.def_abstract_eval(shapes)
    mlir.register_lowering(operation, by_callback)
    mlir.register_lowering(operation, on_cpu, platform='cpu')
    batching.primitive_batchers[operation] = batched
    return operation


def _run_tangent(function: DifferentiableFunction, arrays: Sequence[Any]) -> Sequence[Any]:
    count = len(function.arguments)
    return [function.tangent(arrays[:count], arrays[count:])]


_value = _operation(
    'value', lambda function, arrays: [function.value(arrays)], lambda f: f.value_program
)
_tangent = _operation('tangent', _run_tangent, lambda f: f.tangent_program)
_cotangents = _operation(
    'cotangents',
    lambda function, arrays: function.cotangents(arrays[:-1], arrays[-1]),
    lambda f: f.cotangent_program,
)


def _differentiated(
    arguments: Sequence[Any], rates: Sequence[Any], function: DifferentiableFunction
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return value and tangent."""
    known = [ad.instantiate_zeros(rate) for rate in rates]
    value = _value.bind(*arguments, function=function)
    return value, _tangent.bind(*arguments, *known, function=function)


def _transposed(
    cotangents: Sequence[Any], *arguments: Any, function: DifferentiableFunction
) -> list[Any]:
    """Return the cotangents of the rates of a tangent."""
    count = len(function.arguments)
    cotangent = ad.instantiate_zeros(cotangents[0])
    found = _cotangents.bind(*arguments[:count], cotangent, function=function)
    rates = arguments[count:]
    return [None] * count + [
        y if ad.is_undefined_primal(rate) else None for rate, y in zip(rates, found)
    ]


def _refused(
    arguments: Sequence[Any], rates: Sequence[Any], function: DifferentiableFunction
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Raise the error for a second derivative."""
    raise NotImplementedError(
        f'{function.name}: second derivatives are not available; differentiate once, or stop the '
        'gradient of the values that are not to be differentiated again'
    )


ad.primitive_jvps[_value] = _differentiated
ad.primitive_jvps[_tangent] = _refused
ad.primitive_jvps[_cotangents] = _refused
ad.primitive_transposes[_tangent] = _transposed


# --- machine code ---------------------------------------------------------------------------------

#: Names under which XLA knows handlers, and objects that live as long as the process, as XLA does
#: not forget them.
_TARGETS: dict[tuple[BatchProgram, int], tuple[str, Library]] = {}


@cache
def _interface() -> Interface | None:
    """Return what handlers must know; None if this JAX has another interface."""
    try:
        header = Path(jax.ffi.include_dir(), 'xla', 'ffi', 'api', 'c_api.h')
        return Interface.of(header.read_text(encoding='utf-8'))
    except (BackendError, OSError):
        return None


def _target(program: BatchProgram, samples: int) -> str | None:
    """Return the name of a handler for stacks of this size; None if there must be a callback."""
    known = _TARGETS.get((program, samples))
    if known is None:
        interface = _interface()
        if interface is None:
            return None
        try:
            library = handler_code(program, samples, interface)
        except BackendError:
            return None
        name = f'screw_dynamics_{len(_TARGETS)}'
        capsule = jax.ffi.pycapsule(library.address('handler'))
        jax.ffi.register_ffi_target(name, capsule, platform='cpu')
        known = _TARGETS.setdefault((program, samples), (name, library))
    return known[0]
