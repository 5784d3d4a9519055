# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The examples run as they are, from anywhere, and say what is true."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from support.examples import EXAMPLES, SAID
from support.paths import ROOT

#: make docs runs all of them for the gallery, and `test_site.py` reads what they print there.
RUNS = [
    pytest.param(
        path,
        id=path.stem,
        marks=pytest.mark.skipif(
            place > 0 and 'TUTORIALS' not in os.environ,
            reason='make docs runs the examples; by hand: TUTORIALS=1',
        ),
    )
    for place, path in enumerate(EXAMPLES)
]


def test_all_examples_are_here():
    assert [path.stem for path in EXAMPLES] == sorted(SAID)


@pytest.mark.parametrize('path', RUNS)
def test_example_runs(path, tmp_path):
    done = subprocess.run(
        [sys.executable, path],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={
            **os.environ,
            'MPLBACKEND': 'agg',
            'PYTHONPATH': os.pathsep.join([str(ROOT), *sys.path[1:]]),
        },
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    for words in SAID[path.stem]:
        assert words in done.stdout, done.stdout


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_says_how_to_run_it(path):
    text = path.read_text(encoding='utf-8')
    assert len(text.splitlines()) < 70
    assert f'Run: python examples/{path.name}' in (ast.get_docstring(ast.parse(text)) or '')
