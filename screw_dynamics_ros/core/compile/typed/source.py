# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The source of typed functions: syntax trees, the objects that names refer to, constants."""

from __future__ import annotations

import ast
import builtins
import linecache
import operator
from types import CodeType, ModuleType
from typing import Any

from .functions import FunctionDeclaration, TypedFunctionError

#: Operations of constants, which have the results of Python.
OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


class FunctionSource:
    """The syntax tree of a typed function, and the names of its module.

    Attributes
    ----------
    declaration : FunctionDeclaration
    body : list of ast.stmt
        With line numbers of the file.
    locals : set of str
    """

    def __init__(self, declaration: FunctionDeclaration, files: dict[str, SourceFile]) -> None:
        self.declaration = declaration
        function = declaration.function
        self.body = syntax_tree(declaration, files).body
        self.locals = set(function.__code__.co_varnames)
        self._globals = function.__globals__

    def fault(self, node: ast.AST, text: str) -> TypedFunctionError:
        """Return an error at a place of the source."""
        return self.declaration.fault(getattr(node, 'lineno', 0), text)

    def unsupported(self, node: ast.AST) -> TypedFunctionError:
        """Return the error for syntax that is not of the subset."""
        text = ast.unparse(node).split('\n')[0]
        return self.fault(node, f'{text!r} ({type(node).__name__}) is not supported')

    def is_local(self, node: ast.expr) -> bool:
        """Return whether an expression is a local name, or a field or element of one."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.locals

    def object_of(self, node: ast.expr) -> Any:
        """Return the object that a global name, or an attribute of a module, refers to."""
        if isinstance(node, ast.Name) and not self.is_local(node):
            if node.id in self._globals:
                return self._globals[node.id]
            if hasattr(builtins, node.id):
                return getattr(builtins, node.id)
            raise self.fault(node, f'the name {node.id} is not defined')
        if isinstance(node, ast.Attribute) and not self.is_local(node.value):
            owner = self.object_of(node.value)
            if isinstance(owner, ModuleType) and hasattr(owner, node.attr):
                return getattr(owner, node.attr)
        raise self.unsupported(node)

    def constant(self, node: ast.expr) -> int | float | bool | None:
        """Return the number that an expression of constants has in Python, None for others."""
        try:
            return self._constant(node)
        except TypedFunctionError:
            raise
        except (ArithmeticError, TypeError, ValueError) as error:
            raise self.fault(node, f'{ast.unparse(node)} has no value: {error}') from error

    def _constant(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return number(node.value)
        if isinstance(node, ast.Attribute | ast.Name):
            return None if self.is_local(node) else number(self.object_of(node))
        if isinstance(node, ast.UnaryOp):
            operands = [node.operand]
        elif isinstance(node, ast.BinOp):
            operands = [node.left, node.right]
        else:
            return None
        values = [self._constant(operand) for operand in operands]
        how = OPERATORS.get(type(node.op))
        if how is None or any(value is None or isinstance(value, bool) for value in values):
            return None
        return how(*values)


def number(value: Any) -> int | float | bool | None:
    """Return a value if it is a plain number or boolean, None otherwise."""
    return value if type(value) in (int, float, bool) else None


class SourceFile:
    """The functions in a source file, by name and first line."""

    def __init__(self, name: str) -> None:
        linecache.checkcache(name)
        tree = ast.parse(''.join(linecache.getlines(name)))
        self._trees = {
            (node.name, first_line(node)): node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
        }
        self._codes: dict[tuple[str, int], bytes] = {}
        codes = [compile(tree, name, 'exec', dont_inherit=True)]
        for code in codes:
            self._codes[code.co_name, code.co_firstlineno] = code.co_code
            codes += [each for each in code.co_consts if isinstance(each, CodeType)]

    def tree(self, code: CodeType) -> ast.FunctionDef | None:
        """Return the syntax tree of a loaded function; None if it is not that in the file."""
        key = code.co_name, code.co_firstlineno
        return self._trees.get(key) if self._codes.get(key) == code.co_code else None


def first_line(node: ast.FunctionDef) -> int:
    """Return the line where a function begins with its decorators."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def syntax_tree(declaration: FunctionDeclaration, files: dict[str, SourceFile]) -> ast.FunctionDef:
    """Return the syntax tree of a function; `files` are those that were read before.

    Raises
    ------
    TypedFunctionError
        The source cannot be read, or it is not that of the loaded function.
    """
    code = declaration.function.__code__
    name = code.co_filename
    try:
        if name not in files:
            files[name] = SourceFile(name)
    except (SyntaxError, ValueError) as error:
        raise declaration.fault(code.co_firstlineno, f'cannot read its source: {error}') from error
    tree = files[name].tree(code)
    if tree is None:
        raise declaration.fault(
            code.co_firstlineno,
            'its source is not available, or has changed since it was imported; start the program '
            'again with the source files',
        )
    return tree
