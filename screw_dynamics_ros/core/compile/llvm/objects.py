# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Object files of programs for any target of LLVM, without a cross-compiler."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import ArgumentError
from ..program.tracing import Program
from . import native
from .module import scalar_kernel


def object_file(
    functions: Iterable[tuple[str, Program]], triple: str, cpu: str = '', features: str = ''
) -> bytes:
    """Return an object file with one function for each program: `void name(in..., out...)`.

    It calls `sin`, `cos` and, for processors without such an instruction, `fma` of the mathematics
    library. For NVIDIA GPUs (nvptx64) the result is PTX text with device functions.

    Parameters
    ----------
    functions : iterable of (name, Program)
    triple : str
        The target in LLVM's notation, such as 'aarch64-linux-gnu' or 'thumbv7em-none-eabihf'.
    cpu, features : str
        As in LLVM, '' for the baseline of the target.

    Raises
    ------
    ArgumentError
        A target or processor that LLVM does not know.
    BackendError
        If llvmlite is missing.
    """
    machine = target_machine(triple, cpu, features)
    whole = native.llvm().parse_assembly(f'target triple = "{triple}"')
    wanted = set()
    for name, program in functions:
        wanted.add(name)
        for text in scalar_kernel(program, name, native.opaque_pointers()):
            # Functions called by several modules: the linker keeps one of each name.
            text = text.replace('define internal', 'define linkonce_odr')
            part = native.llvm().parse_assembly(f'target triple = "{triple}"\n{text}')
            whole.link_in(part)
    whole.data_layout = str(machine.target_data)
    for function in whole.functions:
        if not function.is_declaration and function.name not in wanted:
            function.linkage = 'internal'
    if triple.startswith('nvptx'):
        return bytes(machine.emit_assembly(whole), 'ascii')
    return bytes(machine.emit_object(whole))


def target_machine(triple: str, cpu: str, features: str) -> Any:
    """Return the code generator for a processor; raises `ArgumentError` for unknown ones."""
    llvm = native.llvm()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
        return target.create_target_machine(cpu=cpu, features=features, opt=2, reloc='pic')
    except RuntimeError as error:
        raise ArgumentError(
            f'no code can be generated for {triple!r} {cpu}: {error}; name a target as LLVM does, '
            'such as aarch64-linux-gnu, thumbv7em-none-eabihf or wasm32'
        ) from error
