# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What typed functions refuse, with file, line and construct."""

from __future__ import annotations

import linecache
import math
import re

import numpy as np
import pytest

from screw_dynamics_ros.core.compile.typed.external import External, Signature
from screw_dynamics_ros.core.compile.typed.functions import (
    Bytes,
    Floats,
    Ints,
    TypedFunctionError,
    typed,
)
from screw_dynamics_ros.core.compile.typed.library import compiled
from screw_dynamics_ros.core.errors import ArgumentError
from support.compilation import needs_llvmlite
from support.typed_source import loaded

NAMES = {'typed': typed, 'Ints': Ints, 'Floats': Floats, 'Bytes': Bytes, 'math': math}
HEAD = '@typed\ndef f(n: int, x: float, b: bool, r: Floats, i: Ints) -> float:\n'
#: Lines of the body, separated by `;`; the last one is at fault.
BODIES = {
    'a: int = x': "the value 'x' is float, not int",
    'a = n; a = x': 'a is int and cannot be float; write float(...), int(...)',
    'return n / 2': 'n / 2: no Div of int and int; write //, or float(...) / float(...)',
    'return 3': "the result '3' is int, not float",
    'return None': 'the result is declared as float',
    'return x if x < n else x': 'x < n: no Lt of float and int',
    'return x if n else x': "the condition 'n' is int, not bool; write a comparison",
    'return x if b else n': 'is float or int',
    'return x // 2.0': 'no FloorDiv of float and float',
    'r[0] = 1': 'an element is float, the value int',
    'r[-1] = x': 'negative indices are not supported',
    'r[x] = x': "the index 'x' is float, not int",
    'return n[0]': 'n is int, which has no elements',
    'return r[1:3][0]': 'r[1:3]: slices have the form x[a:]',
    'a, c = n, n': "'(n, n)' (Tuple) is not supported",
    'a = r; a = i': 'a is Floats and cannot be Ints',
    'for k in r: pass': 'r: only range(...) can be iterated',
    'for k in range(n, 0, n): pass': 'the step must be a constant, not 0',
    'return print(x)': 'print is neither a typed function nor known',
    'return max(x, n)': 'max does not take float, int',
    'return math.exp(n)': "in math.exp(), 'n' is int, not float",
    'return float(x=1)': 'pass arguments by position',
    'return undefined': 'the name undefined is not defined',
    'return math': 'math is module: only int, float and bool',
    'return x.real': 'x is float, without a field real',
    'return 2**63 + n': '9223372036854775808 does not fit into 64 bits',
    'return 1 // 0': '1 // 0 has no value: integer division or modulo by zero',
    'assert b': "'assert b' (Assert) is not supported",
    'return x; n = 2': 'this statement is never reached',
    'n + 1': 'n + 1 has no effect',
    'n += 1': 'a path ends without return',
    'return -b': 'no operation USub of bool',
    'return not n': "the operand of not 'n' is int",
    'while b: a = x': 'a path ends without return',
    'a: float; return a': 'a has no value on some path',
    'return f(n, x, b, r, i)': 'recursion: f is called from f',
}


@needs_llvmlite
@pytest.mark.parametrize('body', BODIES)
def test_refused_body(body):
    lines = body.split('; ')
    function = loaded(HEAD + ''.join(f'    {line}\n' for line in lines), '<refused>', NAMES)['f']
    with pytest.raises(TypedFunctionError) as caught:
        compiled([function])
    assert str(caught.value).startswith(f'<refused>:{2 + len(lines)}: f: ')
    assert BODIES[body] in str(caught.value)


@needs_llvmlite
def test_value_on_some_paths_only():
    text = HEAD + '    if b:\n        a = x\n    return a\n'
    with pytest.raises(TypedFunctionError, match=r'<some>:5: f: a has no value on some path'):
        compiled([loaded(text, '<some>', NAMES)['f']])


@needs_llvmlite
def test_recursion_of_two_functions():
    text = '@typed\ndef f(x: int) -> int:\n    return g(x)\n'
    names = loaded(text + text.replace('f(x:', 'g(x:').replace('g(x)\n', 'f(x)\n'), '<two>', NAMES)
    with pytest.raises(TypedFunctionError, match=r'<two>:6: g: recursion: f is called from f, g'):
        compiled([names['f']])


@pytest.mark.parametrize(
    ('head', 'text'),
    [
        ('(x) -> int', 'x has no annotation'),
        ('(x: int)', 'return has no annotation'),
        ('(x: str) -> int', "x has the type <class 'str'>: choose one of int, float"),
        ('(x: missing) -> int', 'an annotation cannot be evaluated'),
        ('(x: int = 1) -> int', 'x has a default'),
        ('(*, x: int) -> int', 'x is not passed by position'),
        ('(x: None) -> int', 'x has the type None'),
        ('(x: Ints) -> Ints', 'returns an array'),
    ],
)
def test_refused_declaration(head, text):
    source = f'from __future__ import annotations\n@typed\ndef f{head}:\n    return x\n'
    with pytest.raises(TypedFunctionError, match=re.escape('<head>:2: f: ') + re.escape(text)):
        loaded(source, '<head>', NAMES)


def test_closure_is_refused():
    text = 'def g(y):\n    def f(x: int) -> int:\n        return x + y\n    return f\n'
    with pytest.raises(TypedFunctionError, match=r'<in>:2: f: uses y of the enclosing function'):
        typed(loaded(text, '<in>', NAMES)['g'](1))


@needs_llvmlite
def test_source_that_has_changed():
    """Compiled code is never that of another version than the function in use."""
    text = '@typed\ndef f(x: int) -> int:\n    return x + 1\n'
    function = loaded(text, '<changed>', NAMES)['f']
    compiled([function])
    changed = text.replace('+', '-').splitlines(keepends=True)
    linecache.cache['<changed>'] = (len(text), None, changed, '<changed>')
    with pytest.raises(TypedFunctionError, match=r'<changed>:1: f: its source is not available'):
        compiled([function])


@pytest.mark.parametrize(
    'array',
    [np.zeros(4, np.float32), np.zeros((2, 2)), np.zeros(8)[::2], np.zeros(4, '>f8'), [0.0]],
    ids=['float32', 'matrix', 'strided', 'big-endian', 'list'],
)
def test_arrays_of_other_types(array):
    names = loaded('@typed\ndef f(x: Floats) -> float:\n    return x[0]\n', '<array>', NAMES)
    assert type(names['f'](np.ones(1))) is float
    with pytest.raises(ArgumentError, match='f: x must be a contiguous vector for Floats, found'):
        names['f'](array)


@needs_llvmlite
def test_functions_that_are_not_typed():
    with pytest.raises(ArgumentError, match=r'sqrt.* is not a typed function'):
        compiled([math.sqrt])
    with pytest.raises(ArgumentError, match="no C type 'float'; choose one of i32"):
        External('sinf', ('float',), 'float')
    with pytest.raises(ArgumentError, match='an argument of a C function cannot be void'):
        Signature(('void',), 'i32')
