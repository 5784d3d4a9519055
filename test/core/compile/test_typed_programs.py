# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Random programs give the same bits compiled as in Python, where integers are made to wrap.

Each expression and statement is a pair of texts: of the typed function, and of a Python function
in which operations that differ are written as functions of this file.
"""

from __future__ import annotations

import math
import random
import struct

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.typed.functions import Floats, Ints, typed
from screw_dynamics_ros.core.compile.typed.library import compiled
from support.compilation import needs_llvmlite
from support.typed_source import in_c, loaded

pytestmark = needs_llvmlite

PROGRAMS, CALLS = 40, 12
HIGH = 2**63
SPECIAL_INTS = [0, 1, -1, 3, 63, 64, 2**31, 2**53 + 1, HIGH - 1, -HIGH]
SPECIAL_FLOATS = [0.0, -0.0, 0.5, 2.5, -1.5, 5e-324, 1e308, -1e19, math.inf, -math.inf, math.nan]

Pair = tuple[str, str]


def wrap(value: int) -> int:
    return (value + HIGH) % (2 * HIGH) - HIGH


def quotient(a: int, b: int) -> int:
    return wrap(a // b) if b else 0


def remainder(a: int, b: int) -> int:
    return a % b if b else 0


def left(a: int, b: int) -> int:
    return wrap(a << b) if 0 <= b < 64 else 0


def right(a: int, b: int) -> int:
    return a >> (b if 0 <= b < 64 else 63)


def divide(a: float, b: float) -> float:
    with np.errstate(all='ignore'):
        return float(np.divide(a, b))


def whole(function):
    def saturated(x: float) -> int:
        return 0 if math.isnan(x) else function(min(max(x, -1e30), 1e30))

    return lambda x: min(max(saturated(x), -HIGH), HIGH - 1)


def exponential(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


NAMES = {
    'divide': divide,
    'exponential': exponential,
    'floor': whole(math.floor),
    'left': left,
    'math': math,
    'nearest': whole(round),
    'quotient': quotient,
    'remainder': remainder,
    'right': right,
    'truncated': whole(int),
    'wrap': wrap,
    'typed': typed,
    'Ints': Ints,
    'Floats': Floats,
}
#: Templates of the two texts by the types of result and operands: i, f, b.
INT = [
    ('ii', '({0} // {1})', 'quotient({0}, {1})'),
    ('ii', '({0} % {1})', 'remainder({0}, {1})'),
    ('ii', '({0} << {1})', 'left({0}, {1})'),
    ('ii', '({0} >> {1})', 'right({0}, {1})'),
    ('ii', 'min({0}, {1})', ''),
    ('iii', 'max({0}, {1}, {2})', ''),
    ('i', '(-{0})', 'wrap(-{0})'),
    ('i', '(~{0})', ''),
    ('i', 'abs({0})', 'wrap(abs({0}))'),
    ('i', 'ints[{0} & 7]', ''),
    ('b', 'int({0})', ''),
    ('f', 'int({0})', 'truncated({0})'),
    ('f', 'round({0})', 'nearest({0})'),
    ('f', 'math.floor({0})', 'floor({0})'),
    ('bii', '({1} if {0} else {2})', ''),
    *[('ii', f'({{0}} {how} {{1}})', f'wrap({{0}} {how} {{1}})') for how in '+-*&|^'],
]
FLOAT = [
    *[('ff', f'({{0}} {how} {{1}})', '') for how in '+-*'],
    ('ff', '({0} / {1})', 'divide({0}, {1})'),
    ('f', '(-{0})', ''),
    ('f', 'abs({0})', ''),
    ('ff', 'min({0}, {1})', ''),
    ('fff', 'max({0}, {1}, {2})', ''),
    ('i', 'float({0})', ''),
    ('i', 'floats[{0} & 7]', ''),
    ('f', '(2 * {0})', ''),
    ('f', 'math.exp({0})', 'exponential({0})'),
    ('f', 'math.cos(min(max({0}, -1e9), 1e9))', ''),
    ('f', 'math.sin(min(max({0}, -1e9), 1e9))', ''),
    ('f', 'math.sqrt(abs({0}))', ''),
    ('ffi', 'math.copysign({0}, {1} if not math.isnan({1}) else float({2}))', ''),
    ('bff', '({1} if {0} else {2})', ''),
]
BOOL = [
    *[(2 * kind, f'({{0}} {how} {{1}})', '') for how in ('<', '<=', '==', '!=') for kind in 'if'],
    ('iii', '({0} < {1} >= {2})', ''),
    ('bb', '({0} and {1})', ''),
    ('bbb', '({0} or {1} or {2})', ''),
    ('b', '(not {0})', ''),
    ('f', 'math.isfinite({0})', ''),
    ('i', 'bool({0})', ''),
]
TEMPLATES = {'i': INT, 'f': FLOAT, 'b': BOOL}


class Generator:
    """Writes one random program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = {'i': ['a', 'b'], 'f': ['x', 'y'], 'b': ['c']}
        self.lines: list[Pair] = []
        self.created = 0

    def expression(self, kind: str, depth: int) -> Pair:
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf(kind)
        operands, text, reference = self.random.choice(TEMPLATES[kind])
        parts = [self.expression(each, depth - 1) for each in operands]
        return (
            text.format(*(part[0] for part in parts)),
            (reference or text).format(*(part[1] for part in parts)),
        )

    def leaf(self, kind: str) -> Pair:
        name, number = self.random.choice(self.names[kind]), self.random.randint(-9, 99)
        if self.random.random() < 0.7 or kind == 'b':
            return name, name
        return (f'({name} ^ {number})' if kind == 'i' else f'({name} + {number}.5)',) * 2

    def add(self, indent: int, text: str, *parts: Pair) -> None:
        self.lines.append(
            tuple(  # type: ignore[arg-type]
                '    ' * indent + text.format(*(part[side] for part in parts)) for side in (0, 1)
            )
        )

    def block(self, indent: int, depth: int, in_loop: bool) -> None:
        known = {kind: list(names) for kind, names in self.names.items()}
        for _ in range(self.random.randint(1, 4)):
            self.statement(indent, depth, in_loop)
        if in_loop and self.random.random() < 0.4:
            self.add(indent, 'if {}:', self.expression('b', 2))
            self.add(indent + 1, self.random.choice(['break', 'continue']))
        self.names = known

    def statement(self, indent: int, depth: int, in_loop: bool) -> None:
        how = self.random.randrange(9 if depth else 6)
        kind = self.random.choice('iiffb')
        if how < 3:
            value = self.expression(kind, 3)  # names in it come first
            self.add(indent, f'{self.random.choice(self.names[kind])} = {{}}', value)
        elif how == 3:
            self.created += 1
            name = f'{kind}{self.created}'
            self.add(indent, f'{name} = {{}}', self.expression(kind, 2))
            self.names[kind].append(name)
        elif how in (4, 5):
            array, kind = self.random.choice([('ints', 'i'), ('floats', 'f')])
            index, value = self.expression('i', 1), self.expression(kind, 2)
            self.add(indent, f'{array}[{{}} & 7] = {{}}', index, value)
        elif how == 6:
            self.add(indent, 'if {}:', self.expression('b', 2))
            self.block(indent + 1, depth - 1, in_loop)
            if self.random.random() < 0.6:
                self.add(indent, 'else:')
                self.block(indent + 1, depth - 1, in_loop)
        else:
            self.loop(indent, depth, how == 7)

    def loop(self, indent: int, depth: int, is_for: bool) -> None:
        self.created += 1
        name = f'k{self.created}'
        if is_for:
            first, last = self.expression('i', 1), self.expression('i', 1)
            step = self.random.choice([1, 2, -1, -3])
            self.add(indent, f'for {name} in range({{}} % 7, {{}} % 7, {step}):', first, last)
        else:
            self.add(indent, f'{name} = 4')
            self.add(indent, f'while {name} > 0 and {{}}:', self.expression('b', 2))
            self.add(indent + 1, f'{name} -= 1')
        self.block(indent + 1, depth - 1, True)

    def program(self, name: str) -> Pair:
        result = self.random.choice('ifb')
        for _ in range(4):
            self.statement(1, 2, False)
        self.add(1, 'return {}', self.expression(result, 2))
        type_ = {'i': 'int', 'f': 'float', 'b': 'bool'}[result]
        head = (
            f'def {name}(a: int, b: int, x: float, y: float, c: bool, ints: Ints, '
            f'floats: Floats) -> {type_}:'
        )
        return tuple('\n'.join([head, *(line[side] for line in self.lines)]) for side in (0, 1))


def bits(value: object) -> object:
    """Return the bits of a float, one NaN for all; other values unchanged."""
    if isinstance(value, float):
        return 'nan' if value != value else struct.pack('<d', value)
    return value


@pytest.fixture(scope='module', params=['machine code', 'C'])
def programs(request, tmp_path_factory):
    """Pairs of Python functions and compiled ones, and the texts."""
    pairs = [Generator(seed).program(f'program{seed}') for seed in range(PROGRAMS)]
    names = loaded('\n'.join(f'@typed\n{text}\n' for text, _ in pairs), '<programs>', NAMES)
    references = loaded('\n\n'.join(text for _, text in pairs), '<references>', NAMES)
    functions = [names[f'program{seed}'] for seed in range(PROGRAMS)]
    if request.param == 'C':
        runs = in_c(functions, tmp_path_factory.mktemp('typed'))
    else:
        runs = map(compiled(functions).callable, functions)
    return [
        (references[function.__name__], run, text)
        for function, run, (text, _) in zip(functions, runs, pairs)
    ]


def test_random_programs(programs):
    rng = random.Random(1)
    for reference, run, text in programs:
        for _ in range(CALLS):
            integers = [
                rng.choice(SPECIAL_INTS) if rng.random() < 0.4 else rng.randint(-99, 99)
                for _ in range(10)
            ]
            reals = [
                rng.choice(SPECIAL_FLOATS) if rng.random() < 0.4 else rng.gauss(0, 3)
                for _ in range(10)
            ]
            numbers = (*integers[:2], *reals[:2], rng.random() < 0.5)
            arrays = np.array(integers[2:]), np.array(reals[2:])
            copies = [array.copy() for array in arrays]
            wanted = reference(*numbers, *map(memoryview, arrays))
            found = run(*numbers, *(copy.ctypes.data for copy in copies))
            assert bits(found) == bits(wanted), text
            for copy, array in zip(copies, arrays):
                assert list(map(bits, copy.tolist())) == list(map(bits, array.tolist())), text
