# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The site: it builds without a warning, and works without a network."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from support.paths import DOC, ROOT

pytest.importorskip('furo')
pytest.importorskip('latex2mathml')
pytest.importorskip('sphinx_gallery')

#: What is built, and what Sphinx keeps from one time to the next: those of `make docs`.
SITE, KEPT = ROOT / 'build' / 'docs', ROOT / 'build' / 'doctrees'


@pytest.fixture(scope='module')
def site():
    """Build the site; what has not changed since the last time is kept."""
    done = subprocess.run(
        [
            sys.executable,
            '-m',
            'sphinx',
            '-q',
            '-j',
            'auto',
            '-W',
            '--keep-going',
            '-d',
            KEPT,
            DOC,
            SITE,
        ],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            'MPLBACKEND': 'agg',
            'PYTHONPATH': os.pathsep.join([str(ROOT), *sys.path]),
        },
    )
    if done.returncode:
        shutil.rmtree(KEPT)  # Sphinx does not repeat warnings about pages that it keeps
    assert done.returncode == 0, done.stderr
    return SITE


def test_every_page_is_there(site):
    pages = {page.relative_to(DOC).with_suffix('.html') for page in DOC.rglob('*.md')}
    assert {page for page in pages if not (site / page).exists()} == set()


def test_examples_have_pictures(site):
    for example in (ROOT / 'examples').glob('*.py'):
        text = (site / 'gallery' / f'{example.stem}.html').read_text(encoding='utf-8')
        (picture, *_) = re.findall(r'src="\.\./(_images/[^"]+\.png)"', text)
        assert (site / picture).stat().st_size > 5000, picture


def test_functions_of_a_robot_are_documented(site):
    text = (site / 'reference' / 'api' / 'robot.html').read_text(encoding='utf-8')
    for name in ('inverse_dynamics', 'all_inverse_kinematics', 'nv', 'from_urdf'):
        assert f'id="screw_dynamics_ros.core.Robot.{name}"' in text


def test_no_page_needs_a_network(site):
    """Scripts, styles and pictures are files of the site; formulas are MathML."""
    loaded = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(https?:[^"]*)"')
    pages = list(site.rglob('*.html'))
    assert len(pages) > 100
    for page in pages:
        assert loaded.findall(page.read_text(encoding='utf-8')) == [], page
    assert '<math' in (site / 'theory' / 'kinematics.html').read_text(encoding='utf-8')


def test_links_to_files_of_the_repository(site):
    text = (site / 'how_to' / 'gradients.html').read_text(encoding='utf-8')
    assert '/blob/main/benchmarks/results/gradients.json"' in text
