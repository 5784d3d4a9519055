# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Executable functions of a robot: a specification, and one kernel class per backend.

See `calls` for the ways to call them.
"""

from __future__ import annotations

import ctypes
import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import repeat
from typing import Any

import numpy as np

from ..errors import NotRecordableError, UnknownNameError
from ..reproducible import reproducible
from . import cache as disk
from . import sources
from .llvm import module as llvm_ir
from .llvm import native
from .llvm.compilers import compile_code
from .program.factoring import factored
from .program.tracing import Program, Recorder, program
from .stack_runs import StackProgram, stack_length
from .text.python_source import python_functions

log = logging.getLogger(__name__)

BACKENDS = ('native', 'python', 'reference')
WITHOUT_LLVMLITE = 'more than 100 times slower'  # measured: benchmarks/python_backend.py

#: Kind of a program in the cache.
PROGRAM = re.compile('[0-9a-f]{64}[.]program')

#: Largest number of operations for which common factors are extracted. Longer programs would take
#: up to a sixth more time despite fewer operations: a b + a c also takes two instructions (with
#: fused multiply-add), and register pressure rises.
LONGEST_FACTORED = 2500
#: Models of more moving bodies are large: of their functions, those whose recording has more
#: operations than this are not compiled, as compilation would take minutes for chains of hundreds
#: of joints. The recursion then runs on numbers at each call, body after body.
LARGE, LONGEST_OF_LARGE = 100, 200_000
#: Largest number of operations compiled in this process, for one sample and for stacks.
LONG = (2000, 12_000)


@dataclass(frozen=True)
class KernelSpecification:
    """A function of vectors, as a recursion that runs on numbers and on recorded scalars.

    Attributes
    ----------
    name : str
        Description of the function; shown while compiling.
    inputs : tuple of (name, size)
        The arguments of `build`, vectors.
    build : callable
        Maps the model and the inputs to the tuple of outputs, arrays of any shape.
    identity : str, optional
        Everything besides `inputs` and the sources of this package that determines the recording:
        if it has been recorded before, `build` is not run. Without it, `build` always runs.
    uniform : set of str
        Inputs that are equal for all samples of a stack, with shape (size,) also there.
    model : tuple
        Objects with constants: trees, closures, mechanisms. They are made `reproducible` for the
        recording, so that it is the same on every processor.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    build: Callable[..., tuple[np.ndarray, ...]]
    identity: str | None = None
    uniform: frozenset[str] = frozenset()
    model: tuple[Any, ...] = ()

    def record(self) -> Program:
        """Run the recursion on recorded scalars, then extract common factors from sums."""
        recorder = Recorder()
        recorded = program(recorder, self.inputs, self._outputs(recorder))
        return factored(recorded) if recorded.operation_count <= LONGEST_FACTORED else recorded

    def is_too_long(self) -> bool:
        """Whether it is not compiled: longer than `LONGEST_OF_LARGE`, of a `LARGE` model."""
        if sum(len(getattr(part, 'bodies', ())) for part in self.model) <= LARGE:
            return False
        recorder = Recorder(LONGEST_OF_LARGE)
        try:
            self._outputs(recorder)
        except NotRecordableError:
            if len(recorder.operations) < LONGEST_OF_LARGE:
                raise
            return True
        return False

    def _outputs(self, recorder: Recorder) -> tuple[np.ndarray, ...]:
        inputs = (recorder.inputs(name, size) for name, size in self.inputs)
        return self.build(*reproducible(self.model), *inputs)


def choose_backend(backend: str) -> str:
    """Return the name of the backend to use; `auto` selects native code if llvmlite is installed.

    Raises `UnknownNameError`, and `BackendError` if native is requested but llvmlite is missing.
    """
    if backend == 'auto':
        if native.available():
            return 'native'
        _say_once_that_it_is_slower()
        return 'python'
    if backend not in BACKENDS:
        raise UnknownNameError(
            f'no backend named {backend!r}; choose one of auto, {", ".join(BACKENDS)}'
        )
    if backend == 'native':
        native.host()
    return backend


@cache
def _say_once_that_it_is_slower() -> None:
    log.warning(
        f'llvmlite is not installed: everything works, {WITHOUT_LLVMLITE}; '
        'install it with "apt install python3-llvmlite" or "pip install llvmlite"'
    )


class ReferenceKernel:
    """The recursion itself, evaluated with NumPy floats, sample by sample."""

    backend = 'reference'

    def __init__(self, specification: KernelSpecification) -> None:
        self.specification = specification

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the outputs."""
        return tuple(
            output.shape
            for output in self.single([np.zeros(size) for _, size in self.specification.inputs])
        )

    def single(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for one sample; inputs are float64 vectors."""
        with np.errstate(all='ignore'):
            outputs = self.specification.build(*self.specification.model, *inputs)
            return tuple(np.array(output, dtype=float) for output in outputs)

    def stack(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack; inputs are float64 arrays (N, size) or (size,)."""
        columns = [array if array.ndim == 2 else repeat(array) for array in inputs]
        samples = [self.single(sample) for sample in zip(*columns)]
        if not samples:
            return tuple(np.zeros((0, *shape)) for shape in self.shapes)
        return tuple(np.stack(outputs) for outputs in zip(*samples))


class PythonKernel:
    """The recorded program as plain Python: floats for one sample, NumPy columns for a stack."""

    backend = 'python'

    def __init__(self, specification: KernelSpecification) -> None:
        self.specification = specification
        recorded = specification.record()
        self.shapes = tuple(shape for shape, _ in recorded.outputs)
        self._on_floats, self._on_arrays = python_functions(recorded)

    def single(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for one sample; inputs are float64 vectors."""
        try:
            outputs = self._on_floats(*(array.tolist() for array in inputs))
        except (ArithmeticError, ValueError):  # infinities and NaN: NumPy follows IEEE
            return tuple(output[0] for output in self.stack([array[None] for array in inputs]))
        return tuple(
            np.array(output, dtype=float).reshape(shape)
            for output, shape in zip(outputs, self.shapes)
        )

    def stack(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack; inputs are float64 arrays (N, size) or (size,)."""
        samples = stack_length(inputs)
        with np.errstate(all='ignore'):
            outputs = self._on_arrays(*(array.T for array in inputs))
        result = []
        for output, shape in zip(outputs, self.shapes):
            array = np.empty((samples, len(output)))
            for k, column in enumerate(output):
                array[:, k] = column
            result.append(array.reshape((samples, *shape)))
        return tuple(result)


class NativeKernel:
    """The recorded program as machine code; `single` and `stack` are compiled on first use."""

    backend = 'native'

    def __init__(self, specification: KernelSpecification) -> None:
        self.specification = specification
        self._single: SampleProgram | None = None
        self._stacked: StackProgram | None = None
        self._compiling = threading.Lock()  # compile once: code in use must not be replaced

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the outputs."""
        return (self._single or self._stacked or self.sample_program).shapes

    @property
    def sample_program(self) -> SampleProgram:
        """The code for one sample."""
        with self._compiling:
            if self._single is None:
                self._single = compile_sample_program(self.specification)
            return self._single

    @property
    def stack_program(self) -> StackProgram:
        """The code for stacks of samples."""
        with self._compiling:
            if self._stacked is None:
                self._stacked = compile_stack_program(self.specification)
            return self._stacked

    def single(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for one sample; inputs are C-contiguous float64 vectors."""
        outputs = tuple(np.empty(shape) for shape in self.shapes)
        self.sample_program.function(*(array.ctypes.data for array in (*inputs, *outputs)))
        return outputs

    def stack(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack, as `StackProgram` does."""
        return self.stack_program(inputs)


Kernel = ReferenceKernel | PythonKernel | NativeKernel


def make_kernel(specification: KernelSpecification, backend: str) -> Kernel:
    """Return the kernel of `specification` for one of `BACKENDS`.

    That of a function which `is_too_long` is the recursion itself, on every backend.
    """
    if backend != 'reference' and specification.is_too_long():
        log.info(
            '%s is not compiled: it has more than %d operations, and the robot more than %d moving '
            'bodies; calls run the recursion on numbers',
            specification.name,
            LONGEST_OF_LARGE,
            LARGE,
        )
        backend = 'reference'
    kinds: tuple[type[Kernel], ...] = NativeKernel, PythonKernel, ReferenceKernel
    return next(kind(specification) for kind in kinds if kind.backend == backend)


def in_parallel(*makers: Callable[[], Any]) -> list[Any]:
    """Return the results of functions that compile, run in parallel threads."""
    with ThreadPoolExecutor(len(makers)) as threads:
        return [each.result() for each in [threads.submit(make) for make in makers]]


@dataclass(frozen=True)
class SampleProgram:
    """Machine code with one function for one sample; `library` keeps it loaded.

    `function` takes the addresses of inputs and outputs, and releases the GIL during the call. The
    function at `table_address` takes the address of an array of these addresses.
    """

    library: native.Library
    address: int
    table_address: int
    function: Callable[..., None]
    shapes: tuple[tuple[int, ...], ...]


def compile_sample_program(specification: KernelSpecification) -> SampleProgram:
    """Return machine code for one sample."""
    metadata, library = loaded(specification, 1)
    address, shapes = library.address('kernel'), metadata['shapes']
    types = [ctypes.c_void_p] * (len(specification.inputs) + len(shapes))
    function = ctypes.CFUNCTYPE(None, *types)(address)
    return SampleProgram(library, address, library.address('kernel_table'), function, shapes)


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
        ir = llvm_ir.scalar_kernel(recorded, 'kernel', native.opaque_pointers(), table=True)
    else:
        ir = llvm_ir.stack_kernel(recorded, 'kernel', lanes, native.opaque_pointers(), uniform)
    count = recorded.operation_count
    metadata = {'shapes': [shape for shape, _ in recorded.outputs], 'operations': count}
    return metadata, compile_code(ir, count > LONG[lanes > 1])
