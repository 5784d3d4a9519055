# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ways to call a kernel, for single samples and for stacks.

Inputs are (size,), outputs have its `shapes`:

| call | samples | input checks | outputs |
|---|---|---|---|
| ``kernel.single(inputs)`` | one | no: C-contiguous float64 of their sizes | new arrays |
| ``kernel.stack(inputs)`` | N | no | new arrays |
| ``compiled_call(kernel)(*inputs, out=None)`` | one or N | converted, or refused | new, or `out` |
| ``compiled_single(kernel)(*inputs)`` | one | converted, or refused | new arrays |
| ``compiled_into(kernel)(*inputs, *outputs)`` | one | converted, or refused | given arrays |
| ``compiled_into(kernel, stacks=True)(*inputs, *outputs)`` | one or N | same | given arrays |

In a stack, some inputs are (N, size), all with the same N, and others (size,), as `uniform` inputs
always are; its outputs are (N, *shape). Given output arrays must be C-contiguous float64 and are
checked. `compiled_call` and `compiled_into` return builtin functions if machine code can be called
directly (`cpython.builtin`): these handle matching arrays without Python, and call the functions of
this file for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..arguments import float_array, vector
from ..errors import ArgumentError
from ..types import Array
from .cpython.builtin import CallTable, builtin_function
from .cpython.call import IN_PLACE, SEVERAL
from .cpython.layout import is_usable
from .kernels import Kernel, NativeKernel
from .stack_runs import check_outputs


def compiled_into(kernel: Kernel, *, stacks: bool = False) -> Callable[..., None]:
    """Return a function of the inputs of `kernel` and of the arrays for its outputs.

    For one sample, or with `stacks` for the inputs of `compiled_call`; see the table above.
    """
    if stacks:
        call, count = compiled_stacks(kernel), len(kernel.specification.inputs)

        def run(*arrays: Any) -> None:
            call(*arrays[:count], out=arrays[count:])

        return run
    return _for_one_sample(kernel, IN_PLACE, partial(_run_into, kernel))


def compiled_single(kernel: Kernel) -> Callable[..., tuple[Array, ...]]:
    """Return a function of the inputs of `kernel` for one sample; see the table above."""
    return _for_one_sample(kernel, SEVERAL, partial(checked_single, kernel))


def _for_one_sample(kernel: Kernel, result: int, checked: Callable[..., Any]) -> Callable[..., Any]:
    """Return a builtin function without keywords, compiled already; or the checked one."""
    table = call_table(kernel, result, keywords=False)
    if table is None:
        return checked
    register(kernel, table, False)
    return builtin_function('call', '', table, checked, kernel)


def compiled_call(kernel: Kernel) -> Callable[..., tuple[Array, ...]]:
    """Return a function of the inputs of `kernel`, for a sample or a stack; see the table above.

    The keyword `out` is a tuple of output arrays. The result is a tuple, `out` if given.
    """
    table = call_table(kernel, SEVERAL) if kernel.shapes else None
    checked = partial(_call, kernel, table)
    return checked if table is None else builtin_function('call', '', table, checked, kernel)


def call_table(
    kernel: Kernel, result: int, constants: Mapping[str, int] = MappingProxyType({}), **how: Any
) -> CallTable | None:
    """Return a table for calls of a kernel from compiled code, None if these are not possible.

    `constants` are addresses of inputs that are not arguments; others are those of `CallTable`.
    """
    inputs = [(size, constants.get(name, 0)) for name, size in kernel.specification.inputs]
    is_native = isinstance(kernel, NativeKernel) and is_usable()
    if not (is_native and CallTable.fits(inputs, kernel.shapes)):
        return None
    uniform = [name in kernel.specification.uniform for name, _ in kernel.specification.inputs]
    return CallTable(inputs, kernel.shapes, result, uniform, **how)


def register(
    kernel: Kernel, table: CallTable, stacked: bool, options: tuple[str, ...] = ()
) -> None:
    """Let compiled code call a kernel, for one sample or for stacks, unless it already does."""
    if not isinstance(kernel, NativeKernel) or table.has(options, stacked):
        return
    if stacked:
        program = kernel.stack_program
        table.add_stacked(options, program.address, program.limits, program.new_outputs)
    else:
        table.add_single(options, kernel.sample_program.table_address)


def compiled_stacks(kernel: Kernel) -> Callable[..., tuple[Array, ...]]:
    """Return `compiled_call` of a kernel for stacks; code for one sample waits until it is used."""
    if isinstance(kernel, NativeKernel):
        _ = kernel.stack_program  # provides the shapes
    return compiled_call(kernel)


def _call(
    kernel: Kernel, table: CallTable | None, *arrays: Any, out: Any = None
) -> tuple[Array, ...]:
    """Check the inputs of `kernel`, then compute one sample or a stack; see `compiled_call`."""
    sizes = kernel.specification.inputs
    if len(arrays) != len(sizes):
        names = ', '.join(name for name, _ in sizes)
        raise ArgumentError(f'expected the inputs {names}, got {len(arrays)} arrays')
    inputs = [
        stack_input(name, size, array, name in kernel.specification.uniform)
        for (name, size), array in zip(sizes, arrays)
    ]
    samples = common_length('stacks', sizes, inputs)
    outputs = computed(kernel, inputs, samples, out)
    if table is not None:
        register(kernel, table, samples is not None)
    return outputs


def stack_input(name: str, size: int, value: Any, uniform: bool = False) -> Array:
    """Return an input as a C-contiguous float64 array (size,) or (N, size)."""
    array = float_array(name, value)
    if array.shape == (size,) or (not uniform and array.ndim == 2 and array.shape[1] == size):
        return array
    shapes = f'({size},)' if uniform else f'({size},) or (N, {size})'
    raise ArgumentError(f'{name} must have shape {shapes}, got {array.shape}')


def common_length(
    what: str, sizes: Sequence[tuple[str, int]], inputs: Sequence[Array]
) -> int | None:
    """Return the number of samples, None if no input is a stack; raises `ArgumentError`."""
    lengths = {len(array) for array in inputs if array.ndim == 2}
    if len(lengths) > 1:
        shapes = ', '.join(f'{name}: {array.shape}' for (name, _), array in zip(sizes, inputs))
        raise ArgumentError(f'{what} must have the same length, got {shapes}')
    return lengths.pop() if lengths else None


def computed(
    kernel: Kernel, inputs: Sequence[Array], samples: int | None, out: Any = None
) -> tuple[Array, ...]:
    """Return the outputs for checked inputs, in `out` if given."""
    if out is not None:
        check_outputs(out, () if samples is None else (samples,), kernel.shapes)
        apart = not any(np.may_share_memory(target, array) for target in out for array in inputs)
        if isinstance(kernel, NativeKernel) and samples is not None and apart:
            return kernel.stack_program(inputs, out)
    outputs = kernel.single(inputs) if samples is None else kernel.stack(inputs)
    if out is None:
        return outputs
    for target, output in zip(out, outputs):
        np.copyto(target, output)
    return tuple(out)


def _run_into(kernel: Kernel, *arrays: Any) -> None:
    """Run `kernel` for one sample; `arrays` are its inputs, then arrays for the outputs."""
    sizes = kernel.specification.inputs
    if len(arrays) != len(sizes) + len(kernel.shapes):
        raise ArgumentError(
            f'expected the inputs {", ".join(name for name, _ in sizes)} '
            f'and {len(kernel.shapes)} arrays for the outputs, got {len(arrays)} arrays'
        )
    computed(kernel, _vectors(kernel, arrays), None, arrays[len(sizes) :])


def checked_single(kernel: Kernel, *arrays: Any) -> tuple[Array, ...]:
    """Check the inputs of `kernel`, then compute one sample."""
    return kernel.single(_vectors(kernel, arrays))


def _vectors(kernel: Kernel, arrays: Sequence[Any]) -> list[Array]:
    """Return the inputs of `kernel` for one sample; raises `ArgumentError`."""
    sizes = kernel.specification.inputs
    return [vector(name, size, array) for (name, size), array in zip(sizes, arrays)]
