# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Expressions of typed functions in IR."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from functools import partial

from . import operations
from .external import External, Signature
from .functions import (
    BOOL,
    FLOAT,
    INT,
    NOTHING,
    FunctionDeclaration,
    TypedFunctionError,
    ValueType,
    declaration_of,
)
from .primitives import PRIMITIVES, Primitive
from .source import FunctionSource
from .writer import TypedWriter, Value, literal

LARGEST_EXACT = 2**53  # integers up to it are floats, too


class Expressions:
    """Writes the expressions of a function.

    Parameters
    ----------
    source : FunctionSource
    w : TypedWriter
    symbol : callable
        Maps the declaration of a called function to its name in IR.

    Attributes
    ----------
    values : dict
        The current values of local names.
    """

    def __init__(
        self,
        source: FunctionSource,
        w: TypedWriter,
        symbol: Callable[[FunctionDeclaration, ast.AST], str],
    ) -> None:
        self.source, self.w, self._symbol = source, w, symbol
        self.values: dict[str, Value] = {}

    def value(self, node: ast.expr) -> Value:
        """Write an expression, and return its value."""
        number = self.source.constant(node)
        if number is not None:
            return self._literal(node, number)
        write = getattr(self, f'_{type(node).__name__.lower()}', None)
        if write is None:
            raise self.source.unsupported(node)
        return write(node)

    def of_type(self, node: ast.expr, type_: ValueType, what: str) -> Value:
        """Write an expression that must have a type; `what` it is, for the error."""
        value = self.value(node)
        if value.type is not type_ and not is_subclass(value.type, type_):
            raise self.source.fault(
                node,
                f'{what} {ast.unparse(node)!r} is {value.type.name}, not {type_.name}'
                f'{remedy(value.type, type_)}',
            )
        return value

    def address(self, node: ast.Subscript) -> Value:
        """Write the address of an element, as an array of the type that is indexed."""
        array = self.value(node.value)
        if array.type.element is None:
            raise self.source.fault(
                node, f'{ast.unparse(node.value)} is {array.type.name}, which has no elements'
            )
        index = node.slice
        if isinstance(index, ast.Slice):
            if index.lower is None or index.upper or index.step:
                raise self.source.fault(node, f'{ast.unparse(node)}: slices have the form x[a:]')
            index = index.lower
        number = self.of_type(index, INT, 'the index')
        if number.constant is not None and number.constant < 0:
            raise self.source.fault(node, 'negative indices are not supported')
        return self.w.element_address(array, number)

    def field(self, node: ast.Attribute) -> Value:
        """Write the address of a field, as an array of its type."""
        owner = self.value(node.value)
        fields = owner.type.fields.fields if owner.type.fields else {}
        if node.attr not in fields:
            raise self.source.fault(
                node, f'{ast.unparse(node.value)} is {owner.type.name}, without a field {node.attr}'
            )
        place, type_ = fields[node.attr]
        return self.w.field_address(owner, place, type_)

    def _literal(self, node: ast.expr, number: int | float | bool) -> Value:
        if type(number) is int and not operations.SMALLEST <= number <= operations.LARGEST:
            raise self.source.fault(node, f'{number} does not fit into 64 bits')
        return literal(number)

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.values:
            return self.values[node.id]
        if node.id in self.source.locals:
            raise self.source.fault(node, f'{node.id} has no value on some path to this line')
        return self._attribute(node)

    def _attribute(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Attribute) and self.source.is_local(node.value):
            return self.w.get_element(self.field(node))
        found = type(self.source.object_of(node)).__name__
        raise self.source.fault(
            node, f'{ast.unparse(node)} is {found}: only int, float and bool can be constants'
        )

    def _subscript(self, node: ast.Subscript) -> Value:
        address = self.address(node)
        return address if isinstance(node.slice, ast.Slice) else self.w.get_element(address)

    def _binop(self, node: ast.BinOp) -> Value:
        a, b = self.value(node.left), self.value(node.right)
        return self.binary(node, node.op, a, b)

    def binary(self, node: ast.AST, operator: ast.operator, a: Value, b: Value) -> Value:
        """Write an operation of two values."""
        a, b = mixed(a, b)
        result = None
        if a.type is b.type and a.type in (INT, FLOAT):
            result = operations.binary(self.w, operator, a, b)
        if result is None:
            raise self._no_operation(node, operator, a, b)
        return result

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            value = self.of_type(node.operand, BOOL, 'the operand of not')
            return self.w.value(BOOL, f'xor {value.ir}, true')
        value = self.value(node.operand)
        if value.type is FLOAT and isinstance(node.op, ast.USub):
            return self.w.value(FLOAT, f'fneg {value.ir}')
        if value.type is INT and isinstance(node.op, ast.USub):
            return self.w.operation('sub', literal(0), value)
        if value.type is INT and isinstance(node.op, ast.Invert):
            return self.w.operation('xor', value, literal(-1))
        raise self.source.fault(node, f'no operation {type(node.op).__name__} of {value.type.name}')

    def _boolop(self, node: ast.BoolOp) -> Value:
        return self._decided(
            isinstance(node.op, ast.And),
            [partial(self.of_type, operand, BOOL, 'the operand') for operand in node.values],
        )

    def _compare(self, node: ast.Compare) -> Value:
        if isinstance(node.ops[0], ast.Is | ast.IsNot):
            return self._compared_to_none(node)
        before = self.value(node.left)

        def link(operator: ast.cmpop, operand: ast.expr) -> Value:
            nonlocal before
            value = self.value(operand)
            result = self._compared(node, operator, before, value)
            before = value
            return result

        return self._decided(True, [partial(link, *p) for p in zip(node.ops, node.comparators)])

    def _compared_to_none(self, node: ast.Compare) -> Value:
        value, (other, *further) = self.value(node.left), node.comparators
        is_none = isinstance(other, ast.Constant) and other.value is None
        if not is_none or further or not (value.type.element or value.type.fields):
            raise self.source.fault(
                node, f'{ast.unparse(node)}: arrays and records are compared to None only'
            )
        name = 'eq' if isinstance(node.ops[0], ast.Is) else 'ne'
        return self.w.relation(name, value, literal(0))

    def _compared(self, node: ast.AST, operator: ast.cmpop, a: Value, b: Value) -> Value:
        a, b = mixed(a, b)
        types = (INT, FLOAT, BOOL) if isinstance(operator, ast.Eq | ast.NotEq) else (INT, FLOAT)
        result = None
        if a.type is b.type and a.type in types:
            result = operations.compared(self.w, operator, a, b)
        if result is None:
            raise self._no_operation(node, operator, a, b)
        return result

    def _no_operation(
        self, node: ast.AST, operator: ast.AST, a: Value, b: Value
    ) -> TypedFunctionError:
        name, hint = type(operator).__name__, remedy(a.type, b.type)
        if isinstance(operator, ast.Div) and a.type is b.type is INT:
            hint = '; write //, or float(...) / float(...)'
        return self.source.fault(
            node, f'{ast.unparse(node)}: no {name} of {a.type.name} and {b.type.name}{hint}'
        )

    def _decided(self, is_and: bool, conditions: Sequence[Callable[[], Value]]) -> Value:
        """Write conditions; the first that is false (of `and`), or true, skips the others."""
        if len(conditions) == 1:
            return conditions[0]()
        w, incoming = self.w, []
        end = w.new_label('decided')
        for condition in conditions[:-1]:
            value = condition()
            incoming.append(('false' if is_and else 'true', w.block))
            following = w.new_label('following')
            w.branch(value, *((following, end) if is_and else (end, following)))
            w.label(following)
        incoming.append((conditions[-1]().text, w.block))
        w.go_to(end)
        w.label(end)
        return w.phi(BOOL, incoming)

    def _ifexp(self, node: ast.IfExp) -> Value:
        w = self.w
        first, second, end = map(w.new_label, ('chosen', 'otherwise', 'end'))
        w.branch(self.of_type(node.test, BOOL, 'the condition'), first, second)
        results, incoming = [], []
        for label, branch in ((first, node.body), (second, node.orelse)):
            w.label(label)
            results.append(self.value(branch))
            incoming.append((results[-1].text, w.block))
            w.go_to(end)
        a, b = results
        if a.type is not b.type or a.type is NOTHING:
            raise self.source.fault(
                node,
                f'{ast.unparse(node)} is {a.type.name} or {b.type.name}{remedy(a.type, b.type)}',
            )
        w.label(end)
        return w.phi(a.type, incoming)

    def _call(self, node: ast.Call) -> Value:
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            raise self.source.fault(node, f'{ast.unparse(node)}: pass arguments by position')
        called = self.source.object_of(node.func)
        if called is len and len(node.args) == 1:
            return self._length(node.args[0])
        declaration = declaration_of(called)
        if declaration is not None:
            return self._call_typed(node, declaration)
        if isinstance(called, External):
            return self._call_c(node, called.signature, self.w.external(called), node.args)
        if isinstance(called, Signature) and node.args:
            function = self.value(node.args[0])
            if function.type is not INT and not function.type.fields:
                raise self.source.fault(
                    node, f'{ast.unparse(node.args[0])} is {function.type.name}, not an address'
                )
            return self._call_c(node, called, function.text, node.args[1:])
        if isinstance(called, Hashable) and called in PRIMITIVES:
            return self._call_primitive(node, PRIMITIVES[called])
        raise self.source.fault(
            node, f'{ast.unparse(node.func)} is neither a typed function nor known to the compiler'
        )

    def _length(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Attribute) and self.source.is_local(node):
            field = self.field(node)
            if field.type.element is not None and field.type.element.element is not None:
                return self.w.get_element(self.w.field_address(field, 1, INT))
        raise self.source.fault(
            node, f'{ast.unparse(node)}: only arrays and tuples in fields have a length'
        )

    def _arguments(self, node: ast.Call, types: Sequence[ValueType]) -> list[Value]:
        name = ast.unparse(node.func)
        if len(node.args) != len(types):
            raise self.source.fault(
                node, f'{name} takes {len(types)} arguments, found {len(node.args)}'
            )
        return [self.of_type(a, type_, f'in {name}(),') for a, type_ in zip(node.args, types)]

    def _call_typed(self, node: ast.Call, declaration: FunctionDeclaration) -> Value:
        types = [type_ for _, type_ in declaration.parameters]
        given = [self.w.passed(value) for value in self._arguments(node, types)]
        text = (
            f'call {declaration.result.passed} @{self._symbol(declaration, node)}'
            f'({", ".join(given)})'
        )
        return self.w.result(declaration.result, text)

    def _call_primitive(self, node: ast.Call, primitive: Primitive) -> Value:
        if primitive.arguments is None:
            arguments = [self.value(argument) for argument in node.args]
        else:
            arguments = self._arguments(node, primitive.arguments)
        result = primitive.write(self.w, arguments)
        if result is None:
            types = ', '.join(argument.type.name for argument in arguments)
            raise self.source.fault(node, f'{ast.unparse(node.func)} does not take {types}')
        return result

    def _call_c(
        self, node: ast.Call, signature: Signature, address: str, arguments: Sequence[ast.expr]
    ) -> Value:
        if len(arguments) != len(signature.arguments):
            raise self.source.fault(
                node,
                f'{ast.unparse(node.func)} takes {len(signature.arguments)} arguments, '
                f'found {len(arguments)}',
            )
        values = []
        for argument, type_ in zip(arguments, signature.arguments):
            if type_ == 'address':
                value = self.value(argument)
                if value.type is not INT and not (value.type.element or value.type.fields):
                    raise self.source.fault(
                        argument,
                        f'{ast.unparse(argument)} is {value.type.name}, not an array or address',
                    )
            else:
                value = self.of_type(argument, FLOAT if type_ == 'double' else INT, 'the argument')
            values.append(value)
        return self.w.c_call(signature, address, values)


def is_subclass(type_: ValueType, base: ValueType) -> bool:
    """Return whether a record has all fields of another one, which it begins with."""
    return bool(type_.fields and base.fields) and issubclass(type_.fields, base.fields)


def mixed(a: Value, b: Value) -> tuple[Value, Value]:
    """Return two operands; an integer constant beside a float is a float, as in Python."""
    if FLOAT in (a.type, b.type):
        return as_float(a), as_float(b)
    return a, b


def as_float(value: Value) -> Value:
    """Return an integer constant as float, other values unchanged."""
    number = value.constant
    if value.type is INT and number is not None and abs(number) <= LARGEST_EXACT:
        return literal(float(number))
    return value


def remedy(*types: ValueType) -> str:
    """Return what to write where types differ."""
    if set(types) == {INT, FLOAT}:
        return '; write float(...), int(...) or a constant with a point'
    if set(types) == {INT, BOOL}:
        return '; write a comparison, or int(...)'
    return ''
