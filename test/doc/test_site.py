# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The site that `make docs` has built: what is there, and that it works without a network.

`make docs` runs these tests after the build, which takes minutes; `make test` skips them.
"""

import html
import os
import re
from pathlib import Path

import pytest

from support.browser import chromium, needs_chromium, wait
from support.examples import SAID
from support.paths import DOC

if 'SITE' not in os.environ:
    pytest.skip('make docs builds the site and runs these tests', allow_module_level=True)

PAGE = 'theory/robot_geometry.html'  # about Denavit-Hartenberg


@pytest.fixture
def site():
    """Return the folder of the site."""
    return Path(os.environ['SITE'])


def test_every_page_is_there(site):
    pages = {page.relative_to(DOC).with_suffix('.html') for page in DOC.rglob('*.md')}
    assert {page for page in pages if not (site / page).exists()} == set()


def test_all_pages_are_listed_for_programs(site):
    text = (site / 'llms.txt').read_text(encoding='utf-8')
    listed = set(re.findall(r'^- \[.+\]\((\S+\.html)\)', text, re.MULTILINE))
    assert {str(page.relative_to(DOC).with_suffix('.html')) for page in DOC.rglob('*.md')} <= listed
    assert all((site / page).exists() for page in listed)
    assert '(start/recipes.html): Short programs for the usual tasks' in text


@pytest.mark.parametrize('name', SAID)
def test_examples_have_outputs_and_pictures(site, name):
    text = (site / 'gallery' / f'{name}.html').read_text(encoding='utf-8')
    (picture, *_) = re.findall(r'src="\.\./(_images/[^"]+\.png)"', text)
    assert (site / picture).stat().st_size > 5000, picture
    printed = html.unescape(' '.join(re.findall(r'<pre><span></span>(.*?)</pre>', text, re.DOTALL)))
    assert [words for words in SAID[name] if words not in printed] == []


@needs_chromium
def test_search_works_without_a_server(site, tmp_path):
    """A word that is entered on the start page leads to the page that has it."""
    with chromium(tmp_path) as browser:
        browser.set_window_size(1400, 900)  # with the side bar
        browser.get((site / 'index.html').resolve().as_uri())
        browser.find_element('css selector', 'input[name=q]').send_keys('Denavit\n')
        link = f'a[href^="{PAGE}"]'
        wait(browser, lambda: browser.find_elements('css selector', f'#search-results {link}'))
        browser.find_element('css selector', f'#search-results {link}').send_keys('\n')
        wait(browser, lambda: PAGE in browser.current_url)
        assert 'Denavit' in browser.find_element('tag name', 'article').text


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
