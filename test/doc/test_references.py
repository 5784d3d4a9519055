# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""IDs, pages, headings and files that code, tests and pages cite exist.

Each ID has one entry in doc/spec; an erratum E counts for the two papers by Müller or for the book
by Bruyninckx, on whose pages it has one entry each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from support.doc_pages import missing_functions
from support.paths import ROOT

SPECIFICATION = ROOT / 'doc' / 'spec'

#: Where IDs and pages are cited.
FOLDERS = ('screw_dynamics_ros', 'test', 'doc', 'examples', 'benchmarks', 'studies')

#: Digits of the numbers of an ID.
DIGITS = {'K': 2, 'D': 2, 'I': 2, 'E': 2, 'B': 3, 'C': 3}

ID = r'(?<![\w-])([KDIEBC])-(\d{2,3})(?![\w{-])'
RANGE = re.compile(rf'{ID}(?:\s+to|-)\s+{ID}')
ENTRY = re.compile(r'^\* \*\*([KDIEBC]-\d+|X\d+)\*\* ', re.MULTILINE)
SOURCE = re.compile(r'^\* \*\*[KDIBC]-\d+\*\*\s\*[^*]+\.\*\s(.+?)\.\s', re.MULTILINE | re.DOTALL)
SHORT_NAMES = ('Müller 2018a', 'Müller 2018b', 'Müller and Terze', 'Bruyninckx 2010')
PAGE = re.compile(r'(?<![\w/.])((?:[\w.]+/)*\w+\.md)(?:#([\w-]+))?')

FILE = re.compile(
    r'(?<![\w/.~-])((?:benchmarks|config|doc|launch|requirements|rviz|screw_dynamics_ros|studies|test|tools|urdf)'
    r'/[\w./-]*\.(?:csv|json|md|png|py|rviz|toml|txt|urdf|xacro|xml|yaml))\b'
)


def files() -> list[Path]:
    """Return what may cite something: Python files and pages."""
    found = [*sorted(ROOT.glob('*.md')), ROOT / 'CHANGELOG.rst']
    for folder in FOLDERS:
        for kind in ('*.py', '*.md'):
            found += sorted((ROOT / folder).rglob(kind))
    return [path for path in found if path != Path(__file__).resolve()]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def entries() -> Counter[str]:
    """Return the IDs that have an entry, and how many."""
    pages = sorted(SPECIFICATION.glob('*.md'))
    return Counter(name for page in pages for name in ENTRY.findall(page.read_text()))


def cited_ids(text: str) -> set[str]:
    """Return the IDs in a text; 'B-042 to B-047' are six."""
    ids = {f'{kind}-{number}' for kind, number in re.findall(ID, text)}
    for kind, first, other, last in RANGE.findall(text):
        if kind == other:
            numbers = range(int(first), int(last) + 1)
            ids |= {f'{kind}-{number:0{DIGITS[kind]}}' for number in numbers}
    return ids


def anchors(page: Path) -> list[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    titles = re.findall(r'^#+ (.*)', page.read_text(), re.MULTILINE)
    return [re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-') for title in titles]


def cited_pages(path: Path, text: str) -> Iterator[tuple[str, str]]:
    """Yield the pages named in a file, with their headings or ''; not those on the web."""
    text = re.sub(r'https?://\S+', '', text)
    if path.suffix == '.py':
        text = re.sub(r"'[^'\n]*'", '', text)  # names that tests put together
    else:
        text = re.sub(r'\[[^\]]*\]\(', '(', text)  # of a link the target counts
    yield from PAGE.findall(text)


def broken_pages(path: Path, text: str) -> list[str]:
    """Return the pages and headings that a file names and that do not exist."""
    broken = []
    for name, heading in cited_pages(path, text):
        # A page names others from its own folder, code names them from the root.
        places = [path.parent / name, ROOT / name] if path.suffix == '.md' else [ROOT / name]
        target = next((place for place in places if place.is_file()), None)
        if target is None or (heading and heading not in anchors(target)):
            broken.append(f'{name}#{heading}' if heading else name)
    return broken


def missing_files(path: Path, text: str) -> list[str]:
    """Return the files named from the root, or from the folder of a page, that do not exist."""
    places = (ROOT, path.parent)
    return [name for name in FILE.findall(text) if not any((p / name).exists() for p in places)]


def test_every_id_has_one_entry():
    double = {name for name, count in entries().items() if count > 1 and name[0] != 'E'}
    assert not double
    assert max(entries().values()) <= 2
    for page in SPECIFICATION.glob('*.md'):
        assert not [n for n, count in Counter(ENTRY.findall(page.read_text())).items() if count > 1]


def test_every_entry_names_its_source():
    """By one of the short names that the index defines, or as a requirement of the package."""
    index = (SPECIFICATION / 'README.md').read_text()
    assert not [name for name in SHORT_NAMES if f'| {name} |' not in index]
    sources = [s for p in sorted(SPECIFICATION.glob('*.md')) for s in SOURCE.findall(p.read_text())]
    assert len(sources) == sum(1 for name in entries() if name[0] in 'KDIBC')
    starts = (*SHORT_NAMES, 'derived', 'a requirement')
    assert not [source for source in sources if not source.startswith(starts)]


@pytest.mark.parametrize('folder', ['', *FOLDERS])
def test_what_is_cited_exists(folder):
    for path in files():
        if name_of(path).rpartition('/')[0].partition('/')[0] == folder:
            text = path.read_text()
            wrong = [
                *sorted(cited_ids(text) - set(entries())),
                *broken_pages(path, text),
                *missing_files(path, text),
            ]
            assert not wrong, name_of(path)


def test_functions_named_in_entries_exist():
    assert not [name for page in SPECIFICATION.glob('*.md') for name in missing_functions(page)]


def test_sources_name_a_document_before_the_id():
    """'Source: D-27.' does not help a reader who has the paper."""
    wrong = [
        f'{name_of(path)}: {line.strip()}'
        for path in files()
        if path.suffix == '.py'
        for line in path.read_text().splitlines()
        if re.search(rf'Sources?: {ID}', line)
    ]
    assert not wrong


@pytest.mark.parametrize(
    ('name', 'text', 'ids', 'pages'),
    [
        ('screw_dynamics_ros/core/lie/se3.py', 'Source: K-99.', {'K-99'}, []),
        ('screw_dynamics_ros/core/lie/se3.py', 'D-44 to D-48', {'D-47', 'D-48'}, []),
        ('screw_dynamics_ros/core/lie/se3.py', 'of muller.md D-27', set(), ['muller.md']),
        ('screw_dynamics_ros/core/dynamics/x.py', 'of D-72', {'D-72'}, []),
        ('screw_dynamics_ros/core/dynamics/x.py', 'of design.md', set(), ['design.md']),
        ('test/core/x.py', 'doc/no_page.md', set(), ['doc/no_page.md']),
        (
            'test/core/x.py',
            'doc/theory/dynamics.md#nowhere',
            set(),
            ['doc/theory/dynamics.md#nowhere'],
        ),
        ('doc/x.md', '[this](nothing.md#here)', set(), ['nothing.md#here']),
        ('doc/spec/x.md', '[this](muller.md#errata)', set(), ['muller.md#errata']),
        ('doc/spec/x.md', '[this](muller.md), [that](../theory/dynamics.md)', set(), []),
    ],
)
def test_what_does_not_exist_is_found(name, text, ids, pages):
    assert cited_ids(text) - set(entries()) == ids
    assert broken_pages(ROOT / name, text) == pages


def test_missing_files_are_found():
    text = 'see test/core/no_test.py, doc/pictures/rviz.png and screw_dynamics_ros/core/lie/se3.py'
    assert missing_files(ROOT / 'README.md', text) == ['test/core/no_test.py']


DOTTED = re.compile(r'`((?:core|ros|nodes|cli)(?:\.\w+)+)`')


def resolves(dotted: str) -> bool:
    """Whether 'core.lie.se3.log' and the like name a module of the package, or what is in one."""
    parts = dotted.split('.')
    for count in range(len(parts), 0, -1):
        folder = ROOT.joinpath('screw_dynamics_ros', *parts[:count])
        if not (folder.is_dir() or folder.with_suffix('.py').is_file()):
            continue
        if count == len(parts):
            return True
        file = folder.with_suffix('.py') if folder.with_suffix('.py').is_file() else None
        text = (file or folder / '__init__.py').read_text(encoding='utf-8')
        return re.search(rf'\b{parts[count]}\b', text) is not None
    return False


def test_modules_that_are_named_exist():
    wrong = [
        f'{name_of(path)}: {dotted}'
        for path in files()
        if path.name != 'CHANGELOG.rst'  # it names what was
        for dotted in DOTTED.findall(path.read_text(encoding='utf-8'))
        if not resolves(dotted)
    ]
    assert not wrong
    assert resolves('core.lie.se3.log')
    assert not resolves('core.lie.se4')
    assert not resolves('core.lie.se3.logarithm')
