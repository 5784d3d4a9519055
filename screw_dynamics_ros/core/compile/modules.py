"""Divide a long module of IR into several, which compile side by side."""

from __future__ import annotations

import re

FUNCTION = re.compile(r'^define .*?^}\n?', re.MULTILINE | re.DOTALL)
DECLARATION = re.compile(r'^declare .*\n', re.MULTILINE)
#: The head of a piece of a program, see `llvm_ir`; its name and parameters are the group.
PIECE = re.compile(r'define internal void (@\w+_\d+\(.*?\)) noinline')


def divided(ir: str, count: int) -> list[str]:
    """Return up to `count` modules that together are the module `ir`.

    The functions that a long program was cut into are shared out, about as much text to each
    module. The first one keeps everything else, and those that call further functions.
    """
    movable = [text for text in FUNCTION.findall(ir) if is_movable(text)]
    place = len(ir) - sum(map(len, movable))
    shares: list[list[str]] = [[] for _ in range(count)]
    for text in movable:
        shares[min(count * place // len(ir), count - 1)].append(text)
        place += len(text)
    declared = {t: f'declare void {signature(t)}\n' for share in shares[1:] for t in share}
    first = FUNCTION.sub(lambda found: declared.get(found.group(), found.group()), ir)
    others = []
    for share in filter(None, shares[1:]):
        visible = (text.replace('define internal', 'define', 1) for text in share)
        others.append(''.join([*DECLARATION.findall(ir), *visible]))
    return [first, *others]


def is_movable(function: str) -> bool:
    """Return whether a function is a piece of a program that calls no other function of it."""
    return PIECE.match(function) is not None and '@sincos(' not in function


def signature(piece: str) -> str:
    """Return the name and the parameters of a piece."""
    found = PIECE.match(piece)
    assert found is not None
    return found.group(1)
