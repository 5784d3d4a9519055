# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Writer of LLVM IR with values that have types, and with blocks that merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..llvm.writer import AddressWriter, constant
from .external import External, Signature
from .functions import BOOL, FLOAT, INT, NOTHING, ValueType

#: Types of C in IR.
IR_TYPES = {'i32': 'i32', 'i64': 'i64', 'address': 'i64', 'double': 'double', 'void': 'void'}


def external_name(name: str) -> str:
    """Return the global variable with the address of a C function."""
    return f'"address of {name}"'


class Value(NamedTuple):
    """A value in IR, with its type; `constant` is set for numbers of the source."""

    type: ValueType
    text: str
    constant: int | float | bool | None = None

    @property
    def ir(self) -> str:
        """Type and text."""
        return f'{self.type.ir} {self.text}'


NO_VALUE = Value(NOTHING, '')


def literal(number: int | float | bool) -> Value:
    """Return a constant."""
    if isinstance(number, bool):
        return Value(BOOL, 'true' if number else 'false', number)
    if isinstance(number, int):
        return Value(INT, str(number), number)
    return Value(FLOAT, constant(number), number)


class TypedWriter(AddressWriter):
    """Writes one function; values are in static single assignment form."""

    def __init__(self, opaque_pointers: bool) -> None:
        super().__init__(opaque_pointers)
        self.externals: dict[str, External] = {}
        self.locals: list[str] = []  # of the first block

    def local_words(self, count: int) -> str:
        """Return the address of memory for 64-bit numbers, until the function returns."""
        name = f'%{self.new_label("local")}'
        pointer = f'{self.pointer("i64")} {name}_p'
        self.locals.append(f'  {name}_p = alloca i64, i64 {count}')
        self.locals.append(f'  {name} = ptrtoint {pointer} to i64')
        return name

    def external(self, function: External) -> str:
        """Return the address of a C function, which is stored when the code is loaded."""
        self.externals[function.name] = function
        pointer = self.pointer('i64')
        return self(f'load i64, {pointer} @{external_name(function.name)}')

    def new_label(self, name: str) -> str:
        """Return a fresh name of a basic block."""
        self._count += 1
        return f'{name}{self._count}'

    def value(self, type_: ValueType, expression: str) -> Value:
        """Append an expression and return its value."""
        return Value(type_, self(expression))

    def branch(self, condition: Value, target: str, otherwise: str) -> None:
        """Continue in one of two blocks."""
        self.do(f'br i1 {condition.text}, label %{target}, label %{otherwise}')

    def phi(self, type_: ValueType, incoming: Sequence[tuple[str, str]]) -> Value:
        """Return the value that corresponds to the block before: (text, block) pairs."""
        pairs = ', '.join(f'[{text}, %{block}]' for text, block in incoming)
        return self.value(type_, f'phi {type_.ir} {pairs}')

    def chosen(self, condition: Value, value: Value, otherwise: Value) -> Value:
        """Return one of two values, which are both computed."""
        return self.value(value.type, f'select i1 {condition.text}, {value.ir}, {otherwise.ir}')

    def operation(self, name: str, a: Value, b: Value) -> Value:
        """Return an operation of two values of one type, with a result of this type."""
        return self.value(a.type, f'{name} {a.ir}, {b.text}')

    def relation(self, name: str, a: Value, b: Value) -> Value:
        """Return the comparison `icmp NAME` or `fcmp NAME` of two values."""
        return self.value(BOOL, f'{"fcmp" if a.type is FLOAT else "icmp"} {name} {a.ir}, {b.text}')

    def converted(self, how: str, value: Value, type_: ValueType) -> Value:
        """Return a conversion to another type: zext, trunc, sitofp, fptosi."""
        return self.value(type_, f'{how} {value.ir} to {type_.ir}')

    def passed(self, value: Value) -> str:
        """Return an argument of a call, with its type."""
        if value.type is BOOL:
            return f'i64 {self(f"zext {value.ir} to i64")}'
        return value.ir

    def received(self, type_: ValueType, text: str) -> Value:
        """Return an argument, or the result of a call."""
        return self.value(BOOL, f'trunc i64 {text} to i1') if type_ is BOOL else Value(type_, text)

    def result(self, type_: ValueType, call: str) -> Value:
        """Write a call, and return its result."""
        if type_ is NOTHING:
            self.do(call)
            return NO_VALUE
        return self.received(type_, self(call))

    def c_call(self, signature: Signature, address: str, values: Sequence[Value]) -> Value:
        """Write the call of a C function at an address, and return its result."""
        given = []
        for value, type_ in zip(values, signature.arguments):
            text = self(f'trunc {value.ir} to i32') if type_ == 'i32' else value.text
            given.append((IR_TYPES[type_], text))
        result = IR_TYPES[signature.result]
        text = self.call(result, address, *given)
        if result == 'i32':
            return self.value(INT, f'sext i32 {text} to i64')
        return Value({'double': FLOAT, 'void': NOTHING}.get(result, INT), text)

    def element_address(self, array: Value, index: Value) -> Value:
        """Return the address of an element, as an array of the same type."""
        size = self.operation('mul', index, literal(array.type.size))
        return self.value(array.type, f'add i64 {array.text}, {size.text}')

    def field_address(self, record: Value, place: int, type_: ValueType) -> Value:
        """Return the address of a word of a record, as an array of its type."""
        array = ValueType(f'field of {type_.name}', 'i64', type_, 8)
        return self.value(array, f'add i64 {record.text}, {8 * place}')

    def load_at(self, stored: str, address: str, aligned: bool = False) -> str:
        """Return the value of IR type `stored` at an address of any alignment."""
        place = self._pointer(stored, address)
        return self(f'load {stored}, {place}, align {8 if aligned else 1}')

    def store_at(self, stored: str, text: str, address: str, aligned: bool = False) -> None:
        """Store a value of IR type `stored` at an address of any alignment."""
        place = self._pointer(stored, address)
        self.do(f'store {stored} {text}, {place}, align {8 if aligned else 1}')

    def _pointer(self, stored: str, address: str) -> str:
        pointer = self.pointer(stored)
        return f'{pointer} {self(f"inttoptr i64 {address} to {pointer}")}'

    def get_element(self, array: Value) -> Value:
        """Return the first element of an array."""
        if array.type.size == 1:
            byte = self.load_at('i8', array.text)
            return self.value(INT, f'zext i8 {byte} to i64')
        element = array.type.element or NOTHING
        return self.received(element, self.load_at(element.passed, array.text, aligned=True))

    def set_element(self, array: Value, value: Value) -> None:
        """Set the first element of an array; bytes are the low bits."""
        if array.type.size == 1:
            self.store_at('i8', self(f'trunc i64 {value.text} to i8'), array.text)
        else:
            type_, _, text = self.passed(value).partition(' ')
            self.store_at(type_, text, array.text, aligned=True)
