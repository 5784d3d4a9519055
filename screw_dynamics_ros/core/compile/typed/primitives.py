# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Functions of Python that typed functions may call, in IR."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from . import external, memory, operations
from .external import External
from .functions import BOOL, BYTES, FLOAT, FLOATS, INT, INTS, ValueType
from .writer import NO_VALUE, TypedWriter, Value, literal

Arguments = Sequence[Value]


class Primitive(NamedTuple):
    """A function that the compiler knows.

    `write` returns None if it does not take values of these types, which `arguments` has, unless
    they vary.
    """

    write: Callable[[Any, Arguments], Value | None]
    arguments: tuple[ValueType, ...] | None = None


def _extreme(name: str, w: TypedWriter, values: Arguments) -> Value | None:
    """Return the minimum or maximum: the first value, replaced by each later one that is `name`."""
    if len(values) < 2 or len({value.type for value in values}) > 1:
        return None
    if values[0].type not in (INT, FLOAT):
        return None
    result = values[0]
    for value in values[1:]:
        relation = f'{"o" if value.type is FLOAT else "s"}{name}'
        result = w.chosen(w.relation(relation, value, result), value, result)
    return result


def _absolute(w: TypedWriter, values: Arguments) -> Value | None:
    is_number = len(values) == 1 and values[0].type in (INT, FLOAT)
    return operations.absolute(w, values[0]) if is_number else None


def _int(w: TypedWriter, values: Arguments) -> Value | None:
    if len(values) != 1:
        return None
    (value,) = values
    if value.type is FLOAT:
        return operations.to_int(w, value)
    if value.type is BOOL:
        return w.converted('zext', value, INT)
    return value._replace(constant=None) if value.type is INT else None


def _float(w: TypedWriter, values: Arguments) -> Value | None:
    if len(values) != 1:
        return None
    (value,) = values
    if value.type is INT:
        return w.converted('sitofp', value, FLOAT)
    return value if value.type is FLOAT else None


def _bool(w: TypedWriter, values: Arguments) -> Value | None:
    if len(values) != 1:
        return None
    (value,) = values
    if value.type is INT:
        return w.relation('ne', value, literal(0))
    if value.type is FLOAT:
        return w.relation('une', value, literal(0.0))
    return value if value.type is BOOL else None


def _is_infinite(w: TypedWriter, values: Arguments) -> Value:
    return w.relation('oeq', operations.absolute(w, values[0]), literal(math.inf))


def _is_finite(w: TypedWriter, values: Arguments) -> Value:
    return w.relation('olt', operations.absolute(w, values[0]), literal(math.inf))


def _intrinsic(name: str, w: TypedWriter, values: Arguments) -> Value:
    arguments = ', '.join(value.ir for value in values)
    return w.value(FLOAT, f'call double @llvm.{name}.f64({arguments})')


def _c_function(function: External, w: TypedWriter, values: Arguments) -> Value:
    """Call a function of the C library, which Python calls, too."""
    return w.c_call(function.signature, w.external(function), values)


def _rounded(function: External, w: TypedWriter, values: Arguments) -> Value:
    return operations.to_int(w, _c_function(function, w, values))


def _read(stored: str, result: ValueType, how: str, w: TypedWriter, values: Arguments) -> Value:
    data, offset = values
    text = w.load_at(stored, w.element_address(data, offset).text)
    return w.value(INT, f'{how} {stored} {text} to i64') if how else Value(result, text)


def _write(stored: str, w: TypedWriter, values: Arguments) -> Value:
    data, offset, value = values
    text = w(f'trunc i64 {value.text} to i32') if stored == 'i32' else value.text
    w.store_at(stored, text, w.element_address(data, offset).text)
    return NO_VALUE


def _copy(w: TypedWriter, values: Arguments) -> Value | None:
    if [bool(value.type.element) for value in values] != [True, True, False]:
        return None
    if values[2].type is not INT:
        return None
    _c_function(MEMMOVE, w, values)
    return NO_VALUE


def _address(w: TypedWriter, values: Arguments) -> Value | None:
    is_array = len(values) == 1 and values[0].type.element is not None
    return Value(INT, values[0].text) if is_array else None


def _at(type_: ValueType, w: TypedWriter, values: Arguments) -> Value:
    return Value(type_, values[0].text)


def _local(w: TypedWriter, values: Arguments) -> Value | None:
    count = values[0].constant
    return None if count is None else Value(INTS, w.local_words(int(count)))


MEMMOVE = External('memmove', ('address', 'address', 'i64'), 'address')
_REAL, _BYTE_AND_OFFSET = (FLOAT,), (BYTES, INT)


def _real(name: str, count: int = 1) -> External:
    return External(name, ('double',) * count, 'double')


PRIMITIVES: dict[Any, Primitive] = {
    abs: Primitive(_absolute),
    min: Primitive(partial(_extreme, 'lt')),
    max: Primitive(partial(_extreme, 'gt')),
    int: Primitive(_int),
    float: Primitive(_float),
    bool: Primitive(_bool),
    round: Primitive(partial(_rounded, _real('rint')), _REAL),
    math.floor: Primitive(partial(_rounded, _real('floor')), _REAL),
    math.cos: Primitive(partial(_c_function, _real('cos')), _REAL),
    math.sin: Primitive(partial(_c_function, _real('sin')), _REAL),
    math.exp: Primitive(partial(_c_function, _real('exp')), _REAL),
    math.expm1: Primitive(partial(_c_function, _real('expm1')), _REAL),
    math.atan2: Primitive(partial(_c_function, _real('atan2', 2)), (FLOAT, FLOAT)),
    math.sqrt: Primitive(partial(_intrinsic, 'sqrt'), _REAL),
    math.copysign: Primitive(partial(_intrinsic, 'copysign'), (FLOAT, FLOAT)),
    math.isnan: Primitive(lambda w, values: w.relation('uno', values[0], values[0]), _REAL),
    math.isinf: Primitive(_is_infinite, _REAL),
    math.isfinite: Primitive(_is_finite, _REAL),
    memory.read_u32: Primitive(partial(_read, 'i32', INT, 'zext'), _BYTE_AND_OFFSET),
    memory.read_i32: Primitive(partial(_read, 'i32', INT, 'sext'), _BYTE_AND_OFFSET),
    memory.read_i64: Primitive(partial(_read, 'i64', INT, ''), _BYTE_AND_OFFSET),
    memory.read_f64: Primitive(partial(_read, 'double', FLOAT, ''), _BYTE_AND_OFFSET),
    memory.write_u32: Primitive(partial(_write, 'i32'), (BYTES, INT, INT)),
    memory.write_i64: Primitive(partial(_write, 'i64'), (BYTES, INT, INT)),
    memory.write_f64: Primitive(partial(_write, 'double'), (BYTES, INT, FLOAT)),
    memory.copy_bytes: Primitive(_copy),
    memory.ints_at: Primitive(partial(_at, INTS), (INT,)),
    memory.floats_at: Primitive(partial(_at, FLOATS), (INT,)),
    memory.bytes_at: Primitive(partial(_at, BYTES), (INT,)),
    memory.local_ints: Primitive(_local, (INT,)),
    external.address_of: Primitive(_address),
}
