# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Records: objects whose attributes are in memory that compiled functions read and write.

>>> class Counter(Record):
...     count: int
...     limit: float
>>> counter = Counter()
>>> counter.count += 3
>>> counter.count, counter.limit
(3, 0.0)

In typed functions, `record.values[k]`, `len(record.values)` and `record.other is None` have the
same meaning in Python and in compiled code. Only Python sets arrays and records; elements and
numbers are set by both.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, ClassVar, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from ...errors import ArgumentError
from .external import address_of
from .functions import BOOL, BYTES, FLOAT, FLOATS, INT, INTS, TYPES, TypedFunctionError, ValueType

Self = TypeVar('Self', bound='Record')
WORD = 8  # bytes


class RecordField(NamedTuple):
    """The place of a field in the memory of a record [words], and its type.

    The length of arrays and of tuples is in the word after their address.
    """

    place: int
    type: ValueType


class Opaque:
    """An object that owns memory without fields of Python: structs and functions of C.

    Attributes
    ----------
    address : int
        Of the memory; it does not change.
    """

    address: int
    fields: ClassVar[Mapping[str, RecordField]] = {}
    value_type: ClassVar[ValueType]


Opaque.value_type = ValueType('Opaque', 'i64', fields=Opaque)


class AddressTable(Opaque):
    """The addresses of contiguous arrays, or of `Opaque` objects, which live as long as this."""

    def __init__(self, owners: Sequence[Any]) -> None:
        self._owners = tuple(owners)
        found = [each.address if isinstance(each, Opaque) else address(each) for each in owners]
        self._table = np.array([*found, 0], dtype=np.int64)
        self.address = self._table.ctypes.data


def address(array: Any) -> int:
    """Return the address of a contiguous array; raises `ArgumentError` for others."""
    if not array.flags.c_contiguous:
        raise ArgumentError(f'compiled code needs contiguous arrays, found strides {array.strides}')
    return address_of(array)


class Target(NamedTuple):
    """What a field refers to: as it was given, as it is read, and where it is."""

    given: Any
    value: Any
    address: int
    length: int = 0
    table: AddressTable | None = None


class Record(Opaque):
    """An object with fields in memory; all are 0, False or None at first.

    The annotations of a subclass are its fields: `int`, `float`, `bool`, `Ints`, `Floats`, `Bytes`,
    `Opaque`, records, tuples of records (`tuple[X, ...]`), and those that may be None (`X | None`).
    Other attributes have no annotation. An array or record is not copied; it lives as long as the
    field refers to it. Arrays are read as vectors, in row-major order.

    Raises
    ------
    TypedFunctionError
        An annotation is no type of fields.
    ArgumentError
        When a field is set: an array of another type, or whose memory is not contiguous; a record
        of another class.
    """

    _size: ClassVar[int] = 0
    #: Words of memory at least: a struct of C may be longer than the fields that are known.
    reserved: ClassVar[int] = 1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        hints, fields, size = get_type_hints(cls), dict(cls.fields), cls._size
        for name in inspect.get_annotations(cls):
            if get_origin(hints[name]) is ClassVar:
                continue
            type_ = type_of_field(cls, name, hints[name])
            fields[name] = RecordField(size, type_)
            size += 2 if type_.element else 1
            setattr(cls, name, ACCESS.get(type_, Pointer)(fields[name]))
        cls.fields, cls._size = fields, size
        cls.value_type = ValueType(cls.__qualname__, 'i64', fields=cls)

    def __new__(cls: type[Self], *_: Any, **__: Any) -> Self:
        """Return a record whose fields are 0, False or None."""
        record = super().__new__(cls)
        record._allocate(np.zeros(max(cls._size, cls.reserved), dtype=np.int64))
        record._targets = {}
        return record

    def _allocate(self, memory: Any) -> None:
        self._memory = memory
        self.address = memory.ctypes.data
        # Elements of memory views are numbers of Python, those of arrays are slow.
        self._words: Any = memory.data
        self._reals: Any = memory.view(np.float64).data

    _targets: dict[int, Target]

    def element(self, name: str, word: int = 0) -> Any:
        """Return the memory of a number as an array (1,): int64, of floats float64.

        Arrays have two words, address and length.
        """
        place, type_ = self.fields[name]
        place += word
        memory = self._memory[place : place + 1]
        return memory.view(np.float64) if type_ is FLOAT else memory

    def __copy__(self: Self) -> Self:
        """Return a record with the same numbers that refers to the same arrays and records."""
        record = type(self).__new__(type(self))
        record.__dict__.update(self.__dict__)
        record._allocate(self._memory.copy())
        record._targets = self._targets.copy()
        return record


def type_of_field(owner: type, name: str, hint: Any) -> ValueType:
    """Return the type of a field; raises `TypedFunctionError`."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = set(get_args(hint)) - {type(None)}
    arguments = get_args(hint)
    if get_origin(hint) is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        record = getattr(arguments[0], 'value_type', None)
        if record is not None:
            return ValueType(f'tuple of {record.name}', 'i64', record, WORD)
    elif isinstance(getattr(hint, 'value_type', None), ValueType):
        return hint.value_type
    elif hint in TYPES and hint is not type(None):
        return TYPES[hint]
    raise TypedFunctionError(f'{owner.__qualname__}.{name}: fields have no type {hint!r}')


class Word:
    """An integer field."""

    def __init__(self, field: RecordField) -> None:
        self._place = field.place

    def __get__(self, record: Any, kind: type) -> Any:
        return record._words[self._place]

    def __set__(self, record: Any, value: Any) -> None:
        record._words[self._place] = value


class Flag(Word):
    """A boolean field."""

    def __get__(self, record: Any, kind: type) -> Any:
        return record._words[self._place] != 0

    def __set__(self, record: Any, value: Any) -> None:
        record._words[self._place] = bool(value)


class Real(Word):
    """A float field."""

    def __get__(self, record: Any, kind: type) -> Any:
        return record._reals[self._place]

    def __set__(self, record: Any, value: Any) -> None:
        record._reals[self._place] = value


class Pointer:
    """A field that refers to an array, a record or a tuple of records."""

    def __init__(self, field: RecordField) -> None:
        self._place, self._type = field

    def __get__(self, record: Any, kind: type) -> Any:
        target = record._targets.get(self._place)
        return None if target is None else target.value

    def __set__(self, record: Any, value: Any) -> None:
        words, place, element = record._words, self._place, self._type.element
        before = record._targets.get(place)
        if before is not None and value is before.given:
            return
        target = self._target(value)
        # The last target lives until its address is replaced.
        words[place] = target.address
        if element is not None:
            words[place + 1] = target.length
        record._targets[place] = target

    def _target(self, value: Any) -> Target:
        element = self._type.element
        if value is None:
            return Target(None, None, 0)
        if element is None:
            check_kind(value, self._type)
            return Target(value, value, value.address)
        if element.fields is None:
            vector = self._vector(value)
            return Target(value, vector, vector.ctypes.data, len(vector))
        owners = tuple(value)
        for each in owners:
            check_kind(each, element)
        table = AddressTable(owners)
        return Target(owners, owners, table.address, len(owners), table)

    def _vector(self, array: Any) -> Any:
        dtype = DTYPES[self._type]
        if array.dtype != dtype or not array.flags.c_contiguous:
            raise ArgumentError(
                f'a field needs a contiguous array of {np.dtype(dtype)}, found {array.dtype} '
                f'with strides {array.strides}'
            )
        return array if array.ndim == 1 else array.reshape(-1)


def check_kind(value: Any, type_: ValueType) -> None:
    """Refuse an object of another class, whose memory has other fields: `ArgumentError`."""
    if not isinstance(value, type_.fields):
        raise ArgumentError(f'a field needs {type_.name}, found {type(value).__qualname__}')


ACCESS: Mapping[ValueType, Any] = {INT: Word, BOOL: Flag, FLOAT: Real}
DTYPES: Mapping[ValueType, Any] = {INTS: np.int64, FLOATS: np.float64, BYTES: np.uint8}
