"""doc/inverse_kinematics.md: examples run, functions and tests named exist, every ID has a row."""

import doctest
import importlib
import re
from pathlib import Path

from screw_dynamics_ros.core import Robot

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / 'doc' / 'inverse_kinematics.md'
CORE = 'screw_dynamics_ros.core'

REQUIRED = [f'C-{k:03}' for k in (
    *range(1, 6), 12, 13, 20, 21, 22, 26, 27, *range(41, 46), 48, 49, 50,
    96, 98, 100, 102, 104, 106, 107, 109)]


def test_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted >= 20
    assert results.failed == 0


def test_functions_named_exist():
    modules = {
        path.stem: f'{CORE}.{path.parent.name}.{path.stem}'
        for folder in ('kinematics', 'lie', 'estimation')
        for path in (ROOT / 'screw_dynamics_ros' / 'core' / folder).glob('[a-z]*.py')
    }
    text = PAGE.read_text()
    named = {match for match in re.findall(r'`(\w+)\.([A-Za-z]\w*)', text) if match[0] in modules}
    assert len(named) > 30
    missing = [f'{module}.{name}' for module, name in sorted(named)
               if not hasattr(importlib.import_module(modules[module]), name)]
    assert not missing
    facade = set(re.findall(r'`robot\.(\w+)', text))
    assert len(facade) > 10
    assert not [name for name in sorted(facade) if not hasattr(Robot, name)]


def test_tests_named_exist():
    named = set(re.findall(r'`(test_\w+)`', PAGE.read_text()))
    assert len(named) > 40
    defined = ''.join(path.read_text() for path in (ROOT / 'test').glob('test_*.py'))
    assert not [name for name in sorted(named) if f'def {name}(' not in defined]


def test_every_id_has_a_row_and_a_test_that_cites_it():
    rows = re.findall(r'^\| (C-\d+) \|', PAGE.read_text(), re.MULTILINE)
    assert not [name for name in REQUIRED if name not in rows]
    assert len(rows) == len(set(rows))
