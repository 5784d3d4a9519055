# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

r"""Compiled programs as handlers of XLA: programs of JAX call them without Python in between.

A handler is `XLA_FFI_Error* handler(XLA_FFI_CallFrame*)`. It finds the data of its arguments and
results in the frame, runs the machine code of a program on them, and returns no error. XLA also
asks it which version of the interface it was written for. The structures are in a header that comes
with JAX; where their elements stand is read from there.

>>> struct_offsets('struct S {\n  size_t n;\n  int kind;  // which\n  void* data;\n};', 'S')
{'n': 0, 'kind': 8, 'data': 16}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ...compile.kernels import NativeKernel
from ...compile.llvm import native
from ...compile.llvm.writer import AddressWriter
from ...errors import BackendError
from .functions import BatchProgram

#: Bytes of types other than pointers and structures; enumerations have four.
SIZES = {'size_t': 8, 'int64_t': 8, 'int': 4, 'uint32_t': 4}


@dataclass(frozen=True)
class Interface:
    """What a handler must know of XLA's interface: version, and places in structures [bytes]."""

    version: tuple[int, int]
    extension: int  # of a frame: not 0 if the frame is a question
    arguments: int  # of a frame: the address of addresses of buffers
    results: int
    data: int  # of a buffer
    metadata: int  # of an extension: address of what the answer is written to
    major: int  # of the metadata
    minor: int
    traits: int

    @classmethod
    def of(cls, header: str) -> Interface:
        """Read the text of c_api.h; raises `BackendError` if it is another one."""
        try:
            frame = struct_offsets(header, 'XLA_FFI_CallFrame')
            asked = struct_offsets(header, 'XLA_FFI_Metadata')
            version = struct_offsets(header, 'XLA_FFI_Api_Version')
            numbers = [
                int(re.search(rf'#define XLA_FFI_API_{part} (\d+)', header)[1])  # type: ignore[index]
                for part in ('MAJOR', 'MINOR')
            ]
            return cls(
                version=(numbers[0], numbers[1]),
                extension=frame['extension_start'],
                arguments=frame['args'] + struct_offsets(header, 'XLA_FFI_Args')['args'],
                results=frame['rets'] + struct_offsets(header, 'XLA_FFI_Rets')['rets'],
                data=struct_offsets(header, 'XLA_FFI_Buffer')['data'],
                metadata=struct_offsets(header, 'XLA_FFI_Metadata_Extension')['metadata'],
                major=asked['api_version'] + version['major_version'],
                minor=asked['api_version'] + version['minor_version'],
                traits=asked['traits'],
            )
        except (LookupError, TypeError) as error:
            raise BackendError(f'XLA has an unknown interface: {error}') from error


def struct_offsets(header: str, name: str) -> dict[str, int]:
    """Return where the elements of a structure stand [bytes]; raises `LookupError`."""
    return layout(header, name)[0]


def layout(header: str, name: str) -> tuple[dict[str, int], int, int]:
    """Return the places of the elements of a structure, its size and its alignment."""
    found = re.search(rf'struct {name} \{{(.*?)\n\}}', header, re.DOTALL)
    if found is None:
        raise LookupError(f'no structure {name}')
    offsets, end, widest = {}, 0, 1
    for line in re.sub(r'//[^\n]*', '', found[1]).split(';'):
        if line.strip():
            kind, element = re.fullmatch(r'\s*(.*?[\s*])\s*(\w+)\s*', line, re.DOTALL).groups()  # type: ignore[union-attr]
            size, alignment = size_of(header, kind.strip())
            offsets[element] = end = -(-end // alignment) * alignment
            end, widest = end + size, max(widest, alignment)
    return offsets, -(-end // widest) * widest, widest


def size_of(header: str, kind: str) -> tuple[int, int]:
    """Return size and alignment of a type [bytes]."""
    if kind.endswith('*'):
        return 8, 8
    if re.search(rf'\}} {kind};', header) and not re.search(rf'struct {kind} \{{', header):
        return 4, 4  # an enumeration
    known = SIZES.get(kind)
    if known is None:
        alias = re.search(rf'typedef (\w+) {kind};', header)
        if alias is None or alias[1] == 'struct':
            return layout(header, kind)[1:]
        return size_of(header, alias[1])
    return known, known


def handler_code(program: BatchProgram, samples: int, interface: Interface) -> native.Library:
    """Return machine code with a function `handler` for stacks of `samples`.

    The program, and with it the machine code it calls, must live as long as the handler is called.
    """
    kernel = program.kernel
    if not isinstance(kernel, NativeKernel):
        raise BackendError('only the native backend has machine code')
    w = AddressWriter(native.opaque_pointers())
    arrays = len(program.order) + len(program.shapes)
    addresses, steps = w.words(arrays), w.words(arrays)
    question = w.read('i64', '%frame', interface.extension)
    w.unless(w.compare('eq', question, 0), 'asked', 'called')
    places = data_addresses(w, program, interface)
    if samples == 1:
        w.call('void', kernel.sample_program.address, *(('i64', address) for address, _ in places))
    else:
        for k, (address, step) in enumerate(places):
            w.write(address, addresses, 8 * k)
            w.write(step, steps, 8 * k)
        tables = ('i64', addresses), ('i64', steps)
        w.call('void', kernel.stack_program.address, *tables, ('i64', 0), ('i64', samples))
    w.do('ret i64 0')
    w.label('asked')
    answer = w.read('i64', question, interface.metadata)
    numbers = zip((*interface.version, 0), (interface.major, interface.minor, interface.traits))
    for value, place in numbers:
        at = w(f'inttoptr i64 {w(f"add i64 {answer}, {place}")} to {w.pointer("i32")}')
        w.do(f'store i32 {value}, {w.pointer("i32")} {at}')
    w.do('ret i64 0')
    ir = '\n'.join([*w.link(), 'define i64 @handler(i64 %frame) {', *w.lines, '}'])
    return native.Library(native.machine_code(ir), w.addresses)


def data_addresses(
    w: AddressWriter, program: BatchProgram, interface: Interface
) -> list[tuple[str, int]]:
    """Return the addresses of the inputs and outputs of a kernel, and their bytes per sample."""
    arguments = w.read('i64', '%frame', interface.arguments)
    results = w.read('i64', '%frame', interface.results)

    def data(buffers: str, k: int) -> str:
        return w.read('i64', w.read('i64', buffers, 8 * k), interface.data)

    sizes: Mapping[str, int] = dict(program.kernel.specification.inputs)
    found = []
    for k, size in zip(program.order, sizes.values()):
        if k < 0:  # gravity, the same for all samples
            found.append((str(program.gravity.ctypes.data), 0))
        else:
            found.append((data(arguments, k), 8 * size))
    return found + [(data(results, k), 8 * prod(shape)) for k, shape in enumerate(program.shapes)]
