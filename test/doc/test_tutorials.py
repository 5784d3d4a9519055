# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tutorials: each page runs block after block in an empty folder and prints what it shows.

`make docs` runs them; `make test` skips these runs, which take minutes. They print the same on
all processors: PROCESSORS are names of `support.processors`, separated by commas, or `own`.
"""

import os
import re
import subprocess
import sys

import pytest

from support.paths import DOC, TEST
from support.processors import PROCESSORS, usable

PAGES = sorted((DOC / 'tutorials').glob('[0-9]*.md'))


@pytest.mark.skipif(
    'TUTORIALS' not in os.environ, reason='make docs runs the tutorials; by hand: TUTORIALS=1'
)
@pytest.mark.parametrize('processor', os.environ.get('PROCESSORS', 'own').split(','))
@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_tutorial_runs(page, processor, ros_domain):
    variables = {} if processor == 'own' else PROCESSORS[processor]
    if variables and not usable(variables):
        pytest.skip(f'this processor cannot run code for {processor}')
    text = page.read_text(encoding='utf-8')
    for module in re.findall(r'<!-- needs (\w+) -->', text):
        pytest.importorskip(module)
    done = subprocess.run(
        [sys.executable, TEST / 'support' / 'tutorial_page.py', page],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **variables, 'ROS_DOMAIN_ID': str(ros_domain)},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_index_names_all():
    index = (DOC / 'tutorials' / 'index.md').read_text(encoding='utf-8')
    assert [page.name for page in PAGES] == re.findall(r'\]\((\d\d_\w+\.md)\)', index)
    assert len(PAGES) == 11


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_tutorial_is_short(page):
    assert 50 < len(page.read_text(encoding='utf-8').splitlines()) <= 150


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_statements_can_be_pasted(page):
    """Python's prompt wants an empty line after a compound statement; doctest does not."""
    text = page.read_text(encoding='utf-8')
    compound = re.findall(
        r'^>>> (?:def |for |while |with |@).*\n(?:\.\.\..*\n)*', text, re.MULTILINE
    )
    assert [each for each in compound if not each.endswith('\n...\n')] == []
