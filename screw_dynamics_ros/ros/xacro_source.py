# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The source of xacro files: declared and used arguments, macros, includes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

#: Uses of an argument: $(arg name) and ${xacro.arg('name')}.
USED = re.compile(r"""\$\(\s*arg\s+([^\s)]+)|\bxacro\.arg\(\s*["']([^"']+)""")


class Declaration(NamedTuple):
    """An argument with a default."""

    place: str  # FILE:LINE
    default: str  # not evaluated

    @property
    def needs(self) -> list[str]:
        """Names of arguments that the default contains."""
        return used_names(self.default)


def used_names(text: str) -> list[str]:
    """Return the names of the arguments that a text uses."""
    return [''.join(names) for names in USED.findall(text)]


class XacroSource:
    """Contents of xacro files, including parts that xacro did not reach.

    Parameters
    ----------
    files : iterable of Path
        The expanded file, then the included ones, which may be missing or not XML.

    Attributes
    ----------
    declared : dict
        The first `Declaration` of each argument.
    used : dict
        The place of the first use of each argument, FILE:LINE.
    macros : list of (str, Path)
        Names of macros, and their files.
    includes : list of str
        Names of included files, as written.
    tags : set of str
        Names of elements.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.declared: dict[str, Declaration] = {}
        self.used: dict[str, str] = {}
        self.macros: list[tuple[str, Path]] = []
        self.includes: list[str] = []
        self.tags: set[str] = set()
        for file in dict.fromkeys(files):
            if file.is_file():
                self._read(file)

    @property
    def names(self) -> set[str]:
        """Names of arguments."""
        return {*self.declared, *self.used}

    def literal_default(self, name: str) -> str | None:
        """Return the default of an argument, None if missing or if xacro has to evaluate it."""
        default = self.declared[name].default if name in self.declared else '$'
        return None if '$' in default else default

    def _read(self, file: Path) -> None:
        parser = ParserCreate()

        def text(words: str) -> None:
            for name in used_names(words):
                self.used.setdefault(name, f'{file}:{parser.CurrentLineNumber}')

        def element(tag: str, attributes: dict[str, str]) -> None:
            self.tags.add(tag)
            name = attributes.get('name', '')
            if tag == 'xacro:arg':
                place = f'{file}:{parser.CurrentLineNumber}'
                self.declared.setdefault(name, Declaration(place, attributes.get('default', '')))
            elif tag == 'xacro:macro':
                self.macros.append((name, file))
            elif tag == 'xacro:include':
                self.includes.append(attributes.get('filename', ''))
            for value in attributes.values():
                text(value)

        parser.StartElementHandler = element
        parser.CharacterDataHandler = text
        parser.buffer_text = True
        with suppress(ExpatError):  # xacro reports it
            parser.Parse(file.read_text(encoding='utf-8', errors='replace'), True)
