# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The site that `make docs` has built: what is there, and that it works without a network.

`make docs` runs these tests after the build, which takes minutes; `make test` skips them.
"""

import os
import re
from pathlib import Path

import pytest

from support.paths import DOC, ROOT

if 'SITE' not in os.environ:
    pytest.skip('make docs builds the site and runs these tests', allow_module_level=True)


@pytest.fixture
def site():
    """Return the folder of the site."""
    return Path(os.environ['SITE'])


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
