# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compile IR to machine code in this process with llvmlite 0.38 or newer.

LLVM is loaded only to compile, as it takes 50 MB: what code depends on is in the disk cache, too.
llvmlite holds its own lock during each call and releases the GIL, so that a node can compile in a
background thread.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from screw_dynamics_ros.pipes import framed, receive

from ...errors import BackendError
from .. import cache as disk
from .. import sources
from .linking import LinkedCode

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


class Host(NamedTuple):
    """What machine code depends on: LLVM, and this processor in its notation."""

    version: str
    triple: str
    processor: str
    features: str


@cache
def host() -> Host:
    """Return what LLVM reports, from the disk cache if it is there; raises `BackendError`."""
    name = _host_key()
    known = disk.load(name) if name else None
    if known is not None:
        return Host(**known[0])
    binding, features = llvm(), ''
    with suppress(RuntimeError):
        features = binding.get_host_cpu_features().flatten()
    version = '.'.join(map(str, binding.llvm_version_info))
    found = Host(version, binding.get_process_triple(), binding.get_host_cpu_name(), features)
    if name:
        disk.store(name, found._asdict(), b'')
    return found


def _host_key() -> str:
    """Return the name of `host` in the disk cache, '' if this llvmlite or processor is unknown."""
    found = find_spec('llvmlite')
    try:
        folder = Path(found.origin if found and found.origin else '').parent
        library = next(folder.glob('binding/*llvmlite*')).stat()
        with open('/proc/cpuinfo', encoding='ascii', errors='replace') as file:
            first = file.read(2**14).partition('\n\n')[0].splitlines()  # processor of several
    except (OSError, StopIteration):
        return ''
    version = str(folder), library.st_size, library.st_mtime_ns
    features = [line for line in first if 'MHz' not in line]
    return disk.key('host', sources.COMPILING, version, features)


def available() -> bool:
    """Return whether llvmlite can be imported."""
    try:
        host()
    except BackendError:
        return False
    return True


def opaque_pointers() -> bool:
    """Return whether this LLVM uses `ptr` (from 15) instead of `double*`."""
    return int(host().version.partition('.')[0]) >= 15


def is_linked() -> bool:
    """Return whether this package loads machine code, and not LLVM."""
    return host().triple.startswith('x86_64') and 'linux' in host().triple


def processor() -> tuple[str, str]:
    """Return the target processor and its features, in LLVM's notation.

    The target is this processor, or the x86-64 level in `SCREW_DYNAMICS_PROCESSOR`. Raises
    `BackendError` for any other name, and if this processor lacks a feature of the level.
    """
    return _processor(os.environ.get(ENVIRONMENT_VARIABLE, ''))


@cache
def _processor(level: str) -> tuple[str, str]:
    features = host_features()
    if not level:
        return host().processor, features
    if level not in LEVELS:
        raise BackendError(
            f'{ENVIRONMENT_VARIABLE} is {level!r}; choose one of {", ".join(LEVELS)}, or none for '
            'this processor'
        )
    missing = [
        feature for feature in LEVELS[level].features if f'+{feature}' not in features.split(',')
    ]
    if missing:
        raise BackendError(
            f'{ENVIRONMENT_VARIABLE} is {level!r}, but this processor has no {", ".join(missing)}; '
            'choose a lower level, or none for this processor'
        )
    return level, ''


def host_features() -> str:
    """Return the features of this processor in LLVM's notation."""
    return host().features


def simd_lanes() -> int:
    """Return the number of doubles in the widest vector of the processor (at least 2)."""
    name, text = processor()
    features = text.split(',')
    if name in LEVELS and not text:
        return LEVELS[name].lanes
    return 8 if '+avx512f' in features else 4 if '+avx' in features else 2


def target_identity() -> str:
    """Return the dependencies of machine code besides the program: LLVM version and processor."""
    model = target_settings()['codemodel']
    return f'{host().triple} {" ".join(processor())} llvm {host().version} {model}'


def target_settings() -> dict[str, Any]:
    """Return the settings of the code generator.

    Position-independent code addresses constants relative to the instruction, up to 2 GB away. The
    default of a just-in-time compiler loads a 64-bit address for each, which costs 8 % of run time;
    it is used where code and constants of a library may be further apart.
    """
    name, features = processor()
    machine = {'cpu': name, 'features': features, 'opt': 2, 'jit': True}
    if is_linked() or memory_manager():
        return {**machine, 'reloc': 'pic', 'codemodel': 'small'}
    return {**machine, 'reloc': 'default', 'codemodel': 'jitdefault'}


@cache
def memory_manager() -> dict[str, bool]:
    """Return the option of llvmlite 0.42 to load code, constants and tables into one block.

    For other processors than those of `linking`.
    LLVM's own manager places each where memory is free. It aborts the process if they are more than
    2 GB apart, as in a process with many threads.
    """
    known = inspect.signature(llvm().create_mcjit_compiler).parameters
    return {'use_lmm': True} if 'use_lmm' in known else {}


def target_machine(opt: int = 2) -> Any:
    """Return a new code generator for `processor`."""
    target = llvm().Target.from_triple(host().triple)
    return target.create_target_machine(**{**target_settings(), 'opt': opt})


def emitted(module: str, opt: int = 2, inline: bool = False) -> bytes:
    """Return the object file of a module, compiled in this process.

    With `inline`, functions are inlined where llvmlite has the new passes of LLVM (0.44).
    """
    parsed, machine = llvm().parse_assembly(with_target(module)), target_machine(opt)
    if inline and hasattr(llvm(), 'create_pass_builder'):
        passes = llvm().create_pass_builder(machine, llvm().create_pipeline_tuning_options())
        passes.getModulePassManager().run(parsed, passes)
    return machine.emit_object(parsed)


def machine_code(text: str, inline: bool = False) -> bytes:
    """Return the code of a module for `Library`, from the disk cache if it is there."""
    key = disk.key('typed', sources.COMPILING, text, inline, target_identity())
    stored = disk.load(key)
    if stored is not None and stored[1]:
        return stored[1]
    code = joined([emitted(text, inline=inline)])
    disk.store(key, {}, code)
    return code


def with_target(module: str) -> str:
    """Return a module preceded by its target line.

    On x86-64 it calls functions of other modules and of C through the global offset table, for
    which `linking` and the block of `memory_manager` have space, and none for other tables.
    """
    triple = host().triple
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
    """Machine code from `joined`, loaded into the process during the lifetime of this object.

    If there are `addresses`, it has a function `link` that stores them.
    """

    def __init__(self, code: bytes, addresses: Sequence[int] = ()) -> None:
        self._load(code)
        if addresses:
            link = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address('link'))
            link((ctypes.c_uint64 * len(addresses))(*addresses))

    def _load(self, code: bytes) -> None:
        self._linked = LinkedCode(list(separated(code))) if is_linked() else None
        if self._linked is not None:
            self._find: Callable[[str], int | None] = self._linked.addresses.get
            return
        self._engine = llvm().create_mcjit_compiler(
            llvm().parse_assembly(''), target_machine(), **memory_manager()
        )
        for part in separated(code):
            self._engine.add_object_file(llvm().object_file.ObjectFileRef.from_data(part))
        self._engine.finalize_object()
        self._find = self._engine.get_function_address

    def address(self, name: str) -> int:
        """Return the address of a function; raises `BackendError` if it is not there."""
        address = self._find(name)
        if not address:
            raise BackendError(f'no function {name!r} in the compiled code')
        return address
