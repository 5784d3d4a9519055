# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Machine code of typed functions."""

from __future__ import annotations

import ast
import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from ...errors import ArgumentError, BackendError
from .. import cache as disk
from .. import sources
from ..llvm import native
from ..llvm.writer import linked
from .external import External, address_in_process, address_of
from .functions import BOOL, FLOAT, NOTHING, FunctionDeclaration, ValueType, declaration_of, view
from .records import Opaque, Record
from .source import FunctionSource, SourceFile
from .statements import Statements
from .writer import TypedWriter, external_name

INTRINSICS = (
    'declare double @llvm.fabs.f64(double)',
    'declare double @llvm.sqrt.f64(double)',
    'declare double @llvm.copysign.f64(double, double)',
)


class Module:
    """The IR of typed functions and of those that they call.

    Attributes
    ----------
    symbols : dict
        Names in IR of declarations.
    externals : dict
        C functions by name.
    """

    def __init__(self, functions: Sequence[FunctionDeclaration], opaque_pointers: bool) -> None:
        self._opaque, self._public = opaque_pointers, functions
        self.symbols: dict[FunctionDeclaration, str] = {}
        self.externals: dict[str, External] = {}
        self._files: dict[str, SourceFile] = {}
        self._pending: list[FunctionDeclaration] = []
        self._lines: list[str] = []
        for declaration in functions:
            self._add(declaration)

    def _add(self, declaration: FunctionDeclaration) -> str:
        """Write a function, unless it is written; return its name."""
        if declaration in self.symbols:
            return self.symbols[declaration]
        symbol = re.sub(r'\W', '_', f'{declaration.name}_{len(self.symbols)}', flags=re.ASCII)
        self.symbols[declaration] = symbol
        source, w = FunctionSource(declaration, self._files), TypedWriter(self._opaque)
        self._pending.append(declaration)

        def called(other: FunctionDeclaration, node: ast.AST) -> str:
            if other in self._pending:
                path = ', '.join(each.name for each in self._pending)
                raise source.fault(node, f'recursion: {other.name} is called from {path}')
            return self._add(other)

        linkage = '' if declaration in self._public else 'internal '
        lines = Statements(source, w, called).function(symbol, linkage)
        self._pending.pop()
        self._lines += lines
        for name, function in w.externals.items():
            if self.externals.setdefault(name, function) != function:
                raise ArgumentError(f'the C function {name} is declared with two signatures')
        return symbol

    @property
    def text(self) -> str:
        """The module."""
        addresses = linked(list(map(external_name, self.externals)), self._opaque)
        return '\n'.join([*INTRINSICS, *addresses, *self._lines, ''])


class TypedLibrary:
    """Machine code of typed functions, loaded during the lifetime of this object."""

    def __init__(
        self, symbols: Mapping[FunctionDeclaration, str], code: bytes, addresses: Sequence[int]
    ) -> None:
        self._symbols = symbols
        self._library = native.Library(code, addresses)

    def address(self, function: Callable[..., Any]) -> int:
        """Return the address of a function; booleans are passed as 64-bit integers 0 and 1.

        Raises
        ------
        ArgumentError
            The function is not among those that were compiled.
        """
        declaration = declaration_of(function)
        if declaration is None or declaration not in self._symbols:
            name = getattr(function, '__name__', function)
            raise ArgumentError(f'{name} is not among the compiled functions')
        return self._library.address(self._symbols[declaration])

    def code(self, function: Callable[..., Any]) -> Code:
        """Return a function for records of compiled code; raises as `address`."""
        return Code(self.address(function), self)

    def callable(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of ctypes, which takes arrays, or their addresses."""
        address = self.address(function)
        declaration = declaration_of(function)
        assert declaration is not None
        types = [c_type(type_) for _, type_ in declaration.parameters]
        result: Any = ctypes.CFUNCTYPE(c_type(declaration.result), *types)(address)
        result.library = self  # the code is loaded as long as the function exists
        return result


class Code(Opaque):
    """Machine code of a function, loaded during the lifetime of this object."""

    def __init__(self, address: int, library: TypedLibrary) -> None:
        self.address, self._library = address, library


class PythonCode(Opaque):
    """A typed function that is not compiled: typed functions call it in Python."""

    address = 0

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return self._function(*arguments)


class AddressArgument:
    """Type of ctypes for arguments of functions: an array, a record, or the address of one."""

    @staticmethod
    def from_param(value: Any) -> Any:
        """Return the address for the duration of a call."""
        if isinstance(value, Record):
            return ctypes.c_size_t(value.address)
        return ctypes.c_size_t(value if isinstance(value, int) else address_of(value))


def compiled(
    functions: Sequence[Callable[..., Any]],
    externals: Mapping[str, int] | None = None,
    inline: bool = False,
) -> TypedLibrary:
    """Return machine code of typed functions, and of all those that they call.

    Code that has been compiled before is loaded from the disk cache.

    Parameters
    ----------
    functions : sequence of typed functions
    externals : dict, optional
        Addresses of C functions by name; of others, those in the libraries of the process.
    inline : bool
        Whether functions are inlined, which takes twice as long.

    Raises
    ------
    ArgumentError
        A function is not typed, or a C function is unknown.
    TypedFunctionError
        A function cannot be compiled.
    BackendError
        llvmlite is missing.
    """
    declarations = []
    for function in functions:
        declaration = declaration_of(function)
        if declaration is None:
            raise ArgumentError(f'{function!r} is not a typed function: decorate it with typed')
        declarations.append(declaration)
    key = source_key(functions, declarations)
    stored = disk.load(key) if key else None
    if stored is not None and stored[1]:
        header, code = stored
    else:
        module = Module(declarations, native.opaque_pointers())
        header = {
            'symbols': [module.symbols[each] for each in declarations],
            'externals': list(module.externals),
        }
        code = native.machine_code(module.text, inline=inline)
        if key:
            disk.store(key, header, code)
    given = externals or {}
    addresses = [given.get(name) or address_in_process(name) for name in header['externals']]
    return TypedLibrary(dict(zip(declarations, header['symbols'])), code, addresses)


def source_key(
    functions: Sequence[Callable[..., Any]], declarations: Sequence[FunctionDeclaration]
) -> str:
    """Return the key of functions of this package in the disk cache, by their sources.

    Empty if others are among them, or sources may have changed; `machine_code` has a key by text.
    """
    package = sources.package()
    files = (sources.file_of(each.function, f) for each, f in zip(declarations, functions))
    if package is None or None in files:
        return ''
    names = [(each.__module__, each.__qualname__) for each in functions]
    return disk.key('typed', package, names, native.target_identity())


@cache
def calls(*functions: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """Return typed functions that take arrays: compiled ones, or without llvmlite the same."""
    try:
        library = compiled(functions)
    except BackendError:
        return functions
    return tuple(partial(call, library.callable(each), each) for each in functions)


@cache
def code_of(function: Callable[..., Any]) -> Opaque:
    """Return a typed function for records: compiled, or without llvmlite the same in Python."""
    try:
        return compiled([function]).code(function)
    except BackendError:
        return PythonCode(function)


def call(code: Callable[..., Any], function: Callable[..., Any], *arguments: Any) -> Any:
    """Call compiled code with checked arrays; raises `ArgumentError`."""
    declaration = declaration_of(function)
    assert declaration is not None
    for k, (_, type_) in enumerate(declaration.parameters):
        if type_.element is not None:
            view(declaration, k, arguments[k], type_)
    return code(*arguments)


def c_type(type_: ValueType) -> Any:
    """Return the type of ctypes in which a value is passed."""
    if type_.element or type_.fields:
        return AddressArgument
    return {FLOAT: ctypes.c_double, BOOL: ctypes.c_bool, NOTHING: None}.get(type_, ctypes.c_int64)
