# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What may import what: no circles of files or folders, and an order of folders.

The table in doc/reference/architecture.md is the order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from itertools import takewhile
from pathlib import Path

import pytest

import screw_dynamics_ros
from support.paths import DOC, ROOT

PACKAGE = Path(screw_dynamics_ros.__file__).parent
NAME = PACKAGE.name

#: Rows of the table in doc/reference/architecture.md: folders and files from the bottom up.
ROWS = [
    re.findall(r'`([\w.]+)`', line.split('|')[2])
    for line in (DOC / 'reference' / 'architecture.md').read_text(encoding='utf-8').split('\n')
    if line.startswith('| **')
]

#: Each place imports only from those before it.
RANKS = {place: rank for rank, place in enumerate(place for row in ROWS for place in row)}


def module_name(file: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = (NAME, *file.relative_to(PACKAGE).with_suffix('').parts)
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


FILES = {module_name(file): file for file in sorted(PACKAGE.rglob('*.py'))}


@cache
def nodes_of(source: str | Path) -> list[ast.AST]:
    """Return all nodes of a text, or of a file."""
    text = source if isinstance(source, str) else source.read_text(encoding='utf-8')
    return list(ast.walk(ast.parse(text)))


def package_of(module: str) -> str:
    """Return the package that relative imports of a module start from."""
    return module if FILES[module].name == '__init__.py' else module.rpartition('.')[0]


def imported(source: str | Path, package: str = '') -> Iterator[str]:
    """Yield the modules of the package that a file of `package` imports, in functions too."""
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name('.' * node.level + (node.module or ''), package)
            for alias in node.names if module.startswith(NAME) else ():
                name = f'{module}.{alias.name}'
                yield name if name in FILES else module


@pytest.fixture(scope='module')
def imports() -> dict[str, set[str]]:
    """Return what each module imports."""
    return {
        module: set(imported(file, package_of(module))) - {module} for module, file in FILES.items()
    }


def steps_up(module: str, other: str) -> int:
    """Return the dots of a relative import of another module; 0 if they share no folder."""
    package, names = package_of(module).split('.'), other.split('.')
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(package, names)))
    return len(package) - shared + 1 if shared else 0


def place(module: str) -> str:
    """Return the first of `ORDER` that a module is in: the longest; '' for none."""
    parts = module.split('.')[1:]
    names = ('.'.join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in RANKS), '')


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Return modules that import one another in a circle, none if there is no such circle."""
    left = {module: set(others) & set(imports) - {module} for module, others in imports.items()}
    while True:
        free = [module for module, others in left.items() if not others]
        if not free:
            return sorted(left)
        for module in free:
            del left[module]
        for others in left.values():
            others.difference_update(free)


def test_no_class_name_exists_twice():
    """One name, one thing."""
    defined: dict[str, list[str]] = {}
    for module, file in FILES.items():
        for node in nodes_of(file):
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in defined.items() if len(modules) > 1} == {}


#: Words that say how much, but not of what; and prefixes of MAX_ and MIN_.
BARE = re.compile(
    '_?(?:AGAIN|APART|CLEAR|CLOSE|DENSE|END|FAR|FARTHEST|FEWEST|FIRST|FLAT|FURTHER|FURTHEST|HARMLESS|'
    'HOPELESS|IMPOSSIBLE|KEPT|LARGE|LARGEST|LAST|LATE|LATEST|LEAST|LIKE|LIKELY|LONGEST|LOOK|MISSED|MORE|'
    'MOST|NEAR|NEARBY|NEVER|NEWEST|NONE|NOTHING|NOWHERE|OLDEST|PATIENCE|RECENT|SAME|SHORTEST|'
    'SMALL|SMALLEST|STILL|SUSPICIOUS|TINY|TURN|WEAK|WIDE|WIDER|WIDEST'
    '|(?:FEWEST|LARGEST|LEAST|LONGEST|MOST|SHORTEST|SMALLEST)_.*)'
)


def constants(source: str | Path) -> Iterator[str]:
    """Yield the names that a file assigns at its top."""
    for node in nodes_of(source)[0].body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for each in (name for target in targets for name in ast.walk(target)):
                if isinstance(each, ast.Name):
                    yield each.id


def test_constants_name_a_quantity():
    """MAX_POSES and SPIN_TIMEOUT_S need no comment; the compiler and the Lie layer keep theirs."""
    bare = [
        f'{module}.{name}'
        for module, file in FILES.items()
        if not module.startswith((f'{NAME}.core.compile.', f'{NAME}.core.lie.'))
        for name in constants(file)
        if BARE.fullmatch(name)
    ]
    assert bare == [], 'name bound and quantity: MAX_POSES, MIN_SPEED, not LARGEST_, SMALLEST_'


def test_a_bare_constant_is_found():
    names = constants(
        'MOST, RATE = 1, 2\nLONGEST_NAME: int = 3\nMAX_POSES = 4\ndef f(): TINY = 1\n'
    )
    assert [name for name in names if BARE.fullmatch(name)] == ['MOST', 'LONGEST_NAME']


def test_no_test_file_has_the_name_of_another():
    """pytest refuses to collect the second one."""
    names = [file.name for file in (DOC.parent / 'test').rglob('test_*.py')]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize('folder', [PACKAGE, ROOT / 'screw_dynamics_control'])
def test_no_file_has_more_than_500_lines(folder: Path):
    files = [file for end in ('py', 'cpp', 'hpp') for file in folder.rglob(f'*.{end}')]
    counts = {file: len(file.read_text(encoding='utf-8').splitlines()) for file in files}
    assert counts
    assert not {file: count for file, count in counts.items() if count > 500}


def test_no_circle_of_files(imports):
    assert circle(imports) == []


def test_no_circle_of_folders_and_their_order_holds(imports):
    wrong = [
        f'{module} imports {other}'
        for module, others in imports.items()
        for other in others
        if place(module)
        and place(other)
        and place(module) != place(other)
        and RANKS[place(other)] >= RANKS[place(module)]
    ]
    assert wrong == []


def test_every_file_has_a_place():
    without = {module for module in FILES if not place(module)}
    assert without == {
        NAME,
        *(f'{NAME}.{file}' for file in ('__main__', 'entry', 'registry', 'ros')),
    }


def test_the_ros_border_needs_little_of_the_core(imports):
    needed = {
        place(other)
        for module, others in imports.items()
        if place(module).startswith('ros')
        for other in others
        if place(other).startswith('core')
    }
    assert needed <= {
        'core.errors',
        'core.types',
        'core.units',
        'core.files',
        'core.lie',
        'core.compile',
        'core.state_clock',
        'core.description',
    }


def test_the_page_is_short_enough_to_read():
    assert 10 <= len(ROWS) <= 20
    assert (
        len((DOC / 'reference' / 'architecture.md').read_text(encoding='utf-8').split('\n')) <= 50
    )
    folders = [
        folder for folder in (PACKAGE / 'core').iterdir() if (folder / '__init__.py').exists()
    ]
    assert len(folders) <= 20
    names = [place for row in ROWS for place in row]
    assert len(names) == len(set(names))
    assert [name for name in names if not any(place(module) == name for module in FILES)] == []


def test_nothing_imports_the_textbook(imports):
    """Functions that only the source documents need stay apart."""
    textbook = f'{NAME}.core.textbook'
    found = {
        module
        for module, others in imports.items()
        if not module.startswith(textbook)
        for other in others
        if other.startswith(textbook)
    }
    assert found == set()


@pytest.mark.parametrize('folder', ['core', 'ros', 'nodes', 'cli'])
def test_the_core_knows_no_ros_and_ros_no_nodes(imports, folder):
    names = ['core', 'ros', 'nodes', 'cli']
    higher = {f'{NAME}.{name}' for name in names[names.index(folder) + 1 :]}
    found = [
        f'{module} imports {other}'
        for module, others in imports.items()
        if module.startswith(f'{NAME}.{folder}')
        for other in others
        if any(other.startswith(name) for name in higher)
    ]
    assert found == []


def test_a_circle_is_found():
    assert circle({'a': {'b'}, 'b': {'c'}, 'c': {'b'}, 'd': set()}) == ['a', 'b', 'c']
    assert circle({'a': {'b'}, 'b': {'c'}, 'c': set()}) == []
    assert set(imported(f'def f():\n    from {NAME}.core import errors')) == {f'{NAME}.core.errors'}


def test_imports_of_near_modules_are_relative():
    """Up to the folder above, in the core all; a file that runs as a script has absolute ones."""
    core = f'{NAME}.core.'
    absolute = {
        f'{module}: {node.module}'
        for module, file in FILES.items()
        if file.name != 'compiler_process.py'
        for node in nodes_of(file)
        if isinstance(node, ast.ImportFrom)
        and not node.level
        and node.module
        and (
            0 < steps_up(module, node.module) <= 2
            or (module.startswith(core) and node.module.startswith(core))
        )
    }
    assert not absolute
