# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws from the library, from modules and from files, which may change while they run."""

from __future__ import annotations

import importlib.util
import linecache
import os
import types
from collections.abc import Sequence
from functools import reduce
from operator import add
from pathlib import Path

from screw_dynamics_ros.core import files
from screw_dynamics_ros.core.errors import ArgumentError, UnknownNameError
from screw_dynamics_ros.core.motion.laws.law import Law
from screw_dynamics_ros.core.motion.laws.library import LAWS

MAX_FILE_BYTES = 2**20


class LawSource:
    """A law, or a sum of laws, by name.

    Parameters
    ----------
    text : str
        Names separated by '+': of laws in `core.law.LAWS`, 'module:law' or '/path/file.py:law'.

    Raises
    ------
    ArgumentError, UnknownNameError
        If there is no such law, or others may have written its file.
    """

    def __init__(self, text: str) -> None:
        self._names = [each.strip() for each in text.split('+')]
        self._files = {name: path for name in self._names if (path := file_of(name))}
        self._seen = self._stamps()
        self.law = self._load()

    def _stamps(self) -> list[tuple[int, int]]:
        found = []
        for path in self._files.values():
            try:
                state = path.stat()
                found.append((state.st_mtime_ns, state.st_size))
            except OSError:
                found.append((0, 0))
        return found

    def changed(self) -> Law | None:
        """Return the law again if a file has changed; raises as the class."""
        stamps = self._stamps()
        if stamps == self._seen:
            return None
        self._seen = stamps
        return self._load()

    def _load(self) -> Law:
        return reduce(add, map(self._one, self._names))

    def _one(self, name: str) -> Law:
        path = self._files.get(name)
        if path is None:
            if name not in LAWS:
                raise UnknownNameError(
                    f'there is no law {name!r}; there are {", ".join(LAWS)}, module:law and '
                    '/path/file.py:law'
                )
            return LAWS[name]
        attribute = name.rpartition(':')[2]
        found = getattr(module_of(path), attribute, None)
        if not isinstance(found, Law):
            raise ArgumentError(
                f'{path.name} has no law {attribute!r}; decorate a function with control_law'
            )
        return found


def file_of(name: str) -> Path | None:
    """Return the file of 'module:law' or '/path/file.py:law', None for other names."""
    place, colon, _ = name.rpartition(':')
    if not colon:
        return None
    if place.endswith('.py') or os.sep in place:
        return Path(place)
    try:
        found = importlib.util.find_spec(place)
    except (ImportError, ValueError) as error:
        raise ArgumentError(f'law {name!r}: {error}') from None
    if found is None or not found.has_location or found.origin is None:
        raise ArgumentError(f'law {name!r}: there is no module {place!r}')
    return Path(found.origin)


def module_of(path: Path) -> types.ModuleType:
    """Execute a file as a new module; raises `ArgumentError`."""
    try:
        reason = files.why_not_trusted(path)
        source = b'' if reason else files.read(path, MAX_FILE_BYTES)
    except OSError as error:
        raise ArgumentError(f'law file {path.name}: {error.strerror}') from None
    if reason:
        raise ArgumentError(f'law file {path.name} is not executed: {reason}')
    linecache.checkcache(str(path))  # for the lines of errors
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        exec(compile(source, str(path), 'exec'), module.__dict__)
    except Exception as error:
        raise ArgumentError(f'law file {path.name}: {type(error).__name__}: {error}') from None
    return module


def options_of(assignments: Sequence[str]) -> dict[str, str]:
    """Return the options of a law from texts 'name=value'; raises `ArgumentError`."""
    options = {}
    for text in filter(None, assignments):
        name, equals, value = text.partition('=')
        if not equals or not name.isidentifier():
            raise ArgumentError(f'law_options: {text!r} is not name=value')
        options[name] = value
    return options
