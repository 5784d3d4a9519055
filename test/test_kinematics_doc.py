"""doc/kinematics.md and doc/spec_kinematics.md: examples run, functions and tests named exist."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / 'doc' / name for name in ('kinematics.md', 'spec_kinematics.md')]
CORE = 'screw_dynamics_ros.core'

#: Every ID the tables must have.
REQUIRED = (
    [f'K-{k}' for k in range(10, 40)]
    + [f'D-{k:02}' for k in range(4, 17)]
    + [f'B-00{k}' for k in range(1, 10)]
    + [f'B-{k}' for k in range(107, 137)]
)


def test_examples_run():
    results = doctest.testfile(str(PAGES[0]), module_relative=False)
    assert results.attempted >= 10
    assert results.failed == 0


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_functions_named_exist(page):
    folders = ('model', 'kinematics', 'lie', 'dynamics')
    modules = {
        path.stem: f'{CORE}.{folder}.{path.stem}'
        for folder in folders
        for path in (ROOT / 'screw_dynamics_ros' / 'core' / folder).glob('[a-z]*.py')
    }
    named = {
        match
        for match in re.findall(r'`(\w+)\.([A-Za-z]\w*)(?:\.\w+)?[`(]', page.read_text())
        if match[0] in modules
    }
    assert len(named) > 20
    missing = [
        f'{module}.{name}'
        for module, name in sorted(named)
        if not hasattr(importlib.import_module(modules[module]), name)
    ]
    assert not missing


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_tests_named_exist(page):
    named = set(re.findall(r'`(test_\w+)`', page.read_text()))
    assert len(named) > 10
    defined = ''.join(path.read_text() for path in (ROOT / 'test').glob('test_*.py'))
    assert not [name for name in sorted(named) if f'def {name}(' not in defined]


def test_every_id_has_a_row():
    rows = re.findall(r'^\| ([KDB]-\d+) \|', PAGES[1].read_text(), re.MULTILINE)
    assert not [name for name in REQUIRED if name not in rows]
    assert len(rows) == len(set(rows))


def test_the_vocabulary_is_that_of_the_sources():
    """D-46: section 7 has the names [K] and [D] relate their own to."""
    page = PAGES[0].read_text()
    section = page[page.index('## 7. Vocabulary') : page.index('## 8. ')]
    names = (
        'Featherstone, Rodriguez, Jain, Kreutz, Lilly, Orin, Angeles, Bremer, Kane, Maisser, Liu, '
        'Brockett, Gupta, Park, Legnani, Anderson, Bae, Haug, Hollerbach, Vukobratović, Fijany, '
        'Naudet, Borri, Bottasso, Bauchau, Shabana, Waldron, Whitney, Sheth, left-invariant, '
        'right-invariant, fixed-pole, velocity state, natural orthogonal complement'
    )
    assert not [name for name in names.split(', ') if name not in section]
