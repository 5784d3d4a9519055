# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compile IR to machine code in this process with llvmlite 0.38 or newer.

llvmlite holds its own lock during each call and releases the GIL, so that a node can compile in a
background thread.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

from screw_dynamics_ros.pipes import framed, receive

from ...errors import BackendError

ENVIRONMENT_VARIABLE = 'SCREW_DYNAMICS_PROCESSOR'


class InstructionSet(NamedTuple):
    """A level of x86-64: number of doubles in a vector, and the required processor features."""

    lanes: int
    features: tuple[str, ...] = ()


#: Levels of the x86-64 psABI: plain, SSE 4.2, AVX2 with fused multiply-add, and AVX-512.
LEVELS = {
    'x86-64': InstructionSet(2),
    'x86-64-v2': InstructionSet(2, ('sse4.2', 'popcnt')),
    'x86-64-v3': InstructionSet(4, ('avx2', 'fma', 'bmi2')),
    'x86-64-v4': InstructionSet(8, ('avx512f', 'avx512bw', 'avx512dq', 'avx512vl')),
}


#: Declared functions other than intrinsics, and the flag for functions that LLVM calls itself.
DECLARED = re.compile(r'^declare (?!.*@llvm\.).*$', re.MULTILINE)
GLOBAL_OFFSET_TABLE = '\n!llvm.module.flags = !{!42}\n!42 = !{i32 7, !"RtLibUseGOT", i32 1}\n'


@cache
def llvm() -> Any:
    """Return llvmlite's binding layer; raises `BackendError` if llvmlite is missing."""
    try:
        from llvmlite import binding
    except ImportError as error:
        raise BackendError(
            'the native backend needs llvmlite, which cannot be imported: install it with '
            '"apt install python3-llvmlite" or "pip install llvmlite", or use backend="python"'
        ) from error
    with suppress(RuntimeError):  # newer versions initialize themselves and refuse the call
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def available() -> bool:
    """Return whether llvmlite can be imported."""
    try:
        llvm()
    except BackendError:
        return False
    return True


@cache
def opaque_pointers() -> bool:
    """Return whether this LLVM uses `ptr` (from 15) instead of `double*`."""
    return llvm().llvm_version_info[0] >= 15


def processor() -> tuple[str, str]:
    """Return the target processor and its features, in LLVM's notation.

    The target is this processor, or the x86-64 level in `SCREW_DYNAMICS_PROCESSOR`. Raises
    `BackendError` for any other name, and if this processor lacks a feature of the level.
    """
    return _processor(os.environ.get(ENVIRONMENT_VARIABLE, ''))


@cache
def _processor(level: str) -> tuple[str, str]:
    host = host_features()
    if not level:
        return llvm().get_host_cpu_name(), host
    if level not in LEVELS:
        raise BackendError(
            f'{ENVIRONMENT_VARIABLE} is {level!r}; choose one of {", ".join(LEVELS)}, or none for '
            'this processor'
        )
    missing = [
        feature for feature in LEVELS[level].features if f'+{feature}' not in host.split(',')
    ]
    if missing:
        raise BackendError(
            f'{ENVIRONMENT_VARIABLE} is {level!r}, but this processor has no {", ".join(missing)}; '
            'choose a lower level, or none for this processor'
        )
    return level, ''


@cache
def host_features() -> str:
    """Return the features of this processor in LLVM's notation."""
    try:
        return llvm().get_host_cpu_features().flatten()
    except RuntimeError:
        return ''


def simd_lanes() -> int:
    """Return the number of doubles in the widest vector of the processor (at least 2)."""
    name, text = processor()
    features = text.split(',')
    if name in LEVELS and not text:
        return LEVELS[name].lanes
    return 8 if '+avx512f' in features else 4 if '+avx' in features else 2


def target_identity() -> str:
    """Return the dependencies of machine code besides the program: LLVM version and processor."""
    version = '.'.join(map(str, llvm().llvm_version_info))
    model = target_settings()['codemodel']
    return f'{llvm().get_process_triple()} {" ".join(processor())} llvm {version} {model}'


def target_settings() -> dict[str, Any]:
    """Return the settings of the code generator.

    Position-independent code addresses constants relative to the instruction, up to 2 GB away. The
    default of a just-in-time compiler loads a 64-bit address for each, which costs 8 % of run time;
    it is used where code and constants of a library may be further apart.
    """
    name, features = processor()
    machine = {'cpu': name, 'features': features, 'opt': 2, 'jit': True}
    if memory_manager():
        return {**machine, 'reloc': 'pic', 'codemodel': 'small'}
    return {**machine, 'reloc': 'default', 'codemodel': 'jitdefault'}


@cache
def memory_manager() -> dict[str, bool]:
    """Return the option of llvmlite 0.42 to load code, constants and tables into one block.

    LLVM's own manager places each where memory is free. It aborts the process if they are more than
    2 GB apart, as in a process with many threads.
    """
    known = inspect.signature(llvm().create_mcjit_compiler).parameters
    return {'use_lmm': True} if 'use_lmm' in known else {}


def target_machine(opt: int = 2) -> Any:
    """Return a new code generator for `processor`."""
    target = llvm().Target.from_triple(llvm().get_process_triple())
    return target.create_target_machine(**{**target_settings(), 'opt': opt})


def emitted(module: str, opt: int = 2) -> bytes:
    """Return the object file of a module, compiled in this process."""
    return target_machine(opt).emit_object(llvm().parse_assembly(with_target(module)))


def with_target(module: str) -> str:
    """Return a module preceded by its target line.

    On x86-64 it calls functions of other modules and of C through the global offset table: the
    block of `memory_manager` has space for this table, and none for others.
    """
    triple = llvm().get_process_triple()
    if triple.startswith('x86_64'):
        module = DECLARED.sub(r'\g<0> nonlazybind', module) + GLOBAL_OFFSET_TABLE
    return f'target triple = "{triple}"\n{module}'


def joined(codes: Iterable[bytes]) -> bytes:
    """Return concatenated object files, each preceded by its length."""
    return b''.join(map(framed, codes))


def separated(code: bytes) -> Iterator[bytes]:
    """Yield the object files in the result of `joined`."""
    stream = BytesIO(code)
    with suppress(EOFError):
        while True:
            yield receive(stream)


def worker_count() -> int:
    """Return the number of processors available to this process."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class Library:
    """Machine code from `joined`, loaded into the process during the lifetime of this object."""

    def __init__(self, code: bytes) -> None:
        self._engine = llvm().create_mcjit_compiler(
            llvm().parse_assembly(''), target_machine(), **memory_manager()
        )
        for part in separated(code):
            self._engine.add_object_file(llvm().object_file.ObjectFileRef.from_data(part))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Return the address of a function; raises `BackendError` if it is not there."""
        address = self._engine.get_function_address(name)
        if not address:
            raise BackendError(f'no function {name!r} in the compiled code')
        return address
