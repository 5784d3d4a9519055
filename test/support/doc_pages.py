# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the tests of doc/ have in common: pages name functions, tests and IDs that exist."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from support.paths import ROOT

#: The modules of the core by the names that pages use; `robot` is a robot there, not a folder.
MODULES: dict[str, list[str]] = {}
for path in (ROOT / 'screw_dynamics_ros' / 'core').rglob('[a-z]*.py'):
    if path.parent.name != 'robot':
        name = '.'.join(path.relative_to(ROOT).with_suffix('').parts)
        MODULES.setdefault(path.stem, []).append(name)


def named_functions(page: Path) -> set[tuple[str, str]]:
    """Return the (module, name) in code on a page; modules are those of the core."""
    named = re.findall(r'`(?:[a-z]+\.)?(\w+)\.([A-Za-z]\w*)', page.read_text())
    return {(module, name) for module, name in named if module in MODULES}


def missing_functions(page: Path) -> list[str]:
    """Return what a page names and its module does not have."""
    return [
        f'{module}.{name}'
        for module, name in sorted(named_functions(page))
        if not any(hasattr(importlib.import_module(found), name) for found in MODULES[module])
    ]


def named_tests(page: Path) -> set[str]:
    """Return the tests in code on a page."""
    return set(re.findall(r'`(test_\w+)`', page.read_text()))


def missing_tests(page: Path, files: str = 'test_*.py') -> list[str]:
    """Return the tests a page names that no file defines."""
    defined = ''.join(path.read_text() for path in (ROOT / 'test').rglob(files))
    return [name for name in sorted(named_tests(page)) if f'def {name}(' not in defined]


def rows_of(page: Path, kinds: str) -> list[str]:
    """Return the IDs that have a row in the tables of a page; `kinds` are their letters."""
    return re.findall(rf'^\| ([{kinds}]-\d+) \|', page.read_text(), re.MULTILINE)


def absent(required: Iterable[str], rows: Sequence[str]) -> list[str]:
    """Return the IDs without a row."""
    return [name for name in required if name not in rows]
