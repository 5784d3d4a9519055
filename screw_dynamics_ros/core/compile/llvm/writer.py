# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Text of LLVM IR: types, constants, and a writer for the lines of a function."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def constant(value: float, lanes: int = 1) -> str:
    """Return a double, or a vector of `lanes` equal doubles, as an IR constant."""
    bits = f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'
    return bits if lanes == 1 else '<' + ', '.join([f'double {bits}'] * lanes) + '>'


def vector_type(lanes: int, element: str = 'double') -> str:
    """Return the IR type of `lanes` elements; a plain element for one lane."""
    return element if lanes == 1 else f'<{lanes} x {element}>'


#: The window of `DividedProgram` for AVX-512, whose distances are in units of vectors.
VECTOR_WINDOW = 256 * 8
NONTEMPORAL = '!0 = !{i32 1}'


class Writer:
    """Lines of one IR function, with fresh names for intermediate values.

    Attributes
    ----------
    lines : list of str
    bases : set of str
        The pointers from which addresses were computed.
    window : int
        Doubles within the reach of a short displacement, or 0. If it is not 0, addresses are
        computed from nearby pointers, which makes instructions three bytes shorter. The speed of
        long programs is limited by instruction fetch.
    prefix : str
        Prefix of fresh names, because several writers can contribute to one function.
    """

    def __init__(self, opaque_pointers: bool, window: int = 0, prefix: str = 't') -> None:
        self.lines: list[str] = []
        self.bases: set[str] = set()
        self.opaque, self.window = opaque_pointers, window
        self._prefix, self._count = prefix, 0
        self._windows: dict[tuple[str, int], str] = {}

    def pointer(self, pointee: str) -> str:
        """Return the type of a pointer to `pointee`."""
        return 'ptr' if self.opaque else f'{pointee}*'

    def __call__(self, expression: str) -> str:
        """Append `%name = expression` and return the name."""
        self._count += 1
        name = f'%{self._prefix}{self._count}'
        self.lines.append(f'  {name} = {expression}')
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f'  {instruction}')

    def address(self, base: str, index: int | str) -> str:
        """Return the address of the double at `base` + `index`."""
        self.bases.add(base)
        if self.window and isinstance(index, int):
            number = (index + self.window // 2) // self.window
            index -= number * self.window
            base = self._window(base, number) if number else base
        return self(f'getelementptr double, {self.pointer("double")} {base}, i64 {index}')

    def _window(self, base: str, number: int) -> str:
        """Return a pointer to the middle of a window, hidden from the compiler's arithmetic."""
        if (base, number) not in self._windows:
            P, middle = self.pointer('double'), number * self.window
            address = self(f'getelementptr double, {P} {base}, i64 {middle}')
            self._windows[base, number] = self(f'call {P} asm "", "=r,0"({P} {address})')
        return self._windows[base, number]

    def vector_address(self, base: str, index: int | str, lanes: int) -> str:
        """Return the address of the double at `base` + `index`, as that of a vector."""
        address = self.address(base, index)
        if lanes == 1 or self.opaque:
            return address
        return self(f'bitcast double* {address} to {vector_type(lanes)}*')

    def load(self, base: str, index: int | str, lanes: int = 1) -> str:
        """Return the double, or the `lanes` doubles, at `base` + `index`."""
        type_ = vector_type(lanes)
        address = self.vector_address(base, index, lanes)
        return self(f'load {type_}, {self.pointer(type_)} {address}, align 8')

    def load_pointer(self, base: str, index: int) -> str:
        """Return pointer number `index` of those stored at `base`."""
        address, P = self.address(base, index), self.pointer('double')
        if not self.opaque:
            address = self(f'bitcast double* {address} to double**')
        return self(f'load {P}, {self.pointer(P)} {address}, align 8')

    def store(
        self, value: str, base: str, index: int | str, lanes: int = 1, nontemporal: bool = False
    ) -> None:
        """Store a double, or `lanes` doubles, at `base` + `index`.

        If `nontemporal`, the address must be a multiple of the size, and the module needs the
        metadata `NONTEMPORAL`.
        """
        type_ = vector_type(lanes)
        address = self.vector_address(base, index, lanes)
        how = f'align {8 * lanes}, !nontemporal !0' if nontemporal else 'align 8'
        self.do(f'store {type_} {value}, {self.pointer(type_)} {address}, {how}')

    def clear(self, base: str, size: int) -> None:
        """Set `size` doubles at `base` to zero; the module needs `declarations`."""
        byte = base if self.opaque else self(f'bitcast double* {base} to i8*')
        P, name = self._memset
        self.do(f'call void @{name}({P} {byte}, i8 0, i64 {8 * size}, i1 false)')

    def copy(self, table: str, base: str, index: int, size: int) -> None:
        """Copy a global table of `size` doubles to `base` + `index`; see `declarations`."""
        source, target = table, self.address(base, index)
        if not self.opaque:
            source = self(f'bitcast [{size} x double]* {table} to i8*')
            target = self(f'bitcast double* {target} to i8*')
        P, name = self._memcpy
        self.do(f'call void @{name}({P} {target}, {P} {source}, i64 {8 * size}, i1 false)')

    def declarations(self) -> dict[str, str]:
        """Return the declarations of the functions that `clear` and `copy` call, by their names."""
        (P, clear), (_, copy) = self._memset, self._memcpy
        return {
            f'@{clear}': f'declare void @{clear}({P}, i8, i64, i1)',
            f'@{copy}': f'declare void @{copy}({P}, {P}, i64, i1)',
        }

    @property
    def _memset(self) -> tuple[str, str]:
        """The type of a pointer to bytes, and the name of the intrinsic."""
        return ('ptr', 'llvm.memset.p0.i64') if self.opaque else ('i8*', 'llvm.memset.p0i8.i64')

    @property
    def _memcpy(self) -> tuple[str, str]:
        """As `_memset`."""
        name = 'llvm.memcpy.p0.p0.i64' if self.opaque else 'llvm.memcpy.p0i8.p0i8.i64'
        return self._memset[0], name

    def splat(self, value: str, lanes: int) -> str:
        """Return a vector with a double in all lanes."""
        one = self(f'insertelement <{lanes} x double> undef, double {value}, i32 0')
        return self.shuffle(one, one, lanes, [0] * lanes)

    def shuffle(self, a: str, b: str, width: int, mask: Sequence[int]) -> str:
        """Return elements `mask` of the concatenation of two vectors of `width`."""
        indices = ', '.join(f'i32 {k}' for k in mask)
        type_ = f'<{width} x double>'
        return self(f'shufflevector {type_} {a}, {type_} {b}, <{len(mask)} x i32> <{indices}>')


def linked(names: Sequence[str], opaque_pointers: bool) -> list[str]:
    """Return IR of global variables, and of `link`, which `Library` calls with their values."""
    w = AddressWriter(opaque_pointers)
    for k, name in enumerate(names):
        address = w.read('i64', '%addresses', 8 * k)
        w.do(f'store i64 {address}, {w.pointer("i64")} @{name}')
    variables = [f'@{name} = internal global i64 0' for name in names]
    return [*variables, 'define void @link(i64 %addresses) {', *w.lines, '  ret void', '}']


class AddressWriter(Writer):
    """Writes C-like code on integers that are addresses, the same for typed and opaque pointers.

    Attributes
    ----------
    addresses : list of int
        Those outside of the code, which `linked` code gets when it is loaded.
    block : str
        The current basic block.
    """

    def __init__(self, opaque_pointers: bool) -> None:
        super().__init__(opaque_pointers)
        self.addresses: list[int] = []
        self.block = 'entry'

    def outside(self, address: int) -> str:
        """Return an address that differs from process to process."""
        if address not in self.addresses:
            self.addresses.append(address)
        number = self.addresses.index(address)
        return self(f'load i64, {self.pointer("i64")} @outside_{number}')

    def link(self) -> list[str]:
        """Return IR of `link`, which stores `addresses`."""
        return linked([f'outside_{k}' for k in range(len(self.addresses))], self.opaque)

    def words(self, count: int) -> str:
        """Return the address of memory for `count` 64-bit numbers; to be called first."""
        return self(f'ptrtoint {self.pointer("i64")} {self(f"alloca i64, i64 {count}")} to i64')

    def read(self, type_: str, address: str, offset: int = 0) -> str:
        """Return the value of `type_` stored `offset` bytes after an address."""
        at = self(f'add i64 {address}, {offset}')
        pointer = self(f'inttoptr i64 {at} to {self.pointer(type_)}')
        return self(f'load {type_}, {self.pointer(type_)} {pointer}')

    def write(self, value: int | str, address: str, offset: int = 0) -> None:
        """Store a 64-bit number `offset` bytes after an address."""
        at = self(f'add i64 {address}, {offset}')
        pointer = self(f'inttoptr i64 {at} to {self.pointer("i64")}')
        self.do(f'store i64 {value}, {self.pointer("i64")} {pointer}')

    def call(self, result: str, address: int | str, *arguments: tuple[str, int | str]) -> str:
        """Call the function at an address with (type, value) arguments; return the result."""
        address = self.outside(address) if isinstance(address, int) else address
        types = ', '.join(type_ for type_, _ in arguments)
        function = self(f'inttoptr i64 {address} to {self.pointer(f"{result} ({types})")}')
        text = f'call {result} {function}({", ".join(f"{t} {v}" for t, v in arguments)})'
        if result == 'void':
            self.do(text)
            return ''
        return self(text)

    def label(self, name: str) -> None:
        """Start a basic block."""
        self.lines.append(f'{name}:')
        self.block = name

    def go_to(self, block: str) -> None:
        """Continue in another block."""
        self.do(f'br label %{block}')

    def compare(self, how: str, a: int | str, b: int | str) -> str:
        """Return the comparison `how` of two 64-bit numbers: eq, ne, slt, sle, sgt or sge."""
        return self(f'icmp {how} i64 {a}, {b}')

    def unless(self, condition: str, target: str, otherwise: str) -> None:
        """Branch to `target` unless `condition` holds; otherwise continue in a new block."""
        self.do(f'br i1 {condition}, label %{otherwise}, label %{target}')
        self.label(otherwise)
