# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Typed functions from texts, for tests."""

from __future__ import annotations

import ctypes
import linecache
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from screw_dynamics_ros.core.compile.text.typed_c import typed_c
from screw_dynamics_ros.core.compile.typed.functions import declaration_of
from screw_dynamics_ros.core.compile.typed.library import c_type
from support.cpp_programs import COMPILER, STRICT


def loaded(text: str, file: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run the text of a module, whose source is then found under the name of the file."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    result = dict(names)
    exec(compile(text, file, 'exec'), result)
    return result


def in_c(functions: Sequence[Callable[..., Any]], folder: Path) -> list[Any]:
    """Return typed functions printed as C and compiled, as functions of ctypes."""
    if COMPILER is None:
        pytest.skip('no C compiler')
    names, lines = typed_c(functions, 'made')
    headers = [f'#include <{name}.h>' for name in ('math', 'stdint', 'string')]
    (folder / 'made.c').write_text('\n'.join([*headers, *lines, '']))
    options = ['-Wno-tautological-compare', '-Dstatic=', '-O2', '-shared', '-fPIC']
    command = [COMPILER, *STRICT, *options, 'made.c', '-lm', '-o', 'made.so']
    subprocess.run(command, check=True, cwd=folder)
    loaded_library = ctypes.CDLL(folder / 'made.so')
    result = []
    for name, declaration in zip(names, map(declaration_of, functions)):
        types = [c_type(type_) for _, type_ in declaration.parameters]
        prototype = ctypes.CFUNCTYPE(c_type(declaration.result), *types)
        result.append(prototype((name, loaded_library)))
    return result
