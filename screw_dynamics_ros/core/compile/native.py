"""Compile IR to machine code in this process with llvmlite, of any version from 0.38 on.

llvmlite holds a lock of its own during each call and releases the GIL, so that a node can compile
in a background thread.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any

from screw_dynamics_ros.core.compile import compiler_process
from screw_dynamics_ros.core.errors import BackendError


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
    with suppress(RuntimeError):  # newer versions initialise themselves and refuse the call
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


@cache
def host_features() -> str:
    """Return the features of this processor in LLVM's notation."""
    try:
        return llvm().get_host_cpu_features().flatten()
    except RuntimeError:
        return ''


@cache
def simd_lanes() -> int:
    """Return how many doubles the widest vector of this processor holds (at least 2)."""
    features = host_features().split(',')
    return 8 if '+avx512f' in features else 4 if '+avx' in features else 2


def target_identity() -> str:
    """Return what machine code depends on besides the program: LLVM's version and the processor."""
    version = '.'.join(map(str, llvm().llvm_version_info))
    processor = f'{llvm().get_host_cpu_name()} {host_features()}'
    return f'{llvm().get_process_triple()} {processor} llvm {version}'


#: Of the code generator. Position-independent code reaches its constants relative to the
#: instruction; the default of a just-in-time compiler loads a 64-bit address for each of them,
#: which costs 8 % in time.
TARGET = {'opt': 2, 'reloc': 'pic', 'codemodel': 'small', 'jit': True}


def target_machine() -> Any:
    """Return a new code generator for this processor."""
    target = llvm().Target.from_triple(llvm().get_process_triple())
    return target.create_target_machine(
        cpu=llvm().get_host_cpu_name(), features=host_features(), **TARGET
    )


def compile_code(modules: Iterable[str], long: bool = False) -> bytes:
    """Return the machine code of modules of IR that belong together, for `Library`.

    Those of a long program are compiled in other processes, while more are written.
    """
    if not long:
        return joined(map(emitted, modules))
    compilers().start()
    with ThreadPoolExecutor(worker_count()) as threads:
        return joined(threads.map(compilers().compile, modules))


def emitted(module: str) -> bytes:
    """Return the object file of a module, compiled in this process."""
    return target_machine().emit_object(llvm().parse_assembly(with_target(module)))


def with_target(module: str) -> str:
    """Return a module with its first line, the target."""
    return f'target triple = "{llvm().get_process_triple()}"\n{module}'


def joined(codes: Iterable[bytes]) -> bytes:
    """Return object files one after the other, each after its length."""
    return b''.join(len(code).to_bytes(8, 'little') + code for code in codes)


def separated(code: bytes) -> Iterator[bytes]:
    """Yield the object files that `joined` was given."""
    place = 0
    while place < len(code):
        start = place + 8
        place = start + int.from_bytes(code[place:start], 'little')
        yield code[start:place]


def worker_count() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


#: Of those processes: plain register allocation and no second scheduling. That takes half the time,
#: and programs for one sample run as fast. LLVM has such options for a whole process only.
OPTIONS = ('-regalloc=basic', '-enable-misched=false')


class Compilers:
    """Processes that compile modules side by side; this one does it if there cannot be any.

    They end by themselves when nothing has come for a while, and are started again.
    """

    def __init__(self, count: int) -> None:
        self._idle: SimpleQueue[subprocess.Popen[bytes] | None] = SimpleQueue()
        for _ in range(count):
            self._idle.put(None)

    def start(self) -> None:
        """Start those processes that do not run."""
        for _ in range(self._idle.qsize()):
            with suppress(Empty):
                self._idle.put(running(self._idle.get_nowait()))

    def compile(self, module: str) -> bytes:
        """Return the object file of a module."""
        process = running(self._idle.get())
        try:
            if process is not None and process.stdin and process.stdout:
                compiler_process.send(process.stdin, with_target(module).encode())
                return compiler_process.receive(process.stdout)
        except (OSError, EOFError):
            process = None
        finally:
            self._idle.put(process)
        return emitted(module)

    def stop(self) -> None:
        """End the processes."""
        for _ in range(self._idle.qsize()):
            process = self._idle.get()
            self._idle.put(None)
            if process is not None:
                with suppress(OSError):
                    process.communicate()


@cache
def compilers() -> Compilers:
    """Return the compilers of this process, one for each processor."""
    result = Compilers(worker_count())
    atexit.register(result.stop)
    return result


if hasattr(os, 'register_at_fork'):  # a fork must not talk to the same processes
    os.register_at_fork(after_in_child=compilers.cache_clear)


def running(process: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes] | None:
    """Return a process that still runs, or else a new one; None if there cannot be one."""
    if process is not None and process.poll() is None:
        return process
    machine = {'cpu': llvm().get_host_cpu_name(), 'features': host_features(), **TARGET}
    settings = json.dumps({'options': OPTIONS, 'machine': machine})
    try:
        process = subprocess.Popen(
            [sys.executable, '-S', compiler_process.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
        )
        if process.stdin:
            process.stdin.write(f'{settings}\n'.encode())  # sent with the first module
    except (OSError, ValueError, TypeError):  # no such file, or no name of one
        return None
    return process


class Library:
    """Machine code of `compile_code`, loaded into the process for as long as this object lives."""

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
