# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compile IR to machine code in this process with llvmlite, of any version from 0.38 on.

llvmlite holds a lock of its own during each call and releases the GIL, so that a node can compile
in a background thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

from screw_dynamics_ros.core.errors import BackendError
from screw_dynamics_ros.pipes import framed, receive

ENVIRONMENT_VARIABLE = 'SCREW_DYNAMICS_PROCESSOR'


class InstructionSet(NamedTuple):
    """A level of x86-64: how many doubles a vector holds, and features that tell who has it."""

    lanes: int
    features: tuple[str, ...] = ()


#: Levels of the x86-64 psABI: plain, SSE 4.2, AVX2 with fused multiply-add, and AVX-512.
LEVELS = {
    'x86-64': InstructionSet(2),
    'x86-64-v2': InstructionSet(2, ('sse4.2', 'popcnt')),
    'x86-64-v3': InstructionSet(4, ('avx2', 'fma', 'bmi2')),
    'x86-64-v4': InstructionSet(8, ('avx512f', 'avx512bw', 'avx512dq', 'avx512vl')),
}


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
    """Return whether this LLVM writes `ptr`; up to 14 it wants `double*`."""
    return llvm().llvm_version_info[0] >= 15


def processor() -> tuple[str, str]:
    """Return the processor that is compiled for and its features, in LLVM's notation.

    It is this one, or a level of x86-64 that `SCREW_DYNAMICS_PROCESSOR` names. Raises
    `BackendError` for any other name, and where this processor lacks what the level has.
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
    """Return how many doubles the widest vector of the processor holds (at least 2)."""
    name, text = processor()
    features = text.split(',')
    if name in LEVELS and not text:
        return LEVELS[name].lanes
    return 8 if '+avx512f' in features else 4 if '+avx' in features else 2


def target_identity() -> str:
    """Return what machine code depends on besides the program: LLVM's version and the processor."""
    version = '.'.join(map(str, llvm().llvm_version_info))
    return f'{llvm().get_process_triple()} {" ".join(processor())} llvm {version}'


def target_settings() -> dict[str, Any]:
    """Return the settings of the code generator.

    Position-independent code reaches its constants relative to the instruction; the default of a
    just-in-time compiler loads a 64-bit address for each of them, which costs 8 % in time.
    """
    name, features = processor()
    machine = {'cpu': name, 'features': features}
    return {**machine, 'opt': 2, 'reloc': 'pic', 'codemodel': 'small', 'jit': True}


def target_machine(opt: int = 2) -> Any:
    """Return a new code generator for `processor`."""
    target = llvm().Target.from_triple(llvm().get_process_triple())
    return target.create_target_machine(**{**target_settings(), 'opt': opt})


def emitted(module: str, opt: int = 2) -> bytes:
    """Return the object file of a module, compiled in this process."""
    return target_machine(opt).emit_object(llvm().parse_assembly(with_target(module)))


def with_target(module: str) -> str:
    """Return a module with its first line, the target."""
    return f'target triple = "{llvm().get_process_triple()}"\n{module}'


def joined(codes: Iterable[bytes]) -> bytes:
    """Return object files one after the other, each after its length."""
    return b''.join(map(framed, codes))


def separated(code: bytes) -> Iterator[bytes]:
    """Yield the object files that `joined` was given."""
    stream = BytesIO(code)
    with suppress(EOFError):
        while True:
            yield receive(stream)


def worker_count() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class Library:
    """Machine code from `joined`, loaded into the process for as long as this object lives."""

    def __init__(self, code: bytes) -> None:
        self._engine = llvm().create_mcjit_compiler(llvm().parse_assembly(''), target_machine())
        for part in separated(code):
            self._engine.add_object_file(llvm().object_file.ObjectFileRef.from_data(part))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Return the address of a function; raises `BackendError` if it is not there."""
        address = self._engine.get_function_address(name)
        if not address:
            raise BackendError(f'no function {name!r} in the compiled code')
        return address
