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
directly (`cpython.entry`): these handle matching arrays without Python, and call the functions of
this file for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..arguments import float_array, vector
from ..errors import ArgumentError
from ..types import Array
from .cpython.entry import entry_point
from .cpython.layout import is_usable
from .cpython.stacks import StackTable
from .cpython.writer import Addresses
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
    checked = partial(_run_into, kernel)
    if not (isinstance(kernel, NativeKernel) and is_usable()):
        return checked
    arguments = [(size,) for _, size in kernel.specification.inputs]
    return entry_point(
        'run', '', kernel.sample_program.address, arguments, list(kernel.shapes), checked, kernel
    )


def compiled_single(kernel: Kernel) -> Callable[..., tuple[Array, ...]]:
    """Return a function of the inputs of `kernel` for one sample; see the table above."""
    checked = partial(checked_single, kernel)
    if not (isinstance(kernel, NativeKernel) and is_usable()):
        return checked
    arguments, shapes = [(size,) for _, size in kernel.specification.inputs], tuple(kernel.shapes)
    address = kernel.sample_program.address
    return entry_point('call', '', address, arguments, shapes, checked, kernel)


def compiled_call(kernel: Kernel) -> Callable[..., tuple[Array, ...]]:
    """Return a function of the inputs of `kernel`, for a sample or a stack; see the table above.

    The keyword `out` is a tuple of output arrays. The result is a tuple, `out` if given.
    """
    if not isinstance(kernel, NativeKernel):
        return partial(_call, kernel, None)
    inputs, shapes = kernel.specification.inputs, kernel.shapes
    sizes = [(size, 0) for _, size in inputs]
    if not (shapes and is_usable() and StackTable.fits(sizes, shapes)):
        return partial(_call, kernel, None)
    uniform = [name in kernel.specification.uniform for name, _ in inputs]
    tables = Tables(Addresses(), StackTable(sizes, uniform, shapes, False))
    return entry_point(
        'call',
        '',
        tables.single,
        [(size,) for _, size in inputs],
        shapes,
        partial(_call, kernel, tables),
        kernel,
        tables.stacks,
    )


def compiled_stacks(kernel: Kernel) -> Callable[..., tuple[Array, ...]]:
    """Return `compiled_call` of a kernel for stacks; code for one sample waits until it is used."""
    if isinstance(kernel, NativeKernel):
        _ = kernel.stack_program  # provides the shapes
    return compiled_call(kernel)


@dataclass(frozen=True)
class Tables:
    """Addresses of a kernel for compiled code, for one sample and for stacks.

    `known` has the combinations of these two and of options that are registered.
    """

    single: Addresses
    stacks: StackTable
    known: set[tuple[bool, tuple[str, ...]]] = field(default_factory=set)

    def add(self, kernel: NativeKernel, stacked: bool, options: tuple[str, ...] = ()) -> None:
        """Register a kernel after its first call, unless it is known."""
        if (stacked, options) in self.known:
            return
        if stacked:
            kernel.stack_program.register(self.stacks, options)
        else:
            self.single.add(options, kernel.sample_program.address)
        self.known.add((stacked, options))


def _call(
    kernel: Kernel, tables: Tables | None, *arrays: Any, out: Any = None
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
    if tables is not None and isinstance(kernel, NativeKernel):
        tables.add(kernel, samples is not None)
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
