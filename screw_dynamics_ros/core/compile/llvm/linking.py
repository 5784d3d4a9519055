# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Object files (ELF for x86-64) linked into memory of this process, without LLVM.

A process whose programs are all in the disk cache never loads LLVM. Code and constants come first
in memory, and cannot be written when functions are called; variables follow, then the addresses of
all symbols, which are the global offset table.

Source: System V Application Binary Interface, AMD64 supplement, 4.4 (relocation).
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BackendError
from ..typed.external import address_in_process

# Elf64_Shdr, Elf64_Sym and Elf64_Rela.
SECTION = np.dtype('<u4,<u4,<u8,<u8,<u8,<u8,<u4,<u4,<u8,<u8')
SECTION.names = 'name', 'kind', 'flags', 'start', 'offset', 'size', 'link', 'info', 'align', 'width'
SYMBOL = np.dtype('<u4,u1,u1,<u2,<i8,<u8')
SYMBOL.names = 'name', 'info', 'other', 'section', 'value', 'size'
RELOCATION = np.dtype('<i8,<u4,<u4,<i8')
RELOCATION.names = 'offset', 'kind', 'symbol', 'addend'
MACHINE = b'\x7fELF\x02', (1).to_bytes(2, 'little') + (62).to_bytes(2, 'little')
SYMBOLS, RELOCATIONS, EMPTY = 2, 4, 8  # kinds of sections
WRITABLE, ALLOCATED = 1, 2  # flags of sections
# Kinds of relocations: to an address, relative to the place, and to a slot of the offset table.
ABSOLUTE, RELATIVE, SLOT = (1,), (2, 4), (9, 41, 42)


class ObjectFile:
    """The sections and symbols of an object file; `where` has addresses of loaded sections."""

    def __init__(self, data: bytes) -> None:
        if (data[:5], data[16:20]) != MACHINE:
            raise BackendError('the machine code is no object file for x86-64; clear the cache')
        self.data = data
        start = int.from_bytes(data[40:48], 'little')
        count = int.from_bytes(data[60:62], 'little')
        self.sections = np.frombuffer(data, SECTION, count, start)
        self.where = np.zeros(count, np.int64)
        (table,) = self.sections[self.sections['kind'] == SYMBOLS]
        self.symbols = self.entries(table, SYMBOL)
        start = int(self.sections['offset'][table['link']])
        names = (start + int(name) for name in self.symbols['name'])
        self.names = [data[name : data.index(b'\0', name)].decode() for name in names]

    def entries(self, section: Any, kind: np.dtype[Any]) -> NDArray[Any]:
        """Return the entries of a section."""
        start = int(section['offset'])
        return np.frombuffer(self.data[start : start + int(section['size'])], kind)

    def loaded(self, writable: bool) -> list[int]:
        """Return the indices of sections that are loaded, those for variables or all others."""
        flags = self.sections['flags'] & (ALLOCATED | WRITABLE)
        wanted = ALLOCATED | (WRITABLE if writable else 0)
        return [int(k) for k in np.flatnonzero(flags == wanted)]


class LinkedCode:
    """Functions of object files, loaded during the lifetime of this object.

    Attributes
    ----------
    addresses : dict
        Address of each global symbol.

    Raises
    ------
    ArgumentError
        A function is neither in the files nor in the libraries of the process.
    BackendError
        For files of other processors, unknown relocations, or where memory cannot be executed.
    """

    def __init__(self, codes: Sequence[bytes]) -> None:
        objects = [ObjectFile(code) for code in codes]
        end, ends = 0, []
        for writable in (False, True):
            for each in objects:
                for k in each.loaded(writable):
                    align = max(int(each.sections['align'][k]), 1)
                    each.where[k] = -(-end // align) * align
                    end = int(each.where[k]) + int(each.sections['size'][k])
            end = -(-end // mmap.PAGESIZE) * mmap.PAGESIZE
            ends.append(end)
        count = sum(len(each.symbols) for each in objects)
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._memory = np.frombuffer(mmap.mmap(-1, end + 8 * count, private), np.uint8)
        start = self._memory.ctypes.data
        self.addresses: dict[str, int] = {}
        for each in objects:
            for k in (*each.loaded(False), *each.loaded(True)):
                place, section = int(each.where[k]), each.sections[k]
                if section['kind'] != EMPTY:
                    content = each.entries(section, np.dtype(np.uint8))
                    self._memory[place : place + len(content)] = content
                each.where[k] += start
            for name, symbol in zip(each.names, each.symbols):
                if symbol['info'] >> 4 and 0 < symbol['section'] < len(each.where):
                    self.addresses[name] = int(each.where[symbol['section']] + symbol['value'])
        table = self._memory[end:].view(np.int64)
        for each in objects:
            slots, table = table[: len(each.symbols)], table[len(each.symbols) :]
            slots[:] = [self._value(*both, each) for both in zip(each.names, each.symbols)]
            for section in each.sections[each.sections['kind'] == RELOCATIONS]:
                if each.where[section['info']]:
                    place = int(each.where[section['info']])
                    self._relocate(each.entries(section, RELOCATION), place, slots)
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if protect(start, ends[0], mmap.PROT_READ | mmap.PROT_EXEC):
            raise BackendError(
                f'this system does not run machine code from memory '
                f'({os.strerror(ctypes.get_errno())}); use backend="python"'
            )

    def _value(self, name: str, symbol: Any, owner: ObjectFile) -> int:
        """Return the address of a symbol, also of the libraries of the process; 0 for files."""
        if symbol['section']:
            known = symbol['section'] < len(owner.where)
            return int(owner.where[symbol['section']] + symbol['value']) if known else 0
        return self.addresses.get(name) or (address_in_process(name) if name else 0)

    def _relocate(self, entries: NDArray[Any], start: int, slots: NDArray[np.int64]) -> None:
        """Write the addresses that a section at `start` refers to."""
        kinds, symbols = entries['kind'], entries['symbol']
        unknown = set(kinds.tolist()) - {*ABSOLUTE, *RELATIVE, *SLOT}
        if unknown:
            raise BackendError(f'unknown relocations of machine code: {sorted(unknown)}')
        places = start + entries['offset']
        targets = np.where(
            np.isin(kinds, SLOT), slots.ctypes.data + 8 * symbols.astype(np.int64), slots[symbols]
        )
        values = targets + entries['addend']
        whole = np.isin(kinds, ABSOLUTE)
        offsets = places - self._memory.ctypes.data
        near = (values - places)[~whole]
        if np.any(np.abs(near) >= 2**31):
            raise BackendError('machine code refers to an address more than 2 GB away')
        for target, numbers in (
            (offsets[whole], values[whole]),
            (offsets[~whole], near.astype('<i4')),
        ):
            width = np.arange(numbers.itemsize)
            self._memory[target[:, None] + width] = numbers.view(np.uint8).reshape(-1, len(width))
