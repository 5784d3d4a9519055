# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Binary interfaces of shared objects in C: constants with fields, sizes, hashes and functions.

Programs in C++ read them by headers of screw_dynamics_control with the same types.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..compile.text.c_body import number
from ..compile.text.c_source import CFunction, definitions, prototype
from ..tree.multibody_tree import Tree

#: Units of the fields, by name; of wrenches and twists, those of both parts.
UNITS: Mapping[str, str] = {
    'q': 'rad | m',
    'v': 'rad/s | m/s',
    'a': 'rad/s^2 | m/s^2',
    'tau': 'N m | N',
    'dt': 's',
    'wrench': 'N m, N',
    'twist': 'rad/s, m/s',
    'pose': '1, m',
}

#: Types of fields; `fields.hpp` has the same text.
FIELD_TYPES = """\
#include <stdint.h>

#ifndef SCREW_DYNAMICS_LAW_FIELDS
#define SCREW_DYNAMICS_LAW_FIELDS

/* Numbers with a name in a vector. */
struct screw_dynamics_law_field {
  const char *name;
  const char *unit;
  const char *text; /* meaning of a parameter */
  uint32_t offset;  /* place of the first number in the vector */
  uint32_t size;    /* numbers; matrices are row-major */
  double value;     /* of each number at the start: 0, or the default of a parameter */
  double minimum;   /* bounds of each number, included */
  double maximum;
};

struct screw_dynamics_law_vector {
  uint32_t size;   /* numbers */
  uint32_t count;  /* fields, consecutive from the beginning to the end of the vector */
  const struct screw_dynamics_law_field *fields;
};

#endif
"""


class LawField(NamedTuple):
    """A row of `screw_dynamics_law_field`."""

    name: str
    unit: str
    text: str
    offset: int
    size: int
    value: float = 0.0
    minimum: float = -math.inf
    maximum: float = math.inf


def coordinate_fields(tree: Tree) -> dict[str, list[LawField]]:
    """Return the fields of q and v: a floating base, then the joints that own coordinates."""
    vectors = {}
    kinds = (('q', tree.nq, 'm, 1'), ('v', tree.nv, UNITS['twist']))
    for k, (name, size, unit_of_base) in enumerate(kinds):
        places = [(joint, place[k]) for joint, place in tree.coordinates.items()]
        rows = [LawField(joint, UNITS[name], '', s.start, s.stop - s.start) for joint, s in places]
        base = size - sum(row.size for row in rows)
        if base:
            rows.insert(0, LawField('floating_base', unit_of_base, '', 0, base))
        vectors[name] = rows
    return vectors


def computation(name: str, functions: Sequence[CFunction]) -> Iterator[str]:
    """Yield functions with all operations, unless another object file has them."""
    yield f'#ifdef {name.upper()}_OBJECT'
    for function in functions:
        yield from ('#ifdef __GNUC__', '__attribute__((visibility("hidden")))', '#endif')
        yield f'extern {prototype(function)};'
    yield '#else'
    yield from (f'static {prototype(function)};' for function in functions)
    yield from definitions(functions)
    yield '#endif'


def field_table(vector: str, rows: Sequence[LawField]) -> Iterator[str]:
    """Yield the definition of the fields of a vector, if it has any."""
    if rows:
        yield f'static const struct screw_dynamics_law_field {vector}_fields[] = {{'
        yield from (f'  {{{", ".join(literal(value) for value in row)}}},' for row in rows)
        yield '};'


def vector_constants(vector: str, rows: Sequence[LawField]) -> str:
    """Return the member of the constants for a vector."""
    fields = f'{vector}_fields' if rows else '0'
    return f'  {{{sum(row.size for row in rows)}, {len(rows)}, {fields}}},'


def constants_of(
    kind: str,
    texts: Iterable[str],
    vectors: Mapping[str, Sequence[LawField]],
    gravity: Iterable[float],
    members: Iterable[str],
) -> Iterator[str]:
    """Yield the definition of `screw_dynamics_<kind>`, whose further members come last."""
    name = f'screw_dynamics_{kind}'
    yield f'const struct {name}_constants {name} = {{'
    yield f'  {name.upper()}_VERSION,'
    yield f'  (uint32_t)sizeof(struct {name}_constants),'
    yield from (f'  {literal(text)},' for text in texts)
    yield from (vector_constants(vector, rows) for vector, rows in vectors.items())
    yield f'  {{{", ".join(map(literal, map(float, gravity)))}}},'
    yield from (f'  {member},' for member in members)
    yield '};'


def literal(value: str | float) -> str:
    """Return a text, a whole number or a double as C."""
    if isinstance(value, str):
        return '"' + ''.join(map(character, value.encode())) + '"'
    return str(value) if isinstance(value, int) else number(value)


def character(code: int) -> str:
    """Return a byte of a text in C: itself, or its octal number."""
    plain = chr(code).isalnum() and code < 128
    return chr(code) if plain or code in b' =_+-*/.,:|^()[]' else f'\\{code:03o}'


def compiling(name: str) -> Iterator[str]:
    """Yield the command that makes the shared object, for the comment of the header."""
    yield '  cc -O2 -march=native -fno-math-errno -ffp-contract=fast -shared -fPIC \\'
    yield f'    -o {name}.so {name}.c -lm && sha256sum < {name}.so >> {name}.so'
