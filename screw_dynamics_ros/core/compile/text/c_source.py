# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Print a straight-line program as portable C, for use without Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from screw_dynamics_ros.core.errors import ArgumentError

from ..program.tracing import Operation, Program
from .c_body import CBody
from .c_names import RESERVED
from .c_sincos import FUNCTION as SINCOS

IDENTIFIER = re.compile('[A-Za-z][A-Za-z0-9_]*')
#: Names within functions: intermediate results, and arrays of angles, their sines and cosines.
LOCAL = re.compile(
    'x[0-9]+|([acsw]|in|shared|o[0-9]+)_[0-9]*|part_[0-9]+_of_.*|sines_and_cosines|by_library|any_bit'
    '|ANY_BIT|SELDOM|SIGN|reals|bits|LANES?|VECTORS?|CALL_LIBRARY|one_of|RESTRICT|PART'
    '|NEARBY|real_pack|(LANE_OF_|NEGATIVE_)PACK|PACK_OF|(ADD|SUBTRACT|MULTIPLY)_PACKS'
)

#: One of two numbers. GCC makes branches of conditions whose value it sees, the assembler hides it.
ONE_OF = """\
static inline double one_of(double first, double x, double y) {
  uint64_t a, b, mask = 0 - (uint64_t)(first != 0.0);
  double number;
#if defined(__GNUC__)
  __asm__("" : "+r"(mask));
#endif
  memcpy(&a, &x, sizeof a);
  memcpy(&b, &y, sizeof b);
  a = (a & mask) | (b & ~mask);
  memcpy(&number, &a, sizeof number);
  return number;
}
"""


@dataclass(frozen=True)
class CFunction:
    """A function that reads one array for each input of a program and writes its outputs.

    Attributes
    ----------
    name : str
        An identifier.
    program : Program
    results : tuple of str
        Identifiers of the outputs; the inputs keep the names of the program.
    """

    name: str
    program: Program
    results: tuple[str, ...]


@dataclass(frozen=True)
class CSource:
    """Text of a header and of a source file, in C99 that is also valid C++."""

    header: str
    source: str
    functions: tuple[CFunction, ...]


def c_source(name: str, functions: Sequence[CFunction], comment: Iterable[str]) -> CSource:
    """Return functions without state, memory allocation or data-dependent run time.

    Arrays are row-major, and outputs do not overlap; all inputs are read before an output is
    written. Rounding depends on the compiler, which may use fused multiply-add.

    Parameters
    ----------
    name : str
        Name of the header, `name`.h.
    functions : sequence of CFunction
    comment : iterable of str
        Lines for the header.

    Raises
    ------
    ArgumentError
        If a name is not valid in C, or occurs twice.
    """
    check_names(name, functions)
    prototypes = [line for function in functions for line in (f'{prototype(function)};', '')]
    source = [f'#include "{name}.h"', '', *definitions(functions)]
    return CSource(header(name, comment, prototypes), '\n'.join(source) + '\n', tuple(functions))


def header(
    name: str, comment: Iterable[str], declarations: Iterable[str], types: Iterable[str] = ()
) -> str:
    """Return the text of `name`.h: a comment, types, and declarations with linkage of C."""
    guard = f'{name.upper()}_H'
    lines = [
        '/*',
        *(f' * {in_comment(line)}'.rstrip() for line in comment),
        ' */',
        f'#ifndef {guard}',
        f'#define {guard}',
        '',
        *types,
        '#ifdef __cplusplus',
        'extern "C" {',
        '#endif',
        '',
        *declarations,
        '#ifdef __cplusplus',
        '}',
        '#endif',
        '',
        f'#endif  /* {guard} */',
    ]
    return '\n'.join(lines) + '\n'


def definitions(functions: Sequence[CFunction]) -> Iterator[str]:
    """Yield the lines of functions, after the headers and the function of sines that they need."""
    operations = [op for function in functions for op in function.program.operations]
    bodies = [CBody(function.name, function.program, function.results) for function in functions]
    for_bodies = list(dict.fromkeys(text for body in bodies for text in body.definitions))
    parts = [SINCOS] if for_bodies or any(map(is_trigonometric, operations)) else []
    parts += [ONE_OF] if any(map(is_choice, operations)) else []
    parts += for_bodies
    yield '#include <math.h>'
    if parts or any(body.cleared for body in bodies):
        yield from ('#include <float.h>', '#include <stdint.h>', '#include <string.h>')
    yield from (line for part in parts for line in ('', part))
    for function, body in zip(functions, bodies):
        yield from ('', *body.parts_before(), prototype(function), '{', *body.lines(), '}')


def check_names(name: str, functions: Sequence[CFunction]) -> None:
    """Refuse names that are not valid in C, and duplicate names of arrays."""
    for function in functions:
        arrays = [array for array, _ in function.program.inputs] + list(function.results)
        for given in (name, function.name, *arrays):
            if not is_name(given):
                raise ArgumentError(
                    f'{given!r} cannot be a name in C; take letters, digits and _, and '
                    'no word of C, C++ or their libraries'
                )
        if len(set(arrays)) < len(arrays):
            raise ArgumentError(f'an array is there twice: {", ".join(arrays)}')


def prototype(function: CFunction) -> str:
    """Return the first lines of a function."""
    program = function.program
    parameters = [
        *(f'const double {array}[{size}]' for array, size in program.inputs),
        *(
            f'double {result}[{len(flat)}]'
            for result, (_, flat) in zip(function.results, program.outputs)
        ),
    ]
    return f'void {function.name}(\n    ' + ',\n    '.join(parameters) + ')'


def is_trigonometric(operation: Operation) -> bool:
    """Whether an operation is a sine or a cosine."""
    return operation[0] in ('sin', 'cos')


def is_choice(operation: Operation) -> bool:
    """Whether an operation is one of two numbers."""
    return operation[0] in ('where', 'min', 'max')


def is_name(text: str) -> bool:
    """Whether a text is valid as name of a function, an array and a header, in C and C++."""
    return bool(IDENTIFIER.fullmatch(text)) and not (
        LOCAL.fullmatch(text) or '__' in text or text in RESERVED
    )


def identifier(text: str) -> str:
    """Return a text as part of a name; other characters than letters and digits are replaced."""
    return re.sub('[^A-Za-z0-9]+', '_', text)


def in_comment(line: str) -> str:
    """Return a line that cannot end a comment."""
    return re.sub('[^ -~]', '?', line).replace('*/', '* /')
