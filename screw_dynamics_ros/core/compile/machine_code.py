# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Machine code of kernels: compiled, or loaded from the cache."""

from __future__ import annotations

import ctypes
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import cache as disk
from . import sources
from .llvm import module as llvm_ir
from .llvm import native
from .llvm.compilers import compile_code
from .program.tracing import Program
from .stack_runs import StackProgram

if TYPE_CHECKING:
    from .kernels import KernelSpecification

log = logging.getLogger(__name__)

#: Kind of a program in the cache.
PROGRAM = re.compile('[0-9a-f]{64}[.]program')
#: Largest number of operations compiled in this process, for one sample and for stacks.
LONG = (2000, 12_000)


@dataclass(frozen=True)
class SampleProgram:
    """Machine code with one function for one sample; `library` keeps it loaded.

    `function` takes the addresses of inputs and outputs, and releases the GIL during the call.
    """

    library: native.Library
    address: int
    function: Callable[..., None]
    shapes: tuple[tuple[int, ...], ...]


def compile_sample_program(specification: KernelSpecification) -> SampleProgram:
    """Return machine code for one sample."""
    metadata, library = loaded(specification, 1)
    address, shapes = library.address('kernel'), metadata['shapes']
    types = [ctypes.c_void_p] * (len(specification.inputs) + len(shapes))
    return SampleProgram(library, address, ctypes.CFUNCTYPE(None, *types)(address), shapes)


def compile_stack_program(specification: KernelSpecification) -> StackProgram:
    """Return machine code for stacks of samples."""
    lanes = native.simd_lanes()
    metadata, library = loaded(specification, lanes)
    return StackProgram(
        library,
        library.address('kernel'),
        library.address('kernel_shared'),
        metadata['shapes'],
        metadata['operations'],
        lanes,
    )


def loaded(specification: KernelSpecification, lanes: int) -> tuple[dict[str, Any], native.Library]:
    """Return metadata (shapes of the outputs, number of operations) and machine code.

    Code that has been compiled before is loaded from the disk cache, under the hash of the program.
    With an `identity`, this hash is looked up first, because recording takes longer than loading.
    """
    uniform = [name in specification.uniform for name, _ in specification.inputs]
    context = lanes, lanes > 1 and uniform, native.target_identity()
    index = None
    if specification.identity:
        index = disk.key(
            'name', sources.RECORDING, specification.identity, specification.inputs, *context
        )
    known = disk.load(index) if index else None
    program = named_program(known[0]) if known else None
    stored = loaded_program(program) if program else None
    if stored is None:
        start = time.perf_counter()
        recorded = specification.record()
        key = disk.key('program', sources.COMPILING, recorded.digest(), *context)
        stored = loaded_program(key)
        if stored is None:
            stored = generated(recorded, lanes, specification.uniform)
            disk.store(key, *stored)
            log.info(
                'compiled %s%s: %d operations in %.2f s',
                specification.name,
                f' ({lanes} samples at once)' if lanes > 1 else '',
                recorded.operation_count,
                time.perf_counter() - start,
            )
        if index:
            disk.store(index, {'program': key}, b'')
    metadata, code = stored
    shapes = tuple(tuple(shape) for shape in metadata['shapes'])
    return {**metadata, 'shapes': shapes}, native.Library(code)


def named_program(metadata: Any) -> str | None:
    """Return the name of a program in metadata of the cache, None if they are invalid."""
    name = metadata.get('program') if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and PROGRAM.fullmatch(name) else None


def loaded_program(name: str) -> tuple[dict[str, Any], bytes] | None:
    """Return a program from the cache, None if it is missing or invalid."""
    stored = disk.load(name)
    if stored is None:
        return None
    metadata, code = stored
    shapes = metadata.get('shapes') if isinstance(metadata, dict) else None
    is_program = (
        isinstance(shapes, list)
        and all(isinstance(shape, list) and all(map(is_count, shape)) for shape in shapes)
        and is_count(metadata.get('operations'))
        and bool(code)
    )
    return (metadata, code) if is_program else None


def is_count(number: Any) -> bool:
    """Whether a value of JSON is a natural number."""
    return type(number) is int and number >= 0


def generated(
    recorded: Program, lanes: int, uniform: frozenset[str]
) -> tuple[dict[str, Any], bytes]:
    """Return the metadata of a program, and its machine code."""
    if lanes == 1:
        ir = llvm_ir.scalar_kernel(recorded, 'kernel', native.opaque_pointers())
    else:
        ir = llvm_ir.stack_kernel(recorded, 'kernel', lanes, native.opaque_pointers(), uniform)
    count = recorded.operation_count
    metadata = {'shapes': [shape for shape, _ in recorded.outputs], 'operations': count}
    return metadata, compile_code(ir, count > LONG[lanes > 1])
