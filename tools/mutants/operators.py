# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds of changes: Cosmic Ray's, without those that only raise, and three of our own.

Most binary operators on floats raise TypeError when they become bitwise ones, which any test finds;
comparisons become their neighbors and their negations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import cosmic_ray.plugins
from cosmic_ray.operators.operator import Example, Operator

Position = tuple[tuple[int, int], tuple[int, int]]

BINARY = {
    'Add': ('Sub',), 'Sub': ('Add',), 'Mul': ('Div', 'Add'), 'Div': ('Mul',), 'Pow': ('Mul',),
    'FloorDiv': ('Div',), 'Mod': ('Mul',), 'BitOr': ('BitAnd',), 'BitAnd': ('BitOr',),
}  # fmt: skip
COMPARISONS = {
    'Lt': ('LtE', 'GtE'), 'LtE': ('Lt', 'Gt'), 'Gt': ('GtE', 'LtE'), 'GtE': ('Gt', 'Lt'),
    'Eq': ('NotEq',), 'NotEq': ('Eq',), 'Is': ('IsNot',), 'IsNot': ('Is',),
}  # fmt: skip
OTHERS = (
    'AddNot', 'ExceptionReplacer', 'NumberReplacer', 'ReplaceAndWithOr', 'ReplaceOrWithAnd',
    'ReplaceBreakWithContinue', 'ReplaceContinueWithBreak', 'ReplaceFalseWithTrue',
    'ReplaceTrueWithFalse', 'ReplaceUnaryOperator_Delete_Invert', 'ReplaceUnaryOperator_Delete_Not',
    'ReplaceUnaryOperator_USub_UAdd', 'ZeroIterationForLoop',
)  # fmt: skip
#: Keyword arguments of help texts and drawings, which people look at.
PRESENTATION = {
    'alpha', 'color', 'description', 'epilog', 'flush', 'fontsize', 'help', 'label', 'layout', 'lw',
    'metavar', 'prog', 'stacklevel', 'usage',
}  # fmt: skip


#: Functions whose first two arguments may change places.
SYMMETRIC = {
    'allclose',
    'array_equal',
    'gcd',
    'hypot',
    'isclose',
    'max',
    'maximum',
    'min',
    'minimum',
}


@cache
def operators() -> dict[str, Operator]:
    """Return the operators by name."""
    names = list(OTHERS)
    for kind, replaced in (('Binary', BINARY), ('Comparison', COMPARISONS)):
        names += [
            f'Replace{kind}Operator_{before}_{after}'
            for before, every in replaced.items()
            for after in every
        ]
    found = {name: cosmic_ray.plugins.get_operator(f'core/{name}')() for name in sorted(names)}
    return found | {each.__name__: each() for each in (SwapArguments, RemoveKeyword, RemoveCall)}


class SwapArguments(Operator):
    """Swaps the first two positional arguments of a call, if their order counts."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the argument list."""
        if len(positional(node)) >= 2 and name_of_function(node) not in SYMMETRIC:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Swap the arguments; each place keeps its whitespace."""
        i, j = positional(node)[:2]
        first, second = node.children[i], node.children[j]
        before, after = first.get_first_leaf().prefix, second.get_first_leaf().prefix
        node.children[i], node.children[j] = second, first
        second.get_first_leaf().prefix, first.get_first_leaf().prefix = before, after
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Return an example."""
        return (Example('f(a, b, c=1)', 'f(b, a, c=1)'),)


class RemoveKeyword(Operator):
    """Removes a keyword argument of a call, so that the default applies."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the keyword arguments."""
        # a list: Cosmic Ray goes on with it when one of them has been removed
        yield from [(node.children[k].start_pos, node.children[k].end_pos) for k in keywords(node)]

    def mutate(self, node: Any, index: int) -> Any:
        """Remove the argument and the comma before it."""
        k = keywords(node)[index]
        del node.children[k - 1 : k + 1]
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Return an example."""
        return (Example('f(a, b=1)', 'f(a)'),)


class RemoveCall(Operator):
    """Removes a statement that is a call."""

    def mutation_positions(self, node: Any) -> Iterator[Position]:
        """Yield the statement."""
        if node.type == 'simple_stmt' and is_call(node.children[0]):
            yield node.children[0].start_pos, node.children[0].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Replace it by pass."""
        call = node.children[0]
        name = call.get_first_leaf()
        name.value = 'pass'
        node.children[0] = name
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Return an example."""
        return (Example('f(a)\n', 'pass\n'),)


def is_call(node: Any) -> bool:
    """Return whether an expression is a call."""
    return node.type == 'atom_expr' and node.children[-1].get_first_leaf().value == '('


def name_of_function(arguments: Any) -> str:
    """Return the last name before an argument list, '' if there is none."""
    call = arguments.parent
    before = call.get_previous_sibling() if call is not None else None
    return before.get_last_leaf().value if before is not None else ''


def positional(node: Any) -> list[int]:
    """Return which children of an argument list are positional arguments, from the second on."""
    if node.type != 'arglist':
        return []
    return [
        k for k, child in enumerate(node.children) if child.type not in ('argument', 'operator')
    ]


def keywords(node: Any) -> list[int]:
    """Return which children of an argument list are keyword arguments."""
    if node.type != 'arglist':
        return []
    return [
        k
        for k, child in enumerate(node.children)
        if k
        and child.type == 'argument'
        and getattr(child.children[1], 'value', '') == '='
        and child.children[0].value not in PRESENTATION
    ]
