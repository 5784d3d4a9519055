"""Executable functions of a robot: a specification, and one kernel class per backend."""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import repeat
from typing import Any

import numpy as np

from screw_dynamics_ros.core.arguments import vector
from screw_dynamics_ros.core.compile import cache as disk
from screw_dynamics_ros.core.compile import sources
from screw_dynamics_ros.core.compile.cpython_entry import entry_point
from screw_dynamics_ros.core.compile.llvm import module as llvm_ir
from screw_dynamics_ros.core.compile.llvm import native
from screw_dynamics_ros.core.compile.llvm.compilers import compile_code
from screw_dynamics_ros.core.compile.program.tracing import Program, Recorder, program
from screw_dynamics_ros.core.compile.text.python_source import python_functions
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError

log = logging.getLogger(__name__)

BACKENDS = ('native', 'python', 'reference')

THREAD_WORK = 1_000_000  # operations below which a second thread does not pay
#: Operations up to which a program is compiled in this process, for one sample and for stacks.
#: Stacks run a fifth slower when they are compiled in the quick way of the other processes.
LONG = (2000, 12_000)


@dataclass(frozen=True)
class KernelSpecification:
    """A function of vectors, as a recursion that runs on numbers and on recorded scalars.

    Attributes
    ----------
    name : str
        Says what is computed; shown while compiling.
    inputs : tuple of (name, size)
        The arguments of `build`, vectors.
    build : callable
        Returns the tuple of outputs, arrays of any shape.
    identity : str, optional
        Says all that decides what is recorded besides `inputs` and the sources of this package:
        `build` is not run where that has been recorded before. Without it, it is run each time.
    uniform : set of str
        Inputs that are the same for all samples of a stack, (size,) there too.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    build: Callable[..., tuple[np.ndarray, ...]]
    identity: str | None = None
    uniform: frozenset[str] = frozenset()

    def record(self) -> Program:
        """Run the recursion on recorded scalars."""
        recorder = Recorder()
        outputs = self.build(*(recorder.inputs(name, size) for name, size in self.inputs))
        return program(recorder, self.inputs, outputs)


def choose_backend(backend: str) -> str:
    """Return the name of the backend to use; `auto` takes native code where llvmlite is found.

    Raises `UnknownNameError`, and `BackendError` if native is asked for by name but llvmlite is
    missing.
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
        native.llvm()
    return backend


@cache
def _say_once_that_it_is_slower() -> None:
    log.warning(
        'llvmlite is not installed: everything works, some 50 times slower; '
        'install it with "apt install python3-llvmlite" or "pip install llvmlite"'
    )


class ReferenceKernel:
    """The recursion itself, run on NumPy floats, one sample after the other."""

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
            return tuple(
                np.array(output, dtype=float) for output in self.specification.build(*inputs)
            )

    def stack(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack; inputs are float64 arrays (N, size)."""
        names = [name for name, _ in self.specification.inputs]
        columns = [
            repeat(array) if name in self.specification.uniform else array
            for name, array in zip(names, inputs)
        ]
        samples = [self.single(sample) for sample in zip(*columns)]
        if not samples:
            return tuple(np.zeros((0, *shape)) for shape in self.shapes)
        return tuple(np.stack(outputs) for outputs in zip(*samples))


class PythonKernel:
    """The recorded program as plain Python: floats for one sample, NumPy columns for a stack."""

    def __init__(self, specification: KernelSpecification) -> None:
        self.specification = specification
        recorded = specification.record()
        self.shapes = tuple(shape for shape, _ in recorded.outputs)
        self._on_floats, self._on_arrays = python_functions(recorded)

    def single(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for one sample; inputs are float64 vectors."""
        try:
            outputs = self._on_floats(*(array.tolist() for array in inputs))
        except (ArithmeticError, ValueError):  # not a finite number: NumPy follows IEEE
            return tuple(output[0] for output in self.stack([array[None] for array in inputs]))
        return tuple(
            np.array(output, dtype=float).reshape(shape)
            for output, shape in zip(outputs, self.shapes)
        )

    def stack(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack; inputs are float64 arrays (N, size)."""
        samples = len(inputs[0])
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
    """The recorded program as machine code: `single` and `stack` are compiled when first called."""

    def __init__(self, specification: KernelSpecification) -> None:
        self.specification = specification
        self._programs: dict[int, CompiledProgram] = {}
        self._compiling = threading.Lock()  # machine code in use must not be replaced

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the outputs."""
        return self.compiled.shapes

    @property
    def compiled(self) -> CompiledProgram:
        """The code for one sample."""
        return self._program(1)

    @property
    def stacked(self) -> CompiledProgram:
        """The code for stacks of samples."""
        return self._program(native.simd_lanes())

    def _program(self, lanes: int) -> CompiledProgram:
        with self._compiling:
            if lanes not in self._programs:
                self._programs[lanes] = compile_program(self.specification, lanes)
            return self._programs[lanes]

    def single(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for one sample; inputs are C-contiguous float64 vectors."""
        outputs = tuple(np.empty(shape) for shape in self.shapes)
        self.compiled.function(*(array.ctypes.data for array in (*inputs, *outputs)))
        return outputs

    def stack(self, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the outputs for a stack; inputs are C-contiguous float64 arrays (N, size).

        Whole tiles run in place, spread over threads (a call through ctypes releases the GIL); the
        rest runs on a padded copy.
        """
        lanes, samples = native.simd_lanes(), len(inputs[0])
        compiled = self._program(lanes)
        outputs = tuple(np.empty((samples, *shape)) for shape in compiled.shapes)
        tiles, rest = divmod(samples, lanes)

        uniform = [name in self.specification.uniform for name, _ in self.specification.inputs]
        strides = [
            0 if same else array.strides[0] * lanes for same, array in zip(uniform, inputs)
        ] + [array.strides[0] * lanes for array in outputs]

        def run(first: int, count: int) -> None:
            arrays = (*inputs, *outputs)
            addresses = (array.ctypes.data + first * n for array, n in zip(arrays, strides))
            compiled.function(*addresses, count)

        enough_work = samples * compiled.operations > THREAD_WORK
        threads = min(native.worker_count(), tiles) if enough_work else 1
        if threads > 1:
            edges = [tiles * k // threads for k in range(threads + 1)]
            list(workers().map(run, edges, np.diff(edges).tolist()))
        elif tiles:
            run(0, tiles)
        if rest:
            last = slice(tiles * lanes, None)
            padded_in = [
                array
                if same
                else np.concatenate([array[last], np.repeat(array[-1:], lanes - rest, axis=0)])
                for same, array in zip(uniform, inputs)
            ]
            padded_out = [np.empty((lanes, *shape)) for shape in compiled.shapes]
            compiled.function(*(a.ctypes.data for a in (*padded_in, *padded_out)), 1)
            for output, padded in zip(outputs, padded_out):
                output[last] = padded[:rest]
        return outputs


Kernel = ReferenceKernel | PythonKernel | NativeKernel


def make_kernel(specification: KernelSpecification, backend: str) -> Kernel:
    """Return `specification` made runnable on one of `BACKENDS`."""
    kinds: dict[str, type[Kernel]] = {
        'native': NativeKernel,
        'python': PythonKernel,
        'reference': ReferenceKernel,
    }
    return kinds[backend](specification)


def compiled_into(kernel: Kernel) -> Callable[..., None]:
    """Return a function of the inputs of `kernel` and of arrays it writes the outputs into."""
    run = partial(run_into, kernel)
    if not isinstance(kernel, NativeKernel):
        return run
    arguments = [(size,) for _, size in kernel.specification.inputs]
    return entry_point(
        'run', '', kernel.compiled.address, arguments, list(kernel.shapes), run, kernel
    )


def stacked_into(kernel: Kernel, samples: int) -> Callable[..., None]:
    """Return a function of arrays for so many samples, and of arrays it writes the outputs into.

    Its arguments are C-contiguous float64 arrays: the inputs, (samples, size), or (size,) for those
    that are the same for all, then the outputs, (samples, ...). On other backends than `native`,
    and where the samples do not fill whole vectors, it does the same more slowly.
    """

    def run(*arrays: Any) -> None:
        count = len(kernel.specification.inputs)
        for target, output in zip(arrays[count:], kernel.stack(arrays[:count])):
            np.copyto(target, output)

    if not isinstance(kernel, NativeKernel) or samples % native.simd_lanes():
        return run
    compiled = kernel.stacked
    arguments = [
        (size,) if name in kernel.specification.uniform else (samples, size)
        for name, size in kernel.specification.inputs
    ]
    results = [(samples, *shape) for shape in compiled.shapes]
    tiles = np.array([samples / native.simd_lanes()])
    address = compiled.library.address('kernel_counted')
    enter = entry_point('run', '', address, arguments, [*results, (1,)], run, kernel)
    return lambda *arrays: enter(*arrays, tiles)


def run_into(kernel: Kernel, *arrays: Any) -> None:
    """Run `kernel` for one sample; `arrays` are its inputs, then arrays for the outputs."""
    sizes = kernel.specification.inputs
    if len(arrays) != len(sizes) + len(kernel.shapes):
        raise ArgumentError(
            f'expected the inputs {", ".join(name for name, _ in sizes)} '
            f'and {len(kernel.shapes)} arrays for the outputs, got {len(arrays)} arrays'
        )
    inputs = [vector(name, size, array) for (name, size), array in zip(sizes, arrays)]
    targets = arrays[len(sizes) :]
    for k, (target, shape) in enumerate(zip(targets, kernel.shapes)):
        if not (
            isinstance(target, np.ndarray)
            and target.dtype == np.float64
            and target.shape == shape
            and target.flags.c_contiguous
            and target.flags.writeable
        ):
            raise ArgumentError(
                f'out[{k}] must be a writeable C-contiguous float64 array of shape {shape}'
            )
    for target, output in zip(targets, kernel.single(inputs)):
        np.copyto(target, output)


@dataclass(frozen=True)
class CompiledProgram:
    """Machine code with one function; `library` keeps it loaded.

    `function` calls it with the addresses of inputs and outputs, and for stacks the number of
    tiles; meanwhile other Python threads run.
    """

    library: native.Library
    address: int
    function: Callable[..., None]
    shapes: tuple[tuple[int, ...], ...]
    operations: int


def compile_program(specification: KernelSpecification, lanes: int) -> CompiledProgram:
    """Return machine code for one sample (`lanes` = 1) or for stacks of them.

    It comes from the disk cache if it has been compiled before. There it has the name of the
    program itself; what the program of an `identity` is called is looked up first, as recording
    takes longer than loading.
    """
    uniform = [name in specification.uniform for name, _ in specification.inputs]
    context = lanes, lanes > 1 and uniform, native.target_identity()
    index = None
    if specification.identity:
        index = disk.key(
            'name', sources.RECORDING, specification.identity, specification.inputs, *context
        )
    known = disk.load(index) if index else None
    stored = disk.load(known[0]['program']) if known else None
    if stored is None:
        start = time.perf_counter()
        recorded = specification.record()
        key = disk.key('program', sources.COMPILING, recorded.digest(), *context)
        stored = disk.load(key)
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
    library = native.Library(code)
    address = library.address('kernel')
    shapes = tuple(tuple(shape) for shape in metadata['shapes'])
    types: list[Any] = [ctypes.c_void_p] * (len(specification.inputs) + len(shapes))
    types += [ctypes.c_int64] if lanes > 1 else []
    function = ctypes.CFUNCTYPE(None, *types)(address)
    return CompiledProgram(library, address, function, shapes, metadata['operations'])


def generated(
    recorded: Program, lanes: int, uniform: frozenset[str]
) -> tuple[dict[str, Any], bytes]:
    """Return what there is to know of a program, and its machine code."""
    if lanes == 1:
        ir = llvm_ir.scalar_kernel(recorded, 'kernel', native.opaque_pointers())
    else:
        ir = llvm_ir.stack_kernel(recorded, 'kernel', lanes, native.opaque_pointers(), uniform)
    count = recorded.operation_count
    metadata = {'shapes': [shape for shape, _ in recorded.outputs], 'operations': count}
    return metadata, compile_code(ir, count > LONG[lanes > 1])


@cache
def workers() -> ThreadPoolExecutor:
    """Return the threads that share the stacks."""
    return ThreadPoolExecutor(native.worker_count(), thread_name_prefix='screw_dynamics')


if hasattr(os, 'register_at_fork'):  # threads do not survive a fork
    os.register_at_fork(after_in_child=workers.cache_clear)
