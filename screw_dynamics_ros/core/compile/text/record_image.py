# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Records as one struct of C, for typed functions printed as C."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...types import Array
from ..typed.functions import BOOL, FLOAT, INT
from ..typed.records import WORD, Record, address
from .c_source import in_comment
from .typed_c import operand

START = """
static void {name}_set({name}_memory *memory, int64_t word, int64_t value)
{{
  memcpy((char *)memory + 8 * word, &value, sizeof value);
}}

void {name}_start({name}_memory *memory)
{{
  /* words, their values, and 1 if these are places in the memory */
  static const int64_t words[][3] = {{{rows}
  }};
  unsigned k;
  memset(memory, 0, sizeof *memory);
  for (k = 0; k < sizeof words / sizeof *words; k++)
    {name}_set(memory, words[k][0], words[k][1] + words[k][2] * (int64_t)(intptr_t)memory);
}}
"""


class RecordImage:
    """The struct `name`_memory of records and all that they refer to, in words of 8 bytes.

    Parameters
    ----------
    name : str
    opaque : collection of classes
        Records whose fields have no names in C.

    Attributes
    ----------
    pointers : list of pairs
        Words for the addresses of arrays outside, and the names of these arrays.
    """

    def __init__(self, name: str, opaque: Collection[type] = ()) -> None:
        self._name, self._opaque = name, opaque
        self._members: list[str] = []
        self._words: list[int] = []
        self._addresses: set[int] = set()
        self._places: dict[tuple[int, int], int | str] = {}  # of arrays also names, if outside
        self._kept: list[Any] = []  # addresses remain theirs
        self._described: set[type] = set()
        self.pointers: list[tuple[int, str]] = []

    def leave_out(self, name: str, array: Array) -> None:
        """Let the caller of the C function have this array."""
        self._kept.append(array)
        self._places[address(array), array.size] = name

    def add(self, name: str, record: Record) -> int:
        """Add a record under a name, unless it is there; return its first word.

        Raises `ArgumentError` if it refers to functions.
        """
        key = record.address, 0
        if key in self._places:
            return int(self._places[key])
        place = self._append(key, record, record._memory)
        self._members += self._fields(name, record)
        for field, (at, _) in record.fields.items():
            target = record._targets.get(at)
            if target is not None:
                self._words[place + at] = 0
                if target.value is not None:
                    self._refer(place + at, f'{name}_{field}', target.value)
        return place

    def _fields(self, name: str, record: Record) -> Iterator[str]:
        """Yield a comment and the members of a record."""
        kind = type(record)
        if kind in self._opaque:
            yield f'int64_t {name}[{len(record._memory)}];'
            return
        yield f'/* {name}: {kind.__name__}'
        for each in reversed(kind.__mro__):
            if each in self._described or not issubclass(each, Record) or each is Record:
                continue
            self._described.add(each)
            text = (inspect.getdoc(each) or '').partition('Attributes\n----------\n')[2]
            yield from (f' * {in_comment(line)}' for line in text.partition('\n\n')[0].splitlines())
        yield ' */'
        for field, (_, type_) in record.fields.items():
            if type_ in (INT, BOOL, FLOAT):
                yield f'{"double" if type_ is FLOAT else "int64_t"} {name}_{field};'
            else:
                yield f'int64_t at_{name}_{field}{"[2]" if type_.element else ""};'

    def _append(self, key: tuple[int, int], owner: Any, memory: Any) -> int:
        """Append words; return the first one."""
        place = self._places[key] = len(self._words)
        self._kept.append(owner)
        self._words += memory.tolist()
        return place

    def _refer(self, word: int, name: str, value: Any) -> None:
        """Let a word be the address of a record, of an array, or of a tuple of records."""
        if isinstance(value, Record):
            target: int | str = self.add(name, value)
        elif isinstance(value, tuple):
            target = self._append((id(value), -1), value, np.zeros(len(value), dtype=np.int64))
            self._members += [f'int64_t {name}[{len(value)}];'] if value else []
            for k, each in enumerate(value):
                self._refer(target + k, f'{name}_{k}', each)
        elif isinstance(value, np.ndarray):
            key = address(value), value.size
            target = self._places[key] if key in self._places else self._array(key, name, value)
        else:
            raise ArgumentError(f'{name}: {type(value).__name__} has no form in C')
        if isinstance(target, str):
            self.pointers.append((word, target))
        else:
            self._words[word] = WORD * target
            self._addresses.add(word)

    def _array(self, key: tuple[int, int], name: str, array: Array) -> int:
        """Append an array; bytes are filled up to whole words."""
        data = array.tobytes() + bytes(-array.nbytes % WORD)
        type_ = 'double' if array.dtype == np.float64 else 'int64_t'
        self._members += [f'{type_} {name}[{len(data) // WORD}];'] if data else []
        return self._append(key, array, np.frombuffer(data, dtype=np.int64))

    @property
    def type(self) -> str:
        """The definition of the struct."""
        return '\n  '.join(['typedef struct {', *self._members]) + f'\n}} {self._name}_memory;'

    @property
    def start(self) -> str:
        """The function `name`_start, which sets the memory as the records are now."""
        rows = [
            f'\n    {{{word}, {operand(str(value))}, {int(word in self._addresses)}}},'
            for word, value in enumerate(self._words)
            if value or word in self._addresses
        ]
        return START.format(name=self._name, rows=''.join(rows))
