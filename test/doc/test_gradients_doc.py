"""The examples of doc/gradients.md run as printed, with JAX and with PyTorch."""

import doctest
import importlib.util
import re

import pytest

from support.paths import DOC, ROOT


def test_examples_run(monkeypatch):
    jax = pytest.importorskip('jax')
    monkeypatch.chdir(ROOT)
    before = jax.config.jax_enable_x64
    try:
        results = doctest.testfile(str(DOC / 'gradients.md'), module_relative=False)
    finally:
        jax.config.update('jax_enable_x64', before)
    assert results.attempted > 0
    assert results.failed == 0


def test_example_of_pytorch_runs(monkeypatch):
    pytest.importorskip('torch')
    monkeypatch.chdir(ROOT)
    code = re.search(r'```python\n(import torch.*?)```', (DOC / 'gradients.md').read_text(), re.S)
    space = {}
    exec(code[1], space)
    assert space['q'].grad.shape == (4096, space['robot'].nv)


def test_table_is_what_the_results_say():
    specification = importlib.util.spec_from_file_location(
        'gradient_tables', ROOT / 'tools' / 'gradient_tables.py'
    )
    tables = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tables)
    page = (DOC / 'gradients.md').read_text(encoding='utf-8')
    assert tables.update(page) == page, 'run python tools/gradient_tables.py'
