# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hashes of the sources of the core at the time of its import, and of formulas outside it.

They determine the recording of a function and its machine code. The sources of the core are read
when this module is imported, not at the first compilation: an upgrade may replace the files while a
process with the old ones still waits for its robot. A file outside the core affects only the
formulas that it defines, and is read when the first of them is looked up.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

PACKAGE = Path(__file__).parents[2]
CORE = PACKAGE / 'core'
#: Wall and monotonic clock [s]: files modified later may differ from the loaded modules.
STARTED, MONOTONIC_START = time.time(), time.monotonic()
MAX_CLOCK_STEP = 1.0  # s; after a larger step of the wall clock, times of files are not comparable


def contents(folder: Path) -> dict[str, bytes]:
    """Return a hash of each source file below a folder; empty if one cannot be read."""
    hashes = {}
    try:
        for path in python_files(folder):
            with open(path, 'rb', buffering=0) as file:
                hashes[path] = hashlib.sha256(file.read()).digest()
    except OSError:
        return {}
    return hashes


def python_files(folder: Path) -> list[str]:
    """Return the paths of the source files below a folder, sorted."""
    return sorted(
        f'{place}{os.sep}{name}'
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith('.py')
    )


def digest(folder: Path) -> str:
    """Return a hash of the files in a folder of the core."""
    start = f'{folder}{os.sep}'
    found = [(path[len(start) :], FILES[path]) for path in FILES if path.startswith(start)]
    return hashlib.sha256(repr(found).encode()).hexdigest()


#: Hashes of the files of the core by path; empty if the package is an archive, or byte code only.
FILES = contents(CORE)
if __file__ not in FILES:
    FILES = {}
#: Determines the machine code of a program.
COMPILING = digest(Path(__file__).parent)
#: Determines, together with its arguments, the recording of a function of the core.
RECORDING = f'{digest(CORE)} {sys.version} {np.__version__}'


def may_be_newer(changed: float) -> bool:
    """Whether a file that was changed at a wall time [s] may have changed since the start.

    The wall clock of a robot without a battery starts before the times of all files.
    """
    now = time.time()
    step = (now - STARTED) - (time.monotonic() - MONOTONIC_START)
    return abs(step) > MAX_CLOCK_STEP or STARTED <= changed <= now


@cache
def text_hash(path: str) -> str | None:
    """Return a hash of a file outside the core.

    None if it cannot be read, or may have changed since this process loaded it.
    """
    try:
        if may_be_newer(os.stat(path).st_ctime):
            return None
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


@cache
def package() -> str | None:
    """Return a hash of the sources of the package and of the versions of Python and NumPy.

    None if they cannot be read, or may have changed since this process loaded them.
    """
    others = [path for path in python_files(PACKAGE) if path not in FILES]
    hashes = [text_hash(path) for path in others]
    names = [path[len(str(PACKAGE)) :] for path in others]
    return None if not FILES or None in hashes else repr((RECORDING, names, hashes))


def origin(function: Callable[..., Any]) -> str | None:
    """Return file and name of a function of this package, as its identity besides `RECORDING`.

    For a function outside the core, hashes follow of its file and of the files of functions that it
    calls. None for any other function: of another package, a closure, or one whose name refers to
    another function.
    """
    file = file_of(function)
    if file is None or not FILES:
        return None
    place = f'{Path(file).relative_to(PACKAGE)} {function.__name__}'
    if file in FILES:
        return place
    hashes = [text_hash(each) for each in sorted(files_outside(function, set()))]
    return None if None in hashes else f'{place} {" ".join(map(str, hashes))}'


def file_of(function: Any, named: Any = None) -> str | None:
    """Return the file of this package that defines a function under its name.

    With `named` the name refers to that object, which is made of the function: a typed one.
    """
    if not isinstance(function, FunctionType) or function.__closure__:
        return None
    names = vars(sys.modules.get(function.__module__, sys))
    if function.__globals__ is not names or names.get(function.__name__) is not (named or function):
        return None
    file = names.get('__file__')  # not the name of the module, which may be __main__
    return file if isinstance(file, str) and file.startswith(f'{PACKAGE}{os.sep}') else None


def files_outside(function: Any, seen: set[FunctionType]) -> set[str]:
    """Return the files outside the core of a function and of the functions it refers to."""
    file = file_of(function)
    if file is None or file in FILES or function in seen:
        return set()
    seen.add(function)
    codes, found = [function.__code__], {file}
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        for name in code.co_names:
            found |= files_outside(function.__globals__.get(name), seen)
    return found
