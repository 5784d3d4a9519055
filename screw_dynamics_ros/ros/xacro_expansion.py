# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Xacro files, expanded by xacro; errors name the macros and files in which they occurred."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import redirect_stderr, suppress
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from xml.dom import minidom
from xml.parsers.expat import ExpatError, ParserCreate

from ..core.description.xml_document import refuse_srdf
from ..core.errors import ArgumentError

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


STAND_IN = '0'  # valid as number, as condition and in names
PLACEHOLDER = 'VALUE'


class ExpansionError(ArgumentError):
    """A xacro file cannot be expanded, or defines macros only; the text has several lines."""


class Arguments(dict[str, str]):
    """Arguments of a xacro file; missing values are replaced so that xacro continues.

    Attributes
    ----------
    stand_ins : dict
        Substitutes for missing values, in the order of their first use.
    late : dict
        Defaults that are declared after the first use of such an argument.
    asked : set
        Names that xacro requested, including those in $(eval ...), which `XacroSource` does not
        find.
    """

    def __init__(self, given: Mapping[str, str], stand_in: Callable[[str], str]) -> None:
        super().__init__(given)
        self.stand_ins: dict[str, str] = {}
        self.late: dict[str, str] = {}
        self.asked: set[str] = set()
        self._stand_in = stand_in

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)

    def __missing__(self, name: str) -> str:
        if name not in self.stand_ins:
            self.stand_ins[name] = self._stand_in(name)
        return self.stand_ins[name]

    def __setitem__(self, name: str, value: str) -> None:
        if name in self.stand_ins:
            self.late[name] = value
        super().__setitem__(name, value)


def expanded(path: Path, given: Mapping[str, str], option: str) -> str:
    """Return a file expanded by xacro. Its warnings go to standard error, each once.

    Parameters
    ----------
    path : Path
    given : mapping
        Values of arguments.
    option : str
        Text before 'name:=value' on the user's command line.

    Raises
    ------
    ExpansionError
        If xacro is missing or fails, an argument is unknown or has no value, or the file only
        defines macros.
    DescriptionError
        If it only defines macros of an SRDF.
    """
    xacro = imported_xacro()
    xacro.all_includes.clear()  # a global of xacro: includes of the previous file
    first_use = ''

    def source() -> XacroSource:
        return XacroSource([path, *map(Path, xacro.all_includes)])

    def stand_in(name: str) -> str:
        nonlocal first_use
        first_use = first_use or location(xacro)
        default = source().literal_default(name)
        return STAND_IN if default is None else default

    values, messages, failure = Arguments(given, stand_in), io.StringIO(), None
    with redirect_stderr(messages):
        try:
            document = xacro.process_file(str(path), mappings=values)
        except Exception as error:  # expressions in the file can raise anything
            failure = f'xacro cannot expand it: {text_of(error)}\n{location(xacro)}'
    if values.stand_ins:  # further errors may result from these
        if failure is None:
            check_names(given, {*source().names, *values.asked})
        else:
            find_other_includes(xacro, path)
        explained = explain_undefined(values, source(), failure is None, given, option)
        raise ExpansionError(f'{explained}\n{first_use}')
    print_once(messages.getvalue())
    if failure is not None:
        raise ExpansionError(failure)
    check_names(given, {*source().names, *values.asked})
    if not any(node.nodeName == 'link' for node in document.documentElement.childNodes):
        refuse_macros(path, source())
    made: str = document.toprettyxml(indent='  ')
    return made


def imported_xacro() -> Any:
    """Return the module xacro, which is optional."""
    written = minidom.Element.writexml
    try:
        import xacro
    except ImportError:
        debian = f'ros-{os.environ.get("ROS_DISTRO", "<distro>")}-xacro'
        raise ExpansionError(
            f'xacro is not installed; install the package {debian}, or xacro by pip'
        ) from None
    finally:  # xacro replaces it globally
        minidom.Element.writexml = written  # type: ignore[method-assign]
    return xacro


def location(xacro: Any) -> str:
    """Return the macros and files that xacro is processing, as its command prints them."""
    with redirect_stderr(io.StringIO()) as printed:
        xacro.print_location()
    return '\n'.join(line for line, _ in groupby(printed.getvalue().splitlines()))


def find_other_includes(xacro: Any, path: Path) -> None:
    """Add files that xacro has not yet included to `all_includes`."""
    files = [path]
    for file in files:
        for written in XacroSource([file]).includes:
            xacro.init_stacks(str(file))  # names are relative to this file
            # Names may contain properties or missing packages, or match nothing.
            with suppress(Exception), redirect_stderr(io.StringIO()):
                found = map(Path, xacro.get_include_files(written, {}))
                files.extend(each for each in found if each not in files)


def text_of(error: Exception) -> str:
    """Return the text of an error of xacro in one line, without repetitions.

    Such an error has a message, a cause and its place; the message often repeats the cause.
    """
    cause = getattr(error, 'exc', None)
    if cause is None:
        return ' '.join(str(error).split()) or type(error).__name__
    message, reason = str(error.args[0] or ''), text_of(cause)
    if isinstance(cause, OSError) or message.endswith(reason):
        message = ''
    return ' '.join(f'{message} {reason} {getattr(error, "suffix", None) or ""}'.split())


def print_once(messages: str) -> None:
    """Print the warnings of xacro, each with its continuation lines, without repetitions."""
    for message in dict.fromkeys(re.split(r'^(?=warning: )', messages, flags=re.MULTILINE)):
        print(message, end='', file=sys.stderr)


def explain_undefined(
    values: Arguments, source: XacroSource, is_complete: bool, given: Mapping[str, str], option: str
) -> str:
    """Return which arguments have no value, the reason, and how to set them.

    If xacro failed, arguments without default in the unprocessed parts of the files are included.
    """
    names, late = list(values.stand_ins), set(values.late)
    if not is_complete:
        late.update(name for name in names if name in source.declared)
        names += [n for n in source.used if n not in {*source.declared, *values, *names}]
    defaults = known_defaults(late, values, source)
    lines = []
    for name in names:
        place, declaration = source.used.get(name), source.declared.get(name)
        line = f'  {name}, used at {place}: ' if place else f'  {name}: '
        if name not in late:
            line += 'it has no default'
        else:
            line += f'its default {defaults[name]!r}' if name in defaults else 'its default'
            line += ' is declared after the first use'
            line += f', at {declaration.place}' if declaration else ''
        lines.append(line)
    suggested = {**given, **{name: defaults.get(name, PLACEHOLDER) for name in names}}
    return '\n'.join(
        [
            'xacro cannot expand it because arguments have no value:',
            *lines,
            f'set them by {option}{in_quotes(suggested)}',
        ]
    )


def known_defaults(names: Iterable[str], values: Arguments, source: XacroSource) -> dict[str, str]:
    """Return the defaults, except those computed from stand-ins or not evaluated."""
    written = {name: source.literal_default(name) for name in names}
    literal = {name: value for name, value in written.items() if value is not None}
    guessed = values.stand_ins.keys() - literal.keys() - values.late.keys()
    made = {
        name: value
        for name, value in values.late.items()
        if name not in source.declared or guessed.isdisjoint(source.declared[name].needs)
    }
    return literal | made


def in_quotes(values: Mapping[str, str]) -> str:
    """Return 'name:=value name:=value', quoted as one word for a shell."""
    words = ' '.join(shlex.quote(f'{name}:={value}') for name, value in values.items())
    return "'" + words.replace("'", "'\"'\"'") + "'"


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse arguments that no file uses: xacro would ignore them."""
    for name in given:
        if name not in known:
            like = get_close_matches(name, sorted(known), 1)
            hint = f'did you mean {like[0]}? ' if like else ''
            choices = f'{hint}it has {", ".join(sorted(known))}' if known else 'it has none'
            raise ExpansionError(f'it has no argument {name}; {choices}')


def refuse_macros(path: Path, source: XacroSource) -> None:
    """Refuse a file without links that only defines or includes macros."""
    names = [name for name, file in source.macros if file == path]
    names = names or [name for name, _ in source.macros]
    if names:
        refuse_srdf(source.tags)
        raise ExpansionError(
            f'it describes no robot, it only defines macros: {", ".join(names)}; use a file that '
            f'includes it and calls one of them: <xacro:{names[0]} .../>'
        )
