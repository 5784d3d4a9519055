"""The sources of this package at the time of its import.

They decide what a function of the package records, and how a program becomes machine code. They are
read when this module is imported, not when something is first compiled: an upgrade may replace the
files while a process that loaded the old ones waits for its robot.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

PACKAGE = Path(__file__).parents[2]


def contents(package: Path) -> dict[str, bytes]:
    """Return a hash of each source file below a folder; nothing if one cannot be read."""
    try:
        return {
            str(path): hashlib.sha256(path.read_bytes()).digest()
            for path in sorted(package.rglob('*.py'))
            if path.is_file()
        }
    except OSError:
        return {}


def digest(folder: Path) -> str:
    """Return a hash of the files in a folder of this package."""
    start = f'{folder}{os.sep}'
    found = [(path[len(start) :], FILES[path]) for path in FILES if path.startswith(start)]
    return hashlib.sha256(repr(found).encode()).hexdigest()


#: Hashes of all source files by path; empty if the package is an archive, or byte code only.
FILES = contents(PACKAGE)
if __file__ not in FILES:
    FILES = {}
#: What decides how a program becomes machine code.
COMPILING = digest(Path(__file__).parent)
#: What decides what a function of this package records, but for its arguments.
RECORDING = f'{digest(PACKAGE)} {sys.version} {np.__version__}'


def origin(function: Callable[..., Any]) -> str | None:
    """Return file and name of a function of this package, of which `RECORDING` says everything.

    None for any other: from elsewhere, with values of a scope around it, or with the name of a
    function it is not.
    """
    if not isinstance(function, FunctionType) or function.__closure__:
        return None
    names = vars(sys.modules.get(function.__module__, sys))
    if function.__globals__ is not names or names.get(function.__name__) is not function:
        return None
    file = names.get('__file__')  # the name of a module may be __main__
    return f'{Path(file).relative_to(PACKAGE)} {function.__name__}' if file in FILES else None
