"""Print a straight-line program as portable C, for programs without Python."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from screw_dynamics_ros.core.compile.program.tracing import Operation, Program
from screw_dynamics_ros.core.compile.text.c_names import RESERVED
from screw_dynamics_ros.core.compile.text.infix import infix, infix_element
from screw_dynamics_ros.core.errors import ArgumentError

IDENTIFIER = re.compile('[A-Za-z][A-Za-z0-9_]*')
LOCAL = re.compile('x[0-9]+')  # names of intermediate results


@dataclass(frozen=True)
class CSource:
    """One function in C99 that is C++ as well: what goes into a header and into a source file."""

    header: str
    source: str


def c_source(
    program: Program, name: str, results: Sequence[str], comment: Iterable[str]
) -> CSource:
    """Return the function `name`, which reads one array for each input and writes the outputs.

    It has no state, allocates nothing and takes the same time at each call. Arrays are row-major;
    all inputs are read before an output is written. The last digits depend on the compiler, which
    may fuse products with additions.

    Parameters
    ----------
    program : Program
    name : str
        An identifier, also that of the header, `name`.h.
    results : sequence of str
        Identifiers of the outputs; those of the inputs are theirs.
    comment : iterable of str
        Lines for the header.

    Raises
    ------
    ArgumentError
        If a name is none in C, or there twice.
    """
    arrays = [array for array, _ in program.inputs] + list(results)
    for given in (name, *arrays):
        if not is_name(given):
            raise ArgumentError(
                f'{given!r} cannot be a name in C; take letters, digits and _, and '
                'no word of C, C++ or their libraries'
            )
    if len(set(arrays)) < len(arrays):
        raise ArgumentError(f'an array is there twice: {", ".join(arrays)}')
    parameters = [
        *(f'const double {array}[{size}]' for array, size in program.inputs),
        *(f'double {result}[{len(flat)}]' for result, (_, flat) in zip(results, program.outputs)),
    ]
    prototype = f'void {name}(\n    ' + ',\n    '.join(parameters) + ')'
    guard = f'{name.upper()}_H'
    header = [
        '/*',
        *(f' * {in_comment(line)}'.rstrip() for line in comment),
        ' */',
        f'#ifndef {guard}',
        f'#define {guard}',
        '',
        '#ifdef __cplusplus',
        'extern "C" {',
        '#endif',
        '',
        f'{prototype};',
        '',
        '#ifdef __cplusplus',
        '}',
        '#endif',
        '',
        f'#endif  /* {guard} */',
    ]
    source = [f'#include "{name}.h"', '', '#include <math.h>', '', prototype, '{']
    read = {op[1] for op in program.operations if op[0] == 'input'}
    source += [f'  (void){array};' for array, _ in program.inputs if array not in read]
    source += [
        f'  const double x{i} = {expression(operation)};'
        for i, operation in enumerate(program.operations)
    ]
    for result, (_, flat) in zip(results, program.outputs):
        source += [f'  {result}[{k}] = {infix_element(e, number)};' for k, e in enumerate(flat)]
    source += ['}']
    return CSource('\n'.join(header) + '\n', '\n'.join(source) + '\n')


def is_name(text: str) -> bool:
    """Whether a function, an array and a header can be called so, in C and in C++."""
    return bool(IDENTIFIER.fullmatch(text)) and not (
        LOCAL.fullmatch(text) or '__' in text or text in RESERVED
    )


def identifier(text: str) -> str:
    """Return a text as part of a name: letters and digits stay."""
    return re.sub('[^A-Za-z0-9]+', '_', text)


def in_comment(line: str) -> str:
    """Return a line that stays within a comment, whatever names are in it."""
    return re.sub('[^ -~]', '?', line).replace('*/', '* /')


def expression(operation: Operation) -> str:
    """Return the right-hand side of one operation."""
    kind = operation[0]
    if kind == 'input':
        return f'{operation[1]}[{operation[2]}]'
    if kind in ('min', 'max'):  # not fmin, fmax: NaN stays
        c, x, less = number(operation[1]), f'x{operation[2]}', '<' if kind == 'min' else '>'
        return f'{c} {less} {x} ? {c} : {x}'
    return infix(operation, number)


def number(value: float) -> str:
    """Return a constant in C, exactly."""
    if math.isfinite(value):
        return repr(value)
    return 'NAN' if math.isnan(value) else 'INFINITY' if value > 0 else '-INFINITY'
