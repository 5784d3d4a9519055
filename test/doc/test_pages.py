# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pages: examples of those without a test of their own run as printed; links lead somewhere."""

import doctest
import re

import numpy as np
import pytest

from support.paths import ROOT

PAGES = (
    'README.md',
    'doc/index.md',
    'doc/start/python.md',
    'doc/start/recipes.md',
    'doc/reference/all_solutions.md',
    'doc/how_to/calibration.md',
    'doc/theory/all_inverse_solutions.md',
    'doc/theory/choice_of_configuration_space.md',
    'doc/theory/closed_loops.md',
    'doc/reference/compilation.md',
    'doc/reference/control_laws.md',
    'doc/theory/constrained_dynamics.md',
    'doc/theory/dynamics.md',
    'doc/theory/dynamics_derivatives.md',
    'doc/theory/formulations.md',
    'doc/how_to/identification.md',
    'doc/theory/integration.md',
    'doc/theory/inverse_kinematics.md',
    'doc/theory/kinematics.md',
    'doc/theory/lie_groups.md',
    'doc/theory/mobile_robots.md',
    'doc/theory/orientations_and_lines.md',
    'doc/theory/redundancy.md',
    'doc/theory/robot_geometry.md',
    'doc/theory/screws_and_twists.md',
    'doc/theory/serial_families.md',
    'doc/theory/simulation.md',
    'doc/theory/structure_preserving_integration.md',
    'doc/how_to/trajectories.md',
)
#: Number of examples of pages that have many, at least.
EXAMPLES = {
    'doc/theory/dynamics.md': 25,
    'doc/theory/inverse_kinematics.md': 20,
    'doc/theory/lie_groups.md': 5,
    'doc/theory/orientations_and_lines.md': 21,
    'doc/theory/robot_geometry.md': 10,
    'doc/theory/screws_and_twists.md': 5,
}
MAX_LINES = 300
PAGES_OF_DOC = sorted(str(page.relative_to(ROOT)) for page in (ROOT / 'doc').rglob('*.md'))


@pytest.mark.parametrize('page', PAGES)
def test_examples_run(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    with np.printoptions():  # pages set their own; the next test must not see them
        results = doctest.testfile(str(ROOT / page), module_relative=False)
    assert results.attempted >= EXAMPLES.get(page, 1)
    assert results.failed == 0


@pytest.mark.parametrize(
    'page', ['README.md', 'CONTRIBUTING.md', 'QUALITY_DECLARATION.md', 'SECURITY.md', *PAGES_OF_DOC]
)
def test_links_lead_somewhere(page):
    """Files and headings; an equation number right behind [D] would become a link as well."""
    text = (ROOT / page).read_text()
    for link in re.findall(r'\]\(([^)\s]+)\)', text):
        if link.startswith('https://'):
            continue
        path, _, heading = link.partition('#')
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        if heading:
            titles = re.findall(r'^#+ (.*)', target.read_text(), re.MULTILINE)
            anchors = [re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-') for title in titles]
            assert heading in anchors, link


@pytest.mark.parametrize('page', PAGES_OF_DOC)
def test_pages_are_short(page):
    """Those that a tool writes as a whole may be long."""
    written = ('doc/reference/messages.md', 'doc/reference/parameters.md')
    count = len((ROOT / page).read_text().splitlines())
    assert page in written or count <= MAX_LINES, f'{page} has {count} lines, at most {MAX_LINES}'
