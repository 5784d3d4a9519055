"""The table of doc/contact_localization.md is what its script computes."""

import importlib.util
import re

import pytest

from support.paths import DOC, ROOT


@pytest.fixture(scope='module')
def script():
    path = ROOT / 'tools' / 'contact_table.py'
    specification = importlib.util.spec_from_file_location('contact_table', path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def numbers(line):
    return [float(x) for x in re.findall(r'\d+\.?\d*', line)]


def test_table_is_that_of_the_script(script):
    """The rows of one force, to one in the last digit: rounding differs between processors."""
    page = (DOC / 'contact_localization.md').read_text(encoding='utf-8')
    lines = [line for line in page.splitlines() if '| 40 N |' in line]
    computed = list(script.rows([40.0]))
    assert len(lines) == len(computed) == len(script.cases()), 'run python tools/contact_table.py'
    for line, now in zip(lines, computed):
        assert re.sub(r'[\d.]+', '', line) == re.sub(r'[\d.]+', '', now)
        assert numbers(line) == pytest.approx(numbers(now), abs=1.01), now


def test_links_are_right_above_the_stated_force(script):
    """99 % and more at 80 N everywhere."""
    page = (DOC / 'contact_localization.md').read_text(encoding='utf-8')
    shares = re.findall(r'\| 80 N \|.*?\| ([\d.]+) % \| \d+ mm', page)
    assert len(shares) == len(script.cases())
    assert min(map(float, shares)) >= 99.0
