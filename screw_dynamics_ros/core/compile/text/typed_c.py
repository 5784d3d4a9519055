# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Print typed functions as C: one statement for each instruction of their IR.

The C has the bits of the machine code, unless its compiler fuses products with sums. Names of IR
become local variables. Where paths meet, each path sets the variable `x_in`, which `x` then takes.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Any

from ...errors import ArgumentError
from ..typed.functions import declaration_of
from ..typed.library import Module
from .c_source import in_comment

IR_TYPES = ['i64', 'ptr', 'double', 'i1', 'i32', 'i8', 'void']
TYPES = dict(zip(IR_TYPES, ['int64_t', 'int64_t', 'double', 'int', 'int32_t', 'uint8_t', 'void']))
INSTRUCTIONS = ['fadd', 'fsub', 'fmul', 'fdiv', 'sdiv', 'srem', 'ashr', 'and', 'or', 'xor']
OPERATORS = dict(zip(INSTRUCTIONS, ['+', '-', '*', '/', '/', '%', '>>', '&', '|', '^']))
#: Operations of integers without sign, which wrap.
UNSIGNED = {'add': '+', 'sub': '-', 'mul': '*', 'udiv': '/', 'shl': '<<'}
RELATIONS = {'eq': '==', 'ne': '!=', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>='}
#: Functions of the C library that may be called.
LIBRARY = {'cos', 'sin', 'exp', 'expm1', 'atan2', 'rint', 'floor', 'memmove'}

FUNCTION = re.compile(r'^define (?:internal )?(\w+) @(\w+)\(([^)]*)\) \{\n(.*?)\n\}', re.M | re.S)
INSTRUCTION = re.compile(r'  (?:%(\w+) = )?(\w+) ?(.*)')
CALL = re.compile(r'(\w+) ([@%][\w.]+)\((.*)\)')


def typed_c(functions: Sequence[Callable[..., Any]], prefix: str) -> tuple[list[str], list[str]]:
    """Return the names of typed functions in C, and the lines that define them.

    All are static, with names that begin with `prefix`. Their arguments are 64-bit integers and
    doubles; records and arrays are addresses. They need <math.h>, <stdint.h> and <string.h>.

    Raises
    ------
    ArgumentError
        A function calls a C function that is not of `LIBRARY`.
    TypedFunctionError
        A function cannot be compiled.
    """
    declarations = [each for each in map(declaration_of, functions) if each is not None]
    module = Module(declarations, opaque_pointers=True)
    absent = sorted(module.externals.keys() - LIBRARY)
    if absent:
        raise ArgumentError(f'there is no C for {", ".join(absent)}: not of the C library')
    known = {symbol: each for each, symbol in module.symbols.items()}
    lines = []
    for result, symbol, parameters, body in FUNCTION.findall(module.text):
        if symbol in known:
            names = ', '.join(name for name, _ in known[symbol].parameters)
            text = (known[symbol].function.__doc__ or '').partition('\n')[0]
            comment = in_comment(f'{known[symbol].name}({names}): {text}')
            lines += ['', *wrap(f'/* {comment} */', 96)]
            lines += FunctionBody(body.split('\n'), prefix).function(result, symbol, parameters)
    return [f'{prefix}_{module.symbols[each]}' for each in declarations], lines


class FunctionBody:
    """The body of a function.

    Parameters
    ----------
    lines : list of str
        In IR.
    prefix : str
        Of the names of functions.
    """

    def __init__(self, lines: list[str], prefix: str) -> None:
        self._prefix, self._lines = prefix, [parts(line) for line in lines]
        self._read = {word for line in self._lines for word in re.findall(r'%\w+', line[2])}
        self._targets = set(re.findall(r'label %(\w+)', '\n'.join(lines)))
        self._block = ''
        self._types: dict[str, str] = {}  # of local variables
        self._functions: dict[str, str] = {}  # of the C library, by their addresses in IR
        self._incoming: dict[str, list[str]] = defaultdict(list)  # statements by block

    def function(self, result: str, symbol: str, parameters: str) -> Iterator[str]:
        """Yield the lines of the function."""
        given = [each.split() for each in parameters.split(', ') if each]
        for name, code, rest in self._lines:
            if code == 'phi':
                self._types[f'{name}_in'] = TYPES[rest.split()[0]]
                for value, block in re.findall(r'\[(\S+), %(\w+)\]', rest):
                    self._incoming[block].append(f'  {name}_in = {operand(value)};')
        statements = [each for line in self._lines for each in self._statements(*line)]
        arguments = ', '.join(f'{TYPES[type_]} {operand(name)}' for type_, name in given)
        yield f'static {TYPES[result]} {self._prefix}_{symbol}({arguments or "void"}) {{'
        for type_ in dict.fromkeys(self._types.values()):
            names = [name for name, its_type in self._types.items() if its_type == type_]
            lines = wrap(f'{type_} {", ".join(names)};', 92)
            yield from (f'  {line}' for line in lines)
        yield from (f'  (void){operand(name)};' for _, name in given if name not in self._read)
        yield from statements
        yield '}'

    def _statements(self, name: str, code: str, rest: str) -> Iterator[str]:
        """Yield the statements of a line."""
        words = rest.replace(',', '').split()
        if code == 'label':
            self._block = name
            if name in self._targets:
                yield f'{name}:;'
        elif code == 'ret':
            yield '  return;' if rest == 'void' else f'  return {operand(words[1])};'
        elif code == 'br':
            yield from self._incoming[self._block]
            targets = [f'goto {word[1:]};' for word in words[1::2]]
            if words[0] == 'i1':
                yield f'  if ({operand(words[1])}) {targets[1]}'
            yield f'  {targets[-1]}'
        elif code == 'store':
            value, address = operand(words[1]), operand(words[3])
            yield f'  {{ {TYPES[words[0]]} stored = {value};'
            yield f'    memcpy((void *)(intptr_t){address}, &stored, sizeof stored); }}'
        elif code == 'load' and '@' in rest:
            self._functions[f'%{name}'] = rest.partition('address of ')[2][:-1]
        elif code == 'inttoptr' and words[1] in self._functions:
            self._functions[f'%{name}'] = self._functions[words[1]]
        elif code == 'load':
            self._types[name] = TYPES[words[0]]
            yield f'  memcpy(&{name}, (const void *)(intptr_t){operand(words[2])}, sizeof {name});'
        else:
            type_, value = self._value(name, code, rest, words)
            if name:
                self._types[name] = TYPES[type_]
            yield f'  {name} = {value};' if name else f'  {value};'
        if name in self._types and f'%{name}' not in self._read:
            yield f'  (void){name};'

    def _value(self, name: str, code: str, rest: str, words: list[str]) -> tuple[str, str]:
        """Return type and value of an instruction."""
        if code == 'call':
            return self._called(*CALL.fullmatch(rest).groups())  # type: ignore[union-attr]
        if code == 'phi':
            return words[0], f'{name}_in'
        if code in ('icmp', 'fcmp'):
            return 'i1', compared(words[0], *map(operand, words[2:]))
        a = operand(words[1])
        if code == 'select':
            return words[2], f'{a} ? {operand(words[3])} : {operand(words[5])}'
        if code == 'fneg':
            return 'double', f'-{a}'
        if code in ('inttoptr', 'zext', 'sext', 'trunc', 'sitofp', 'fptosi'):
            return words[3], converted(code, words[0], a, words[3])
        b = operand(words[2])
        if code == 'shl':
            b = f'({b} & 63)'  # other results are not used
        if code in UNSIGNED:
            return 'i64', f'(int64_t)((uint64_t){a} {UNSIGNED[code]} (uint64_t){b})'
        return words[0], f'{a} {OPERATORS[code]} {b}'

    def _called(self, result: str, function: str, arguments: str) -> tuple[str, str]:
        """Return type and value of a call."""
        given = [operand(each.split()[1]) for each in arguments.split(', ') if each]
        name = self._functions.get(function, f'{self._prefix}_{function[1:]}')
        if function.startswith('@llvm.'):
            name = function.split('.')[1]
        if name == 'memmove':
            return result, '(int64_t)(intptr_t)memmove({}, {}, (size_t){})'.format(
                *(f'(void *)(intptr_t){each}' for each in given[:2]), given[2]
            )
        return result, f'{name}({", ".join(given)})'


def parts(line: str) -> tuple[str, str, str]:
    """Return name, code and operands of a line of IR; labels have the code `label`."""
    if line[0] != ' ':
        return line[:-1], 'label', ''
    name, code, rest = INSTRUCTION.fullmatch(line).groups()  # type: ignore[union-attr]
    return name or '', code, rest


def operand(text: str) -> str:
    """Return a name or a constant."""
    if text.startswith('%'):
        return text[1:]
    if text.startswith('0x'):
        (number,) = struct.unpack('>d', bytes.fromhex(text[2:]))
        text = repr(number).replace('inf', 'INFINITY').replace('nan', 'NAN')
    text = {'true': '1', 'false': '0', str(-(2**63)): 'INT64_MIN'}.get(text, text)
    return f'({text})' if text.startswith('-') else text


def compared(relation: str, a: str, b: str) -> str:
    """Return a comparison; letters before the relation are for signs and NaN."""
    if relation == 'uno':
        return f'isnan({a}) || isnan({b})'
    if relation in ('ult', 'ule'):
        a, b = f'(uint64_t){a}', f'(uint64_t){b}'
    return f'{a} {RELATIONS[relation[-2:]]} {b}'


def converted(code: str, of: str, a: str, to: str) -> str:
    """Return a conversion; numbers that do not fit into an integer are not used."""
    if code == 'fptosi':
        return f'{a} >= -TWO_63 && {a} < TWO_63 ? (int64_t){a} : 0'.replace('TWO_63', str(2.0**63))
    if of == 'i32' and code == 'zext':
        return f'(uint32_t){a}'
    return f'({TYPES[to]})({a} & 1)' if to == 'i1' else f'({TYPES[to]}){a}'
