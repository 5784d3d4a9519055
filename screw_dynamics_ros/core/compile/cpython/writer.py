# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Writer of LLVM IR for entry points: C-like code on integers that are addresses of objects.

Tables of the addresses of compiled kernels, which entry points read at each call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ..llvm.writer import Writer
from .layout import (
    C_CONTIGUOUS_AND_ALIGNED,
    DATA,
    DESCR,
    DIMENSIONS,
    FLAGS,
    ND,
    TYPE,
    WRITEABLE,
    c_api,
)


class Addresses:
    """Addresses of the kernels of a function, by the values of its string options.

    `only` is for calls without options, `by_first[a]` for one option, `by_second[b][a]` for two.
    The last option can be omitted. Addresses can be added while entry points use the tables.

    Parameters
    ----------
    options : int
        Number of string options: 0, 1 or 2.
    default : str, optional
        Default of the last option.
    """

    def __init__(self, options: int = 0, default: str | None = None) -> None:
        self.options, self.default = options, default
        self.only = ctypes.c_int64(0)
        self.by_first: dict[str, int] = {}
        self.by_second: dict[str, dict[str, int]] = {}

    def add(self, options: tuple[str, ...], address: int) -> None:
        """Register the kernel for the values of the options."""
        for given in (options, options[:-1]) if options[-1:] == (self.default,) else (options,):
            if len(given) == 2:
                self.by_second.setdefault(given[1], {})[given[0]] = address
            elif len(given) == 1:
                self.by_first[given[0]] = address
            else:
                self.only.value = address

    def write_look_up(self, w: EntryWriter, first: int, otherwise: str, name: str) -> str:
        """Write the look-up of the address for the arguments, and return its name.

        `first` is the index of the first option, `name` the prefix of the basic blocks. The code
        branches to block `otherwise` without an address.
        """
        fewest = first + self.options - (self.default is not None)
        w.unless(w.compare('sge', '%nargs', fewest), otherwise, f'{name}_enough')
        w.unless(w.compare('sle', '%nargs', first + self.options), otherwise, f'{name}_few')
        found: list[str] = []
        for given in range(fewest - first, self.options + 1):
            here, after = f'{name}_{given}', f'{name}_not_{given}'
            w.unless(w.compare('eq', '%nargs', first + given), after, here)
            if given == 0:
                address = w.read('i64', w.outside(ctypes.addressof(self.only)))
            else:
                table = w.outside(id(self.by_first if given == 1 else self.by_second))
                for k in reversed(range(given)):
                    key = w.read('i64', '%args', 8 * (first + k))
                    table = w.call('i64', c_api()['PyDict_GetItem'], ('i64', table), ('i64', key))
                    w.unless(w.compare('ne', table, 0), otherwise, f'{here}_{k}')
                address = w.call('i64', c_api()['PyLong_AsVoidPtr'], ('i64', table))
            found.append(f'[{address}, %{w.block}]')
            w.go_to(f'{name}_found')
            w.label(after)
        w.go_to(otherwise)
        w.label(f'{name}_found')
        address = w(f'phi i64 {", ".join(found)}')
        w.unless(w.compare('ne', address, 0), otherwise, f'{name}_known')
        return address


Shape = tuple[int, ...]


def linked(names: Sequence[str], opaque_pointers: bool) -> list[str]:
    """Return IR of global variables, and of `link`, which `Library` calls with their values."""
    w = EntryWriter(opaque_pointers)
    for k, name in enumerate(names):
        address = w.read('i64', '%addresses', 8 * k)
        w.do(f'store i64 {address}, {w.pointer("i64")} @{name}')
    variables = [f'@{name} = internal global i64 0' for name in names]
    return [*variables, 'define void @link(i64 %addresses) {', *w.lines, '  ret void', '}']


class EntryWriter(Writer):
    """Writes C-like code on integers that are addresses, the same for typed and opaque pointers.

    Attributes
    ----------
    globals : list of str
        Lines before the function.
    addresses : list of int
        Those outside of the code, which `linked` code gets when it is loaded.
    block : str
        The current basic block.
    """

    def __init__(self, opaque_pointers: bool) -> None:
        super().__init__(opaque_pointers)
        self.globals: list[str] = []
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

    def element(self, address: str, index: str, size: int = 8) -> str:
        """Return the address of element `index` of an array with elements of `size` bytes."""
        return self(f'add i64 {address}, {self(f"mul i64 {index}, {size}")}')

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

    def select(self, condition: str, value: int | str, otherwise: int | str) -> str:
        """Return one of two 64-bit numbers."""
        return self(f'select i1 {condition}, i64 {value}, i64 {otherwise}')

    def compare(self, how: str, a: int | str, b: int | str) -> str:
        """Return the comparison `how` of two 64-bit numbers: eq, ne, slt, sle, sgt or sge."""
        return self(f'icmp {how} i64 {a}, {b}')

    @contextmanager
    def loop(self, name: str, count: int | str) -> Iterator[str]:
        """Write a loop from 0 to `count` - 1 around the `with` body; `name` prefixes its blocks."""
        before, k = self.block, f'%{name}'
        self.go_to(f'{name}_head')
        self.label(f'{name}_head')
        self.lines.append(f'  {k} = phi i64 [0, %{before}], [{k}_next, %{name}_end]')
        self.unless(self.compare('slt', k, count), f'{name}_done', f'{name}_body')
        yield k
        self.go_to(f'{name}_end')
        self.label(f'{name}_end')
        self.lines.append(f'  {k}_next = add i64 {k}, 1')
        self.go_to(f'{name}_head')
        self.label(f'{name}_done')

    def unless(self, condition: str, target: str, otherwise: str) -> None:
        """Branch to `target` unless `condition` holds; otherwise continue in a new block."""
        self.do(f'br i1 {condition}, label %{otherwise}, label %{target}')
        self.label(otherwise)

    def require_equal(self, type_: str, value: str, wanted: int | str, block: str) -> None:
        """Branch to `%other` unless `value` equals `wanted`."""
        self.unless(self(f'icmp eq {type_} {value}, {wanted}'), 'other', block)

    def require_floats(self, address: str, block: str, written: bool) -> None:
        """Branch to `%other` unless an object is a C-contiguous float64 array."""
        wanted = C_CONTIGUOUS_AND_ALIGNED | (WRITEABLE if written else 0)
        array, float64 = self.outside(id(np.ndarray)), self.outside(id(np.dtype(np.float64)))
        self.require_equal('i64', self.read('i64', address, TYPE), array, f'{block}_array')
        self.require_equal('i64', self.read('i64', address, DESCR), float64, f'{block}_float')
        flags = self(f'and i32 {self.read("i32", address, FLAGS)}, {wanted}')
        self.require_equal('i32', flags, wanted, f'{block}_plain')

    def data_of_array(self, address: str, shape: Shape, block: str, written: bool) -> str:
        """Return the data address of a float64 array of `shape`; branch to `%other` otherwise."""
        self.require_floats(address, block, written)
        self.require_equal('i32', self.read('i32', address, ND), len(shape), f'{block}_axes')
        for axis, size in enumerate(shape):
            dimensions = self.read('i64', address, DIMENSIONS)
            self.require_equal(
                'i64', self.read('i64', dimensions, 8 * axis), size, f'{block}_axis{axis}'
            )
        return self.read('i64', address, DATA)

    def empty(self, axes: int | str, dimensions: str) -> tuple[str, str]:
        """Allocate a float64 array; return its address, and whether that is not NULL."""
        float64 = self.outside(id(np.dtype(np.float64)))
        self.call('void', c_api()['Py_IncRef'], ('i64', float64))  # PyArray_Empty steals it
        array = self.call(
            'i64',
            c_api()['PyArray_Empty'],
            ('i32', axes),
            ('i64', dimensions),
            ('i64', float64),
            ('i32', 0),
        )
        return array, self.compare('ne', array, 0)

    def new_array(self, shape: Shape) -> tuple[str, str]:
        """Allocate a float64 array of constant shape; return as `empty` does."""
        dimensions = f'[{len(shape)} x i64]'
        name = f'@shape{len(self.globals)}'
        sizes = ', '.join(f'i64 {n}' for n in shape)
        self.globals.append(f'{name} = private constant {dimensions} [{sizes}]')
        return self.empty(len(shape), self(f'ptrtoint {self.pointer(dimensions)} {name} to i64'))

    def new_tuple(self, shapes: Sequence[Shape]) -> tuple[str, list[str]]:
        """Allocate a tuple of new arrays; return its address and those of the arrays.

        Branches to `%no_memory` without memory, or to `%no_array` if the tuple already exists.
        """
        api, arrays = c_api(), []
        result = self.call('i64', api['PyTuple_New'], ('i64', len(shapes)))
        self.unless(self(f'icmp ne i64 {result}, 0'), 'no_memory', 'tuple')
        for k, shape in enumerate(shapes):
            array, there = self.new_array(shape)
            self.unless(there, 'no_array', f'array{k}')
            self.call(
                'i32', api['PyTuple_SetItem'], ('i64', result), ('i64', k), ('i64', array)
            )  # steals the reference
            arrays.append(array)
        return result, arrays
