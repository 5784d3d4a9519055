# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The examples of doc/how_to/gradients.md run as printed, with JAX and with PyTorch."""

import doctest
import re

import pytest

from support.paths import DOC, ROOT


def test_examples_run(monkeypatch):
    jax = pytest.importorskip('jax')
    monkeypatch.chdir(ROOT)
    before = jax.config.jax_enable_x64
    try:
        results = doctest.testfile(str(DOC / 'how_to' / 'gradients.md'), module_relative=False)
    finally:
        jax.config.update('jax_enable_x64', before)
    assert results.attempted > 0
    assert results.failed == 0


def test_example_of_pytorch_runs(monkeypatch):
    pytest.importorskip('torch')
    monkeypatch.chdir(ROOT)
    page = (DOC / 'how_to' / 'gradients.md').read_text()
    code = re.search(r'```python\n(import torch.*?)```', page, re.S)
    space = {}
    exec(code[1], space)
    assert space['q'].grad.shape == (4096, space['robot'].nv)
