# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pages of the Python API: one for class Robot by subject, one for each folder of the core."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

from screw_dynamics_ros import core
from screw_dynamics_ros.core.robot import robot, robot_functions, robot_problems, robot_properties

CORE = Path(core.__file__).parent
PACKAGE = 'screw_dynamics_ros'
ROBOT = f'{PACKAGE}.core.Robot'

#: A comment between methods: their subject, and the page about it.
SUBJECT = re.compile(r'^    # --- (.*?)(?:; doc/(\S+)\.md)? -+$', re.MULTILINE)

#: What is documented elsewhere: the page of class Robot has its methods.
EXCLUDED = {
    f'{PACKAGE}.core.robot.robot': 'Robot',
    f'{PACKAGE}.core.robot.robot_functions': 'RobotFunctions',
    f'{PACKAGE}.core.robot.robot_properties': 'RobotProperties',
    f'{PACKAGE}.core.robot.robot_problems': 'RobotProblems',
}

#: What is code on a line of a docstring, or else means something in reStructuredText only.
MARKUP = re.compile(r'(^\s*\*\s|``?[^`]*``?(?=(\w)?))|(?<!\\)([|*]|(?<=\w)_(?!\w))')

INDEX = """\
Python API
==========

``screw_dynamics_ros.core`` exports what programs need most; :doc:`robot` lists the functions of a
robot by subject. Everything else has a page for each folder. Conventions hold for all: SI units and
radians, the angular part first, Jacobians with six rows (:doc:`/reference/conventions`).

.. toctree::
   :maxdepth: 1

   robot
   core
"""


def titled(title: str, mark: str = '=') -> str:
    """Return a title in reStructuredText."""
    return f'{title}\n{mark * len(title)}\n\n'


def subjects(module: object, name: str) -> Iterator[tuple[str, str | None, list[str]]]:
    """Yield subject, page and public members of a class, in the order of its source."""
    source = inspect.getsource(module)
    (found,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    marks = [(source.count('\n', 0, mark.start()) + 1, mark) for mark in SUBJECT.finditer(source)]
    starts = [found.lineno, *(line for line, _ in marks)]
    ends = [*starts[1:], found.end_lineno]
    titles = [('make a robot', None), *((mark[1], mark[2]) for _, mark in marks)]
    for (title, page), start, end in zip(titles, starts, ends):
        names = {
            node.name: None
            for node in found.body
            if isinstance(node, ast.FunctionDef) and start <= node.lineno <= end
        }
        if members := [each for each in names if not each.startswith('_')]:
            yield title, page, members


def robot_page() -> str:
    """Return the page of class Robot."""
    sections: dict[str, tuple[list[str], list[str]]] = {}
    first, *others = subjects(robot_properties, 'RobotProperties')
    for title, page, members in (
        *subjects(robot, 'Robot'),
        first,
        *subjects(robot_functions, 'RobotFunctions'),
        *subjects(robot_problems, 'RobotProblems'),
        *others,
    ):
        pages, all_members = sections.setdefault(title, ([], []))
        pages += [page] if page and page not in pages else []
        all_members += members
    text = titled('Robot') + f'.. autoclass:: {ROBOT}\n\n'
    for title, (pages, members) in sections.items():
        text += titled(title[0].upper() + title[1:], '-')
        text += ''.join(f'See :doc:`/{page}`.\n\n' for page in pages)
        for each in members:
            kind = 'property' if isinstance(getattr(core.Robot, each), property) else 'method'
            text += f'.. auto{kind}:: {ROBOT}.{each}\n'
        text += '\n'
    return text


def exports_page() -> str:
    """Return the page of what the core exports beside Robot."""
    text = titled('screw_dynamics_ros.core') + 'Class :class:`~screw_dynamics_ros.core.Robot` '
    text += 'has :doc:`a page of its own <robot>`.\n\n'
    for name in core.__all__:
        if name != 'Robot':
            kind = 'class' if inspect.isclass(value := getattr(core, name)) else 'function'
            kind = 'exception' if kind == 'class' and issubclass(value, Exception) else kind
            text += f'.. auto{kind}:: {PACKAGE}.core.{name}\n'
            text += '\n' if kind == 'function' else '   :members:\n\n'
    return text


def folder_page(folder: Path) -> str:
    """Return the page of a folder, empty if no module in it has public members."""
    name = '.'.join((PACKAGE, 'core', *folder.relative_to(CORE).parts))
    text = ''
    for path in sorted(folder.glob('[!_]*.py')):
        module = f'{name}.{path.stem}'
        text += titled(path.stem, '-') + f'.. automodule:: {module}\n   :members:\n'
        if module in EXCLUDED:
            text += f'   :exclude-members: {EXCLUDED[module]}\n'
        text += '\n'
    about = inspect.getdoc(importlib.import_module(name)) or ''
    return titled(name.removeprefix(f'{PACKAGE}.')) + about + '\n\n' + text if text else ''


def pages() -> dict[str, str]:
    """Return all pages, by name."""
    folders = sorted(file.parent for file in CORE.rglob('__init__.py'))
    found = {
        '.'.join(('core', *folder.relative_to(CORE).parts)): text
        for folder in folders
        if folder != CORE and (text := folder_page(folder))
    }
    index = INDEX + ''.join(f'   {name}\n' for name in found)
    return {'index': index, 'robot': robot_page(), 'core': exports_page(), **found}


def escaped(part: re.Match[str]) -> str:
    """Return a part of a line as it is written in reStructuredText."""
    code, follows, mark = part.groups()
    return f'\\{mark}' if mark else code + ('\\ ' if follows else '')


def escape(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Escape norms as |x|, products as a * b and names as x_, but not in code."""
    in_doctest, indent = False, None  # indent: of the line before a literal block
    for k, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        in_doctest = bool(line.strip()) and (in_doctest or line.lstrip().startswith('>>>'))
        if indent is not None and line.strip() and depth <= indent:
            indent = None
        if not in_doctest and indent is None:
            lines[k] = MARKUP.sub(escaped, line)
            indent = depth if line.endswith('::') else None


def write(app: Sphinx) -> None:
    """Write the pages where they have changed, so that Sphinx reads only those again."""
    folder = Path(app.srcdir) / 'reference' / 'api'
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for file in folder.glob('*.rst'):
        if file.stem not in wanted:
            file.unlink()
    for name, text in wanted.items():
        file = folder / f'{name}.rst'
        if not file.exists() or file.read_text(encoding='utf-8') != text:
            file.write_text(text, encoding='utf-8')


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.setup_extension('sphinx.ext.autodoc')
    app.connect('builder-inited', write)
    app.connect('autodoc-process-docstring', escape, priority=400)  # before napoleon
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
