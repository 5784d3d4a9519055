"""No file of the package imports itself by way of others, not even for annotations."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import screw_dynamics_ros

PACKAGE = Path(screw_dynamics_ros.__file__).parent
NAME = PACKAGE.name


def module_name(file: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = (NAME, *file.relative_to(PACKAGE).with_suffix('').parts)
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


FILES = {module_name(file): file for file in sorted(PACKAGE.rglob('*.py'))}


def imported(source: str) -> Iterator[str]:
    """Yield the modules of the package that a file imports, in functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(NAME):
            for alias in node.names:
                name = f'{node.module}.{alias.name}'
                yield name if name in FILES else node.module


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


@pytest.mark.parametrize('folder', ['core', 'ros', 'cli'])
def test_no_circle_of_imports(folder):
    imports = {
        module: set(imported(file.read_text(encoding='utf-8')))
        for module, file in FILES.items()
        if module.startswith(f'{NAME}.{folder}')
    }
    assert len(imports) > 10
    assert circle(imports) == []


def test_a_circle_is_found():
    assert circle({'a': {'b'}, 'b': {'c'}, 'c': {'b'}, 'd': set()}) == ['a', 'b', 'c']
    assert circle({'a': {'b'}, 'b': {'c'}, 'c': set()}) == []
    assert set(imported(f'def f():\n    from {NAME}.core import errors')) == {f'{NAME}.core.errors'}
