# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The changes that the operators make in files of the package, at most one in each line."""

from __future__ import annotations

import ast
import hashlib
import random
import subprocess
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tools.mutants.operators import operators

Range = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Change:
    """One change in one line.

    Attributes
    ----------
    file : str
        Relative to the root.
    line : int
    operator : str
    before, after : str
        The line, without indentation.
    code : str
        The changed file.
    """

    file: str
    line: int
    operator: str
    before: str
    after: str
    code: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays the same if lines are added above."""
        return self.file, self.before, self.after


def python_files(root: Path, paths: Iterable[str]) -> list[str]:
    """Return the source files in folders, relative to the root, but for those that draw."""
    files: set[Path] = set()
    for path in paths:
        place = root / path
        if not place.exists():
            raise SystemExit(f'{path}: there is no such file or folder')
        files.update([place] if place.is_file() else place.rglob('*.py'))
    # drawings are looked at
    files = {file for file in files if file.name != 'picture.py'}
    return sorted(str(file.relative_to(root)) for file in files)


@cache
def can_be_imported(file: str) -> bool:
    """Return whether the libraries that a file imports are installed."""
    if file.endswith('__main__.py'):
        return True
    try:
        import_module('.'.join(Path(file).with_suffix('').parts))
    except ImportError:
        return False
    return True


def changed_lines(root: Path, revision: str) -> dict[str, set[int]]:
    """Return the lines of the package's files that differ from a revision."""
    command = ['git', 'diff', '--unified=0', '--no-color', revision, '--', 'screw_dynamics_ros']
    diff = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    lines: dict[str, set[int]] = defaultdict(set)
    file = ''
    for line in diff.splitlines():
        if line.startswith('+++ '):
            file = line.removeprefix('+++ b/')
        elif line.startswith('@@') and file.endswith('.py'):
            start, _, count = line.split()[2].removeprefix('+').partition(',')
            lines[file].update(range(int(start), int(start) + int(count or 1)))
    return dict(lines)


def changes_of(
    root: Path,
    files: Iterable[str],
    lines: Mapping[str, set[int]] | None = None,
    sample: int | None = None,
    seed: int = 1,
) -> list[Change]:
    """Return one change of each line of files, of some lines, or of a random sample of lines.

    Both are drawn for each line by its text: they stay the same when other lines change.
    """
    sources = {file: (root / file).read_text() for file in files}
    candidates = {
        (file, line): every
        for file, source in sources.items()
        for line, every in sorted(lines_with_changes(source).items())
        if lines is None or line in lines[file]
    }
    numbers = {
        (file, line): number
        for file, source in sources.items()
        for line, number in numbers_of_lines(file, source, seed).items()
    }
    changes = (
        change_of(file, line, sources[file], candidates[file, line], numbers[file, line])
        for file, line in sorted(candidates, key=numbers.__getitem__)
    )
    found = islice((change for change in changes if change is not None), sample)
    return sorted(found, key=lambda change: (change.file, change.line))


def numbers_of_lines(file: str, source: str, seed: int) -> dict[int, int]:
    """Return a random number of each line, of its text and how often that stands above."""
    seen, numbers = Counter[str](), dict[int, int]()
    for line, text in enumerate(map(str.strip, source.splitlines()), 1):
        key = f'{seed} {file} {seen[text]} {text}'
        numbers[line] = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], 'big')
        seen[text] += 1
    return numbers


def lines_with_changes(source: str) -> dict[int, list[tuple[str, int]]]:
    """Return the changes of each line: names of operators, and which of their places it is."""
    without_effect = ranges_without_effect(source)
    nodes = list(ast_nodes(get_ast(source)))
    lines: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for name, operator in operators().items():
        places = ((node, start) for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, (node, place) in enumerate(places):
            if not is_star_of_parameters(node) and not any(
                start <= place < end for start, end in without_effect
            ):
                lines[place[0]].append((name, occurrence))
    return lines


def within(place: tuple[int, int], ranges: Iterable[Range]) -> bool:
    """Return whether a place is in a range."""
    return any(start <= place < end for start, end in ranges)


def is_star_of_parameters(node: Any) -> bool:
    """Return whether a node is the star or slash of a signature, and no product or quotient."""
    return node.type == 'operator' and node.parent.type in ('parameters', 'param')


def change_of(
    file: str, line: int, source: str, candidates: list[tuple[str, int]], number: int
) -> Change | None:
    """Return a random one of the changes of a line; None if none of them compiles."""
    order = random.Random(number)
    for name, occurrence in order.sample(candidates, len(candidates)):
        code = mutate_code(source, operators()[name], occurrence)
        if code is None or not compiles(code):
            continue
        pairs = zip(source.splitlines(), code.splitlines())
        before, after = next(((a, b) for a, b in pairs if a != b), ('', ''))
        return Change(file, line, name, before.strip(), after.strip(), code)
    return None


def compiles(code: str) -> bool:
    """Return whether Python reads a file."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', SyntaxWarning)
        try:
            compile(code, 'changed', 'exec')
        except SyntaxError:
            return False
    return True


def ranges_without_effect(source: str) -> list[Range]:
    """Return where no result changes: annotations, conditions of type checkers, texts."""
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for each in ast.walk(ast.parse(source))
        for node in without_effect(each)
    ]


def without_effect(node: ast.AST) -> list[ast.expr]:
    """Return annotations of a definition or statement, conditions of type checkers, and texts."""
    found: list[ast.expr | None] = []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        every += [each for each in (node.args.vararg, node.args.kwarg) if each is not None]
        found = [node.returns, *(each.annotation for each in every)]
    elif isinstance(node, ast.AnnAssign):
        found = [node.annotation]
    elif isinstance(node, ast.If) and ast.unparse(node.test) == 'TYPE_CHECKING':
        found = [node.test]
    elif isinstance(node, ast.JoinedStr):
        found = [node]
    return [each for each in found if each is not None]
