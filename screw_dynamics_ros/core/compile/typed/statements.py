# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Statements of typed functions in IR, in static single assignment form.

Where paths meet, a name that has different values gets a phi; a name without a value on some path
has none after it.

Source: Braun et al., Simple and Efficient Construction of Static Single Assignment Form, 2013, for
programs without goto, whose loops are known when they begin.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .expressions import Expressions, remedy
from .functions import BOOL, INT, NOTHING, TYPES, FunctionDeclaration, ValueType
from .source import FunctionSource
from .writer import TypedWriter, Value, literal

Values = dict[str, Value]
#: The end of a path: its block, and the values of names there.
Path = tuple[str, Values]


@dataclass
class OpenLoop:
    """Where `break` and `continue` lead to, and the paths that do."""

    exit: str
    latch: str
    exits: list[Path] = field(default_factory=list)
    repeats: list[Path] = field(default_factory=list)


class Statements:
    """Writes the body of a function.

    Attributes
    ----------
    values : dict or None
        The current values of names; None after a statement that leaves the path.
    """

    def __init__(
        self,
        source: FunctionSource,
        w: TypedWriter,
        symbol: Callable[[FunctionDeclaration, ast.AST], str],
    ) -> None:
        self.source, self.w = source, w
        self.expressions = Expressions(source, w, symbol)
        self._types: dict[str, ValueType] = {}
        self._loops: list[OpenLoop] = []
        self.values: Values | None = {}

    def function(self, symbol: str, linkage: str) -> list[str]:
        """Return the lines of the function."""
        declaration = self.source.declaration
        self.w.label('entry')
        for k, (name, type_) in enumerate(declaration.parameters):
            self._bind(self.source.body[0], name, self.w.received(type_, f'%p{k}'))
        self.block(self.source.body)
        if self.values is not None:
            if declaration.result is not NOTHING:
                raise self.source.fault(self.source.body[-1], 'a path ends without return')
            self.w.do('ret void')
        parameters = ', '.join(
            f'{type_.passed} %p{k}' for k, (_, type_) in enumerate(declaration.parameters)
        )
        head = f'define {linkage}{declaration.result.passed} @{symbol}({parameters}) {{'
        return [head, self.w.lines[0], *self.w.locals, *self.w.lines[1:], '}']

    def block(self, statements: Iterable[ast.stmt]) -> None:
        """Write statements."""
        for statement in statements:
            if self.values is None:
                raise self.source.fault(statement, 'this statement is never reached: remove it')
            write = getattr(self, f'_{type(statement).__name__.lower()}', None)
            if write is None:
                raise self.source.unsupported(statement)
            self.expressions.values = self.values
            write(statement)

    def _pass(self, node: ast.Pass) -> None:
        pass

    def _expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return  # a docstring
        if not isinstance(node.value, ast.Call):
            raise self.source.fault(node, f'{ast.unparse(node)} has no effect: remove it')
        self.expressions.value(node.value)

    def _assign(self, node: ast.Assign) -> None:
        value = self.expressions.value(node.value)
        for target in node.targets:
            self._store(node, target, value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        type_ = self._annotation(node)
        if not isinstance(node.target, ast.Name):
            raise self.source.unsupported(node)
        if node.value is None:
            self._types.setdefault(node.target.id, type_)
            return
        value = self.expressions.of_type(node.value, type_, 'the value')
        self._store(node, node.target, value)

    def _annotation(self, node: ast.AnnAssign) -> ValueType:
        found = self.source.object_of(node.annotation)
        try:
            return TYPES[found]
        except (KeyError, TypeError):
            raise self.source.fault(
                node, f'{ast.unparse(node.annotation)} is not a type of typed functions'
            ) from None

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript | ast.Attribute):
            address = self._place(node.target)
            before = self.w.get_element(address)
        elif isinstance(node.target, ast.Name):
            before = self.expressions.value(
                ast.Name(node.target.id, ast.Load(), lineno=node.lineno)
            )
        else:
            raise self.source.unsupported(node)
        operand = self.expressions.value(node.value)
        value = self.expressions.binary(node, node.op, before, operand)
        if isinstance(node.target, ast.Name):
            self._bind(node, node.target.id, value)
        else:
            self._set_element(node, address, value)

    def _store(self, node: ast.stmt, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._bind(node, target.id, value)
        elif isinstance(target, ast.Attribute) or (
            isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice)
        ):
            self._set_element(node, self._place(target), value)
        else:
            raise self.source.fault(
                node,
                f'cannot assign to {ast.unparse(target)}: assign names and elements one by one',
            )

    def _place(self, target: ast.Subscript | ast.Attribute) -> Value:
        """Write the address of an element or of a field."""
        if isinstance(target, ast.Subscript):
            return self.expressions.address(target)
        field = self.expressions.field(target)
        type_ = field.type.element
        if type_ is not None and (type_.element or type_.fields):
            raise self.source.fault(
                target, f'{ast.unparse(target)} is {type_.name}, which is set in Python only'
            )
        return field

    def _set_element(self, node: ast.stmt, address: Value, value: Value) -> None:
        element = address.type.element
        if value.type is not element and element is not None:
            raise self.source.fault(
                node,
                f'{ast.unparse(node)}: an element is {element.name}, the value {value.type.name}'
                f'{remedy(value.type, element)}',
            )
        self.w.set_element(address, value)

    def _bind(self, node: ast.stmt, name: str, value: Value) -> None:
        type_ = self._types.setdefault(name, value.type)
        if value.type is NOTHING:
            raise self.source.fault(node, f'{name}: the function returns no value')
        if value.type is not type_:
            raise self.source.fault(
                node,
                f'{name} is {type_.name} and cannot be {value.type.name}'
                f'{remedy(value.type, type_)}',
            )
        if self.values is not None:
            self.values[name] = value._replace(constant=None)

    def _return(self, node: ast.Return) -> None:
        result = self.source.declaration.result
        is_none = node.value is None or (
            isinstance(node.value, ast.Constant) and node.value.value is None
        )
        if result is NOTHING or is_none or node.value is None:
            if result is not NOTHING or not is_none:
                raise self.source.fault(node, f'the result is declared as {result.name}')
            self.w.do('ret void')
        else:
            value = self.expressions.of_type(node.value, result, 'the result')
            self.w.do(f'ret {self.w.passed(value)}')
        self.values = None

    def _if(self, node: ast.If) -> None:
        w, before = self.w, self.values or {}
        first, second, end = map(w.new_label, ('then', 'else', 'end'))
        w.branch(self._condition(node.test), first, second)
        ends: list[Path] = []
        for label, body in ((first, node.body), (second, node.orelse)):
            w.label(label)
            self.values = dict(before)
            self.block(body)
            self._leave(end, ends)
        self._merge(end, ends)

    def _condition(self, node: ast.expr) -> Value:
        return self.expressions.of_type(node, BOOL, 'the condition')

    def _leave(self, label: str, paths: list[Path]) -> None:
        """Continue the current path, if there is one, at a label."""
        if self.values is not None:
            paths.append((self.w.block, self.values))
            self.w.go_to(label)
        self.values = None

    def _merge(self, label: str, paths: Sequence[Path]) -> None:
        """Start the block where paths meet."""
        if not paths:
            self.values = None
            return
        self.w.label(label)
        self.values = {}
        for name, value in paths[0][1].items():
            found = [values[name] for _, values in paths if name in values]
            if len(found) < len(paths):
                continue
            if any(each.text != value.text for each in found):
                incoming = [(each.text, block) for each, (block, _) in zip(found, paths)]
                value = self.w.phi(value.type, incoming)
            self.values[name] = value

    def _while(self, node: ast.While) -> None:
        is_endless = self.source.constant(node.test) is True
        test = None if is_endless else lambda: self._condition(node.test)
        self._loop(node, test, lambda: None, lambda: None)

    def _for(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.source.unsupported(node)
        name = node.target.id
        start, count, step = self._range(node)
        w, counter = self.w, f'counter of line {node.lineno}, column {node.col_offset}'
        self._bind(node, counter, literal(0))

        def current() -> Value:
            return (self.values or {})[counter]

        def begin() -> None:
            passed = w.operation('mul', current(), literal(step))
            self._bind(node, name, w.operation('add', start, passed))

        def repeat() -> None:
            self._bind(node, counter, w.operation('add', current(), literal(1)))

        self._loop(node, lambda: w.relation('ult', current(), count), begin, repeat, counter)

    def _range(self, node: ast.For) -> tuple[Value, Value, int]:
        """Return start, number of iterations (unsigned) and step of `range(...)`."""
        call = node.iter
        if not isinstance(call, ast.Call) or self.source.object_of(call.func) is not range:
            raise self.source.fault(node, f'{ast.unparse(call)}: only range(...) can be iterated')
        if call.keywords or not 1 <= len(call.args) <= 3:
            raise self.source.unsupported(call)
        step = self.source.constant(call.args[2]) if len(call.args) == 3 else 1
        if type(step) is not int or step == 0:
            raise self.source.fault(
                node, f'{ast.unparse(call)}: the step must be a constant, not 0'
            )
        bounds = [self.expressions.of_type(a, INT, 'the bound') for a in call.args[:2]]
        start, stop = bounds if len(bounds) == 2 else (literal(0), bounds[0])
        w = self.w
        low, high = (start, stop) if step > 0 else (stop, start)
        last = w.operation('sub', w.operation('sub', high, low), literal(1))
        count = w.operation('udiv', last, literal(abs(step)))
        count = w.operation('add', count, literal(1))
        return start, w.chosen(w.relation('slt', low, high), count, literal(0)), step

    def _loop(
        self,
        node: ast.While | ast.For,
        test: Callable[[], Value] | None,
        begin: Callable[[], None],
        repeat: Callable[[], None],
        *hidden: str,
    ) -> None:
        """Write a loop: `test`, `begin` and body, `repeat`."""
        if node.orelse:
            raise self.source.fault(node.orelse[0], 'else of a loop is not supported')
        w = self.w
        head, body, latch, end = map(w.new_label, ('head', 'body', 'latch', 'end'))
        loop = OpenLoop(end, latch)
        entry, initial = w.block, dict(self.values or {})
        w.go_to(head)
        w.label(head)
        place = len(w.lines)
        changed = self._begin_loop(node, initial, hidden)
        if test is not None:
            self.expressions.values = self.values or {}
            condition = test()
            w.branch(condition, body, end)
            loop.exits.append((w.block, dict(self.values or {})))
            w.label(body)
        begin()
        self._loops.append(loop)
        self.block(node.body)
        self._loops.pop()
        self._leave(latch, loop.repeats)
        self._merge(latch, loop.repeats)
        if self.values is not None:
            repeat()
        self._end_loop(head, place, changed, (entry, initial))
        self._merge(end, loop.exits)

    def _begin_loop(self, node: ast.AST, initial: Values, hidden: Sequence[str]) -> Values:
        """Return new values of the names that a loop changes; `_end_loop` writes their phis."""
        stored = {
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        names = [name for name in initial if name in stored or name in hidden]
        changed = {
            name: Value(initial[name].type, f'%{self.w.new_label("loop")}') for name in names
        }
        self.w.lines += [''] * len(names)
        self.values = {**initial, **changed}
        return changed

    def _end_loop(self, head: str, place: int, changed: Values, before: Path) -> None:
        """Write the phis of a loop, and repeat it."""
        entry, initial = before
        for k, (name, value) in enumerate(changed.items()):
            incoming = f'[{initial[name].text}, %{entry}]'
            if self.values is not None:
                incoming += f', [{self.values[name].text}, %{self.w.block}]'
            self.w.lines[place + k] = f'  {value.text} = phi {value.type.ir} {incoming}'
        if self.values is not None:
            self.w.go_to(head)
        self.values = None

    def _break(self, node: ast.Break) -> None:
        self._leave(self._loops[-1].exit, self._loops[-1].exits)

    def _continue(self, node: ast.Continue) -> None:
        self._leave(self._loops[-1].latch, self._loops[-1].repeats)
