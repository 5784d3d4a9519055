"""The examples of pages that have no test of their own run as they are printed."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


PAGES = (
    'README.md',
    'doc/compilation.md',
    'doc/constrained_dynamics.md',
    'doc/dynamics_derivatives.md',
    'doc/trajectories.md',
)


@pytest.mark.parametrize('page', PAGES)
def test_examples_run(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    results = doctest.testfile(str(ROOT / page), module_relative=False)
    assert results.attempted > 0
    assert results.failed == 0
