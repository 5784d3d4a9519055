"""doc/dynamics.md and doc/spec_dynamics.md: examples run, functions and tests named exist."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / 'doc' / name for name in ('dynamics.md', 'spec_dynamics.md')]
CONSTRAINED = ROOT / 'doc' / 'constrained_dynamics.md'
DERIVATIVES = ROOT / 'doc' / 'dynamics_derivatives.md'  # test_pages runs its examples
CORE = 'screw_dynamics_ros.core'

#: IDs the table must have.
REQUIRED = [f'D-{k}' for k in (*range(17, 44), 45)] + [f'C-0{k}' for k in range(50, 87)]


def test_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(PAGES[0]), module_relative=False)
    assert results.attempted >= 25
    assert results.failed == 0


@pytest.mark.parametrize('page', [*PAGES, CONSTRAINED, DERIVATIVES], ids=lambda page: page.name)
def test_functions_named_exist(page):
    modules = {
        path.stem: f'{CORE}.{path.parent.name}.{path.stem}'
        for folder in ('model', 'kinematics', 'lie', 'dynamics', 'trajectory')
        for path in (ROOT / 'screw_dynamics_ros' / 'core' / folder).glob('[a-z]*.py')
    }
    named = {
        match
        for match in re.findall(r'`(\w+)\.([A-Za-z]\w*)(?:\.\w+)?[`(]', page.read_text())
        if match[0] in modules
    }
    assert len(named) > (15 if page in PAGES else 5)
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
    rows = re.findall(r'^\| ([DC]-\d+) \|', PAGES[1].read_text(), re.MULTILINE)
    assert not [name for name in REQUIRED if name not in rows]
    assert len(rows) == len(set(rows))
